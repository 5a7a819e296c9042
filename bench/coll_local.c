/* All ranks of the mesh in this process, one core, on the wall clock: what one pass of the plain
 * twin of the executors costs, and whether its results are right. */
#include <string.h>

#include "bench/coll.h"
#include "bench/coll_data.h"
#include "collectives/exec/exec_local.h"
#include "kernels/base/parse.h"
#include "runtime/core/room.h"

enum { ALIGN = 4096, COPIES = 6 };

typedef struct bench_local {
    pod_bench *b;
    const pod_bench_plan *plan;
    pod_arena *arena; /* of one size */
    pod_coll_data *data;
    void **buffer; /* (n_ranks) the elements of each */
    int size;
} bench_local;

static double seconds_since(const pod_clock *clock)
{
    return pod_time_seconds(pod_clock_now(clock));
}

static pod_status take_buffers(bench_local *x)
{
    const pod_bench_plan *p = x->plan;
    const size_t bytes = pod_coll_data_bytes(p->count[x->size], p->dtype);
    x->buffer = POD_ARENA_NEW(x->arena, void *, p->n_ranks);
    if (!x->buffer) return POD_E_NOMEM;
    for (int r = 0; r < p->n_ranks; r++) {
        char *memory = pod_arena_get(x->arena, ALIGN, bytes);
        if (!memory) return POD_E_NOMEM;
        x->buffer[r] = pod_coll_data_at(memory);
    }
    return POD_OK;
}

/* The sums of zeros stay zero, however often they are made in place. */
static pod_status time_rounds(const bench_local *x, const pod_sched *const all[], double round_s[],
                              double iter_s[])
{
    const pod_bench_plan *p = x->plan;
    for (int r = 0; r < p->n_ranks; r++)
        memset(x->buffer[r], 0, (size_t)pod_bench_bytes(p, x->size));
    for (int round = -1; round < p->n_rounds; round++) {
        const int n = round < 0 ? p->n_warmup : p->n_iters;
        const pod_clock clock = pod_clock_start();
        double before = 0;
        for (int i = 0; i < n; i++) {
            POD_TRY(pod_sched_run_local(all, p->n_ranks, p->dtype, x->buffer));
            const double now = seconds_since(&clock);
            if (round >= 0) iter_s[i] = now - before;
            before = now;
        }
        if (round >= 0) round_s[round] = before / n;
    }
    return POD_OK;
}

static pod_status count_wrong(const bench_local *x, const pod_sched *const all[], int64_t *n_wrong)
{
    const pod_bench_plan *p = x->plan;
    *n_wrong = 0;
    for (int r = 0; r < p->n_ranks; r++) pod_coll_data_fill(x->data, r, x->buffer[r]);
    POD_TRY(pod_sched_run_local(all, p->n_ranks, p->dtype, x->buffer));
    for (int r = 0; r < p->n_ranks; r++) *n_wrong += pod_coll_data_wrong(x->data, r, x->buffer[r]);
    return POD_OK;
}

/* One core reads and writes all buffers. */
static double time_copy(const bench_local *x)
{
    const size_t bytes = (size_t)pod_bench_bytes(x->plan, x->size);
    double best = 0;
    for (int i = 0; i < COPIES; i++) {
        const pod_clock clock = pod_clock_start();
        for (int r = 0; r < x->plan->n_ranks; r++) pod_bench_rewrite(x->buffer[r], bytes, i);
        const double s = seconds_since(&clock);
        if (i == 0 || s < best) best = s;
    }
    return best;
}

static pod_status measure_entry(bench_local *x, int entry, double copy_s)
{
    const pod_bench_plan *p = x->plan;
    pod_coll_args args;
    const pod_coll_algo *algo = pod_bench_pick(p, &p->entry[entry], x->size, &args);
    const pod_sched *const *all;
    double *round_s = POD_ARENA_NEW(x->arena, double, p->n_rounds),
           *iter_s = POD_ARENA_NEW(x->b->arena, double, p->n_iters);
    if (!round_s || !iter_s) return POD_E_NOMEM;
    POD_TRY(pod_coll_build_all(x->arena, algo, &p->mesh, &args, &all));
    POD_TRY(time_rounds(x, all, round_s, iter_s));
    double *sorted =
        pod_arena_copy(x->arena, iter_s, _Alignof(double), (size_t)p->n_iters * sizeof(double));
    if (!sorted) return POD_E_NOMEM;
    pod_bench_row row = {.size = x->size,
                         .entry = entry,
                         .algo = algo,
                         .n_buffers = 1,
                         .round_s = pod_spread_of(round_s, p->n_rounds),
                         .iter_s = pod_spread_of(sorted, p->n_iters),
                         .iter_cv = pod_bench_cv(iter_s, p->n_iters),
                         .iters = iter_s,
                         .n_wrong = -1,
                         .ideal_s = copy_s * pod_bench_traffic(p, x->size)};
    if (p->with_check) POD_TRY(count_wrong(x, all, &row.n_wrong));
    return pod_bench_add(x->b, row, &args);
}

static pod_status measure_entries(bench_local *x)
{
    const pod_bench_plan *p = x->plan;
    const pod_coll_args args = pod_bench_args(p, x->size);
    POD_TRY(pod_coll_data_create(x->arena, &args, p->n_ranks, &x->data));
    POD_TRY(take_buffers(x));
    const double copy_s = time_copy(x);
    for (int e = 0; e < p->n_entries; e++)
        if (!pod_bench_why_not(p, &p->entry[e], x->size)) POD_TRY(measure_entry(x, e, copy_s));
    return POD_OK;
}

pod_status pod_bench_local_room(const pod_bench *b)
{
    const pod_bench_plan *p = &b->plan;
    const int last = p->n_sizes - 1; /* the largest */
    char what[80], size[32];
    snprintf(what, sizeof what, "%d ranks with %s each", p->n_ranks,
             pod_print_size(pod_bench_bytes(p, last), size, sizeof size));
    return pod_room_check(what, (double)p->n_ranks *
                                    (double)pod_coll_data_bytes(p->count[last], p->dtype));
}

pod_status pod_bench_local(pod_bench *b)
{
    pod_log *log = b->call->log;
    pod_progress_begin(log, "measuring", "sizes", 0, b->plan.n_sizes);
    for (int s = 0; s < b->plan.n_sizes; s++) {
        bench_local x = {.b = b, .plan = &b->plan, .size = s};
        POD_TRY(pod_arena_create(NULL, &x.arena));
        const pod_status measured = measure_entries(&x);
        pod_arena_destroy(x.arena);
        POD_TRY(measured);
        pod_progress_at(log, s + 1, "%s", "");
    }
    pod_progress_end(log);
    return POD_OK;
}
