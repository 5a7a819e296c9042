/* How units of amx_few/run.c are stored: read back from their tiles, changed, summed up, stored. */
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/simd/avx512.h"
#include "kernels/conv/amx_few/parts.h"

enum {
    BLOCK = POD__FEW_BLOCK,
    TILE_FLOATS = POD__FEW_TILE_FLOATS,
    SUM_PARTS = POD__FEW_SUM_PARTS,
    PIECE = POD__FEW_ROWS_PIECE
};

typedef pod__few_epilogue epilogue;

typedef struct sums {
    __m512 part[SUM_PARTS];
} sums;

POD_INLINE sums sums_of(const epilogue *x)
{
    return (sums){{x->sums[0], x->sums[1], x->sums[2], x->sums[3]}};
}

POD_INLINE void keep_sums(epilogue *x, const sums *s)
{
    for (int i = 0; i < SUM_PARTS; i++) x->sums[i] = s->part[i];
}

POD_INLINE void sum_up(sums *s, __m512i y)
{
    const __m512 even = pod_vec16_even(y), odd = pod_vec16_odd(y);
    s->part[0] = _mm512_add_ps(s->part[0], even);
    s->part[1] = _mm512_add_ps(s->part[1], odd);
    s->part[2] = _mm512_fmadd_ps(even, even, s->part[2]);
    s->part[3] = _mm512_fmadd_ps(odd, odd, s->part[3]);
}

/* What one unit summed up goes to doubles: no term passes more than 16 roundings before. */
static void end_sums(epilogue *x)
{
    for (int i = 0; i < SUM_PARTS; i++) {
        double *to = x->totals + i * 16;
        const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x->sums[i]));
        const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x->sums[i], 1));
        _mm512_store_pd(to, _mm512_add_pd(_mm512_load_pd(to), low));
        _mm512_store_pd(to + 8, _mm512_add_pd(_mm512_load_pd(to + 8), high));
        x->sums[i] = _mm512_setzero_ps();
    }
}

/* Two pixels of 16 filters, or one of 32. */
typedef struct pair {
    __m512 low, high;
} pair;

POD_INLINE __m512i finished(const epilogue *x, pair p, bool changes)
{
    if (changes && x->fused & POD_CONV_BIAS) {
        p.low = _mm512_add_ps(p.low, x->bias[0]);
        p.high = _mm512_add_ps(p.high, x->bias[1]);
    }
    if (changes && x->fused & POD_CONV_RELU) {
        p.low = _mm512_max_ps(_mm512_setzero_ps(), p.low); /* of a NaN: the second */
        p.high = _mm512_max_ps(_mm512_setzero_ps(), p.high);
    }
    return (__m512i)_mm512_cvtne2ps_pbh(p.high, p.low);
}

POD_INLINE pair pair_at(const float *values, int64_t row)
{
    return (pair){_mm512_load_ps(values + row * 16),
                  _mm512_load_ps(values + TILE_FLOATS + row * 16)};
}

/* The next n rows, without what is behind the last pixel of one that has half. Whether all were
 * numbers; unless they are taken as they are, sums are kept then only. */
POD_INLINE bool finish_as(epilogue *x, int64_t n, bool has_half, bool as_they_are, bool changes,
                          bool keeps_sums, bool streams)
{
    const float *values = x->values + x->row * 16;
    pod_bf16 *out = x->unit->out + x->row * 32;
    __mmask16 numbers = UINT16_MAX;
    sums s = sums_of(x);
#pragma GCC unroll 2
    for (int64_t i = 0; i < n - has_half; i++) {
        const pair p = pair_at(values, i);
        numbers = _mm512_mask_cmp_ps_mask(numbers, p.low, p.high, _CMP_ORD_Q);
        const __m512i y = finished(x, p, changes);
        if (streams)
            _mm512_stream_si512((void *)(out + i * 32), y);
        else
            _mm512_storeu_si512(out + i * 32, y);
        if (keeps_sums) sum_up(&s, y);
    }
    if (has_half) {
        const pair p = pair_at(values, n - 1);
        numbers = _mm512_mask_cmp_ps_mask(numbers, p.low, p.low, _CMP_ORD_Q);
        const __m512i y = _mm512_maskz_mov_epi16(UINT16_MAX, finished(x, p, changes));
        _mm512_mask_storeu_epi16(out + (n - 1) * 32, UINT16_MAX, y);
        if (keeps_sums) sum_up(&s, y);
    }
    if (!as_they_are && numbers != UINT16_MAX) return false;
    x->row += n;
    if (!keeps_sums) return true;
    keep_sums(x, &s);
    if (x->row == x->n_rows) end_sums(x);
    return true;
}

