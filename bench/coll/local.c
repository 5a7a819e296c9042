/* All ranks of the mesh in this process, one core, on the wall clock: what one pass of the plain
 * twin of the executors costs, and whether its results are right. */
#include <string.h>

#include "bench/coll/coll.h"
#include "bench/coll/data.h"
#include "collectives/exec/exec_local.h"
#include "kernels/base/parse.h"
#include "runtime/core/room.h"

enum { ALIGN = 4096, COPIES = 6 };

typedef struct bench_local {
    pod_bench *b;
    const pod_bench_plan *plan;
    pod_arena *arena; /* of one size */
    pod_coll_data *data;
    pod_coll_args args;
    void **buffer, **given; /* (n_ranks) the elements of each; what it gives out of place */
    int size;
} bench_local;

static double seconds_since(const pod_clock *clock)
{
    return pod_time_seconds(pod_clock_now(clock));
}

static pod_status take_buffers(bench_local *x, void ***out)
{
    const pod_bench_plan *p = x->plan;
    const size_t bytes = pod_coll_data_bytes(x->args.count, x->args.dtype);
    void **buffer = POD_ARENA_NEW(x->arena, void *, p->n_ranks);
    if (!buffer) return POD_E_NOMEM;
    for (int r = 0; r < p->n_ranks; r++) {
        char *memory = pod_arena_get(x->arena, ALIGN, bytes);
        if (!memory) return POD_E_NOMEM;
        buffer[r] = pod_coll_data_at(memory);
    }
    *out = buffer;
    return POD_OK;
}

static pod_status operate(const bench_local *x, const pod_sched *const all[], pod_bench_form f)
{
    const int n = x->plan->n_ranks;
    const size_t bytes = pod_dtype_bytes(x->args.dtype);
    for (int r = 0; f == POD_OUT_OF_PLACE && r < n; r++) {
        const pod_range part = pod_coll_data_given(&x->args, n, r);
        const size_t first = (size_t)part.first * bytes;
        memcpy((char *)x->buffer[r] + first, (char *)x->given[r] + first,
               (size_t)part.count * bytes);
    }
    return pod_sched_run_local(all, n, x->args.dtype, x->buffer);
}

/* The sums of zeros stay zero, however often they are made in place. */
static pod_status time_rounds(const bench_local *x, const pod_sched *const all[], pod_bench_form f,
                              double round_s[], double iter_s[])
{
    const pod_bench_plan *p = x->plan;
    for (int r = 0; r < p->n_ranks; r++) {
        memset(x->buffer[r], 0, (size_t)pod_bench_bytes(p, x->size));
        memset(x->given[r], 0, (size_t)pod_bench_bytes(p, x->size));
    }
    for (int round = -1; round < p->n_rounds; round++) {
        const int n = round < 0 ? p->n_warmup : p->n_iters;
        const pod_clock clock = pod_clock_start();
        double before = 0;
        for (int i = 0; i < n; i++) {
            POD_TRY(operate(x, all, f));
            const double now = seconds_since(&clock);
            if (round >= 0) iter_s[i] = now - before;
            before = now;
        }
        if (round >= 0) round_s[round] = before / n;
    }
    return POD_OK;
}

static pod_status count_wrong(const bench_local *x, const pod_sched *const all[], pod_bench_form f,
                              int64_t *n_wrong)
{
    const pod_bench_plan *p = x->plan;
    for (int r = 0; r < p->n_ranks; r++) {
        pod_coll_data_clear(x->data, x->buffer[r]);
        pod_coll_data_fill(x->data, r, f == POD_IN_PLACE ? x->buffer[r] : x->given[r]);
    }
    POD_TRY(operate(x, all, f));
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

/* One form of it into `row`. The iterations that stay are the last form's: in place. */
static pod_status measure_form(const bench_local *x, const pod_sched *const all[], pod_bench_form f,
                               double iter_s[], pod_bench_row *row)
{
    const pod_bench_plan *p = x->plan;
    double *round_s = POD_ARENA_NEW(x->arena, double, p->n_rounds);
    if (!round_s) return POD_E_NOMEM;
    POD_TRY(time_rounds(x, all, f, round_s, iter_s));
    row->form_s[f] = pod_spread_of(round_s, p->n_rounds);
    row->n_wrong[f] = p->n_checks > 0 ? 0 : -1;
    for (int i = 0; i < p->n_checks; i++) POD_TRY(count_wrong(x, all, f, &row->n_wrong[f]));
    return POD_OK;
}

static pod_status measure_entry(bench_local *x, int entry, double copy_s)
{
    const pod_bench_plan *p = x->plan;
    pod_coll_args args;
    const pod_coll_algo *algo = pod_bench_pick(p, &p->entry[entry], x->size, &args);
    const pod_sched *const *all;
    double *iter_s = POD_ARENA_NEW(x->b->arena, double, p->n_iters);
    if (!iter_s) return POD_E_NOMEM;
    POD_TRY(pod_coll_build_all(x->arena, algo, &p->mesh, &args, &all));
    pod_bench_row row = {.size = x->size,
                         .entry = entry,
                         .algo = algo,
                         .n_buffers = 1,
                         .iters = iter_s,
                         .ideal_s = copy_s * pod_bench_traffic(p, x->size)};
    for (int f = 0; f < POD_N_FORMS; f++)
        POD_TRY(measure_form(x, all, (pod_bench_form)f, iter_s, &row));
    return pod_bench_add(x->b, row, &args);
}

static pod_status measure_entries(bench_local *x)
{
    const pod_bench_plan *p = x->plan;
    x->args = pod_bench_args(p, x->size);
    POD_TRY(pod_coll_data_create(x->arena, &x->args, p->n_ranks, &x->data));
    POD_TRY(take_buffers(x, &x->buffer));
    POD_TRY(take_buffers(x, &x->given));
    const double copy_s = time_copy(x);
    for (int e = 0; e < p->n_entries; e++)
        if (!pod_bench_why_not(p, &p->entry[e], x->size)) POD_TRY(measure_entry(x, e, copy_s));
    return POD_OK;
}

pod_status pod_bench_local_room(const pod_bench *b)
{
    const pod_bench_plan *p = &b->plan;
    char what[80], text[32];
    size_t most = 0;
    for (int s = 0; s < p->n_sizes; s++) {
        const size_t bytes = pod_coll_data_bytes(p->size[s].count, p->size[s].type->dtype);
        if (bytes > most) most = bytes;
    }
    snprintf(what, sizeof what, "%d ranks with 2 x %s each", p->n_ranks,
             pod_print_size((int64_t)most, text, sizeof text));
    return pod_room_check(what, 2.0 * p->n_ranks * (double)most);
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
