/* What the files conv_amx_dw*.c share. Products of tiles (kernels/base/simd/tile_amx.h) whose long side
 * is pixels need one operand transposed and the other paired:
 *
 *   transposed   (m tiles, pixel blocks, 16 channels, 32 pixels)           the A tiles
 *   paired   (n tiles, pixel pairs, 16 columns, 2 pixels of a pair)    the B tiles
 *
 * Both are packed for one block of the batch at a time, in the scratch. */
#ifndef MINIPOD_KERNELS_CONV_AMX_DW_DW_H
#define MINIPOD_KERNELS_CONV_AMX_DW_DW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/bf16.h"

enum {
    POD__DW_TILE = 16,   /* channels or columns of a tile */
    POD__DW_PIXELS = 32, /* pixels of a tile */
    POD__DW_TILE_BYTES =
        1024,              /* as packed; the tiles of consecutive pixels lie one behind another */
    POD__DW_MAX_TILES = 32 /* of columns that one panel gives to the products */
};

/* Pixels in rows of memory: n_images runs of `pixels` each, `image_pitch` apart, and as many pixels
 * of zeros as `gap` says between two of them. */
typedef struct pod__dw_rows {
    const pod_bf16 *at;
    int64_t n_images, pixels, gap;
    int64_t pitch; /* elements from pixel to pixel; of images too, they lie close */
    int64_t n_channels;
} pod__dw_rows;

/* Packs rows as `transposed`. The grid ends with zeros up to whole tiles of channels and of pixels.
 * edge: room for 32 pixels of all channels, filled up to whole tiles. */
void pod__dw_transpose(const pod__dw_rows *rows, pod_bf16 *edge, pod_bf16 *transposed);

/* Pixels in lines: line l of image i begins at at + i image_pitch + l line_pitch. */
typedef struct pod__dw_lines {
    const pod_bf16 *at;
    int64_t n_images, image_pitch;
    int64_t n_lines, line_pitch;
    int64_t n_pixels, pixel_pitch; /* of a line */
} pod__dw_lines;

/* Packs n_tiles tiles of columns, `plane` pixels each, the last of them zeros. Reads whole tiles of
 * columns, whatever of them counts. */
void pod__dw_pair(const pod__dw_lines *lines, int n_tiles, int64_t plane, pod_bf16 *paired);

/* One line of an image with what lies beside it: n_pixels from column `first` on, every step-th,
 * where pixels outside [0, w) are 0. Channels n_channels of those that begin at x; where scale is
 * given, x scale + shift, and with `relu` its positive part. */
typedef struct pod__dw_line {
    const pod_bf16 *x; /* of column 0; NULL: a line outside the image */
    int64_t w, c;
    int64_t first, step, n_pixels;
    int64_t n_channels;
    const float *scale, *shift;
    bool relu;
} pod__dw_line;

void pod__dw_stage(const pod__dw_line *line, int64_t pitch, pod_bf16 *out);

/* sums (m_tiles 16, ld) = or += transposed * paired, over n_steps tiles of pixels. */
typedef struct pod__dw_product {
    const pod_bf16 *transposed;
    int64_t m_tiles, m_plane; /* elements from one tile of channels to the next */
    const pod_bf16 *paired[POD__DW_MAX_TILES];
    int64_t column[POD__DW_MAX_TILES]; /* of sums */
    int64_t n_tiles, n_steps;
    float *sums;
    int64_t ld;
    bool adds;
} pod__dw_product;

void pod__dw_begin(void); /* takes the tile registers, and gives them back */
void pod__dw_end(void);
void pod__dw_multiply(const pod__dw_product *product);

#endif
