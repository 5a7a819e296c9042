/* Squares of amx_dw/1x1.h, multiplied in AMX tiles. */
#include "kernels/base/arith.h"
#include "kernels/base/simd/tile_amx.h"
#include "kernels/conv/amx_dw/1x1.h"

#include <immintrin.h>

enum { SIDE = POD__DW_PANEL, LINE = 64, TILE_BYTES = 1024, STEP_BYTES = 2 * TILE_BYTES };

/* ---- sums are stored ----------------------------------------------------------------------------- */

POD_INLINE __mmask16 first(int64_t n)
{
    return (__mmask16)(n >= 16 ? UINT16_MAX : n <= 0 ? 0 : (1u << n) - 1u);
}

/* 16 sums, of which those of the square are to be. */
POD_INLINE __m512 sums_at(const pod__dw_epilogue *l, int64_t at)
{
    const __m512 added = _mm512_load_ps(l->added + at);
    return l->sums ? _mm512_add_ps(_mm512_load_ps(l->sums + at), added) : added;
}

/* n lines, to where the sums are kept. */
POD_INLINE void keep_lines(const float *added, const float *sums, float *to, int64_t n, bool adds)
{
#pragma GCC unroll 4
    for (int64_t i = 0; i < n * 16; i += 16) {
        const __m512 v = _mm512_load_ps(added + i);
        _mm512_store_ps(to + i, adds ? _mm512_add_ps(_mm512_load_ps(sums + i), v) : v);
    }
}

/* The next lines, n a piece. */
POD_INLINE void keep_piece(pod__dw_epilogue *l, int64_t n)
{
    const int64_t at = l->piece * n * 16;
    if (at >= SIDE * SIDE) return;
    const int64_t left = (SIDE * SIDE - at) / 16, lines = n < left ? n : left;
    if (l->sums)
        keep_lines(l->added + at, l->sums + at, l->to + at, lines, true);
    else
        keep_lines(l->added + at, NULL, l->to + at, lines, false);
    l->piece++;
}

/* To dw, which is not read soon: whole lines go there without being fetched. */
POD_INLINE void put(float *to, __mmask16 mask, __m512 v)
{
    if (mask == UINT16_MAX && (uintptr_t)to % LINE == 0)
        _mm512_stream_ps(to, v);
    else
        _mm512_mask_storeu_ps(to, mask, v);
}

/* Two rows, columns in their order. */
POD_INLINE void store_rows(const pod__dw_epilogue *l)
{
    const __m512i low_order =
        _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i high_order = _mm512_add_epi32(low_order, _mm512_set1_epi32(8));
    const __mmask16 low = first(l->n_columns), high = first(l->n_columns - 16);
    for (int64_t row = 2 * l->piece; row < 2 * l->piece + 2 && row < l->n_rows; row++) {
        float *to = l->to + row * l->ld;
        const __m512 a = sums_at(l, row * SIDE);
        if (l->n_columns <= 16) {
            put(to, low, a);
            continue;
        }
        const __m512 b = sums_at(l, row * SIDE + 16);
        put(to, low, _mm512_permutex2var_ps(a, low_order, b));
        put(to + 16, high, _mm512_permutex2var_ps(a, high_order, b));
    }
}

/* 4 columns of rows i, 4 + i, 8 + i and 12 + i. */
POD_INLINE __m512 four_rows(const float *from)
{
    __m512 v = _mm512_castps128_ps512(_mm_load_ps(from));
    v = _mm512_insertf32x4(v, _mm_load_ps(from + 4 * SIDE), 1);
    v = _mm512_insertf32x4(v, _mm_load_ps(from + 8 * SIDE), 2);
    return _mm512_insertf32x4(v, _mm_load_ps(from + 12 * SIDE), 3);
}

POD_INLINE __m512 four_rows_at(const pod__dw_epilogue *l, int64_t at)
{
    const __m512 added = four_rows(l->added + at);
    return l->sums ? _mm512_add_ps(four_rows(l->sums + at), added) : added;
}

/* Four columns of 16 rows become four rows. */
POD_INLINE void store_columns(const pod__dw_epilogue *l)
{
    const int quarter = l->piece % 4, tile = l->piece / 4 % 2, row = l->piece / 8 * 16;
    const int column = l->n_columns <= 16 ? 4 * quarter : 8 * quarter + 4 * tile;
    if (row >= l->n_rows || column >= l->n_columns || (tile && l->n_columns <= 16)) return;
    const int64_t from = row * SIDE + tile * 16 + quarter * 4;
    const __m512 a = four_rows_at(l, from), b = four_rows_at(l, from + SIDE);
    const __m512 c = four_rows_at(l, from + 2 * SIDE), d = four_rows_at(l, from + 3 * SIDE);
    const __m512d low_ab = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
    const __m512d high_ab = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
    const __m512d low_cd = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
    const __m512d high_cd = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
    const __m512d v[4] = {_mm512_unpacklo_pd(low_ab, low_cd), _mm512_unpackhi_pd(low_ab, low_cd),
                          _mm512_unpacklo_pd(high_ab, high_cd),
                          _mm512_unpackhi_pd(high_ab, high_cd)};
    for (int i = 0; i < 4 && column + i < l->n_columns; i++)
        put(l->to + (column + i) * l->ld + row, first(l->n_rows - row), _mm512_castpd_ps(v[i]));
}

