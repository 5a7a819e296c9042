/* Binned sums under AVX-512, for combine_simd.c, with the bits of the reference. For additions a
 * vector holds four elements as in memory (high, low, high, low, ...). For conversions a vector
 * holds the `high` or the `low` of eight elements. */
#ifndef MINIPOD_KERNELS_COMBINE_BINNED_AVX512_H
#define MINIPOD_KERNELS_COMBINE_BINNED_AVX512_H

#include "kernels/base/arith.h"
#include "kernels/base/binned.h"
#include "kernels/base/simd/avx512.h"
#include "kernels/base/simd/loop.h"

#ifdef POD_SIMD

enum { BINNED_LANES = 4, BINNED_STRIP = 4, LOW_LANES = 0xaa };

POD_INLINE __m512i binned_load(const void *data, int64_t i, int n)
{
    const pod_binned *p = (const pod_binned *)data + i;
    return n == BINNED_LANES ? _mm512_loadu_si512(p)
                             : _mm512_maskz_loadu_epi64((__mmask8)((1u << 2 * n) - 1u), p);
}

POD_INLINE void binned_store(void *data, int64_t i, int n, __m512i v)
{
    pod_binned *p = (pod_binned *)data + i;
    if (n == BINNED_LANES)
        _mm512_storeu_si512(p, v);
    else
        _mm512_mask_storeu_epi64(p, (__mmask8)((1u << 2 * n) - 1u), v);
}

/* pod_binned_add of four elements. */
POD_INLINE __m512i binned_sum(__m512i a, __m512i b)
{
    const __m512i top = _mm512_set1_epi64(POD_BINNED_TOP);
    const __m512i t_a = _mm512_and_si512(_mm512_unpacklo_epi64(a, a), top);
    const __m512i t_b = _mm512_and_si512(_mm512_unpacklo_epi64(b, b), top);
    const __mmask8 less = _mm512_cmplt_epi64_mask(t_a, t_b);
    const __m512i upper = _mm512_mask_mov_epi64(a, less, b);
    const __m512i lower = _mm512_mask_mov_epi64(b, less, a);
    const __m512i apart = _mm512_abs_epi64(_mm512_sub_epi64(t_a, t_b));
    const __mmask8 by_1 = _mm512_cmpeq_epi64_mask(apart, _mm512_set1_epi64(1));
    /* Clears t, which is in the low bits of `high`. */
    const __m512i digits = _mm512_mask_andnot_epi64(lower, (__mmask8)~LOW_LANES, top, lower);
    const __m512i next =
        _mm512_srai_epi64(_mm512_unpacklo_epi64(lower, lower), POD_BINNED_TOP_BITS);
    const __m512i same = _mm512_maskz_mov_epi64(_mm512_testn_epi64_mask(apart, apart), digits);
    return _mm512_add_epi64(upper, _mm512_mask_mov_epi64(same, by_1 & LOW_LANES, next));
}

static inline void binned_add(int64_t count, const void *from, const void *own, void *sum)
{
    POD_VEC_EACH(BINNED_LANES, count, i, n, {
        binned_store(sum, i, n, binned_sum(binned_load(own, i, n), binned_load(from, i, n)));
    });
}

POD_INLINE void binned_strip(int n_vecs, int64_t i, int n, int n_in, const void *const in[],
                             int n_out, void *const out[])
{
    __m512i sum[BINNED_STRIP];
    for (int u = 0; u < n_vecs; u++) sum[u] = binned_load(in[0], i + u * BINNED_LANES, n);
    for (int j = 1; j < n_in; j++)
        for (int u = 0; u < n_vecs; u++)
            sum[u] = binned_sum(sum[u], binned_load(in[j], i + u * BINNED_LANES, n));
    for (int k = 0; k < n_out; k++)
        for (int u = 0; u < n_vecs; u++) binned_store(out[k], i + u * BINNED_LANES, n, sum[u]);
}

