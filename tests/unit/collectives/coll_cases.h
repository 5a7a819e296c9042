/* What the tests of collectives share: inputs, and what must come out. */
#ifndef MINIPOD_TESTS_COLL_CASES_H
#define MINIPOD_TESTS_COLL_CASES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algo/algo.h"
#include "collectives/exec/exec_local.h"
#include "tests/harness/harness.h"

enum { COLL_GUARD = 4 }; /* elements behind every buffer that must stay as they are */

/* Buffers of all ranks, filled by rank. */
typedef struct coll_data {
    int n_ranks;
    int64_t count;
    float **buf;     /* (n_ranks, count + COLL_GUARD) */
    float **initial; /* the same before the collective */
} coll_data;

static inline coll_data coll_data_make(int n_ranks, int64_t count, bool is_exact)
{
    coll_data d = {n_ranks, count, malloc((size_t)n_ranks * sizeof(float *)),
                   malloc((size_t)n_ranks * sizeof(float *))};
    size_t bytes = (size_t)(count + COLL_GUARD) * sizeof(float);
    for (int r = 0; r < n_ranks; r++) {
        d.buf[r] = malloc(bytes);
        d.initial[r] = malloc(bytes);
        if (is_exact)
            pod_test_fill_exact((uint64_t)r + 1, count + COLL_GUARD, 8, POD_F32, d.initial[r]);
        else
            pod_test_fill((uint64_t)r + 1, count + COLL_GUARD, POD_F32, d.initial[r]);
        memcpy(d.buf[r], d.initial[r], bytes);
    }
    return d;
}

static inline void coll_data_free(coll_data *d)
{
    for (int r = 0; r < d->n_ranks; r++) {
        free(d->buf[r]);
        free(d->initial[r]);
    }
    free(d->buf);
    free(d->initial);
}

/* Where a rank's result is defined. */
static inline pod_range coll_result_range(const pod_mesh *m, const pod_coll_args *args, int rank)
{
    const int index = pod_group_index(m, &args->group, rank);
    if (args->coll == POD_REDUCE && index != args->root) return (pod_range){0, 0};
    if (args->coll != POD_REDUCE_SCATTER) return (pod_range){0, args->count};
    return pod_block(args->count, pod_group_size(m, &args->group), index);
}

/* want (count) = the sum over the group of `rank`, in double precision; bound (count): a sum of p
 * terms has p - 1 roundings in whatever order it is made. */
static inline void coll_want_sum(const coll_data *d, const pod_mesh *m, const pod_group *group,
                                 int rank, double *want, double *bound)
{
    int size = pod_group_size(m, group);
    double u = (size - 1) * pod_test_roundoff(POD_F32);
    for (int64_t i = 0; i < d->count; i++) want[i] = bound[i] = 0;
    for (int k = 0; k < size; k++) {
        const float *x = d->initial[pod_group_member(m, group, rank, k)];
        for (int64_t i = 0; i < d->count; i++) {
            want[i] += (double)x[i];
            bound[i] += fabs((double)x[i]) * u / (1 - u);
        }
    }
}

/* The same for what hands elements out unchanged. */
static inline void coll_want_copy(const coll_data *d, const pod_mesh *m, const pod_coll_args *args,
                                  int rank, double *want, double *bound)
{
    int size = pod_group_size(m, &args->group);
    for (int k = 0; k < size; k++) {
        pod_range range = {0, k == args->root ? args->count : 0};
        if (args->coll == POD_ALLGATHER) range = pod_block(args->count, size, k);
        const float *x = d->initial[pod_group_member(m, &args->group, rank, k)];
        for (int64_t i = range.first; i < range.first + range.count; i++) {
            want[i] = (double)x[i];
            bound[i] = 0;
        }
    }
}

/* An all-to-all wants equal blocks: the least count that is not below `count`. */
static inline int64_t coll_count(pod_coll coll, int64_t count, int size)
{
    return coll == POD_ALLTOALL ? (count + size - 1) / size * size : count;
}

/* Block i comes from member i. */
static inline void coll_want_alltoall(const coll_data *d, const pod_mesh *m, const pod_group *g,
                                      int rank, double *want, double *bound)
{
    int size = pod_group_size(m, g), index = pod_group_index(m, g, rank);
    int64_t count = d->count / size;
    for (int64_t i = 0; i < d->count; i++) {
        const float *x = d->initial[pod_group_member(m, g, rank, (int)(i / count))];
        want[i] = (double)x[index * count + i % count];
        bound[i] = 0;
    }
}

/* All comes from the member before. */
static inline void coll_want_sendrecv(const coll_data *d, const pod_mesh *m, const pod_group *g,
                                      int rank, double *want, double *bound)
{
    const int size = pod_group_size(m, g), index = pod_group_index(m, g, rank);
    const float *x = d->initial[pod_group_member(m, g, rank, (index + size - 1) % size)];
    for (int64_t i = 0; i < d->count; i++) {
        want[i] = (double)x[i];
        bound[i] = 0;
    }
}

/* What must stand in the buffer of `rank`; the same for its whole group but after an
 * all-to-all or a sendrecv. */
static inline void coll_want(const coll_data *d, const pod_mesh *m, const pod_coll_args *args,
                             int rank, double *want, double *bound)
{
    if (args->coll == POD_ALLGATHER || args->coll == POD_BROADCAST)
        coll_want_copy(d, m, args, rank, want, bound);
    else if (args->coll == POD_ALLTOALL)
        coll_want_alltoall(d, m, &args->group, rank, want, bound);
    else if (args->coll == POD_SENDRECV)
        coll_want_sendrecv(d, m, &args->group, rank, want, bound);
    else
        coll_want_sum(d, m, &args->group, rank, want, bound);
}

#endif
