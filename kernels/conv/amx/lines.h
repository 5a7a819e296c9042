/* Shared by the files amx/lines*.c: forward pass and input gradient in AMX tiles for pixels whose
 * channels are whole chunks, as an implicit matmul (amx/window.h).
 *
 * Each row of the images is packed once, with the pixels of several images interleaved and zeros
 * around them. The packed rows are a ring buffer, the strip. A tile of A is a piece of a row, at
 * one tap (position in the window) of the filter:
 *
 *   row of the strip   (chunks of channels, step planes, columns, images, 32 channels)
 *   tile of A          16 / images columns x images x 32 channels, contiguous
 *
 * Plane i has the columns i, i + step, ... of the strip, which a tap reads one after the other. So
 * lines of 7, 14, 28 or 56 pixels of 16, 8, 4 or 2 images are whole tiles. A band is several lines
 * of output of these images. While a band is multiplied with all filters, the last squares of the
 * previous band are stored and the input of the next band is packed. A few rows are stored and a
 * few pixels packed between two products, so that the tile unit does not wait for them. */
#ifndef MINIPOD_KERNELS_CONV_AMX_LINES_H
#define MINIPOD_KERNELS_CONV_AMX_LINES_H

#include "kernels/conv/amx/window.h"

/* The columns of the image in a plane: n columns from column `from` on; `to` is their offset in
 * bytes in a row of the strip. */
typedef struct pod__lines_plane {
    int64_t from, n, to;
} pod__lines_plane;

typedef struct pod__lines_plan {
    int64_t images, pixels; /* of a tile: 16 in all */
    int64_t tiles;          /* of a line */
    int64_t columns;        /* of a strip */
    int64_t plane_bytes, chunk_bytes, row_bytes;
    pod__lines_plane planes[2];
    int64_t lines;  /* of a band; the last band of a group of images may have fewer */
    int64_t n_rows; /* of the ring */
    bool tiles_outside;
} pod__lines_plan;

enum {
    POD__LINES_TILES = 2, /* of a square */
    POD__LINES_SQUARE_FLOATS = POD__LINES_TILES * 16 * 32
};

/* The position of a chunk: row of the window, a: bytes from the beginning of that row in a tile of
 * A, b: bytes from the first of 32 filters. */
typedef struct pod__lines_chunk {
    int64_t row, a, b;
} pod__lines_chunk;

/* 16 pixels of C values; row r of their windows begins at rows[r] + at. Bit i of `valid`: row i of
 * the product is stored to out + row_at[i]. */
typedef struct pod__lines_tile {
    char *const *rows;
    int64_t at;
    pod_bf16 *out;
    uint32_t valid;
} pod__lines_tile;

/* Two tiles by 32 filters. */
typedef struct pod__lines_square {
    pod__lines_tile tiles[2];
    int64_t filter;
    float *values; /* (tile, 16, 32) */
} pod__lines_square;

/* A pixel to pack, of a new row of a band: its offset in bytes in the row of the image (from) and
 * in that of the ring (to). */
typedef struct pod__lines_move {
    int64_t from;
    int32_t to, row;
} pod__lines_move;

/* The pixels of a band that remain to be packed. */
typedef struct pod__lines_filling {
    const pod__lines_move *at, *end;
    int64_t at_once; /* pixels per step */
    int64_t pixel_bytes, chunk_bytes;
    const char *const *from; /* (rows) */
    char *const *to;         /* (rows) */
    const float *change;     /* per 32 channels: scales of even channels, of odd ones; then
                                their shifts */
    unsigned fused;
} pod__lines_filling;

typedef struct pod__lines_product {
    const pod__lines_tile *tiles;
    int64_t n_tiles, n_chunks, width;
    const pod__lines_chunk *chunks;
    const char *weights;
    const int64_t *row_at; /* (16), elements */
    unsigned fused;
    const float *bias;
    double *sums;       /* per 32 filters: sums of even filters, of odd ones; then their sums
                           of squares */
    bool tiles_outside; /* the outer loop is over tiles, not filters */
    bool streams;       /* the output is larger than the caches, and is stored past them */
    pod__lines_filling *filling;
    pod__lines_square *before; /* multiplied last; stored while the next one is multiplied */
    float *squares;            /* 2 POD__LINES_SQUARE_FLOATS, scratch */
} pod__lines_product;

void pod__lines_fill(pod__lines_filling *f); /* packs all of them */
void pod__lines_multiply(const pod__lines_product *m);
void pod__lines_end_product(const pod__lines_product *m);

#endif
