/* positions: 0, 1, ... n-1 for each sample, int32, as many samples as another value has.
 * part_positions: ends (N, P) int32 -> the same for each part of a sample that ends there. */
#include "runtime/ops/op_common.h"

typedef struct positions_attr {
    int64_t samples, n, parts; /* samples of a core, their parts: known when lowered */
} positions_attr;

static pod_status positions_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const positions_attr *a = n->attr;
    if (a->n < 1 || in[0].shape.n_dims < 1)
        return pod_fail(POD_E_SHAPE,
                        "%lld positions of a value with %d dimensions, need at least one of each",
                        (long long)a->n, in[0].shape.n_dims);
    out[0] = pod_type_of(POD_I32, 2, (const int64_t[]){in[0].shape.dim[0], a->n});
    out[0].split[0] = in[0].split[0];
    return POD_OK;
}

static void positions_run(const void *attr, const void *const in[], void *const out[],
                          void *scratch)
{
    (void)in, (void)scratch;
    const positions_attr *a = attr;
    int32_t *at = out[0];
    for (int64_t i = 0; i < a->samples; i++)
        for (int64_t k = 0; k < a->n; k++) *at++ = (int32_t)k;
}

static pod_status positions_lower(const pod_lower_args *args, pod_lowering *l)
{
    positions_attr run = *(const positions_attr *)args->node->attr;
    run.samples = args->in_local[0].dim[0];
    return pod__lower(args, positions_run, "plain", &run, sizeof run, l);
}

const pod_op pod__op_positions = {.name = "positions",
                                  .sweep = POD_SWEEP_EACH,
                                  .n_in = 1,
                                  .n_out = 1,
                                  .is_cheap = true,
                                  .infer = positions_infer,
                                  .ops_each = 1,
                                  .lower = positions_lower};

pod_value pod_positions(pod_graph *g, pod_value like, int64_t n)
{
    const positions_attr attr = {.n = n};
    return pod_op_add1(g, &pod__op_positions, &attr, sizeof attr, &like, 1);
}

static pod_status part_positions_infer(const pod_node *n, const pod_type in[], int n_in,
                                       pod_type out[])
{
    POD_TRY(pod__want_dtype("the ends", &in[0], 1u << POD_I32));
    POD_TRY(pod__want_dims("the ends", &in[0], 2));
    return positions_infer(n, in, n_in, out);
}

static void part_positions_run(const void *attr, const void *const in[], void *const out[],
                               void *scratch)
{
    (void)scratch;
    const positions_attr *a = attr;
    const int32_t *ends = in[0];
    int32_t *at = out[0];
    for (int64_t i = 0; i < a->samples; i++, ends += a->parts) {
        int64_t begin = 0, part = 0;
        for (int64_t k = 0; k < a->n; k++) {
            while (part < a->parts && k >= ends[part])
                if (ends[part++] > begin) begin = ends[part - 1];
            *at++ = part < a->parts ? (int32_t)(k - begin) : 0;
        }
    }
}

static pod_status part_positions_lower(const pod_lower_args *args, pod_lowering *l)
{
    positions_attr run = *(const positions_attr *)args->node->attr;
    run.samples = args->in_local[0].dim[0];
    run.parts = args->in_local[0].dim[1];
    return pod__lower(args, part_positions_run, "plain", &run, sizeof run, l);
}

const pod_op pod__op_part_positions = {.name = "part_positions",
                                       .sweep = POD_SWEEP_EACH,
                                       .n_in = 1,
                                       .n_out = 1,
                                       .is_cheap = true,
                                       .infer = part_positions_infer,
                                       .ops_each = 1,
                                       .lower = part_positions_lower};

pod_value pod_part_positions(pod_graph *g, pod_value ends, int64_t n)
{
    const positions_attr attr = {.n = n};
    return pod_op_add1(g, &pod__op_part_positions, &attr, sizeof attr, &ends, 1);
}
