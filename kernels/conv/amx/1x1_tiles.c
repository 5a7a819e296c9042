/* The products of the 1x1 convolution: a square takes two tiles of pixels by two of weights, so that
 * four sums are in flight. Between its products stand, in the order of the program, what is left to do
 * for the squares before: of the last one each tile is stored where its register is taken again, of
 * the one before that rows are rounded, added up and stored. So the tile unit need not wait. */
#include "kernels/base/arith.h"
#include "kernels/base/simd/avx512.h"
#include "kernels/base/simd/tile_amx.h"
#include "kernels/conv/amx/1x1.h"

enum { SIDE = POD__POINT_SIDE, LINE = POD__POINT_LINE_BYTES, TILE = POD__POINT_TILE_BYTES };

/* ---- a square is stored ------------------------------------------------------------------------- */

/* Sums of what was stored, columns of even number and of odd, and of their squares. */
typedef struct sums {
    __m512 even, odd, even_sq, odd_sq;
} sums;

/* Rows take turns, so that no term passes more than 17 roundings before it goes to a double. */
typedef struct turns {
    sums first, second;
} turns;

POD_INLINE turns no_sums(void)
{
    const __m512 z = _mm512_setzero_ps();
    return (turns){{z, z, z, z}, {z, z, z, z}};
}

POD_INLINE void sum_row(sums *s, __m512i y)
{
    const __m512 even = pod_vec16_even(y), odd = pod_vec16_odd(y);
    s->even = _mm512_add_ps(s->even, even);
    s->odd = _mm512_add_ps(s->odd, odd);
    s->even_sq = _mm512_fmadd_ps(even, even, s->even_sq);
    s->odd_sq = _mm512_fmadd_ps(odd, odd, s->odd_sq);
}

POD_INLINE void add_sums(double *into, const turns *s)
{
    pod_vec_add_f64(_mm512_add_ps(s->first.even, s->second.even), into);
    pod_vec_add_f64(_mm512_add_ps(s->first.odd, s->second.odd), into + 16);
    pod_vec_add_f64(_mm512_add_ps(s->first.even_sq, s->second.even_sq), into + 32);
    pod_vec_add_f64(_mm512_add_ps(s->first.odd_sq, s->second.odd_sq), into + 48);
}

/* All columns are there, and neither bias nor ReLU. */
POD_INLINE void store_row(const pod__point_epilogue *x, int64_t row, bool keeps_sums, sums *s)
{
    const float *from = x->values + row * SIDE;
    const __m512i y = (__m512i)_mm512_cvtne2ps_pbh(_mm512_load_ps(from + 16), _mm512_load_ps(from));
    _mm512_storeu_si512(x->out + row * x->out_bytes, y);
    if (keeps_sums) sum_row(s, y);
}

/* Quarter `part` of the next n rows: 16, 8, 4, 2 or none; of 2 rows, each second quarter. */
POD_INLINE void store_part(const pod__point_epilogue *x, int64_t row, int n, int part,
                           bool keeps_sums, turns *s)
{
    row += n * part / 4;
    if (n == 2 && part % 2 == 1) store_row(x, row, keeps_sums, part == 1 ? &s->first : &s->second);
    if (n == 4) store_row(x, row, keeps_sums, part % 2 == 0 ? &s->first : &s->second);
    for (int i = 0; i < n / 8; i++) {
        store_row(x, row + 2 * i, keeps_sums, &s->first);
        store_row(x, row + 2 * i + 1, keeps_sums, &s->second);
    }
}

POD_INLINE __m512 relu(__m512 v)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ), v);
}

void pod__point_store(const pod__point_epilogue *x)
{
    const __m512 zero = _mm512_setzero_ps();
    const __mmask16 low_mask = (__mmask16)x->columns, high_mask = (__mmask16)(x->columns >> 16);
    __m512 bias[2] = {zero, zero};
    if (x->bias) {
        bias[0] = _mm512_maskz_loadu_ps(low_mask, x->bias);
        bias[1] = _mm512_maskz_loadu_ps(high_mask, x->bias + 16);
    }
    turns s = no_sums();
    for (int64_t i = 0; i < x->n_rows; i++) {
        __m512 low = _mm512_load_ps(x->values + i * SIDE);
        __m512 high = _mm512_load_ps(x->values + i * SIDE + 16);
        if (x->bias) low = _mm512_add_ps(low, bias[0]), high = _mm512_add_ps(high, bias[1]);
        if (x->relu) low = relu(low), high = relu(high);
        const __m512i y = (__m512i)_mm512_cvtne2ps_pbh(high, low);
        _mm512_mask_storeu_epi16(x->out + i * x->out_bytes, x->columns, y);
        if (x->sums && i % 2 == 0) sum_row(&s.first, y);
        if (x->sums && i % 2 == 1) sum_row(&s.second, y);
    }
    if (x->sums) add_sums(x->sums, &s);
}

