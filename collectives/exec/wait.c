/* Waiting for runs. */
#include "collectives/exec/coll_run.h"

#include <sched.h>

#include "collectives/exec/board.h"
#include "collectives/exec/run.h"

/* What is tried before this rank sleeps. A message between two ranks that both run comes within the
 * pauses. Where ranks outnumber the CPUs the other one needs this CPU first: it gets it at once,
 * and a bounded number of times, since ranks that wait side by side only pass it on to each other.
 */
typedef struct patience {
    int n_pauses, n_yields;
} patience;

static const patience roomy = {2000, 200}, crowded = {4, 100};

static const int64_t SLEEP_NS = 200000000; /* at most, then it looks again */

typedef struct waiter {
    pod_coll_run *run;
    pod_coll_run *const *others;
    int n_others;
    int64_t n_changes; /* of all of them */
    bool has_moved;    /* in the last look */
} waiter;

/* Polls all; true when the run is done. */
static bool look(waiter *w)
{
    bool is_done = pod_coll_run_poll(w->run);
    int64_t n_changes = w->run->n_changes;
    for (int i = 0; !is_done && i < w->n_others; i++) {
        (void)pod_coll_run_poll(w->others[i]);
        n_changes += w->others[i]->n_changes;
    }
    w->has_moved = n_changes != w->n_changes;
    w->n_changes = n_changes;
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

static bool sleep_until_rung(waiter *w, uint32_t *bell)
{
    pod__bell_set(bell);
    bool is_done = look(w);
    if (!is_done && !w->has_moved) (void)pod__host_sleep(bell, 1, SLEEP_NS);
    pod__bell_clear(bell);
    return is_done;
}

void pod_coll_run_wait_among(pod_coll_run *r, pod_coll_run *const others[], int n)
{
    waiter w = {.run = r, .others = others, .n_others = n};
    pod_comm *c = r->comm;
    const pod__board *board = pod__comm_board(c);
    const patience p = board && !pod__board_is_crowded(board) ? roomy : crowded;
    for (int n_looks = 0; !look(&w); n_looks = w.has_moved ? 0 : n_looks + 1) {
        if (n_looks < p.n_pauses) {
            pod__host_pause();
        } else if (n_looks < p.n_pauses + p.n_yields || !can_sleep(&w)) {
            sched_yield();
        } else if (sleep_until_rung(&w, pod__board_bell(board, pod_comm_rank(c)))) {
            break;
        }
    }
}

void pod_coll_run_wait(pod_coll_run *r) { pod_coll_run_wait_among(r, NULL, 0); }
