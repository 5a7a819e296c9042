/* What a file is by its first bytes; and what a path that was given as a data set is when it is none:
 * an HDF5 file is wanted, and people have archives, arrays of numpy, or what `data import` reads. For
 * this folder only. */
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
    POD_IMAGE_OTHER /* which is not read here */
} pod_image_kind;

typedef struct pod_data_form {
    const char *what; /* "IDX" */
    const char *todo; /* what makes a data set of it; NULL: it is HDF5 */
    pod_image_kind image;
    bool is_text;
} pod_data_form;

/* The form of a file by its first bytes, unpacked where it is gzip, its name, and how many bytes
 * it has; NULL where none is known. Pure. */
const pod_data_form *pod__data_form_of(const uint8_t *head, size_t head_bytes, const char *name,
                                       int64_t file_bytes);

/* OK where `path` is a file that begins as HDF5 files do. Else one line says what it is and what to
 * do: E_IO where it is missing, with the nearest name that is there, or no regular file; else
 * E_FORMAT. */
POD_MUST pod_status pod__data_form_check(const char *path);

/* Whether it is a folder in which images are what is found first. */
bool pod__data_form_is_images(const char *path);

#endif
