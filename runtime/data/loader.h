/* The prefetch threads: they make the next batches of a split while the current one is used, each
 * some rows of a batch.
 *
 * A batch is what the sampler says (sampler.h), read from the data set and augmented. Which bits
 * are in batch k depends on the options alone, never on timing or on how many threads there are.
 * Batches follow each other without end, epoch after epoch; training drops the tail of an epoch,
 * evaluation (keep_tail) pads it with zero pixels and label -1, so that one epoch is one pass over
 * every sample: a caller that takes pod_loader_steps_per_epoch batches finds the next evaluation
 * already begun, and a training that evaluates in between finds its next batches made.
 *
 * All memory is taken by open. One thread calls next; open and close are local, not collective. */
#ifndef MINIPOD_RUNTIME_DATA_LOADER_H
#define MINIPOD_RUNTIME_DATA_LOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/track.h"
#include "runtime/data/augment.h"
#include "runtime/data/dataset.h"
#include "runtime/data/sampler.h"

enum { POD_PADDING_LABEL = -1 };

typedef struct pod_loader_options {
    int64_t global_batch;
    int rank, size; /* this rank's part of each batch; size divides global_batch */
    uint64_t seed;  /* of order and augmentation */
    bool shuffle;
    bool keep_tail;      /* evaluation: pad the last batch of an epoch instead of dropping it */
    pod_augment augment; /* zeroed: none */
    /* What is seen of an image; 0: all that is stored (augment.h). */
    int64_t image_height, image_width;
    int depth;          /* batches made ahead, 2 will do */
    int n_threads;      /* that make them; where one of the two is 0, next does */
    int64_t start_step; /* the first batch is this one, counted from the beginning of training */
    const pod_alloc *alloc; /* NULL: pod_alloc_default */
    /* By which the threads write down when they made what; NULL: they do not. */
    const pod_clock *clock;
} pod_loader_options;

typedef struct pod_batch {
    const uint8_t *images;  /* (local_batch, H, W, C) as seen, borrowed until the next call */
    const int32_t *labels;  /* (local_batch), borrowed until the next call */
    const int64_t *samples; /* (local_batch), index in the split or -1, borrowed likewise */
    int64_t n_valid;        /* rows of this rank that are samples; they come first */
    int64_t epoch, step;    /* step counts from the beginning of training, not of the epoch */
} pod_batch;

typedef struct pod_loader pod_loader;

/* The data set is borrowed until close. Fails as pod_sampler_check, or for want of memory. */
POD_MUST pod_status pod_loader_open(const pod_dataset *d, pod_split split,
                                    const pod_loader_options *options, pod_loader **out);
/* Waits for the next batch. A failure to read a sample is reported here, when its batch is due, and
 * by every later call. */
POD_MUST pod_status pod_loader_next(pod_loader *l, pod_batch *out);
void pod_loader_close(pod_loader *l); /* ends the threads; NULL is allowed */

int64_t pod_loader_steps_per_epoch(const pod_loader *l);
int64_t pod_loader_local_batch(const pod_loader *l);

/* What each thread made and when, for one reader; gone with the loader. None without a clock. */
int pod_loader_n_tracks(const pod_loader *l);
pod_track *pod_loader_track(const pod_loader *l, int i);

#endif
