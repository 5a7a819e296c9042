/* Direct convolution with vector instructions, for CPUs without AMX tiles; there is no im2col
 * matrix. It multiplies elements of 32 bits: one float32 or, with AVX512_BF16, two bfloat16, whose
 * two products one instruction adds to a float32 sum.
 *
 *   strip    some lines of the images with the zeros around them, [image][row][column][C], in the
 *            caches of the core. There is no strip if pixels are short enough to be read from the
 *            image itself. For 1x1 windows, the next pixels are prefetched while windows are
 *            multiplied
 *   forward  squares of several windows x 1 or 2 vectors of filters, whose sums stay in registers
 *            over the whole window. An element of a window is broadcast and multiplied by the
 *            vectors of filters. Rows of a window outside the image are skipped, and columns too if
 *            only the first and the last window of a line have such columns
 *   input    the same over dy, with one convolution for each pair of remainders (residue.h)
 *   grad
 *   weight   squares of half a vector of filters x 3 vectors of a window's row, whose sums stay in
 *   grad     registers over the windows of a block. An element of dy is broadcast. If the row is
 *            one vector, or would leave its vectors largely empty, elements of the row are
 *            broadcast to up to 2 vectors of filters instead. Rows outside the image are skipped
 *
 * The two bfloat16 of an element are adjacent in a row of the window, as in the image and the
 * strip. If a row has an odd number of them, its last element has one number:
 *
 *   C = 3, S = 3   | 0 1 | 2 0 | 1 2 | 0 1 | 2     (channels; an element may begin at any
 *                                                   channel)
 *
 * In the weight gradient the two numbers of an element are of the same column in two images, or in
 * two lines of one image if then fewer elements have one number only. They are adjacent in the
 * strip and in the copy of dy.
 *
 * Packed filters are panels of two vectors of filters (one for the last filters) over a whole
 * window: [panel][r][element of (s, c)][filter], with zeros beyond the last filter. The input
 * gradient has such panels for each pair of remainders, with C and K exchanged.
 *
 * conv_direct_simd.c is compiled for each instruction set; this header declares its plan. */
#ifndef MINIPOD_KERNELS_CONV_CONV_DIRECT_H
#define MINIPOD_KERNELS_CONV_CONV_DIRECT_H

#include <stdbool.h>

#include "kernels/conv/conv.h"
#include "kernels/conv/panel.h"

/* Units of an instruction set. */
typedef struct pod__direct_isa {
    int64_t lanes;   /* elements of a vector */
    int64_t numbers; /* float32 or bfloat16 in an element */
} pod__direct_isa;

/* The plan of a pass, or of one of its parts (pod__direct_parts); a call computes its parts one
 * after another. A part is computed in blocks: a block is some whole images, or some lines of one
 * image. Offsets in the strip are counted in places. A place is one number (float32 or bfloat16);
 * in the weight gradient it is one element, which may hold the numbers of two images or lines. */
typedef struct pod__direct {
    pod__windows view;
    int64_t n_images, width;       /* filters: K, or C for the input gradient */
    int64_t first_filter;          /* of the weight gradient's part */
    int64_t first_channel, c;      /* channels of the image that are in the strip */
    int64_t per;                   /* places of an element */
    int64_t pixel;                 /* places between pixels of the strip */
    int64_t run;                   /* places of a window in a row of the strip */
    int64_t depth;                 /* elements of a window, of all channels */
    int64_t images, lines;         /* of a block: whole images, or lines of one image */
    int64_t row_gap, column_gap;   /* in the image, between rows or columns of the strip: the stride
                                      in a direction with one tap, else 1 */
    int64_t row, image;            /* places of the strip between rows, images, */
    int64_t line, apart;           /* lines of windows, windows */
    bool in_place;                 /* there is no strip: these are places of the image */
    int64_t head, tail;            /* places skipped in each row of the first and of the last window
                                      of a line */
    void *out;                     /* every step-th pixel of (N, h, w, width), */
    int64_t h, w, top, left, step; /* from `top`, `left` on */
    /* For the weight gradient: the number of images and of lines of windows, and the distance from
     * the first to the second number of an element, in images or in lines; both 0: one number. */
    int64_t all_images, all_lines, pair_images, pair_lines;
} pod__direct;

/* Returns the number of parts of a pass: of the input gradient, one for each pair of remainders; of
 * the weight gradient, blocks of channels of x by blocks of filters; else 1. A part whose pixels
 * are in no window has n_images 0; its gradient is 0. */
int64_t pod__direct_parts(const pod_conv_call *call, pod__direct_isa isa);
pod__direct pod__direct_part(const pod_conv_call *call, int64_t i, pod__direct_isa isa);

/* Regions of the scratch, in elements from its start; the strip comes first. */
typedef struct pod__direct_room {
    int64_t side;    /* weight gradient: packed dy, [filters / lanes][window][lane] */
    int64_t weights; /* packed filters, unless the call has them */
    int64_t sums;    /* sums and sums of squares, double */
    int64_t end;
} pod__direct_room;

pod__direct_room pod__direct_room_of(const pod_conv_call *call, pod__direct_isa isa);
/* Returns why a call should not use this kernel, because another one was measured to be faster;
 * else NULL. */
const char *pod__direct_why_not(const pod_conv_call *call, pod__direct_isa isa);

/* Return the elements of packed filters: of all parts, and of one part. */
int64_t pod__direct_packed(const pod_conv_call *call, pod__direct_isa isa);
int64_t pod__direct_part_packed(const pod__direct *d, pod__direct_isa isa);

#endif