/* finish_piece[changes][keeps sums][streams] */
#define PIECES(X) \
    X(0, 0, 0) X(0, 0, 1) X(0, 1, 0) X(0, 1, 1) X(1, 0, 0) X(1, 0, 1) X(1, 1, 0) X(1, 1, 1)
#define DEFINE(c, k, s)                                 \
    static bool piece_##c##k##s(epilogue *x, int64_t n) \
    {                                                   \
        return finish_as(x, n, false, false, c, k, s);  \
    }
PIECES(DEFINE)
#undef DEFINE

static bool (*const finish_piece[2][2][2])(epilogue *x, int64_t n) = {
#define ENTRY(c, k, s) [c][k][s] = piece_##c##k##s,
    PIECES(ENTRY)
#undef ENTRY
};

/* What is not a number is worked out again from its window alone: what lies beside that met zeros,
 * and these make no zeros of what is not finite. */
static __m512 window_sum(const epilogue *x, int64_t row, int64_t half)
{
    const pod__amx_view *v = &x->few->view;
    const int64_t first = v->step == 1 ? half : 0; /* pixel */
    __m512 sum = _mm512_setzero_ps();
    for (int64_t r = 0; r < x->few->window_rows; r++)
        for (int64_t i = first * 8; i < (first + v->s) * 8; i++) {
            const char *weights = x->weights + (r * 4 + i / 16 * 2 + half) * POD__AMX_TILE_BYTES;
            int32_t two;
            memcpy(&two, x->unit->window[r] + row * BLOCK + i * 4, sizeof two);
            sum = _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32(two),
                                   (__m512bh)_mm512_load_si512(weights + i % 16 * BLOCK));
        }
    return sum;
}

static void fix_up_rows(const epilogue *x, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        for (int64_t half = 0; half < 2; half++)
            _mm512_store_ps(x->values + half * TILE_FLOATS + i * 16, window_sum(x, i, half));
}

static bool finish_any(epilogue *x, int64_t n, bool has_half, bool as_they_are)
{
    if (x->fused & POD_CONV_SUMS) return finish_as(x, n, has_half, as_they_are, true, true, false);
    return finish_as(x, n, has_half, as_they_are, true, false, false);
}

/* What is left of a piece, or behind the last: rows of which some may be no numbers. */
void pod__few_finish_few(epilogue *x)
{
    const int64_t begin = x->row, whole = x->n_whole - begin;
    const int64_t n = whole > 0 ? pod_min(whole, PIECE) : x->n_rows - begin;
    const bool has_half = whole <= 0 && x->unit->has_half;
    if (finish_any(x, n, has_half, false)) return;
    fix_up_rows(x, begin, begin + n);
    finish_any(x, n, has_half, true);
}

/* Output that is larger than the cache is gone from it when it is read again. */
static bool streams(const pod__few *few, const pod_conv_call *call)
{
    const pod__amx_view *v = &few->view;
    const int64_t least = 4 * 1024 * 1024, line_bytes = v->q * v->width * 2;
    return line_bytes % BLOCK == 0 && (uintptr_t)call->out % BLOCK == 0 &&
           v->n * v->p * line_bytes >= least;
}

pod__few_epilogue pod__few_epilogue_of(const pod__few *few, const pod_conv_call *call,
                                       const char *weights, double *totals)
{
    const bool changes = call->fused & (POD_CONV_BIAS | POD_CONV_RELU);
    const bool keeps_sums = call->fused & POD_CONV_SUMS;
    epilogue x = {.few = few, .weights = weights, .fused = call->fused, .totals = totals};
    x.finish = finish_piece[changes][keeps_sums][streams(few, call)];
    memset(totals, 0, SUM_PARTS * 16 * sizeof *totals);
    if (x.fused & POD_CONV_BIAS) {
        x.bias[0] = _mm512_loadu_ps(call->bias);
        x.bias[1] = _mm512_loadu_ps(call->bias + (few->view.width - 16));
    }
    return x;
}

void pod__few_begin(epilogue *x, const pod__few_unit *u, float *values)
{
    x->unit = u;
    x->values = values;
    x->row = 0;
    x->n_rows = u->n_rows;
    x->n_whole = (u->n_rows - u->has_half) / 2 * 2;
}

/* A part has every second channel: those of the first half of a row, then those of the second. */
void pod__few_store_sums(const epilogue *x, const pod_conv_call *call)
{
    for (int64_t k = 0; k < call->shape.k; k++) {
        const double *sum = x->totals + k % 2 * 16 + k / 2, *sum_sq = sum + 32;
        const bool twice = call->shape.k == 16;
        call->sum[k] = (float)(sum[0] + (twice ? sum[8] : 0.0));
        call->sum_sq[k] = (float)(sum_sq[0] + (twice ? sum_sq[8] : 0.0));
    }
}
