/* What the files conv_amx_dw_lines*.c share. A strip is all lines of g images, g even; the pixels
 * of a line of a strip follow each other with the images innermost:
 *
 *   column 0 of image 0, 1, ..., g - 1, column 1 of image 0, 1, ...
 *
 * A tile has 32 of them. So a pair (kernels/base/simd/tile_amx.h) is one column of two images, the tap
 * one column further on sees the pairs g / 2 rows further on, and x is paired once for all taps.
 *
 *   transposed   (m tiles, strips, tiles of a line, lines of dy, 16 channels, 32 pixels)   the A tiles
 *   paired   (t tiles, strips, lines of x, rows, 16 channels, 2 images)                the B tiles
 *
 * Line v of `paired` has the lines v stride + i of x, i < stride, and of each the columns of each
 * remainder by the stride: segments. Columns outside the image are rows of zeros.
 *
 * With less than 16 channels a window's line (s, c) is joined to one run: then a column of `paired`
 * is a window's, and the only tap is the first. */
#ifndef MINIPOD_KERNELS_CONV_AMX_DW_LINES_H
#define MINIPOD_KERNELS_CONV_AMX_DW_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/conv/conv.h"

enum {
    POD__DW_TAPS = 3,        /* a side of the window */
    POD__DW_STRIDE = 2,      /* at most */
    POD__DW_ROW = 32,        /* elements: 16 channels of a pair */
    POD__DW_LINE_TILE = 512, /* elements of a tile */
    POD__DW_SEGMENTS = POD__DW_STRIDE * POD__DW_STRIDE
};

typedef struct pod__dw_segment {
    int64_t line;                    /* of x, from v stride on */
    int64_t column, step, n_columns; /* of x, or of windows in what is staged of it */
    int64_t row;                     /* of `paired`, where the first column begins */
} pod__dw_segment;

/* How the whole call is packed. */
typedef struct pod__dw_grid {
    const pod_conv_call *call;
    bool joined;
    int64_t g, n_strips, n_tiles; /* images of a strip; strips; tiles of a line */
    int64_t n_lines;              /* v */
    int64_t dy_line, halo;        /* line v meets the lines v + dy_line, ..., + halo of dy */
    int n_segments;
    pod__dw_segment segment[POD__DW_SEGMENTS];
    int64_t line; /* elements of a paired line */
    /* Rows of a line where tap s begins, for taps r of even and of odd lines of x. */
    int64_t tap[POD__DW_STRIDE][POD__DW_TAPS];
    int64_t run;           /* columns of the sums that belong together: C, or S C joined */
    int64_t staged_pixels; /* joined: of a line with its border */
} pod__dw_grid;

/* Some lines of some strips: n_m tiles of channels of dy from m on, n_t of columns from t on. */
typedef struct pod__dw_part {
    int64_t strip, n_strips, line, n_lines;
    int64_t m, n_m, t, n_t;
} pod__dw_part;

/* 32 pixels of one line of dy, and how far it is from each to the next line's. */
typedef struct pod__dw_pixels {
    const pod_bf16 *at[32];
    int64_t step[32];
    int64_t quarter; /* from pixel i < 8 to 8 + i, to 16 + i and to 24 + i; 0: they lie elsewhere */
} pod__dw_pixels;

/* A part that is being packed, piece by piece, while the part before it is multiplied. A piece is a
 * tile of dy, or a segment of two images' lines and of one tile of columns. */
typedef struct pod__dw_laying {
    const pod__dw_grid *grid;
    pod__dw_part part;
    pod_bf16 *transposed, *paired, *staged;
    const pod_bf16 *zeros; /* one pixel of dy */
    int64_t n_turns, n_pairs;
    int64_t run, a, i_m; /* of `transposed`: the next piece */
    pod__dw_pixels pixels;
    int64_t strip, v, segment, image, i_t; /* of `paired` */
    int64_t n_pieces, n_chances, credit;   /* pieces come evenly with so many lines of products */
} pod__dw_laying;

/* Elements of what a part takes. */
int64_t pod__dw_transposed_count(const pod__dw_grid *grid, const pod__dw_part *part);
int64_t pod__dw_paired_count(const pod__dw_grid *grid, const pod__dw_part *part);

/* The rows of n_lines lines that stand for no column. */
void pod__dw_pack_borders(const pod__dw_grid *grid, int64_t n_lines, pod_bf16 *paired);
/* Sets what follows from grid and part; without `turns` the part is paired only. */
void pod__dw_pack_begin(pod__dw_laying *l, bool turns, int64_t n_chances);
void pod__dw_pack_pieces(pod__dw_laying *l, int64_t n); /* or those that are left */

static inline int64_t pod__dw_pieces_left(const pod__dw_laying *l)
{
    return l->n_turns + l->n_pairs;
}

/* sums (16, ld) of the three taps r of one s = or += one tile of `transposed` with one of `paired`, for
 * all lines of a part. Packs pieces of the next part meanwhile. */
typedef struct pod__dw_pass {
    const pod__dw_grid *grid;
    const pod__dw_part *part;
    const pod_bf16 *transposed, *paired;
    int64_t s;
    float *sums[POD__DW_TAPS];
    int64_t ld;
    bool adds;
    pod__dw_laying *next;
} pod__dw_pass;

void pod__dw_multiply_lines(const pod__dw_pass *pass);

#endif
