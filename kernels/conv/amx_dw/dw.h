/* Shared by the files of amx_dw. Products of tiles (kernels/base/simd/tile_amx.h) that sum over
 * pixels need one operand transposed and the other paired:
 *
 *   transposed  (m tiles, pixel blocks, 16 channels, 32 pixels)          the A tiles
 *   paired      (n tiles, pixel pairs, 16 columns, 2 pixels of a pair)   the B tiles
 *
 * Both are packed into the scratch, one block of the batch at a time. */
#ifndef MINIPOD_KERNELS_CONV_AMX_DW_DW_H
#define MINIPOD_KERNELS_CONV_AMX_DW_DW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/bf16.h"

enum {
    POD__DW_TILE = 16,         /* channels or columns of a tile */
    POD__DW_PIXELS = 32,       /* pixels of a tile */
    POD__DW_TILE_BYTES = 1024, /* as packed; tiles of consecutive pixels are contiguous */
    POD__DW_MAX_TILES = 32     /* tiles of columns in a product */
};

/* Pixels in memory: n_images contiguous images of `pixels` pixels each. In the packed form `gap`
 * pixels of zeros separate two images. */
typedef struct pod__dw_rows {
    const pod_bf16 *at;
    int64_t n_images, pixels, gap;
    int64_t pitch; /* elements from pixel to pixel */
    int64_t n_channels;
} pod__dw_rows;

/* Packs rows as `transposed`, filled with zeros to whole tiles of channels and of pixels. `edge` is
 * scratch for 32 pixels of all channels, rounded up to whole tiles. */
void pod__dw_transpose(const pod__dw_rows *rows, pod_bf16 *edge, pod_bf16 *transposed);

/* Pixels in lines: line l of image i begins at at + i image_pitch + l line_pitch. */
typedef struct pod__dw_lines {
    const pod_bf16 *at;
    int64_t n_images, image_pitch;
    int64_t n_lines, line_pitch;
    int64_t n_pixels, pixel_pitch; /* of a line */
} pod__dw_lines;

/* Packs n_tiles tiles of columns with `plane` pixels each; pixels beyond the lines are zeros. Reads
 * whole tiles of columns, also columns that are not used. */
void pod__dw_pair(const pod__dw_lines *lines, int n_tiles, int64_t plane, pod_bf16 *paired);

/* One line of an image with its borders: n_pixels pixels, in every step-th column from column
 * `first` on; pixels outside [0, w) are 0. Each pixel has n_channels channels, from x on. If scale
 * is given, a value is x scale + shift, and with `relu` its positive part. */
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
    int64_t m_tiles, m_plane; /* m_plane: elements from one tile of channels to the next */
    const pod_bf16 *paired[POD__DW_MAX_TILES];
    int64_t column[POD__DW_MAX_TILES]; /* of sums */
    int64_t n_tiles, n_steps;
    float *sums;
    int64_t ld;
    bool adds;
} pod__dw_product;

void pod__dw_begin(void); /* configures the tile registers; pod__dw_end releases them */
void pod__dw_end(void);
void pod__dw_multiply(const pod__dw_product *product);

#endif