static inline void binned_add_all(int64_t count, int n_in, const void *const in[], int n_out,
                                  void *const out[])
{
    int64_t i = 0;
    for (; i + BINNED_STRIP * BINNED_LANES <= count; i += BINNED_STRIP * BINNED_LANES)
        binned_strip(BINNED_STRIP, i, BINNED_LANES, n_in, in, n_out, out);
    for (; i < count; i += BINNED_LANES)
        binned_strip(1, i, count - i < BINNED_LANES ? (int)(count - i) : BINNED_LANES, n_in, in,
                     n_out, out);
}

/* Eight elements; binned_put_8 and binned_get_8 convert to and from the order of memory. */
typedef struct binned_8 {
    __m512i high, low;
} binned_8;

POD_INLINE void binned_put_8(void *data, int64_t i, binned_8 x)
{
    const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i last = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    binned_store(data, i, BINNED_LANES, _mm512_permutex2var_epi64(x.high, first, x.low));
    binned_store(data, i + 4, BINNED_LANES, _mm512_permutex2var_epi64(x.high, last, x.low));
}

POD_INLINE binned_8 binned_get_8(const void *data, int64_t i)
{
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    const __m512i first = binned_load(data, i, BINNED_LANES);
    const __m512i last = binned_load(data, i + 4, BINNED_LANES);
    return (binned_8){_mm512_permutex2var_epi64(first, even, last),
                      _mm512_permutex2var_epi64(first, odd, last)};
}

POD_INLINE __m512i binned_all(int64_t x) { return _mm512_set1_epi64(x); }

/* pod_binned_from_f32 of finite numbers; `bits` in 64-bit lanes. */
POD_INLINE binned_8 binned_split(__m512i bits)
{
    const __m512i exponent = _mm512_and_si512(_mm512_srli_epi64(bits, 23), binned_all(0xff));
    const __mmask8 normal = _mm512_test_epi64_mask(exponent, exponent);
    const __m512i fraction = _mm512_and_si512(bits, binned_all(0x7fffff));
    const __m512i whole = _mm512_mask_or_epi64(fraction, normal, fraction, binned_all(0x800000));
    const __m512i shift = _mm512_mask_sub_epi64(exponent, normal, exponent, binned_all(1));
    /* x 205 / 2^13 is x / 40 for x < 256. */
    const __m512i bin = _mm512_srli_epi64(_mm512_mul_epu32(shift, binned_all(205)), 13);
    const __m512i in_bin =
        _mm512_sub_epi64(shift, _mm512_mul_epu32(bin, binned_all(POD_BINNED_WIDTH)));
    const __m512i placed = _mm512_sllv_epi64(whole, in_bin);
    const __m512i upper = _mm512_srli_epi64(placed, POD_BINNED_WIDTH);
    const __m512i lower = _mm512_and_si512(placed, binned_all(POD_BINNED_DIGIT));
    const __mmask8 two = _mm512_test_epi64_mask(upper, upper);
    const __mmask8 minus = _mm512_test_epi64_mask(bits, binned_all(0x80000000));
    const __mmask8 counted =
        _mm512_testn_epi64_mask(bin, bin) & _mm512_cmpneq_epi64_mask(bits, binned_all(0x80000000));
    const __m512i zero = _mm512_setzero_si512();
    __m512i high = _mm512_mask_mov_epi64(lower, two, upper);
    __m512i low = _mm512_mask_mov_epi64(_mm512_maskz_mov_epi64(counted, binned_all(1)), two, lower);
    high = _mm512_mask_sub_epi64(high, minus, zero, high);
    low = _mm512_mask_sub_epi64(low, minus & two, zero, low);
    high = _mm512_add_epi64(_mm512_slli_epi64(high, POD_BINNED_TOP_BITS), bin);
    return (binned_8){_mm512_mask_add_epi64(high, two, high, binned_all(1)), low};
}

