/* hang WHERE CARRIER NODE SECONDS: ranks that train in form, with steps of an all-reduce, a vote
 * and an agreement, under a watchdog of so many seconds. In step 20 the last but one (of one,
 * itself)
 *
 *     begin      stops for ever as the step begins
 *     inside     when it has begun the all-reduce
 *     agree      before the agreement
 *     vote       before the vote
 *     stopped    is stopped by a signal as the step begins
 *     waiting    is stopped by a signal while it waits for rank 0, which is late
 *     killed     is killed as the step begins
 *     dies       is killed when it has begun the all-reduce, as by the system for want of memory, and
 *                the others wait in it, too
 *     gone       ends there with exit code 0, nothing said
 *     clock      stops for ever in a measurement of clocks, half way through its turn
 *     clock0     the same, and it is rank 0, for which all others wait
 *     dead       is killed there
 *     late       comes after half of the seconds; all goes on
 *     idle       works for twice the seconds, while the others have nothing to do; all goes on
 *
 * With 0 seconds nobody watches: there are all-reduces alone, which have no steps; who waits says so
 * after 1 s, and who is late comes after 2.5.
 *
 * With "paced" it is late by little in every step and all ranks say which process they are, so
 * that they can be stopped and made to go on from outside, wherever they are; all goes on.
 *
 * and "setup" is "begin" before the first step. CARRIER is mpi, shm, or direct: shm with an
 * algorithm that only meets. NODE is how many ranks play a node; 0: all. Who hangs says when, in
 * seconds since the epoch. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "collectives/algo/algo.h"
#include "collectives/exec/coll_run.h"
#include "collectives/exec/mpi/clock_offset.h"
#include "collectives/exec/watch/vote.h"

enum { N_STEPS = 25, STEP = 20 };

/* ---- an all-reduce of 400 KB among all ranks, as training makes one ---- */

enum { RING_COUNT = 100000 };

static void must(pod_status status)
{
    if (status == POD_OK) return;
    fprintf(stderr, "%s\n", pod_error_text());
    exit(2);
}

typedef struct ring_run {
    pod_arena *arena;
    pod_window *window;
    pod_coll_run *run;
} ring_run;

/* CARRIER is mpi, shm, or direct: shm with an algorithm that only meets. Collective. */
static ring_run ring_run_open(pod_comm *c, const char *carrier)
{
    static const char label[] = "allreduce ring 400K";
    const pod_mesh m = {.n_dims = 1, .extent = {pod_comm_size(c)}, .wraps = {true}};
    const pod_coll_args args = {.coll = POD_ALLREDUCE,
                                .dtype = POD_F32,
                                .count = RING_COUNT,
                                .group = pod_group_all(&m),
                                .node_size = pod_comm_node_size(c)};
    const char *name = strcmp(carrier, "direct") == 0 ? "direct" : "ring";
    const pod_coll_algo *algo = pod_coll_find(POD_ALLREDUCE, name);
    const pod_sched *s;
    ring_run r;
    must(pod_arena_create(NULL, &r.arena));
    must(pod_coll_build(r.arena, algo, &m, pod_comm_rank(c), &args, &s));
    must(pod_window_create(c, RING_COUNT * sizeof(float), &r.window));
    void *buf = pod_window_data(r.window);
    if (strcmp(carrier, "mpi") == 0)
        must(pod_coll_run_create_mpi(c, s, POD_F32, buf, label, &r.run));
    else
        must(pod_coll_run_create_shm(c, s, POD_F32, r.window, buf, label, &r.run));
    return r;
}

static void ring_run_close(ring_run *r)
{
    pod_coll_run_destroy(r->run);
    pod_window_destroy(r->window);
    pod_arena_destroy(r->arena);
}

/* ---- what a rank does instead ---- */

static void nap(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds};
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    nanosleep(&t, NULL);
}

static void say_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    printf("hangs at %ld.%09ld\n", (long)t.tv_sec, t.tv_nsec);
    fflush(stdout);
}

static void stop(int signal_number)
{
    (void)signal_number;
    raise(SIGSTOP);
}

static void stop_soon(void)
{
    const struct sigaction own = {.sa_handler = stop};
    sigaction(SIGALRM, &own, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 300000}}, NULL);
}

typedef struct plan {
    const char *where;
    double seconds;
    bool is_victim;
    int rank;
} plan;

