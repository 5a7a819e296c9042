/* Collectives among the ranks of a job, on the wall clock, timed as nccl-tests does: so many
 * operations back to back between two looks at the clock. Nothing is sent or allocated while the
 * clock runs, beyond what is measured.
 *
 * Ours work in place, as training does; the MPI library's out of place, as its users call it. They
 * take turns, round by round, so that what else this host does hits all alike. */
#include <string.h>
#include <time.h>

#include "bench/coll.h"
#include "bench/coll_data.h"
#include "collectives/exec/coll_run.h"
#include "collectives/exec/peer_mpi.h"
#include "kernels/base/parse.h"
#include "runtime/core/room.h"

enum { ALIGN = 4096, MIN_COPIES = 6 };

typedef struct subject { /* one entry at one size */
    int entry;
    const pod_coll_algo *algo;
    pod_coll_args args;
    const pod_peer_mpi *peer; /* NULL: ours */
    pod_coll_run **run;       /* (n_buffers) */
    double *round_s;          /* (n_rounds) of an operation */
    double *iter_s;           /* (n_iters) */
    int64_t n_wrong;
} subject;

typedef struct bench_ranks {
    pod_bench *b;
    const pod_bench_plan *plan;
    pod_comm *comm;
    pod_arena *arena; /* of one size */
    pod_coll_data *data;
    pod_window *window;  /* NULL: nothing is shared */
    char *own;           /* buffers of ours, one after another */
    char *in, *out;      /* the peer's, in memory as its users have it; NULL without a peer */
    size_t buffer_bytes; /* at this size, guards and all */
    int size, n_buffers;
    int next; /* buffer to be worked on: round and round, whoever works */
    subject *subject;
    int n_subjects;
    double copy_s;
} bench_ranks;

/* ---- buffers -------------------------------------------------------------------------------- */

static size_t most_bytes(const pod_bench_plan *p)
{
    size_t most = 0;
    for (int s = 0; s < p->n_sizes; s++) {
        const int n_cold = pod_bench_n_cold(p, s);
        const size_t bytes =
            pod_coll_data_bytes(p->count[s], p->dtype) * (size_t)(n_cold > 1 ? n_cold : 1);
        if (bytes > most) most = bytes;
    }
    return most;
}

static bool has_peer(const pod_bench_plan *p)
{
    for (int e = 0; e < p->n_entries; e++)
        if (p->entry[e].is_peer) return true;
    return false;
}

static void *input(const bench_ranks *x, const subject *s, int buffer)
{
    return pod_coll_data_at((s->peer ? x->in : x->own) + (size_t)buffer * x->buffer_bytes);
}

/* Where the result of a subject stands. */
static void *result(const bench_ranks *x, const subject *s, int buffer)
{
    if (!s->peer || x->plan->coll == POD_BROADCAST) return input(x, s, buffer);
    return pod_coll_data_at(x->out + (size_t)buffer * x->buffer_bytes);
}

/* ---- one operation, and many ---------------------------------------------------------------- */

static void operate(const bench_ranks *x, const subject *s, int buffer)
{
    if (s->peer) {
        pod_peer_mpi_run(s->peer, input(x, s, buffer), result(x, s, buffer));
        return;
    }
    pod_coll_run_start(s->run[buffer]);
    pod_coll_run_wait(s->run[buffer]);
}

static void operate_on_next(bench_ranks *x, const subject *s)
{
    operate(x, s, x->next);
    x->next = (x->next + 1) % x->n_buffers;
}

static void warm_up(bench_ranks *x, const subject *s)
{
    for (int i = 0; i < x->plan->n_warmup; i++) operate_on_next(x, s);
    pod_comm_barrier(x->comm);
}

static double seconds_since(const pod_clock *clock)
{
    return pod_time_seconds(pod_clock_now(clock));
}

