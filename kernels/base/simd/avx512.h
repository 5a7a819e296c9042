/* Vectors of float32 under AVX-512: the operations in which the fast kernels of a family are
 * written.
 *
 * simd/avx2.h defines the same names; a <family>_simd.c is compiled with each of the two. Loads and
 * stores need no alignment and move n <= POD_VEC_LANES elements from element i on; lanes beyond n
 * are 0, and their memory is not accessed. Storing as bf16 gives the bits of pod_bf16_from_f32.
 * Only pod_vec_fma is fused: files that include this are compiled with -ffp-contract=off, so that
 * elementwise results have the bits of the reference.
 *
 * If AVX512_BF16 is enabled too, conversion to bf16 is one instruction, and POD_SIMD is
 * avx512_bf16. If AVX-512 is not enabled, this header is empty. */
#ifndef MINIPOD_KERNELS_BASE_SIMD_AVX512_H
#define MINIPOD_KERNELS_BASE_SIMD_AVX512_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arith.h"
#include "kernels/base/dtype.h"
#include "kernels/base/simd/exp.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include <immintrin.h>

#ifdef __AVX512BF16__
#define POD_SIMD    avx512_bf16
#define POD_ISA_SET "avx512_bf16", POD_CPU_AVX512 | POD_CPU_AVX512_BF16
#else
#define POD_SIMD    avx512
#define POD_ISA_SET "avx512", POD_CPU_AVX512
#endif

enum { POD_VEC_LANES = 16, POD_VEC16_LANES = 32 };
typedef __m512 pod_vec;
typedef __mmask16 pod_vec_mask;

POD_INLINE __mmask16 pod__first(int n) { return (__mmask16)((1u << n) - 1u); }

POD_INLINE pod_vec pod__vec_widen(__m256i bf16)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16));
}

#ifdef __AVX512BF16__
/* The instruction rounds to nearest even, makes NaNs quiet and flushes subnormals, whatever the
 * control register says: the same bits as below, and as pod_bf16_from_f32. */
POD_INLINE __m256i pod__vec_narrow(pod_vec v) { return (__m256i)_mm512_cvtneps_pbh(v); }
#else
/* Rounds to bf16 in the upper half of each lane; the lower half is undefined. */
POD_INLINE __m512i pod__vec_round(pod_vec v)
{
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __mmask16 tiny = _mm512_testn_epi32_mask(bits, _mm512_set1_epi32(0x7f800000));
    __m512i r = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    r = _mm512_mask_or_epi32(r, nan, bits, _mm512_set1_epi32(0x00400000));
    return _mm512_mask_and_epi32(r, tiny, bits, _mm512_set1_epi32(INT32_MIN));
}

POD_INLINE __m256i pod__vec_narrow(pod_vec v)
{
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(pod__vec_round(v), 16));
}
#endif

POD_INLINE pod_vec pod_vec_load(pod_dtype t, const void *data, int64_t i, int n)
{
    if (t == POD_BF16) {
        const uint16_t *p = (const uint16_t *)data + i;
        return pod__vec_widen(n == POD_VEC_LANES ? _mm256_loadu_si256((const void *)p)
                                                 : _mm256_maskz_loadu_epi16(pod__first(n), p));
    }
    const float *p = (const float *)data + i;
    return n == POD_VEC_LANES ? _mm512_loadu_ps(p) : _mm512_maskz_loadu_ps(pod__first(n), p);
}

POD_INLINE void pod_vec_store(pod_dtype t, void *data, int64_t i, int n, pod_vec v)
{
    if (t == POD_BF16) {
        uint16_t *p = (uint16_t *)data + i;
        if (n == POD_VEC_LANES)
            _mm256_storeu_si256((void *)p, pod__vec_narrow(v));
        else
            _mm256_mask_storeu_epi16(p, pod__first(n), pod__vec_narrow(v));
        return;
    }
    float *p = (float *)data + i;
    if (n == POD_VEC_LANES)
        _mm512_storeu_ps(p, v);
    else
        _mm512_mask_storeu_ps(p, pod__first(n), v);
}

