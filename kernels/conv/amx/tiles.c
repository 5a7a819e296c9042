/* The products of the AMX convolution and what is done to their results: 32 pixels by 32 filters at
 * a time, two tiles of A by two of B. */
#include "kernels/base/arith.h"
#include "kernels/base/simd/avx512.h"
#include "kernels/base/simd/tile_amx.h"
#include "kernels/conv/amx/window.h"

enum { SQUARE = 32 };

/* Sums of what was stored, in float32 over one tile, or over two of 16 filters: no term passes more
 * than 18 roundings before it goes to a double. */
typedef struct sums {
    __m512 sum[2], sum_sq[2];
} sums;

POD_INLINE void sum_up(sums *s, int i, __m512 v)
{
    s->sum[i] = _mm512_add_ps(s->sum[i], v);
    s->sum_sq[i] = _mm512_fmadd_ps(v, v, s->sum_sq[i]);
}

POD_INLINE void add_sums(const pod__amx_product *m, int64_t filter, const sums *s)
{
    if (m->pairs) {
        pod_vec_add_f64(_mm512_add_ps(s->sum[0], s->sum[1]), m->sum + filter);
        pod_vec_add_f64(_mm512_add_ps(s->sum_sq[0], s->sum_sq[1]), m->sum_sq + filter);
        return;
    }
    pod_vec_add_f64(s->sum[0], m->sum + filter);
    pod_vec_add_f64(s->sum[1], m->sum + filter + 16);
    pod_vec_add_f64(s->sum_sq[0], m->sum_sq + filter);
    pod_vec_add_f64(s->sum_sq[1], m->sum_sq + filter + 16);
}

POD_INLINE __m512 relu(__m512 v)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ), v);
}

POD_INLINE __m512 widen(__m256i bf16)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16));
}

/* How results are stored: 32 columns of `mask` a row, `rows` of them. Where a pixel has 16 filters and the
 * next follows close, two pixels are taken as one row of 32. */
typedef struct epilogue {
    const pod__amx_product *m;
    pod_bf16 *out;
    int64_t filter;
    __mmask32 mask;
    __m512 bias[2];
} epilogue;

POD_INLINE __m512i finish_row(const epilogue *x, const float *from)
{
    __m512 low = _mm512_loadu_ps(from), high = _mm512_loadu_ps(from + 16);
    if (x->m->fused & POD_CONV_BIAS) {
        low = _mm512_add_ps(low, x->bias[0]);
        high = _mm512_add_ps(high, x->bias[1]);
    }
    if (x->m->fused & POD_CONV_RELU) low = relu(low), high = relu(high);
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

POD_INLINE void sum_row(sums *s, __m512i y)
{
    sum_up(s, 0, widen(_mm512_castsi512_si256(y)));
    sum_up(s, 1, widen(_mm512_extracti64x4_epi64(y, 1)));
}

POD_INLINE void finish_rows(const epilogue *x, const pod__amx_tile *t, const float *from,
                            bool keeps_sums, sums *s)
{
    pod_bf16 *out = x->out + t->at + x->filter;
    from += t->first * SQUARE;
    for (int i = 0; i < t->n_rows; i++, from += SQUARE) {
        const __m512i y = finish_row(x, from);
        if (x->m->streams)
            _mm512_stream_si512((void *)(out + t->rows[i]), y);
        else if (x->mask == UINT32_MAX)
            _mm512_storeu_si512(out + t->rows[i], y);
        else
            _mm512_mask_storeu_epi16(out + t->rows[i], x->mask, y);
        if (keeps_sums) sum_row(s, y);
    }
}

POD_INLINE void finish_pairs(const epilogue *x, const pod__amx_tile *t, const float *from,
                             bool keeps_sums, sums *s)
{
    pod_bf16 *out = x->out + t->at;
    from += t->first * 16;
    for (int i = 0; i + 1 < t->n_rows; i += 2, from += SQUARE) {
        const __m512i y = finish_row(x, from);
        if (x->m->streams)
            _mm512_stream_si512((void *)(out + i * 16), y);
        else
            _mm512_storeu_si512(out + i * 16, y);
        if (keeps_sums) sum_row(s, y);
    }
    if (t->n_rows % 2 == 0) return;
    const __m512i y = _mm512_maskz_mov_epi16(0xffff, finish_row(x, from));
    _mm512_mask_storeu_epi16(out + (t->n_rows - 1) * 16, 0xffff, y);
    if (keeps_sums) sum_row(s, y);
}

POD_INLINE void finish_as(const pod__amx_product *m, const pod__amx_square *q, bool keeps_sums)
{
    const int64_t columns = m->width - q->filter;
    const int64_t second = m->pairs ? q->filter : q->filter + 16;
    epilogue x = {
        m, q->out, q->filter, columns >= SQUARE ? UINT32_MAX : (1u << columns) - 1u, {{0}, {0}}};
    if (m->fused & POD_CONV_BIAS) {
        const __mmask32 mask = m->pairs ? UINT32_MAX : x.mask;
        x.bias[0] = _mm512_maskz_loadu_ps((__mmask16)mask, m->bias + q->filter);
        x.bias[1] = _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), m->bias + second);
    }
    const sums none = {{_mm512_setzero_ps(), _mm512_setzero_ps()},
                       {_mm512_setzero_ps(), _mm512_setzero_ps()}};
    for (int i = 0; i < q->n_tiles; i++) {
        sums s = none;
        if (m->pairs) {
            finish_pairs(&x, q->tiles + i, q->values + i * 16 * 16, keeps_sums, &s);
            if (++i < q->n_tiles)
                finish_pairs(&x, q->tiles + i, q->values + i * 16 * 16, keeps_sums, &s);
        } else
            finish_rows(&x, q->tiles + i, q->values + i * 16 * SQUARE, keeps_sums, &s);
        if (keeps_sums) add_sums(m, q->filter, &s);
    }
}