/* ---- products -------------------------------------------------------------------------------- */

POD_INLINE void look_ahead(pod__point_ahead *x)
{
    const char *in = x->in, *out = x->out;
    for (int64_t i = 0; i < x->in_lines; i++, in += LINE) _mm_prefetch(in, _MM_HINT_T0);
    for (int64_t i = 0; i < x->out_lines; i++, out += LINE) _mm_prefetch(out, _MM_HINT_T1);
    x->in = in;
    x->out = out;
}

/* What the tile holds of the square before makes room. */
#define BEGIN_TILE(tile, to)              \
    do {                                  \
        _tile_stored(tile, to, 2 * LINE); \
        _tile_zero(tile);                 \
    } while (0)

/* One chunk, `rows` of the square that is stored behind its four products. The strip passes by: it
 * comes from the second cache, the first one is left to the panel. */
POD_INLINE void multiply_chunk(const pod__point_square *q, int64_t chunk, bool narrow,
                               const pod__point_epilogue *x, int64_t row, int rows, bool keeps_sums,
                               turns *s)
{
    const bool begins = chunk == 0;
    const int64_t row_bytes = q->panel.row_bytes;
    const char *upper = q->panel.at + chunk * q->panel.chunk_bytes, *lower = upper + 16 * row_bytes;
    const char *strip = q->strip + chunk * (narrow ? TILE : 2 * TILE);
    _tile_stream_loadd(6, strip, LINE);
    _tile_loadd(4, upper, row_bytes);
    if (begins) BEGIN_TILE(0, q->before);
    _tile_dpbf16ps(0, 4, 6);
    store_part(x, row, rows, 0, keeps_sums, s);
    if (!narrow) _tile_stream_loadd(7, strip + TILE, LINE);
    if (begins) BEGIN_TILE(1, q->before + 16);
    if (!narrow) _tile_dpbf16ps(1, 4, 7);
    store_part(x, row, rows, 1, keeps_sums, s);
    _tile_loadd(5, lower, row_bytes);
    if (begins) BEGIN_TILE(2, q->before + 16 * SIDE);
    _tile_dpbf16ps(2, 5, 6);
    store_part(x, row, rows, 2, keeps_sums, s);
    if (begins) BEGIN_TILE(3, q->before + 16 * SIDE + 16);
    if (!narrow) _tile_dpbf16ps(3, 5, 7);
    store_part(x, row, rows, 3, keeps_sums, s);
}

/* `rows` are stored with each chunk until the square has gone. */
POD_INLINE void multiply_as(const pod__point_square *q, pod__point_ahead *ahead,
                            const pod__point_epilogue *epilogue, int rows, bool keeps_sums)
{
    const pod__point_epilogue x = *epilogue;
    turns s = no_sums();
    multiply_chunk(q, 0, false, &x, 0, rows, keeps_sums, &s);
    look_ahead(ahead);
    int64_t row = rows, i = 1;
    for (; i < q->n_chunks && row < SIDE; i++, row += rows) {
        multiply_chunk(q, i, false, &x, row, rows, keeps_sums, &s);
        look_ahead(ahead);
    }
    for (; i < q->n_chunks; i++) {
        multiply_chunk(q, i, false, &x, 0, 0, false, &s);
        look_ahead(ahead);
    }
    for (; row < SIDE; row += rows)
        for (int part = 0; part < 4; part++) store_part(&x, row, rows, part, keeps_sums, &s);
    if (keeps_sums) add_sums(x.sums, &s);
}

POD_INLINE void multiply_keeping(const pod__point_square *q, pod__point_ahead *ahead,
                                 const pod__point_epilogue *epilogue, bool keeps_sums)
{
    if (q->n_chunks <= 2)
        multiply_as(q, ahead, epilogue, 16, keeps_sums);
    else if (q->n_chunks <= 4)
        multiply_as(q, ahead, epilogue, 8, keeps_sums);
    else if (q->n_chunks <= 8)
        multiply_as(q, ahead, epilogue, 4, keeps_sums);
    else
        multiply_as(q, ahead, epilogue, 2, keeps_sums);
}

/* Any strip, any square that is stored. */
POD_INLINE void multiply_any(const pod__point_square *q, pod__point_ahead *ahead,
                             const pod__point_epilogue *epilogue, bool narrow)
{
    turns none = no_sums();
    multiply_chunk(q, 0, narrow, epilogue, 0, 0, false, &none);
    look_ahead(ahead);
    for (int64_t i = 1; i < q->n_chunks; i++) {
        multiply_chunk(q, i, narrow, epilogue, 0, 0, false, &none);
        look_ahead(ahead);
    }
    pod__point_store(epilogue);
}

