#include "kernels/base/rng.h"

#include <math.h>

void pod_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    const uint64_t m0 = 0xD2511F53u, m1 = 0xCD9E8D57u;
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = m0 * c0, p1 = m1 * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        uint32_t n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

pod_rng pod_rng_at(uint64_t seed, pod_place at)
{
    return (pod_rng){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .counter = {0, at.step, (uint32_t)at.sample,
                    (uint32_t)at.stream << 24 | (uint32_t)at.layer << 8 |
                        (uint32_t)(at.sample >> 32 & 0xff)},
    };
}

uint32_t pod_rng_u32(pod_rng *r)
{
    if (r->n_left == 0) {
        pod_philox(r->key, r->counter, r->word);
        r->counter[0]++;
        r->n_left = 4;
    }
    return r->word[4 - r->n_left--];
}

uint64_t pod_rng_u64(pod_rng *r)
{
    uint64_t high = pod_rng_u32(r);
    return high << 32 | pod_rng_u32(r);
}

float pod_rng_uniform(pod_rng *r) { return (float)(pod_rng_u32(r) >> 8) * 0x1p-24f; }

float pod_rng_normal(pod_rng *r)
{
    /* 1 - u lies in (0, 1], so the logarithm is finite. */
    double u = 1.0 - (double)pod_rng_u32(r) * 0x1p-32;
    double angle = 6.283185307179586 * (double)pod_rng_u32(r) * 0x1p-32;
    return (float)(sqrt(-2.0 * log(u)) * cos(angle));
}

uint64_t pod_rng_below(pod_rng *r, uint64_t n)
{
    /* Draws below a large multiple of n are kept; the largest of all would overflow at n = 1. */
    uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t x;
    do x = pod_rng_u64(r);
    while (x >= limit);
    return x % n;
}