POD_INLINE pod_vec pod_vec_load_u8(const uint8_t *data, int64_t i, int n)
{
    const uint8_t *p = data + i;
    const __m128i bytes = n == POD_VEC_LANES ? _mm_loadu_si128((const void *)p)
                                             : _mm_maskz_loadu_epi8(pod__first(n), p);
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

POD_INLINE pod_vec pod_vec_all(float x) { return _mm512_set1_ps(x); }
POD_INLINE pod_vec pod_vec_add(pod_vec a, pod_vec b) { return _mm512_add_ps(a, b); }
POD_INLINE pod_vec pod_vec_sub(pod_vec a, pod_vec b) { return _mm512_sub_ps(a, b); }
POD_INLINE pod_vec pod_vec_mul(pod_vec a, pod_vec b) { return _mm512_mul_ps(a, b); }
POD_INLINE pod_vec pod_vec_div(pod_vec a, pod_vec b) { return _mm512_div_ps(a, b); }
POD_INLINE pod_vec pod_vec_sqrt(pod_vec a) { return _mm512_sqrt_ps(a); }
POD_INLINE pod_vec pod_vec_fma(pod_vec a, pod_vec b, pod_vec c) /* a b + c, rounded once */
{
    return _mm512_fmadd_ps(a, b, c);
}

/* Return the even lanes of a, then those of b; and likewise the odd lanes. */
POD_INLINE pod_vec pod_vec_even(pod_vec a, pod_vec b)
{
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_ps(a, even, b);
}
POD_INLINE pod_vec pod_vec_odd(pod_vec a, pod_vec b)
{
    const __m512i odd =
        _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(a, odd, b);
}

/* Return the lanes of a and b alternating, of their first halves and of their second halves: the
 * inverse of pod_vec_even and pod_vec_odd. */
POD_INLINE pod_vec pod_vec_zip_first(pod_vec a, pod_vec b)
{
    const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return _mm512_permutex2var_ps(a, first, b);
}
POD_INLINE pod_vec pod_vec_zip_second(pod_vec a, pod_vec b)
{
    const __m512i second =
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    return _mm512_permutex2var_ps(a, second, b);
}

/* into[lane] += v[lane], in double. */
POD_INLINE void pod_vec_add_f64(pod_vec v, double *into)
{
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
    const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
    _mm512_storeu_pd(into, _mm512_add_pd(_mm512_loadu_pd(into), low));
    _mm512_storeu_pd(into + 8, _mm512_add_pd(_mm512_loadu_pd(into + 8), high));
}

/* The first n lanes of x, the others of `rest`. */
POD_INLINE pod_vec pod_vec_first(int n, pod_vec x, pod_vec rest)
{
    return n == POD_VEC_LANES ? x : _mm512_mask_blend_ps(pod__first(n), rest, x);
}

/* a if a > b, else b. */
POD_INLINE pod_vec pod_vec_max(pod_vec a, pod_vec b) { return _mm512_max_ps(a, b); }

POD_INLINE pod_vec pod_vec_minus_abs(pod_vec x) /* -|x| */
{
    return _mm512_or_ps(x, _mm512_set1_ps(-0.0f));
}

/* 1 / x for x in [1, 16], with relative error 2^-22; a NaN stays. A division would take as long as
 * twenty other instructions. */
POD_INLINE pod_vec pod_vec_inverse(pod_vec x)
{
    const __m512 y = _mm512_rcp14_ps(x);
    return _mm512_fmadd_ps(y, _mm512_fnmadd_ps(x, y, _mm512_set1_ps(1)), y);
}

/* e^x for x <= 0, with relative error 2^-22; 0 if x < -87; a NaN stays. e^x = 2^n e^r
 * (simd/exp.h). */
POD_INLINE pod_vec pod_vec_exp(pod_vec x)
{
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(POD_LOG2_E)), 0);
    const __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(POD_LN2_LOW),
                                      _mm512_fnmadd_ps(n, _mm512_set1_ps(POD_LN2_HIGH), x));
    __m512 p = _mm512_set1_ps(POD_EXP_5);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(POD_EXP_4));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(POD_EXP_3));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(POD_EXP_2));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(POD_EXP_1));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(POD_EXP_0));
    p = _mm512_fmadd_ps(_mm512_mul_ps(r, r), p, _mm512_add_ps(r, _mm512_set1_ps(1)));
    const __mmask16 not_tiny = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87), _CMP_NLT_UQ);
    return _mm512_maskz_scalef_ps(not_tiny, p, n);
}

