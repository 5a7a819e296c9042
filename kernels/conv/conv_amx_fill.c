/* The strips of the AMX convolution: the image below some lines of output, zeros around it in
 * place, changed by scale, shift and ReLU where the call asks for that. */
#include <immintrin.h>
#include <string.h>

#include "kernels/conv/conv_amx.h"

#define INLINE static inline __attribute__((always_inline))

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

INLINE __mmask32 first(int64_t n) { return n >= 32 ? UINT32_MAX : (1u << n) - 1u; }

/* n pixels of C values, from_bytes apart, to where they are to_bytes apart. What is behind a pixel
 * up to the next 64 bytes is zeroed, before the next pixel is written. */
typedef struct pixels {
    const char *from;
    char *to;
    int64_t n, c, from_bytes, to_bytes;
} pixels;

static void copy_pixels(const pixels *x)
{
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t c = 0; c < x->c; c += POD__AMX_CHUNK) {
            const void *from = x->from + i * x->from_bytes + 2 * c;
            const __m512i v = x->c - c >= POD__AMX_CHUNK
                                  ? _mm512_loadu_si512(from)
                                  : _mm512_maskz_loadu_epi16(first(x->c - c), from);
            _mm512_storeu_si512(x->to + i * x->to_bytes + 2 * c, v);
        }
}

static void zero_pixels(const pixels *x)
{
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t c = 0; c < x->c; c += POD__AMX_CHUNK)
            _mm512_storeu_si512(x->to + i * x->to_bytes + 2 * c, _mm512_setzero_si512());
}

INLINE __m512 affine(__m256i bf16, __m512 scale, __m512 shift, bool rectified)
{
    const __m512 x = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16));
    const __m512 v = _mm512_fmadd_ps(x, scale, shift);
    if (!rectified) return v;
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ), v);
}

INLINE void affine_pixels_as(const pixels *x, const pod_conv_call *call, bool rectified)
{
    for (int64_t c = 0; c < x->c; c += POD__AMX_CHUNK) {
        /* pixels may follow each other closely, and all of a chunk are written before the next */
        const __mmask32 mask = first(x->c - c), room = first(x->to_bytes / 2 - c);
        const __mmask16 low = (__mmask16)mask, high = (__mmask16)(mask >> 16);
        const __m512 scale[2] = {_mm512_maskz_loadu_ps(low, call->x_scale + c),
                                 _mm512_maskz_loadu_ps(high, call->x_scale + c + 16)};
        const __m512 shift[2] = {_mm512_maskz_loadu_ps(low, call->x_shift + c),
                                 _mm512_maskz_loadu_ps(high, call->x_shift + c + 16)};
        for (int64_t i = 0; i < x->n; i++) {
            const __m512i v = _mm512_maskz_loadu_epi16(mask, x->from + i * x->from_bytes + 2 * c);
            const __m512 a = affine(_mm512_castsi512_si256(v), scale[0], shift[0], rectified);
            const __m512 b = affine(_mm512_extracti64x4_epi64(v, 1), scale[1], shift[1], rectified);
            _mm512_mask_storeu_epi16(x->to + i * x->to_bytes + 2 * c, room,
                                     (__m512i)_mm512_cvtne2ps_pbh(b, a));
        }
    }
}

static void affine_pixels(const pixels *x, const pod_conv_call *call)
{
    if (call->fused & POD_CONV_RELU_X)
        affine_pixels_as(x, call, true);
    else
        affine_pixels_as(x, call, false);
}

