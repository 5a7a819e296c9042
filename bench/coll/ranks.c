/* Collectives among the ranks of a job, on the wall clock, timed as nccl-tests does: so many
 * operations back to back between two looks at the clock. Nothing is sent or allocated while the
 * clock runs, beyond what is measured.
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
    double *round_s[POD_N_FORMS]; /* (n_rounds) of an operation */
    double *iter_s;               /* (n_iters) in place */
    int64_t n_wrong[POD_N_FORMS];
} subject;

typedef struct bench_ranks {
    pod_bench *b;
    const pod_bench_plan *plan;
    pod_comm *comm;
    pod_arena *arena; /* of one size */
    pod_coll_data *data;
    pod_window *window; /* NULL: nothing is shared */
    char *own;          /* buffers of ours, one after another */
    char *in, *out;     /* what is given out of place, and the peer's results, in memory as users
                            of MPI have it; out is NULL without a peer */
    pod_range given;    /* of a buffer, by this rank; element_bytes each */
    size_t element_bytes;
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
        const size_t bytes = pod_coll_data_bytes(p->size[s].count, p->size[s].type->dtype) *
                             (size_t)(n_cold > 1 ? n_cold : 1);
        if (bytes > most) most = bytes;
    }
    return most;
}

/* Where the result of a subject stands. */
static void *result(const bench_ranks *x, const subject *s, int buffer)
{
    return pod_coll_data_at((s->peer ? x->out : x->own) + (size_t)buffer * x->buffer_bytes);
}

/* What it is given. */
static void *input(const bench_ranks *x, const subject *s, int buffer, pod_bench_form f)
{
    if (f == POD_IN_PLACE) return result(x, s, buffer);
    return pod_coll_data_at(x->in + (size_t)buffer * x->buffer_bytes);
}

/* ---- one operation, and many ---------------------------------------------------------------- */

static void operate(const bench_ranks *x, const subject *s, int buffer, pod_bench_form f)
{
    char *in = input(x, s, buffer, f), *out = result(x, s, buffer);
    const bool copies = !s->peer || x->plan->coll == POD_BROADCAST; /* which is in place alone */
    const size_t first = (size_t)x->given.first * x->element_bytes;
    if (f == POD_OUT_OF_PLACE && copies)
        memcpy(out + first, in + first, (size_t)x->given.count * x->element_bytes);
    if (s->peer) {
        pod_peer_mpi_run(s->peer, copies ? out : in, out);
        return;
    }
    pod_coll_run_start(s->run[buffer]);
    pod_coll_run_wait(s->run[buffer]);
}

static void operate_on_next(bench_ranks *x, const subject *s, pod_bench_form f)
{
    operate(x, s, x->next, f);
    x->next = (x->next + 1) % x->n_buffers;
    if (x->plan->is_blocking) pod_comm_barrier(x->comm);
}

static void warm_up(bench_ranks *x, const subject *s, pod_bench_form f)
{
    for (int i = 0; i < x->plan->n_warmup; i++) operate_on_next(x, s, f);
    pod_comm_barrier(x->comm);
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

static double time_round(bench_ranks *x, const subject *s, pod_bench_form f)
{
    const int n = x->plan->n_iters;
    warm_up(x, s, f);
    const pod_clock clock = pod_clock_start();
    const double before = now_s(x, &clock);
    for (int i = 0; i < n; i++) operate_on_next(x, s, f);
    return (now_s(x, &clock) - before) / n;
}

static void time_iterations(bench_ranks *x, const subject *s)
{
    warm_up(x, s, POD_IN_PLACE);
    const pod_clock clock = pod_clock_start();
    double before = now_s(x, &clock);
    for (int i = 0; i < x->plan->n_iters; i++) {
        operate_on_next(x, s, POD_IN_PLACE);
        const double now = now_s(x, &clock);
        s->iter_s[i] = now - before;
        before = now;
    }
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
    memset(x->own, 0, bytes);
    memset(x->in, 0, bytes);
    if (x->out) memset(x->out, 0, bytes);
}

static void time_subjects(bench_ranks *x)
{
    const pod_bench_plan *p = x->plan;
    fill_with_zeros(x);
    for (int round = 0; round < p->n_rounds; round++)
        for (int i = 0; i < x->n_subjects; i++)
            for (int f = 0; f < POD_N_FORMS; f++)
                x->subject[i].round_s[f][round] = time_round(x, &x->subject[i], (pod_bench_form)f);
    for (int i = 0; i < x->n_subjects; i++) {
        subject *s = &x->subject[i];
        time_iterations(x, s);
        for (int f = 0; f < POD_N_FORMS; f++) agree_on(x, s->round_s[f], p->n_rounds);
        agree_on(x, s->iter_s, p->n_iters);
    }
}

/* ---- right or wrong ------------------------------------------------------------------------- */

/* All buffers back to back: a collective that leaves early would meet the next. */
static int64_t count_wrong(const bench_ranks *x, const subject *s, pod_bench_form f)
{
    const int rank = pod_comm_rank(x->comm);
    double n_wrong = 0;
    for (int i = 0; i < x->n_buffers; i++) {
        pod_coll_data_clear(x->data, result(x, s, i));
        pod_coll_data_fill(x->data, rank, input(x, s, i, f));
    }
    pod_comm_barrier(x->comm);
    for (int i = 0; i < x->n_buffers; i++) operate(x, s, i, f);
    pod_comm_barrier(x->comm);
    for (int i = 0; i < x->n_buffers; i++)
        n_wrong += (double)pod_coll_data_wrong(x->data, rank, result(x, s, i));
    pod_comm_sum(x->comm, &n_wrong, 1);
    return (int64_t)n_wrong;
}

static void check(const bench_ranks *x, subject *s)
{
    for (int f = 0; f < POD_N_FORMS; f++) {
        s->n_wrong[f] = x->plan->n_checks > 0 ? 0 : -1;
        for (int i = 0; i < x->plan->n_checks; i++)
            s->n_wrong[f] += count_wrong(x, s, (pod_bench_form)f);
    }
}

/* ---- the limit ------------------------------------------------------------------------------ */

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
            pod_bench_rewrite(result(x, &ours, k % x->n_buffers), (size_t)bytes, i);
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
        POD_TRY(make_run(x, sched, what, result(x, s, i), &s->run[i]));
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
    return pod_comm_agree(x->comm, add_rows(x));
}

static pod_status measure_size(bench_ranks *x, int size, int n_buffers)
{
    x->size = size;
    x->n_buffers = n_buffers;
    x->next = 0;
    const pod_coll_args args = pod_bench_args(x->plan, size);
    x->element_bytes = pod_dtype_bytes(args.dtype);
    x->buffer_bytes = pod_coll_data_bytes(args.count, args.dtype);
    x->given = pod_coll_data_given(&args, x->plan->n_ranks, pod_comm_rank(x->comm));
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
    x->in = pod_arena_get(x->b->arena, ALIGN, bytes);
    if (pod_bench_peer(x->plan) >= 0) x->out = pod_arena_get(x->b->arena, ALIGN, bytes);
    return x->in && (x->out || pod_bench_peer(x->plan) < 0) ? POD_OK : POD_E_NOMEM;
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
    return pod_comm_agree(x->comm, x->own ? take_private_memory(x, bytes) : POD_E_NOMEM);
}

pod_status pod_bench_ranks_room(const pod_bench *b)
{
    const pod_bench_plan *p = &b->plan;
    const size_t bytes = most_bytes(p);
    const int n_buffers = pod_bench_peer(p) >= 0 ? 3 : 2; /* ours, what is given, a peer's */
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
