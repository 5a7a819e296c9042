/* Collectives on the wall clock, among the ranks of a job or, with --on local, among as many in one
 * process: what one pass of the plain twin of the executors costs on one core. They are timed as
 * nccl-tests does: so many operations back to back between two looks at the clock. Nothing is sent or
 * allocated while the clock runs, beyond what is measured.
 *
 * Each is timed in place and out of place, as nccl-tests does. Ours work in place, as training does,
 * on buffers that were registered before; out of place they copy first what the rank gives. The MPI
 * library's own do either. All take turns, round by round, so that what else this host does hits all
 * alike. */
#include <string.h>
#include <time.h>

#include "bench/coll/coll.h"
#include "bench/coll/data.h"
#include "collectives/exec/coll_run.h"
#include "collectives/exec/exec_local.h"
#include "collectives/exec/mpi/peer_mpi.h"
#include "kernels/base/parse.h"
#include "runtime/core/room.h"

enum { ALIGN = 4096, MIN_COPIES = 6 };

typedef struct subject { /* one entry at one size */
    int entry;
    const pod_coll_algo *algo;
    pod_coll_args args;
    const pod_peer_mpi *peer;     /* NULL: ours */
    pod_coll_run **run;           /* (n_buffers) */
    const pod_sched *const *all;  /* of all ranks, where they are in this process; then no run */
    double *round_s[POD_N_FORMS]; /* (n_rounds) of an operation */
    double *iter_s;               /* (n_iters) in place; in one process of the last round */
    int64_t n_wrong[POD_N_FORMS];
} subject;

typedef struct bench_ranks {
    pod_bench *b;
    const pod_bench_plan *plan;
    pod_comm *comm;
    int first_rank, n_here; /* the ranks of this process */
    pod_arena *arena;       /* of one size */
    pod_coll_data *data;
    pod_window *window; /* NULL: nothing is shared */
    /* (n_here) times rank_bytes each, of a rank its buffers one after another: ours; what is given out
     * of place; the peer's results, in memory as users of MPI have it, NULL without a peer. */
    char *own, *in, *out;
    size_t rank_bytes;
    void **local; /* (n_here) what pod_sched_run_local works on */
    size_t element_bytes;
    size_t buffer_bytes; /* at this size, guards and all */
    int size, n_buffers;
    int next; /* buffer to be worked on: round and round, whoever works */
    subject *subject;
    int n_subjects;
    double copy_s;
    pod_status status; /* of the executor for one process, once it has failed */
} bench_ranks;

/* ---- buffers -------------------------------------------------------------------------------- */

static size_t most_bytes(const pod_bench_plan *p)
{
    size_t most = 0;
    for (int s = 0; s < p->n_sizes; s++) {
        const int n_cold = pod_bench_n_cold(p, s);
        const size_t bytes = pod_coll_data_bytes(p->size[s].count, p->size[s].type->dtype) *
                             (size_t)(n_cold > 1 ? n_cold : 1);
        if (bytes > most) most = bytes;
    }
    return most;
}

/* Ranks of this process are 0 to n_here - 1 here. */
static void *buffer_of(const bench_ranks *x, char *memory, int rank, int buffer)
{
    return pod_coll_data_at(memory + (size_t)rank * x->rank_bytes +
                            (size_t)buffer * x->buffer_bytes);
}

/* Where the result of a subject stands. */
static void *result(const bench_ranks *x, const subject *s, int rank, int buffer)
{
    return buffer_of(x, s->peer ? x->out : x->own, rank, buffer);
}

/* What it is given. */
static void *input(const bench_ranks *x, const subject *s, int rank, int buffer, pod_bench_form f)
{
    return f == POD_IN_PLACE ? result(x, s, rank, buffer) : buffer_of(x, x->in, rank, buffer);
}

/* ---- one operation, and many ---------------------------------------------------------------- */

static void copy_given(const bench_ranks *x, const subject *s, int buffer)
{
    for (int r = 0; r < x->n_here; r++) {
        const pod_range given = pod_coll_data_given(&s->args, x->plan->n_ranks, x->first_rank + r);
        const size_t first = (size_t)given.first * x->element_bytes;
        memcpy((char *)result(x, s, r, buffer) + first,
               (char *)input(x, s, r, buffer, POD_OUT_OF_PLACE) + first,
               (size_t)given.count * x->element_bytes);
    }
}

static void operate_in_process(bench_ranks *x, const subject *s, int buffer)
{
    if (x->status != POD_OK) return;
    for (int r = 0; r < x->n_here; r++) x->local[r] = result(x, s, r, buffer);
    x->status = pod_sched_run_local(s->all, x->n_here, s->args.dtype, x->local);
}

