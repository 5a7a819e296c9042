/* How the fast kernels walk memory: flat arrays, and matrices (rows, C) whose coefficients repeat
 * from row to row. Nothing here depends on the address, so neither do the bits of a result. */
#ifndef MINIPOD_KERNELS_BASE_SIMD_LOOP_H
#define MINIPOD_KERNELS_BASE_SIMD_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/base/dtype.h"

/* Runs the block for i = 0, lanes, 2 lanes, ... with n = lanes known to the compiler, then once
 * with what is left of count. */
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

/* The prefetcher of the core ends with the page and knows few streams: what is read in order is
 * asked for POD_AHEAD_BYTES before. An output of POD_PAST_BYTES or more that is no input too, and
 * which no cache of the core would hold until it is read, is stored past them: its lines need not be
 * read first. */
enum { POD_AHEAD_BYTES = 4096, POD_PAST_BYTES = 4 << 20 };

static inline void pod_ahead(const void *data, int64_t bytes)
{
    const void *line = (const void *)((uintptr_t)data + (uintptr_t)bytes);
    __asm__ volatile("prefetcht0 %0" : : "m"(*(const char *)line)); /* gcc drops its own here */
}

/* Whether `count` elements of out go past the caches; what is stored at once begins at multiples of
 * `period` elements, and of whole vectors behind them. */
static inline bool pod_goes_past(const void *out, pod_dtype t, int64_t count, int64_t period)
{
    enum { LINE = 64 };
    const size_t bytes = pod_dtype_bytes(t);
    return (size_t)count * bytes >= POD_PAST_BYTES && (uintptr_t)out % LINE == 0 &&
           (size_t)period * bytes % LINE == 0;
}

/* A chunk of the columns, small enough that coefficients for it fit on the stack and in L1. Where C
 * is small, `rep` rows are taken as one, so that few vectors end inside a row:
 *
 *   C = 20, 16 lanes     | row 0 | row 1 | row 2 | row 3 | ...      rep = 16: 20 whole vectors
 *                        |   |   |   |   |   |   |   |   | ... */
enum { POD_TILE_MAX = 1024, POD_TILE_AIM = 256 };

typedef struct pod_tile {
    int64_t first, cols; /* columns [first, first + cols) */
    int64_t rep;         /* rows taken as one; 1 unless cols = C */
} pod_tile;

/* A tile of `aim` elements or more where C is smaller; `lanes` is a power of two, c > 0. */
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

/* Elements of the tile in its next rows, when `rows_left` are left. */
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

/* The way back for sums: column first + j, added up over the rows taken as one. */
static inline double pod_tile_fold(const pod_tile *tile, const double *of, int64_t j)
{
    double sum = 0;
    for (int64_t r = 0; r < tile->rep; r++) sum += of[r * tile->cols + j];
    return sum;
}

/* Sums down a column: POD_SUM_ROWS rows of tiles at a time, POD_SUM_SWEEPS times, in float32; then
 * what has come together goes to a double. So no term passes more than POD_SUM_CHAIN roundings to
 * float32, however many rows there are. */
enum { POD_SUM_ROWS = 4, POD_SUM_SWEEPS = 16, POD_SUM_CHAIN = POD_SUM_ROWS + POD_SUM_SWEEPS };

#endif
