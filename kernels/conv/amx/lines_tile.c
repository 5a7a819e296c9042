/* The products of bands of lines, and between them what else there is to do: results that are stored and
 * pixels that are packed. */
#include "kernels/base/arith.h"
#include "kernels/base/simd/avx512.h"
#include "kernels/base/simd/tile_amx.h"
#include "kernels/conv/amx/lines.h"

enum { FILTERS = 32 };

POD_INLINE __m512 relu(__m512 v) /* a NaN stays: max gives the second of the two */
{
    return _mm512_max_ps(_mm512_setzero_ps(), v);
}

/* ---- results that are stored --------------------------------------------------------------------- */

/* Sums of what was stored, of even and of odd filters, in float32 over a row of each tile at a time:
 * no term passes more than 18 roundings before it goes to a double. */
typedef struct sums {
    __m512 even, odd, even_sq, odd_sq;
} sums;

typedef struct epilogue {
    const float *from; /* the next row of the upper tile; that of the lower one is 16 behind it */
    const int64_t *row_at;
    pod_bf16 *upper, *lower;
    const pod_bf16 *upper_next, *lower_next; /* where the same rows of the square at hand will go */
    const float *bias;
    uint32_t valid; /* of the next rows: bit 0 upper, bit 16 lower */
    int n_rows;
    bool adds_bias, rectifies, streams;
    sums of_upper, of_lower;
} epilogue;

POD_INLINE epilogue epilogue_of(const pod__lines_product *m, const pod__lines_square *next)
{
    const pod__lines_square *q = m->before;
    epilogue x;
    x.from = q->values;
    x.row_at = m->row_at;
    x.upper = q->tiles[0].out;
    x.lower = q->tiles[1].out;
    x.upper_next = next->tiles[0].out;
    x.lower_next = next->tiles[1].out;
    x.bias = m->bias + q->filter;
    x.valid = q->tiles[0].valid | q->tiles[1].valid << 16;
    x.n_rows = q->values ? POD__AMX_ROWS : 0;
    x.adds_bias = m->fused & POD_CONV_BIAS;
    x.rectifies = m->fused & POD_CONV_RELU;
    x.streams = m->streams;
    x.of_upper.even = x.of_upper.odd = x.of_upper.even_sq = x.of_upper.odd_sq = _mm512_setzero_ps();
    x.of_lower.even = x.of_lower.odd = x.of_lower.even_sq = x.of_lower.odd_sq = _mm512_setzero_ps();
    return x;
}

POD_INLINE void store_row(const epilogue *x, const float *from, pod_bf16 *out, sums *s,
                          bool keeps_sums)
{
    __m512 low = _mm512_load_ps(from), high = _mm512_load_ps(from + 16);
    if (x->adds_bias) {
        low = _mm512_add_ps(low, _mm512_loadu_ps(x->bias));
        high = _mm512_add_ps(high, _mm512_loadu_ps(x->bias + 16));
    }
    if (x->rectifies) low = relu(low), high = relu(high);
    const __m512i y = (__m512i)_mm512_cvtne2ps_pbh(high, low);
    if (x->streams)
        _mm512_stream_si512((void *)out, y);
    else
        _mm512_storeu_si512(out, y);
    if (!keeps_sums) return;
    const __m512 even = pod_vec16_even(y), odd = pod_vec16_odd(y);
    s->even = _mm512_add_ps(s->even, even);
    s->odd = _mm512_add_ps(s->odd, odd);
    s->even_sq = _mm512_fmadd_ps(even, even, s->even_sq);
    s->odd_sq = _mm512_fmadd_ps(odd, odd, s->odd_sq);
}

/* A row of each tile. */
POD_INLINE void store_rows(epilogue *x, bool keeps_sums)
{
    if (x->n_rows == 0) return;
    const int64_t at = *x->row_at;
    _mm_prefetch((const char *)(x->upper_next + at), _MM_HINT_T0);
    _mm_prefetch((const char *)(x->lower_next + at), _MM_HINT_T0);
    if (x->valid & 1) store_row(x, x->from, x->upper + at, &x->of_upper, keeps_sums);
    if (x->valid & 1 << 16)
        store_row(x, x->from + POD__AMX_ROWS * FILTERS, x->lower + at, &x->of_lower, keeps_sums);
    x->from += FILTERS;
    x->row_at++;
    x->valid >>= 1;
    x->n_rows--;
}

/* The rows that are left, and the sums. */
POD_INLINE void store_rest(epilogue *x, double *into, bool keeps_sums)
{
    while (x->n_rows > 0) store_rows(x, keeps_sums);
    if (!keeps_sums) return;
    pod_vec_add_f64(_mm512_add_ps(x->of_upper.even, x->of_lower.even), into);
    pod_vec_add_f64(_mm512_add_ps(x->of_upper.odd, x->of_lower.odd), into + 16);
    pod_vec_add_f64(_mm512_add_ps(x->of_upper.even_sq, x->of_lower.even_sq), into + 32);
    pod_vec_add_f64(_mm512_add_ps(x->of_upper.odd_sq, x->of_lower.odd_sq), into + 48);
}

/* ---- pixels that are packed ------------------------------------------------------------------- */

