/* Small matmuls of attention_simd.c, with float32 operands in the cache: c = a b or c += a b.
 *
 * c is computed in tiles of up to TILE_ROWS x PANEL elements, whose sums stay in registers; for
 * each k an element of a is broadcast and multiplied by a row of b. b is read in panels of PANEL
 * columns, each of which stays in L1 while the tiles of its columns are computed. b and c have room
 * for whole panels: columns beyond `cols` may hold anything in b, and are overwritten in c. */
#ifndef MINIPOD_KERNELS_ATTENTION_ATTENTION_TILES_H
#define MINIPOD_KERNELS_ATTENTION_ATTENTION_TILES_H

#include "kernels/base/simd/simd.h"

#ifdef POD_SIMD

/* TILE_TAIL is the second largest height. If exactly 2 TILE_TAIL rows remain, they are two such
 * tiles, not one of TILE_ROWS and a low one. */
#ifdef __AVX512F__
enum { TILE_ROWS = 14, TILE_TAIL = 8 };
#define TILE_HEIGHTS T(14) T(8) T(4) T(2) T(1)
#else
enum { TILE_ROWS = 6, TILE_TAIL = 4 };
#define TILE_HEIGHTS T(6) T(4) T(2) T(1)
#endif

enum { PANEL = 2 * POD_VEC_LANES };

typedef struct small_matmul {
    int64_t rows, cols, depth;
    const float *a;
    int64_t lda;
    bool trans_a; /* a is stored (depth, rows) */
    const float *b;
    int64_t b_step, b_panel; /* from one row of b to the next, from one panel to the next */
    float *c;
    int64_t ldc;
    bool adds; /* c += a b */
} small_matmul;

POD_INLINE void run_tile(int rows, bool trans_a, const small_matmul *p, const float *a,
                         const float *b, float *c)
{
    pod_vec sum[TILE_ROWS][2];
    const int64_t row_step = trans_a ? 1 : p->lda, a_step = trans_a ? p->lda : 1;
    const int64_t b_step = p->b_step;
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = pod_vec_all(0);
    for (int64_t k = 0; k < p->depth; k++, a += a_step, b += b_step) {
        const pod_vec b0 = pod_vec_load(POD_F32, b, 0, POD_VEC_LANES);
        const pod_vec b1 = pod_vec_load(POD_F32, b, POD_VEC_LANES, POD_VEC_LANES);
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++) {
            const pod_vec x = pod_vec_all(a[i * row_step]);
            sum[i][0] = pod_vec_fma(x, b0, sum[i][0]);
            sum[i][1] = pod_vec_fma(x, b1, sum[i][1]);
        }
    }
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
        for (int half = 0; half < 2; half++) {
            float *to = c + i * p->ldc + half * POD_VEC_LANES;
            pod_vec v = sum[i][half];
            if (p->adds) v = pod_vec_add(v, pod_vec_load(POD_F32, to, 0, POD_VEC_LANES));
            pod_vec_store(POD_F32, to, 0, POD_VEC_LANES, v);
        }
}

static void run_any_tile(int64_t rows, const small_matmul *p, const float *a, const float *b,
                         float *c)
{
    switch (rows) {
#define T(height)                                \
    case height:                                 \
        if (p->trans_a)                          \
            run_tile(height, true, p, a, b, c);  \
        else                                     \
            run_tile(height, false, p, a, b, c); \
        return;
        TILE_HEIGHTS
#undef T
    default: return;
    }
}

/* Returns the height of the next tile if `rows` rows remain. */
POD_INLINE int64_t tile_height(int64_t rows)
{
    if (rows == 2 * TILE_TAIL) return TILE_TAIL;
#define T(height) \
    if (rows >= (height)) return height;
    TILE_HEIGHTS
#undef T
    return 0;
}

static void multiply(const small_matmul *p)
{
    const float *b = p->b;
    for (int64_t col = 0; col < p->cols; col += PANEL, b += p->b_panel)
        for (int64_t row = 0, height; row < p->rows; row += height) {
            height = tile_height(p->rows - row);
            run_any_tile(height, p, p->a + row * (p->trans_a ? 1 : p->lda), b,
                         p->c + row * p->ldc + col);
        }
}

#endif
#endif