POD_INLINE bool is_plain(const pod__point_epilogue *x)
{
    return x->n_rows == SIDE && x->columns == UINT32_MAX && !x->bias && !x->relu;
}

void pod__point_multiply(const pod__point_square *q, pod__point_ahead *ahead,
                         const pod__point_epilogue *epilogue)
{
    pod_amx_order();
    if (q->narrow)
        multiply_any(q, ahead, epilogue, true);
    else if (!is_plain(epilogue))
        multiply_any(q, ahead, epilogue, false);
    else if (epilogue->sums)
        multiply_keeping(q, ahead, epilogue, true);
    else
        multiply_keeping(q, ahead, epilogue, false);
}

void pod__point_begin(void)
{
    pod_amx_begin();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

void pod__point_end(float *last)
{
    BEGIN_TILE(0, last);
    BEGIN_TILE(1, last + 16);
    BEGIN_TILE(2, last + 16 * SIDE);
    BEGIN_TILE(3, last + 16 * SIDE + 16);
    pod_amx_end();
}

/* ---- panels are packed ------------------------------------------------------------------------- */

POD_INLINE __mmask32 first(int64_t n) { return n >= SIDE ? UINT32_MAX : (1u << n) - 1u; }

POD_INLINE __m512 changed(__m512i x, __m512 scale, __m512 shift, bool rectified)
{
    const __m512 v = _mm512_fmadd_ps(_mm512_castsi512_ps(x), scale, shift);
    return rectified ? _mm512_max_ps(_mm512_setzero_ps(), v) : v; /* of a NaN: the second */
}

/* Values of even and of odd number apart: each is a float32 where it stands. */
POD_INLINE void pack_as(pod__point_laying *x, int64_t n_lines, bool gathers, bool changes,
                        bool rectified)
{
    const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i together = _mm512_or_si512(
        number, _mm512_slli_epi32(_mm512_add_epi32(number, _mm512_set1_epi32(16)), 16));
    const __m512i high = _mm512_set1_epi32((int32_t)0xffff0000);
    const float *change = changes ? x->change + x->chunk * POD__POINT_CHANGE_FLOATS : NULL;
    const __m512 zero = _mm512_setzero_ps();
    const __m512 scale[2] = {changes ? _mm512_load_ps(change) : zero,
                             changes ? _mm512_load_ps(change + 16) : zero};
    const __m512 shift[2] = {changes ? _mm512_load_ps(change + 32) : zero,
                             changes ? _mm512_load_ps(change + 48) : zero};
    const int64_t pitch = x->depth * 2;
    const int64_t *row_at = gathers ? x->row_at + x->row : NULL;
    const char *from = x->from + (gathers ? 0 : x->row * pitch) + x->chunk * LINE;
    char *to = x->to + x->chunk * POD__POINT_CHUNK_BYTES + x->row * LINE;
    const __mmask32 mask = first(x->depth - x->chunk * SIDE);
#pragma GCC unroll 4
    for (int64_t i = 0; i < n_lines; i++) {
        __m512i v = _mm512_maskz_loadu_epi16(mask, from + (gathers ? row_at[i] : i * pitch));
        if (changes) {
            const __m512 even = changed(_mm512_slli_epi32(v, 16), scale[0], shift[0], rectified);
            const __m512 odd = changed(_mm512_and_si512(v, high), scale[1], shift[1], rectified);
            v = _mm512_permutexvar_epi16(together, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
        }
        _mm512_store_si512((void *)(to + i * LINE), v);
    }
}

POD_INLINE void pack_changed(pod__point_laying *x, int64_t n_lines, bool gathers)
{
    if (!x->change)
        pack_as(x, n_lines, gathers, false, false);
    else if (x->rectified)
        pack_as(x, n_lines, gathers, true, true);
    else
        pack_as(x, n_lines, gathers, true, false);
}

void pod__point_pack(pod__point_laying *x, int64_t n_lines)
{
    const int64_t n_chunks = (x->depth + SIDE - 1) / SIDE;
    while (n_lines > 0 && x->chunk < n_chunks && x->n_rows > 0) {
        const int64_t left = x->n_rows - x->row, n = left < n_lines ? left : n_lines;
        if (x->row_at)
            pack_changed(x, n, true);
        else
            pack_changed(x, n, false);
        n_lines -= n;
        x->row += n;
        if (x->row < x->n_rows) return;
        x->row = 0;
        x->chunk++;
    }
}
