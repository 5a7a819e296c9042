/* HDF5 files in memory: made there, to be written by our own hands. No function here touches the
 * disk.
 *
 * As in h5.h, all stand between pod_h5_lock and pod_h5_unlock. */
#ifndef MINIPOD_RUNTIME_H5_IMAGE_H
#define MINIPOD_RUNTIME_H5_IMAGE_H

#include "runtime/h5/h5.h"

/* `name` is for messages. */
POD_MUST pod_status pod_h5_image_create(const char *name, pod_h5_file *out);
/* The file's bytes into `room`, or with NULL only how many there are. E_NOMEM when they are more
 * than room_bytes. */
POD_MUST pod_status pod_h5_image_take(const pod_h5_file *f, void *room, size_t room_bytes,
                                      size_t *bytes);

/* A float32 array of one dimension in one piece, whose elements stand at *offset of the image, a
 * multiple of 64; they have no value. `first` becomes an attribute of the array. */
POD_MUST pod_status pod_h5_flat_create(const pod_h5_file *f, const char *name, int64_t count,
                                       int64_t first, size_t *offset);
/* The attribute `first` of an array. */
POD_MUST pod_status pod_h5_flat_first(const pod_h5_array *a, int64_t *first);

typedef struct pod_h5_source { /* elements at, at + 1, ... of the `count` in `file` fill a box */
    const char *file;
    int64_t at, count;
    int64_t first[POD_H5_MAX_DIMS], extent[POD_H5_MAX_DIMS];
} pod_h5_source;

/* A float32 array whose elements are those of others, in files beside this one, of the same name.
 * NaN where no source is, or where its file is missing. */
POD_MUST pod_status pod_h5_virtual_create(const pod_h5_file *f, const char *name, int n_dims,
                                          const int64_t dim[], int n, const pod_h5_source source[]);

#endif
