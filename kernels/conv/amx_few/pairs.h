/* 3x3 windows of 16 channels by 16 filters on lines of 32 pixels, for amx_few/few.c: two lines of
 * the image at a time. A row of a tile is two pixels, and a line is a tile as it lies. An output's
 * window has two columns in the pair of pixels that it lies over and one beside it; the latter are
 * packed apart, two lines in a row of a tile:
 *
 *   line 2e       a b  c d  e f ..      upper: a tile      even outputs: a, c, e, ..
 *   line 2e + 1   A B  C D  E F ..      lower: a tile      odd ones: b, d, f, ..
 *   before        0 0  b B  d D ..      even outputs need it
 *   behind        c C  e E  g G ..      odd ones do
 *
 * So 9 taps of 16 values are 5 products of 32: three lines, both lines beside a pair that lie in
 * one row of a tile, and the line that is alone. Even outputs of a line are a tile of C, odd ones
 * another, four in flight: step e ends lines 2e - 1 and 2e of the output and begins the next two. */
#ifndef MINIPOD_KERNELS_CONV_AMX_FEW_PAIRS_H
#define MINIPOD_KERNELS_CONV_AMX_FEW_PAIRS_H

#include <stdbool.h>

#include "kernels/conv/amx/window.h"

/* Where a step's tiles lie in its part of the scratch, in bytes. What is packed `before` goes one row
 * further on, what is packed `behind` one row back. */
enum {
    POD__PAIRS_UPPER = 0,
    POD__PAIRS_LOWER = POD__AMX_TILE_BYTES,
    POD__PAIRS_BEFORE = 2 * POD__AMX_TILE_BYTES,
    POD__PAIRS_BEHIND = POD__PAIRS_BEFORE + POD__AMX_TILE_BYTES + 2 * POD__AMX_LINE_BYTES,
    POD__PAIRS_BYTES = POD__PAIRS_BEHIND + POD__AMX_TILE_BYTES
};

/* Packed filters, tiles: for each row of a window even and odd outputs; then for `before` even
 * outputs, for `behind` odd ones, of each line of output that a step ends or begins. */
enum {
    POD__PAIRS_SIDE = 6,
    POD__PAIRS_LINES = 4, /* 2e - 1, 2e, 2e + 1, 2e + 2 */
    POD__PAIRS_WEIGHTS = POD__PAIRS_SIDE + 2 * POD__PAIRS_LINES
};

/* Neither n nor `fused` matters. */
bool pod__few_pairs_takes(const pod_conv_call *call);
size_t pod__few_pairs_packed_bytes(void);
void pod__few_pairs_pack(const pod_conv_call *call, pod_dtype from, const void *w, void *packed);
size_t pod__few_pairs_scratch_bytes(const pod_conv_call *call);
void pod__few_pairs_run(const pod_conv_call *call, void *scratch);

/* What a run knows; see amx_few/pairs.c and, of what is not finite, amx_few/fixup.c. */
typedef struct pod__pairs_run {
    const pod_conv_call *call;
    int64_t h, n_lines; /* of an image; of all */
    const char *weights;
    char *ring;     /* two steps' lines as packed */
    float *values;  /* even and odd outputs of line 2e - 1, then of line 2e */
    double *totals; /* sums of even channels and of odd ones, squares likewise: (4, 16) */
    bool streams;
} pod__pairs_run;

/* The 32 pixels of a line of output once more, in `values`, each from its window alone: what lies
 * beside that met zeros, and these make no zeros of what is not finite. */
void pod__pairs_fix_up(const pod__pairs_run *r, int64_t line, float *values);

#endif
