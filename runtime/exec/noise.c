#include "runtime/exec/noise.h"

#include <math.h>

#include "kernels/base/assert.h"
#include "kernels/base/rng.h"

enum { CORE_BITS = 18, TURN_BITS = 22 };

double pod_noise_factor(const pod_noise *n, int core, int64_t step, int64_t turn)
{
    if (n->share == 0) return 1;
    POD_ASSERT(core >> CORE_BITS == 0 && turn >> TURN_BITS == 0, "core %d, turn %lld", core,
               (long long)turn);
    pod_rng rng =
        pod_rng_at(n->seed, (pod_place){.stream = POD_STREAM_NOISE,
                                        .step = (uint32_t)step,
                                        .sample = (uint64_t)core << TURN_BITS | (uint64_t)turn});
    /* exp(N(-v/2, v)) has mean 1 and variance exp(v) - 1. */
    const double v = log1p(n->share * n->share);
    return exp(sqrt(v) * (double)pod_rng_normal(&rng) - v / 2);
}
