/* What the sources of data sets and their writer share. For this folder only. */
#ifndef MINIPOD_RUNTIME_DATA_INNER_H
#define MINIPOD_RUNTIME_DATA_INNER_H

#include "runtime/data/dataset.h"
#include "runtime/h5/h5.h"

/* The data set in an HDF5 file; layout in dataset.h. */
POD_MUST pod_status pod__dataset_open_h5(const char *path, const pod_dataset_options *options,
                                         pod_dataset **out);

/* Names classes first, first + 1, ... */
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
/* (channels) each, of pixels scaled to [0, 1], from the arena. A channel that never changes gets
 * std 1, so that dividing by it is harmless. At least one pixel must have been added. */
POD_MUST pod_status pod__channel_stats_finish(const pod_channel_stats *s, pod_arena *a,
                                              const double **mean, const double **std);

/* ---- a file held against the layout of dataset.h ----
 *
 * People write such files with h5py: what is not as it should be is named with what numpy makes of
 * it. With HDF5's lock held. */

/* That all of `name` are there; else all that are not are listed, and what is. */
POD_MUST pod_status pod__layout_check_arrays(const pod_h5_file *f, int n, const char *const name[]);
/* That it is u8 (N, H, W, C) and can be unpacked. */
POD_MUST pod_status pod__layout_check_images(const pod_h5_array *a);
/* That it is n_images integers and can be unpacked. */
POD_MUST pod_status pod__layout_check_labels(const pod_h5_array *a, int64_t n_images);

#endif
