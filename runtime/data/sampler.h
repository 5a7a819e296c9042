/* Decides which samples are in which batch, on which rank. Pure arithmetic.
 *
 * An epoch is a permutation of the samples, drawn from (seed, epoch) alone. Global batch b is
 * perm[b B .. (b+1) B), and rank r of R holds rows r B / R .. (r+1) B / R of it. So the order does
 * not depend on the mesh, and each sample occurs at most once per epoch over all ranks:
 *
 *   perm    | 7 2 5 0 | 3 6 1 4 | 8 9       B = 4, R = 2
 *   batch     0         1         tail
 *   rank 0    7 2       3 6
 *   rank 1        5 0       1 4
 *
 * Training drops the tail of N mod B samples (other samples in each epoch if shuffled). Evaluation
 * keeps the tail (keep_tail): its rows beyond the end are padding, POD_PADDING_ROW. */
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

/* Fails with POD_E_INVALID if the batch is not divisible by the number of ranks, or if it exceeds
 * the number of samples and the tail is dropped. */
POD_MUST pod_status pod_sampler_check(const pod_sampler *s);

int64_t pod_sampler_local_batch(const pod_sampler *s);
int64_t pod_sampler_steps_per_epoch(const pod_sampler *s);

/* Writes the order of an epoch, (n_samples): Fisher-Yates, or 0, 1, 2, ... without shuffle. */
void pod_sampler_order(const pod_sampler *s, int64_t epoch, int64_t *order);

/* Returns the index into the order for row `row` of this rank in batch `batch` of the epoch;
 * POD_PADDING_ROW beyond the end. */
int64_t pod_sampler_at(const pod_sampler *s, int64_t batch, int64_t row);

#endif
