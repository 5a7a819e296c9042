/* Direct convolution in vectors, for CPUs without tiles, without a matrix of windows in memory. It
 * multiplies elements of 32 bits: one float32 or, under AVX512_BF16, two bfloat16, whose two
 * products one instruction adds to a float32 sum.
 *
 *   strip    some lines of the images with the zeros around them, [image][row][column][C], in the
 *            caches of the core. There is none if pixels are short and can be read from the image
 *            itself; for 1x1 windows, up to 1,024 bfloat16. For these the next pixels are
 *            prefetched while windows are multiplied
 *   forward  squares of up to 16 windows x 2 vectors of filters, whose sums stay in registers over
 *            the whole window: an element of the strip is broadcast to the filters' vectors. The
 *            parts of windows outside the image are skipped: rows always, columns if only the first
 *            and the last window of a line have them
 *   input    the same over dy, a convolution for each pair of remainders (residue.h)
 *   grad
 *   weight   squares of half a vector of filters x 3 vectors of a window's row, whose sums stay in
 *   grad     registers over the windows of a block: an element of dy is broadcast. If the row is
 *            one vector, or would leave large parts of its vectors empty, elements of the row are
 *            broadcast to up to 2 vectors of filters instead. Rows outside the image are skipped
 *
 * The two bfloat16 of an element are adjacent in a row of the window, as in the image and the
 * strip. If their number is odd, the last one has no second:
 *
 *   C = 3, S = 3   | 0 1 | 2 0 | 1 2 | 0 1 | 2     (channels; where an element begins does not
 *                                                   matter)
 *
 * For the weight gradient the two are the same pixel of two images, or of two lines of one image if
 * that leaves fewer without a second; they are adjacent in the strip and in the copy of dy.
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

/* A sequence of blocks: a whole pass, or a part of one. Positions in the strip are counted in
 * places: numbers, or elements if an element combines two images or lines. */
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
    int64_t row_gap, column_gap;   /* with one tap: the strip has only the rows and columns that
                                      windows read */
    int64_t row, image;            /* places of the strip between rows, images, */
    int64_t line, apart;           /* lines of windows, windows */
    bool in_place;                 /* there is no strip: these are places of the image */
    int64_t head, tail;            /* places skipped in each row of the first and of the last window
                                      of a line */
    void *out;                     /* every step-th pixel of (N, h, w, width), */
    int64_t h, w, top, left, step; /* from `top`, `left` on */
    /* For the weight gradient: images and lines of windows, and the distance to the second number
     * of an element, in images or in lines; 0 and 0: it has none. */
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
/* Returns why not to use it, where another kernel was measured to be faster; else NULL. */
const char *pod__direct_why_not(const pod_conv_call *call, pod__direct_isa isa);

/* Return the elements of packed filters: of all parts, and of one part. */
int64_t pod__direct_packed(const pod_conv_call *call, pod__direct_isa isa);
int64_t pod__direct_part_packed(const pod__direct *d, pod__direct_isa isa);

#endif
