/* Filters as tiles of B for the AMX convolution. A chunk holds 32 values of one row of a window,
 * zeros beyond its end, or, stacked, 16 values of each of two rows; the input gradient's row is
 * (taps, K), the last tap first. */
#include <immintrin.h>
#include <string.h>

#include "kernels/conv/conv_amx.h"

#define INLINE static inline __attribute__((always_inline))

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t n_tile_columns(const pod__amx_view *v) { return (v->width + 15) / 16; }

size_t pod__amx_weight_bytes(const pod__amx_view *v)
{
    return (size_t)(n_tile_columns(v) * v->n_chunks) * POD__AMX_TILE_BYTES;
}

static const void *element(pod_dtype type, const void *w, int64_t at)
{
    return (const char *)w + at * (int64_t)pod_dtype_bytes(type);
}

INLINE __mmask32 first(int64_t n) { return n >= 32 ? UINT32_MAX : (1u << n) - 1u; }

/* n <= 32 values as bfloat16, zeros behind them. */
INLINE __m512i load_32(pod_dtype type, const void *from, int64_t n)
{
    if (type == POD_BF16) return _mm512_maskz_loadu_epi16(first(n), from);
    const __m512 low = _mm512_maskz_loadu_ps((__mmask16)first(n), from);
    const __m512 high =
        _mm512_maskz_loadu_ps((__mmask16)(first(n) >> 16), (const float *)from + 16);
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* n <= 16 values as the low halves of 32-bit lanes. */
INLINE __m512i load_16(pod_dtype type, const void *from, int64_t n)
{
    const __mmask16 mask = (__mmask16)first(n);
    if (type == POD_BF16) return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
    return _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from)));
}

/* Where value i of a chunk stands: row r of the window, value e of that row. */
typedef struct place {
    int64_t r, e;
} place;

INLINE place place_of(const pod__amx_view *v, int64_t chunk, int64_t i)
{
    if (v->stacked) return (place){chunk / v->s * 2 + i / v->c, chunk % v->s * v->c + i % v->c};
    return (place){chunk / v->chunks_row, chunk % v->chunks_row * POD__AMX_CHUNK + i};
}

/* Values [i, i + n) of a chunk, which lie in one row of a filter, zeros behind the row's end. */
INLINE __m512i filter_values(const pod__amx_view *v, pod_dtype from, const void *w, int64_t filter,
                             int64_t chunk, int64_t i, int64_t n)
{
    const place at = place_of(v, chunk, i);
    const int64_t row = v->s * v->c;
    if (at.r >= v->r) return _mm512_setzero_si512();
    return load_32(from, element(from, w, (filter * v->r + at.r) * row + at.e),
                   smaller(n, row - at.e));
}

/* Forward: a filter's row (S C) is a column of the tile. */
static void pack_forward(const pod__amx_view *v, pod_dtype from, const void *w, int64_t filter,
                         int64_t chunk, char *tile)
{
    const int64_t n = v->stacked ? v->c : POD__AMX_CHUNK;
    const __m512i down =
        _mm512_mullo_epi32(_mm512_set1_epi32(16),
                           _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    memset(tile, 0, POD__AMX_TILE_BYTES);
    for (int64_t i = 0; i < smaller(16, v->width - filter); i++) {
        __m512i values = filter_values(v, from, w, filter + i, chunk, 0, n);
        if (v->stacked) {
            const __m512i below = filter_values(v, from, w, filter + i, chunk, n, n);
            values = _mm512_inserti64x4(values, _mm512_castsi512_si256(below), 1);
        }
        _mm512_i32scatter_epi32(tile + 4 * i, down, values, 4);
    }
}

/* This value of the view's window meets these filters' values: (K, R, S, C) at C = column. */
static __m512i grad_row(const pod_conv_shape *s, const pod__amx_view *v, pod_dtype from,
                        const void *w, place i, int64_t column)
{
    if (i.r >= v->r || i.e >= v->s * v->c) return _mm512_setzero_si512();
    const int64_t tap_r = v->rows.tap + (v->r - 1 - i.r) * s->stride;
    const int64_t tap_s = v->columns.tap + (v->s - 1 - i.e / v->c) * s->stride, k = i.e % v->c;
    const int64_t at = ((k * s->r + tap_r) * s->s + tap_s) * s->c + column;
    return load_16(from, element(from, w, at), smaller(16, s->c - column));
}

static void pack_grad(const pod_conv_shape *s, const pod__amx_view *v, pod_dtype from,
                      const void *w, int64_t column, int64_t chunk, char *tile)
{
    for (int64_t pair = 0; pair < POD__AMX_CHUNK / 2; pair++) {
        const place at = place_of(v, chunk, 2 * pair), next = place_of(v, chunk, 2 * pair + 1);
        const __m512i even = grad_row(s, v, from, w, at, column);
        const __m512i odd = grad_row(s, v, from, w, next, column);
        _mm512_storeu_si512(tile + pair * POD__AMX_LINE_BYTES,
                            _mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
    }
}

void pod__amx_pack_view(const pod_conv_call *call, const pod__amx_view *v, pod_dtype from,
                        const void *w, char *packed)
{
    for (int64_t column = 0; column < n_tile_columns(v); column += 2)
        for (int64_t chunk = 0; chunk < v->n_chunks; chunk++)
            for (int64_t i = column; i < smaller(column + 2, n_tile_columns(v)); i++) {
                if (call->pass == POD_CONV_FORWARD)
                    pack_forward(v, from, w, 16 * i, chunk, packed);
                else
                    pack_grad(&call->shape, v, from, w, 16 * i, chunk, packed);
                packed += POD__AMX_TILE_BYTES;
            }
}
