#include "runtime/exec/overtake.h"

typedef struct span { /* of a collective, in instructions */
    int32_t start, wait;
} span;

static bool overtakes(const span all[], const bool is_preferred[], int32_t n, span own)
{
    bool meets_any = false;
    for (int32_t k = 0; k < n; k++) {
        const bool is_in_flight = all[k].start < own.start && all[k].wait > own.start;
        if (!is_in_flight || is_preferred[k]) continue;
        if (all[k].wait < own.wait) return false;
        meets_any = true;
    }
    return meets_any;
}

pod_status pod_overtakes(const pod_program *p, pod_arena *a, const bool **out)
{
    span *all = POD_ARENA_NEW(a, span, p->n_colls);
    bool *is_preferred = POD_ARENA_NEW(a, bool, p->n_colls);
    if (!all || !is_preferred) return POD_E_NOMEM;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const pod_instr *instr = &p->instr[i];
        if (instr->kind == POD_I_COLL_START) all[instr->ticket].start = i;
        if (instr->kind == POD_I_COLL_WAIT) all[instr->ticket].wait = i;
    }
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const int32_t c = p->instr[i].ticket;
        if (p->instr[i].kind == POD_I_COLL_START)
            is_preferred[c] = overtakes(all, is_preferred, p->n_colls, all[c]);
    }
    *out = is_preferred;
    return POD_OK;
}