static void operate(bench_ranks *x, const subject *s, int buffer, pod_bench_form f)
{
    const bool copies = !s->peer || x->plan->coll == POD_BROADCAST; /* which is in place alone */
    if (f == POD_OUT_OF_PLACE && copies) copy_given(x, s, buffer);
    if (s->peer) {
        void *out = result(x, s, 0, buffer);
        pod_peer_mpi_run(s->peer, copies ? out : input(x, s, 0, buffer, f), out);
    } else if (s->all) {
        operate_in_process(x, s, buffer);
    } else {
        pod_coll_run_start(s->run[buffer]);
        pod_coll_run_wait(s->run[buffer]);
    }
}

static void operate_on_next(bench_ranks *x, const subject *s, pod_bench_form f)
{
    operate(x, s, x->next, f);
    x->next = (x->next + 1) % x->n_buffers;
    if (x->plan->is_blocking) pod_comm_barrier(x->comm);
}

/* Time that this thread had a core. */
static double core_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds_since(const pod_clock *clock)
{
    return pod_time_seconds(pod_clock_now(clock));
}

/* By the clock that counts. */
static double now_s(const bench_ranks *x, const pod_clock *clock)
{
    return x->plan->counts_cpu_time ? core_seconds() : seconds_since(clock);
}

/* Of an operation; `iter_s`, unless it is NULL, gets the time of each by itself. */
static double time_round(bench_ranks *x, const subject *s, pod_bench_form f, double iter_s[])
{
    const int n = x->plan->n_iters;
    for (int i = 0; i < x->plan->n_warmup; i++) operate_on_next(x, s, f);
    pod_comm_barrier(x->comm);
    const pod_clock clock = pod_clock_start();
    const double begin = now_s(x, &clock);
    double before = begin;
    for (int i = 0; i < n; i++) {
        operate_on_next(x, s, f);
        if (!iter_s) continue;
        const double now = now_s(x, &clock);
        iter_s[i] = now - before;
        before = now;
    }
    return ((iter_s ? before : now_s(x, &clock)) - begin) / n;
}

/* The time that counts, of those of all ranks (--average); likewise for many of them. */
static void agree_on(const bench_ranks *x, double time_s[], int n)
{
    const double sign = x->plan->average == 2 ? -1 : 1, n_ranks = x->plan->n_ranks;
    const bool is_mean = x->plan->average == 1;
    for (int i = 0; i < n; i++) time_s[i] *= sign;
    if (x->plan->average == 0)
        pod_comm_broadcast(x->comm, 0, time_s, (size_t)n * sizeof time_s[0]);
    else if (is_mean)
        pod_comm_sum(x->comm, time_s, n);
    else
        pod_comm_max(x->comm, time_s, n);
    for (int i = 0; i < n; i++) time_s[i] *= sign / (is_mean ? n_ranks : 1);
}

/* The sums of zeros stay zero, however often they are made in place. */
static void fill_with_zeros(const bench_ranks *x)
{
    const size_t bytes = x->buffer_bytes * (size_t)x->n_buffers;
    char *const memory[] = {x->own, x->in, x->out};
    for (int i = 0; i < 3; i++)
        for (int r = 0; memory[i] && r < x->n_here; r++)
            memset(memory[i] + (size_t)r * x->rank_bytes, 0, bytes);
}

/* A look at the clock after each operation would hold up the other ranks, where there are any: so
 * iterations are timed apart. */
static void time_subjects(bench_ranks *x)
{
    const pod_bench_plan *p = x->plan;
    const bool is_alone = p->on == POD_ON_LOCAL;
    fill_with_zeros(x);
    for (int round = 0; round < p->n_rounds; round++)
        for (int i = 0; i < x->n_subjects; i++) {
            subject *s = &x->subject[i];
            for (int f = 0; f < POD_N_FORMS; f++)
                s->round_s[f][round] =
                    time_round(x, s, (pod_bench_form)f, is_alone ? s->iter_s : NULL);
        }
    for (int i = 0; i < x->n_subjects; i++) {
        subject *s = &x->subject[i];
        if (!is_alone) time_round(x, s, POD_IN_PLACE, s->iter_s);
        for (int f = 0; f < POD_N_FORMS; f++) agree_on(x, s->round_s[f], p->n_rounds);
        agree_on(x, s->iter_s, p->n_iters);
    }
}

/* ---- right or wrong ------------------------------------------------------------------------- */

