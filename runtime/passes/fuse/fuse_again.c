/* Recomputes for backward the values that forward makes in one pass over memory, instead of keeping
 * them. */
#include <string.h>

#include "kernels/norm/norm.h"
#include "runtime/passes/fuse/fuse.h"

/* Rather than a statistic or parameter of each channel, which is there in any case. */
static bool is_activation(const pod__fuse *f, pod_value v)
{
    return pod_graph_type(f->from, f->model[v.id])->shape.n_dims > 1;
}

/* Everything the node reads is in memory when `last` runs, even if the node is not asked again. */
static bool inputs_stay(const pod__fuse *f, const pod__site *s, const pod__site *last)
{
    for (int j = 0; j < s->node.n_in; j++) {
        if (!is_activation(f, s->in[j])) continue;
        const pod__readers r = pod__readers_of(f, s->in[j]);
        if (r.n < 1 || r.site[r.n - 1] <= last) return false;
    }
    return true;
}

/* Returns whether forward runs an op whose name begins with `products` between the two. */
static bool goes_on(const pod__site *from, const pod__site *to, const char *products)
{
    for (const pod__site *s = from + 1; s < to; s++)
        if (s->node.op && s->node.phase == POD_PHASE_FORWARD &&
            strncmp(s->node.op->name, products, strlen(products)) == 0)
            return true;
    return false;
}

/* Runs the node of forward a second time, just before backward first reads its output, if forward
 * goes on with such products in between: only then does the memory serve something else. */
static pod__verdict make_again(pod__fuse *f, pod__site *at, const char *products)
{
    if (at->node.phase != POD_PHASE_FORWARD) return pod__no_match();
    const pod_value y = at->out[0];
    const pod__readers r = pod__readers_of(f, y);
    int first = 0; /* of those that stand in backward */
    while (first < r.n && r.site[first]->node.phase == POD_PHASE_FORWARD) first++;
    if (first == 0 || first >= r.n) return pod__no_match();
    if (!goes_on(r.site[first - 1], r.site[first], products)) return pod__no_match();
    pod__site *again = r.site[first] - 1;
    if (again->node.op) return pod__refused("there is no room before its reader");
    if (!inputs_stay(f, at, r.site[r.n - 1]))
        return pod__refused("what it is made of does not stay");
    *again = *at;
    again->node.phase = r.site[first]->node.phase;
    again->node.n_out = 0;
    const pod_value made = pod__add_output(f, again, y);
    for (int i = first; i < r.n; i++) pod__read_instead(r.site[i], y, made);
    return pod__fused();
}

/* z of a sum is read by convolutions and by the next sum, and in backward by the gradients of both:
 * it is made again before the first of these from what is there anyway. A z that is made so is not
 * there for the next one, which is kept. So is a swish, which takes longer to make again than to
 * read: a tenth of EfficientNet's step. --recompute makes it again all the same. */
pod__verdict pod__fuse_bn_again(pod__fuse *f, pod__site *at)
{
    if (!pod__site_is(at, pod_op_named.bn_apply_act)) return pod__no_match();
    if (((const pod_bn_attr *)at->node.attr)->act == POD_NORM_SWISH) return pod__no_match();
    return make_again(f, at, "conv2d");
}

/* Backward needs the argument of a gelu anyway, and its result, a quarter of what is kept of a
 * layer of BERT, only for the gradient of the next matmul's weight. */
pod__verdict pod__fuse_gelu_again(pod__fuse *f, pod__site *at)
{
    if (!pod__site_is(at, pod_op_named.gelu)) return pod__no_match();
    return make_again(f, at, "matmul");
}
