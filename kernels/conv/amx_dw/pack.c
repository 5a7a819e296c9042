/* How amx_dw/dw.c packs its operands: lines of x with their border, transposed and paired pixels. */
#include <immintrin.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/conv/amx_dw/dw.h"
#include "kernels/conv/amx_dw/transpose.h"

/* ---- transposed --------------------------------------------------------------------------------- */

/* 8 channels of the pixels i, 8 + i, 16 + i, 24 + i. */
static inline __m512i four_pixels(const pod_bf16 *from, int64_t pitch)
{
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const void *)from));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(from + 8 * pitch)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(from + 16 * pitch)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(from + 24 * pitch)), 3);
}

/* 32 pixels of 8 channels to 8 rows of 32. */
static inline void transpose_8(const pod_bf16 *from, int64_t pitch, pod_bf16 *to)
{
    __m512i v[8];
    for (int i = 0; i < 8; i++) v[i] = four_pixels(from + i * pitch, pitch);
    pod__dw_transpose_8(v, to);
}

/* 32 pixels of the grid from g on, filled up with zeros. */
static void copy_rows(const pod__dw_rows *rows, int64_t g, int64_t n_grid, int64_t width,
                      pod_bf16 *out)
{
    const int64_t period = rows->pixels + rows->gap;
    memset(out, 0, (size_t)(POD__DW_PIXELS * width) * sizeof *out);
    for (int64_t i = 0; i < POD__DW_PIXELS && g + i < n_grid; i++) {
        const int64_t image = (g + i) / period, pixel = (g + i) % period;
        if (pixel >= rows->pixels) continue;
        memcpy(out + i * width, rows->at + (image * rows->pixels + pixel) * rows->pitch,
               (size_t)rows->n_channels * sizeof *out);
    }
}

void pod__dw_transpose(const pod__dw_rows *rows, pod_bf16 *edge, pod_bf16 *transposed)
{
    const int64_t period = rows->pixels + rows->gap;
    const int64_t n_grid = rows->n_images * period - rows->gap;
    const int64_t end = pod_round_up(n_grid, POD__DW_PIXELS);
    const int64_t width = pod_round_up(rows->n_channels, POD__DW_TILE);
    for (int64_t g = 0; g < end; g += POD__DW_PIXELS) {
        const bool close = rows->gap == 0 || g % period + POD__DW_PIXELS <= rows->pixels;
        const pod_bf16 *from = edge;
        int64_t pitch = width;
        if (close && g + POD__DW_PIXELS <= n_grid && width == rows->n_channels) {
            from = rows->at + (g / period * rows->pixels + g % period) * rows->pitch;
            pitch = rows->pitch;
        } else {
            copy_rows(rows, g, n_grid, width, edge);
        }
        for (int64_t c = 0; c < width; c += 8)
            transpose_8(from + c, pitch,
                        transposed + c / POD__DW_TILE * POD__DW_TILE * end + g * POD__DW_TILE +
                            c % POD__DW_TILE * POD__DW_PIXELS);
    }
}

/* ---- paired --------------------------------------------------------------------------------- */

static inline __m512i interleaved(const pod_bf16 *even, const pod_bf16 *odd)
{
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i both =
        _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)even)),
                           _mm256_loadu_si256((const void *)odd), 1);
    return _mm512_permutexvar_epi16(order, both);
}

static inline __attribute__((always_inline)) void pair_pixels(const pod_bf16 *even,
                                                              const pod_bf16 *odd, int n_tiles,
                                                              int64_t plane, pod_bf16 *to)
{
    for (int t = 0; t < n_tiles; t++)
        _mm512_store_si512(to + t * plane * POD__DW_TILE,
                           interleaved(even + t * POD__DW_TILE, odd + t * POD__DW_TILE));
}

/* n pairs that lie in one line: so that n_tiles is a constant where it is inlined. */
static inline __attribute__((always_inline)) void pair_tiles(const pod_bf16 *from, int64_t pitch,
                                                             int64_t n, int n_tiles, int64_t plane,
                                                             pod_bf16 *to)
{
    for (int64_t i = 0; i < n; i++)
        pair_pixels(from + 2 * i * pitch, from + (2 * i + 1) * pitch, n_tiles, plane, to + 32 * i);
}

static void pair_run(const pod_bf16 *from, int64_t pitch, int64_t n, int n_tiles, int64_t plane,
                     pod_bf16 *to)
{
    switch (n_tiles) {
    case 1: pair_tiles(from, pitch, n, 1, plane, to); return;
    case 2: pair_tiles(from, pitch, n, 2, plane, to); return;
    case 3: pair_tiles(from, pitch, n, 3, plane, to); return;
    default: pair_tiles(from, pitch, n, n_tiles, plane, to);
    }
}

static void pair_last(const pod_bf16 *even, int n_tiles, int64_t plane, pod_bf16 *to)
{
    for (int t = 0; t < n_tiles; t++) {
        const __m256i v = _mm256_loadu_si256((const void *)(even + t * POD__DW_TILE));
        _mm512_store_si512(to + t * plane * POD__DW_TILE, _mm512_cvtepu16_epi32(v));
    }
}

