/* Input of a collective, and the expected result. Values are whole numbers that are so small that
 * every sum over any of the ranks is exact in any order, also in bf16 (the idea is from nccl-tests'
 * verifiable.h); for products they are 2 and 1/2; integers do not overflow. So a result is right or
 * wrong, and no tolerance is needed. */
#ifndef MINIPOD_BENCH_COLL_DATA_H
#define MINIPOD_BENCH_COLL_DATA_H

#include "collectives/algo/algo.h"
#include "kernels/base/arena.h"

typedef struct pod_coll_data pod_coll_data;

/* Returns the range of its buffer that a rank contributes. */
pod_range pod_coll_data_given(const pod_coll_args *args, int n_ranks, int rank);

/* For a collective over all `n_ranks` ranks. Fails with E_NOMEM. */
POD_MUST pod_status pod_coll_data_create(pod_arena *a, const pod_coll_args *args, int n_ranks,
                                         pod_coll_data **out);

/* Returns the bytes to allocate for a buffer of `count` elements: before and after the elements
 * there are canaries, which a collective must not change. */
size_t pod_coll_data_bytes(int64_t count, pod_dtype t);
/* Returns the first element in such memory. `memory` is aligned to 4096 bytes, and so are the
 * elements. */
void *pod_coll_data_at(void *memory);

/* Writes what rank `rank` contributes; elements that it does not contribute become NaN, or
 * arbitrary bytes in types without NaN. Sets the canaries. */
void pod_coll_data_fill(pod_coll_data *d, int rank, void *elements);
/* Fills all elements with NaN or arbitrary bytes: a buffer for a result out of place. Sets the
 * canaries. */
void pod_coll_data_clear(const pod_coll_data *d, void *elements);
/* Returns how many elements of the result of rank `rank`, and of the canaries, are wrong. */
int64_t pod_coll_data_wrong(pod_coll_data *d, int rank, const void *elements);

#endif
