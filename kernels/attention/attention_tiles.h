/* Small matmuls of attention_simd.c, with operands in the cache: c = a b or c += a b, in float32.
 *
 * An element of a and b has 32 bits. It is a float32 or, with AVX512_BF16, a pair of bf16 that are
 * neighbours along the depth, the dimension that is summed over: vdpbf16ps adds both products of
 * two pairs to a float32. It takes subnormals for zero, in operands and in sums.
 *
 * c is computed in tiles of up to TILE_ROWS x PANEL numbers, whose sums stay in registers; for
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

/* What attention multiplies if its tensors are of type t: POD_BF16, in pairs, or POD_F32. */
#ifdef __AVX512BF16__
enum { HAS_PAIRS = true };
POD_INLINE pod_dtype operand_type(pod_dtype t) { return t; }
#else
enum { HAS_PAIRS = false };
POD_INLINE pod_dtype operand_type(pod_dtype t) { return (void)t, POD_F32; }
#endif

/* How many numbers of type m an element has; how many elements hold `numbers` of them. */
POD_INLINE int per_element(pod_dtype m) { return m == POD_BF16 ? 2 : 1; }
POD_INLINE int64_t elements_of(pod_dtype m, int64_t numbers)
{
    return pod_div_up(numbers, per_element(m));
}

/* sum + x y, lane by lane */
POD_INLINE pod_vec multiply_add(pod_dtype m, pod_vec x, pod_vec y, pod_vec sum)
{
#ifdef __AVX512BF16__
    if (m == POD_BF16) return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)y);
#endif
    (void)m;
    return pod_vec_fma(x, y, sum);
}

/* a, lda, b, b_step and b_panel are in elements, whatever these are. */
typedef struct small_matmul {
    pod_dtype m;               /* POD_F32, or POD_BF16 in pairs */
    int64_t rows, cols, depth; /* depth in elements */
    const float *a;
    int64_t lda;
    bool trans_a; /* a is stored (depth, rows) */
    const float *b;
    int64_t b_step, b_panel; /* from one row of b to the next, from one panel to the next */
    float *c;
    int64_t ldc;
    bool adds;    /* c += a b */
    float factor; /* c = factor a b; must be 1 for float32 and with `adds` */
} small_matmul;

POD_INLINE void run_tile(pod_dtype m, int rows, bool trans_a, const small_matmul *p, const float *a,
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
            sum[i][0] = multiply_add(m, x, b0, sum[i][0]);
            sum[i][1] = multiply_add(m, x, b1, sum[i][1]);
        }
    }
    const pod_vec factor = pod_vec_all(p->factor);
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
        for (int half = 0; half < 2; half++) {
            float *to = c + i * p->ldc + half * POD_VEC_LANES;
            pod_vec v = sum[i][half];
            if (p->adds)
                v = pod_vec_add(v, pod_vec_load(POD_F32, to, 0, POD_VEC_LANES));
            else if (m == POD_BF16)
                v = pod_vec_mul(v, factor);
            pod_vec_store(POD_F32, to, 0, POD_VEC_LANES, v);
        }
}

POD_INLINE void run_tile_of(int rows, const small_matmul *p, const float *a, const float *b,
                            float *c)
{
    if (HAS_PAIRS && p->m == POD_BF16) {
        if (p->trans_a)
            run_tile(POD_BF16, rows, true, p, a, b, c);
        else
            run_tile(POD_BF16, rows, false, p, a, b, c);
    } else if (p->trans_a) {
        run_tile(POD_F32, rows, true, p, a, b, c);
    } else {
        run_tile(POD_F32, rows, false, p, a, b, c);
    }
}

static void run_any_tile(int64_t rows, const small_matmul *p, const float *a, const float *b,
                         float *c)
{
    switch (rows) {
#define T(height) \
    case height: run_tile_of(height, p, a, b, c); return;
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
