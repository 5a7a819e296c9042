#include "runtime/train/strike.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

struct pod_strike {
    pod_strike_args args;
    bool is_noted[POD_MAX_FAULTS]; /* slow ones, in this attempt */
};

/* ---- what is due ----------------------------------------------------------------------------- */

pod_status pod_strike_check(const pod_fault fault[], int n_faults, int n_ranks)
{
    for (int i = 0; i < n_faults; i++) {
        const pod_fault *f = &fault[i];
        if (f->kind == POD_FAULT_LINK)
            return pod_fail(POD_E_INVALID,
                            "fault: a link fails of a simulated machine alone (minipod simulate)");
        POD_TRY(pod_fault_check_rank(f, n_ranks, "rank"));
        if (f->kind == POD_FAULT_SLOW && f->factor < 1)
            return pod_fail(
                POD_E_INVALID,
                "fault: slow of rank %d: a core of a run is made slower, by a factor of "
                "at least 1, found %g",
                f->rank, f->factor);
    }
    return POD_OK;
}

static bool is_slow_in(const pod_fault *f, int64_t step)
{
    return f->kind == POD_FAULT_SLOW && step >= f->from && (f->until == 0 || step <= f->until);
}

double pod_strike_slowness(const pod_fault fault[], int n_faults, int rank, int64_t step)
{
    for (int i = 0; i < n_faults; i++)
        if (fault[i].rank == rank && is_slow_in(&fault[i], step)) return fault[i].factor;
    return 1;
}

/* ---- the blows ------------------------------------------------------------------------------- */

static void hang(void)
{
    struct sigaction end = {.sa_handler = SIG_DFL};
    sigemptyset(&end.sa_mask);
    sigaction(SIGTERM, &end, NULL); /* who hangs is not asked to stop */
    for (;;) pause();
}

/* Of the last weight of which this core has a part: nearest to the loss, with nothing between them
 * that takes the larger of two values, and might take the other one. */
static void spoil_weight(pod_store *store)
{
    int i = pod_store_n(store) - 1;
    while (i >= 0 && (pod_store_variable(store, i)->role != POD_ROLE_WEIGHT ||
                      pod_store_count(store, i) == 0))
        i--;
    if (i >= 0) pod_store_data(store, i)[0] = NAN;
}

static void note(const pod_strike *s, int fault) { s->args.note(s->args.to, fault); }

static void strike(const pod_strike *s, int i)
{
    note(s, i);
    switch (s->args.fault[i].kind) {
    case POD_FAULT_KILL: (void)raise(SIGKILL); break;
    case POD_FAULT_HANG: hang(); break;
    default: spoil_weight(s->args.store);
    }
}

static bool is_due(const pod_strike *s, int i, int64_t step)
{
    const pod_fault *f = &s->args.fault[i];
    const bool is_blow = (f->kind == POD_FAULT_KILL && f->write == 0) ||
                         f->kind == POD_FAULT_HANG || f->kind == POD_FAULT_NAN;
    return is_blow && f->rank == s->args.rank && f->step == step && !s->args.spent[i];
}

static void note_slow(pod_strike *s, int i, int64_t step)
{
    const pod_fault *f = &s->args.fault[i];
    if (f->rank != s->args.rank || !is_slow_in(f, step) || s->is_noted[i]) return;
    s->is_noted[i] = true;
    if (!s->args.spent[i]) note(s, i);
}

void pod_strike_step(pod_strike *s, int64_t step)
{
    const pod_strike_args *a = &s->args;
    for (int i = 0; i < a->n_faults; i++) {
        if (is_due(s, i, step)) strike(s, i);
        note_slow(s, i, step);
    }
    if (a->exec && a->n_faults > 0)
        pod_exec_set_slowness(a->exec, pod_strike_slowness(a->fault, a->n_faults, a->rank, step));
}

pod_status pod_strike_create(pod_arena *a, const pod_strike_args *args, pod_strike **out)
{
    pod_strike *s = POD_ARENA_NEW(a, pod_strike, 1);
    if (!s) return POD_E_NOMEM;
    s->args = *args;
    *out = s;
    return POD_OK;
}
