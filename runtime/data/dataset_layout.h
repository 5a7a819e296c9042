/* A file held against the layout of dataset.h. People write such files with h5py: what is not as it
 * should be is named with what numpy makes of it. For this folder only; with the lock held. */
#ifndef MINIPOD_RUNTIME_DATA_DATASET_LAYOUT_H
#define MINIPOD_RUNTIME_DATA_DATASET_LAYOUT_H

#include "runtime/h5/h5.h"

/* That all of `name` are there; else all that are not are listed, and what is. */
POD_MUST pod_status pod__layout_check_arrays(const pod_h5_file *f, int n, const char *const name[]);
/* That it is u8 (N, H, W, C) and can be unpacked. */
POD_MUST pod_status pod__layout_check_images(const pod_h5_array *a);
/* That it is n_images integers and can be unpacked. */
POD_MUST pod_status pod__layout_check_labels(const pod_h5_array *a, int64_t n_images);

#endif
