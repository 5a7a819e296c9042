/* to_wire, from_wire: float32 into the type in which sums travel, and back, kernels/combine. Of a
 * sum each core converts its own part. Only passes make them; the attr of to_wire is the pod_dtype
 * of the wire, an int32_t. */
#include "runtime/ops/op_common.h"

enum { ON_THE_WIRE = 1u << POD_BF16 | 1u << POD_BINNED };

static pod_status to_wire_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const int32_t *to = n->attr;
    POD_TRY(pod__want_dtype("x", &in[0], 1u << POD_F32));
    out[0] = in[0];
    out[0].dtype = (pod_dtype)*to;
    return pod__want_dtype("the result", &out[0], ON_THE_WIRE);
}

static pod_status from_wire_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__want_dtype("x", &in[0], ON_THE_WIRE));
    out[0] = in[0];
    out[0].dtype = POD_F32;
    return POD_OK;
}

typedef struct wire_run_attr {
    int64_t count;
    int32_t from, to, set, unused;
} wire_run_attr;

static void wire_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const wire_run_attr *a = attr;
    pod__combine_at(a->set)->convert(a->count, (pod_dtype)a->from, in[0], (pod_dtype)a->to, out[0]);
}

static pod_status wire_lower(const pod_lower_args *args, pod_lowering *l)
{
    const wire_run_attr run = {.count = pod_shape_count(&args->in_local[0]),
                               .from = (int32_t)args->in[0].dtype,
                               .to = (int32_t)args->out[0].dtype,
                               .set = pod__combine_pick(args->target->cpu)};
    return pod__lower(args, wire_run, pod__combine_at(run.set)->name, &run, sizeof run, l);
}

const pod_op pod__op_to_wire = {.name = "to_wire",
                                .n_in = 1,
                                .n_out = 1,
                                .takes_parts = true,
                                .by_element = true,
                                .sweep = POD_SWEEP_EACH,
                                .infer = to_wire_infer,
                                .ops_each = 1,
                                .lower = wire_lower};

const pod_op pod__op_from_wire = {.name = "from_wire",
                                  .n_in = 1,
                                  .n_out = 1,
                                  .takes_parts = true,
                                  .by_element = true,
                                  .sweep = POD_SWEEP_EACH,
                                  .infer = from_wire_infer,
                                  .ops_each = 1,
                                  .lower = wire_lower};