/* The place `at`, of this rank in the step in which it happens. */
static void come_to(const plan *p, const char *at, int step)
{
    if (step != STEP || strcmp(p->where, at) != 0) return;
    if (strcmp(at, "waiting") == 0 && p->rank == 0) {
        nap(1);
        say_time(); /* from here on the one that was stopped is missing */
    }
    if (!p->is_victim) return;
    if (strcmp(at, "late") == 0) {
        nap(p->seconds > 0 ? p->seconds / 2 : 2.5);
    } else if (strcmp(at, "dies") == 0 || strcmp(at, "gone") == 0) {
        nap(0.3);
        if (strcmp(at, "dies") == 0) raise(SIGKILL);
        _Exit(0);
    } else if (strcmp(at, "idle") == 0) {
        nap(2 * p->seconds);
    } else if (strcmp(at, "waiting") == 0) {
        stop_soon();
    } else {
        say_time();
        if (strcmp(at, "killed") == 0) raise(SIGKILL);
        if (strcmp(at, "stopped") == 0) raise(SIGSTOP);
        for (;;) pause();
    }
}

/* ---- a clock that stops ---- */

typedef struct victim_clock {
    const plan *plan;
    int n_looks;
} victim_clock;

static int64_t look(const void *ctx)
{
    victim_clock *v = (victim_clock *)ctx;
    if (++v->n_looks == 20 && v->plan->is_victim) {
        say_time();
        if (strcmp(v->plan->where, "dead") == 0) raise(SIGKILL);
        for (;;) pause();
    }
    return v->n_looks;
}

static bool measures_clocks(const char *where)
{
    return strcmp(where, "clock") == 0 || strcmp(where, "clock0") == 0 ||
           strcmp(where, "dead") == 0;
}

static void measure(pod_comm *c, const plan *p)
{
    victim_clock clock = {.plan = p};
    const pod_clock_source source = {.now = look, .ctx = &clock};
    pod_clock_offset found;
    must(pod_clock_offset_find(c, &source, &found));
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    const char *carrier = argv[2];
    const int node = atoi(argv[3]);
    plan p = {.where = argv[1], .seconds = strtod(argv[4], NULL)};
    pod_comm *c;
    must(pod_comm_open(&c));
    const int rank = pod_comm_rank(c), size = pod_comm_size(c);
    p.rank = rank;
    p.is_victim = rank == (size > 1 ? size - 2 : 0) + (size == 2);
    if (strcmp(p.where, "clock0") == 0) p.is_victim = rank == 0;
    if (node > 0) pod_comm_split_nodes(c, node);
    const bool is_watched = p.seconds > 0;
    if (is_watched)
        must(pod_comm_set_watchdog(c, p.seconds));
    else
        pod_comm_set_patience(c, 1);
    if (strcmp(p.where, "setup") == 0 && p.is_victim) {
        say_time();
        for (;;) pause();
    }
    const bool is_paced = strcmp(p.where, "paced") == 0;
    if (is_paced) printf("rank %d is pid %ld\n", rank, (long)getpid());
    fflush(stdout);
    ring_run ring = ring_run_open(c, carrier);
    pod_vote *vote;
    must(pod_vote_open(c, &vote));
    for (int step = 1; step <= N_STEPS; step++) {
        if (is_watched) pod_comm_set_step(c, step);
        static const char *const as_it_begins[] = {"begin",  "stopped", "waiting",
                                                   "killed", "late",    "idle"};
        for (size_t i = 0; i < sizeof as_it_begins / sizeof as_it_begins[0]; i++)
            come_to(&p, as_it_begins[i], step);
        if (step == STEP && strcmp(p.where, "idle") == 0) pod_comm_barrier_idle(c);
        if (is_paced && p.is_victim) nap(0.1);
        if (step == STEP && measures_clocks(p.where)) measure(c, &p);
        pod_coll_run_start(ring.run);
        come_to(&p, "inside", step);
        come_to(&p, "dies", step);
        come_to(&p, "gone", step);
        pod_coll_run_wait(ring.run);
        if (!is_watched) continue;
        come_to(&p, "vote", step);
        (void)pod_vote_turn(vote, 0);
        come_to(&p, "agree", step);
        must(pod_comm_agree(c, POD_OK));
    }
    pod_vote_close(vote);
    ring_run_close(&ring);
    pod_comm_close(c);
    return 0;
}