void pod__dw_pair(const pod__dw_lines *lines, int n_tiles, int64_t plane, pod_bf16 *paired)
{
    const pod_bf16 *waiting = NULL; /* the first pixel of a pair whose second is in the next line */
    pod_bf16 *to = paired;
    for (int64_t i = 0; i < lines->n_images * lines->n_lines; i++) {
        const pod_bf16 *from = lines->at + i / lines->n_lines * lines->image_pitch +
                               i % lines->n_lines * lines->line_pitch;
        int64_t n = lines->n_pixels;
        if (waiting) {
            pair_pixels(waiting, from, n_tiles, plane, to);
            from += lines->pixel_pitch, to += 32, n--;
        }
        pair_run(from, lines->pixel_pitch, n / 2, n_tiles, plane, to);
        to += n / 2 * 32;
        waiting = n % 2 ? from + (n - 1) * lines->pixel_pitch : NULL;
    }
    if (waiting) {
        pair_last(waiting, n_tiles, plane, to);
        to += 32;
    }
    for (int t = 0; t < n_tiles; t++)
        memset(to + t * plane * POD__DW_TILE, 0,
               (size_t)(plane * POD__DW_TILE - (to - paired)) * sizeof *to);
}

/* ---- lines of x ----------------------------------------------------------------------------- */

static inline __m512 widened(__m256i v)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
}

/* max(0, v) is v where that is a NaN. */
static inline __m512 affine(__m512 x, __m512 scale, __m512 shift, __m512 floor)
{
    return _mm512_max_ps(floor, _mm512_fmadd_ps(x, scale, shift));
}

/* n <= 32 channels of each pixel. */
static void stage_affine(const pod__dw_line *line, int64_t c, int n, const pod_bf16 *from,
                         int64_t n_pixels, int64_t pitch, pod_bf16 *out)
{
    const __mmask32 all = n == 32 ? UINT32_MAX : (1u << n) - 1u;
    const __mmask16 low = (__mmask16)all, high = (__mmask16)(all >> 16);
    const __m512 scale_0 = _mm512_maskz_loadu_ps(low, line->scale + c);
    const __m512 scale_1 = _mm512_maskz_loadu_ps(high, line->scale + c + 16);
    const __m512 shift_0 = _mm512_maskz_loadu_ps(low, line->shift + c);
    const __m512 shift_1 = _mm512_maskz_loadu_ps(high, line->shift + c + 16);
    const __m512 floor = _mm512_set1_ps(line->relu ? 0.0f : -__builtin_inff());
    for (int64_t i = 0; i < n_pixels; i++) {
        const __m512i x = _mm512_maskz_loadu_epi16(all, from + i * line->step * line->c + c);
        const __m512 v_0 = affine(widened(_mm512_castsi512_si256(x)), scale_0, shift_0, floor);
        const __m512 v_1 =
            affine(widened(_mm512_extracti64x4_epi64(x, 1)), scale_1, shift_1, floor);
        _mm512_mask_storeu_epi16(out + i * pitch + c, all, (__m512i)_mm512_cvtne2ps_pbh(v_1, v_0));
    }
}

static void stage_copy(const pod__dw_line *line, const pod_bf16 *from, int64_t n_pixels,
                       int64_t pitch, pod_bf16 *out)
{
    if (line->n_channels == pitch && line->c == pitch && line->step == 1) {
        memcpy(out, from, (size_t)(n_pixels * pitch) * sizeof *out);
        return;
    }
    for (int64_t c = 0; c < line->n_channels; c += 32) {
        const int64_t n = pod_min(32, line->n_channels - c);
        const __mmask32 all = n == 32 ? UINT32_MAX : (1u << n) - 1u;
        for (int64_t i = 0; i < n_pixels; i++) {
            const __m512i x = _mm512_maskz_loadu_epi16(all, from + i * line->step * line->c + c);
            _mm512_mask_storeu_epi16(out + i * pitch + c, all, x);
        }
    }
}

void pod__dw_stage(const pod__dw_line *line, int64_t pitch, pod_bf16 *out)
{
    int64_t begin = line->first < 0 ? (-line->first + line->step - 1) / line->step : 0;
    int64_t end = line->first < line->w ? (line->w - line->first - 1) / line->step + 1 : 0;
    begin = pod_min(begin, line->n_pixels), end = pod_min(end, line->n_pixels);
    if (!line->x || begin >= end) begin = end = 0;
    memset(out, 0, (size_t)(begin * pitch) * sizeof *out);
    memset(out + end * pitch, 0, (size_t)((line->n_pixels - end) * pitch) * sizeof *out);
    if (begin == end) return;
    const pod_bf16 *from = line->x + (line->first + begin * line->step) * line->c;
    if (!line->scale) {
        stage_copy(line, from, end - begin, pitch, out + begin * pitch);
        return;
    }
    for (int64_t c = 0; c < line->n_channels; c += 32)
        stage_affine(line, c, (int)pod_min(32, line->n_channels - c), from, end - begin, pitch,
                     out + begin * pitch);
}
