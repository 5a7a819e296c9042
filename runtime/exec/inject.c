#include "runtime/exec/inject.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

/* ---- what is due ----------------------------------------------------------------------------- */

pod_status pod_inject_check(const pod_fault fault[], int n_faults, int n_ranks)
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

double pod_inject_slowness(const pod_fault fault[], int n_faults, int rank, int64_t step)
{
    for (int i = 0; i < n_faults; i++)
        if (fault[i].rank == rank && is_slow_in(&fault[i], step)) return fault[i].factor;
    return 1;
}

/* ---- what happens ------------------------------------------------------------------------------- */

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

static void note(const pod_injection *x, int fault)
{
    if (x->note) x->note(x->to, fault);
}

static void inject(const pod_injection *x, int i, pod_store *store)
{
    note(x, i);
    switch (x->fault[i].kind) {
    case POD_FAULT_KILL: (void)raise(SIGKILL); break;
    case POD_FAULT_HANG: hang(); break;
    default: spoil_weight(store);
    }
}

static bool happens_once(const pod_fault *f)
{
    return (f->kind == POD_FAULT_KILL && f->write == 0) || f->kind == POD_FAULT_HANG ||
           f->kind == POD_FAULT_NAN;
}

void pod_inject(const pod_injection *x, int rank, int64_t step, pod_store *store, pod_exec *exec,
                bool is_slowed[])
{
    for (int i = 0; i < x->n_faults; i++) {
        const pod_fault *f = &x->fault[i];
        if (f->rank != rank) continue;
        if (happens_once(f) && f->step == step && !x->spent[i]) inject(x, i, store);
        if (!is_slow_in(f, step) || is_slowed[i]) continue;
        is_slowed[i] = true;
        if (!x->spent[i]) note(x, i);
    }
    if (exec && x->n_faults > 0)
        pod_exec_set_slowness(exec, pod_inject_slowness(x->fault, x->n_faults, rank, step));
}
