/* Helpers that the sources of data sets and their writer share. Private to this folder. */
#ifndef MINIPOD_RUNTIME_DATA_INNER_H
#define MINIPOD_RUNTIME_DATA_INNER_H

#include "runtime/data/dataset.h"
#include "runtime/h5/h5.h"

/* Opens a data set of images in an HDF5 file (layout in dataset.h). E_FORMAT if it holds text. */
POD_MUST pod_status pod__dataset_open_h5(const char *path, const pod_dataset_options *options,
                                         pod_dataset **out);

/* Makes a data set of a text, which it takes over, also if it fails. E_NOMEM. */
POD_MUST pod_status pod__dataset_of_text(pod_text_set *t, const pod_alloc *alloc,
                                         pod_dataset **out);
/* Hashes, as pod_dataset_fingerprint does, the vocabulary, all lengths and documents, and the ids
 * of four rows of each field and split. */
POD_MUST pod_status pod__text_fingerprint(const pod_text_set *t, uint64_t *out);

/* Names n classes by the numbers first, first + 1, ... E_NOMEM. */
POD_MUST pod_status pod__dataset_number_classes(pod_dataset_info *info, int32_t first, int n,
                                                pod_arena *a);

/* ---- mean and standard deviation of each channel, from exact sums of 8-bit pixels ---- */

typedef struct pod_channel_stats {
    int64_t channels, n_pixels;
    uint64_t *sum, *sum_sq; /* (channels) */
} pod_channel_stats;

POD_MUST pod_status pod__channel_stats_init(pod_channel_stats *s, pod_arena *a, int64_t channels);
/* pixels: (n_pixels, channels) */
void pod__channel_stats_add(pod_channel_stats *s, int64_t n_pixels, const uint8_t *pixels);
/* Computes mean and std (channels) of the pixels scaled to [0, 1], in the arena. A constant channel
 * gets std 1, so that dividing by it is harmless. At least one pixel must have been added. */
POD_MUST pod_status pod__channel_stats_finish(const pod_channel_stats *s, pod_arena *a,
                                              const double **mean, const double **std);

/* ---- checks of a file against the layout of dataset.h ----
 *
 * Users write such files with h5py; an error text says how to correct an array in numpy. The caller
 * holds the HDF5 lock. */

/* Finds whether the file has layout version 2, that of text (text_set.h). E_FORMAT for a later
 * version, and if the file is damaged. */
POD_MUST pod_status pod__layout_is_text(const pod_h5_file *f, bool *out);
/* Checks that all arrays in `name` exist; the error lists those that do not, and those in the
 * file. */
POD_MUST pod_status pod__layout_check_arrays(const pod_h5_file *f, int n, const char *const name[]);
/* Checks that the array is u8 (N, H, W, C) and that its filters are supported. */
POD_MUST pod_status pod__layout_check_images(const pod_h5_array *a);
/* Checks that the array has n_images integers and that its filters are supported. */
POD_MUST pod_status pod__layout_check_labels(const pod_h5_array *a, int64_t n_images);

#endif
