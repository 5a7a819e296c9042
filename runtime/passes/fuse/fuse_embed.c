/* Pattern of embeddings. */
#include "runtime/passes/fuse/fuse.h"

/* The table is also projected onto, or looked up twice: the gradient of the lookup is added to the
 * other one in its memory, so that only rows that occur are read and written. */
pod__verdict pod__fuse_embed_grad_add(pod__fuse *f, pod__site *at)
{
    if (!pod__site_is(at, pod_op_named.add)) return pod__no_match();
    for (int j = 1; j >= 0; j--) {
        pod__site *embed = pod__maker_of(f, at->in[j]);
        const pod_value more = at->in[1 - j];
        if (!pod__site_is(embed, pod_op_named.embed_grad) || embed->node.n_in != 2) continue;
        if (pod__only_reader(f, at->in[j], pod_op_named.add) != at)
            return pod__refused("others read it too");
        if (at->in[0].id == at->in[1].id) return pod__refused("it is added to itself");
        const pod_value in[] = {embed->in[0], embed->in[1], more}, sum = at->out[0];
        at->node = embed->node;
        at->node.n_out = 0;
        pod__set_inputs(at, in, 3);
        pod__take_output(f, at, sum);
        pod__clear(embed);
        return pod__fused();
    }
    return pod__no_match();
}