static double time_round(bench_ranks *x, const subject *s)
{
    const int n = x->plan->n_iters;
    warm_up(x, s);
    const pod_clock clock = pod_clock_start();
    for (int i = 0; i < n; i++) operate_on_next(x, s);
    return seconds_since(&clock) / n;
}

static void time_iterations(bench_ranks *x, const subject *s)
{
    warm_up(x, s);
    const pod_clock clock = pod_clock_start();
    double before = 0;
    for (int i = 0; i < x->plan->n_iters; i++) {
        operate_on_next(x, s);
        const double now = seconds_since(&clock);
        s->iter_s[i] = now - before;
        before = now;
    }
}

/* The sums of zeros stay zero, however often they are made in place. */
static void fill_with_zeros(const bench_ranks *x)
{
    const size_t bytes = x->buffer_bytes * (size_t)x->n_buffers;
    memset(x->own, 0, bytes);
    if (!x->in) return;
    memset(x->in, 0, bytes);
    memset(x->out, 0, bytes);
}

/* A rank waits for the slowest, so its time is that of all. */
static void time_subjects(bench_ranks *x)
{
    const pod_bench_plan *p = x->plan;
    fill_with_zeros(x);
    for (int round = 0; round < p->n_rounds; round++)
        for (int i = 0; i < x->n_subjects; i++)
            x->subject[i].round_s[round] = time_round(x, &x->subject[i]);
    for (int i = 0; i < x->n_subjects; i++) {
        subject *s = &x->subject[i];
        time_iterations(x, s);
        pod_comm_max(x->comm, s->round_s, p->n_rounds);
        pod_comm_max(x->comm, s->iter_s, p->n_iters);
    }
}

/* ---- right or wrong ------------------------------------------------------------------------- */

/* All buffers back to back: a collective that leaves early would meet the next. */
static int64_t count_wrong(const bench_ranks *x, const subject *s)
{
    const int rank = pod_comm_rank(x->comm);
    double n_wrong = 0;
    for (int i = 0; i < x->n_buffers; i++) {
        pod_coll_data_fill(x->data, rank, input(x, s, i));
        if (result(x, s, i) != input(x, s, i)) pod_coll_data_clear(x->data, result(x, s, i));
    }
    pod_comm_barrier(x->comm);
    for (int i = 0; i < x->n_buffers; i++) operate(x, s, i);
    pod_comm_barrier(x->comm);
    for (int i = 0; i < x->n_buffers; i++)
        n_wrong += (double)pod_coll_data_wrong(x->data, rank, result(x, s, i));
    pod_comm_sum(x->comm, &n_wrong, 1);
    return (int64_t)n_wrong;
}

/* ---- the limit ------------------------------------------------------------------------------ */

/* Time that this thread had a core. */
static double core_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The best time in which all ranks at once read and write their buffers, each all of it once. Ranks
 * that share a core take turns, so what counts is the time that each has it, one after the other;
 * what else this host does is not in it. */
static double time_copy(const bench_ranks *x)
{
    const double n_ranks = x->plan->n_node_ranks, n_cores = x->plan->n_cores, enough_s = 0.05;
    const int64_t bytes = pod_bench_bytes(x->plan, x->size), long_enough = 1 << 20;
    const int n =
        bytes * x->n_buffers < long_enough ? (int)(long_enough / (bytes + 1)) + 1 : x->n_buffers;
    const subject ours = {0};
    const pod_clock clock = pod_clock_start();
    double best = 0, state[2] = {0, 0}; /* of a copy; since the clock began */
    for (int i = 0; i < MIN_COPIES || state[1] < enough_s; i++) {
        pod_comm_barrier(x->comm);
        const double before = core_seconds();
        for (int k = 0; k < n; k++)
            pod_bench_rewrite(input(x, &ours, k % x->n_buffers), (size_t)bytes, i);
        state[0] = (core_seconds() - before) / n;
        state[1] = seconds_since(&clock);
        pod_comm_max(x->comm, state, 2); /* so that all stop alike */
        if (i == 0 || state[0] < best) best = state[0];
    }
    return n_ranks > n_cores ? best * n_ranks / n_cores : best;
}

