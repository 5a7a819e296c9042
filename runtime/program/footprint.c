#include "runtime/program/footprint.h"

#include <stdlib.h>
#include <string.h>

const char *pod_use_name(pod_use u)
{
    static const char *const name[POD_N_USES] = {
        "kept for backward", "within forward", "gradients", "sums of micro-steps",
        "copies of weights", "update",         "scratch"};
    return name[u];
}

typedef struct facts { /* of a slot with memory of its own */
    int32_t maker;     /* -1: none */
    bool is_scratch, is_read_by_backward;
} facts;

static bool is_own(const pod_program *p, int32_t slot)
{
    return p->slot[slot].space == POD_SPACE_STEP && p->slot[slot].root == slot;
}

static void find_facts(const pod_program *p, facts *of)
{
    for (int32_t s = 0; s < p->n_slots; s++) of[s].maker = -1;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const pod_instr *in = &p->instr[i];
        for (int j = 0; j < in->n_in; j++)
            if (in->phase == POD_PHASE_BACKWARD)
                of[p->slot[in->in[j]].root].is_read_by_backward = true;
        for (int k = 0; k < in->n_out; k++) {
            int32_t *maker = &of[p->slot[in->out[k]].root].maker;
            if (*maker < 0) *maker = i;
        }
        if (in->scratch >= 0) of[in->scratch] = (facts){.maker = i, .is_scratch = true};
    }
}

static bool reads_the_store_alone(const pod_program *p, const pod_instr *in)
{
    for (int j = 0; j < in->n_in; j++)
        if (p->slot[in->in[j]].space != POD_SPACE_STORE) return false;
    return in->n_in > 0;
}

static pod_use use_of(const pod_program *p, const facts *f)
{
    const pod_instr *maker = &p->instr[f->maker];
    if (f->is_scratch) return POD_USE_SCRATCH;
    if (strcmp(maker->op, "zeros") == 0) return POD_USE_SUM;
    if (maker->phase == POD_PHASE_REDUCE || maker->phase == POD_PHASE_UPDATE) return POD_USE_UPDATE;
    if (reads_the_store_alone(p, maker)) return POD_USE_COPY;
    if (maker->phase == POD_PHASE_BACKWARD) return POD_USE_BACKWARD;
    return f->is_read_by_backward ? POD_USE_KEPT : POD_USE_PASSING;
}

/* Bytes that begin and end to be alive, in one walk; the first peak counts. */
static pod_status find_peak(const pod_program *p, pod_arena *arena, pod_footprint *out)
{
    size_t *begins = POD_ARENA_NEW(arena, size_t, p->n_instrs + 2);
    size_t *ends = POD_ARENA_NEW(arena, size_t, p->n_instrs + 2);
    if (!begins || !ends) return POD_E_NOMEM;
    for (int32_t s = 0; s < p->n_slots; s++) {
        if (!is_own(p, s)) continue;
        begins[p->slot[s].first] += p->slot[s].bytes;
        ends[p->slot[s].last + 1] += p->slot[s].bytes;
    }
    size_t alive = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        alive += begins[i] - ends[i];
        if (alive <= out->alive_bytes) continue;
        out->alive_bytes = alive;
        out->peak = i;
    }
    return POD_OK;
}

static int largest_first(const void *a, const void *b)
{
    const pod_alive *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

static pod_status list_alive(const pod_program *p, const facts *of, pod_arena *arena,
                             pod_footprint *out)
{
    pod_alive *alive = POD_ARENA_NEW(arena, pod_alive, p->n_slots);
    if (!alive) return POD_E_NOMEM;
    for (int32_t s = 0; s < p->n_slots; s++) {
        const pod_slot *slot = &p->slot[s];
        if (!is_own(p, s) || of[s].maker < 0 || slot->first > out->peak || slot->last < out->peak)
            continue;
        const pod_use use = use_of(p, &of[s]);
        out->use_bytes[use] += slot->bytes;
        alive[out->n_alive++] = (pod_alive){s, of[s].maker, use, slot->bytes};
    }
    qsort(alive, (size_t)out->n_alive, sizeof alive[0], largest_first);
    out->alive = alive;
    return POD_OK;
}

pod_status pod_footprint_of(const pod_program *p, pod_arena *arena, pod_footprint *out)
{
    pod_footprint f = {.total_bytes = p->step_bytes + p->window_bytes + p->store_bytes};
    facts *of = POD_ARENA_NEW(arena, facts, p->n_slots);
    if (!of) return POD_E_NOMEM;
    find_facts(p, of);
    POD_TRY(find_peak(p, arena, &f));
    POD_TRY(list_alive(p, of, arena, &f));
    f.moved_bytes = pod_program_moved_bytes(p);
    *out = f;
    return POD_OK;
}
