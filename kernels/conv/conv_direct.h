/* Direct convolution in float32 vectors, for CPUs without tiles: no matrix of windows in memory.
 *
 *   strip    some lines of the images as float32, the zeros around them in place:
 *            [image][row][column][C], in the caches of the core
 *   forward  squares of up to 16 windows x 2 vectors of filters, whose sums stay in registers over
 *            the whole window: an element of the strip is broadcast to the filters' vectors
 *   input    the same over dy, a convolution for each pair of remainders (residue.h)
 *   grad
 *   weight   squares of half a vector of filters x 3 vectors of a window's row, whose sums stay in
 *   grad     registers over a block's windows: an element of dy is broadcast
 *
 * Packed filters are panels of two vectors of filters (one where no more are left), as deep as a
 * window: [panel][r][s][c][filter], zeros beyond the last filter. For the input gradient such a
 * layout for each pair of remainders, with the roles of C and K exchanged.
 *
 * conv_direct_simd.inc is compiled for each instruction set; here is what it plans with. */
#ifndef MINIPOD_KERNELS_CONV_CONV_DIRECT_H
#define MINIPOD_KERNELS_CONV_CONV_DIRECT_H

#include "kernels/conv/conv.h"
#include "kernels/conv/panel.h"

/* One sequence of blocks: all of a pass, or a part of it. */
typedef struct pod__direct {
    pod__windows view;
    int64_t n_images, width;       /* filters: K, or C for the input gradient */
    int64_t first_filter;          /* of the weight gradient's part */
    int64_t first_channel, c;      /* channels of the image that are in the strip */
    int64_t run, depth;            /* floats of a window: in a row of the strip; of all channels */
    int64_t images, lines;         /* of a block: whole images, or lines of one */
    int64_t row_gap, column_gap;   /* of a filter of one tap, the strip has what windows hit only */
    int64_t row, image;            /* floats of the strip between rows, images, */
    int64_t line, apart;           /* lines of windows, windows */
    void *out;                     /* every step-th pixel of (N, h, w, width), */
    int64_t h, w, top, left, step; /* from `top`, `left` on */
} pod__direct;

/* Parts of a pass: of the input gradient each pair of remainders; of the weight gradient channels
 * of x by filters; else one. A part of pixels that no window
 * sees has no images: it is 0. */
int64_t pod__direct_parts(const pod_conv_call *call);
pod__direct pod__direct_part(const pod_conv_call *call, int64_t i);

/* Regions of the scratch, in floats from its start; the strip comes first. */
typedef struct pod__direct_room {
    int64_t side;    /* the weight gradient's dy: [filters / lanes][window][lane] */
    int64_t weights; /* packed, where the call's are not */
    int64_t sums;    /* of channels and of squares: doubles */
    int64_t end;
} pod__direct_room;

pod__direct_room pod__direct_room_of(const pod_conv_call *call, int64_t lanes);
/* Where OpenBLAS was measured to be faster. */
const char *pod__direct_why_not(const pod_conv_call *call, int64_t lanes);

int64_t pod__direct_packed_floats(const pod_conv_call *call, int64_t lanes); /* of all parts */
int64_t pod__direct_part_floats(const pod__direct *d, int64_t lanes);        /* of one */

#endif
