/* A part of an image, brought to another size: each pixel of the result is a mean of those under a
 * triangle around its place, which reaches as far as one pixel of the larger of the two grids.
 * Enlarging, that is bilinear interpolation; reducing, no pixel of the part is left out (what
 * Pillow calls BILINEAR). Sums are taken in float32 in a fixed order and rounded to nearest; an
 * image of one colour stays so. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_RESIZE_H
#define MINIPOD_RUNTIME_DATA_IMPORT_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pod_box {
    int64_t y, x, height, width;
} pod_box;

/* The largest box of the shape height : width in the middle of an image. */
pod_box pod_box_centre(int64_t image_height, int64_t image_width, int64_t height, int64_t width);

typedef struct pod_resize_args {
    const uint8_t *in; /* (., in_width, channels) */
    int64_t in_width, channels;
    pod_box box;  /* within the image; what lies outside of it does not matter */
    uint8_t *out; /* (out_height, out_width, channels) */
    int64_t out_height, out_width;
    bool mirror; /* left to right */
    void *scratch;
} pod_resize_args;

void pod_resize(const pod_resize_args *args);

/* Of memory aligned to 8, for boxes up to this size. */
size_t pod_resize_scratch_bytes(int64_t box_height, int64_t box_width, int64_t out_height,
                                int64_t out_width, int64_t channels);

#endif