/* ---- one size ------------------------------------------------------------------------------- */

static pod_status make_run(const bench_ranks *x, const pod_sched *sched, const char *what,
                           void *buffer, pod_coll_run **out)
{
    const pod_dtype t = x->plan->dtype;
    return x->window ? pod_coll_run_create_shm(x->comm, sched, t, x->window, buffer, what, out)
                     : pod_coll_run_create_mpi(x->comm, sched, t, buffer, what, out);
}

static pod_status make_runs(bench_ranks *x, subject *s)
{
    char what[96], bytes[32];
    const pod_sched *sched;
    pod_status mine =
        pod_coll_build(x->arena, s->algo, &x->plan->mesh, pod_comm_rank(x->comm), &s->args, &sched);
    s->run = POD_ARENA_NEW(x->arena, pod_coll_run *, x->n_buffers);
    if (mine == POD_OK && !s->run) mine = POD_E_NOMEM;
    POD_TRY(pod_comm_agree(x->comm, mine));
    snprintf(what, sizeof what, "%s %s %s", pod_coll_name(s->args.coll), s->algo->name,
             pod_print_size(pod_bench_bytes(x->plan, x->size), bytes, sizeof bytes));
    for (int i = 0; i < x->n_buffers; i++)
        POD_TRY(make_run(x, sched, what, input(x, s, i), &s->run[i]));
    return POD_OK;
}

/* Local: what can be had without the other ranks. */
static pod_status make_subject(bench_ranks *x, const pod_bench_entry *e, subject *s)
{
    s->algo = pod_bench_pick(x->plan, e, x->size, &s->args);
    s->round_s = POD_ARENA_NEW(x->arena, double, x->plan->n_rounds);
    s->iter_s = POD_ARENA_NEW(x->b->arena, double, x->plan->n_iters);
    if (!s->round_s || !s->iter_s) return POD_E_NOMEM;
    return e->is_peer ? pod_peer_mpi_create(x->arena, x->comm, &s->args, &s->peer) : POD_OK;
}

static pod_status make_subjects(bench_ranks *x)
{
    const pod_bench_plan *p = x->plan;
    const pod_coll_args args = pod_bench_args(p, x->size);
    pod_status mine = pod_coll_data_create(x->arena, &args, p->n_ranks, &x->data);
    x->subject = POD_ARENA_NEW(x->arena, subject, p->n_entries);
    if (!x->subject) mine = POD_E_NOMEM;
    for (int e = 0; e < p->n_entries && mine == POD_OK; e++) {
        if (pod_bench_why_not(p, &p->entry[e], x->size)) continue;
        x->subject[x->n_subjects].entry = e;
        mine = make_subject(x, &p->entry[e], &x->subject[x->n_subjects++]);
    }
    POD_TRY(pod_comm_agree(x->comm, mine));
    for (int i = 0; i < x->n_subjects; i++)
        if (!x->subject[i].peer) POD_TRY(make_runs(x, &x->subject[i]));
    return POD_OK;
}

static void destroy_subjects(bench_ranks *x)
{
    for (int i = 0; i < x->n_subjects; i++)
        for (int k = 0; x->subject[i].run && k < x->n_buffers; k++)
            pod_coll_run_destroy(x->subject[i].run[k]);
    x->n_subjects = 0;
}

