#include "runtime/exec/noise.h"

#include <math.h>

#include "kernels/base/rng.h"

/* The 40 bits hold the lowest bits of the core and of the instruction instance. Higher bits go into
 * `layer` and the seed. */
enum { CORE_BITS = 18, TURN_BITS = 22 };

double pod_noise_factor(const pod_noise *n, int core, int64_t step, int64_t turn)
{
    if (n->share == 0) return 1;
    const uint64_t low_core = (uint64_t)core & ((1u << CORE_BITS) - 1);
    const uint64_t low_turn = (uint64_t)turn & ((1u << TURN_BITS) - 1);
    const uint64_t seed = n->seed + (uint64_t)(turn >> TURN_BITS) * UINT64_C(0x9e3779b97f4a7c15);
    pod_rng rng = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_NOISE,
                                               .layer = (uint16_t)(core >> CORE_BITS),
                                               .step = (uint32_t)step,
                                               .sample = low_core << TURN_BITS | low_turn});
    /* exp(N(-v/2, v)) has mean 1 and variance exp(v) - 1. */
    const double v = log1p(n->share * n->share);
    return exp(sqrt(v) * (double)pod_rng_normal(&rng) - v / 2);
}
