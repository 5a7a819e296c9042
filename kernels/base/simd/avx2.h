/* Vectors of float32 under AVX2 and FMA: the names and the contract of simd/avx512.h.
 *
 * If AVX2 or FMA is not enabled, this header is empty. */
#ifndef MINIPOD_KERNELS_BASE_SIMD_AVX2_H
#define MINIPOD_KERNELS_BASE_SIMD_AVX2_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/dtype.h"
#include "kernels/base/simd/exp.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

#define POD_SIMD    avx2
#define POD_ISA_SET "avx2", POD_CPU_AVX2

enum { POD_VEC_LANES = 8, POD_VEC16_LANES = 16 };
typedef __m256 pod_vec;
typedef __m256 pod_vec_mask; /* all bits of a lane, or none */

POD_INLINE pod_vec pod__vec_widen(__m128i bf16)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bf16), 16));
}

/* Rounds 16 float32 to bf16. The arguments are the upper halves of their bits, the lower halves,
 * and a mask of the NaNs. Adds one if the lower half is above 0x8000, or is 0x8000 and the last
 * kept bit is odd. A NaN gets its quiet bit instead; a number with exponent 0 keeps only its
 * sign. */
POD_INLINE __m256i pod__vec_round(__m256i high, __m256i low, __m256i nan)
{
    const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi16(1));
    const __m256i above = _mm256_xor_si256(low, _mm256_set1_epi16(INT16_MIN));
    const __m256i up = _mm256_cmpgt_epi16(_mm256_adds_epi16(above, odd), _mm256_setzero_si256());
    const __m256i rounded = _mm256_sub_epi16(high, _mm256_andnot_si256(nan, up));
    const __m256i quiet = _mm256_and_si256(nan, _mm256_set1_epi16(0x40));
    const __m256i exponent = _mm256_and_si256(high, _mm256_set1_epi16(0x7f80));
    const __m256i tiny = _mm256_cmpeq_epi16(exponent, _mm256_setzero_si256());
    const __m256i fraction = _mm256_and_si256(tiny, _mm256_set1_epi16(INT16_MAX));
    return _mm256_andnot_si256(fraction, _mm256_or_si256(rounded, quiet));
}

POD_INLINE __m256i pod__vec_nan(pod_vec v)
{
    return _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}

POD_INLINE __m256i pod_vec16_narrow(pod_vec first, pod_vec second)
{
    const __m256i f = _mm256_castps_si256(first), s = _mm256_castps_si256(second);
    const __m256i zero = _mm256_setzero_si256();
    const __m256i high = _mm256_packus_epi32(_mm256_srli_epi32(f, 16), _mm256_srli_epi32(s, 16));
    const __m256i low =
        _mm256_packus_epi32(_mm256_blend_epi16(f, zero, 0xaa), _mm256_blend_epi16(s, zero, 0xaa));
    const __m256i nan = _mm256_packs_epi32(pod__vec_nan(first), pod__vec_nan(second));
    return _mm256_permute4x64_epi64(pod__vec_round(high, low, nan), 0xd8);
}

POD_INLINE __m128i pod__vec_narrow(pod_vec v)
{
    return _mm256_castsi256_si128(pod_vec16_narrow(v, _mm256_setzero_ps()));
}

/* Parts of vectors are copied through the stack, because AVX2 has no masks for 8 and 16 bits. */
POD_INLINE pod_vec pod_vec_load(pod_dtype t, const void *data, int64_t i, int n)
{
    if (t == POD_BF16) {
        uint16_t part[POD_VEC_LANES] = {0};
        const void *p = (const uint16_t *)data + i;
        if (n < POD_VEC_LANES) p = memcpy(part, p, sizeof part[0] * (size_t)n);
        return pod__vec_widen(_mm_loadu_si128(p));
    }
    float part[POD_VEC_LANES] = {0};
    const float *p = (const float *)data + i;
    if (n < POD_VEC_LANES) p = memcpy(part, p, sizeof part[0] * (size_t)n);
    return _mm256_loadu_ps(p);
}

POD_INLINE void pod_vec_store(pod_dtype t, void *data, int64_t i, int n, pod_vec v)
{
    if (t == POD_BF16) {
        uint16_t part[POD_VEC_LANES], *p = (uint16_t *)data + i;
        _mm_storeu_si128((void *)(n < POD_VEC_LANES ? part : p), pod__vec_narrow(v));
        if (n < POD_VEC_LANES) memcpy(p, part, sizeof part[0] * (size_t)n);
        return;
    }
    float part[POD_VEC_LANES], *p = (float *)data + i;
    _mm256_storeu_ps(n < POD_VEC_LANES ? part : p, v);
    if (n < POD_VEC_LANES) memcpy(p, part, sizeof part[0] * (size_t)n);
}

POD_INLINE pod_vec pod_vec_load_u8(const uint8_t *data, int64_t i, int n)
{
    uint8_t part[POD_VEC_LANES] = {0};
    const void *p = data + i;
    if (n < POD_VEC_LANES) p = memcpy(part, p, (size_t)n);
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(p)));
}

