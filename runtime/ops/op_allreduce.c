/* allreduce: values that are sums, or vary, over the same mesh dimensions become whole. n inputs
 * give n outputs, which is what a bucket is. Only passes make it, by pod_graph_append. */
#include <limits.h>

#include "runtime/ops/op_common.h"

static pod_status allreduce_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n;
    for (int i = 0; i < n_in; i++) {
        if (in[i].dtype != in[0].dtype || (in[i].sum | in[i].vary) != (in[0].sum | in[0].vary)) {
            char a[POD__TYPE_TEXT], b[POD__TYPE_TEXT];
            return pod_fail(POD_E_SHAPE, "input 0 is %s, input %d is %s: need one group and type",
                            pod__type_print(&in[0], a, sizeof a), i,
                            pod__type_print(&in[i], b, sizeof b));
        }
        out[i] = in[i];
        out[i].sum = out[i].vary = 0;
    }
    return POD_OK;
}

const pod_op pod__op_allreduce = {.name = "allreduce",
                                  .kind = POD_OP_COLLECTIVE,
                                  .n_in = 1,
                                  .n_more = INT_MAX - 1,
                                  .n_out = POD_N_OUT_IS_N_IN,
                                  .takes_parts = true,
                                  .infer = allreduce_infer};
