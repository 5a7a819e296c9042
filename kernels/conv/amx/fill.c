/* The strips of the AMX convolution: the image below some lines of output, zeros around it in
 * place, changed by scale, shift and ReLU where the call asks for that. */
#include <immintrin.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/conv/amx/window.h"

POD_INLINE __mmask32 first(int64_t n) { return n >= 32 ? UINT32_MAX : (1u << n) - 1u; }

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

POD_INLINE __m512 affine(__m256i bf16, __m512 scale, __m512 shift, bool rectified)
{
    const __m512 x = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16));
    const __m512 v = _mm512_fmadd_ps(x, scale, shift);
    if (!rectified) return v;
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ), v);
}

POD_INLINE void affine_pixels_as(const pixels *x, const pod_conv_call *call, bool rectified)
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
    int64_t begin = v->left < 0 ? pod_min(n_columns, (step - 1 - v->left) / step) : 0, end = begin;
    if (inside && v->w > v->left)
        end = pod_max(begin, pod_min(n_columns, (v->w - v->left - 1) / step + 1));
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
    const int64_t columns = (v->q - 1) * v->step + v->s, n_images = pod_min(16, v->n - b.n);
    for (int64_t i = 0; i < (b.n_lines - 1) * v->step + v->r; i++)
        for (int64_t image = 0; image < n_images; image++)
            load_row(call, v, b.n + image, v->top + b.line * v->step + i, columns, 1,
                     POD__AMX_ROWS * plan->pitch,
                     strip + i * plan->strip_row + image * plan->pitch);
}

/* ---- stacked -------------------------------------------------------------------------------- */

enum { STACKED_BYTES = POD__AMX_LINE_BYTES / 2 }; /* of a pixel: 16 values */

POD_INLINE __m512 changed(__m512i x, __m512 scale, __m512 shift, bool rectified)
{
    const __m512 v = _mm512_fmadd_ps(_mm512_castsi512_ps(x), scale, shift);
    return rectified ? _mm512_max_ps(_mm512_setzero_ps(), v) : v; /* of a NaN: the second */
}

/* n pixels, changed: two at a time, channels of even and of odd number apart. */
POD_INLINE void change_pixels_as(const pod_conv_call *call, const char *from, char *to, int64_t n,
                                 bool rectified)
{
    const __m512i lanes = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i next = _mm512_add_epi32(lanes, _mm512_set1_epi32(1));
    const __m512 scales = _mm512_loadu_ps(call->x_scale), shifts = _mm512_loadu_ps(call->x_shift);
    const __m512 scale[2] = {_mm512_permutexvar_ps(lanes, scales),
                             _mm512_permutexvar_ps(next, scales)};
    const __m512 shift[2] = {_mm512_permutexvar_ps(lanes, shifts),
                             _mm512_permutexvar_ps(next, shifts)};
    const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i together = _mm512_or_si512(
        number, _mm512_slli_epi32(_mm512_add_epi32(number, _mm512_set1_epi32(16)), 16));
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; i += 2) {
        const __mmask32 mask = n - i > 1 ? UINT32_MAX : UINT16_MAX;
        const __m512i v = _mm512_maskz_loadu_epi16(mask, from + i * STACKED_BYTES);
        const __m512i high = _mm512_set1_epi32((int32_t)0xffff0000);
        const __m512 even = changed(_mm512_slli_epi32(v, 16), scale[0], shift[0], rectified);
        const __m512 odd = changed(_mm512_and_si512(v, high), scale[1], shift[1], rectified);
        const __m512i y = (__m512i)_mm512_cvtne2ps_pbh(odd, even);
        _mm512_mask_storeu_epi16(to + i * STACKED_BYTES, mask,
                                 _mm512_permutexvar_epi16(together, y));
    }
}

static void change_pixels(const pod_conv_call *call, const char *from, char *to, int64_t n)
{
    if (call->fused & POD_CONV_RELU_X)
        change_pixels_as(call, from, to, n, true);
    else
        change_pixels_as(call, from, to, n, false);
}

POD_INLINE __m512i stacked(__m256i above, __m256i below)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(above), below, 1);
}

