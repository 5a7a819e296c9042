/* The panels of amx_dw/1x1.h, packed in AVX-512. */
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/simd/avx512.h"
#include "kernels/conv/amx_dw/1x1.h"
#include "kernels/conv/amx_dw/transpose.h"

#include <immintrin.h>

enum {
    SIDE = POD__DW_PANEL,
    TILE = 16 * SIDE /* elements */
};

POD_INLINE __mmask32 first(int64_t n) { return n >= SIDE ? UINT32_MAX : (1u << n) - 1u; }

/* ---- pixels --------------------------------------------------------------------------------- */

/* Where the windows of 32 pixels see x; those behind the last are some pixel of it. */
static void place_pixels(const pod_conv_shape *s, int64_t pixel, int64_t *at)
{
    pixel = pod_min(pixel, s->n * s->p * s->q - 1);
    int64_t q = pixel % s->q, p = pixel / s->q % s->p, n = pixel / s->q / s->p;
    for (int i = 0; i < SIDE; i++) {
        at[i] = ((n * s->h + p * s->stride) * s->w + q * s->stride) * s->c;
        if (q + 1 < s->q)
            q++;
        else if (p + 1 < s->p)
            q = 0, p++;
        else if (n + 1 < s->n)
            q = 0, p = 0, n++;
    }
}

/* One step of a panel of a side: n_pixels and n_channels of it are there. */
typedef struct place {
    const pod__dw_side *side;
    int64_t pixel, n_pixels, c, n_channels;
    const int64_t *row_at;
} place;

/* ---- staged --------------------------------------------------------------------------------- */

/* Channels of even and of odd number apart: each is a float32 where it stands. */
typedef struct change {
    __m512 scale[2], shift[2], floor;
} change;

static change change_of(const place *p)
{
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    const __mmask32 mask = first(p->n_channels);
    const __mmask16 low = (__mmask16)mask, high = (__mmask16)(mask >> 16);
    const float *scale = p->side->scale + p->c, *shift = p->side->shift + p->c;
    const __m512 scales[2] = {_mm512_maskz_loadu_ps(low, scale),
                              _mm512_maskz_loadu_ps(high, scale + 16)};
    const __m512 shifts[2] = {_mm512_maskz_loadu_ps(low, shift),
                              _mm512_maskz_loadu_ps(high, shift + 16)};
    return (change){{_mm512_permutex2var_ps(scales[0], even, scales[1]),
                     _mm512_permutex2var_ps(scales[0], odd, scales[1])},
                    {_mm512_permutex2var_ps(shifts[0], even, shifts[1]),
                     _mm512_permutex2var_ps(shifts[0], odd, shifts[1])},
                    _mm512_set1_ps(p->side->relu ? 0.0f : -__builtin_inff())};
}

/* max(floor, v) is v where that is a NaN. */
POD_INLINE __m512i changed(__m512i x, const change *c)
{
    const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i together = _mm512_or_si512(
        number, _mm512_slli_epi32(_mm512_add_epi32(number, _mm512_set1_epi32(16)), 16));
    const __m512 even = pod_vec16_even(x), odd = pod_vec16_odd(x);
    const __m512 a = _mm512_max_ps(c->floor, _mm512_fmadd_ps(even, c->scale[0], c->shift[0]));
    const __m512 b = _mm512_max_ps(c->floor, _mm512_fmadd_ps(odd, c->scale[1], c->shift[1]));
    return _mm512_permutexvar_epi16(together, (__m512i)_mm512_cvtne2ps_pbh(b, a));
}

POD_INLINE void stage_as(const place *p, pod_bf16 *room, bool changes)
{
    const pod__dw_side *side = p->side;
    const __mmask32 mask = first(p->n_channels);
    const pod_bf16 *from = side->at + p->c;
    const int64_t pitch = side->n_channels;
    change c;
    if (changes) c = change_of(p);
    if (!side->strided) from += p->pixel * pitch;
    for (int64_t i = 0; i < p->n_pixels; i++) {
        const int64_t at = side->strided ? p->row_at[i] : i * pitch;
        const __m512i x = _mm512_maskz_loadu_epi16(mask, from + at);
        _mm512_store_si512(room + i * SIDE, changes ? changed(x, &c) : x);
    }
    memset(room + p->n_pixels * SIDE, 0, (size_t)((SIDE - p->n_pixels) * SIDE) * sizeof *room);
}

static void stage(const place *p, pod_bf16 *room)
{
    if (p->side->scale)
        stage_as(p, room, true);
    else
        stage_as(p, room, false);
}

