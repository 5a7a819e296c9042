/* What the files conv_amx_dw_lines*.c share. A strip is a piece of the width of all lines of an
 * image, or the whole width of several narrow images; each of its lines is one tile of pixels
 * (kernels/base/tile_amx.h). Row j g + i of a tile has the pixels 2 j and 2 j + 1 of image i, of g
 * images: so the pairs two columns further on begin g rows further on, whatever g is.
 *
 *   turned   (m tiles, strips, lines of dy, 16 channels, 32 pixels)     the A tiles
 *   paired   (n tiles, strips, lines of x, rows, 16 channels, 2)        the B tiles
 *
 * A line of x has 16 + g rows with the pairs of even columns, seen at tap s = 0 and s = 2, and 16
 * with those of odd ones, seen at s = 1. */
#ifndef MINIPOD_KERNELS_CONV_CONV_AMX_DW_LINES_H
#define MINIPOD_KERNELS_CONV_CONV_AMX_DW_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/bf16.h"

enum {
    POD__DW_PAIRS = 16,     /* of a tile */
    POD__DW_ROW = 32,       /* elements: 16 channels of a pair */
    POD__DW_LINE_TILE = 512 /* elements */
};

/* The pixels of a line in the order of a tile, and how far it is from each to the next line's. */
typedef struct pod__dw_pixels {
    const pod_bf16 *at[32];
    int64_t step[32];
    int64_t pitch; /* of pixels that lie one behind another; 0: they need not */
} pod__dw_pixels;

/* n_lines of dy to m tiles of channels each: tile m begins at turned + m plane. Reads whole tiles of
 * channels. Moves on to the line behind. */
void pod__dw_turn_lines(pod__dw_pixels *pixels, int64_t n_lines, int64_t m_tiles, int64_t plane,
                        pod_bf16 *turned);

/* The pairs of one line of one image: 2 n_pairs + 2 columns of it from `column` on. With a pitch of
 * 16 those outside [0, w) are zeros, else all are inside. Writes every g-th row of each of n_tiles
 * tiles, `plane` apart. */
typedef struct pod__dw_pairs {
    const pod_bf16 *x; /* of column 0, whole tiles of channels */
    int64_t pitch;     /* from column to column */
    int64_t column, w;
    int64_t n_pairs, n_tiles, g, plane;
} pod__dw_pairs;

void pod__dw_pair_line(const pod__dw_pairs *pairs, pod_bf16 *paired);

/* One tile of each: sums[r] = or += line a of turned * line a - r' of paired, over all strips, where
 * r' = 0, 1, 2 for r = 2, 1, 0. A strip has n_lines of paired and n_lines + 2 of turned. */
typedef struct pod__dw_strips {
    const pod_bf16 *turned, *paired;
    int64_t n_strips, n_lines;
    int64_t line; /* elements of a line of paired */
    float *sums[3];
    int64_t ld;
    bool adds;
} pod__dw_strips;

void pod__dw_multiply_strips(const pod__dw_strips *strips);

#endif