POD_INLINE void stack_pixels_as(const char *above, const char *below, char *to, int64_t n,
                                bool has_above, bool has_below)
{
    const __m256i zero = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = i * STACKED_BYTES;
        const __m256i upper = has_above ? _mm256_loadu_si256((const void *)(above + at)) : zero;
        const __m256i lower = has_below ? _mm256_loadu_si256((const void *)(below + at)) : zero;
        _mm512_store_si512((void *)(to + 2 * at), stacked(upper, lower));
    }
}

/* n pixels of a row on those of the row below it; NULL: zeros. */
static void stack_pixels(const char *above, const char *below, char *to, int64_t n)
{
    if (above && below)
        stack_pixels_as(above, below, to, n, true, true);
    else if (above)
        stack_pixels_as(above, below, to, n, true, false);
    else
        stack_pixels_as(above, below, to, n, false, below != NULL);
}

static void zero_stacked(char *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        _mm512_store_si512((void *)(to + i * POD__AMX_LINE_BYTES), _mm512_setzero_si512());
}

/* Row i of the image below the strip is the lower half of one of the strip's rows. */
static void fill_row(pod__amx_filling *f, int64_t i)
{
    const pod__amx_view *v = f->view;
    const int64_t columns = f->row_bytes / POD__AMX_LINE_BYTES;
    const int64_t begin = pod_min(columns, pod_max(0, -v->left));
    const int64_t end = pod_max(begin, pod_min(columns, v->w - v->left));
    const int64_t h = v->top + f->lines.line * v->step + i;
    const char *row = NULL;
    if (h >= 0 && h < v->h && begin < end) {
        row = (const char *)f->call->a +
              ((f->lines.n * v->h + h) * v->w + v->left + begin) * STACKED_BYTES;
        if (f->call->fused & POD_CONV_AFFINE_X) {
            char *to = f->changed + f->turn * columns * STACKED_BYTES;
            change_pixels(f->call, row, to, end - begin);
            f->turn = 1 - f->turn;
            row = to;
        }
    }
    const int64_t last = i - 1, is_second = v->step - 1;
    if (i > f->first && (last & is_second) == 0) {
        char *to = f->strip + (last >> is_second) * f->row_bytes;
        zero_stacked(to, begin);
        stack_pixels(f->above, row, to + begin * POD__AMX_LINE_BYTES, end - begin);
        zero_stacked(to + end * POD__AMX_LINE_BYTES, columns - end);
    }
    f->above = row;
}

pod__amx_filling pod__amx_filling_of(const pod_conv_call *call, const pod__amx_view *v,
                                     const pod__amx_plan *plan, pod__amx_lines b, char *changed,
                                     char *strip)
{
    pod__amx_filling x = {.call = call,
                          .view = v,
                          .lines = b,
                          .changed = changed,
                          .strip = strip,
                          .row_bytes = plan->strip_row};
    if (b.n_lines > 0) x.n_rows = (pod__amx_stacked_rows(v, b.n_lines) - 1) * v->step + 2;
    const int64_t squares = (plan->max_tiles + 3) / 4 * ((v->width + 15) / 16);
    const int64_t steps = squares * v->n_chunks;
    x.at_once = (x.n_rows + steps - 1) / steps;
    return x;
}

void pod__amx_fill_after(pod__amx_filling *x, const pod__amx_filling *before)
{
    const int64_t line = before->lines.line + before->lines.n_lines;
    if (x->lines.n_lines == 0 || x->lines.n != before->lines.n || x->lines.line != line) return;
    const int64_t n_rows = pod__amx_stacked_rows(x->view, 0);
    memcpy(x->strip, before->strip + before->lines.n_lines * x->row_bytes,
           (size_t)(n_rows * x->row_bytes));
    x->row = x->first = n_rows * x->view->step;
    if (x->view->step == 1) {
        x->above = before->above;
        x->turn = before->turn;
        x->row++;
    }
}

void pod__amx_fill_rows(pod__amx_filling *x, int64_t n)
{
    for (; n > 0 && x->row < x->n_rows; n--) fill_row(x, x->row++);
}

void pod__amx_fill(const pod_conv_call *call, const pod__amx_view *v, const pod__amx_plan *plan,
                   pod__amx_lines b, char *row, char *strip)
{
    if (plan->way == POD__AMX_IMAGES)
        fill_images(call, v, plan, b, strip);
    else
        for (int64_t plane = 0; plane < pod_min(v->step, v->r); plane++)
            fill_plane(call, v, plan, b, plane, row, strip);
}
