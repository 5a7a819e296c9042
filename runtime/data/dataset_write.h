/* Writes a data set as an HDF5 file; layout in dataset.h. The file is made aside, as
 * PATH.minipod-part, and renamed at the end, so that no half file stands under the final name.
 * Samples come in order; mean and std are taken from the training pixels as they pass. Takes the
 * HDF5 lock itself.
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

/* `info` with its texts is borrowed until the writer ends. Where its mean and std are NULL they are
 * computed; a channel that never changes gets std 1, so that dividing by it is harmless. Counts the
 * samples of each class in n_of (POD_N_SPLITS, n_classes), zeros at first; NULL: nobody asks. */
POD_MUST pod_status pod_dataset_writer_open(const char *path, const pod_dataset_info *info,
                                            int64_t *n_of, pod_dataset_writer **out);
/* Room for a sample's pixels, packed by pod_h5_pack beforehand; 0: the writer alone can pack. */
size_t pod_dataset_packed_room(const pod_dataset_info *info);
/* Appends to a split; pixels: (count, H, W, C), labels: (count), packed: (count), or NULL. Too many
 * samples, or a label outside of the classes, is POD_E_FORMAT. */
POD_MUST pod_status pod_dataset_writer_add(pod_dataset_writer *w, pod_split split, int64_t count,
                                           const uint8_t *pixels, const pod_h5_packed *packed,
                                           const int32_t *labels);
/* Whether such a signal came: whoever makes samples for long may stop. From any thread. */
bool pod_dataset_writer_is_stopped(void);
/* The files that the samples of a split came from, in order: (n), one each of those added so far.
 * After the last of them. */
POD_MUST pod_status pod_dataset_writer_put_files(pod_dataset_writer *w, pod_split split, int64_t n,
                                                 const char *const files[]);
/* Ends the writer in any case. On success the file is complete, on the disk, under its name. */
POD_MUST pod_status pod_dataset_writer_finish(pod_dataset_writer *w);
void pod_dataset_writer_abort(pod_dataset_writer *w); /* leaves no file; NULL is allowed */

/* Makes samples first .. first + count - 1 of a split: pixels (count, H, W, C), labels (count). */
typedef pod_status pod_dataset_fill(void *ctx, pod_split split, int64_t first, int64_t count,
                                    uint8_t *pixels, int32_t *labels);
/* Writes all samples that `info` counts, asked of `fill` in order; n_of as above. `log` shows the
 * progress. */
POD_MUST pod_status pod_dataset_write(const char *path, const pod_dataset_info *info,
                                      pod_dataset_fill *fill, void *ctx, int64_t *n_of,
                                      pod_log *log);
/* Copies a whole open data set, whatever its kind, into a file: `data make glyphs`. Mean and std
 * are copied, not computed again. */
POD_MUST pod_status pod_dataset_export(const pod_dataset *d, const char *path, pod_log *log);

#endif
