#include <math.h>
#include <string.h>

#include "bench/coll/coll.h"
#include "kernels/base/parse.h"
#include "kernels/combine/combine.h"

static const char *name_of(pod_bench *b, const pod_bench_row *row, const pod_coll_args *args)
{
    const pod_bench_entry *e = &b->plan.entry[row->entry];
    if (e->algo || e->is_peer) return e->name;
    if (args->chunk_bytes == b->plan.chunk_bytes) return row->algo->name;
    return pod_arena_text(b->arena, "%s@%s", row->algo->name, POD_SIZE_TEXT(args->chunk_bytes));
}

/* Standard deviation / mean. */
static double cv_of(const double values[], int64_t n)
{
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) mean += values[i] / (double)n;
    for (int64_t i = 0; i < n; i++) square += (values[i] - mean) * (values[i] - mean) / (double)n;
    return mean > 0 ? sqrt(square) / mean : 0;
}

pod_status pod_bench_add(pod_bench *b, pod_bench_row row, const pod_coll_args *args)
{
    pod_bench_row *rows = POD_ARENA_GROW(b->arena, b->row, b->n_rows);
    if (!rows) return POD_E_NOMEM;
    b->row = rows;
    if (row.iters) {
        const int64_t n = b->plan.n_iters;
        double *sorted =
            pod_arena_copy(b->arena, row.iters, _Alignof(double), (size_t)n * sizeof(double));
        if (!sorted) return POD_E_NOMEM;
        row.iter_cv = cv_of(row.iters, n);
        row.iter_s = pod_spread_of(sorted, n);
    }
    row.name = name_of(b, &row, args);
    if (!row.name) return POD_E_NOMEM;
    b->row[b->n_rows++] = row;
    if (b->table) pod_bench_table_row(b, &row);
    return POD_OK;
}

/* ---- figures of a row ----------------------------------------------------------------------- */

double pod_bench_time_s(const pod_bench_row *r)
{
    const double out_s = r->form_s[POD_OUT_OF_PLACE].median, in_s = r->form_s[POD_IN_PLACE].median;
    return !r->algo && out_s < in_s ? out_s : in_s;
}

double pod_bench_algbw(const pod_bench *b, const pod_bench_row *r, pod_bench_form f)
{
    const double s = r->form_s[f].median;
    return s > 0 ? 1e-9 * (double)pod_bench_bytes(&b->plan, r->size) / s : 0;
}

/* Bus bandwidth as nccl-tests has it (doc/PERFORMANCE.md). */
const pod_bench_figures pod_bench_of_coll[POD_N_COLLS] = {
    [POD_ALLREDUCE] = {{"2(n-1)/n", 2, -2}, {"all of it", 1, 0}, false},
    [POD_REDUCE_SCATTER] = {{"(n-1)/n", 1, -1},
                            {"all of it read, a block written", 0.5, 0.5},
                            true},
    [POD_ALLGATHER] = {{"(n-1)/n", 1, -1}, {"(n-1)/n of it", 1, -1}, true},
    [POD_BROADCAST] = {{"1", 1, 0}, {"(n-1)/n of it", 1, -1}, false},
    [POD_ALLTOALL] = {{"(n-1)/n", 1, -1}, {"(n-1)/n of it", 1, -1}, true},
    [POD_REDUCE] = {{"1", 1, 0}, {"all of it read, a block written", 0.5, 0.5}, false},
    [POD_SENDRECV] = {{"1", 1, 0}, {"all of it", 1, 0}, false}};

static double of_ranks(pod_bench_factor f, int n) { return f.whole + f.nth / n; }

double pod_bench_busbw(const pod_bench *b, const pod_bench_row *r, pod_bench_form f)
{
    return pod_bench_algbw(b, r, f) *
           of_ranks(pod_bench_of_coll[b->plan.coll].busbw, b->plan.n_ranks);
}

int64_t pod_bench_count(const pod_bench_plan *p, int size)
{
    const int n_parts = pod_bench_of_coll[p->coll].has_parts ? p->n_ranks : 1;
    return (p->size[size].count + n_parts - 1) / n_parts;
}

