/* What a collective is given, and what must come back: whole numbers, so small that every sum over
 * any of the ranks is exact in any order, for bf16 too (the idea is nccl-tests' verifiable.h);
 * factors of 2 and 1/2 for products; integers do not overflow. So a result is right or wrong, and no
 * tolerance is needed. */
#ifndef MINIPOD_BENCH_COLL_DATA_H
#define MINIPOD_BENCH_COLL_DATA_H

#include "collectives/algo/algo.h"
#include "kernels/base/arena.h"

typedef struct pod_coll_data pod_coll_data;

/* What of its buffer a rank gives. */
pod_range pod_coll_data_given(const pod_coll_args *args, int n_ranks, int rank);

/* Over all `n_ranks` ranks. E_NOMEM. */
POD_MUST pod_status pod_coll_data_create(pod_arena *a, const pod_coll_args *args, int n_ranks,
                                         pod_coll_data **out);

/* Elements that buffers of a case have, and the bytes to be had for one: before and behind the
 * elements lie guards that a collective must leave alone. */
size_t pod_coll_data_bytes(int64_t count, pod_dtype t);
/* The elements in such memory, which is aligned to 4096 bytes as they are then. */
void *pod_coll_data_at(void *memory);

/* What rank `rank` gives; elements that it does not give are NaN, or bytes of no meaning. Guards are set. */
void pod_coll_data_fill(pod_coll_data *d, int rank, void *elements);
/* Those alone: where a result will stand that does not start in place. Guards are set. */
void pod_coll_data_clear(const pod_coll_data *d, void *elements);
/* How many elements of what rank `rank` was to get, and of the guards, are wrong. */
int64_t pod_coll_data_wrong(pod_coll_data *d, int rank, const void *elements);

#endif
