/* 1x1 convolution in AMX tiles: a plain product of pixels and weights. Letters of these files:
 *
 *   M  pixels, N P Q     D  depth: C, or K of an input gradient     W  width: K, or C
 *
 *   square   32 pixels by 32 columns of the output, four tiles of sums
 *   panel    32 pixels through the depth: where the image lies, or packed in chunks
 *   chunk    32 values of the depth, zeros behind the last one; packed: (32 pixels, 64 bytes)
 *   strip    32 columns through the depth, packed: two tiles of VNNI pairs a chunk, one where 16
 *            columns or fewer are left
 */
#ifndef MINIPOD_KERNELS_CONV_AMX_1X1_H
#define MINIPOD_KERNELS_CONV_AMX_1X1_H

#include <stdbool.h>
#include <stdint.h>

enum {
    POD__POINT_SIDE = 32, /* of a square */
    POD__POINT_SQUARE_FLOATS = POD__POINT_SIDE * POD__POINT_SIDE,
    POD__POINT_LINE_BYTES = 64,
    POD__POINT_TILE_BYTES = 16 * POD__POINT_LINE_BYTES,
    POD__POINT_CHUNK_BYTES = 2 * POD__POINT_TILE_BYTES,
    /* of a strip: sums of 16 columns of even number, of odd number; of their squares, likewise */
    POD__POINT_STRIP_SUMS = 2 * POD__POINT_SIDE,
    /* of a chunk: scales of even and of odd number, shifts likewise */
    POD__POINT_CHANGE_FLOATS = 2 * POD__POINT_SIDE
};

typedef struct pod__point_panel {
    const char *at;
    int64_t row_bytes, chunk_bytes; /* from one pixel to the next, from one chunk */
} pod__point_panel;

/* A square on its way to memory. */
typedef struct pod__point_epilogue {
    const float *values;
    char *out;
    int64_t out_bytes; /* from one pixel to the next */
    int64_t n_rows;
    uint32_t columns;  /* a bit for each that is there */
    const float *bias; /* of its first column; NULL: none */
    double *sums;      /* POD__POINT_STRIP_SUMS; NULL: none */
    bool relu;
} pod__point_epilogue;

/* What is asked of memory while squares are multiplied: so many lines a chunk, from two places. */
typedef struct pod__point_ahead {
    const char *in, *out;
    int64_t in_lines, out_lines;
} pod__point_ahead;

/* Panel times strip. Three squares are under way: the product stays in the tiles; what they held of
 * the square before goes to `before`; and the one before that is stored. */
typedef struct pod__point_square {
    pod__point_panel panel;
    const char *strip;
    int64_t n_chunks;
    bool narrow; /* the strip has one tile a chunk */
    float *before;
} pod__point_square;

void pod__point_begin(void); /* the tiles */
void pod__point_multiply(const pod__point_square *q, pod__point_ahead *ahead,
                         const pod__point_epilogue *epilogue);
void pod__point_end(float *last); /* gives the last square, and the tiles back */
void pod__point_store(const pod__point_epilogue *x);

/* A panel that is packed while the one before is multiplied, a few lines after each square. */
typedef struct pod__point_laying {
    const char *from; /* the first pixel */
    char *to;
    int64_t depth, n_rows;
    const int64_t *row_at; /* bytes from the first pixel; NULL: they follow each other */
    int64_t row, chunk;    /* the next line */
    const float *change;   /* POD__POINT_CHANGE_FLOATS a chunk; NULL: as it is */
    bool rectified;
} pod__point_laying;

void pod__point_pack(pod__point_laying *x, int64_t n_lines); /* the next ones, or those left */

#endif