static void finish(const pod__amx_product *m, const pod__amx_square *q)
{
    if (m->fused & POD_CONV_SUMS)
        finish_as(m, q, true);
    else
        finish_as(m, q, false);
}

/* ---- products ------------------------------------------------------------------------------- */

/* A few lines of what the next block reads, for each step of this one. */
POD_INLINE void look_ahead(pod__amx_ahead *x)
{
    for (int i = 0; i < x->lines && x->at < x->end; i++, x->at += POD__AMX_LINE_BYTES)
        _mm_prefetch(x->at, _MM_HINT_T1);
    if (x->at < x->end || x->n_ranges <= 1) return;
    x->begin += x->range_bytes;
    x->end += x->range_bytes;
    x->at = x->begin;
    x->n_ranges--;
}

POD_INLINE void zero_tiles(void)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

POD_INLINE void load_filters(const char *b, bool passes_by)
{
    if (passes_by) {
        _tile_stream_loadd(6, b, POD__AMX_LINE_BYTES);
        _tile_stream_loadd(7, b + POD__AMX_TILE_BYTES, POD__AMX_LINE_BYTES);
    } else {
        _tile_loadd(6, b, POD__AMX_LINE_BYTES);
        _tile_loadd(7, b + POD__AMX_TILE_BYTES, POD__AMX_LINE_BYTES);
    }
}

