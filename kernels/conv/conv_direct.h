/* Direct convolution in vectors, for CPUs without tiles: no matrix of windows in memory. What is
 * multiplied are elements of 32 bits: one float32 each, or under AVX512_BF16 two bfloat16, whose
 * two products one instruction adds to a float32 sum.
 *
 *   strip    some lines of the images, the zeros around them in place: [image][row][column][C], in
 *            the caches of the core; there is none where images of short pixels can be read as they
 *            stand, which under 1x1 windows means up to 1,024 bfloat16. Under these what comes next
 *            is fetched while windows are multiplied
 *   forward  squares of up to 16 windows x 2 vectors of filters, whose sums stay in registers over
 *            the whole window: an element of the strip is broadcast to the filters' vectors. What
 *            windows lack beyond the image is left out: rows always, columns where first and last
 *            windows alone lack them
 *   input    the same over dy, a convolution for each pair of remainders (residue.h)
 *   grad
 *   weight   squares of half a vector of filters x 3 vectors of a window's row, whose sums stay in
 *   grad     registers over a block's windows: an element of dy is broadcast. Where the row is one
 *            vector, or would leave much of its vectors empty, some elements of it are broadcast to
 *            up to 2 vectors of filters. Rows outside the image are left out
 *
 * Two bfloat16 of an element follow each other in a row of the window, where the strip has them as
 * the image does. The last one of an odd number has no second:
 *
 *   C = 3, S = 3   | 0 1 | 2 0 | 1 2 | 0 1 | 2     (channels; where an element begins does not
 *                                                   matter)
 *
 * For the weight gradient they are the same pixel of two images, or of two lines of one where that
 * leaves fewer without a second, and lie side by side in the strip and in dy's copy.
 *
 * Packed filters are panels of two vectors of filters (one where no more are left), as deep as a
 * window: [panel][r][element of (s, c)][filter], zeros beyond the last filter. For the input
 * gradient such a layout for each pair of remainders, with the roles of C and K exchanged.
 *
 * conv_direct_simd.c is compiled for each instruction set; here is what it plans with. */
#ifndef MINIPOD_KERNELS_CONV_CONV_DIRECT_H
#define MINIPOD_KERNELS_CONV_CONV_DIRECT_H

#include <stdbool.h>

#include "kernels/conv/conv.h"
#include "kernels/conv/panel.h"

/* What an instruction set multiplies. */
typedef struct pod__direct_isa {
    int64_t lanes;   /* elements of a vector */
    int64_t numbers; /* of an element */
} pod__direct_isa;

/* One sequence of blocks: all of a pass, or a part of it. The strip is counted in places: numbers,
 * or elements where these are made of two images or lines. */
typedef struct pod__direct {
    pod__windows view;
    int64_t n_images, width;       /* filters: K, or C for the input gradient */
    int64_t first_filter;          /* of the weight gradient's part */
    int64_t first_channel, c;      /* channels of the image that are in the strip */
    int64_t per;                   /* places that one element takes */
    int64_t pixel;                 /* places between pixels of the strip */
    int64_t run;                   /* places of a window in a row of the strip */
    int64_t depth;                 /* elements of a window, of all channels */
    int64_t images, lines;         /* of a block: whole images, or lines of one */
    int64_t row_gap, column_gap;   /* of a filter of one tap, the strip has what windows hit only */
    int64_t row, image;            /* places of the strip between rows, images, */
    int64_t line, apart;           /* lines of windows, windows */
    bool in_place;                 /* the same of the image, for there is no strip */
    int64_t head, tail;            /* places left out of each row of a line's first window, last */
    void *out;                     /* every step-th pixel of (N, h, w, width), */
    int64_t h, w, top, left, step; /* from `top`, `left` on */
    /* The weight gradient's images and lines of windows, and how far on an element's second number
     * is: in another image, or in another line, or there is none. */
    int64_t all_images, all_lines, pair_images, pair_lines;
} pod__direct;

/* Parts of a pass: of the input gradient each pair of remainders; of the weight gradient channels
 * of x by filters; else one. A part of pixels that no window
 * sees has no images: it is 0. */
int64_t pod__direct_parts(const pod_conv_call *call, pod__direct_isa isa);
pod__direct pod__direct_part(const pod_conv_call *call, int64_t i, pod__direct_isa isa);

/* Regions of the scratch, in elements from its start; the strip comes first. */
typedef struct pod__direct_room {
    int64_t side;    /* the weight gradient's dy: [filters / lanes][window][lane] */
    int64_t weights; /* packed, where the call's are not */
    int64_t sums;    /* of channels and of squares: doubles */
    int64_t end;
} pod__direct_room;

pod__direct_room pod__direct_room_of(const pod_conv_call *call, pod__direct_isa isa);
/* Where another kernel was measured to be faster. */
const char *pod__direct_why_not(const pod_conv_call *call, pod__direct_isa isa);

/* Elements of packed filters: of all parts, and of one. */
int64_t pod__direct_packed(const pod_conv_call *call, pod__direct_isa isa);
int64_t pod__direct_part_packed(const pod__direct *d, pod__direct_isa isa);

#endif
