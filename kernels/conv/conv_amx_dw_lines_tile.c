/* Tiles of conv_amx_dw_lines.c: how they are laid and multiplied. */
#include "kernels/base/tile_amx.h"
#include "kernels/conv/conv_amx_dw_lines.h"

/* ---- turned --------------------------------------------------------------------------------- */

#define INLINE static inline __attribute__((always_inline))

INLINE __m128i pixel(const pod__dw_pixels *p, bool close, int i, int64_t c)
{
    const pod_bf16 *at = close ? p->at[0] + i * p->pitch : p->at[i];
    return _mm_loadu_si128((const void *)(at + c));
}

/* Channels [c, c + 8) of the pixels i, 8 + i, 16 + i, 24 + i. */
INLINE __m512i four_pixels(const pod__dw_pixels *p, bool close, int i, int64_t c)
{
    __m512i v = _mm512_castsi128_si512(pixel(p, close, i, c));
    v = _mm512_inserti32x4(v, pixel(p, close, 8 + i, c), 1);
    v = _mm512_inserti32x4(v, pixel(p, close, 16 + i, c), 2);
    return _mm512_inserti32x4(v, pixel(p, close, 24 + i, c), 3);
}

/* 8 channels of 32 pixels to 8 rows: in each quarter of a register an 8x8 matrix turns. */
INLINE void turn_8(const pod__dw_pixels *pixels, bool close, int64_t c, pod_bf16 *to)
{
    __m512i pairs[8], fours[8];
    for (int i = 0; i < 4; i++) {
        const __m512i even = four_pixels(pixels, close, 2 * i, c);
        const __m512i odd = four_pixels(pixels, close, 2 * i + 1, c);
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

INLINE void turn_line(const pod__dw_pixels *pixels, bool close, int64_t m_tiles, int64_t plane,
                      pod_bf16 *turned)
{
    for (int64_t c = 0; c < 16 * m_tiles; c += 16) {
        pod_bf16 *to = turned + c / 16 * plane;
        turn_8(pixels, close, c, to);
        turn_8(pixels, close, c + 8, to + 8 * POD__DW_ROW);
    }
}

void pod__dw_turn_lines(pod__dw_pixels *pixels, int64_t n_lines, int64_t m_tiles, int64_t plane,
                        pod_bf16 *turned)
{
    for (int64_t l = 0; l < n_lines; l++, turned += POD__DW_LINE_TILE) {
        if (pixels->pitch > 0)
            turn_line(pixels, true, m_tiles, plane, turned);
        else
            turn_line(pixels, false, m_tiles, plane, turned);
        for (int i = 0; i < 32; i++) pixels->at[i] += pixels->step[i];
    }
}

/* ---- paired --------------------------------------------------------------------------------- */

INLINE __m512i interleaved(__m512i pixels)
{
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, pixels);
}

INLINE __m512i two_pixels(const pod_bf16 *x, int64_t pitch)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)x)),
                              _mm256_loadu_si256((const void *)(x + pitch)), 1);
}

/* The columns q and q + 1 of a line of 16 channels, where either may be outside. */
INLINE __m512i two_at_border(const pod__dw_pairs *p, int64_t q)
{
    const bool first = q >= 0 && q < p->w, second = q + 1 >= 0 && q + 1 < p->w;
    __m512i v = _mm512_setzero_si512();
    if (first) v = _mm512_inserti64x4(v, _mm256_loadu_si256((const void *)(p->x + q * 16)), 0);
    if (second)
        v = _mm512_inserti64x4(v, _mm256_loadu_si256((const void *)(p->x + (q + 1) * 16)), 1);
    return v;
}

/* n pairs from column q on, of 16 channels: one load takes two pixels. */
INLINE void pair_narrow(const pod__dw_pairs *p, int64_t q, int64_t n, pod_bf16 *to)
{
    const int64_t row = p->g * POD__DW_ROW;
    int64_t begin = q < 0 ? (1 - q) / 2 : 0, end = q < p->w ? (p->w - q) / 2 : 0;
    begin = begin < n ? begin : n, end = end < n ? end : n;
    if (end < begin) end = begin;
    for (int64_t j = 0; j < begin; j++)
        _mm512_store_si512(to + j * row, interleaved(two_at_border(p, q + 2 * j)));
    for (int64_t j = begin; j < end; j++)
        _mm512_store_si512(to + j * row, interleaved(_mm512_loadu_si512(p->x + (q + 2 * j) * 16)));
    for (int64_t j = end; j < n; j++)
        _mm512_store_si512(to + j * row, interleaved(two_at_border(p, q + 2 * j)));
}

/* All columns are inside. */
static void pair_wide(const pod__dw_pairs *p, const pod_bf16 *from, pod_bf16 *even)
{
    const int64_t row = p->g * POD__DW_ROW, pitch = p->pitch;
    pod_bf16 *odd = even + (POD__DW_PAIRS + p->g) * POD__DW_ROW;
    for (int64_t j = 0; j < p->n_pairs; j++, from += 2 * pitch) {
        _mm512_store_si512(even + j * row, interleaved(two_pixels(from, pitch)));
        _mm512_store_si512(odd + j * row, interleaved(two_pixels(from + pitch, pitch)));
    }
    _mm512_store_si512(even + p->n_pairs * row, interleaved(two_pixels(from, pitch)));
}

void pod__dw_pair_line(const pod__dw_pairs *p, pod_bf16 *paired)
{
    if (p->pitch == 16) {
        pair_narrow(p, p->column, p->n_pairs + 1, paired);
        pair_narrow(p, p->column + 1, p->n_pairs, paired + (POD__DW_PAIRS + p->g) * POD__DW_ROW);
        return;
    }
    for (int64_t t = 0; t < p->n_tiles; t++)
        pair_wide(p, p->x + p->column * p->pitch + 16 * t, paired + t * p->plane);
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