/* Pixels of row h of image n below the columns left, left + step, ...: n_columns of them. */
static void load_row(const pod_conv_call *call, const pod__amx_view *v, int64_t n, int64_t h,
                     int64_t n_columns, int64_t step, int64_t to_bytes, char *to)
{
    /* columns [begin, end) lie in the image */
    const bool inside = h >= 0 && h < v->h;
    int64_t begin = v->left < 0 ? smaller(n_columns, (step - 1 - v->left) / step) : 0, end = begin;
    if (inside && v->w > v->left)
        end = larger(begin, smaller(n_columns, (v->w - v->left - 1) / step + 1));
    if (begin == end) begin = end = n_columns;
    pixels x = {.to = to, .n = begin, .c = v->c, .to_bytes = to_bytes};
    zero_pixels(&x);
    if (begin == n_columns) return;
    x.n = end - begin;
    x.from = (const char *)call->a + ((n * v->h + h) * v->w + v->left + begin * step) * v->c * 2;
    x.from_bytes = step * v->c * 2;
    x.to = to + begin * to_bytes;
    if (call->fused & POD_CONV_AFFINE_X)
        affine_pixels(&x, call);
    else if (to_bytes == x.from_bytes)
        memcpy(x.to, x.from, (size_t)(x.n * to_bytes));
    else
        copy_pixels(&x);
    x.n = n_columns - end;
    x.to = to + end * to_bytes;
    zero_pixels(&x);
}

/* The windows of a row of pixels: S C values each, zeros behind them. */
static void copy_windows(const pod__amx_view *v, const char *row, char *to)
{
    const int64_t step = v->step * v->c * 2, pitch = v->chunks_row * POD__AMX_LINE_BYTES;
    for (int64_t i = 0; i < v->chunks_row; i++) {
        const __mmask32 mask = first(v->s * v->c - i * POD__AMX_CHUNK);
        const char *from = row + i * POD__AMX_LINE_BYTES;
        for (int64_t q = 0; q < v->q; q++)
            _mm512_storeu_si512(to + q * pitch + i * POD__AMX_LINE_BYTES,
                                _mm512_maskz_loadu_epi16(mask, from + q * step));
    }
}

/* Rows of windows, `step` rows of the image apart. */
static void fill_plane(const pod_conv_call *call, const pod__amx_view *v, const pod__amx_plan *plan,
                       pod__amx_lines b, int64_t plane, char *row, char *strip)
{
    const int64_t n_rows = b.n_lines + (v->r - 1 - plane) / v->step;
    const int64_t columns = (v->q - 1) * v->step + v->s, row_bytes = plan->row_bytes / 2;
    char *to = strip + plane * plan->plane_rows * plan->strip_row;
    for (int64_t i = 0; i < n_rows + (v->s > 1); i++) {
        const int64_t n = v->r <= v->step ? (b.line + i) / v->p : b.n;
        const int64_t p = v->r <= v->step ? (b.line + i) % v->p : b.line + i;
        const int64_t h = v->top + p * v->step + plane;
        if (v->s == 1) {
            load_row(call, v, n, h, v->q, v->step, plan->pitch, to + i * plan->strip_row);
            continue;
        }
        /* A row is read a row after it was written: what is read across stores waits for them. */
        if (i < n_rows) load_row(call, v, n, h, columns, 1, v->c * 2, row + i % 2 * row_bytes);
        if (i > 0) copy_windows(v, row + (i - 1) % 2 * row_bytes, to + (i - 1) * plan->strip_row);
    }
}

static void fill_images(const pod_conv_call *call, const pod__amx_view *v,
                        const pod__amx_plan *plan, pod__amx_lines b, char *strip)
{
    const int64_t columns = (v->q - 1) * v->step + v->s, n_images = smaller(16, v->n - b.n);
    for (int64_t i = 0; i < (b.n_lines - 1) * v->step + v->r; i++)
        for (int64_t image = 0; image < n_images; image++)
            load_row(call, v, b.n + image, v->top + b.line * v->step + i, columns, 1,
                     POD__AMX_ROWS * plan->pitch,
                     strip + i * plan->strip_row + image * plan->pitch);
}

/* A row of n pixels of 16 values, each to two places, to_bytes[1] from the first; changed as affine()
 * does where there is a scale. */
typedef struct stacked_row {
    const char *from;
    char *to, *to_too;
    int64_t n;
} stacked_row;

