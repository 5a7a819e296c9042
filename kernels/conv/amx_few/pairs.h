/* 3x3 windows of 16 channels by 16 filters on lines of 32 pixels, for amx_few/few.c, in steps of
 * two lines of the image. A row of a tile is two adjacent pixels, so a line in memory is a tile. Of
 * the three columns of a window, two are the pair of pixels that contains its centre, and the third
 * is before or behind that pair. Tiles `before` and `behind` have this third column of both lines:
 *
 *   line 2e       a b  c d  e f ..      upper: a tile      even outputs: a, c, e, ..
 *   line 2e + 1   A B  C D  E F ..      lower: a tile      odd ones: b, d, f, ..
 *   before        0 0  b B  d D ..      for even outputs
 *   behind        c C  e E  g G ..      for odd outputs
 *
 * So 9 taps of 16 values are 5 products of depth 32: one for the pairs of each of the three lines,
 * and two for the third columns (of two lines that share a row of a tile, and of the other line).
 * The even outputs of a line are one tile of C, the odd ones another. Step e ends lines 2e - 1 and
 * 2e of the output, which are four tiles, and begins the next two lines. */
#ifndef MINIPOD_KERNELS_CONV_AMX_FEW_PAIRS_H
#define MINIPOD_KERNELS_CONV_AMX_FEW_PAIRS_H

#include <stdbool.h>

#include "kernels/conv/amx/window.h"

/* Offsets in bytes of a step's tiles in its part of the scratch. A pair's second pixel is in
 * `before` one row further on, and its first pixel in `behind` one row back. */
enum {
    POD__PAIRS_UPPER = 0,
    POD__PAIRS_LOWER = POD__AMX_TILE_BYTES,
    POD__PAIRS_BEFORE = 2 * POD__AMX_TILE_BYTES,
    POD__PAIRS_BEHIND = POD__PAIRS_BEFORE + POD__AMX_TILE_BYTES + 2 * POD__AMX_LINE_BYTES,
    POD__PAIRS_BYTES = POD__PAIRS_BEHIND + POD__AMX_TILE_BYTES
};

/* Tiles of packed filters: for the pairs, for each row of a window one for even and one for odd
 * outputs; then, for each line of output that a step ends or begins, one for `before` (even
 * outputs) and one for `behind` (odd outputs). */
enum {
    POD__PAIRS_SIDE = 6,
    POD__PAIRS_LINES = 4, /* 2e - 1, 2e, 2e + 1, 2e + 2 */
    POD__PAIRS_WEIGHTS = POD__PAIRS_SIDE + 2 * POD__PAIRS_LINES
};

/* Returns whether these functions take the call; does not depend on n and `fused`. */
bool pod__few_pairs_takes(const pod_conv_call *call);
size_t pod__few_pairs_packed_bytes(void);
void pod__few_pairs_pack(const pod_conv_call *call, pod_dtype from, const void *w, void *packed);
size_t pod__few_pairs_scratch_bytes(const pod_conv_call *call);
void pod__few_pairs_run(const pod_conv_call *call, void *scratch);

/* The state of a run; see amx_few/pairs.c and, for values that are not finite, amx_few/fixup.c. */
typedef struct pod__pairs_run {
    const pod_conv_call *call;
    int64_t h, n_lines; /* of an image; of all */
    const char *weights;
    char *ring;     /* the packed lines of two steps */
    float *values;  /* even and odd outputs of line 2e - 1, then of line 2e */
    double *totals; /* (4, 16): sums of even channels, of odd ones; then their sums of squares */
    bool streams;
} pod__pairs_run;

/* Computes the 32 pixels of a line of output again, into `values`, each from its window alone. In
 * the tiles, pixels outside a window are multiplied by zeros, which gives NaN if they are not
 * finite. */
void pod__pairs_fix_up(const pod__pairs_run *r, int64_t line, float *values);

#endif
