/* The memory that each rank needs on its host while it trains, apart from code, libraries and MPI's
 * buffers. Every rank has all of it for itself, also its slab of collectives, which other ranks of
 * the node can access: multiply by the number of ranks. */
#ifndef MINIPOD_RUNTIME_TRAIN_RANK_MEMORY_H
#define MINIPOD_RUNTIME_TRAIN_RANK_MEMORY_H

#include "runtime/program/program.h"
#include "runtime/task/task.h"

typedef struct pod_rank_memory { /* bytes */
    size_t step, window;         /* the two slabs, which all programs of a run share: those
                                    of the largest one */
    size_t store;                /* weights and states */
    size_t batches;              /* prefetched, of the training and the evaluation loader */
    size_t search;               /* of a search's hypotheses; 0: the task has no search */
    size_t data;                 /* pixels or ids of the data set in memory */
    size_t samples;              /* of the code that draws samples (pod_samples.kept_bytes) */
} pod_rank_memory;

/* Returns the bytes of pixels or ids that a rank keeps in memory: all of a file, or 0 if they
 * exceed --data-cache; 0 for glyphs. */
size_t pod_rank_memory_kept(const pod_setup *s, const pod_dataset_info *stored);

/* Computes the memory except `samples`. n_test samples are evaluated; 0: as many as a batch has.
 * program[0] is the training program. The others are those of a search, if the task has one, and
 * the evaluation program, which may be omitted if it needs no more memory than program[0]. */
pod_rank_memory pod_rank_memory_of(const pod_setup *s, const pod_network *network,
                                   const pod_dataset_info *stored, int64_t n_test,
                                   const pod_program *const program[], int n_programs);
size_t pod_rank_memory_total(const pod_rank_memory *m);

#endif
