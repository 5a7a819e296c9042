/* copy: the same value, or this core's part of it, in other memory. Only passes make it. */
#include <string.h>

#include "runtime/ops/op_common.h"

static pod_status copy_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    out[0] = in[0];
    return POD_OK;
}

typedef struct copy_run_attr {
    int64_t bytes;
} copy_run_attr;

static void copy_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    memcpy(out[0], in[0], (size_t)((const copy_run_attr *)attr)->bytes);
}

static pod_status copy_lower(const pod_lower_args *args, pod_lowering *l)
{
    const copy_run_attr run = {pod_shape_count(&args->in_local[0]) *
                               (int64_t)pod_dtype_bytes(args->in[0].dtype)};
    return pod__lower(args, copy_run, "memcpy", &run, sizeof run, l);
}

const pod_op pod__op_copy = {.name = "copy",
                             .n_in = 1,
                             .n_out = 1,
                             .takes_parts = true,
                             .infer = copy_infer,
                             .lower = copy_lower};