POD_INLINE pod_vec pod_vec_all(float x) { return _mm256_set1_ps(x); }
POD_INLINE pod_vec pod_vec_add(pod_vec a, pod_vec b) { return _mm256_add_ps(a, b); }
POD_INLINE pod_vec pod_vec_sub(pod_vec a, pod_vec b) { return _mm256_sub_ps(a, b); }
POD_INLINE pod_vec pod_vec_mul(pod_vec a, pod_vec b) { return _mm256_mul_ps(a, b); }
POD_INLINE pod_vec pod_vec_div(pod_vec a, pod_vec b) { return _mm256_div_ps(a, b); }
POD_INLINE pod_vec pod_vec_sqrt(pod_vec a) { return _mm256_sqrt_ps(a); }
POD_INLINE pod_vec pod_vec_fma(pod_vec a, pod_vec b, pod_vec c) { return _mm256_fmadd_ps(a, b, c); }

POD_INLINE pod_vec pod_vec_even(pod_vec a, pod_vec b)
{
    const __m256d pairs = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(pairs, 0xd8));
}
POD_INLINE pod_vec pod_vec_odd(pod_vec a, pod_vec b)
{
    const __m256d pairs = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xdd));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(pairs, 0xd8));
}

POD_INLINE pod_vec pod_vec_zip_first(pod_vec a, pod_vec b)
{
    return _mm256_permute2f128_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b), 0x20);
}
POD_INLINE pod_vec pod_vec_zip_second(pod_vec a, pod_vec b)
{
    return _mm256_permute2f128_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b), 0x31);
}

POD_INLINE void pod_vec_add_f64(pod_vec v, double *into)
{
    const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
    const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
    _mm256_storeu_pd(into, _mm256_add_pd(_mm256_loadu_pd(into), low));
    _mm256_storeu_pd(into + 4, _mm256_add_pd(_mm256_loadu_pd(into + 4), high));
}

POD_INLINE pod_vec pod_vec_first(int n, pod_vec x, pod_vec rest)
{
    if (n == POD_VEC_LANES) return x;
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i first = _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane);
    return _mm256_blendv_ps(rest, x, _mm256_castsi256_ps(first));
}

POD_INLINE pod_vec pod_vec_max(pod_vec a, pod_vec b) { return _mm256_max_ps(a, b); }

POD_INLINE pod_vec pod_vec_minus_abs(pod_vec x) { return _mm256_or_ps(x, _mm256_set1_ps(-0.0f)); }

/* A division, because AVX2's approximate reciprocal has too few bits, which differ between CPUs. */
POD_INLINE pod_vec pod_vec_inverse(pod_vec x) { return _mm256_div_ps(_mm256_set1_ps(1), x); }

POD_INLINE pod_vec pod_vec_exp(pod_vec x)
{
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(POD_LOG2_E)),
                                     _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(POD_LN2_LOW),
                                      _mm256_fnmadd_ps(n, _mm256_set1_ps(POD_LN2_HIGH), x));
    __m256 p = _mm256_set1_ps(POD_EXP_5);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(POD_EXP_4));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(POD_EXP_3));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(POD_EXP_2));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(POD_EXP_1));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(POD_EXP_0));
    p = _mm256_fmadd_ps(_mm256_mul_ps(r, r), p, _mm256_add_ps(r, _mm256_set1_ps(1)));
    const __m256i power = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    const __m256 scaled = _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(power, 23)));
    return _mm256_and_ps(scaled, _mm256_cmp_ps(x, _mm256_set1_ps(-87), _CMP_NLT_UQ));
}