/* All buffers back to back: a collective that leaves early would meet the next. */
static int64_t count_wrong(bench_ranks *x, const subject *s, pod_bench_form f)
{
    double n_wrong = 0;
    for (int r = 0; r < x->n_here; r++)
        for (int i = 0; i < x->n_buffers; i++) {
            pod_coll_data_clear(x->data, result(x, s, r, i));
            pod_coll_data_fill(x->data, x->first_rank + r, input(x, s, r, i, f));
        }
    pod_comm_barrier(x->comm);
    for (int i = 0; i < x->n_buffers; i++) operate(x, s, i, f);
    pod_comm_barrier(x->comm);
    for (int r = 0; r < x->n_here; r++)
        for (int i = 0; i < x->n_buffers; i++)
            n_wrong += (double)pod_coll_data_wrong(x->data, x->first_rank + r, result(x, s, r, i));
    pod_comm_sum(x->comm, &n_wrong, 1);
    return (int64_t)n_wrong;
}

static void check(bench_ranks *x, subject *s)
{
    for (int f = 0; f < POD_N_FORMS; f++) {
        s->n_wrong[f] = x->plan->n_checks > 0 ? 0 : -1;
        for (int i = 0; i < x->plan->n_checks; i++)
            s->n_wrong[f] += count_wrong(x, s, (pod_bench_form)f);
    }
}

/* ---- the limit ------------------------------------------------------------------------------ */

static void rewrite(const bench_ranks *x, int buffer, int k)
{
    for (int r = 0; r < x->n_here; r++)
        pod_bench_rewrite(buffer_of(x, x->own, r, buffer),
                          (size_t)pod_bench_bytes(x->plan, x->size), k);
}

/* The best time in which all ranks at once read and write their buffers, each all of it once. Ranks
 * that share a core take turns, so what counts is the time that each has it, one after the other;
 * what else this host does is not in it. One process has a core for all of them. */
