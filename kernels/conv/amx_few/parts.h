/* What is done beside the products of amx_few/run.c, in small pieces: lines are packed
 * (amx_few/pack.c), and units that were multiplied leave (amx_few/epilogue.c). */
#ifndef MINIPOD_KERNELS_CONV_AMX_FEW_PARTS_H
#define MINIPOD_KERNELS_CONV_AMX_FEW_PARTS_H

#include <immintrin.h>

#include "kernels/conv/amx_few/few.h"

enum {
    POD__FEW_BLOCK = POD__AMX_LINE_BYTES, /* two pixels */
    POD__FEW_TILE_FLOATS = 16 * 16,       /* of C */
    POD__FEW_ROWS_PIECE = 8,              /* rows that leave at once, at most */
    POD__FEW_SUM_PARTS = 4                /* sums and squares of even channels and of odd ones */
};

typedef struct pod__few_packing {
    const pod__few *few;
    const pod_conv_call *call;
    char *ring;
    const char *zeros;
    /* of a block: bit i stands for value i of its two pixels, folded: of one row of them */
    const uint32_t *masks;
    /* a piece at the image's sides; one of the n_inner from `inner` on, which are whole in it */
    void (*pack[2])(const struct pod__few_packing *l);
    int64_t inner, n_inner;
    __m512 scale[2], shift[2]; /* of even channels and of odd ones, of two pixels */
    __m512i place[POD__FEW_ROWS];
    __mmask32 takes[POD__FEW_ROWS];
    int64_t n, row, piece;             /* the next one */
    int64_t n_lines, n_pieces, n_goal; /* packed, pieces to be packed */
    char *to;
    const char *from[POD__FEW_ROWS];
} pod__few_packing;

static inline char *pod__few_line(const pod__few *x, char *ring, int64_t number)
{
    return ring + (number & (x->n_ring - 1)) * x->pitch;
}

/* `masks` is scratch: POD__FEW_PIECE few->n_pieces. */
pod__few_packing pod__few_packing_of(const pod__few *few, const pod_conv_call *call, char *ring,
                                     const char *zeros, uint32_t *masks);
void pod__few_end_line(pod__few_packing *l);

/* The next n pieces, no further than the goal. */
static inline void pod__few_pack_pieces(pod__few_packing *l, int64_t n)
{
    for (; n > 0 && l->n_pieces < l->n_goal; n--) {
        const bool is_inner = (uint64_t)(l->piece - l->inner) < (uint64_t)l->n_inner;
        l->pack[is_inner](l);
        l->n_pieces++;
        if (++l->piece == l->few->n_pieces) pod__few_end_line(l);
    }
}

/* 16 rows of two tiles, or fewer. */
typedef struct pod__few_unit {
    const char *window[POD__FEW_ROWS]; /* rows of the first window, as packed */
    int64_t n_pieces;                  /* packed for it and all before it */
    pod_bf16 *out;
    int64_t n_rows; /* 0: there is no unit */
    bool has_half;  /* of its last row the first pixel is stored only */
} pod__few_unit;

typedef struct pod__few_epilogue {
    const pod__few *few;
    const pod__few_unit *unit;
    float *values; /* two tiles */
    /* The next one; an even number, whole; all. */
    int64_t row, n_whole, n_rows;
    /* n whole ones, unless they hold a NaN. */
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

/* The next rows, or what is left of them. */
static inline void pod__few_finish(pod__few_epilogue *x)
{
    const int64_t whole = x->n_whole - x->row, most = POD__FEW_ROWS_PIECE;
    if (whole > 0 && x->finish(x, whole < most ? whole : most)) return;
    if (x->row < x->n_rows) pod__few_finish_few(x);
}

#endif
