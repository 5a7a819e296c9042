/* Filters as tiles of B for the AMX convolution. A chunk holds 32 values of one row of a window,
 * zeros beyond its end, or, stacked, 16 values of each of two rows; the input gradient's row is
 * (taps, K), the last tap first. */
#include <immintrin.h>

#include "kernels/base/arith.h"
#include "kernels/conv/amx/window.h"

static int64_t n_tile_columns(const pod__amx_view *v) { return (v->width + 15) / 16; }

size_t pod__amx_weight_bytes(const pod__amx_view *v)
{
    return (size_t)(n_tile_columns(v) * v->n_chunks) * POD__AMX_TILE_BYTES;
}

static const void *element(pod_dtype type, const void *w, int64_t at)
{
    return (const char *)w + at * (int64_t)pod_dtype_bytes(type);
}

POD_INLINE __mmask32 first(int64_t n) { return n >= 32 ? UINT32_MAX : (1u << n) - 1u; }

/* n <= 32 values as bfloat16, zeros behind them. */
POD_INLINE __m512i load_32(pod_dtype type, const void *from, int64_t n)
{
    if (type == POD_BF16) return _mm512_maskz_loadu_epi16(first(n), from);
    const __m512 low = _mm512_maskz_loadu_ps((__mmask16)first(n), from);
    const __m512 high =
        _mm512_maskz_loadu_ps((__mmask16)(first(n) >> 16), (const float *)from + 16);
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* Where value i of a chunk stands: row r of the window, value e of that row. */
typedef struct place {
    int64_t r, e;
} place;

POD_INLINE place place_of(const pod__amx_view *v, int64_t chunk, int64_t i)
{
    if (v->stacked) return (place){chunk / v->s * 2 + i / v->c, chunk % v->s * v->c + i % v->c};
    return (place){chunk / v->chunks_row, chunk % v->chunks_row * POD__AMX_CHUNK + i};
}

/* ---- forward: a filter's row (S C) is a column of the tile ---------------------------------- */

/* (16, 16) to its transpose. */
POD_INLINE void transpose_dwords(const __m512i in[16], char *tile)
{
    __m512i a[16], b[16];
    for (int i = 0; i < 16; i += 4) { /* lane l: rows i .. i + 3 of column 4 l + number */
        const __m512i low01 = _mm512_unpacklo_epi32(in[i], in[i + 1]);
        const __m512i low23 = _mm512_unpacklo_epi32(in[i + 2], in[i + 3]);
        const __m512i high01 = _mm512_unpackhi_epi32(in[i], in[i + 1]);
        const __m512i high23 = _mm512_unpackhi_epi32(in[i + 2], in[i + 3]);
        a[i] = _mm512_unpacklo_epi64(low01, low23);
        a[i + 1] = _mm512_unpackhi_epi64(low01, low23);
        a[i + 2] = _mm512_unpacklo_epi64(high01, high23);
        a[i + 3] = _mm512_unpackhi_epi64(high01, high23);
    }
    for (int i = 0; i < 4; i++) { /* columns i and 8 + i, then 4 + i and 12 + i: 8 rows each */
        b[i] = _mm512_shuffle_i32x4(a[i], a[4 + i], 0x88);
        b[4 + i] = _mm512_shuffle_i32x4(a[i], a[4 + i], 0xdd);
        b[8 + i] = _mm512_shuffle_i32x4(a[8 + i], a[12 + i], 0x88);
        b[12 + i] = _mm512_shuffle_i32x4(a[8 + i], a[12 + i], 0xdd);
    }
    for (int i = 0; i < 8; i++) {
        char *to = tile + i * POD__AMX_LINE_BYTES;
        _mm512_store_si512((void *)to, _mm512_shuffle_i32x4(b[i], b[8 + i], 0x88));
        _mm512_store_si512((void *)(to + 8 * POD__AMX_LINE_BYTES),
                           _mm512_shuffle_i32x4(b[i], b[8 + i], 0xdd));
    }
}

/* Values [i, i + n) of a chunk, which lie in one row of a filter, zeros behind the row's end. */
POD_INLINE __m512i filter_values(const pod__amx_view *v, pod_dtype from, const void *w,
                                 int64_t filter, place at, int64_t n)
{
    const int64_t row = v->s * v->c;
    if (at.r >= v->r) return _mm512_setzero_si512();
    return load_32(from, element(from, w, (filter * v->r + at.r) * row + at.e),
                   pod_min(n, row - at.e));
}

POD_INLINE void pack_forward(const pod__amx_view *v, pod_dtype from, const void *w, int64_t filter,
                             int64_t chunk, char *tile)
{
    const int64_t n = v->stacked ? v->c : POD__AMX_CHUNK, n_filters = v->width - filter;
    const place at = place_of(v, chunk, 0), below = place_of(v, chunk, n);
    __m512i values[16];
    for (int64_t i = 0; i < 16; i++) {
        values[i] = _mm512_setzero_si512();
        if (i >= n_filters) continue;
        values[i] = filter_values(v, from, w, filter + i, at, n);
        if (v->stacked) {
            const __m512i lower = filter_values(v, from, w, filter + i, below, n);
            values[i] = _mm512_inserti64x4(values[i], _mm512_castsi512_si256(lower), 1);
        }
    }
    transpose_dwords(values, tile);
}

POD_INLINE void pack_forward_as(const pod__amx_view *v, pod_dtype from, const void *w, char *packed)
{
    const int64_t columns = n_tile_columns(v);
    for (int64_t column = 0; column < columns; column += 2)
        for (int64_t chunk = 0; chunk < v->n_chunks; chunk++)
            for (int64_t i = column; i < pod_min(column + 2, columns); i++) {
                pack_forward(v, from, w, 16 * i, chunk, packed);
                packed += POD__AMX_TILE_BYTES;
            }
}

/* ---- input gradient: rows of the tile are pairs of filters ---------------------------------- */

/* Where the values of a chunk meet (K, R, S, C) at C = 0; NULL: zeros. */
static void find_values(const pod_conv_shape *s, const pod__amx_view *v, pod_dtype from,
                        const void *w, int64_t chunk, const char *at[POD__AMX_CHUNK])
{
    const int64_t n = v->stacked ? v->c : POD__AMX_CHUNK;
    for (int64_t begin = 0; begin < POD__AMX_CHUNK; begin += n) {
        const place top = place_of(v, chunk, begin);
        const int64_t tap_r = v->rows.tap + (v->r - 1 - top.r) * s->stride;
        int64_t tap = top.e / v->c, k = top.e % v->c;
        for (int64_t i = begin; i < begin + n; i++) {
            const int64_t tap_s = v->columns.tap + (v->s - 1 - tap) * s->stride;
            at[i] = top.r < v->r && tap < v->s
                        ? element(from, w, ((k * s->r + tap_r) * s->s + tap_s) * s->c)
                        : NULL;
            if (++k == v->c) k = 0, tap++;
        }
    }
}

/* n <= 16 columns of two filters, woven. */
POD_INLINE __m512i woven(pod_dtype from, const char *even, const char *odd, int64_t n)
{
    const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i weave = _mm512_or_si512(
        number, _mm512_slli_epi32(_mm512_add_epi32(number, _mm512_set1_epi32(16)), 16));
    const __mmask16 mask = (__mmask16)first(n);
    const __mmask16 low = even ? mask : 0, high = odd ? mask : 0;
    if (from == POD_BF16) {
        const __m256i x = _mm256_maskz_loadu_epi16(low, even);
        const __m256i y = _mm256_maskz_loadu_epi16(high, odd);
        return _mm512_permutexvar_epi16(weave, _mm512_inserti64x4(_mm512_castsi256_si512(x), y, 1));
    }
    const __m512 x = _mm512_maskz_loadu_ps(low, even), y = _mm512_maskz_loadu_ps(high, odd);
    return _mm512_permutexvar_epi16(weave, (__m512i)_mm512_cvtne2ps_pbh(y, x));
}

POD_INLINE void pack_grad_chunk(const pod__amx_view *v, pod_dtype from,
                                const char *const at[POD__AMX_CHUNK], int64_t chunk, bool streams,
                                char *packed)
{
    const int64_t columns = n_tile_columns(v), bytes = 16 * (int64_t)pod_dtype_bytes(from);
    for (int64_t i = 0; i < columns; i++) {
        const int64_t wide = i / 2 * 2 + 1 < columns ? 2 : 1;
        char *tile =
            packed + (i / 2 * 2 * v->n_chunks + chunk * wide + i % 2) * POD__AMX_TILE_BYTES;
        for (int64_t pair = 0; pair < POD__AMX_CHUNK / 2; pair++) {
            const char *even = at[2 * pair], *odd = at[2 * pair + 1];
            const __m512i pairs = woven(from, even ? even + i * bytes : NULL,
                                        odd ? odd + i * bytes : NULL, v->width - 16 * i);
            char *to = tile + pair * POD__AMX_LINE_BYTES;
            if (streams)
                _mm512_stream_si512((void *)to, pairs);
            else
                _mm512_store_si512((void *)to, pairs);
        }
    }
}

/* Chunks of the same filters one after the other, the first tap first: so the filters are read from
 * their beginnings to their ends. */
POD_INLINE void pack_grad_as(const pod_conv_shape *s, const pod__amx_view *v, pod_dtype from,
                             const void *w, bool streams, char *packed)
{
    const char *at[POD__AMX_CHUNK];
    const bool whole = !v->stacked && v->c % POD__AMX_CHUNK == 0;
    const int64_t apart = whole ? v->c / POD__AMX_CHUNK : 1;
    for (int64_t i = 0; i < apart; i++)
        for (int64_t chunk = v->n_chunks - apart + i; chunk >= 0; chunk -= apart) {
            find_values(s, v, from, w, chunk, at);
            pack_grad_chunk(v, from, at, chunk, streams, packed);
        }
}

/* Filters that the second cache would not hold go past the caches: a gain here, but none where the
 * forward pass reads them right away. */
static void pack_grad_view(const pod_conv_shape *s, const pod__amx_view *v, pod_dtype from,
                           const void *w, char *packed)
{
    const size_t many = 1024 * 1024;
    if (from == POD_BF16) {
        pack_grad_as(s, v, POD_BF16, w, false, packed);
    } else if (pod__amx_weight_bytes(v) < many) {
        pack_grad_as(s, v, POD_F32, w, false, packed);
    } else {
        pack_grad_as(s, v, POD_F32, w, true, packed);
        _mm_sfence();
    }
}

void pod__amx_pack_view(const pod_conv_call *call, const pod__amx_view *v, pod_dtype from,
                        const void *w, char *packed)
{
    if (call->pass == POD_CONV_INPUT_GRAD)
        pack_grad_view(&call->shape, v, from, w, packed);
    else if (from == POD_BF16)
        pack_forward_as(v, POD_BF16, w, packed);
    else
        pack_forward_as(v, POD_F32, w, packed);
}