POD_INLINE void store_piece(pod__dw_epilogue *l)
{
    if (l->piece >= POD__DW_EPILOGUE_PIECES) return;
    l->transposed ? store_columns(l) : store_rows(l);
    l->piece++;
}

static void run_epilogue(pod__dw_epilogue *l)
{
    while (l->piece < POD__DW_EPILOGUE_PIECES)
        if (l->ld == 0)
            keep_piece(l, SIDE * SIDE / 16 / POD__DW_EPILOGUE_PIECES);
        else
            store_piece(l);
}

/* ---- products ------------------------------------------------------------------------------- */

POD_INLINE void fetch(pod__dw_fetching *f)
{
    int64_t n = f->a_step;
    while (n > 0 && f->rows > 0) {
        const int64_t end = f->line + n < f->lines ? f->line + n : f->lines;
        n -= end - f->line;
        for (int64_t i = f->line; i < end; i++) _mm_prefetch(f->row + i * LINE, _MM_HINT_T1);
        f->line = end;
        if (end < f->lines) return;
        f->line = 0, f->row += f->row_bytes, f->rows--;
    }
}

/* What the tile holds of the square before makes room. */
#define BEGIN_TILE(tile, to)              \
    do {                                  \
        _tile_stored(tile, to, 2 * LINE); \
        _tile_zero(tile);                 \
    } while (0)

/* Tiles 0 1 of the square, below them 2 3. */
POD_INLINE void multiply_step(const char *a, const char *b, float *before, bool begins, bool tall,
                              bool wide)
{
    _tile_loadd(6, b, LINE);
    _tile_stream_loadd(4, a, LINE);
    if (begins) BEGIN_TILE(0, before);
    _tile_dpbf16ps(0, 4, 6);
    if (tall) _tile_stream_loadd(5, a + TILE_BYTES, LINE);
    if (begins) BEGIN_TILE(2, before + 16 * SIDE);
    if (tall) _tile_dpbf16ps(2, 5, 6);
    if (wide) _tile_loadd(7, b + TILE_BYTES, LINE);
    if (begins) BEGIN_TILE(1, before + 16);
    if (wide) _tile_dpbf16ps(1, 4, 7);
    if (begins) BEGIN_TILE(3, before + 16 * SIDE + 16);
    if (tall && wide) _tile_dpbf16ps(3, 5, 7);
}

/* `keeps`: what is stored goes to sums. */
POD_INLINE void run_square(const pod__dw_square *q, bool keeps, bool tall, bool wide)
{
    const char *a = (const char *)q->transposed, *b = (const char *)q->woven;
    const int64_t n = q->n_steps, stores = (POD__DW_EPILOGUE_PIECES + n - 1) / n;
    const int64_t lines = (SIDE * SIDE / 16 + n - 1) / n;
    pod__dw_epilogue *l = q->epilogue;
    for (int64_t step = 0; step < n; step++, a += STEP_BYTES, b += STEP_BYTES) {
        if (step == 0)
            multiply_step(a, b, l->added, true, tall, wide);
        else
            multiply_step(a, b, l->added, false, tall, wide);
        if (keeps)
            keep_piece(l, lines);
        else
            for (int64_t i = 0; i < stores; i++) store_piece(l);
        fetch(&q->fetching[0]);
        fetch(&q->fetching[1]);
    }
}

POD_INLINE void run_as(const pod__dw_square *q, bool keeps)
{
    if (q->tall && q->wide)
        run_square(q, keeps, true, true);
    else if (q->tall)
        run_square(q, keeps, true, false);
    else if (q->wide)
        run_square(q, keeps, false, true);
    else
        run_square(q, keeps, false, false);
}

void pod__dw_point_multiply(const pod__dw_square *q)
{
    pod_amx_order();
    if (q->epilogue->ld == 0 && q->epilogue->piece == 0)
        run_as(q, true);
    else
        run_as(q, false);
    pod_amx_order();
}

void pod__dw_point_start(void)
{
    pod_amx_begin();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

void pod__dw_point_stop(pod__dw_epilogue *last)
{
    BEGIN_TILE(0, last->added);
    BEGIN_TILE(1, last->added + 16);
    BEGIN_TILE(2, last->added + 16 * SIDE);
    BEGIN_TILE(3, last->added + 16 * SIDE + 16);
    pod_amx_end();
    run_epilogue(last);
    _mm_sfence();
}
