/* Pieces of amx_dw/lines.h: tiles of dy are transposed, lines of x paired, with what is applied to
 * x on the way. */
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/conv/amx_dw/dw.h"
#include "kernels/conv/amx_dw/lines.h"
#include "kernels/conv/amx_dw/transpose.h"

int64_t pod__dw_transposed_count(const pod__dw_grid *grid, const pod__dw_part *part)
{
    return part->n_m * part->n_strips * grid->n_tiles * (part->n_lines + grid->halo) *
           POD__DW_LINE_TILE;
}

int64_t pod__dw_paired_count(const pod__dw_grid *grid, const pod__dw_part *part)
{
    return part->n_t * part->n_strips * part->n_lines * grid->line;
}

void pod__dw_pack_borders(const pod__dw_grid *grid, int64_t n_lines, pod_bf16 *paired)
{
    for (int64_t i = 0; i < n_lines; i++, paired += grid->line) {
        int64_t begin = 0;
        for (int k = 0; k < grid->n_segments; k++) {
            const pod__dw_segment *s = &grid->segment[k];
            memset(paired + begin * POD__DW_ROW, 0,
                   (size_t)((s->row - begin) * POD__DW_ROW) * sizeof *paired);
            begin = s->row + s->n_columns * grid->g / 2;
        }
        memset(paired + begin * POD__DW_ROW, 0,
               (size_t)(grid->line - begin * POD__DW_ROW) * sizeof *paired);
    }
}

/* ---- transposed --------------------------------------------------------------------------------- */

/* The pixels of one tile in the first line of dy that is there; zeros where there is no pixel. */
static void find_pixels(pod__dw_laying *l)
{
    const pod__dw_grid *grid = l->grid;
    const pod_conv_shape *s = &grid->call->shape;
    const int64_t image = (l->part.strip + l->run / grid->n_tiles) * grid->g;
    const int64_t first = l->run % grid->n_tiles * POD__DW_PIXELS;
    const int64_t line = pod_max(0, l->part.line + grid->dy_line);
    const pod_bf16 *dy = (const pod_bf16 *)grid->call->b + ((image * s->p + line) * s->q) * s->k;
    int64_t q = first / grid->g, n = first % grid->g;
    bool whole = 8 % grid->g == 0 && s->k % POD__DW_TILE == 0;
    for (int i = 0; i < POD__DW_PIXELS; i++) {
        const bool inside = q < s->q && image + n < s->n;
        l->pixels.at[i] = inside ? dy + (n * s->p * s->q + q) * s->k : l->zeros;
        l->pixels.step[i] = inside ? s->q * s->k : 0;
        whole = whole && inside;
        if (++n == grid->g) n = 0, q++;
    }
    l->pixels.quarter = whole ? 8 / grid->g * s->k : 0;
}

/* 8 channels, those of the mask, from c on. */
POD_INLINE void transpose_8(const pod__dw_pixels *p, bool whole, __mmask8 mask, int64_t c,
                            pod_bf16 *to)
{
    __m512i v[8];
    for (int i = 0; i < 8; i++) {
        __m128i of[4];
        for (int j = 0; j < 4; j++) {
            const pod_bf16 *at = whole ? p->at[i] + j * p->quarter : p->at[8 * j + i];
            of[j] = whole ? _mm_loadu_si128((const void *)(at + c))
                          : _mm_maskz_loadu_epi16(mask, at + c);
        }
        v[i] = _mm512_inserti32x4(_mm512_castsi128_si512(of[0]), of[1], 1);
        v[i] = _mm512_inserti32x4(_mm512_inserti32x4(v[i], of[2], 2), of[3], 3);
    }
    pod__dw_transpose_8(v, to);
}

static void transpose_tile(const pod__dw_pixels *p, int64_t k, int64_t c, pod_bf16 *to)
{
    if (p->quarter > 0) {
        transpose_8(p, true, UINT8_MAX, c, to);
        transpose_8(p, true, UINT8_MAX, c + 8, to + 8 * POD__DW_PIXELS);
        return;
    }
    const uint32_t mask = k - c < POD__DW_TILE ? (1u << (k - c)) - 1u : UINT16_MAX;
    transpose_8(p, false, (__mmask8)mask, c, to);
    transpose_8(p, false, (__mmask8)(mask >> 8), c + 8, to + 8 * POD__DW_PIXELS);
}