static double time_copy(const bench_ranks *x)
{
    const double n_ranks = x->plan->n_node_ranks, n_cores = x->plan->n_cores;
    const double enough_s = x->plan->on == POD_ON_LOCAL ? 0 : 0.05;
    const int64_t bytes = x->n_here * pod_bench_bytes(x->plan, x->size), long_enough = 1 << 20;
    const int n =
        bytes * x->n_buffers < long_enough ? (int)(long_enough / (bytes + 1)) + 1 : x->n_buffers;
    const pod_clock clock = pod_clock_start();
    double best = 0, state[2] = {0, 0}; /* of a copy; since the clock began */
    for (int i = 0; i < MIN_COPIES || state[1] < enough_s; i++) {
        pod_comm_barrier(x->comm);
        const double before = core_seconds();
        for (int k = 0; k < n; k++) rewrite(x, k % x->n_buffers, i);
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
    const pod_dtype t = x->plan->size[x->size].type->dtype;
    return x->window ? pod_coll_run_create_shm(x->comm, sched, t, x->window, buffer, what, out)
                     : pod_coll_run_create_mpi(x->comm, sched, t, buffer, what, out);
}

static pod_status make_runs(bench_ranks *x, subject *s)
{
    char what[96];
    const pod_sched *sched;
    pod_status mine =
        pod_coll_build(x->arena, s->algo, &x->plan->mesh, pod_comm_rank(x->comm), &s->args, &sched);
    s->run = POD_ARENA_NEW(x->arena, pod_coll_run *, x->n_buffers);
    if (mine == POD_OK && !s->run) mine = POD_E_NOMEM;
    POD_TRY(pod_comm_agree(x->comm, mine));
    snprintf(what, sizeof what, "%s %s %s", pod_coll_name(s->args.coll), s->algo->name,
             POD_SIZE_TEXT(pod_bench_bytes(x->plan, x->size)));
    for (int i = 0; i < x->n_buffers; i++)
        POD_TRY(make_run(x, sched, what, result(x, s, 0, i), &s->run[i]));
    return POD_OK;
}

/* Local: what can be had without the other ranks. */
static pod_status make_subject(bench_ranks *x, const pod_bench_entry *e, subject *s)
{
    s->algo = pod_bench_pick(x->plan, e, x->size, &s->args);
    for (int f = 0; f < POD_N_FORMS; f++) {
        s->round_s[f] = POD_ARENA_NEW(x->arena, double, x->plan->n_rounds);
        if (!s->round_s[f]) return POD_E_NOMEM;
    }
    s->iter_s = POD_ARENA_NEW(x->b->arena, double, x->plan->n_iters);
    if (!s->iter_s) return POD_E_NOMEM;
    if (e->is_peer) return pod_peer_mpi_create(x->arena, x->comm, &s->args, &s->peer);
    if (x->plan->on != POD_ON_LOCAL) return POD_OK;
    return pod_coll_build_all(x->arena, s->algo, &x->plan->mesh, &s->args, &s->all);
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
        if (!x->subject[i].peer && !x->subject[i].all) POD_TRY(make_runs(x, &x->subject[i]));
    return POD_OK;
}

static void destroy_subjects(bench_ranks *x)
{
    for (int i = 0; i < x->n_subjects; i++) {
        for (int k = 0; x->subject[i].run && k < x->n_buffers; k++)
            pod_coll_run_destroy(x->subject[i].run[k]);
        pod_peer_mpi_destroy(x->subject[i].peer);
    }
    x->n_subjects = 0;
}

static pod_status add_rows(bench_ranks *x)
{
    const pod_bench_plan *p = x->plan;
    for (int i = 0; i < x->n_subjects; i++) {
        subject *s = &x->subject[i];
        const pod_bench_row row = {
            .size = x->size,
            .entry = s->entry,
            .algo = s->algo,
            .n_buffers = x->n_buffers,
            .form_s = {pod_spread_of(s->round_s[POD_OUT_OF_PLACE], p->n_rounds),
                       pod_spread_of(s->round_s[POD_IN_PLACE], p->n_rounds)},
            .iters = s->iter_s,
            .n_wrong = {s->n_wrong[POD_OUT_OF_PLACE], s->n_wrong[POD_IN_PLACE]},
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
    for (int i = 0; i < x->n_subjects; i++) check(x, &x->subject[i]);
    return pod_comm_agree(x->comm, x->status == POD_OK ? add_rows(x) : x->status);
}

static pod_status measure_size(bench_ranks *x, int size, int n_buffers)
{
    x->size = size;
    x->n_buffers = n_buffers;
    x->next = 0;
    const pod_coll_args args = pod_bench_args(x->plan, size);
    x->element_bytes = pod_dtype_bytes(args.dtype);
    x->buffer_bytes = pod_coll_data_bytes(args.count, args.dtype);
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

static pod_status take_private_memory(bench_ranks *x, size_t bytes)
{
    const bool has_peer = pod_bench_peer(x->plan) >= 0;
    x->in = pod_arena_get(x->b->arena, ALIGN, bytes);
    if (has_peer) x->out = pod_arena_get(x->b->arena, ALIGN, bytes);
    x->local = POD_ARENA_NEW(x->b->arena, void *, x->n_here);
    return x->in && (x->out || !has_peer) && x->local ? POD_OK : POD_E_NOMEM;
}

static pod_status take_memory(bench_ranks *x)
{
    x->rank_bytes = most_bytes(x->plan);
    const size_t bytes = x->rank_bytes * (size_t)x->n_here;
    if (x->plan->on == POD_ON_SHM) {
        POD_TRY(pod_window_create(x->comm, bytes, &x->window));
        x->own = pod_window_data(x->window);
    } else {
        x->own = pod_arena_get(x->b->arena, ALIGN, bytes);
    }
    return pod_comm_agree(x->comm, x->own ? take_private_memory(x, bytes) : POD_E_NOMEM);
}

static int n_ranks_here(const pod_bench_plan *p) { return p->on == POD_ON_LOCAL ? p->n_ranks : 1; }

pod_status pod_bench_ranks_room(const pod_bench *b)
{
    const pod_bench_plan *p = &b->plan;
    const size_t bytes = most_bytes(p);
    const int n_ranks = p->n_node_ranks * n_ranks_here(p);
    const int n_buffers = pod_bench_peer(p) >= 0 ? 3 : 2; /* ours, what is given, a peer's */
    char what[80];
    snprintf(what, sizeof what, "maxbytes: %d ranks of a node with buffers of %.3g GB each",
             n_ranks, 1e-9 * (double)bytes);
    return pod_room_check(what, (double)n_ranks * n_buffers * (double)bytes);
}

pod_status pod_bench_ranks(pod_bench *b)
{
    bench_ranks x = {.b = b,
                     .plan = &b->plan,
                     .comm = b->call->comm,
                     .first_rank = pod_comm_rank(b->call->comm),
                     .n_here = n_ranks_here(&b->plan)};
    pod_status s = take_memory(&x);
    if (s == POD_OK) s = measure_all(&x);
    pod_window_destroy(x.window);
    return s;
}
