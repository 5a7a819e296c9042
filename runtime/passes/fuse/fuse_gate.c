/* gate_mean_grad: x was gated and averaged over its pixels, as in a squeeze-and-excite block; the
 * gradients of both are made and added in one pass. */
#include "runtime/passes/fuse/fuse.h"

/* The site that makes `v` for `reader` alone, if it is this op. */
static pod__site *own_maker(const pod__fuse *f, pod_value v, const pod_op *op,
                            const pod__site *reader)
{
    pod__site *s = pod__maker_of(f, v);
    const bool is_own = pod__only_reader(f, v, reader->node.op) == reader;
    return pod__site_is(s, op) && is_own ? s : NULL;
}

pod__verdict pod__fuse_gate_mean_grad(pod__fuse *f, pod__site *at)
{
    if (!pod__site_is(at, pod_op_named.add)) return pod__no_match();
    for (int first = 0; first < 2; first++) {
        pod__site *gate = own_maker(f, at->in[first], pod_op_named.gate, at);
        pod__site *mean = own_maker(f, at->in[1 - first], pod_op_named.mean_pool_grad, at);
        if (!gate || !mean) continue;
        at->node.op = pod_op_named.gate_mean_grad;
        pod__set_inputs(at, (pod_value[]){gate->in[0], gate->in[1], mean->in[0]}, 3);
        pod__clear(gate);
        pod__clear(mean);
        return pod__fused();
    }
    return pod__no_match();
}
