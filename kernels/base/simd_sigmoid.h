/* The sigmoid and swish of pairs of vectors, for the families that work them out. Included after
 * simd_pair.h. */
#ifndef MINIPOD_KERNELS_BASE_SIMD_SIGMOID_H
#define MINIPOD_KERNELS_BASE_SIMD_SIGMOID_H

#include "kernels/base/simd_pair.h"

#ifdef POD_ISA

/* Within 2^-20 of itself and 2^-120; a NaN stays. With e = e^-|x|, which cannot overflow:
 * 1 / (1 + e), or e / (1 + e) below 0. */
POD_VEC_INLINE pod_vec pod_vec_sigmoid(pod_vec x)
{
    const pod_vec one = pod_vec_all(1), e = pod_vec_exp(pod_vec_minus_abs(x));
    const pod_vec part = pod_vec_select(pod_vec_gt(x, pod_vec_all(0)), one, e);
    return pod_vec_mul(part, pod_vec_inverse(pod_vec_add(one, e)));
}

POD_VEC_INLINE pod_vec2 pod_vec2_sigmoid(pod_vec2 x)
{
    return (pod_vec2){pod_vec_sigmoid(x.a), pod_vec_sigmoid(x.b)};
}

/* x s, s = sigmoid(x) */
POD_VEC_INLINE pod_vec2 pod_vec2_swish(pod_vec2 x) { return pod_vec2_mul(x, pod_vec2_sigmoid(x)); }

/* s (1 + x (1 - s)) */
POD_VEC_INLINE pod_vec2 pod_vec2_swish_slope(pod_vec2 x)
{
    const pod_vec2 one = pod_vec2_all(1), s = pod_vec2_sigmoid(x);
    return pod_vec2_mul(s, pod_vec2_fma(x, pod_vec2_sub(one, s), one));
}

#endif
#endif