POD_INLINE pod_vec_mask pod_vec_gt(pod_vec a, pod_vec b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
POD_INLINE pod_vec_mask pod_vec_equal(pod_vec a, pod_vec b)
{
    return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}
POD_INLINE pod_vec_mask pod_vec_not_le(pod_vec a, pod_vec b)
{
    return _mm256_cmp_ps(a, b, _CMP_NLE_UQ);
}
POD_INLINE pod_vec_mask pod_vec_is_number(pod_vec a) { return _mm256_cmp_ps(a, a, _CMP_ORD_Q); }
POD_INLINE pod_vec_mask pod_vec_mask_all(void)
{
    return _mm256_castsi256_ps(_mm256_set1_epi32(-1));
}
POD_INLINE pod_vec_mask pod_vec_mask_and(pod_vec_mask a, pod_vec_mask b)
{
    return _mm256_and_ps(a, b);
}
POD_INLINE pod_vec_mask pod_vec_mask_and_not(pod_vec_mask a, pod_vec_mask b)
{
    return _mm256_andnot_ps(b, a);
}
POD_INLINE bool pod_vec_any(pod_vec_mask m) { return _mm256_movemask_ps(m) != 0; }
POD_INLINE pod_vec pod_vec_select(pod_vec_mask m, pod_vec yes, pod_vec no)
{
    return _mm256_blendv_ps(no, yes, m);
}

typedef __m256i pod_vec_u32;

POD_INLINE pod_vec_u32 pod_vec_u32_all(uint32_t x) { return _mm256_set1_epi32((int)x); }
POD_INLINE pod_vec_u32 pod_vec_u32_from(uint32_t first)
{
    return _mm256_add_epi32(pod_vec_u32_all(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
POD_INLINE pod_vec_u32 pod_vec_u32_xor(pod_vec_u32 a, pod_vec_u32 b)
{
    return _mm256_xor_si256(a, b);
}
POD_INLINE pod_vec_u32 pod_vec_u32_mul(pod_vec_u32 a, uint32_t b, pod_vec_u32 *high)
{
    const __m256i by = pod_vec_u32_all(b);
    const __m256i even = _mm256_mul_epu32(a, by);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), by);
    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}
POD_INLINE pod_vec pod_vec_u32_upper24(pod_vec_u32 x)
{
    return _mm256_cvtepi32_ps(_mm256_srli_epi32(x, 8));
}

typedef __m256i pod_vec16;

POD_INLINE pod_vec16 pod_vec16_load(const void *data, int64_t i, int n)
{
    uint16_t part[POD_VEC16_LANES] = {0};
    const void *p = (const uint16_t *)data + i;
    if (n < POD_VEC16_LANES) p = memcpy(part, p, sizeof part[0] * (size_t)n);
    return _mm256_loadu_si256(p);
}

POD_INLINE void pod_vec16_store(void *data, int64_t i, int n, pod_vec16 v)
{
    uint16_t part[POD_VEC16_LANES], *p = (uint16_t *)data + i;
    _mm256_storeu_si256((void *)(n < POD_VEC16_LANES ? part : p), v);
    if (n < POD_VEC16_LANES) memcpy(p, part, sizeof part[0] * (size_t)n);
}

POD_INLINE void pod_vec16_store_past(void *data, int64_t i, pod_vec16 v)
{
    _mm256_stream_si256((void *)((uint16_t *)data + i), v);
}
POD_INLINE void pod_vec_store_past(float *data, int64_t i, pod_vec v)
{
    _mm256_stream_ps(data + i, v);
}
POD_INLINE void pod_vec_past_end(void) { _mm_sfence(); }

POD_INLINE pod_vec pod_vec16_even(pod_vec16 x)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(x, 16));
}
POD_INLINE pod_vec pod_vec16_odd(pod_vec16 x)
{
    return _mm256_castsi256_ps(_mm256_and_si256(x, _mm256_set1_epi32((int)0xffff0000)));
}
POD_INLINE pod_vec16 pod_vec16_join(pod_vec even, pod_vec odd)
{
    const __m256i e = _mm256_castps_si256(even), o = _mm256_castps_si256(odd);
    return pod__vec_round(_mm256_blend_epi16(_mm256_srli_epi32(e, 16), o, 0xaa),
                          _mm256_blend_epi16(e, _mm256_slli_epi32(o, 16), 0xaa),
                          _mm256_blend_epi16(pod__vec_nan(even), pod__vec_nan(odd), 0xaa));
}

POD_INLINE pod_vec pod_vec16_even_where(pod_vec_mask m, pod_vec16 x)
{
    return _mm256_and_ps(m, pod_vec16_even(x));
}
POD_INLINE pod_vec pod_vec16_odd_where(pod_vec_mask m, pod_vec16 x)
{
    return _mm256_and_ps(m, pod_vec16_odd(x));
}
POD_INLINE pod_vec16 pod_vec16_rejoin(pod_vec even, pod_vec odd)
{
    const __m256i low = _mm256_srli_epi32(_mm256_castps_si256(even), 16);
    return _mm256_or_si256(low, _mm256_castps_si256(odd));
}

POD_INLINE pod_vec16 pod_vec16_relu(pod_vec16 x)
{
    const __m256i above_minus_inf = _mm256_cmpgt_epi16(x, _mm256_set1_epi16((short)0xff80));
    return _mm256_or_si256(_mm256_max_epi16(x, _mm256_setzero_si256()),
                           _mm256_and_si256(x, above_minus_inf));
}

POD_INLINE pod_vec16 pod_vec16_where_positive(pod_vec16 y, pod_vec16 v)
{
    const __m256i above_zero = _mm256_cmpgt_epi16(y, _mm256_setzero_si256());
    const __m256i nan = _mm256_cmpgt_epi16(y, _mm256_set1_epi16(0x7f80));
    return _mm256_and_si256(v, _mm256_andnot_si256(nan, above_zero));
}

POD_INLINE pod_vec16 pod_vec16_max_bits(pod_vec16 x, pod_vec16 y) { return _mm256_max_epu16(x, y); }
POD_INLINE bool pod_vec16_no_sign(pod_vec16 x)
{
    const __m256i inf = _mm256_set1_epi16(0x7f80);
    const __m256i beyond = _mm256_subs_epu16(x, inf);
    return _mm256_testz_si256(beyond, beyond);
}
POD_INLINE pod_vec16 pod_vec16_all(uint16_t bits) { return _mm256_set1_epi16((short)bits); }

POD_INLINE pod_vec16 pod_vec16_where_same(pod_vec16 x, pod_vec16 y, pod_vec16 yes, pod_vec16 no)
{
    return _mm256_blendv_epi8(no, yes, _mm256_cmpeq_epi16(x, y));
}

#endif
#endif