double pod_bench_traffic(const pod_bench_plan *p, int size)
{
    if (p->n_ranks == 1 || p->size[size].count == 0) return 0;
    return of_ranks(pod_bench_of_coll[p->coll].traffic, p->n_ranks);
}

void pod_bench_rewrite(void *buffer, size_t bytes, int k)
{
    enum { MAX_PARTS = 4 };
    const int n = 1 << k % 3; /* parts that go on side by side */
    const int64_t count = (int64_t)(bytes / sizeof(float)) / n;
    const pod_combine *c = pod_combine_pick(pod_cpu_features());
    const void *in[MAX_PARTS];
    void *out[MAX_PARTS];
    for (int i = 0; i < n; i++) in[i] = out[i] = (float *)buffer + i * count;
    c->add_all(count, POD_F32, n, in, n, out);
}

/* ---- figures of many rows ------------------------------------------------------------------- */

static bool is_cold(const pod_bench_row *r) { return r->n_buffers > 1; }

const pod_bench_row *pod_bench_find(const pod_bench *b, int size, int entry, bool cold)
{
    for (int i = 0; i < b->n_rows; i++)
        if (b->row[i].size == size && b->row[i].entry == entry && is_cold(&b->row[i]) == cold)
            return &b->row[i];
    return NULL;
}

const pod_bench_row *pod_bench_best(const pod_bench *b, int size, bool cold)
{
    const pod_bench_row *best = NULL;
    for (int i = 0; i < b->n_rows; i++) {
        const pod_bench_row *r = &b->row[i];
        if (r->size != size || is_cold(r) != cold || !r->algo) continue;
        if (!best || pod_bench_time_s(r) < pod_bench_time_s(best)) best = r;
    }
    return best;
}

int pod_bench_peer(const pod_bench_plan *p)
{
    int e = p->n_entries - 1;
    while (e >= 0 && !p->entry[e].is_peer) e--;
    return e;
}

bool pod_bench_is_alike(const pod_bench_size *a, const pod_bench_size *b)
{
    return a->type == b->type && a->op == b->op && a->root == b->root;
}

double pod_bench_against_mpi(const pod_bench *b, const pod_bench_row *r)
{
    const pod_bench_row *peer = pod_bench_find(b, r->size, pod_bench_peer(&b->plan), is_cold(r));
    const double own_s = pod_bench_time_s(r);
    if (!peer || own_s <= 0 || b->plan.size[r->size].count == 0) return 0;
    return pod_bench_time_s(peer) / own_s;
}

pod_bench_summary pod_bench_summarize(const pod_bench *b, int entry, bool cold)
{
    pod_bench_summary s = {.entry = entry, .is_cold = cold};
    double log_ratios = 0;
    int n_ratios = 0;
    for (int i = 0; i < b->n_rows; i++) {
        const pod_bench_row *r = &b->row[i];
        if (r->entry != entry || is_cold(r) != cold) continue;
        s.n_rows++;
        for (int f = 0; f < POD_N_FORMS; f++)
            s.busbw += pod_bench_busbw(b, r, (pod_bench_form)f) / POD_N_FORMS;
        if (!s.slowest ||
            pod_bench_busbw(b, r, POD_IN_PLACE) < pod_bench_busbw(b, s.slowest, POD_IN_PLACE))
            s.slowest = r;
        const double ratio = pod_bench_against_mpi(b, r);
        if (ratio > 0) log_ratios += log(ratio);
        n_ratios += ratio > 0;
    }
    if (s.n_rows > 0) s.busbw /= s.n_rows;
    if (n_ratios > 0) s.against_mpi = exp(log_ratios / n_ratios);
    return s;
}

int64_t pod_bench_n_wrong(const pod_bench *b)
{
    int64_t n = 0;
    for (int i = 0; i < b->n_rows; i++)
        for (int f = 0; f < POD_N_FORMS; f++)
            if (b->row[i].n_wrong[f] > 0) n += b->row[i].n_wrong[f];
    return n;
}