/* Comparisons. A NaN compares false with everything, so that pod_vec_not_le is true for it. */
POD_INLINE pod_vec_mask pod_vec_gt(pod_vec a, pod_vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}
POD_INLINE pod_vec_mask pod_vec_equal(pod_vec a, pod_vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
POD_INLINE pod_vec_mask pod_vec_not_le(pod_vec a, pod_vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_NLE_UQ);
}
POD_INLINE pod_vec_mask pod_vec_is_number(pod_vec a)
{
    return _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q);
}
POD_INLINE pod_vec_mask pod_vec_mask_all(void) { return (pod_vec_mask)0xffff; }
POD_INLINE pod_vec_mask pod_vec_mask_and(pod_vec_mask a, pod_vec_mask b)
{
    return (pod_vec_mask)(a & b);
}
POD_INLINE pod_vec_mask pod_vec_mask_and_not(pod_vec_mask a, pod_vec_mask b) /* a and not b */
{
    return (pod_vec_mask)(a & ~b);
}
POD_INLINE bool pod_vec_any(pod_vec_mask m) { return m != 0; }
POD_INLINE pod_vec pod_vec_select(pod_vec_mask m, pod_vec yes, pod_vec no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}

/* Vectors of unsigned integers, for random numbers (simd/philox.h). */
typedef __m512i pod_vec_u32;

POD_INLINE pod_vec_u32 pod_vec_u32_all(uint32_t x) { return _mm512_set1_epi32((int)x); }
POD_INLINE pod_vec_u32 pod_vec_u32_from(uint32_t first) /* first, first + 1, ... */
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_add_epi32(pod_vec_u32_all(first), lane);
}
POD_INLINE pod_vec_u32 pod_vec_u32_xor(pod_vec_u32 a, pod_vec_u32 b)
{
    return _mm512_xor_si512(a, b);
}
/* Returns the lower half of the 64-bit product, and sets *high to the upper half. */
POD_INLINE pod_vec_u32 pod_vec_u32_mul(pod_vec_u32 a, uint32_t b, pod_vec_u32 *high)
{
    const __m512i by = pod_vec_u32_all(b);
    const __m512i even = _mm512_mul_epu32(a, by);
    const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), by);
    *high = _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
    return _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
}
/* Returns x >> 8 as float32. */
POD_INLINE pod_vec pod_vec_u32_upper24(pod_vec_u32 x)
{
    return _mm512_cvtepi32_ps(_mm512_srli_epi32(x, 8));
}

/* Vectors of bf16, for operations that only select among bit patterns. */
typedef __m512i pod_vec16;

POD_INLINE pod_vec16 pod_vec16_load(const void *data, int64_t i, int n)
{
    const uint16_t *p = (const uint16_t *)data + i;
    return n == POD_VEC16_LANES ? _mm512_loadu_si512(p)
                                : _mm512_maskz_loadu_epi16((1u << n) - 1u, p);
}

POD_INLINE void pod_vec16_store(void *data, int64_t i, int n, pod_vec16 v)
{
    uint16_t *p = (uint16_t *)data + i;
    if (n == POD_VEC16_LANES)
        _mm512_storeu_si512(p, v);
    else
        _mm512_mask_storeu_epi16(p, (1u << n) - 1u, v);
}

/* Store past the caches; the address is a multiple of the vector's size. */
POD_INLINE void pod_vec16_store_past(void *data, int64_t i, pod_vec16 v)
{
    _mm512_stream_si512((void *)((uint16_t *)data + i), v);
}
POD_INLINE void pod_vec_store_past(float *data, int64_t i, pod_vec v)
{
    _mm512_stream_ps(data + i, v);
}
POD_INLINE void pod_vec_past_end(void) { _mm_sfence(); } /* call it before other threads read */

/* Return the even and the odd elements as float32. pod_vec16_join is the inverse and rounds as
 * pod_vec_store does. */