/* One tile or two (tall) by 32 filters. */
POD_INLINE void multiply_wide(const pod__amx_product *m, const pod__amx_square *q, bool tall,
                              bool passes_by)
{
    const char *b = m->weights + q->filter / 16 * m->n_chunks * POD__AMX_TILE_BYTES;
    const char *upper = q->tiles[0].a, *lower = q->tiles[tall ? 1 : 0].a;
    zero_tiles();
    for (int64_t i = 0; i < m->n_chunks; i++, b += 2 * POD__AMX_TILE_BYTES) {
        const int64_t at = m->chunk_at[i];
        look_ahead(m->ahead);
        load_filters(b, passes_by);
        _tile_loadd(4, upper + at, m->pitch);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        if (!tall) continue;
        _tile_loadd(5, lower + at, m->pitch);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
}

/* Up to four tiles by 16 filters. */
POD_INLINE void multiply_narrow(const pod__amx_product *m, const pod__amx_square *q, int n)
{
    const char *b = m->weights + q->filter / 16 * m->n_chunks * POD__AMX_TILE_BYTES;
    const pod__amx_tile *t = q->tiles;
    zero_tiles();
    for (int64_t i = 0; i < m->n_chunks; i++, b += POD__AMX_TILE_BYTES) {
        const int64_t at = m->chunk_at[i];
        look_ahead(m->ahead);
        _tile_loadd(6, b, POD__AMX_LINE_BYTES);
        _tile_loadd(4, t[0].a + at, m->pitch);
        _tile_dpbf16ps(0, 4, 6);
        if (n < 2) continue;
        _tile_loadd(5, t[1].a + at, m->pitch);
        _tile_dpbf16ps(1, 5, 6);
        if (n < 3) continue;
        _tile_loadd(4, t[2].a + at, m->pitch);
        _tile_dpbf16ps(2, 4, 6);
        if (n < 4) continue;
        _tile_loadd(5, t[3].a + at, m->pitch);
        _tile_dpbf16ps(3, 5, 6);
    }
}

/* Stacked: tiles 4 of A and 5 of B for chunks of 32 values, 6 and 7 for those of 16. Registers are
 * written with the instruction, hence macros. */
#define MULTIPLY_STACKED_NARROW(A, B)                        \
    do {                                                     \
        const int64_t at = m->chunk_at[i];                   \
        pod__amx_fill_rows(m->filling, m->filling->at_once); \
        _tile_loadd(B, b, POD__AMX_LINE_BYTES);              \
        _tile_loadd(A, t[0].a + at, m->pitch);               \
        _tile_dpbf16ps(0, A, B);                             \
        if (n < 2) break;                                    \
        _tile_loadd(A, t[1].a + at, m->pitch);               \
        _tile_dpbf16ps(1, A, B);                             \
        if (n < 3) break;                                    \
        _tile_loadd(A, t[2].a + at, m->pitch);               \
        _tile_dpbf16ps(2, A, B);                             \
        if (n < 4) break;                                    \
        _tile_loadd(A, t[3].a + at, m->pitch);               \
        _tile_dpbf16ps(3, A, B);                             \
    } while (0)

#define MULTIPLY_STACKED_WIDE(A, B)                                   \
    do {                                                              \
        const int64_t at = m->chunk_at[i];                            \
        pod__amx_fill_rows(m->filling, m->filling->at_once);          \
        _tile_loadd(B, b, POD__AMX_LINE_BYTES);                       \
        _tile_loadd(A, t[0].a + at, m->pitch);                        \
        _tile_dpbf16ps(0, A, B);                                      \
        if (n > 1) {                                                  \
            _tile_loadd(A, t[1].a + at, m->pitch);                    \
            _tile_dpbf16ps(2, A, B);                                  \
        }                                                             \
        _tile_loadd(B, b + POD__AMX_TILE_BYTES, POD__AMX_LINE_BYTES); \
        if (n > 1) {                                                  \
            _tile_dpbf16ps(3, A, B);                                  \
            _tile_loadd(A, t[0].a + at, m->pitch);                    \
        }                                                             \
        _tile_dpbf16ps(1, A, B);                                      \
    } while (0)

POD_INLINE void multiply_stacked_narrow(const pod__amx_product *m, const pod__amx_square *q, int n)
{
    const char *b = m->weights + q->filter / 16 * m->n_chunks * POD__AMX_TILE_BYTES;
    const pod__amx_tile *t = q->tiles;
    int64_t i = 0;
    zero_tiles();
    for (; i < m->n_whole; i++, b += POD__AMX_TILE_BYTES) MULTIPLY_STACKED_NARROW(4, 5);
    for (; i < m->n_chunks; i++, b += POD__AMX_TILE_BYTES) MULTIPLY_STACKED_NARROW(6, 7);
}

POD_INLINE void multiply_stacked_wide(const pod__amx_product *m, const pod__amx_square *q, int n)
{
    const char *b = m->weights + q->filter / 16 * m->n_chunks * POD__AMX_TILE_BYTES;
    const pod__amx_tile *t = q->tiles;
    int64_t i = 0;
    zero_tiles();
    for (; i < m->n_whole; i++, b += 2 * POD__AMX_TILE_BYTES) MULTIPLY_STACKED_WIDE(4, 5);
    for (; i < m->n_chunks; i++, b += 2 * POD__AMX_TILE_BYTES) MULTIPLY_STACKED_WIDE(6, 7);
}

static void multiply_stacked(const pod__amx_product *m, const pod__amx_square *q, bool wide)
{
    if (wide)
        q->n_tiles == 2 ? multiply_stacked_wide(m, q, 2) : multiply_stacked_wide(m, q, 1);
    else if (q->n_tiles == 4)
        multiply_stacked_narrow(m, q, 4);
    else
        multiply_stacked_narrow(m, q, q->n_tiles);
}

static void multiply(const pod__amx_product *m, const pod__amx_square *q, bool wide)
{
    if (m->stacked)
        multiply_stacked(m, q, wide);
    else if (wide && q->n_tiles < 2)
        multiply_wide(m, q, false, false);
    else if (wide)
        m->passes_by ? multiply_wide(m, q, true, true) : multiply_wide(m, q, true, false);
    else if (q->n_tiles == 4)
        multiply_narrow(m, q, 4);
    else
        multiply_narrow(m, q, q->n_tiles);
}

static void store_square(const pod__amx_product *m, const pod__amx_square *q, bool wide)
{
    float *to = q->values;
    const int64_t row_bytes = (m->pairs ? 16 : SQUARE) * (int64_t)sizeof *to;
    const int64_t tile = 4 * row_bytes; /* floats of 16 rows */
    _tile_stored(0, to, row_bytes);
    _tile_stored(1, wide ? to + 16 : to + tile, row_bytes);
    if (q->n_tiles < (wide ? 2 : 3)) return;
    _tile_stored(2, wide ? to + tile : to + 2 * tile, row_bytes);
    _tile_stored(3, wide ? to + tile + 16 : to + 3 * tile, row_bytes);
}

/* What was multiplied before is stored while the next square is multiplied: the tile unit does not
 * wait. */
static void take_square(const pod__amx_product *m, pod__amx_square q)
{
    pod__amx_square *before = m->before;
    const bool wide = m->width - q.filter > 16;
    multiply(m, &q, wide);
    if (before->n_tiles) finish(m, before);
    q.values = m->squares + (before->values == m->squares ? POD__AMX_SQUARE_FLOATS : 0);
    store_square(m, &q, wide);
    *before = q;
}

static int n_taken(const pod__amx_product *m, int64_t tile, int64_t filter)
{
    const int64_t most = m->width - filter > 16 ? 2 : 4, left = m->n_tiles - tile;
    return (int)(left < most ? left : most);
}

void pod__amx_begin(bool stacked)
{
    if (stacked)
        pod_amx_begin_halves();
    else
        pod_amx_begin();
}

void pod__amx_multiply(const pod__amx_product *m)
{
    pod_amx_order();
    const int64_t even = m->width % SQUARE > 0 && m->width % SQUARE <= 16
                             ? m->width / SQUARE * SQUARE
                             : m->width; /* filters that are taken 32 at a time */
    if (m->tiles_outside)
        for (int64_t i = 0; i < m->n_tiles; i += 2)
            for (int64_t filter = 0; filter < even; filter += SQUARE)
                take_square(m, (pod__amx_square){m->tiles + i, n_taken(m, i, filter), filter, NULL,
                                                 m->out});
    for (int64_t filter = m->tiles_outside ? even : 0; filter < m->width; filter += SQUARE)
        for (int64_t i = 0; i < m->n_tiles;) {
            const int n = n_taken(m, i, filter);
            take_square(m, (pod__amx_square){m->tiles + i, n, filter, NULL, m->out});
            i += n;
        }
}

void pod__amx_end_product(const pod__amx_product *m)
{
    if (m->before->n_tiles) finish(m, m->before);
    m->before->n_tiles = 0;
}