static void transpose_piece(pod__dw_laying *l)
{
    const pod__dw_grid *grid = l->grid;
    const pod_conv_shape *s = &grid->call->shape;
    const int64_t n_lines = l->part.n_lines + grid->halo;
    const int64_t n_runs = l->part.n_strips * grid->n_tiles;
    const int64_t line = l->part.line + grid->dy_line + l->a;
    const bool inside = line >= 0 && line < s->p;
    pod_bf16 *to =
        l->transposed + ((l->i_m * n_runs + l->run) * n_lines + l->a) * POD__DW_LINE_TILE;
    if (l->a == 0 && l->i_m == 0) find_pixels(l);
    if (inside)
        transpose_tile(&l->pixels, s->k, (l->part.m + l->i_m) * POD__DW_TILE, to);
    else
        memset(to, 0, POD__DW_LINE_TILE * sizeof *to);
    if (++l->i_m < l->part.n_m) return;
    l->i_m = 0;
    if (inside)
        for (int i = 0; i < POD__DW_PIXELS; i++) l->pixels.at[i] += l->pixels.step[i];
    if (++l->a < n_lines) return;
    l->a = 0, l->run++;
}

/* ---- paired --------------------------------------------------------------------------------- */

/* n columns of 16 channels in two images. */
typedef struct columns {
    const pod_bf16 *x[2];
    int64_t pitch, n;
    __mmask16 channels; /* those that are read */
    __mmask32 there;    /* elements of a row that are not zeros */
    const float *scale, *shift;
    bool relu;
    pod_bf16 *to;
    int64_t row; /* elements from one row to the next */
} columns;

POD_INLINE __m512i interleaved(__mmask32 there, __m512i pixels)
{
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_maskz_permutexvar_epi16(there, order, pixels);
}

POD_INLINE __m512i two_pixels(const pod_bf16 *a, const pod_bf16 *b, __mmask16 channels, bool whole)
{
    if (whole)
        return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)a)),
                                  _mm256_loadu_si256((const void *)b), 1);
    const __m512i v = _mm512_castsi256_si512(_mm256_maskz_loadu_epi16(channels, a));
    return _mm512_inserti64x4(v, _mm256_maskz_loadu_epi16(channels, b), 1);
}

POD_INLINE void pair_plain(const columns *c, bool whole)
{
    const pod_bf16 *a = c->x[0], *b = c->x[1];
    const int64_t pitch = c->pitch, row = c->row;
    const __mmask16 channels = whole ? UINT16_MAX : c->channels;
    pod_bf16 *to = c->to;
#pragma GCC unroll 4
    for (int64_t i = 0; i < c->n; i++, a += pitch, b += pitch, to += row)
        _mm512_store_si512(to, interleaved(c->there, two_pixels(a, b, channels, whole)));
}

/* max(0, v) is v where that is a NaN. */
POD_INLINE __m512 affine(__m512i x, __m512 scale, __m512 shift, __m512 floor)
{
    return _mm512_max_ps(floor, _mm512_fmadd_ps(_mm512_castsi512_ps(x), scale, shift));
}

POD_INLINE void pair_affine(const columns *c, bool whole)
{
    const __m512 scale = _mm512_maskz_loadu_ps(c->channels, c->scale);
    const __m512 shift = _mm512_maskz_loadu_ps(c->channels, c->shift);
    const __m512 floor = _mm512_set1_ps(c->relu ? 0.0f : -__builtin_inff());
    const __m512i high = _mm512_set1_epi32((int)0xffff0000);
    const pod_bf16 *x = c->x[0], *y = c->x[1];
    const int64_t pitch = c->pitch, row = c->row;
    const __mmask16 channels = whole ? UINT16_MAX : c->channels;
    pod_bf16 *to = c->to;
#pragma GCC unroll 2
    for (int64_t i = 0; i < c->n; i++, x += pitch, y += pitch, to += row) {
        const __m512i v = interleaved(UINT32_MAX, two_pixels(x, y, channels, whole));
        const __m512 a = affine(_mm512_slli_epi32(v, 16), scale, shift, floor);
        const __m512 b = affine(_mm512_and_si512(v, high), scale, shift, floor);
        _mm512_store_si512(to, interleaved(c->there, (__m512i)_mm512_cvtne2ps_pbh(b, a)));
    }
}

static void pair_columns(const columns *c)
{
    const bool whole = c->channels == UINT16_MAX;
    if (!c->scale && whole) pair_plain(c, true);
    if (!c->scale && !whole) pair_plain(c, false);
    if (c->scale && whole) pair_affine(c, true);
    if (c->scale && !whole) pair_affine(c, false);
}