POD_INLINE pod_vec pod_vec16_even(pod_vec16 x)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
}
POD_INLINE pod_vec pod_vec16_odd(pod_vec16 x)
{
    return _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32((int)0xffff0000)));
}
POD_INLINE pod_vec16 pod_vec16_join(pod_vec even, pod_vec odd)
{
#ifdef __AVX512BF16__
    const __m512i halves = _mm512_setr_epi32(
        0x100000, 0x110001, 0x120002, 0x130003, 0x140004, 0x150005, 0x160006, 0x170007, 0x180008,
        0x190009, 0x1a000a, 0x1b000b, 0x1c000c, 0x1d000d, 0x1e000e, 0x1f000f);
    return _mm512_permutexvar_epi16(halves, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
#else
    const __m512i low = _mm512_srli_epi32(pod__vec_round(even), 16);
    return _mm512_mask_mov_epi16(low, 0xaaaaaaaa, pod__vec_round(odd));
#endif
}

/* Like pod_vec16_even and pod_vec16_odd in lanes of the mask, 0 elsewhere. */
POD_INLINE pod_vec pod_vec16_even_where(pod_vec_mask m, pod_vec16 x)
{
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(m, x, 16));
}
POD_INLINE pod_vec pod_vec16_odd_where(pod_vec_mask m, pod_vec16 x)
{
    return _mm512_castsi512_ps(_mm512_maskz_and_epi32(m, x, _mm512_set1_epi32((int)0xffff0000)));
}

/* Like pod_vec16_join for float32 that are bf16 numbers already. */
POD_INLINE pod_vec16 pod_vec16_rejoin(pod_vec even, pod_vec odd)
{
    const __m512i low = _mm512_srli_epi32(_mm512_castps_si512(even), 16);
    return _mm512_or_si512(low, _mm512_castps_si512(odd));
}

/* The elements of `first`, then those of `second`, rounded as pod_vec_store does. */
POD_INLINE pod_vec16 pod_vec16_narrow(pod_vec first, pod_vec second)
{
#ifdef __AVX512BF16__
    return (__m512i)_mm512_cvtne2ps_pbh(second, first);
#else
    return _mm512_inserti64x4(_mm512_castsi256_si512(pod__vec_narrow(first)),
                              pod__vec_narrow(second), 1);
#endif
}

/* x if x > 0 or x is a NaN, else 0. Compares bits as integers: negative NaNs are above -inf. */
POD_INLINE pod_vec16 pod_vec16_relu(pod_vec16 x)
{
    const __mmask32 negative_nan = _mm512_cmpgt_epu16_mask(x, _mm512_set1_epi16((short)0xff80));
    const __m512i positive = _mm512_max_epi16(x, _mm512_setzero_si512());
    return _mm512_mask_mov_epi16(positive, negative_nan, x);
}

/* v if y > 0, else 0. Compares bits as integers: positive numbers end at +inf, NaNs are above. */
POD_INLINE pod_vec16 pod_vec16_where_positive(pod_vec16 y, pod_vec16 v)
{
    const __m512i from_zero = _mm512_sub_epi16(y, _mm512_set1_epi16(1));
    return _mm512_maskz_mov_epi16(_mm512_cmplt_epu16_mask(from_zero, _mm512_set1_epi16(0x7f80)), v);
}

/* The larger bit pattern as unsigned integers; for non-negative bf16 that is the larger number. */
POD_INLINE pod_vec16 pod_vec16_max_bits(pod_vec16 x, pod_vec16 y) { return _mm512_max_epu16(x, y); }
/* Returns whether all elements are in 0 .. +inf: no sign, no NaN. */
POD_INLINE bool pod_vec16_no_sign(pod_vec16 x)
{
    return _mm512_cmpgt_epu16_mask(x, _mm512_set1_epi16(0x7f80)) == 0;
}
POD_INLINE pod_vec16 pod_vec16_all(uint16_t bits) { return _mm512_set1_epi16((short)bits); }

/* `yes` in elements where x and y have the same bits, else `no`. */
POD_INLINE pod_vec16 pod_vec16_where_same(pod_vec16 x, pod_vec16 y, pod_vec16 yes, pod_vec16 no)
{
    return _mm512_mask_mov_epi16(no, _mm512_cmpeq_epi16_mask(x, y), yes);
}

#endif
#endif
