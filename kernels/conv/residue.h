/* The input gradient as a gather. Pixel h receives contributions from every stride-th tap: the taps
 * r for which (h + pad - r) is divisible by the stride. The pixels with the same remainder
 * a = (h + pad) mod stride use the same taps a, a + stride, ...: their gradient is a convolution of
 * stride 1 over dy with those taps in reverse order. The input gradient is one such convolution for
 * each pair of remainders of row and column (a single one for stride 1). It writes each pixel once,
 * and multiplies no zeros between pixels of dy. */
#ifndef MINIPOD_KERNELS_CONV_RESIDUE_H
#define MINIPOD_KERNELS_CONV_RESIDUE_H

#include "kernels/conv/conv.h"

/* The pixels with one remainder, in one direction. */
typedef struct pod__residue {
    int64_t tap, n_taps;     /* first tap; then every stride-th */
    int64_t pixel, n_pixels; /* first pixel; then every stride-th */
    int64_t first;           /* row of dy that the last tap of the first pixel reads */
} pod__residue;

static inline pod__residue pod__residue_of(int64_t a, int64_t n_taps, int64_t n_pixels, int64_t pad,
                                           int64_t stride)
{
    pod__residue z = {.tap = a, .n_taps = a < n_taps ? (n_taps - a - 1) / stride + 1 : 0};
    const int64_t i = pad > a ? (pad - a - 1) / stride + 1 : 0; /* h + pad = stride i + a, h >= 0 */
    z.pixel = stride * i + a - pad;
    z.n_pixels = z.pixel < n_pixels ? (n_pixels - z.pixel - 1) / stride + 1 : 0;
    z.first = i - (z.n_taps - 1);
    return z;
}

static inline pod__residue pod__residue_rows(const pod_conv_shape *s, int64_t a)
{
    return pod__residue_of(a, s->r, s->h, s->pad_h, s->stride);
}

static inline pod__residue pod__residue_columns(const pod_conv_shape *s, int64_t b)
{
    return pod__residue_of(b, s->s, s->w, s->pad_w, s->stride);
}

#endif
