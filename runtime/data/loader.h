/* The loader: threads prepare the next batches of samples (samples.h) while the current one is
 * used. Each thread fills some rows of a batch.
 *
 * A batch holds the samples that the sampler chooses (sampler.h). The bits of batch k depend on the
 * samples and the options alone, not on timing or on the number of threads. Batches follow each
 * other without end, epoch after epoch. Training drops the tail of an epoch; evaluation (keep_tail)
 * pads it, so that pod_loader_steps_per_epoch batches are one pass over all samples. The threads of
 * the training loader prepare the next training batches during an evaluation, and those of the
 * evaluation loader the next evaluation's during training.
 *
 * pod_loader_open allocates all memory. One thread calls pod_loader_next; open and close are local,
 * not collective. */
#ifndef MINIPOD_RUNTIME_DATA_LOADER_H
#define MINIPOD_RUNTIME_DATA_LOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "runtime/core/track.h"
#include "runtime/data/sampler.h"
#include "runtime/data/samples.h"

typedef struct pod_loader_options {
    int64_t global_batch;
    int rank, size; /* this rank, and the number of ranks, which divides global_batch */
    uint64_t seed;  /* of the order */
    bool shuffle;
    bool keep_tail;     /* for evaluation: pads the last batch of an epoch instead of dropping
                            it */
    int depth;          /* batches prepared ahead; 2 is enough */
    int n_threads;      /* that prepare them; if depth or n_threads is 0, pod_loader_next does it */
    int64_t start_step; /* index of the first batch, counted from 0 at the beginning of training */
    const pod_alloc *alloc; /* NULL: pod_alloc_default */
    /* Clock by which the threads record their work; NULL: they record nothing. */
    const pod_clock *clock;
} pod_loader_options;

typedef struct pod_batch {
    const void *field[POD_MAX_FIELDS]; /* (local_batch, row) each; borrowed until the next call */
    const int64_t *samples; /* (local_batch), number of the sample or -1, borrowed likewise */
    int64_t n_valid;        /* rows of this rank that are no padding; they come first */
    int64_t epoch, step;    /* step counts from the beginning of training, not of the epoch */
} pod_batch;

typedef struct pod_loader pod_loader;

/* Opens a loader and starts its threads. `samples->source` is borrowed until close.
 * E_INVALID as pod_sampler_check, or for a depth or number of threads beyond 64; E_NOMEM; or a
 * thread cannot be started. */
POD_MUST pod_status pod_loader_open(const pod_samples *samples, const pod_loader_options *options,
                                    pod_loader **out);
/* Waits for the next batch. A failure to read a sample is returned when its batch is due, and again
 * by every later call. */
POD_MUST pod_status pod_loader_next(pod_loader *l, pod_batch *out);
void pod_loader_close(pod_loader *l); /* ends the threads; NULL is allowed */

int64_t pod_loader_steps_per_epoch(const pod_loader *l);
int64_t pod_loader_local_batch(const pod_loader *l);

/* The record of each thread's work (runtime/core/track.h), for one reader; it lives as long as the
 * loader. 0 tracks without a clock. */
int pod_loader_n_tracks(const pod_loader *l);
pod_track *pod_loader_track(const pod_loader *l, int i);

#endif
