/* The work between the products of amx_few/run.c, in small pieces: packing lines (amx_few/pack.c),
 * and storing finished units (amx_few/epilogue.c). */
#ifndef MINIPOD_KERNELS_CONV_AMX_FEW_PARTS_H
#define MINIPOD_KERNELS_CONV_AMX_FEW_PARTS_H

#include <immintrin.h>

#include "kernels/conv/amx_few/few.h"

enum {
    POD__FEW_BLOCK = POD__AMX_LINE_BYTES, /* two pixels */
    POD__FEW_TILE_FLOATS = 16 * 16,       /* of C */
    POD__FEW_ROWS_PIECE = 8,              /* rows that are stored at once, at most */
    POD__FEW_SUM_PARTS = 4                /* sums and squares of even channels and of odd ones */
};

typedef struct pod__few_packing {
    const pod__few *few;
    const pod_conv_call *call;
    char *ring;
    const char *zeros;
    /* of a block: bit i is for value i of its two pixels; folded: of one row of them */
    const uint32_t *masks;
    /* [0]: packs a piece at a side of the image; [1]: one of the n_inner pieces from `inner` on,
     * which are completely inside */
    void (*pack[2])(const struct pod__few_packing *l);
    int64_t inner, n_inner;
    __m512 scale[2], shift[2]; /* of even and of odd channels, for two pixels */
    __m512i place[POD__FEW_ROWS];
    __mmask32 takes[POD__FEW_ROWS];
    int64_t n, row, piece;             /* the next piece */
    int64_t n_lines, n_pieces, n_goal; /* packed lines, packed pieces, pieces to pack */
    char *to;
    const char *from[POD__FEW_ROWS];
} pod__few_packing;

static inline char *pod__few_line(const pod__few *x, char *ring, int64_t number)
{
    return ring + (number & (x->n_ring - 1)) * x->pitch;
}

/* `masks` is scratch for POD__FEW_PIECE * few->n_pieces masks. */
pod__few_packing pod__few_packing_of(const pod__few *few, const pod_conv_call *call, char *ring,
                                     const char *zeros, uint32_t *masks);
void pod__few_end_line(pod__few_packing *l);

/* Packs the next n pieces, at most up to n_goal. */
static inline void pod__few_pack_pieces(pod__few_packing *l, int64_t n)
{
    for (; n > 0 && l->n_pieces < l->n_goal; n--) {
        const bool is_inner = (uint64_t)(l->piece - l->inner) < (uint64_t)l->n_inner;
        l->pack[is_inner](l);
        l->n_pieces++;
        if (++l->piece == l->few->n_pieces) pod__few_end_line(l);
    }
}

/* A unit: up to 16 rows of two tiles of C, which are computed together. */
typedef struct pod__few_unit {
    const char *window[POD__FEW_ROWS]; /* rows of the first window, as packed */
    int64_t n_pieces;                  /* pieces that must be packed before it */
    pod_bf16 *out;
    int64_t n_rows; /* 0: there is no unit */
    bool has_half;  /* of its last row only the first pixel is stored */
} pod__few_unit;

typedef struct pod__few_epilogue {
    const pod__few *few;
    const pod__few_unit *unit;
    float *values; /* two tiles */
    /* The next row; number of complete rows, even; of all rows. */
    int64_t row, n_whole, n_rows;
    /* Stores n complete rows, unless they have a NaN. */
    bool (*finish)(struct pod__few_epilogue *x, int64_t n);
    unsigned fused;
    bool streams;
    const char *weights;
    __m512 bias[2];
    __m512 sums[POD__FEW_SUM_PARTS];
    double *totals; /* (POD__FEW_SUM_PARTS, 16) */
} pod__few_epilogue;

pod__few_epilogue pod__few_epilogue_of(const pod__few *few, const pod_conv_call *call,
                                       const char *weights, double *totals);
void pod__few_begin(pod__few_epilogue *x, const pod__few_unit *u, float *values);
void pod__few_finish_few(pod__few_epilogue *x);
void pod__few_store_sums(const pod__few_epilogue *x, const pod_conv_call *call);

/* Stores the next rows, or all that remain. */
static inline void pod__few_finish(pod__few_epilogue *x)
{
    const int64_t whole = x->n_whole - x->row, most = POD__FEW_ROWS_PIECE;
    if (whole > 0 && x->finish(x, whole < most ? whole : most)) return;
    if (x->row < x->n_rows) pod__few_finish_few(x);
}

#endif