/* x[0] and x[1]: two lines as they lie; any other where there is none. */
static void find_lines(const pod__dw_laying *l, const pod__dw_segment *segment, int64_t c,
                       columns *out)
{
    const pod_conv_call *call = l->grid->call;
    const pod_conv_shape *s = &call->shape;
    const int64_t h = (l->part.line + l->v) * s->stride + segment->line;
    out->there = 0;
    for (int i = 0; i < 2; i++) {
        const int64_t image = (l->part.strip + l->strip) * l->grid->g + l->image + i;
        const bool inside = h < s->h && image < s->n;
        const int64_t line = inside ? image * s->h + h : 0;
        out->x[i] = (const pod_bf16 *)call->a + (line * s->w + segment->column) * s->c + c;
        if (inside) out->there |= i ? 0xaaaaaaaa : 0x55555555;
    }
    out->pitch = segment->step * s->c;
    const int64_t left = s->c - c;
    out->channels = (__mmask16)(left < POD__DW_TILE ? (1u << left) - 1u : UINT16_MAX);
    out->scale = call->fused & POD_CONV_AFFINE_X ? call->x_scale + c : NULL;
    out->shift = out->scale ? call->x_shift + c : NULL;
    out->relu = (call->fused & POD_CONV_RELU_X) != 0;
}

/* The same of two lines with their border, which the first piece of them stages. */
static void find_staged(const pod__dw_laying *l, const pod__dw_segment *segment, int64_t c,
                        columns *out)
{
    const pod_conv_call *call = l->grid->call;
    const pod_conv_shape *s = &call->shape;
    const int64_t pixels = l->grid->staged_pixels, pitch = pixels * s->c + POD__DW_ROW;
    pod__dw_line line = {.w = s->w,
                         .c = s->c,
                         .first = -s->pad_w,
                         .step = 1,
                         .n_pixels = pixels,
                         .n_channels = s->c};
    if (call->fused & POD_CONV_AFFINE_X) {
        line.scale = call->x_scale, line.shift = call->x_shift;
        line.relu = (call->fused & POD_CONV_RELU_X) != 0;
    }
    const int64_t h = (l->part.line + l->v) * s->stride + segment->line;
    for (int64_t i = 0; i < 2; i++) {
        const int64_t image = (l->part.strip + l->strip) * l->grid->g + l->image + i;
        const pod_bf16 *x = (const pod_bf16 *)call->a + (image * s->h + h) * s->w * s->c;
        line.x = h < s->h && image < s->n ? x : NULL;
        if (l->i_t == 0) pod__dw_stage(&line, s->c, l->staged + i * pitch);
        out->x[i] = l->staged + i * pitch + c;
    }
    out->there = UINT32_MAX, out->channels = UINT16_MAX;
    out->scale = out->shift = NULL, out->relu = false;
    out->pitch = segment->step * s->c;
}

static void pair_piece(pod__dw_laying *l)
{
    const pod__dw_grid *grid = l->grid;
    const pod__dw_segment *segment = &grid->segment[l->segment];
    const int64_t line = (l->i_t * l->part.n_strips + l->strip) * l->part.n_lines + l->v;
    columns c;
    c.n = segment->n_columns, c.row = grid->g / 2 * POD__DW_ROW;
    c.to = l->paired + line * grid->line + (segment->row + l->image / 2) * POD__DW_ROW;
    if (grid->joined)
        find_staged(l, segment, (l->part.t + l->i_t) * POD__DW_TILE, &c);
    else
        find_lines(l, segment, (l->part.t + l->i_t) * POD__DW_TILE, &c);
    pair_columns(&c);
    if (++l->i_t < l->part.n_t) return;
    l->i_t = 0, l->image += 2;
    if (l->image < grid->g) return;
    l->image = 0;
    if (++l->segment < grid->n_segments) return;
    l->segment = 0;
    if (++l->v < l->part.n_lines) return;
    l->v = 0, l->strip++;
}

/* ---- packed ----------------------------------------------------------------------------------- */

void pod__dw_pack_begin(pod__dw_laying *l, bool turns, int64_t n_chances)
{
    const pod__dw_grid *grid = l->grid;
    const pod__dw_part *part = &l->part;
    const int64_t n_lines = part->n_strips * part->n_lines;
    l->run = l->a = l->i_m = 0;
    l->strip = l->v = l->segment = l->image = l->i_t = 0;
    l->n_turns = turns ? pod__dw_transposed_count(grid, part) / POD__DW_LINE_TILE : 0;
    l->n_pairs = n_lines * grid->n_segments * grid->g / 2 * part->n_t;
    l->n_chances = pod_max(1, n_chances), l->credit = 0;
    l->n_pieces = l->n_turns + l->n_pairs;
}

void pod__dw_pack_pieces(pod__dw_laying *l, int64_t n)
{
    for (; n > 0 && l->n_turns > 0; n--, l->n_turns--) transpose_piece(l);
    for (; n > 0 && l->n_pairs > 0; n--, l->n_pairs--) pair_piece(l);
}
