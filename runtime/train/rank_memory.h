/* What a rank takes of its host's memory while it trains, beside the program itself (libraries, MPI's
 * buffers). Each rank has its own of all of it. */
#ifndef MINIPOD_RUNTIME_TRAIN_RANK_MEMORY_H
#define MINIPOD_RUNTIME_TRAIN_RANK_MEMORY_H

#include "runtime/data/dataset.h"
#include "runtime/program/program.h"
#include "runtime/train/setup.h"

typedef struct pod_rank_memory { /* bytes */
    size_t step, window;         /* of training or evaluation, which take turns in it: the larger */
    size_t store;                /* weights and states */
    size_t batches;              /* made ahead, of both */
    size_t data;                 /* pixels of the data set that are kept */
} pod_rank_memory;

/* What is kept of a file's pixels: all of them or, where the cache does not take them all, none. Of
 * made data none. */
size_t pod_rank_memory_kept(const pod_setup *s, const pod_dataset_info *stored);

/* `eval` may be NULL: it is not larger than `train`. */
pod_rank_memory pod_rank_memory_of(const pod_setup *s, const pod_dataset_info *stored,
                                   const pod_program *train, const pod_program *eval);
size_t pod_rank_memory_total(const pod_rank_memory *m);

#endif
