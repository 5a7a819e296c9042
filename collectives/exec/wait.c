/* Waiting for runs. */
#include "collectives/exec/coll_run.h"

#include <sched.h>

#include "collectives/exec/run.h"
#include "collectives/exec/watch/host.h"
#include "collectives/exec/watch/mailbox.h"
#include "collectives/exec/watch/watch.h"

/* What is tried before this rank sleeps until it is rung. A message between two ranks that both run
 * comes within the pauses. Then the other one may need this CPU: because ranks outnumber the CPUs,
 * or because somebody else's work has put two of them on one. It gets it, a bounded number of
 * times, since ranks that wait side by side only pass it on to each other. With room the yields
 * last longer than it takes to wake a rank that sleeps (50 us on a virtual machine): else two ranks
 * that have once slept would sleep at every meeting. */
typedef struct patience {
    int n_pauses, n_yields;
} patience;

static const patience roomy = {32, 2000}, crowded = {4, 100};

enum { LOOKS_BEFORE_WATCH = 4 };
static const int64_t SLEEP_NS = 100000000; /* at most, then it looks again */

typedef struct waiter {
    pod_coll_run *run;
    pod_coll_run *const *others;
    int n_others;
    const pod__mailbox *mailbox; /* NULL: nobody to be woken by */
    const patience *patience;
    int64_t n_changes; /* of all of them, at the last look */
    int64_t n_looks;   /* since something moved */
    pod__watch watch;
} waiter;

/* Polls all; true when the run is done. */
static bool look(waiter *w)
{
    bool is_done = pod_coll_run_poll(w->run);
    w->n_changes = w->run->n_changes;
    for (int i = 0; !is_done && i < w->n_others; i++) {
        (void)pod_coll_run_poll(w->others[i]);
        w->n_changes += w->others[i]->n_changes;
    }
    return is_done;
}

/* Nobody rings when a message of MPI is here. */
static bool can_sleep(const waiter *w)
{
    bool has_messages = !w->run->shm || w->run->mpi.n_in_flight > 0;
    for (int i = 0; i < w->n_others; i++)
        has_messages = has_messages || w->others[i]->mpi.n_in_flight > 0;
    return !has_messages;
}

static void sleep_until_rung(waiter *w)
{
    uint32_t *doorbell = pod__mailbox_doorbell(w->mailbox, pod_comm_rank(w->run->comm));
    const int64_t n_changes = w->n_changes;
    pod__doorbell_set(doorbell);
    const bool sleeps = !look(w) && w->n_changes == n_changes;
    if (sleeps) pod__host_sleep(doorbell, 1, SLEEP_NS);
    pod__doorbell_clear(doorbell);
    if (sleeps) pod__watch_look(&w->watch);
}

static void pass_time(waiter *w)
{
    const patience *p = w->patience;
    if (w->n_looks < p->n_pauses) {
        pod__host_pause();
    } else if (w->n_looks < p->n_pauses + p->n_yields || !can_sleep(w)) {
        if (pod__watch_is_long(&w->watch))
            pod__watch_sleep();
        else
            sched_yield();
        if (w->n_looks % LOOKS_BEFORE_WATCH == 0) pod__watch_look(&w->watch);
    } else {
        sleep_until_rung(w);
    }
}

static int list_awaited(const void *of, int rank[], int max)
{
    const pod_coll_run *r = of;
    const int n = pod__mpi_awaited(r, rank, 0, max);
    return r->shm ? pod__shm_awaited(r, rank, n, max) : n;
}

void pod_coll_run_wait_among(pod_coll_run *r, pod_coll_run *const others[], int n)
{
    waiter w = {.run = r, .others = others, .n_others = n};
    if (look(&w)) return;
    w.mailbox = pod__comm_mailbox(r->comm);
    w.patience = w.mailbox && !pod__mailbox_is_crowded(w.mailbox) ? &roomy : &crowded;
    w.watch = (pod__watch){
        .comm = r->comm, .what = r->what, .number = r->epoch, .awaited = list_awaited, .of = r};
    pod__watch_begin(&w.watch);
    for (int64_t n_changes = w.n_changes; pass_time(&w), !look(&w); n_changes = w.n_changes) {
        w.n_looks++;
        if (w.n_changes == n_changes) continue;
        w.n_looks = 0;
        pod__watch_moved(&w.watch);
    }
    pod__watch_end(&w.watch);
}

void pod_coll_run_wait(pod_coll_run *r) { pod_coll_run_wait_among(r, NULL, 0); }
