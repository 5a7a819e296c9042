/* Shared by the files amx_dw/lines*.c. A strip is all lines of g images, g even; in a line of a
 * strip the images are innermost:
 *
 *   column 0 of image 0, 1, ..., g - 1, column 1 of image 0, 1, ...
 *
 * A tile has 32 of these pixels. So a VNNI pair (kernels/base/simd/tile_amx.h) is one column of two
 * images, the next tap of a filter's row reads the pairs g / 2 rows further on, and x is paired
 * once for all taps.
 *
 *   transposed  (m tiles, strips, tiles of a line, lines of dy, 16 channels, 32 pixels)   A tiles
 *   paired      (t tiles, strips, lines of x, rows, 16 channels, 2 images)                B tiles
 *
 * Line v of `paired` has the lines v stride + i of x, i < stride. Each of these has one segment for
 * each remainder of its columns modulo the stride. Columns outside the image are rows of zeros.
 *
 * With fewer than 16 channels, all values (s, c) of a line of a window are joined. A column of
 * `paired` is then such a line of one window, and there is only the tap s = 0. */
#ifndef MINIPOD_KERNELS_CONV_AMX_DW_LINES_H
#define MINIPOD_KERNELS_CONV_AMX_DW_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/conv/conv.h"

enum {
    POD__DW_TAPS = 3,        /* per side of the window */
    POD__DW_STRIDE = 2,      /* at most */
    POD__DW_ROW = 32,        /* elements: 16 channels of a pair */
    POD__DW_LINE_TILE = 512, /* elements of a tile */
    POD__DW_SEGMENTS = POD__DW_STRIDE * POD__DW_STRIDE
};

typedef struct pod__dw_segment {
    int64_t line;                    /* of x, from v stride on */
    int64_t column, step, n_columns; /* of x, or of windows in the staged line */
    int64_t row;                     /* of `paired`, for the first column */
} pod__dw_segment;

/* How the whole call is packed. */
typedef struct pod__dw_grid {
    const pod_conv_call *call;
    bool joined;
    int64_t g, n_strips, n_tiles; /* images of a strip; strips; tiles of a line */
    int64_t n_lines;              /* v */
    int64_t dy_line, halo;        /* line v is multiplied with the lines v + dy_line to v + dy_line
                                     + halo of dy */
    int n_segments;
    pod__dw_segment segment[POD__DW_SEGMENTS];
    int64_t line; /* elements of a paired line */
    /* The row of a line where tap s begins, for taps r in even and in odd lines of x. */
    int64_t tap[POD__DW_STRIDE][POD__DW_TAPS];
    int64_t run;           /* consecutive columns of the sums: C, or S C if joined */
    int64_t staged_pixels; /* if joined: of a line with its border */
} pod__dw_grid;

/* A part of a call: some lines of some strips, for the n_m tiles of channels of dy from tile m on
 * and the n_t tiles of columns from tile t on. */
typedef struct pod__dw_part {
    int64_t strip, n_strips, line, n_lines;
    int64_t m, n_m, t, n_t;
} pod__dw_part;

/* 32 pixels of one line of dy, and the distance of each to its pixel in the next line. */
typedef struct pod__dw_pixels {
    const pod_bf16 *at[32];
    int64_t step[32];
    int64_t quarter; /* distance from pixel i < 8 to 8 + i, to 16 + i and to 24 + i; 0: not
                        constant */
} pod__dw_pixels;

/* A part that is packed, piece by piece, while the previous part is multiplied. A piece is a tile
 * of dy, or a segment of the lines of two images in one tile of columns. */
typedef struct pod__dw_laying {
    const pod__dw_grid *grid;
    pod__dw_part part;
    pod_bf16 *transposed, *paired, *staged;
    const pod_bf16 *zeros; /* one pixel of dy */
    int64_t n_turns, n_pairs;
    int64_t run, a, i_m; /* the next piece of `transposed` */
    pod__dw_pixels pixels;
    int64_t strip, v, segment, image, i_t; /* the next piece of `paired` */
    int64_t n_pieces, n_chances, credit;   /* for packing the pieces evenly over n_chances
                                              lines of products */
} pod__dw_laying;

/* Return the elements that a part needs. */
int64_t pod__dw_transposed_count(const pod__dw_grid *grid, const pod__dw_part *part);
int64_t pod__dw_paired_count(const pod__dw_grid *grid, const pod__dw_part *part);

/* Zeroes those rows of n_lines paired lines that belong to no column of the image. */
void pod__dw_pack_borders(const pod__dw_grid *grid, int64_t n_lines, pod_bf16 *paired);
/* Begins to pack l->part. Without `turns` only `paired` is packed. */
void pod__dw_pack_begin(pod__dw_laying *l, bool turns, int64_t n_chances);
void pod__dw_pack_pieces(pod__dw_laying *l, int64_t n); /* packs n pieces, or all that remain */

static inline int64_t pod__dw_pieces_left(const pod__dw_laying *l)
{
    return l->n_turns + l->n_pairs;
}

/* Sets sums (16, ld), or adds to them, for the three taps r of one s: one tile of `transposed`
 * times one of `paired`, over all lines of a part. Packs pieces of the next part meanwhile. */
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
