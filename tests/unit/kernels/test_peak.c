/* kernels/peak: the loops do the work they claim. */
#include <time.h>

#include "kernels/base/cpu.h"
#include "kernels/peak/peak.h"
#include "tests/harness/harness.h"

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* No core of today does 20 TFLOP/s: a loop that seems to was optimized away. The lower end is far
 * below a busy machine under a sanitizer. */
static void peak_is_plausible(void)
{
    const double most = 20e12, least = 1e7;
    const int64_t n_rounds = 200000;
    int n;
    const pod_peak_kernel *kernels = pod_peak_kernels(&n);
    for (int i = 0; i < n; i++) {
        const pod_peak_kernel *k = &kernels[i];
        if (k->needs & ~pod_cpu_features()) {
            pod_test_skip(k->name, "this CPU lacks what it needs");
            continue;
        }
        if (!pod_test_tries(k->needs)) continue;
        const double begin_s = now_s(), flops = k->run(n_rounds),
                     rate = flops / (now_s() - begin_s);
        POD_CHECK(rate > least && rate < most, "%s: %g FLOP/s", k->name, rate);
        const double per_round = flops / (double)n_rounds;
        POD_CHECK(per_round >= 2.0 && pod_test_near(k->run(7), 7 * per_round, 0.0),
                  "%s: %g FLOPs a round, %g in 7", k->name, per_round, k->run(7));
        POD_CHECK(pod_test_near(k->run(0), 0.0, 0.0), "%s: FLOPs without a round", k->name);
    }
    CU_ASSERT_STRING_EQUAL(kernels[n - 1].name, "scalar");
    CU_ASSERT_EQUAL(kernels[n - 1].needs, 0);
}

POD_TEST_SUITE("peak", {"peak_is_plausible", peak_is_plausible});
