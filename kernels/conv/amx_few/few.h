/* Convolutions of few channels in AMX tiles, for amx/window.c: windows of up to 3x3 pixels, with 16
 * filters at stride 1 or 32 filters at stride 2. A packed pixel has 16 values: 16 channels, or,
 * with fewer channels, all rows of one column of the window ("folded"). Two adjacent packed pixels
 * are 64 bytes, a row of a tile:
 *
 *   line         0 a b c d e ..   packed pixels of 32 bytes, zeros where the image ends
 *   tiles of A   0a bc de ..      two pixels per row; the second tile begins at bc
 *   stride 1     0ab and abc      two windows per row: tiles of B have the 16 filters twice, for
 *                                 windows that begin at the first and at the second pixel
 *   stride 2     0ab              one window per row: tiles of B have the 32 filters
 *
 * So a row of a window is two tiles of A by four tiles of B, which have zeros outside the window.
 * Nothing is packed twice and no load crosses a cache line. A row of two tiles of C is 64
 * contiguous bytes of output. */
#ifndef MINIPOD_KERNELS_CONV_AMX_FEW_FEW_H
#define MINIPOD_KERNELS_CONV_AMX_FEW_FEW_H

#include "kernels/conv/amx/window.h"

enum {
    POD__FEW_CHANNELS = 16, /* of a pixel as packed */
    POD__FEW_ROWS = 3,      /* of a window, at most */
    POD__FEW_PIECE = 6      /* blocks of 64 bytes that are packed at once */
};

typedef struct pod__few {
    pod__amx_view view;
    bool folds;            /* a packed pixel holds a column of a window */
    int64_t window_rows;   /* as packed: 1 if folded */
    int64_t n_pieces;      /* of a line */
    int64_t n_rows;        /* rows of tiles of A, for a line of output */
    int64_t n_units;       /* units of 16 such rows, for a line of output */
    int64_t pitch;         /* bytes from line to line */
    int64_t n_ring;        /* lines in the ring: a power of two */
    int64_t first, n_seen; /* rows of an image that windows read; folded: lines of output */
} pod__few;

/* Returns whether these functions take the call. The result and the packed filters do not depend on
 * n, nor on fused bits other than AFFINE_X. */
bool pod__few_takes(const pod_conv_call *call);
pod__few pod__few_of(const pod_conv_call *call);

static inline size_t pod__few_weight_bytes(const pod__few *x)
{
    return (size_t)(x->window_rows * 4) * POD__AMX_TILE_BYTES;
}

size_t pod__few_packed_bytes(const pod_conv_call *call);
void pod__few_pack(const pod_conv_call *call, pod_dtype from, const void *w, void *packed);
size_t pod__few_scratch_bytes(const pod_conv_call *call);
void pod__few_run(const pod_conv_call *call, void *scratch);

#endif
