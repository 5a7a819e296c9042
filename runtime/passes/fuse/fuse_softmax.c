/* Pattern of the loss. */
#include <string.h>

#include "runtime/passes/fuse/fuse.h"

static bool has_same_attr(const pod_node *a, const pod_node *b)
{
    return a->attr_bytes == b->attr_bytes && memcmp(a->attr, b->attr, a->attr_bytes) == 0;
}

static bool reads(const pod__site *s, pod_value v)
{
    for (int j = 0; s->node.op && j < s->node.n_in; j++)
        if (s->in[j].id == v.id) return true;
    return false;
}

/* The softmax_loss of the same logits, labels and attr, before `grad`; NULL: there is none. */
static pod__site *loss_of(const pod__fuse *f, const pod__site *grad)
{
    for (pod__site *s = pod__maker_of(f, grad->in[0]) + 1; s < grad; s++)
        if (pod__site_is(s, pod_op_named.softmax_loss) && s->in[0].id == grad->in[0].id &&
            s->in[1].id == grad->in[1].id && has_same_attr(&s->node, &grad->node))
            return s;
    return NULL;
}

/* The gradient makes the loss as well, later than forward did. */
pod__verdict pod__fuse_softmax_loss_grad(pod__fuse *f, pod__site *at)
{
    if (!pod__site_is(at, pod_op_named.softmax_grad)) return pod__no_match();
    pod__site *loss = loss_of(f, at);
    if (!loss) return pod__no_match();
    const pod_value value = loss->out[0], gradient = at->out[0];
    for (const pod__site *s = loss + 1; s <= at; s++)
        if (reads(s, value)) return pod__refused_by_reader(f, s);
    at->node.op = pod_op_named.softmax_loss_grad;
    at->node.n_out = 0;
    pod__take_output(f, at, value);
    pod__take_output(f, at, gradient);
    pod__clear(loss);
    return pod__fused();
}