/* The bits of 32 values, changed; channels of even and of odd number apart. */
POD_INLINE __m512i changed(__m512i x, const float *change, bool rectified)
{
    const __m512i halves = _mm512_setr_epi32(
        0x100000, 0x110001, 0x120002, 0x130003, 0x140004, 0x150005, 0x160006, 0x170007, 0x180008,
        0x190009, 0x1a000a, 0x1b000b, 0x1c000c, 0x1d000d, 0x1e000e, 0x1f000f);
    __m512 even =
        _mm512_fmadd_ps(pod_vec16_even(x), _mm512_load_ps(change), _mm512_load_ps(change + 32));
    __m512 odd =
        _mm512_fmadd_ps(pod_vec16_odd(x), _mm512_load_ps(change + 16), _mm512_load_ps(change + 48));
    if (rectified) even = relu(even), odd = relu(odd);
    return _mm512_permutexvar_epi16(halves, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

/* From channel to channel of a pixel, a chunk at a time. */
POD_INLINE void pack_pixel(const pod__lines_filling *f, const char *from, char *to)
{
    const char *const end = from + f->pixel_bytes;
    const float *change = f->change;
    if (!(f->fused & POD_CONV_AFFINE_X))
        for (; from < end; from += POD__AMX_LINE_BYTES, to += f->chunk_bytes)
            _mm512_store_si512((void *)to, _mm512_loadu_si512(from));
    else if (f->fused & POD_CONV_RELU_X)
        for (; from < end; from += POD__AMX_LINE_BYTES, to += f->chunk_bytes, change += 64)
            _mm512_store_si512((void *)to, changed(_mm512_loadu_si512(from), change, true));
    else
        for (; from < end; from += POD__AMX_LINE_BYTES, to += f->chunk_bytes, change += 64)
            _mm512_store_si512((void *)to, changed(_mm512_loadu_si512(from), change, false));
}

POD_INLINE void pack_pixels(pod__lines_filling *f, int64_t n)
{
    const pod__lines_move *m = f->at;
    const int64_t left = f->end - m;
    if (left == 0) return;
    f->at += left < n ? left : n;
    for (; m < f->at; m++) pack_pixel(f, f->from[m->row] + m->from, f->to[m->row] + m->to);
}

void pod__lines_fill(pod__lines_filling *f) { pack_pixels(f, f->end - f->at); }

/* ---- products ------------------------------------------------------------------------------- */

/* Filters pass by: they do not displace the strip in the first cache. */
POD_INLINE void multiply_as(const pod__lines_product *m, const pod__lines_square *q, int n_rows,
                            bool keeps_sums)
{
    const char *b = m->weights + q->filter / 16 * m->n_chunks * POD__AMX_TILE_BYTES;
    const pod__lines_tile upper = q->tiles[0], lower = q->tiles[1];
    epilogue before = epilogue_of(m, q);
    pod__lines_filling f = *m->filling;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t i = 0; i < m->n_chunks; i++) {
        const pod__lines_chunk at = m->chunks[i];
        _tile_stream_loadd(6, b + at.b, POD__AMX_LINE_BYTES);
        _tile_loadd(4, upper.rows[at.row] + upper.at + at.a, POD__AMX_LINE_BYTES);
        _tile_dpbf16ps(0, 4, 6);
        _tile_stream_loadd(7, b + at.b + POD__AMX_TILE_BYTES, POD__AMX_LINE_BYTES);
        _tile_dpbf16ps(1, 4, 7);
        store_rows(&before, keeps_sums);
        if (n_rows > 1) store_rows(&before, keeps_sums);
        _tile_loadd(5, lower.rows[at.row] + lower.at + at.a, POD__AMX_LINE_BYTES);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        pack_pixels(&f, f.at_once);
    }
    *m->filling = f;
    store_rest(&before, m->sums + 2 * m->before->filter, keeps_sums);
}

static void multiply(const pod__lines_product *m, const pod__lines_square *q)
{
    const bool keeps_sums = m->fused & POD_CONV_SUMS;
    if (m->n_chunks < POD__AMX_ROWS)
        keeps_sums ? multiply_as(m, q, 2, true) : multiply_as(m, q, 2, false);
    else
        keeps_sums ? multiply_as(m, q, 1, true) : multiply_as(m, q, 1, false);
}

static void take_square(const pod__lines_product *m, int64_t tile, int64_t filter)
{
    const int64_t row_bytes = FILTERS * (int64_t)sizeof(float);
    pod__lines_square *before = m->before;
    pod__lines_square q = {.filter = filter};
    for (int i = 0; i < 2; i++) {
        q.tiles[i] = m->tiles[tile + i < m->n_tiles ? tile + i : tile];
        q.tiles[i].out += filter;
    }
    if (tile + 1 == m->n_tiles) q.tiles[1].valid = 0;
    multiply(m, &q);
    q.values = m->squares + (before->values == m->squares ? POD__LINES_SQUARE_FLOATS : 0);
    _tile_stored(0, q.values, row_bytes);
    _tile_stored(1, q.values + 16, row_bytes);
    _tile_stored(2, q.values + 16 * FILTERS, row_bytes);
    _tile_stored(3, q.values + 16 * FILTERS + 16, row_bytes);
    *before = q;
}

void pod__lines_multiply(const pod__lines_product *m)
{
    pod_amx_order();
    if (m->tiles_outside)
        for (int64_t i = 0; i < m->n_tiles; i += POD__LINES_TILES)
            for (int64_t filter = 0; filter < m->width; filter += FILTERS)
                take_square(m, i, filter);
    else
        for (int64_t filter = 0; filter < m->width; filter += FILTERS)
            for (int64_t i = 0; i < m->n_tiles; i += POD__LINES_TILES) take_square(m, i, filter);
}

void pod__lines_end_product(const pod__lines_product *m)
{
    epilogue x = epilogue_of(m, m->before);
    double *into = m->sums + 2 * m->before->filter;
    if (m->fused & POD_CONV_SUMS)
        store_rest(&x, into, true);
    else
        store_rest(&x, into, false);
    m->before->values = NULL;
}
