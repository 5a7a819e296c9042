/* Builds HDF5 files in memory, which the caller writes. No function here touches the disk.
 *
 * As in h5.h, call all functions between pod_h5_lock and pod_h5_unlock. */
#ifndef MINIPOD_RUNTIME_H5_IMAGE_H
#define MINIPOD_RUNTIME_H5_IMAGE_H

#include "runtime/h5/h5.h"

/* Creates an empty file in memory; `name` is for messages. */
POD_MUST pod_status pod_h5_image_create(const char *name, pod_h5_file *out);
/* Copies the file's bytes to `room`; with NULL only sets *bytes to their number. E_NOMEM if they
 * are more than room_bytes. */
POD_MUST pod_status pod_h5_image_take(const pod_h5_file *f, void *room, size_t room_bytes,
                                      size_t *bytes);

/* Creates a contiguous float32 array of one dimension. Its elements, which have no values yet, are
 * at *offset in the image, a multiple of 64. `first` becomes an attribute of the array. */
POD_MUST pod_status pod_h5_flat_create(const pod_h5_file *f, const char *name, int64_t count,
                                       int64_t first, size_t *offset);
/* Reads the attribute `first` of an array. */
POD_MUST pod_status pod_h5_flat_first(const pod_h5_array *a, int64_t *first);

typedef struct pod_h5_source { /* a box, filled by the elements from `at` on of an array of `count`
                                  elements in `file` */
    const char *file;
    int64_t at, count;
    int64_t first[POD_H5_MAX_DIMS], extent[POD_H5_MAX_DIMS];
} pod_h5_source;

/* Creates a virtual float32 array: its elements are those of arrays of the same name in other files
 * of the same folder. Elements without a source, or whose file is missing, read as NaN. */
POD_MUST pod_status pod_h5_virtual_create(const pod_h5_file *f, const char *name, int n_dims,
                                          const int64_t dim[], int n, const pod_h5_source source[]);

#endif