INLINE void stack_row_as(const pod_conv_call *call, const stacked_row *x, bool changed,
                         bool rectified)
{
    const __m512 scale = changed ? _mm512_loadu_ps(call->x_scale) : _mm512_setzero_ps();
    const __m512 shift = changed ? _mm512_loadu_ps(call->x_shift) : _mm512_setzero_ps();
    for (int64_t i = 0; i < x->n; i++) {
        __m256i v = _mm256_loadu_si256((const void *)(x->from + i * 32));
        if (changed) v = (__m256i)_mm512_cvtneps_pbh(affine(v, scale, shift, rectified));
        _mm256_store_si256((void *)(x->to + i * POD__AMX_LINE_BYTES), v);
        _mm256_store_si256((void *)(x->to_too + i * POD__AMX_LINE_BYTES), v);
    }
}

static void stack_row(const pod_conv_call *call, const stacked_row *x)
{
    if (!(call->fused & POD_CONV_AFFINE_X))
        stack_row_as(call, x, false, false);
    else if (call->fused & POD_CONV_RELU_X)
        stack_row_as(call, x, true, true);
    else
        stack_row_as(call, x, true, false);
}

static void zero_halves(const stacked_row *x)
{
    for (int64_t i = 0; i < x->n; i++) {
        _mm256_store_si256((void *)(x->to + i * POD__AMX_LINE_BYTES), _mm256_setzero_si256());
        _mm256_store_si256((void *)(x->to_too + i * POD__AMX_LINE_BYTES), _mm256_setzero_si256());
    }
}

/* Row i of the image below the strip goes to the upper half of the strip's row i / step and to the
 * lower half of the one before; with step 2 to one of them. */
static void fill_stacked(const pod_conv_call *call, const pod__amx_view *v,
                         const pod__amx_plan *plan, pod__amx_lines b, char *strip)
{
    const int64_t columns = plan->strip_row / POD__AMX_LINE_BYTES, half = POD__AMX_LINE_BYTES / 2;
    const int64_t n_rows = pod__amx_stacked_rows(v, b.n_lines);
    const int64_t begin = smaller(columns, larger(0, -v->left));
    const int64_t end = larger(begin, smaller(columns, v->w - v->left));
    for (int64_t i = 0; i < (n_rows - 1) * v->step + 2; i++) {
        const int64_t h = v->top + b.line * v->step + i, upper = i / v->step;
        const bool is_upper = i % v->step == 0 && upper<n_rows, is_lower = i> 0;
        char *to = strip + upper * plan->strip_row;
        char *lower = strip + (i - 1) / v->step * plan->strip_row + half;
        stacked_row x = {.to = is_upper ? to : lower,
                         .to_too = is_lower && (i - 1) % v->step == 0 ? lower : to};
        x.n = h < 0 || h >= v->h || begin == end ? columns : begin;
        zero_halves(&x);
        if (x.n == columns) continue;
        x.to += begin * POD__AMX_LINE_BYTES, x.to_too += begin * POD__AMX_LINE_BYTES;
        x.n = end - begin;
        x.from = (const char *)call->a + ((b.n * v->h + h) * v->w + v->left + begin) * half;
        stack_row(call, &x);
        x.to += x.n * POD__AMX_LINE_BYTES, x.to_too += x.n * POD__AMX_LINE_BYTES;
        x.n = columns - end;
        zero_halves(&x);
    }
}

void pod__amx_fill(const pod_conv_call *call, const pod__amx_view *v, const pod__amx_plan *plan,
                   pod__amx_lines b, char *row, char *strip)
{
    if (plan->way == POD__AMX_IMAGES)
        fill_images(call, v, plan, b, strip);
    else if (plan->way == POD__AMX_STACKED)
        fill_stacked(call, v, plan, b, strip);
    else
        for (int64_t plane = 0; plane < smaller(v->step, v->r); plane++)
            fill_plane(call, v, plan, b, plane, row, strip);
}
