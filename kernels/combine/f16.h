/* IEEE binary16, "half": 5 bits of exponent, 10 of fraction.
 *
 * Conversion from float32 rounds to nearest, ties to even. Overflow becomes infinity, subnormals
 * are kept, a NaN becomes quiet and keeps the upper bits of its payload, as with the instructions
 * of F16C. */
#ifndef MINIPOD_KERNELS_COMBINE_F16_H
#define MINIPOD_KERNELS_COMBINE_F16_H

#include <stdint.h>
#include <string.h>

typedef struct pod_f16 {
    uint16_t bits;
} pod_f16;

static inline float pod_f16_to_f32(pod_f16 h)
{
    const uint32_t sign = (uint32_t)(h.bits & 0x8000) << 16, exponent = h.bits >> 10 & 0x1f;
    const uint32_t fraction = h.bits & 0x3ff;
    uint32_t bits = sign | (exponent + 112) << 23 | fraction << 13;
    float f;
    if (exponent == 0) {
        f = (float)fraction * 0x1p-24f;
        memcpy(&bits, &f, sizeof bits);
        bits |= sign;
    } else if (exponent == 31) {
        bits = sign | 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0);
    }
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline pod_f16 pod_f16_from_f32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (pod_f16){(uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff))};
    if (magnitude >= 0x477ff000) return (pod_f16){(uint16_t)(sign | 0x7c00)};
    if (magnitude < 0x38800000) { /* subnormal: the last bit of the sum is 2^-24 */
        float whole;
        memcpy(&whole, &magnitude, sizeof whole);
        whole += 0.5f;
        memcpy(&bits, &whole, sizeof bits);
        return (pod_f16){(uint16_t)(sign | (bits - 0x3f000000))};
    }
    const uint32_t odd = magnitude >> 13 & 1;
    return (pod_f16){(uint16_t)(sign | (magnitude - (112u << 23) + 0xfff + odd) >> 13)};
}

#endif
