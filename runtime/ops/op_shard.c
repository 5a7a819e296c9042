/* Values that are dealt out over the cores (pod_shard), in and out. Only passes make these ops.
 *
 *   reduce_scatter  sums               -> the same, dealt out: one sequence, in the order of inputs
 *   shard           a whole value      -> this core's part of it, in the same memory
 *   allgather       what is dealt out  -> whole values
 *
 * The attr of reduce_scatter is an int64_t, the elements of a core; that of shard a pod_shard. */
#include <limits.h>
#include <string.h>

#include "runtime/ops/op_common.h"

int64_t pod_shard_padded(int64_t count)
{
    enum { LINE = 32 }; /* 64 bytes of any type that is all-reduced */
    return (count + LINE - 1) / LINE * LINE;
}

static pod_status reduce_scatter_infer(const pod_node *n, const pod_type in[], int n_in,
                                       pod_type out[])
{
    const int64_t *per_core = n->attr;
    int64_t first = 0;
    for (int i = 0; i < n_in; i++) {
        if (in[i].dtype != in[0].dtype || !in[i].sum || in[i].sum != in[0].sum || in[i].vary) {
            char a[POD__TYPE_TEXT], b[POD__TYPE_TEXT];
            return pod_fail(POD_E_SHAPE, "input 0 is %s, input %d is %s: need sums of one type",
                            pod__type_print(&in[0], a, sizeof a), i,
                            pod__type_print(&in[i], b, sizeof b));
        }
        out[i] = in[i];
        out[i].sum = 0;
        out[i].shard = (pod_shard){first, *per_core, in[i].sum};
        first += pod_shard_padded(pod_shape_count(&in[i].shape));
    }
    return POD_OK;
}

static pod_status shard_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    POD_TRY(pod__want_no_parts("x", &in[0]));
    out[0] = in[0];
    memcpy(&out[0].shard, n->attr, sizeof out[0].shard);
    return POD_OK;
}

static pod_status allgather_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n;
    for (int i = 0; i < n_in; i++) {
        out[i] = in[i];
        out[i].shard = (pod_shard){0};
    }
    return POD_OK;
}

const pod_op pod__op_reduce_scatter = {.name = "reduce_scatter",
                                       .kind = POD_OP_COLLECTIVE,
                                       .n_in = 1,
                                       .n_more = INT_MAX - 1,
                                       .n_out = POD_N_OUT_IS_N_IN,
                                       .takes_parts = true,
                                       .infer = reduce_scatter_infer};

const pod_op pod__op_shard = {
    .name = "shard", .kind = POD_OP_VIEW, .n_in = 1, .n_out = 1, .infer = shard_infer};

const pod_op pod__op_allgather = {.name = "allgather",
                                  .kind = POD_OP_COLLECTIVE,
                                  .n_in = 1,
                                  .n_more = INT_MAX - 1,
                                  .n_out = POD_N_OUT_IS_N_IN,
                                  .takes_parts = true,
                                  .infer = allgather_infer};
