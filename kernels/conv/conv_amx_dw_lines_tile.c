/* Tiles of conv_amx_dw_lines.c: how they are laid and multiplied. */
#include "kernels/base/tile_amx.h"
#include "kernels/conv/conv_amx_dw_lines.h"

/* ---- turned --------------------------------------------------------------------------------- */

/* Channels [c, c + 8) of the pixels i, 8 + i, 16 + i, 24 + i. */
static inline __m512i four_pixels(const pod_bf16 *const pixel[32], int i, int64_t c)
{
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(pixel[i] + c)));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(pixel[8 + i] + c)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(pixel[16 + i] + c)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(pixel[24 + i] + c)), 3);
}

/* 8 channels of 32 pixels to 8 rows: in each quarter of a register an 8x8 matrix turns. */
static inline void turn_8(const pod_bf16 *const pixel[32], int64_t c, pod_bf16 *to)
{
    __m512i pairs[8], fours[8];
    for (int i = 0; i < 4; i++) {
        const __m512i even = four_pixels(pixel, 2 * i, c), odd = four_pixels(pixel, 2 * i + 1, c);
        pairs[i] = _mm512_unpacklo_epi16(even, odd); /* channels 0-3 */
        pairs[4 + i] = _mm512_unpackhi_epi16(even, odd);
    }
    for (int i = 0; i < 4; i++) { /* fours[2 i]: channels 2 i and 2 i + 1 of pixels 0-3 */
        const __m512i *p = pairs + i / 2 * 4;
        fours[2 * i] =
            i % 2 ? _mm512_unpackhi_epi32(p[0], p[1]) : _mm512_unpacklo_epi32(p[0], p[1]);
        fours[2 * i + 1] =
            i % 2 ? _mm512_unpackhi_epi32(p[2], p[3]) : _mm512_unpacklo_epi32(p[2], p[3]);
    }
    for (int i = 0; i < 4; i++) {
        _mm512_store_si512(to + (2 * i) * POD__DW_ROW,
                           _mm512_unpacklo_epi64(fours[2 * i], fours[2 * i + 1]));
        _mm512_store_si512(to + (2 * i + 1) * POD__DW_ROW,
                           _mm512_unpackhi_epi64(fours[2 * i], fours[2 * i + 1]));
    }
}

void pod__dw_turn_lines(pod__dw_pixels *pixels, int64_t n_lines, int64_t m_tiles, int64_t plane,
                        pod_bf16 *turned)
{
    for (int64_t l = 0; l < n_lines; l++, turned += POD__DW_LINE_TILE) {
        for (int64_t m = 0; m < m_tiles; m++) {
            turn_8(pixels->at, 16 * m, turned + m * plane);
            turn_8(pixels->at, 16 * m + 8, turned + m * plane + 8 * POD__DW_ROW);
        }
        for (int i = 0; i < 32; i++) pixels->at[i] += pixels->step[i];
    }
}

/* ---- paired --------------------------------------------------------------------------------- */

static inline __m512i interleaved(__m512i pixels)
{
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, pixels);
}

static inline __m512i two_pixels(const pod_bf16 *first, int64_t pitch)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)first)),
                              _mm256_loadu_si256((const void *)(first + pitch)), 1);
}

/* With pixels that lie close: one load takes two. */
static void pair_narrow(const pod__dw_pairs *p, pod_bf16 *even)
{
    const int64_t row = p->g * POD__DW_ROW;
    pod_bf16 *odd = even + (POD__DW_PAIRS + p->g) * POD__DW_ROW;
    const pod_bf16 *from = p->staged;
    for (int64_t j = 0; j < p->n_pairs; j++, from += 32) {
        _mm512_store_si512(even + j * row, interleaved(_mm512_loadu_si512(from)));
        _mm512_store_si512(odd + j * row, interleaved(_mm512_loadu_si512(from + 16)));
    }
    _mm512_store_si512(even + p->n_pairs * row, interleaved(_mm512_loadu_si512(from)));
}

static void pair_wide(const pod__dw_pairs *p, const pod_bf16 *from, pod_bf16 *even)
{
    const int64_t row = p->g * POD__DW_ROW, pitch = p->width;
    pod_bf16 *odd = even + (POD__DW_PAIRS + p->g) * POD__DW_ROW;
    for (int64_t j = 0; j < p->n_pairs; j++, from += 2 * pitch) {
        _mm512_store_si512(even + j * row, interleaved(two_pixels(from, pitch)));
        _mm512_store_si512(odd + j * row, interleaved(two_pixels(from + pitch, pitch)));
    }
    _mm512_store_si512(even + p->n_pairs * row, interleaved(two_pixels(from, pitch)));
}

void pod__dw_pair_line(const pod__dw_pairs *p, pod_bf16 *paired)
{
    if (p->width == 16) {
        pair_narrow(p, paired);
        return;
    }
    for (int64_t t = 0; t < p->n_tiles; t++)
        pair_wide(p, p->staged + 16 * t, paired + t * p->plane);
}

/* ---- multiplied ----------------------------------------------------------------------------- */

#define LOAD(tile, from) _tile_loadd(tile, from, POD_AMX_ROW_BYTES)

/* Line h of x with the lines h, h + 1 and h + 2 of dy, of which only the last is new. */
#define LINE(h, low, middle, high, x)                  \
    do {                                               \
        LOAD(x, b + (h)*s->line);                      \
        LOAD(high, a + ((h) + 2) * POD__DW_LINE_TILE); \
        _tile_dpbf16ps(2, low, x);                     \
        _tile_dpbf16ps(1, middle, x);                  \
        _tile_dpbf16ps(0, high, x);                    \
    } while (0)

static void multiply_strip(const pod__dw_strips *s, const pod_bf16 *a, const pod_bf16 *b)
{
    int64_t h = 0;
    LOAD(3, a);
    LOAD(4, a + POD__DW_LINE_TILE);
    for (; h + 3 <= s->n_lines; h += 3) {
        LINE(h, 3, 4, 5, 6);
        LINE(h + 1, 4, 5, 3, 7);
        LINE(h + 2, 5, 3, 4, 6);
    }
    if (h < s->n_lines) LINE(h, 3, 4, 5, 7);
    if (h + 1 < s->n_lines) LINE(h + 1, 4, 5, 3, 6);
}

void pod__dw_multiply_strips(const pod__dw_strips *s)
{
    const size_t ld = (size_t)s->ld * sizeof(float);
    pod_amx_order();
    if (s->adds) {
        _tile_loadd(0, s->sums[0], ld);
        _tile_loadd(1, s->sums[1], ld);
        _tile_loadd(2, s->sums[2], ld);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
    }
    for (int64_t i = 0; i < s->n_strips; i++)
        multiply_strip(s, s->turned + i * (s->n_lines + 2) * POD__DW_LINE_TILE,
                       s->paired + i * s->n_lines * s->line);
    _tile_stored(0, s->sums[0], ld);
    _tile_stored(1, s->sums[1], ld);
    _tile_stored(2, s->sums[2], ld);
}