static pod_status add_rows(bench_ranks *x)
{
    const pod_bench_plan *p = x->plan;
    for (int i = 0; i < x->n_subjects; i++) {
        subject *s = &x->subject[i];
        double *sorted = pod_arena_copy(x->arena, s->iter_s, _Alignof(double),
                                        (size_t)p->n_iters * sizeof(double));
        if (!sorted) return POD_E_NOMEM;
        const pod_bench_row row = {
            .size = x->size,
            .entry = s->entry,
            .algo = s->algo,
            .n_buffers = x->n_buffers,
            .round_s = pod_spread_of(s->round_s, p->n_rounds),
            .iter_s = pod_spread_of(sorted, p->n_iters),
            .iter_cv = pod_bench_cv(s->iter_s, p->n_iters),
            .iters = s->iter_s,
            .n_wrong = s->n_wrong,
            .ideal_s = x->copy_s * pod_bench_traffic(p, x->size),
        };
        POD_TRY(pod_bench_add(x->b, row, &s->args));
    }
    return POD_OK;
}

static pod_status measure(bench_ranks *x)
{
    POD_TRY(make_subjects(x));
    time_subjects(x);
    x->copy_s = time_copy(x);
    for (int i = 0; i < x->n_subjects; i++)
        x->subject[i].n_wrong = x->plan->with_check ? count_wrong(x, &x->subject[i]) : -1;
    return pod_comm_agree(x->comm, add_rows(x));
}

static pod_status measure_size(bench_ranks *x, int size, int n_buffers)
{
    x->size = size;
    x->n_buffers = n_buffers;
    x->next = 0;
    x->buffer_bytes = pod_coll_data_bytes(x->plan->count[size], x->plan->dtype);
    POD_TRY(pod_comm_agree(x->comm, pod_arena_create(NULL, &x->arena)));
    const pod_status s = measure(x);
    destroy_subjects(x);
    pod_arena_destroy(x->arena);
    return s;
}

static pod_status measure_all(bench_ranks *x)
{
    const pod_bench_plan *p = x->plan;
    pod_log *log = x->b->call->log;
    pod_progress_begin(log, "measuring", "sizes", 0, p->n_sizes);
    for (int s = 0; s < p->n_sizes; s++) {
        const int n_cold = pod_bench_n_cold(p, s);
        if (p->with_hot) POD_TRY(measure_size(x, s, 1));
        if (n_cold > 0) POD_TRY(measure_size(x, s, n_cold));
        pod_progress_at(log, s + 1, "%s", "");
    }
    pod_progress_end(log);
    return POD_OK;
}

static pod_status take_peers_memory(bench_ranks *x, size_t bytes)
{
    if (!has_peer(x->plan)) return POD_OK;
    x->in = pod_arena_get(x->b->arena, ALIGN, bytes);
    x->out = pod_arena_get(x->b->arena, ALIGN, bytes);
    return x->in && x->out ? POD_OK : POD_E_NOMEM;
}

static pod_status take_memory(bench_ranks *x)
{
    const size_t bytes = most_bytes(x->plan);
    if (x->plan->on == POD_ON_SHM) {
        POD_TRY(pod_window_create(x->comm, bytes, &x->window));
        x->own = pod_window_data(x->window);
    } else {
        x->own = pod_arena_get(x->b->arena, ALIGN, bytes);
    }
    return pod_comm_agree(x->comm, x->own ? take_peers_memory(x, bytes) : POD_E_NOMEM);
}

pod_status pod_bench_ranks_room(const pod_bench *b)
{
    const pod_bench_plan *p = &b->plan;
    const size_t bytes = most_bytes(p);
    const int n_buffers = has_peer(p) ? 3 : 1; /* a peer's in and out */
    char what[80];
    snprintf(what, sizeof what, "maxbytes: %d ranks of a node with buffers of %.3g GB each",
             p->n_node_ranks, 1e-9 * (double)bytes);
    return pod_room_check(what, (double)p->n_node_ranks * n_buffers * (double)bytes);
}

pod_status pod_bench_ranks(pod_bench *b)
{
    bench_ranks x = {.b = b, .plan = &b->plan, .comm = b->call->comm};
    pod_status s = take_memory(&x);
    if (s == POD_OK) s = measure_all(&x);
    pod_window_destroy(x.window);
    return s;
}
