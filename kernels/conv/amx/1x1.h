/* 1x1 convolution in AMX tiles: a matmul of pixels and weights. Terms of amx/1x1*.c:
 *
 *   M  pixels, N P Q     D  depth: C, in an input gradient K     W  width: K, in that C
 *
 *   square   32 pixels by 32 columns of the output, four tiles of sums
 *   panel    32 pixels of the whole depth: in the image itself, or packed in chunks
 *   chunk    32 values of the depth, the last one filled with zeros; packed: (32 pixels, 64 bytes)
 *   strip    32 columns of the whole depth, packed: two tiles of VNNI pairs per chunk, or one for
 *            the last 16 columns or fewer
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
    /* of a strip: sums of its 16 even columns, of its 16 odd ones; then their sums of squares */
    POD__POINT_STRIP_SUMS = 2 * POD__POINT_SIDE,
    /* of a chunk: scales of its 16 even values, of its 16 odd ones; then their shifts */
    POD__POINT_CHANGE_FLOATS = 2 * POD__POINT_SIDE
};

typedef struct pod__point_panel {
    const char *at;
    int64_t row_bytes, chunk_bytes; /* from one pixel to the next, from one chunk to the next */
} pod__point_panel;

/* How a square is stored to the output. */
typedef struct pod__point_epilogue {
    const float *values;
    char *out;
    int64_t out_bytes; /* from one pixel to the next */
    int64_t n_rows;
    uint32_t columns;  /* bit mask of the columns that exist */
    const float *bias; /* from its first column on; NULL: none */
    double *sums;      /* POD__POINT_STRIP_SUMS; NULL: none */
    bool relu;
} pod__point_epilogue;

/* What is prefetched while squares are multiplied: for each chunk the next in_lines cache lines
 * from `in` on, and the next out_lines from `out` on. */
typedef struct pod__point_ahead {
    const char *in, *out;
    int64_t in_lines, out_lines;
} pod__point_ahead;

/* Panel times strip. Three squares are in progress: the new product stays in the tiles, the
 * previous square moves from the tiles to `before`, and the one before that is stored. */
typedef struct pod__point_square {
    pod__point_panel panel;
    const char *strip;
    int64_t n_chunks;
    bool narrow; /* the strip has one tile per chunk */
    float *before;
} pod__point_square;

void pod__point_begin(void); /* configures the tiles */
void pod__point_multiply(const pod__point_square *q, pod__point_ahead *ahead,
                         const pod__point_epilogue *epilogue);
/* Copies the square that is still in the tiles to `last`, and releases the tiles. */
void pod__point_end(float *last);
void pod__point_store(const pod__point_epilogue *x);

/* A panel that is packed while the previous panel is multiplied, a few lines of 64 bytes after each
 * square. */
typedef struct pod__point_laying {
    const char *from; /* the first pixel */
    char *to;
    int64_t depth, n_rows;
    const int64_t *row_at; /* bytes from the first pixel; NULL: pixels are contiguous */
    int64_t row, chunk;    /* the next line */
    const float *change;   /* scale and shift, POD__POINT_CHANGE_FLOATS per chunk; NULL: none */
    bool rectified;
} pod__point_laying;

void pod__point_pack(pod__point_laying *x, int64_t n_lines); /* packs the next lines, or all that
                                                                remain */

#endif
