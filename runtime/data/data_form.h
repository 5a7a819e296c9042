/* Recognizes a file by its first bytes, and explains why a path that was given as a data set is
 * none: a data set is an HDF5 file, and users pass archives, numpy arrays, or the input of `data
 * import`. Private to this folder. */
#ifndef MINIPOD_RUNTIME_DATA_DATA_FORM_H
#define MINIPOD_RUNTIME_DATA_DATA_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/status.h"

typedef enum pod_image_kind {
    POD_IMAGE_NONE,
    POD_IMAGE_JPEG,
    POD_IMAGE_PNG,
    POD_IMAGE_OTHER /* an image format that minipod cannot read */
} pod_image_kind;

typedef struct pod_data_form {
    const char *what; /* "IDX" */
    const char *todo; /* how to make a data set of it; NULL: it is HDF5 */
    pod_image_kind image;
    bool is_text;
} pod_data_form;

/* Returns the form of a file from its first bytes (of a gzip file, the unpacked ones), its name and
 * its size; NULL if none is known. Pure. */
const pod_data_form *pod__data_form_of(const uint8_t *head, size_t head_bytes, const char *name,
                                       int64_t file_bytes);

/* Returns OK if `path` is a file that begins like an HDF5 file. Otherwise the error text says what
 * it is and what to do: E_IO if it is missing (with the nearest existing name), unreadable or not a
 * regular file; else E_FORMAT. */
POD_MUST pod_status pod__data_form_check(const char *path);

/* Returns whether `path` is a folder in which a search finds an image before any other known
 * form. */
bool pod__data_form_is_images(const char *path);

#endif
