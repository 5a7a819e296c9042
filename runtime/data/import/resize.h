/* Resizes a box of an image as Pillow's BILINEAR does: each pixel of the result is a mean, weighted
 * by a triangle around its position that extends one pixel of the coarser grid to each side.
 * Enlarging, that is bilinear interpolation; reducing, every pixel of the box counts. Sums are
 * float32 in a fixed order and rounded to nearest; an image of one colour keeps it. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_RESIZE_H
#define MINIPOD_RUNTIME_DATA_IMPORT_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pod_box {
    int64_t y, x, height, width;
} pod_box;

/* Returns the largest box of shape height : width in the middle of an image. */
pod_box pod_box_centre(int64_t image_height, int64_t image_width, int64_t height, int64_t width);

typedef struct pod_resize_args {
    const uint8_t *in; /* (., in_width, channels) */
    int64_t in_width, channels;
    pod_box box;  /* within the image; pixels outside the box are not used */
    uint8_t *out; /* (out_height, out_width, channels) */
    int64_t out_height, out_width;
    bool mirror; /* left to right */
    void *scratch;
} pod_resize_args;

void pod_resize(const pod_resize_args *args);

/* Returns the bytes of scratch, aligned to 8, for boxes up to this size. */
size_t pod_resize_scratch_bytes(int64_t box_height, int64_t box_width, int64_t out_height,
                                int64_t out_width, int64_t channels);

#endif
