/* Stores a square of sums, at most 32 x 32, of a bfloat16 matmul. With AMX, a few rows are stored
 * in each step of the next square's multiplication, which hides the fetching of C's lines. Included
 * by files compiled for AVX512_BF16 only. */
#ifndef MINIPOD_KERNELS_GEMM_GEMM_AVX512BF16_EPILOGUE_H
#define MINIPOD_KERNELS_GEMM_GEMM_AVX512BF16_EPILOGUE_H

#include "kernels/base/arith.h"
#include "kernels/gemm/gemm_amx.h"

#ifdef __AVX512BF16__
#include <immintrin.h>

enum {
    PANEL = POD__AMX_PANEL,
    STEP = POD__AMX_STEP,
    STEP_BYTES = POD__AMX_STEP_BYTES,
    LINE = 64,
    TILE_BYTES = 16 * LINE,
    SQUARE_BYTES = PANEL * PANEL * (int)sizeof(float),
};

static inline int64_t panels(int64_t n) { return (n + PANEL - 1) / PANEL; }

/* All addresses are those of the next row. */
typedef struct epilogue {
    const float *sums, *plus, *bias; /* plus: previous sums to add, or NULL */
    void *to;
    int64_t plus_ld, to_ld, rows, columns;
    pod_dtype type;
    bool relu, is_plain; /* plain: full rows of float32 without bias or ReLU, also added to `to` */
} epilogue;

POD_INLINE __m512 rectified(__m512 v) /* a NaN stays */
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ), v);
}

POD_INLINE __m512 finished(__m512 v, const epilogue *l, int64_t column, __mmask16 mask)
{
    if (l->plus) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, l->plus + column));
    if (l->bias) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, l->bias + column));
    return l->relu ? rectified(v) : v;
}

static void store_row(epilogue *l)
{
    const __mmask32 mask = l->columns < PANEL ? (1u << l->columns) - 1u : UINT32_MAX;
    const __mmask16 mask_low = (__mmask16)mask, mask_high = (__mmask16)(mask >> 16);
    const __m512 low = finished(_mm512_load_ps(l->sums), l, 0, mask_low);
    const __m512 high = finished(_mm512_load_ps(l->sums + 16), l, 16, mask_high);
    l->sums += PANEL;
    if (l->plus) l->plus += l->plus_ld;
    if (l->type == POD_BF16) {
        _mm512_mask_storeu_epi16(l->to, mask, (__m512i)_mm512_cvtne2ps_pbh(high, low));
        l->to = (pod_bf16 *)l->to + l->to_ld;
    } else {
        _mm512_mask_storeu_ps(l->to, mask_low, low);
        _mm512_mask_storeu_ps((float *)l->to + 16, mask_high, high);
        l->to = (float *)l->to + l->to_ld;
    }
}

POD_INLINE void store_plain(epilogue *l, int64_t n, bool adds)
{
    const float *sums = l->sums;
    float *to = l->to;
    const int64_t ld = l->to_ld;
    for (int64_t i = 0; i < n; i++, sums += PANEL, to += ld) {
        __m512 low = _mm512_load_ps(sums), high = _mm512_load_ps(sums + 16);
        if (adds) {
            low = _mm512_add_ps(low, _mm512_loadu_ps(to));
            high = _mm512_add_ps(high, _mm512_loadu_ps(to + 16));
        }
        _mm512_storeu_ps(to, low);
        _mm512_storeu_ps(to + 16, high);
    }
    l->sums = sums;
    l->to = to;
}

/* Stores the next rows, at most `max`. */
POD_INLINE void run_epilogue(epilogue *l, int64_t max)
{
    const int64_t n = pod_min(l->rows, max);
    if (l->is_plain && l->plus) {
        store_plain(l, n, true);
    } else if (l->is_plain) {
        store_plain(l, n, false);
    } else {
        for (int64_t i = 0; i < n; i++) store_row(l);
    }
    l->rows -= n;
}

/* Returns the epilogue of the square of `rows` rows at (m, n) of a block. Between blocks of k its
 * sums are stored at `wait`, in rows of 32 float32; if `wait` is NULL, in C, which is float32. */
static inline epilogue epilogue_of(const pod_gemm_call *call, void *c, const pod__gemm_block *of,
                                   int64_t m, int64_t rows, int64_t n, const float *sums,
                                   float *wait)
{
    const bool is_first = of->k == 0, is_last = of->k + of->depth >= call->shape.k;
    const int64_t at = (m * call->ldc + n) * (int64_t)pod_dtype_bytes(call->c_dtype);
    epilogue l = {.sums = sums,
                  .to = (char *)c + at,
                  .plus_ld = call->ldc,
                  .to_ld = call->ldc,
                  .rows = rows,
                  .columns = pod_min(of->n + of->columns - n, PANEL),
                  .type = call->c_dtype,
                  .relu = is_last && call->fused & POD_GEMM_RELU};
    if (is_last && call->fused & POD_GEMM_BIAS) l.bias = call->bias + n;
    if (is_first ? call->beta > 0.0f : !wait) {
        l.plus = l.to;
    } else if (!is_first) {
        l.plus = wait;
        l.plus_ld = PANEL;
    }
    if (wait && !is_last) {
        l.to = wait;
        l.to_ld = PANEL;
        l.type = POD_F32;
    }
    l.is_plain = l.type == POD_F32 && l.columns == PANEL && (!l.plus || l.plus == l.to) &&
                 !l.bias && !l.relu;
    return l;
}

#endif
#endif
