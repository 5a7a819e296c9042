/* Outputs of amx_few/pairs.c that are not numbers, and how its filters are packed. */
#include <immintrin.h>
#include <string.h>

#include "kernels/conv/amx_few/pairs.h"

enum { C = 16, PIXELS = 32, LINE = POD__AMX_LINE_BYTES, TILE = POD__AMX_TILE_BYTES };

/* Eight rows of a tile, pairs of 16 values for 16 filters: tap (r, s), and the half of a row of A
 * that meets it. */
static const char *taps(const char *weights, int64_t r, int64_t s)
{
    const bool odd = s == 0, second = s == 2; /* of even outputs: taps 1 and 2; of odd ones: 0, 1 */
    return weights + (2 * r + odd) * TILE + second * (TILE / 2);
}

/* The image's 16 values, changed as the call wants it. */
static __m256i pixel_of(const pod_conv_call *call, int64_t line, int64_t pixel)
{
    const __m256i x =
        _mm256_loadu_si256((const void *)((const pod_bf16 *)call->a + (line * PIXELS + pixel) * C));
    if (!(call->fused & POD_CONV_AFFINE_X)) return x;
    __m512 v = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
    v = _mm512_fmadd_ps(v, _mm512_loadu_ps(call->x_scale), _mm512_loadu_ps(call->x_shift));
    if (call->fused & POD_CONV_RELU_X) v = _mm512_max_ps(_mm512_setzero_ps(), v);
    return (__m256i)_mm512_cvtneps_pbh(v);
}

static __m512 window_sum(const pod__pairs_run *r, int64_t line, int64_t pixel)
{
    __m512 sum = _mm512_setzero_ps();
    for (int64_t i = 0; i < 9; i++) {
        const int64_t at = line + i / 3 - 1, w = pixel + i % 3 - 1, top = line - line % r->h;
        if (at < top || at >= top + r->h || w < 0 || w >= PIXELS) continue;
        int32_t pairs[C / 2];
        _mm256_storeu_si256((void *)pairs, pixel_of(r->call, at, w));
        const char *weights = taps(r->weights, i / 3, i % 3);
        for (int64_t k = 0; k < C / 2; k++)
            sum = _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32(pairs[k]),
                                   (__m512bh)_mm512_load_si512(weights + k * LINE));
    }
    return sum;
}

void pod__pairs_fix_up(const pod__pairs_run *r, int64_t line, float *values)
{
    for (int64_t i = 0; i < PIXELS; i++)
        _mm512_store_ps(values + i % 2 * (TILE / 4) + i / 2 * C, window_sum(r, line, i));
}

/* ---- filters -------------------------------------------------------------------------------- */

size_t pod__few_pairs_packed_bytes(void) { return POD__PAIRS_WEIGHTS * TILE; }

static pod_bf16 weight(const pod_conv_call *call, pod_dtype from, const void *w, int64_t filter,
                       int64_t r, int64_t s, int64_t c)
{
    const int64_t at = call->pass == POD_CONV_FORWARD ? ((filter * 3 + r) * 3 + s) * C + c
                                                      : ((c * 3 + 2 - r) * 3 + 2 - s) * C + filter;
    return from == POD_BF16 ? ((const pod_bf16 *)w)[at] : pod_bf16_from_f32(((const float *)w)[at]);
}

/* Tap (r, s), where there is a row r of the window, meets a half of the tile's values. */
static void pack_taps(const pod_conv_call *call, pod_dtype from, const void *w, int64_t r,
                      int64_t s, int64_t half, char *tile)
{
    if (r < 0 || r > 2) return;
    pod_bf16 *to = (pod_bf16 *)(void *)(tile + half * (TILE / 2));
    for (int64_t filter = 0; filter < C; filter++)
        for (int64_t c = 0; c < C; c++)
            to[c / 2 * 32 + filter * 2 + c % 2] = weight(call, from, w, filter, r, s, c);
}

void pod__few_pairs_pack(const pod_conv_call *call, pod_dtype from, const void *w, void *packed)
{
    char *to = memset(packed, 0, pod__few_pairs_packed_bytes());
    for (int64_t r = 0; r < 3; r++)
        for (int64_t odd = 0; odd < 2; odd++)
            for (int64_t half = 0; half < 2; half++)
                pack_taps(call, from, w, r, 1 - odd + half, half, to + (2 * r + odd) * TILE);
    for (int64_t line = 0; line < POD__PAIRS_LINES; line++)
        for (int64_t behind = 0; behind < 2; behind++)
            for (int64_t half = 0; half < 2; half++)
                pack_taps(call, from, w, 2 - line + half, 2 * behind, half,
                          to + (POD__PAIRS_SIDE + 2 * line + behind) * TILE);
}
