/* sinusoids: a constant, sines and cosines of positions, float32 (n, H) (runtime/ops/ops.h). */
#include <math.h>

#include "runtime/ops/op_common.h"

typedef struct sinusoids_attr {
    int64_t first, n, h;
} sinusoids_attr;

static const double LONGEST = 1e4; /* wave length over 2 pi */

static pod_status sinusoids_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    const sinusoids_attr *a = n->attr;
    (void)in, (void)n_in;
    if (a->n < 1 || a->h < 4 || a->h % 2 != 0)
        return pod_fail(POD_E_SHAPE,
                        "%lld positions of %lld features, need 1 or more, of an even number from 4",
                        (long long)a->n, (long long)a->h);
    out[0] = pod_type_of(POD_F32, 2, (const int64_t[]){a->n, a->h});
    return POD_OK;
}

static void sinusoids_run(const void *attr, const void *const in[], void *const out[],
                          void *scratch)
{
    (void)in, (void)scratch;
    const sinusoids_attr *a = attr;
    const int64_t half = a->h / 2;
    for (int64_t i = 0; i < half; i++) {
        const double frequency = exp(-(double)i * log(LONGEST) / (double)(half - 1));
        float *at = (float *)out[0] + i;
        for (int64_t p = a->first; p < a->first + a->n; p++, at += a->h) {
            at[0] = (float)sin((double)p * frequency);
            at[half] = (float)cos((double)p * frequency);
        }
    }
}

static pod_status sinusoids_lower(const pod_lower_args *args, pod_lowering *l)
{
    return pod__lower(args, sinusoids_run, "plain", args->node->attr, args->node->attr_bytes, l);
}

const pod_op pod__op_sinusoids = {.name = "sinusoids",
                                  .sweep = POD_SWEEP_EACH,
                                  .n_out = 1,
                                  .infer = sinusoids_infer,
                                  .ops_each = 20,
                                  .lower = sinusoids_lower};

pod_value pod_sinusoids(pod_graph *g, int64_t first, int64_t n, int64_t h)
{
    const sinusoids_attr attr = {first, n, h};
    return pod_op_add1(g, &pod__op_sinusoids, &attr, sizeof attr, NULL, 0);
}
