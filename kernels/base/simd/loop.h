/* Loops of the fast kernels: over flat arrays, and over matrices (rows, C) whose coefficients
 * repeat from row to row. The order of operations does not depend on addresses, and so neither do
 * the bits of a result. */
#ifndef MINIPOD_KERNELS_BASE_SIMD_LOOP_H
#define MINIPOD_KERNELS_BASE_SIMD_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/base/dtype.h"

/* Runs the block for i = 0, lanes, 2 lanes, ... with n = lanes, a constant for the compiler, then
 * once with the n elements that remain of count. */
#define POD_VEC_EACH(lanes, count, i, n, ...)          \
    do {                                               \
        int64_t i = 0;                                 \
        for (; i + (lanes) <= (count); i += (lanes)) { \
            const int n = (lanes);                     \
            __VA_ARGS__                                \
        }                                              \
        if (i < (count)) {                             \
            const int n = (int)((count)-i);            \
            __VA_ARGS__                                \
        }                                              \
    } while (0)

/* The core's prefetcher stops at page boundaries and follows few streams, so that kernels prefetch
 * data POD_AHEAD_BYTES ahead. An output of POD_PAST_BYTES or more that is not an input too would be
 * evicted before it is read again; it is stored past the caches, so that its lines need not be read
 * first. */
enum { POD_AHEAD_BYTES = 4096, POD_PAST_BYTES = 4 << 20 };

static inline void pod_ahead(const void *data, int64_t bytes)
{
    const void *line = (const void *)((uintptr_t)data + (uintptr_t)bytes);
    __asm__ volatile("prefetcht0 %0" : : "m"(*(const char *)line)); /* gcc drops its builtin */
}

/* Returns whether `count` elements of out are stored past the caches. Stores begin at multiples of
 * `period` elements, and then at whole vectors from there. */
static inline bool pod_goes_past(const void *out, pod_dtype t, int64_t count, int64_t period)
{
    enum { LINE = 64 };
    const size_t bytes = pod_dtype_bytes(t);
    return (size_t)count * bytes >= POD_PAST_BYTES && (uintptr_t)out % LINE == 0 &&
           (size_t)period * bytes % LINE == 0;
}

/* A tile is a chunk of columns, so small that its coefficients fit on the stack and in L1. If C is
 * small, `rep` rows are treated as one, so that few vectors are partly filled:
 *
 *   C = 20, 16 lanes     | row 0 | row 1 | row 2 | row 3 | ...      rep = 16: 20 whole vectors
 *                        |   |   |   |   |   |   |   |   | ... */
enum { POD_TILE_MAX = 1024, POD_TILE_AIM = 256 };

typedef struct pod_tile {
    int64_t first, cols; /* columns [first, first + cols) */
    int64_t rep;         /* rows treated as one; 1 unless cols = C */
} pod_tile;

/* Returns the tile from column `first` on; if C is smaller than `aim`, with enough rows for `aim`
 * elements. `lanes` is a power of two, c > 0. */
static inline pod_tile pod_tile_of(int64_t rows, int64_t c, int64_t first, int64_t lanes,
                                   int64_t aim)
{
    pod_tile tile = {first, c - first < POD_TILE_MAX ? c - first : POD_TILE_MAX, 1};
    if (tile.cols < c) return tile;
    int64_t rep = 1;
    while (c * rep % lanes != 0 || c * rep < aim) rep *= 2;
    if (c * rep > POD_TILE_MAX) rep = 1;
    tile.rep = rep < rows ? rep : rows > 1 ? rows : 1;
    return tile;
}

static inline pod_tile pod_tile_at(int64_t rows, int64_t c, int64_t first, int64_t lanes)
{
    return pod_tile_of(rows, c, first, lanes, POD_TILE_AIM);
}

/* Returns the number of elements of the tile in its next rows if `rows_left` rows remain. */
static inline int64_t pod_tile_width(const pod_tile *tile, int64_t rows_left)
{
    return tile->cols * (rows_left < tile->rep ? rows_left : tile->rep);
}

/* out[r cols + j] = of[first + j] for r < rep. */
static inline void pod_tile_spread(const pod_tile *tile, const float *of, float *out)
{
    for (int64_t r = 0; r < tile->rep; r++)
        memcpy(out + r * tile->cols, of + tile->first, sizeof *out * (size_t)tile->cols);
}

/* The inverse for sums: returns the sum of column first + j over the rows treated as one. */
static inline double pod_tile_fold(const pod_tile *tile, const double *of, int64_t j)
{
    double sum = 0;
    for (int64_t r = 0; r < tile->rep; r++) sum += of[r * tile->cols + j];
    return sum;
}

/* Sums down a column: POD_SUM_ROWS rows of tiles at a time, POD_SUM_SWEEPS times, are added in
 * float32; then the partial sum is added to a double. So each term is rounded to float32 at most
 * POD_SUM_CHAIN times, however many rows there are. */
enum { POD_SUM_ROWS = 4, POD_SUM_SWEEPS = 16, POD_SUM_CHAIN = POD_SUM_ROWS + POD_SUM_SWEEPS };

#endif
