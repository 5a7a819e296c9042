/* bfloat16: 1 sign, 8 exponent and 7 fraction bits, the upper half of a float32.
 *
 * Conversion from float32 rounds to nearest, ties to even. Overflow becomes infinity; a NaN becomes
 * a quiet NaN with the same sign and upper payload; subnormals become zeros with the same sign, as
 * on a TPU. Conversion to float32 is exact. */
#ifndef MINIPOD_KERNELS_BASE_BF16_H
#define MINIPOD_KERNELS_BASE_BF16_H

#include <stdint.h>
#include <string.h>

typedef struct pod_bf16 {
    uint16_t bits;
} pod_bf16; /* a struct: no arithmetic by accident */

static inline float pod_bf16_to_f32(pod_bf16 x)
{
    uint32_t bits = (uint32_t)x.bits << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline pod_bf16 pod_bf16_from_f32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    uint32_t quiet = (bits >> 16) | 0x40u;
    uint32_t zero = (bits >> 16) & 0x8000u;
    uint32_t out = magnitude > 0x7f800000u ? quiet : magnitude < 0x00800000u ? zero : rounded;
    return (pod_bf16){(uint16_t)out};
}

#endif
