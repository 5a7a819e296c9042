#include "bench/coll_data.h"

#include <math.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/bf16.h"
#include "kernels/base/binned.h"

/* Values repeat with a period that no block or chunk divides, so that what comes to a wrong place
 * shows, and sums are made once for all of them. */
enum { PERIOD = 8191, GUARD_BYTES = 4096, GUARD = 0xa5, ALIGN = 64 };

struct pod_coll_data {
    pod_coll_args args;
    int n_ranks;
    int every;    /* a rank gives 0 to all elements but every so-many-th: sums stay exact */
    int64_t most; /* of what it gives */
    /* (PERIOD) elements each: of sums over all ranks, of what rank `source` gives, of NaN. */
    void *sums, *given, *nothing;
    int source; /* -1: none yet */
};

/* Whole numbers up to here are exact. */
static int64_t exact_up_to(pod_dtype t) { return t == POD_BF16 ? 1 << 8 : 1 << 24; }

static float value(const pod_coll_data *d, int rank, int64_t i)
{
    const int64_t k = i % PERIOD;
    if ((k + rank) % d->every != 0) return 0;
    uint32_t h = (uint32_t)k * 2654435761u ^ ((uint32_t)rank + 1) * 2246822519u;
    h = (h ^ h >> 15) * 3266489917u;
    return (float)(1 + (h ^ h >> 16) % (uint32_t)d->most);
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

static void put(const pod_coll_data *d, void *elements, int64_t i, float x)
{
    switch (d->args.dtype) {
    case POD_BF16: ((pod_bf16 *)elements)[i] = pod_bf16_from_f32(x); break;
    case POD_BINNED: ((pod_binned *)elements)[i] = pod_binned_from_f32(x); break;
    default: ((float *)elements)[i] = x;
    }
}

static float get(const pod_coll_data *d, const void *elements, int64_t i)
{
    switch (d->args.dtype) {
    case POD_BF16: return pod_bf16_to_f32(((const pod_bf16 *)elements)[i]);
    case POD_BINNED: return pod_binned_to_f32(((const pod_binned *)elements)[i]);
    default: return ((const float *)elements)[i];
    }
}

/* ---- patterns ------------------------------------------------------------------------------- */

static void make_sums(const pod_coll_data *d)
{
    for (int64_t i = 0; i < PERIOD; i++) {
        float sum = 0;
        for (int r = 0; r < d->n_ranks; r++) sum += value(d, r, i);
        put(d, d->sums, i, sum);
    }
}

pod_status pod_coll_data_create(pod_arena *a, const pod_coll_args *args, int n_ranks,
                                pod_coll_data **out)
{
    POD_ASSERT(args->dtype == POD_F32 || args->dtype == POD_BF16 || args->dtype == POD_BINNED,
               "no exact inputs of type %s", pod_dtype_name(args->dtype));
    const int64_t exact = exact_up_to(args->dtype);
    const int most_givers = (int)(exact / 2);
    const size_t bytes = pod_dtype_bytes(args->dtype);
    pod_coll_data *d = POD_ARENA_NEW(a, pod_coll_data, 1);
    if (!d) return POD_E_NOMEM;
    *d = (pod_coll_data){.args = *args,
                         .n_ranks = n_ranks,
                         .every = 1,
                         .most = exact,
                         .sums = pod_arena_get_array(a, ALIGN, bytes, PERIOD),
                         .given = pod_arena_get_array(a, ALIGN, bytes, PERIOD),
                         .nothing = pod_arena_get_array(a, ALIGN, bytes, PERIOD),
                         .source = -1};
    if (!d->sums || !d->given || !d->nothing) return POD_E_NOMEM;
    for (int64_t i = 0; i < PERIOD; i++) put(d, d->nothing, i, NAN);
    if (pod_coll_adds(args->coll)) {
        d->every = (n_ranks + most_givers - 1) / most_givers;
        d->most = exact / ((n_ranks + d->every - 1) / d->every);
        make_sums(d);
    }
    *out = d;
    return POD_OK;
}

static const void *pattern_of(pod_coll_data *d, int rank)
{
    if (d->source != rank)
        for (int64_t i = 0; i < PERIOD; i++) put(d, d->given, i, value(d, rank, i));
    d->source = rank;
    return d->given;
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

/* By value where the bits differ: a sum may have several forms. */
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
        for (int64_t k = 0; k < n; k++) wrong += get(d, elements, i + k) != get(d, pattern, at + k);
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

/* The part that a rank gives. */
static pod_range given_by(const pod_coll_data *d, int rank)
{
    if (d->args.coll == POD_ALLGATHER) return pod_block(d->args.count, d->n_ranks, rank);
    if (d->args.coll == POD_BROADCAST && rank != d->args.root) return (pod_range){0, 0};
    return all_of(d);
}

void pod_coll_data_fill(pod_coll_data *d, int rank, void *elements)
{
    const pod_range given = given_by(d, rank);
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
    for (int64_t i = r.first; i < r.first + r.count; i++)
        wrong += get(d, elements, i) != value(d, from, i + shift);
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
    default: return outside + wrong_blocks(d, rank, elements);
    }
}
