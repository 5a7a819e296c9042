/* The roster: who answers is there, who does not is missing; an answer counts for the call that
 * asked for it and for no later one. */
#include <time.h>

#include "collectives/exec/watch/roster.h"
#include "tests/harness/harness.h"
#include "tests/mpi/ranks.h"

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int n_answers(const pod__roster *r)
{
    int n = 0;
    for (int i = 0; i < size; i++) n += i != rank && pod__roster_has_answered(r, i);
    return n;
}

/* Until `n` others have answered, at most some seconds. */
static void listen_for(pod__roster *r, int n)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    for (int i = 0; i < 20000 && n_answers(r) < n; i++) {
        pod__roster_listen(r);
        nanosleep(&nap, NULL);
    }
    POD_CHECK(n_answers(r) == n, "%d answers, want %d", n_answers(r), n);
}

static pod__roster *begin(void)
{
    pod__roster *r = NULL;
    POD_CHECK_OK(pod__roster_create(comm, &r));
    pod_comm_barrier(comm);
    return r;
}

static void end(pod__roster *r)
{
    pod_comm_barrier(comm);
    pod__roster_listen(r); /* nothing is left for the next */
    pod_comm_barrier(comm);
    pod__roster_destroy(r);
}

/* Others hear of the call in their wait for the end, as ranks that wait listen. */
static void listen_once_called(pod__roster *r)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    for (int i = 0; i < 20000 && !pod__roster_is_ending(r); i++) {
        pod__roster_listen(r);
        nanosleep(&nap, NULL);
    }
    POD_CHECK(pod__roster_is_ending(r), "no call");
}

static void test_call(void)
{
    pod__roster *r = begin();
    POD_CHECK(!pod__roster_is_ending(r) && pod__roster_has_answered(r, rank), "begun already");
    if (rank == 0) {
        POD_CHECK(pod__roster_call(r, now_ns()) == POD__ROSTER_OPEN, "not open");
        listen_for(r, size - 1);
        POD_CHECK(pod__roster_call(r, now_ns() + INT64_C(1000000000)) == POD__ROSTER_OVER,
                  "not over");
    } else {
        listen_once_called(r);
        POD_CHECK(pod__roster_call(r, now_ns()) == POD__ROSTER_CALLED, "called itself");
    }
    end(r);
}

/* What came in answer to a call that was given up tells nothing of who is there at the next. */
static void test_old_answers(void)
{
    pod__roster *r = begin();
    for (int call = 0; call < 2; call++) {
        if (rank == 0) {
            POD_CHECK(pod__roster_call(r, now_ns()) == POD__ROSTER_OPEN, "call %d", call);
            POD_CHECK(n_answers(r) == 0, "call %d: %d have answered before they could", call,
                      n_answers(r));
            pod__roster_forget(r);
            listen_for(r, size - 1); /* they come late */
        } else {
            listen_once_called(r);
            pod__roster_forget(r);
        }
        pod_comm_barrier(comm);
    }
    end(r);
}

POD_TEST_SUITE_WITH("roster", open_comm, close_comm, {"a call", test_call},
                    {"answers to an earlier call", test_old_answers});
