/* What the files conv_amx_lines*.c share: forward pass and input gradient in AMX tiles where pixels
 * have whole chunks of channels, as an implicit product (amx/window.h).
 *
 * The image is packed once, as a ring of strip rows: a row of some images, their pixels in turn, zeros
 * around them in place. A tile of A is a piece of a line of those images, at a tap of the filter:
 *
 *   row of the strip   (chunks of channels, step planes, columns, images, 32 channels)
 *   tile of A          16 / images columns x images x 32 channels, which follow each other
 *
 * Plane i has the columns i, i + step, ... of the strip: those that a tap meets in turn.
 * So a line of 7, 14, 28 or 56 pixels is whole tiles of 16, 8, 4 or 2 images. A band, some
 * lines of output of these images, is multiplied with all filters, while what the band before it
 * left is stored and what the next one reads is packed: a few rows and pixels a step, between products,
 * for the tile unit must not wait for them. */
#ifndef MINIPOD_KERNELS_CONV_AMX_LINES_H
#define MINIPOD_KERNELS_CONV_AMX_LINES_H

#include "kernels/conv/amx/window.h"

/* The columns of the image in a plane: n of them from column `from` on, in bytes from the beginning
 * of a row of the strip. */
typedef struct pod__lines_plane {
    int64_t from, n, to;
} pod__lines_plane;

typedef struct pod__lines_plan {
    int64_t images, pixels; /* of a tile: 16 in all */
    int64_t tiles;          /* of a line */
    int64_t columns;        /* of a strip */
    int64_t plane_bytes, chunk_bytes, row_bytes;
    pod__lines_plane planes[2];
    int64_t lines;  /* of a band, the last one of some images may have fewer */
    int64_t n_rows; /* of the ring */
    bool tiles_outside;
} pod__lines_plan;

enum {
    POD__LINES_TILES = 2, /* of a square */
    POD__LINES_SQUARE_FLOATS = POD__LINES_TILES * 16 * 32
};

/* Where a chunk of A and its filters lie: in row `row` of a tile's window, bytes from its beginning;
 * bytes from the first of 32 filters. */
typedef struct pod__lines_chunk {
    int64_t row, a, b;
} pod__lines_chunk;

/* 16 pixels of C values from `rows[r] + at` on, for row r of their windows. Bit i of `valid`: row i
 * of the product goes to out + row_at[i]. */
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

/* A pixel of one of a band's new rows: bytes from where the row begins, in the image that is read and
 * in the ring. */
typedef struct pod__lines_move {
    int64_t from;
    int32_t to, row;
} pod__lines_move;

/* The pixels of a band that are still to be packed. */
typedef struct pod__lines_filling {
    const pod__lines_move *at, *end;
    int64_t at_once; /* in a step */
    int64_t pixel_bytes, chunk_bytes;
    const char *const *from; /* (rows) */
    char *const *to;         /* (rows) */
    const float *change;     /* per 32 channels: scale, shift; of even channels, of odd ones */
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
    double *sums;       /* per 32 filters: sum, sum of squares; of even filters, of odd ones */
    bool tiles_outside; /* which loop is the outer one: tiles, or filters */
    bool streams;       /* output goes past the caches: it is larger than they */
    pod__lines_filling *filling;
    pod__lines_square *before; /* was multiplied, and is stored while the next one is */
    float *squares;            /* 2 POD__LINES_SQUARE_FLOATS, scratch */
} pod__lines_product;

void pod__lines_fill(pod__lines_filling *f); /* all */
void pod__lines_multiply(const pod__lines_product *m);
void pod__lines_end_product(const pod__lines_product *m);

#endif
