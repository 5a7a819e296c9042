/* What a collective is given, and what must come back: whole numbers, so small that every sum over
 * any of the ranks is exact in any order, for bf16 too (the idea is nccl-tests' verifiable.h). So a
 * result is right or wrong, and no tolerance is needed. */
#ifndef MINIPOD_BENCH_COLL_DATA_H
#define MINIPOD_BENCH_COLL_DATA_H

#include "collectives/algo/algo.h"
#include "kernels/base/arena.h"

typedef struct pod_coll_data pod_coll_data;

/* Over all `n_ranks` ranks; f32, bf16 and binned. E_NOMEM. */
POD_MUST pod_status pod_coll_data_create(pod_arena *a, const pod_coll_args *args, int n_ranks,
                                         pod_coll_data **out);

/* Elements that buffers of a case have, and the bytes to be had for one: before and behind the
 * elements lie guards that a collective must leave alone. */
size_t pod_coll_data_bytes(int64_t count, pod_dtype t);
/* The elements in such memory, which is aligned to 4096 bytes as they are then. */
void *pod_coll_data_at(void *memory);

/* What rank `rank` gives; elements that it does not give are NaN. Guards are set. */
void pod_coll_data_fill(pod_coll_data *d, int rank, void *elements);
/* NaN alone: where a result will stand that does not start in place. Guards are set. */
void pod_coll_data_clear(const pod_coll_data *d, void *elements);
/* How many elements of what rank `rank` was to get, and of the guards, are wrong. */
int64_t pod_coll_data_wrong(pod_coll_data *d, int rank, const void *elements);

#endif
