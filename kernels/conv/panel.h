/* Copies windows of images to the rows of a matrix, a panel of some rows at a time (im2col).
 *
 *   image  (N, H, W, C), float32 or bfloat16
 *   row (n, p, q) of the matrix: the (R, S, C) values of window (p, q) of image n, float32
 *
 * Windows are in the order n, p, q; a line is the Q windows of one (n, p). Window (p, q) begins at
 * pixel (top + p step, left + q step), which may be outside the image, where values are 0. */
#ifndef MINIPOD_KERNELS_CONV_PANEL_H
#define MINIPOD_KERNELS_CONV_PANEL_H

#include "kernels/conv/residue.h"

typedef struct pod__windows {
    const void *image;
    pod_dtype dtype;
    int64_t h, w, c;
    int64_t p, q, r, s;
    int64_t step, top, left;
} pod__windows;

/* Return the windows of x for y, and the windows of dy for the pixels of dx with one pair of
 * remainders; r, s, p or q is 0 if there are no such taps or pixels. */
pod__windows pod__windows_of_x(const pod_conv_call *call);
pod__windows pod__windows_of_dy(const pod_conv_call *call, pod__residue rows, pod__residue columns);

/* Returns the floats of scratch for panels of up to n_lines lines. */
int64_t pod__strip_floats(const pod__windows *v, int64_t n_lines);

/* Copies lines line .. line + n_lines - 1 to panel (n_lines Q, R S C). `strip` is scratch. */
void pod__panel_build(const pod__windows *v, int64_t line, int64_t n_lines, float *strip,
                      float *panel);

#endif
