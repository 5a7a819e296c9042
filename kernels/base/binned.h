/* A sum of float32 with the same bits in any order and any grouping.
 *
 * A float32 is an integer multiple of 2^-149; the integer has up to 277 bits. It is cut at fixed
 * positions into bins of 40 bits. The bins hold its digits d_0 .. d_6, all with the sign of the
 * number; at most two of them are not 0, and these are neighbours:
 *
 *     bin     6       5       4       3       2       1       0
 *         |.......|.......|.......|..10110|1......|.......|.......|  2^-149
 *                                     d_3   d_2
 *
 * A sum holds t, the highest bin in which any addend has a digit, and the sums S_t and S_(t-1) of
 * the digits in bins t and t-1. Integers are added without rounding and without carries between
 * bins, so that addition is associative and commutative. The dropped digits do not depend on the
 * order either, because t is the maximum over the addends: a partial sum with top u < t has no
 * digits above u, so that its part in the digits of t and t-1 is S_u if u = t-1, and otherwise 0.
 * No digit that the total needs has been dropped before. So (t, S_t, S_(t-1)) is a function of the
 * multiset of addends.
 *
 * Bound: the total is rounded once to float32, to nearest even, with overflow to infinity. Of each
 * of n addends the digits below bin t-1 are lost, less than 2^-40 of the greatest magnitude:
 *     |result - sum| <= 2^-24 |sum| + 2^-40 n max|x|,
 * whereas the bound for adding float32 one by one is (n-1) 2^-24 sum|x|. n is at most 2^20. The sum
 * of a single x is x.
 *
 * Cost: 4 times the bytes of float32, in memory and in messages.
 *
 * The neutral element is -0, and its bytes are all 0; a sum is -0 if every addend is. A sum with a
 * NaN, or with infinities of both signs, is the quiet NaN 0x7fc00000.
 *
 * Demmel and Nguyen, "Fast reproducible floating-point summation", ARITH 2013; Ahrens, Demmel and
 * Nguyen, "Algorithms for efficient reproducible floating point summation", ACM TOMS 2020. There
 * the bins are floating-point numbers that are renormalised; here they are integers with spare
 * bits. */
#ifndef MINIPOD_KERNELS_BASE_BINNED_H
#define MINIPOD_KERNELS_BASE_BINNED_H

#include <stdint.h>
#include <string.h>

enum {
    POD_BINNED_WIDTH = 40,     /* bits of a bin; 20 more for the carries of addends, one for the
                                  sign */
    POD_BINNED_TOP_BITS = 3,   /* bits of t, below S_t */
    POD_BINNED_NOT_FINITE = 7, /* value of t for infinities and NaNs */
    POD_BINNED_MAX_ADDENDS = 1 << 20
};

/* If t is POD_BINNED_NOT_FINITE, S_t counts infinities, the negative ones in the upper bits; a NaN
 * counts as one of each sign. If t is 0, S_(t-1) counts the addends other than -0. */
typedef struct pod_binned {
    int64_t high; /* S_t 2^3 + t */
    int64_t low;  /* S_(t-1) */
} pod_binned;

#define POD_BINNED_DIGIT     ((INT64_C(1) << POD_BINNED_WIDTH) - 1)
#define POD_BINNED_PLUS_INF  INT64_C(1)
#define POD_BINNED_MINUS_INF (INT64_C(1) << 30)
#define POD_BINNED_TOP       ((INT64_C(1) << POD_BINNED_TOP_BITS) - 1)

static inline pod_binned pod__binned_not_finite(uint32_t bits)
{
    const int64_t plus = bits == 0xff800000u ? 0 : POD_BINNED_PLUS_INF;
    const int64_t minus = bits == 0x7f800000u ? 0 : POD_BINNED_MINUS_INF;
    return (pod_binned){(plus + minus) * (POD_BINNED_TOP + 1) + POD_BINNED_NOT_FINITE, 0};
}

