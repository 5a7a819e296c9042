/* Which samples stand in which batch, on which rank. Pure arithmetic.
 *
 * An epoch is a permutation of the samples, drawn from (seed, epoch) alone. Global batch b is
 * perm[b B .. (b+1) B); rank r of R holds its r-th part of B / R rows. So the order is the same
 * whatever the mesh, and each sample occurs at most once an epoch over all ranks:
 *
 *   perm    | 7 2 5 0 | 3 6 1 4 | 8 9       B = 4, R = 2
 *   batch     0         1         tail
 *   rank 0    7 2       3 6
 *   rank 1        5 0       1 4
 *
 * Training drops the tail of n mod B samples (others each epoch, when shuffled). Evaluation keeps
 * it: rows beyond the end are padding and say so by POD_PADDING_ROW. */
#ifndef MINIPOD_RUNTIME_DATA_SAMPLER_H
#define MINIPOD_RUNTIME_DATA_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/status.h"

enum { POD_PADDING_ROW = -1 };

typedef struct pod_sampler { /* a value */
    int64_t n_samples, global_batch;
    int rank, size;
    bool shuffle;
    bool keep_tail;
    uint64_t seed;
} pod_sampler;

/* POD_E_INVALID: the batch is not divisible by the ranks, or (tail dropped) exceeds the
 * samples. */
POD_MUST pod_status pod_sampler_check(const pod_sampler *s);

int64_t pod_sampler_local_batch(const pod_sampler *s);
int64_t pod_sampler_steps_per_epoch(const pod_sampler *s);

/* The order of an epoch, (n_samples): Fisher-Yates, or 0, 1, 2, ... without shuffle. */
void pod_sampler_order(const pod_sampler *s, int64_t epoch, int64_t *order);

/* Where in the order row i of this rank's part of a batch (counted within the epoch) stands;
 * POD_PADDING_ROW beyond the end. */
int64_t pod_sampler_at(const pod_sampler *s, int64_t batch, int64_t row);

#endif
