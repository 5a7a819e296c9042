/* Sums over the micro-steps of a step, float32. Only passes make these ops.
 *
 *   zeros                          -> a value of zeros; the attr is its pod_type
 *   accumulate   so far, a part    -> so far + part, in the memory of `so far`
 *
 * The part is a sum, or varies, over the micro-steps; the result does so no more. The attr of
 * accumulate is the mask of the micro-steps, an int32_t. */
#include <string.h>

#include "runtime/ops/op_common.h"

/* ---- zeros --------------------------------------------------------------------------------- */

static pod_status zeros_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)in, (void)n_in;
    memcpy(&out[0], n->attr, sizeof out[0]);
    return POD_OK;
}

typedef struct zeros_run_attr {
    int64_t bytes;
} zeros_run_attr;

static void zeros_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)in, (void)scratch;
    memset(out[0], 0, (size_t)((const zeros_run_attr *)attr)->bytes);
}

static pod_status zeros_lower(const pod_lower_args *args, pod_lowering *l)
{
    const zeros_run_attr run = {pod_shape_count(&args->out_local[0]) *
                                (int64_t)pod_dtype_bytes(args->out[0].dtype)};
    return pod__lower(args, zeros_run, "memset", &run, sizeof run, l);
}

const pod_op pod__op_zeros = {
    .name = "zeros", .n_out = 1, .infer = zeros_infer, .lower = zeros_lower};

/* ---- accumulate ---------------------------------------------------------------------------- */

static pod_status accumulate_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    const int32_t *in_time = n->attr;
    (void)n_in;
    POD_TRY(pod__want_dtype("the part", &in[1], 1u << POD_F32));
    out[0] = in[1];
    out[0].sum = (uint8_t)(out[0].sum & ~*in_time);
    out[0].vary = (uint8_t)(out[0].vary & ~*in_time);
    return pod__want_alike("what was added up", &in[0], "the result", &out[0]);
}

static void accumulate_run(const void *attr, const void *const in[], void *const out[],
                           void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    pod__pointwise_at(a->set)->add(a->count, POD_F32, in[0], in[1], out[0]);
}

static pod_status accumulate_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod__flat_attr run = pod__flat_of(args, pod__pointwise_pick(args->target->cpu));
    POD_TRY(
        pod__lower(args, accumulate_run, pod__pointwise_at(run.set)->name, &run, sizeof run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

const pod_op pod__op_accumulate = {.name = "accumulate",
                                   .n_in = 2,
                                   .n_out = 1,
                                   .takes_parts = true,
                                   .infer = accumulate_infer,
                                   .ops_each = 1,
                                   .lower = accumulate_lower};
