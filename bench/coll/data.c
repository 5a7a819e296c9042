#include "bench/coll/data.h"

#include <math.h>
#include <string.h>

#include "kernels/base/bf16.h"
#include "kernels/base/binned.h"
#include "kernels/combine/combine.h"
#include "kernels/combine/f16.h"

/* Values repeat with a period that no block or chunk divides, so that what comes to a wrong place
 * shows, and sums are made once for all of them. */
enum { PERIOD = 8191, GUARD_BYTES = 4096, GUARD = 0xa5, ALIGN = 64 };

struct pod_coll_data {
    pod_coll_args args;
    int n_ranks;
    int every;     /* a rank gives what changes nothing to all elements but every so-many-th, so
                      that results stay exact */
    uint64_t most; /* of a sum's numbers, or of a maximum's */
    /* (PERIOD) elements each: of results over all ranks, of what rank `source` gives, of none. */
    void *sums, *given, *nothing;
    int source; /* -1: none yet */
};

/* By type: whole numbers up to `exact` are exact, and so many factors of 2 (of floats also of 1/2)
 * neither overflow nor underflow. MPI libraries differ in what an integer becomes that overflows. */
static const struct {
    uint64_t exact;
    int max_factors;
    bool is_float, is_signed;
} limits[POD_N_DTYPES] = {
    [POD_F32] = {1 << 24, 126, true, true},     [POD_BF16] = {1 << 8, 126, true, true},
    [POD_F16] = {1 << 11, 14, true, true},      [POD_F64] = {UINT64_C(1) << 53, 1022, true, true},
    [POD_BINNED] = {1 << 24, 126, true, true},  [POD_I8] = {INT8_MAX, 6, false, true},
    [POD_U8] = {UINT8_MAX, 7, false, false},    [POD_I32] = {INT32_MAX, 30, false, true},
    [POD_U32] = {UINT32_MAX, 31, false, false}, [POD_I64] = {INT64_MAX, 62, false, true},
    [POD_U64] = {INT64_MAX, 62, false, false},
};

