/* Sigmoid and swish of vectors and pairs. Included after the header of an instruction set. */
#ifndef MINIPOD_KERNELS_BASE_SIMD_SIGMOID_H
#define MINIPOD_KERNELS_BASE_SIMD_SIGMOID_H

#include "kernels/base/arith.h"
#include "kernels/base/simd/pair.h"

#ifdef POD_SIMD

/* The sigmoid with relative error 2^-20, plus 2^-120 absolute; a NaN stays. With e = e^-|x|, which
 * cannot overflow, it is 1 / (1 + e) for x > 0 and e / (1 + e) otherwise. */
POD_INLINE pod_vec pod_vec_sigmoid(pod_vec x)
{
    const pod_vec one = pod_vec_all(1), e = pod_vec_exp(pod_vec_minus_abs(x));
    const pod_vec part = pod_vec_select(pod_vec_gt(x, pod_vec_all(0)), one, e);
    return pod_vec_mul(part, pod_vec_inverse(pod_vec_add(one, e)));
}

/* The sigmoid with relative error 2^-12, plus 2^-120 absolute, which is enough for bf16; a NaN
 * stays. With t = -x log2 e it is 1 / (1 + 2^t). AVX-512 scales by powers of two with saturation,
 * so this takes half the instructions of the one above. 2^f on [0, 1) is the minimax polynomial,
 * with error 2^-13.7; the reciprocal's error is 2^-14. */
#ifdef __AVX512F__
POD_INLINE pod_vec pod_vec_sigmoid_short(pod_vec x)
{
    const __m512 t = _mm512_mul_ps(x, _mm512_set1_ps(-POD_LOG2_E));
    const __m512 f = _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF); /* t - floor(t); 0 for
                                                                    infinities */
    __m512 p = _mm512_set1_ps(7.802452147e-2f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(2.260671556e-1f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(6.958335638e-1f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(9.999251962e-1f));
    return _mm512_rcp14_ps(_mm512_add_ps(_mm512_scalef_ps(p, t), _mm512_set1_ps(1)));
}
#else
POD_INLINE pod_vec pod_vec_sigmoid_short(pod_vec x) { return pod_vec_sigmoid(x); }
#endif

/* For a result of type t. */
POD_INLINE pod_vec2 pod_vec2_sigmoid(pod_dtype t, pod_vec2 x)
{
    if (t == POD_BF16) return (pod_vec2){pod_vec_sigmoid_short(x.a), pod_vec_sigmoid_short(x.b)};
    return (pod_vec2){pod_vec_sigmoid(x.a), pod_vec_sigmoid(x.b)};
}

/* x s, s = sigmoid(x), for a result of type t. */
POD_INLINE pod_vec2 pod_vec2_swish(pod_dtype t, pod_vec2 x)
{
    return pod_vec2_mul(x, pod_vec2_sigmoid(t, x));
}

/* s (1 + x (1 - s)), the derivative of swish, for a result of type t. */
POD_INLINE pod_vec2 pod_vec2_swish_slope(pod_dtype t, pod_vec2 x)
{
    const pod_vec2 one = pod_vec2_all(1), s = pod_vec2_sigmoid(t, x);
    return pod_vec2_mul(s, pod_vec2_fma(x, pod_vec2_sub(one, s), one));
}

#endif
#endif
