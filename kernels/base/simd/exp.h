/* Constants for e^x in float32: x = n ln 2 + r with |r| <= ln 2 / 2, where ln 2 has two parts so
 * that n times the first one is exact, and e^r = 1 + r + r^2 p(r) with the polynomial p of
 * Moshier's Cephes (expf). */
#ifndef MINIPOD_KERNELS_BASE_SIMD_EXP_H
#define MINIPOD_KERNELS_BASE_SIMD_EXP_H

#define POD_LOG2_E   1.44269504f
#define POD_LN2_HIGH 0.693359375f
#define POD_LN2_LOW  -2.12194440e-4f
#define POD_EXP_0    5.0000001201e-1f
#define POD_EXP_1    1.6666665459e-1f
#define POD_EXP_2    4.1665795894e-2f
#define POD_EXP_3    8.3334519073e-3f
#define POD_EXP_4    1.3981999507e-3f
#define POD_EXP_5    1.9875691500e-4f

#endif
