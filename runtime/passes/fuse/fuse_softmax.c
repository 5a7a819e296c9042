/* Patterns of losses. */
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

/* ---- over a vocabulary --------------------------------------------------------------------- */

/* Whether v is computed before site `to`, or can be: by a chain of nodes with one input at most. */
static bool can_precede(const pod__fuse *f, pod_value v, int32_t to)
{
    for (;;) {
        const int32_t i = f->maker[v.id];
        const pod__site *s = &f->site[i];
        if (i < to) return true;
        if (s->node.n_in > 1) return false;
        if (s->node.n_in == 0) return s->node.op->kind == POD_OP_RUN;
        v = s->in[0];
    }
}

/* Moves the sites of that chain to `to` and on, into the phase forward; returns the place after
 * them. */
static int32_t move_before(pod__fuse *f, pod_value v, int32_t to)
{
    const int32_t i = f->maker[v.id];
    if (i < to) return to;
    pod__site moved = f->site[i];
    moved.node.phase = POD_PHASE_FORWARD;
    if (moved.node.n_in > 0) to = move_before(f, moved.in[0], to);
    memmove(&f->site[to + 1], &f->site[to], (size_t)(i - to) * sizeof moved);
    f->site[to] = moved;
    for (int32_t j = to; j <= i; j++)
        for (int k = 0; k < f->site[j].node.n_out; k++) f->maker[f->site[j].out[k].id] = j;
    return to + 1;
}

/* Forward makes the gradients as well, before others read the loss. */
pod__verdict pod__fuse_vocab_loss_both(pod__fuse *f, pod__site *at)
{
    enum { LSE = 4, D_LOSS, BIAS, N_SUMS = 3 };
    if (!pod__site_is(at, pod_op_named.vocab_loss_grad)) return pod__no_match();
    const pod__site *loss = pod__maker_of(f, at->in[LSE]);
    const pod_value lse = at->in[LSE], d_loss = at->in[D_LOSS];
    pod__fuse_types types;
    if (!pod__site_is(loss, pod_op_named.vocab_loss)) return pod__no_match();
    if (pod__only_reader(f, lse, pod_op_named.vocab_loss_grad) != at)
        return pod__refused("others read the logarithms too");
    const pod_fuse_args args = pod__fuse_args_of(f, loss, &types);
    const char *why_not = pod_vocab_both_why_not(&args);
    if (why_not) return pod__refused(why_not);
    const int32_t before = f->maker[lse.id] - 1;
    if (!can_precede(f, d_loss, before)) return pod__refused("the loss's own gradient comes later");
    move_before(f, d_loss, before);
    pod__site *both = pod__maker_of(f, lse);
    const pod_value in[] = {both->in[0], both->in[1], both->in[2],
                            both->in[3], d_loss,      at->node.n_in > BIAS ? at->in[BIAS] : d_loss};
    both->node.op = pod_op_named.vocab_loss_both;
    both->node.n_out = N_SUMS;
    pod__set_inputs(both, in, at->node.n_in - 1);
    for (int k = 0; k < at->node.n_out; k++) pod__take_output(f, both, at->out[k]);
    pod__clear(at);
    return pod__fused();
}
