/* Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011, section 5). A number depends only on its coordinates (seed, stream, layer,
 * step, sample) and on how many numbers were drawn at these coordinates before it, so no result
 * depends on which rank draws it. */
#ifndef MINIPOD_KERNELS_BASE_RNG_H
#define MINIPOD_KERNELS_BASE_RNG_H

#include <stdint.h>

/* The purpose of the numbers; no two purposes share a stream. */
typedef enum pod_stream {
    POD_STREAM_WEIGHTS,
    POD_STREAM_SHUFFLE,
    POD_STREAM_AUGMENT,
    POD_STREAM_DROPOUT,
    POD_STREAM_GLYPHS,
    POD_STREAM_TEST,
    POD_STREAM_NOISE,
    POD_STREAM_NODES,
    POD_STREAM_FLEET,
    POD_STREAM_PAIRS,
    POD_STREAM_MASKS,
    POD_STREAM_PHRASES,
    POD_STREAM_CIPHER
} pod_stream;

typedef struct pod_place { /* coordinates; unused fields are 0 */
    pod_stream stream;
    uint16_t layer;
    uint32_t step;   /* or epoch */
    uint64_t sample; /* below 2^40 */
} pod_place;

typedef struct pod_rng {
    uint32_t key[2], counter[4];
    uint32_t word[4];
    int n_left; /* words that are not used yet */
} pod_rng;

pod_rng pod_rng_at(uint64_t seed, pod_place at);

uint32_t pod_rng_u32(pod_rng *r);
uint64_t pod_rng_u64(pod_rng *r);
float pod_rng_uniform(pod_rng *r);              /* [0, 1), 24 bits */
float pod_rng_normal(pod_rng *r);               /* mean 0, variance 1; Box-Muller */
uint64_t pod_rng_below(pod_rng *r, uint64_t n); /* 0 .. n-1, without bias; n > 0 */

/* Computes one block of Philox4x32-10. */
void pod_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

#endif
