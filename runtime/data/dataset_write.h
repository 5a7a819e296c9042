/* Writes a data set as an HDF5 file (layout in dataset.h). It writes PATH.minipod-part and renames
 * that at the end, so that PATH never names an incomplete file. Samples are added in order; mean
 * and std are computed from the training pixels as they are added. Takes the HDF5 lock itself.
 *
 * A process has at most one writer at a time. While it has one, SIGINT, SIGTERM and SIGHUP are
 * deferred: the next pod_dataset_writer_add or _finish fails with E_WRITE, and once the writer is
 * gone (finish, abort) the signal is raised again. Signals that are ignored or have a handler are
 * not deferred. */
#ifndef MINIPOD_RUNTIME_DATA_DATASET_WRITE_H
#define MINIPOD_RUNTIME_DATA_DATASET_WRITE_H

#include <stdbool.h>

#include "runtime/core/log.h"
#include "runtime/data/dataset.h"
#include "runtime/h5/chunks.h"

typedef struct pod_dataset_writer pod_dataset_writer;

/* `info` and its texts are borrowed until the writer ends. If mean or std is NULL, both are
 * computed; a constant channel gets std 1, so that dividing by it is harmless. Counts the samples
 * of each class in n_of (POD_N_SPLITS, n_classes), which the caller zeroes; may be NULL. */
POD_MUST pod_status pod_dataset_writer_open(const char *path, const pod_dataset_info *info,
                                            int64_t *n_of, pod_dataset_writer **out);
/* Returns the buffer size for one sample that the caller compresses with pod_h5_pack; 0: only the
 * writer can compress, because a chunk has several samples. */
size_t pod_dataset_packed_room(const pod_dataset_info *info);
/* Appends samples to a split: pixels (count, H, W, C), labels (count), and packed (count) or NULL.
 * POD_E_FORMAT for more samples than `info` has, or a label that is no class; E_WRITE. */
POD_MUST pod_status pod_dataset_writer_add(pod_dataset_writer *w, pod_split split, int64_t count,
                                           const uint8_t *pixels, const pod_h5_packed *packed,
                                           const int32_t *labels);
/* Returns whether a deferred signal has arrived, so that a long computation of samples can stop.
 * May be called from any thread. */
bool pod_dataset_writer_is_stopped(void);
/* Writes the names of the files that the samples of a split came from, in order. Call it after the
 * last pod_dataset_writer_add of that split; n is the number of its samples. */
POD_MUST pod_status pod_dataset_writer_put_files(pod_dataset_writer *w, pod_split split, int64_t n,
                                                 const char *const files[]);
/* Destroys the writer, whatever the status. On success the complete file is on disk under its
 * name. */
POD_MUST pod_status pod_dataset_writer_finish(pod_dataset_writer *w);
void pod_dataset_writer_abort(pod_dataset_writer *w); /* destroys the writer and its file; NULL is
                                                         allowed */

/* Computes samples first .. first + count - 1 of a split: pixels (count, H, W, C), labels
 * (count). */
typedef pod_status pod_dataset_fill(void *ctx, pod_split split, int64_t first, int64_t count,
                                    uint8_t *pixels, int32_t *labels);
/* Writes a whole data set: calls `fill` for all samples that `info` counts, in order. n_of as
 * above. `log` shows progress. */
POD_MUST pod_status pod_dataset_write(const char *path, const pod_dataset_info *info,
                                      pod_dataset_fill *fill, void *ctx, int64_t *n_of,
                                      pod_log *log);
/* Copies an open data set of any kind into a file, for `data make glyphs`. Mean and std are copied,
 * not computed. */
POD_MUST pod_status pod_dataset_export(const pod_dataset *d, const char *path, pod_log *log);

#endif