static uint64_t hash(int rank, int64_t k)
{
    uint64_t h = (uint64_t)k * UINT64_C(0x9e3779b97f4a7c15) +
                 ((uint64_t)rank + 1) * UINT64_C(0xd1b54a32d192ed03);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

static void put(const pod_coll_data *d, void *elements, int64_t at, double x)
{
    switch (d->args.dtype) {
    case POD_BF16: ((pod_bf16 *)elements)[at] = pod_bf16_from_f32((float)x); break;
    case POD_F16: ((pod_f16 *)elements)[at] = pod_f16_from_f32((float)x); break;
    case POD_F64: ((double *)elements)[at] = x; break;
    case POD_BINNED: ((pod_binned *)elements)[at] = pod_binned_from_f32((float)x); break;
    default: ((float *)elements)[at] = (float)x;
    }
}

static void put_whole(const pod_coll_data *d, void *elements, int64_t at, int64_t x)
{
    const size_t bytes = pod_dtype_bytes(d->args.dtype);
    if (limits[d->args.dtype].is_float)
        put(d, elements, at, (double)x);
    else
        memcpy((char *)elements + (size_t)at * bytes, &x, bytes); /* its low bytes */
}

/* What rank `rank` gives as element i, stored as element `at`. */
static void put_value(const pod_coll_data *d, int rank, int64_t i, void *elements, int64_t at)
{
    const int64_t k = i % PERIOD;
    const pod_dtype t = d->args.dtype;
    const bool adds = pod_coll_adds(d->args.coll), gives = (k + rank) % d->every == 0;
    const uint64_t h = hash(rank, k);
    if (adds && d->args.op == POD_PROD && limits[t].is_float)
        put(d, elements, at, gives ? ldexp(1, (int)(h % 3) - 1) : 1);
    else if (adds && d->args.op == POD_PROD)
        put_whole(d, elements, at, gives ? 1 + (int64_t)(h % 2) : 1);
    else if (adds && (d->args.op == POD_MAX || d->args.op == POD_MIN))
        put_whole(d, elements, at,
                  (int64_t)(h % d->most) * (limits[t].is_signed && h >> 63 ? -1 : 1));
    else
        put_whole(d, elements, at, gives ? 1 + (int64_t)(h % d->most) : 0);
}

/* ---- elements and guards --------------------------------------------------------------- */

size_t pod_coll_data_bytes(int64_t count, pod_dtype t)
{
    const size_t bytes = (size_t)count * pod_dtype_bytes(t);
    return (bytes + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES + 2 * (size_t)GUARD_BYTES;
}

void *pod_coll_data_at(void *memory) { return (char *)memory + GUARD_BYTES; }

static size_t bytes_of(const pod_coll_data *d)
{
    return (size_t)d->args.count * pod_dtype_bytes(d->args.dtype);
}

static void set_guards(const pod_coll_data *d, void *elements)
{
    memset((char *)elements - GUARD_BYTES, GUARD, GUARD_BYTES);
    memset((char *)elements + bytes_of(d), GUARD, GUARD_BYTES);
}

static int64_t wrong_guards(const pod_coll_data *d, const void *elements)
{
    const unsigned char *before = (const unsigned char *)elements - GUARD_BYTES,
                        *behind = (const unsigned char *)elements + bytes_of(d);
    int64_t wrong = 0;
    for (int i = 0; i < GUARD_BYTES; i++) wrong += (before[i] != GUARD) + (behind[i] != GUARD);
    return wrong;
}

/* ---- patterns ------------------------------------------------------------------------------- */

static void *pattern_of(pod_coll_data *d, int rank)
{
    if (d->source != rank)
        for (int64_t i = 0; i < PERIOD; i++) put_value(d, rank, i, d->given, i);
    d->source = rank;
    return d->given;
}

/* By the reference kernels, rank by rank. */
static void make_sums(pod_coll_data *d)
{
    const pod_combine *ref = pod_combine_pick(POD_CPU_REFERENCE_ONLY);
    const pod_dtype t = d->args.dtype;
    for (int64_t i = 0; i < PERIOD; i++) put_value(d, 0, i, d->sums, i);
    for (int r = 1; r < d->n_ranks; r++)
        pod_combine_two(ref, d->args.op, PERIOD, t, pattern_of(d, r), t, d->sums, d->sums);
    if (d->args.op == POD_AVG) pod_combine_divide(ref, PERIOD, t, d->n_ranks, d->sums);
}

static int divided_up(int n, uint64_t by) { return (int)(((uint64_t)n + by - 1) / by); }

static void keep_exact(pod_coll_data *d)
{
    const uint64_t exact = limits[d->args.dtype].exact;
    if (d->args.op == POD_PROD) {
        d->every = divided_up(d->n_ranks, (uint64_t)limits[d->args.dtype].max_factors);
    } else if (d->args.op == POD_SUM || d->args.op == POD_AVG) {
        d->every = divided_up(d->n_ranks, exact / 2);
        d->most = exact / (uint64_t)divided_up(d->n_ranks, (uint64_t)d->every);
    }
}

pod_status pod_coll_data_create(pod_arena *a, const pod_coll_args *args, int n_ranks,
                                pod_coll_data **out)
{
    const size_t bytes = pod_dtype_bytes(args->dtype);
    pod_coll_data *d = POD_ARENA_NEW(a, pod_coll_data, 1);
    if (!d) return POD_E_NOMEM;
    *d = (pod_coll_data){.args = *args,
                         .n_ranks = n_ranks,
                         .every = 1,
                         .most = limits[args->dtype].exact,
                         .sums = pod_arena_get_array(a, ALIGN, bytes, PERIOD),
                         .given = pod_arena_get_array(a, ALIGN, bytes, PERIOD),
                         .nothing = pod_arena_get_array(a, ALIGN, bytes, PERIOD),
                         .source = -1};
    if (!d->sums || !d->given || !d->nothing) return POD_E_NOMEM;
    memset(d->nothing, GUARD, bytes * PERIOD);
    for (int64_t i = 0; limits[args->dtype].is_float && i < PERIOD; i++)
        put(d, d->nothing, i, (double)NAN);
    if (pod_coll_adds(args->coll)) {
        keep_exact(d);
        make_sums(d);
    }
    *out = d;
    return POD_OK;
}

/* The stretch of r from element i on in which the pattern, taken `shift` elements further on, does
 * not begin anew; *at is where in the pattern it begins. */
static int64_t stretch(pod_range r, int64_t i, int64_t shift, int64_t *at)
{
    *at = (i + shift) % PERIOD;
    const int64_t left = r.first + r.count - i;
    return PERIOD - *at < left ? PERIOD - *at : left;
}

static void paste(const pod_coll_data *d, pod_range r, const void *pattern, void *elements)
{
    const size_t bytes = pod_dtype_bytes(d->args.dtype);
    for (int64_t i = r.first, at, n; i < r.first + r.count; i += n) {
        n = stretch(r, i, 0, &at);
        memcpy((char *)elements + (size_t)i * bytes, (const char *)pattern + (size_t)at * bytes,
               (size_t)n * bytes);
    }
}

/* By value where the bits differ: a binned sum may have several forms. */
static bool is_same(const pod_coll_data *d, const void *a, const void *b)
{
    if (memcmp(a, b, pod_dtype_bytes(d->args.dtype)) == 0) return true;
    return d->args.dtype == POD_BINNED && !(pod_binned_to_f32(*(const pod_binned *)a) !=
                                            pod_binned_to_f32(*(const pod_binned *)b));
}

static int64_t wrong_pattern(const pod_coll_data *d, pod_range r, const void *pattern,
                             int64_t shift, const void *elements)
{
    const size_t bytes = pod_dtype_bytes(d->args.dtype);
    int64_t wrong = 0;
    for (int64_t i = r.first, at, n; i < r.first + r.count; i += n) {
        n = stretch(r, i, shift, &at);
        if (memcmp((const char *)elements + (size_t)i * bytes,
                   (const char *)pattern + (size_t)at * bytes, (size_t)n * bytes) == 0)
            continue;
        for (int64_t k = 0; k < n; k++)
            wrong += !is_same(d, (const char *)elements + (size_t)(i + k) * bytes,
                              (const char *)pattern + (size_t)(at + k) * bytes);
    }
    return wrong;
}

/* ---- what goes in and what comes out ----------------------------------------------------- */

static pod_range all_of(const pod_coll_data *d) { return (pod_range){0, d->args.count}; }

void pod_coll_data_clear(const pod_coll_data *d, void *elements)
{
    paste(d, all_of(d), d->nothing, elements);
    set_guards(d, elements);
}

pod_range pod_coll_data_given(const pod_coll_args *args, int n_ranks, int rank)
{
    if (args->coll == POD_ALLGATHER) return pod_block(args->count, n_ranks, rank);
    if (args->coll == POD_BROADCAST && rank != args->root) return (pod_range){0, 0};
    return (pod_range){0, args->count};
}

void pod_coll_data_fill(pod_coll_data *d, int rank, void *elements)
{
    const pod_range given = pod_coll_data_given(&d->args, d->n_ranks, rank);
    if (given.count < d->args.count) pod_coll_data_clear(d, elements);
    paste(d, given, pattern_of(d, rank), elements);
    set_guards(d, elements);
}

/* The part r came from rank `from`, where it stood `shift` elements further on. */
static int64_t wrong_values(pod_coll_data *d, pod_range r, int from, int64_t shift,
                            const void *elements)
{
    if (r.count > PERIOD / 8) return wrong_pattern(d, r, pattern_of(d, from), shift, elements);
    int64_t wrong = 0;
    for (int64_t i = r.first; i < r.first + r.count; i++) {
        pod_binned want; /* the widest of all types */
        put_value(d, from, i + shift, &want, 0);
        wrong +=
            !is_same(d, (const char *)elements + (size_t)i * pod_dtype_bytes(d->args.dtype), &want);
    }
    return wrong;
}

static int64_t wrong_blocks(pod_coll_data *d, int rank, const void *elements)
{
    int64_t wrong = 0;
    for (int from = 0; from < d->n_ranks; from++) {
        const pod_range here = pod_block(d->args.count, d->n_ranks, from);
        const pod_range there =
            d->args.coll == POD_ALLTOALL ? pod_block(d->args.count, d->n_ranks, rank) : here;
        wrong += wrong_values(d, here, from, there.first - here.first, elements);
    }
    return wrong;
}

int64_t pod_coll_data_wrong(pod_coll_data *d, int rank, const void *elements)
{
    const int64_t outside = wrong_guards(d, elements);
    switch (d->args.coll) {
    case POD_ALLREDUCE: return outside + wrong_pattern(d, all_of(d), d->sums, 0, elements);
    case POD_REDUCE_SCATTER:
        return outside +
               wrong_pattern(d, pod_block(d->args.count, d->n_ranks, rank), d->sums, 0, elements);
    case POD_BROADCAST: return outside + wrong_values(d, all_of(d), d->args.root, 0, elements);
    case POD_REDUCE:
        return outside +
               (rank == d->args.root ? wrong_pattern(d, all_of(d), d->sums, 0, elements) : 0);
    case POD_SENDRECV:
        return outside +
               wrong_values(d, all_of(d), (rank + d->n_ranks - 1) % d->n_ranks, 0, elements);
    default: return outside + wrong_blocks(d, rank, elements);
    }
}