static inline pod_binned pod_binned_from_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int64_t sign = bits >> 31 ? -1 : 1, fraction = bits & 0x7fffff;
    const int exponent = (int)(bits >> 23 & 0xff);
    if (exponent == 0xff) return pod__binned_not_finite(bits);
    const int shift = exponent ? exponent - 1 : 0, bin = shift / POD_BINNED_WIDTH;
    const int64_t whole = (exponent ? fraction + 0x800000 : fraction) << shift % POD_BINNED_WIDTH;
    const int64_t upper = whole >> POD_BINNED_WIDTH, lower = whole & POD_BINNED_DIGIT;
    if (upper) return (pod_binned){sign * upper * (POD_BINNED_TOP + 1) + bin + 1, sign * lower};
    return (pod_binned){sign * lower * (POD_BINNED_TOP + 1) + bin, bin == 0 && bits != 0x80000000u};
}

static inline pod_binned pod_binned_add(pod_binned a, pod_binned b)
{
    const int64_t t_a = a.high & POD_BINNED_TOP, t_b = b.high & POD_BINNED_TOP;
    const pod_binned upper = t_a < t_b ? b : a, lower = t_a < t_b ? a : b;
    const int64_t apart = t_a < t_b ? t_b - t_a : t_a - t_b;
    const int64_t high = apart == 0 ? lower.high & ~POD_BINNED_TOP : 0;
    const int64_t low = apart == 0 ? lower.low : apart == 1 ? lower.high >> POD_BINNED_TOP_BITS : 0;
    /* Unsigned, so that undefined contents of gaps between values may wrap. */
    return (pod_binned){(int64_t)((uint64_t)upper.high + (uint64_t)high),
                        (int64_t)((uint64_t)upper.low + (uint64_t)low)};
}

/* Returns v 2^unit 2^-149, v > 0, rounded, as the bits of a float32. If v has more than 25 bits,
 * bit 0 may be a sticky bit for dropped lower bits. */
static inline uint32_t pod__binned_round(uint64_t v, int unit)
{
    const int above = 64 - __builtin_clzll(v) - 24;
    const int drop = above > -unit ? above : -unit; /* subnormals have fewer bits */
    if (drop > 0)
        v = (v + (UINT64_C(1) << (drop - 1)) - 1 + (v >> drop & 1)) >> drop;
    else
        v <<= -drop;
    /* The leading bit adds 1 to the exponent, which subnormals lack. */
    const uint32_t bits = ((uint32_t)(drop + unit) << 23) + (uint32_t)v;
    return bits < 0x7f800000u ? bits : 0x7f800000u;
}

static inline uint32_t pod__binned_bits(pod_binned x)
{
    const int top = (int)(x.high & POD_BINNED_TOP);
    int64_t high = x.high >> POD_BINNED_TOP_BITS, low = top == 0 ? 0 : x.low;
    if (top == POD_BINNED_NOT_FINITE) {
        const int64_t plus = high & (POD_BINNED_MINUS_INF - 1), minus = high - plus;
        return plus && minus ? 0x7fc00000u : plus ? 0x7f800000u : 0xff800000u;
    }
    high += low >> POD_BINNED_WIDTH; /* the only carry there is */
    low &= POD_BINNED_DIGIT;
    const uint32_t sign = high < 0 ? 0x80000000u : 0;
    if (sign) {
        high = -high - (low != 0);
        low = -low & POD_BINNED_DIGIT;
    }
    const int unit = (top - 1) * POD_BINNED_WIDTH;
    if (high >> 23 == 0) { /* both fit */
        const uint64_t all = (uint64_t)(high << POD_BINNED_WIDTH | low);
        if (all == 0) return top == 0 && x.low == 0 ? 0x80000000u : 0;
        return sign | pod__binned_round(all, unit);
    }
    const int cut = POD_BINNED_WIDTH - 2;
    const uint64_t rest = (low & ((INT64_C(1) << cut) - 1)) != 0;
    return sign | pod__binned_round((uint64_t)(high << 2 | low >> cut) | rest, unit + cut);
}

/* Converts to float32, rounding once. */
static inline float pod_binned_to_f32(pod_binned x)
{
    const uint32_t bits = pod__binned_bits(x);
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

#endif
