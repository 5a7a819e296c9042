/* The products of the AMX convolution and what is done to their results: 32 pixels by 32 filters at
 * a time, two tiles of A by two of B. */
#include "kernels/base/tile_amx.h"
#include "kernels/conv/conv_amx.h"

#define INLINE static inline __attribute__((always_inline))

enum { SQUARE = 32 };

/* Sums of what was stored, in float32 over one square: pairs of accumulators so that no term passes
 * more than 17 roundings before it goes to a double. */
typedef struct sums {
    __m512 sum[2], sum_sq[2];
} sums;

INLINE void sum_up(sums *s, int i, __m512 v)
{
    s->sum[i] = _mm512_add_ps(s->sum[i], v);
    s->sum_sq[i] = _mm512_fmadd_ps(v, v, s->sum_sq[i]);
}

INLINE void add_f64(double *into, __m512 v)
{
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
    const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
    _mm512_storeu_pd(into, _mm512_add_pd(_mm512_loadu_pd(into), low));
    _mm512_storeu_pd(into + 8, _mm512_add_pd(_mm512_loadu_pd(into + 8), high));
}

INLINE void add_sums(const pod__amx_product *m, int64_t filter, const sums *s)
{
    for (int i = 0; i < 2; i++) {
        add_f64(m->sum + filter + 16 * i, s->sum[i]);
        add_f64(m->sum_sq + filter + 16 * i, s->sum_sq[i]);
    }
}

INLINE __m512 relu(__m512 v)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ), v);
}

INLINE __m512 widen(__m256i bf16)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16));
}

/* Rows of one tile, 32 columns of which `mask` are stored. */
INLINE void finish_rows(const pod__amx_product *m, const pod__amx_tile *t, const float *from,
                        int64_t filter, __mmask32 mask, bool keeps_sums, sums *s)
{
    const bool biased = m->fused & POD_CONV_BIAS, rectified = m->fused & POD_CONV_RELU;
    __m512 bias[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    if (biased) {
        bias[0] = _mm512_maskz_loadu_ps((__mmask16)mask, m->bias + filter);
        bias[1] = _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), m->bias + filter + 16);
    }
    pod_bf16 *out = m->out + t->at + filter;
    for (int i = 0; i < t->n_rows; i++, from += SQUARE) {
        __m512 low = _mm512_loadu_ps(from), high = _mm512_loadu_ps(from + 16);
        if (biased) low = _mm512_add_ps(low, bias[0]), high = _mm512_add_ps(high, bias[1]);
        if (rectified) low = relu(low), high = relu(high);
        const __m512i y = (__m512i)_mm512_cvtne2ps_pbh(high, low);
        if (mask == UINT32_MAX)
            _mm512_storeu_si512(out + t->rows[i], y);
        else
            _mm512_mask_storeu_epi16(out + t->rows[i], mask, y);
        if (!keeps_sums) continue;
        sum_up(s, 0, widen(_mm512_castsi512_si256(y)));
        sum_up(s, 1, widen(_mm512_extracti64x4_epi64(y, 1)));
    }
}

INLINE void finish_as(const pod__amx_product *m, const pod__amx_tile *t, int n, int64_t filter,
                      bool keeps_sums)
{
    const int64_t columns = m->width - filter;
    const __mmask32 mask = columns >= SQUARE ? UINT32_MAX : (1u << columns) - 1u;
    sums s[2] = {
        {{_mm512_setzero_ps(), _mm512_setzero_ps()}, {_mm512_setzero_ps(), _mm512_setzero_ps()}}};
    s[1] = s[0];
    for (int i = 0; i < n; i++)
        finish_rows(m, &t[i], m->square + (i * POD__AMX_ROWS + t[i].first) * SQUARE, filter, mask,
                    keeps_sums, &s[i]);
    if (!keeps_sums) return;
    for (int i = 0; i < 2; i++) {
        s[0].sum[i] = _mm512_add_ps(s[0].sum[i], s[1].sum[i]);
        s[0].sum_sq[i] = _mm512_add_ps(s[0].sum_sq[i], s[1].sum_sq[i]);
    }
    add_sums(m, filter, &s[0]);
}

/* One tile or two (tall) by 16 filters or 32 (wide). */
INLINE void square_as(const pod__amx_product *m, const pod__amx_tile *t, int64_t filter, bool tall,
                      bool wide)
{
    const int64_t step = wide ? 2 * POD__AMX_TILE_BYTES : POD__AMX_TILE_BYTES;
    const char *b = m->weights + filter / 16 * m->n_chunks * POD__AMX_TILE_BYTES;
    const char *upper = t[0].a, *lower = t[tall ? 1 : 0].a;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t i = 0; i < m->n_chunks; i++, b += step) {
        const int64_t at = m->chunk_at[i];
        _tile_loadd(6, b, POD__AMX_LINE_BYTES);
        _tile_loadd(4, upper + at, m->pitch);
        _tile_dpbf16ps(0, 4, 6);
        if (wide) {
            _tile_loadd(7, b + POD__AMX_TILE_BYTES, POD__AMX_LINE_BYTES);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (tall) {
            _tile_loadd(5, lower + at, m->pitch);
            _tile_dpbf16ps(2, 5, 6);
            if (wide) _tile_dpbf16ps(3, 5, 7);
        }
    }
    const int64_t row_bytes = SQUARE * (int64_t)sizeof(float);
    _tile_stored(0, m->square, row_bytes);
    if (wide) _tile_stored(1, m->square + 16, row_bytes);
    if (tall) _tile_stored(2, m->square + 16 * SQUARE, row_bytes);
    if (tall && wide) _tile_stored(3, m->square + 16 * SQUARE + 16, row_bytes);
}

static void run_square(const pod__amx_product *m, const pod__amx_tile *t, int n, int64_t filter)
{
    const bool wide = m->width - filter > 16;
    if (n == 2)
        wide ? square_as(m, t, filter, true, true) : square_as(m, t, filter, true, false);
    else
        wide ? square_as(m, t, filter, false, true) : square_as(m, t, filter, false, false);
    if (m->fused & POD_CONV_SUMS)
        finish_as(m, t, n, filter, true);
    else
        finish_as(m, t, n, filter, false);
}

void pod__amx_multiply(const pod__amx_product *m)
{
    pod_amx_order();
    if (m->tiles_outside) {
        for (int64_t i = 0; i < m->n_tiles; i += 2)
            for (int64_t filter = 0; filter < m->width; filter += SQUARE)
                run_square(m, m->tiles + i, m->n_tiles - i > 1 ? 2 : 1, filter);
        return;
    }
    for (int64_t filter = 0; filter < m->width; filter += SQUARE)
        for (int64_t i = 0; i < m->n_tiles; i += 2)
            run_square(m, m->tiles + i, m->n_tiles - i > 1 ? 2 : 1, filter);
}