static bool is_whole(const place *p) { return p->n_pixels == SIDE && p->n_channels == SIDE; }

/* ---- packed ----------------------------------------------------------------------------------- */

/* 8 channels of the pixels i, 8 + i, 16 + i, 24 + i. */
POD_INLINE __m512i four_pixels(const pod_bf16 *from, int64_t pitch)
{
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const void *)from));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(from + 8 * pitch)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(from + 16 * pitch)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(from + 24 * pitch)), 3);
}

POD_INLINE void transpose_tile(const pod_bf16 *from, int64_t pitch, pod_bf16 *to)
{
    for (int c = 0; c < 16; c += 8) {
        __m512i v[8];
        for (int i = 0; i < 8; i++) v[i] = four_pixels(from + c + i * pitch, pitch);
        pod__dw_transpose_8(v, to + c * SIDE);
    }
}

POD_INLINE void weave(const pod_bf16 *from, int64_t pitch, pod_bf16 *to)
{
    for (int i = 0; i < SIDE; i += 2) {
        const __m512i even = _mm512_loadu_si512(from + i * pitch);
        const __m512i odd = _mm512_loadu_si512(from + (i + 1) * pitch);
        _mm512_store_si512(to + i * 16, _mm512_unpacklo_epi16(even, odd));
        _mm512_store_si512(to + TILE + i * 16, _mm512_unpackhi_epi16(even, odd));
    }
}

/* 16 channels at most, in their order. */
static void weave_narrow(const pod_bf16 *room, pod_bf16 *to)
{
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    for (int i = 0; i < SIDE; i += 2) {
        const __m512i even = _mm512_load_si512(room + i * SIDE);
        const __m256i odd = _mm256_load_si256((const void *)(room + (i + 1) * SIDE));
        _mm512_store_si512(to + i * 16,
                           _mm512_permutexvar_epi16(order, _mm512_inserti64x4(even, odd, 1)));
    }
}

/* ---- blocks --------------------------------------------------------------------------------- */

static void transpose_step(const place *p, pod_bf16 *room, pod_bf16 *to)
{
    const int64_t pitch = p->side->n_channels;
    const bool is_copied = p->side->is_staged || !is_whole(p);
    if (is_copied) stage(p, room);
    for (int64_t c = 0; c < p->n_channels; c += 16)
        if (is_copied)
            transpose_tile(room + c, SIDE, to + c * SIDE);
        else
            transpose_tile(p->side->at + p->pixel * pitch + p->c + c, pitch, to + c * SIDE);
}

void pod__dw_transpose_block(const pod__dw_side *side, const pod__dw_block *b, pod_bf16 *room,
                             pod_bf16 *transposed)
{
    int64_t row_at[SIDE];
    const int64_t n_steps = pod__dw_panels(b->n_pixels);
    for (int64_t step = 0; step < n_steps; step++) {
        place p = {.side = side,
                   .pixel = b->pixel + step * SIDE,
                   .n_pixels = pod_min(SIDE, b->n_pixels - step * SIDE),
                   .row_at = row_at};
        if (side->strided) place_pixels(side->strided, p.pixel, row_at);
        for (int64_t c = 0; c < b->n_rows; c += SIDE) {
            p.c = b->row + c;
            p.n_channels = pod_min(SIDE, b->n_rows - c);
            transpose_step(&p, room, transposed + (c / SIDE * n_steps + step) * POD__DW_STEP_COUNT);
        }
    }
}

static void weave_step(const place *p, pod_bf16 *room, pod_bf16 *to)
{
    if (!p->side->is_staged && is_whole(p)) {
        const int64_t pitch = p->side->n_channels;
        weave(p->side->at + p->pixel * pitch + p->c, pitch, to);
        return;
    }
    stage(p, room);
    if (p->n_channels > 16)
        weave(room, SIDE, to);
    else
        weave_narrow(room, to);
}

void pod__dw_weave_panel(const pod__dw_side *side, const pod__dw_block *b, int64_t column,
                         pod_bf16 *room, pod_bf16 *woven)
{
    int64_t row_at[SIDE];
    for (int64_t step = 0; step < pod__dw_panels(b->n_pixels); step++) {
        const place p = {.side = side,
                         .pixel = b->pixel + step * SIDE,
                         .n_pixels = pod_min(SIDE, b->n_pixels - step * SIDE),
                         .c = b->column + column,
                         .n_channels = pod_min(SIDE, b->n_columns - column),
                         .row_at = row_at};
        if (side->strided) place_pixels(side->strided, p.pixel, row_at);
        weave_step(&p, room, woven + step * POD__DW_STEP_COUNT);
    }
}
