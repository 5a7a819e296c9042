/* An exact sum of non-negative float32: an integer multiple of 2^-149 in digits of 40 bits, at the
 * same positions as the bins of kernels/base/binned.h.
 *
 *     digit   7       6       5       4       3       2       1       0
 *             |.......|.......|.......|.......|.......|.......|.......|.......|  2^-149
 *
 * A binned sum keeps two digits and takes 2^20 addends; this one keeps all digits and takes 2^40.
 * It serves for the norm of a weight that may be sharded in any way. Eight digits hold 2^171; a sum
 * beyond the range of float32 becomes infinite when it is rounded.
 *
 * In messages it is eight pod_binned, each with one digit in bin 0, which are added without
 * rounding: the sum of up to 2^20 wide sums is exact. An infinity or a NaN replaces the top digit.
 *
 * Kulisch, "Very fast and exact accumulation of products", Computing 91, 2011. */
#ifndef MINIPOD_KERNELS_BASE_WIDE_SUM_H
#define MINIPOD_KERNELS_BASE_WIDE_SUM_H

#include "kernels/base/binned.h"

enum { POD_WIDE_DIGITS = 8, POD_WIDE_MAX_UNCARRIED = 1 << 22 };

typedef struct pod_wide_sum {
    int64_t digit[POD_WIDE_DIGITS]; /* below 2^40, except for additions since the last carry */
    float not_finite;               /* sum of the addends that are infinite or NaN; 0: none */
} pod_wide_sum;

/* Adds x, which is a multiple of 2^-149 and 0 <= x < 2^168, or not finite. At most
 * POD_WIDE_MAX_UNCARRIED additions between carries. */
static inline void pod_wide_sum_add(pod_wide_sum *s, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (bits == 0) return;
    const int exponent = (int)(bits >> 52 & 0x7ff);
    if (exponent == 0x7ff) {
        s->not_finite += (float)x;
        return;
    }
    uint64_t whole = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    int place = exponent - 1075 + 149; /* of its last bit */
    if (place < 0) {
        whole >>= -place; /* zeros */
        place = 0;
    }
    const int k = place / POD_BINNED_WIDTH, up = place % POD_BINNED_WIDTH;
    const uint64_t digit = POD_BINNED_DIGIT;
    s->digit[k] += (int64_t)(whole << up & digit);
    whole >>= POD_BINNED_WIDTH - up;
    s->digit[k + 1] += (int64_t)(whole & digit);
    if (whole > digit) s->digit[k + 2] += (int64_t)(whole >> POD_BINNED_WIDTH);
}

static inline void pod_wide_sum_carry(int64_t digit[POD_WIDE_DIGITS])
{
    for (int k = 0; k + 1 < POD_WIDE_DIGITS; k++) {
        digit[k + 1] += digit[k] >> POD_BINNED_WIDTH;
        digit[k] &= POD_BINNED_DIGIT;
    }
}

/* Converts to the form of messages. */
static inline void pod_wide_sum_to_binned(const pod_wide_sum *s, pod_binned out[POD_WIDE_DIGITS])
{
    pod_wide_sum carried = *s;
    pod_wide_sum_carry(carried.digit);
    for (int k = 0; k < POD_WIDE_DIGITS; k++)
        out[k] = (pod_binned){carried.digit[k] * (POD_BINNED_TOP + 1), 1};
    if (s->not_finite != 0) out[POD_WIDE_DIGITS - 1] = pod_binned_from_f32(s->not_finite);
}

/* Returns the sum, rounded once to float32, to nearest even. */
static inline float pod_wide_sum_from_binned(const pod_binned in[POD_WIDE_DIGITS])
{
    int64_t digit[POD_WIDE_DIGITS];
    for (int k = 0; k < POD_WIDE_DIGITS; k++) {
        if ((in[k].high & POD_BINNED_TOP) == POD_BINNED_NOT_FINITE) return pod_binned_to_f32(in[k]);
        digit[k] = in[k].high >> POD_BINNED_TOP_BITS;
    }
    pod_wide_sum_carry(digit);
    int top = POD_WIDE_DIGITS - 1;
    while (top > 0 && digit[top] == 0) top--;
    if (digit[top] == 0) return 0;
    uint64_t v = (uint64_t)digit[top], rest = 0;
    int up = 0;
    if (top > 0) { /* of two digits, at most 63 bits and more than 25 */
        const int room = __builtin_clzll(v) - 1, below = POD_BINNED_WIDTH;
        up = room < below ? room : below;
        const uint64_t next = (uint64_t)digit[top - 1];
        v = v << up | next >> (below - up);
        rest = next & ((UINT64_C(1) << (below - up)) - 1);
    }
    for (int k = 0; k < top - 1; k++) rest |= (uint64_t)digit[k];
    const uint32_t bits = pod__binned_round(v | (rest != 0), top * POD_BINNED_WIDTH - up);
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

#endif