static inline void binned_from_f32(int64_t count, const void *from, void *to)
{
    const float *f = from;
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m512i bits = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const void *)(f + i)));
        const __m512i magnitude = _mm512_and_si512(bits, binned_all(0x7fffffff));
        const __mmask8 odd_ones = _mm512_cmpge_epi64_mask(magnitude, binned_all(0x7f800000));
        binned_put_8(to, i, binned_split(bits));
        for (int j = 0; odd_ones && j < 8; j++)
            if (odd_ones >> j & 1) ((pod_binned *)to)[i + j] = pod_binned_from_f32(f[i + j]);
    }
    for (; i < count; i++) ((pod_binned *)to)[i] = pod_binned_from_f32(f[i]);
}

/* pod_binned_to_f32 of finite sums. If both bins do not fit 64 bits, only two bits of the lower one
 * are used, and a sticky bit for the rest; the conversion rounds far above these. The scaling is
 * exact or overflows, because a subnormal result is a multiple of 2^-149. */
POD_INLINE __m256 binned_join(binned_8 x)
{
    enum { CUT = POD_BINNED_WIDTH - 2 };
    const __m512i top = _mm512_and_si512(x.high, binned_all(POD_BINNED_TOP));
    const __mmask8 with_low = _mm512_test_epi64_mask(top, top);
    const __m512i low = _mm512_maskz_mov_epi64(with_low, x.low);
    const __m512i high = _mm512_add_epi64(_mm512_srai_epi64(x.high, POD_BINNED_TOP_BITS),
                                          _mm512_srai_epi64(low, POD_BINNED_WIDTH));
    const __m512i rest = _mm512_and_si512(low, binned_all(POD_BINNED_DIGIT));
    const __m512i edge = binned_all(1 << 23);
    const __mmask8 fits =
        _mm512_cmplt_epu64_mask(_mm512_add_epi64(high, edge), _mm512_slli_epi64(edge, 1));
    const __mmask8 more = _mm512_test_epi64_mask(rest, binned_all((INT64_C(1) << CUT) - 1));
    const __m512i both = _mm512_or_si512(_mm512_slli_epi64(high, POD_BINNED_WIDTH), rest);
    __m512i v = _mm512_or_si512(_mm512_slli_epi64(high, 2), _mm512_srli_epi64(rest, CUT));
    v = _mm512_mask_or_epi64(v, more, v, binned_all(1));
    v = _mm512_mask_mov_epi64(v, fits, both);
    __m512i unit = _mm512_mul_epu32(top, binned_all(POD_BINNED_WIDTH));
    unit = _mm512_sub_epi64(unit, binned_all(POD_BINNED_WIDTH + 149));
    unit = _mm512_mask_add_epi64(unit, (__mmask8)~fits, unit, binned_all(CUT));
    const __m256 f = _mm512_cvt_roundepi64_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm256_scalef_ps(f, _mm512_cvtepi64_ps(unit));
}

static inline void binned_to_f32(int64_t count, const void *from, void *to)
{
    float *f = to;
    const pod_binned *b = from;
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const binned_8 x = binned_get_8(from, i);
        const __m512i top = _mm512_and_si512(x.high, binned_all(POD_BINNED_TOP));
        const __mmask8 odd_ones =
            _mm512_cmpeq_epi64_mask(top, binned_all(POD_BINNED_NOT_FINITE)) |
            _mm512_testn_epi64_mask(_mm512_or_si512(x.high, x.low), _mm512_or_si512(x.high, x.low));
        _mm256_storeu_ps(f + i, binned_join(x));
        for (int j = 0; odd_ones && j < 8; j++)
            if (odd_ones >> j & 1) f[i + j] = pod_binned_to_f32(b[i + j]);
    }
    for (; i < count; i++) f[i] = pod_binned_to_f32(b[i]);
}

#endif
#endif
