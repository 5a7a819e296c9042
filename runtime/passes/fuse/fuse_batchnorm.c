/* Patterns of batch normalization: y is what is normalized, n = bn_apply(y), z what the activation
 * makes of it, d its gradient. */
#include <string.h>

#include "kernels/conv/conv.h"
#include "kernels/norm/norm.h"
#include "runtime/passes/fuse/fuse.h"

enum { Y, MEAN, RSTD, GAMMA, BETA };                       /* inputs of bn_apply */
enum { GRAD_SUMS_DY = 1, GRAD_SUMS_MEAN, GRAD_SUMS_RSTD }; /* of bn_grad_sums */

/* scale and shift of a bn_apply: n = y scale + shift. Made before it, once. */
typedef struct folded {
    pod_value scale, shift;
} folded;

static folded fold_of(pod__fuse *f, pod__site *bn)
{
    pod__site *fold = bn - 1;
    if (!fold->node.op) {
        *fold = (pod__site){.node = bn->node};
        fold->node.op = pod_op_named.bn_fold;
        fold->node.attr = NULL;
        fold->node.attr_bytes = 0;
        fold->node.n_out = 0;
        pod__set_inputs(fold, &bn->in[MEAN], 4);
        pod__add_output(f, fold, bn->in[MEAN]);
        pod__add_output(f, fold, bn->in[MEAN]);
    }
    return (folded){fold->out[0], fold->out[1]};
}

static pod__site *maker_that_is(const pod__fuse *f, pod_value v, const pod_op *op)
{
    pod__site *s = pod__maker_of(f, v);
    return pod__site_is(s, op) ? s : NULL;
}

/* Returns whether s is a bn_grad_sums or bn_grad_apply of d through the normalization of `bn`. */
static bool is_grad_of(const pod__site *s, const pod_op *op, const pod__site *bn, pod_value d)
{
    return pod__site_is(s, op) && s->in[Y].id == bn->in[Y].id && s->in[GRAD_SUMS_DY].id == d.id &&
           s->in[GRAD_SUMS_MEAN].id == bn->in[MEAN].id &&
           s->in[GRAD_SUMS_RSTD].id == bn->in[RSTD].id;
}

/* ---- bn_grad_act: z = relu(n), d = relu_grad(z, dz), which bn_grad_sums and _apply read ---- */

pod__verdict pod__fuse_bn_grad_act(pod__fuse *f, pod__site *at)
{
    if (!pod__site_is(at, pod_op_named.relu_grad)) return pod__no_match();
    const pod__site *relu = maker_that_is(f, at->in[0], pod_op_named.relu);
    pod__site *bn = relu ? maker_that_is(f, relu->in[0], pod_op_named.bn_apply) : NULL;
    if (!bn) return pod__no_match();
    const pod_value dz = at->in[1], d = at->out[0];
    const pod__readers r = pod__readers_of(f, d);
    if (r.n < 1) return pod__refused("the masked gradient has many readers");
    pod__site *sums = r.site[0], *apply = r.n > 1 ? r.site[1] : NULL;
    if (!is_grad_of(sums, pod_op_named.bn_grad_sums, bn, d)) return pod__refused_by_reader(f, sums);
    if (apply && !is_grad_of(apply, pod_op_named.bn_grad_apply, bn, d))
        return pod__refused_by_reader(f, apply);
    if (r.n > 2) return pod__refused_by_reader(f, r.site[2]);
    const folded k = fold_of(f, bn);
    const pod_value mean = bn->in[MEAN], rstd = bn->in[RSTD], y = bn->in[Y];
    pod__set_inputs(sums, (pod_value[]){y, dz, k.scale, k.shift, mean, rstd}, 6);
    sums->node.op = pod_op_named.bn_grad_sums_act;
    if (apply) {
        enum { FROM_GAMMA = 4 };
        const pod_value gamma = apply->in[FROM_GAMMA], dgamma = apply->in[FROM_GAMMA + 1],
                        dbeta = apply->in[FROM_GAMMA + 2];
        pod__set_inputs(
            apply, (pod_value[]){y, dz, k.scale, k.shift, mean, rstd, gamma, dgamma, dbeta}, 9);
        apply->node.op = pod_op_named.bn_grad_apply_act;
    }
    pod__clear(at);
    return pod__fused();
}

/* ---- bn_grad_swish: z = swish(n), d = swish_grad(n, dz), made by the first that reads it ---- */

pod__verdict pod__fuse_bn_grad_swish(pod__fuse *f, pod__site *at)
{
    if (!pod__site_is(at, pod_op_named.swish_grad)) return pod__no_match();
    pod__site *bn = maker_that_is(f, at->in[0], pod_op_named.bn_apply);
    if (!bn) return pod__no_match();
    const pod_value dz = at->in[1], d = at->out[0];
    const pod__readers r = pod__readers_of(f, d);
    if (r.n < 1) return pod__refused("the gradient has many readers");
    pod__site *sums = r.site[0];
    if (!is_grad_of(sums, pod_op_named.bn_grad_sums, bn, d)) return pod__refused_by_reader(f, sums);
    const folded k = fold_of(f, bn);
    const pod_value in[] = {bn->in[Y], dz, k.scale, k.shift, bn->in[MEAN], bn->in[RSTD]};
    pod__set_inputs(sums, in, 6);
    sums->node.op = pod_op_named.bn_grad_sums_swish;
    pod__take_output(f, sums, d);
    pod__clear(at);
    return pod__fused();
}

/* ---- bn_prologue: convolutions, and dw, read y and do the rest as they load ---- */

static bool is_conv_of(const pod__site *s, pod_value z)
{
    const bool is_conv =
        pod__site_is(s, pod_op_named.conv2d) || pod__site_is(s, pod_op_named.conv2d_dw);
    return is_conv && s->in[0].id == z.id && s->in[1].id != z.id;
}

static const char *why_no_prologue(const pod__fuse *f, const pod__site *conv, unsigned bits)
{
    pod__fuse_types types;
    const pod_fuse_args args = pod__fuse_args_of(f, conv, &types);
    return pod_conv2d_why_not(&args, bits);
}

/* The cast of z to y's type, where it is stored as another. */
static pod__site *cast_of(const pod__fuse *f, pod_value y, pod_value z, const pod__readers *r)
{
    if (pod__dtype_of(f, y) == pod__dtype_of(f, z)) return NULL;
    for (int i = 0; i < r->n; i++)
        if (pod__site_is(r->site[i], pod_op_named.cast) &&
            pod__dtype_of(f, r->site[i]->out[0]) == pod__dtype_of(f, y))
            return r->site[i];
    return NULL;
}

pod__verdict pod__fuse_bn_prologue(pod__fuse *f, pod__site *at)
{
    if (!pod__site_is(at, pod_op_named.bn_apply)) return pod__no_match();
    pod__site *relu = pod__only_reader(f, at->out[0], pod_op_named.relu);
    const pod_value n = relu ? relu->out[0] : at->out[0];
    const unsigned bits = POD_CONV_AFFINE_X | (relu ? POD_CONV_RELU_X : 0);
    const pod__readers of_n = pod__readers_of(f, n);
    pod__site *cast = cast_of(f, at->in[Y], n, &of_n);
    const pod_value z = cast ? cast->out[0] : n;
    const pod__readers r = cast ? pod__readers_of(f, z) : of_n;
    bool any_conv = false;
    for (int i = 0; i < r.n; i++) any_conv = any_conv || is_conv_of(r.site[i], z);
    if (!any_conv || pod__dtype_of(f, z) != pod__dtype_of(f, at->in[Y])) return pod__no_match();
    for (int i = 0; cast && i < of_n.n; i++)
        if (of_n.site[i] != cast) return pod__refused_by_reader(f, of_n.site[i]);
    for (int i = 0; i < r.n; i++)
        if (!is_conv_of(r.site[i], z)) return pod__refused_by_reader(f, r.site[i]);
    for (int i = 0; i < r.n; i++) {
        const char *why = why_no_prologue(f, r.site[i], bits);
        if (why) return pod__refused(why);
    }
    const folded k = fold_of(f, at);
    for (int i = 0; i < r.n; i++) {
        pod__site *conv = r.site[i];
        pod__set_inputs(conv, (pod_value[]){at->in[Y], conv->in[1], k.scale, k.shift}, 4);
        if (pod_conv2d_fuse(&conv->node, bits, f->plan->arena) != POD_OK) f->no_memory = true;
    }
    if (cast) pod__clear(cast);
    if (relu) pod__clear(relu);
    pod__clear(at);
    return pod__fused();
}

/* ---- bn_apply_act: z = relu(n), swish(n), n + r, relu(n + r), where r may be another n ---- */

/* A bn_apply whose result only `reader` sees. */
static pod__site *own_bn(const pod__fuse *f, pod_value v, const pod__site *reader)
{
    pod__site *bn = maker_that_is(f, v, pod_op_named.bn_apply);
    return bn && pod__only_reader(f, v, reader->node.op) == reader ? bn : NULL;
}

static void become_apply_act(pod__fuse *f, pod__site *at, pod_norm_act act, const pod_value in[],
                             int n)
{
    const pod_bn_attr attr = {.act = act, .stored = 1 + (int64_t)pod__dtype_of(f, at->out[0])};
    at->node.attr = pod_arena_copy(f->plan->arena, &attr, _Alignof(pod_bn_attr), sizeof attr);
    f->no_memory = f->no_memory || !at->node.attr;
    at->node.attr_bytes = sizeof attr;
    at->node.op = pod_op_named.bn_apply_act;
    pod__set_inputs(at, in, n);
}

/* The node `last`, an add or the relu behind it, becomes the normalization, sum and activation. */
static pod__verdict fuse_residual(pod__fuse *f, pod__site *add, pod__site *last)
{
    const pod_norm_act act = last != add ? POD_NORM_RELU : POD_NORM_NO_ACT;
    pod__site *bn = own_bn(f, add->in[0], add), *other = own_bn(f, add->in[1], add);
    const pod_value plain = bn ? add->in[1] : add->in[0];
    if (add->in[0].id == add->in[1].id || (!bn && !other)) return pod__no_match();
    if (!bn) bn = other, other = NULL;
    const folded k = fold_of(f, bn);
    if (other) {
        if (pod__dtype_of(f, bn->in[Y]) == POD_F32 && pod__dtype_of(f, other->in[Y]) == POD_BF16)
            return pod__refused("what is added to an x in f32 is bf16");
        const folded o = fold_of(f, other);
        const pod_value in[] = {bn->in[Y], k.scale, k.shift, other->in[Y], o.scale, o.shift};
        become_apply_act(f, last, act, in, 6);
        pod__clear(other);
    } else {
        const pod_value in[] = {bn->in[Y], k.scale, k.shift, plain};
        become_apply_act(f, last, act, in, 4);
    }
    pod__clear(bn);
    if (last != add) pod__clear(add);
    return pod__fused();
}

pod__verdict pod__fuse_bn_apply_act(pod__fuse *f, pod__site *at)
{
    if (pod__site_is(at, pod_op_named.add))
        return pod__only_reader(f, at->out[0], pod_op_named.relu) ? pod__no_match()
                                                                  : fuse_residual(f, at, at);
    const bool relu = pod__site_is(at, pod_op_named.relu);
    if (!relu && !pod__site_is(at, pod_op_named.swish)) return pod__no_match();
    pod__site *add = relu ? maker_that_is(f, at->in[0], pod_op_named.add) : NULL;
    if (add && pod__only_reader(f, at->in[0], pod_op_named.relu)) return fuse_residual(f, add, at);
    pod__site *bn = own_bn(f, at->in[0], at);
    if (!bn) return pod__no_match();
    const folded k = fold_of(f, bn);
    become_apply_act(f, at, relu ? POD_NORM_RELU : POD_NORM_SWISH,
                     (pod_value[]){bn->in[Y], k.scale, k.shift}, 3);
    pod__clear(bn);
    return pod__fused();
}

/* ---- bn_grad_sums_of: d = relu_grad(z, dz) is made by the first that reads it ---- */

pod__verdict pod__fuse_bn_grad_sums_of(pod__fuse *f, pod__site *at)
{
    if (!pod__site_is(at, pod_op_named.relu_grad)) return pod__no_match();
    const pod_value z = at->in[0], dz = at->in[1], d = at->out[0];
    const pod__readers r = pod__readers_of(f, d);
    bool any = false;
    for (int i = 0; i < r.n; i++) any = any || pod__site_is(r.site[i], pod_op_named.bn_grad_sums);
    if (!any) return pod__no_match();
    pod__site *sums = r.site[0];
    if (!pod__site_is(sums, pod_op_named.bn_grad_sums)) return pod__refused_by_reader(f, sums);
    const pod_value y = sums->in[Y], mean = sums->in[GRAD_SUMS_MEAN],
                    rstd = sums->in[GRAD_SUMS_RSTD];
    pod__set_inputs(sums, (pod_value[]){y, dz, z, mean, rstd}, 5);
    sums->node.op = pod_op_named.bn_grad_sums_of;
    pod__take_output(f, sums, d);
    pod__clear(at);
    return pod__fused();
}

/* ---- bn_grad_sums_add: dz of a bn_grad_sums_of is a sum that nothing else reads ---- */

/* Which part of the sum the kernel may take as `more`, of the type of what is normalized: it may be
 * the cast of one. -1: neither. */
static int part_like(const pod__fuse *f, const pod__site *add, pod_dtype t)
{
    for (int i = 1; i >= 0; i--) {
        if (pod__dtype_of(f, add->in[i]) == t) return i;
        const pod__site *cast = maker_that_is(f, add->in[i], pod_op_named.cast);
        if (cast && pod__dtype_of(f, cast->in[0]) == t) return i;
    }
    return -1;
}

pod__verdict pod__fuse_bn_grad_sums_add(pod__fuse *f, pod__site *at)
{
    enum { DZ = 1, N_SUMS_OF = 5 };
    if (!pod__site_is(at, pod_op_named.add)) return pod__no_match();
    const pod_value dz = at->out[0];
    const pod__readers r = pod__readers_of(f, dz);
    pod__site *sums = r.n > 0 ? r.site[0] : NULL;
    if (!pod__site_is(sums, pod_op_named.bn_grad_sums_of) || sums->in[DZ].id != dz.id)
        return pod__no_match();
    if (r.n > 1) return pod__refused_by_reader(f, r.site[1]);
    const pod_dtype t = pod__dtype_of(f, sums->in[Y]);
    const int more = part_like(f, at, t);
    if (more < 0) return pod__refused("neither part is of the type of what is normalized");
    pod__site *cast = pod__dtype_of(f, at->in[more]) == t ? NULL : pod__maker_of(f, at->in[more]);
    pod_value in[N_SUMS_OF + 1];
    memcpy(in, sums->in, sizeof in[0] * N_SUMS_OF);
    in[DZ] = at->in[1 - more];
    in[N_SUMS_OF] = cast ? cast->in[0] : at->in[more];
    pod__set_inputs(sums, in, N_SUMS_OF + 1);
    pod__clear(at);
    if (cast && pod__readers_of(f, cast->out[0]).n == 0) pod__clear(cast);
    return pod__fused();
}

/* ---- conv_sums ---- */

/* Why the convolution cannot sum what it stores; NULL: it does from now on. */
static const char *sum_too(pod__fuse *f, pod__site *conv)
{
    if (pod__site_is(conv, pod_op_named.depthwise2d)) {
        conv->node.op = pod_op_named.depthwise2d_sums;
        return NULL;
    }
    pod__fuse_types types;
    const pod_fuse_args args = pod__fuse_args_of(f, conv, &types);
    const char *why = pod_conv2d_why_not(&args, POD_CONV_SUMS);
    if (why) return why;
    if (pod_conv2d_fuse(&conv->node, POD_CONV_SUMS, f->plan->arena) != POD_OK) f->no_memory = true;
    return NULL;
}

pod__verdict pod__fuse_conv_sums(pod__fuse *f, pod__site *at)
{
    if (!pod__site_is(at, pod_op_named.bn_sums)) return pod__no_match();
    pod__site *conv = pod__maker_of(f, at->in[0]);
    if (!pod__site_is(conv, pod_op_named.conv2d) && !pod__site_is(conv, pod_op_named.conv2d_act) &&
        !pod__site_is(conv, pod_op_named.depthwise2d))
        return pod__no_match();
    const char *why = sum_too(f, conv);
    if (why) return pod__refused(why);
    pod__take_output(f, conv, at->out[0]);
    pod__take_output(f, conv, at->out[1]);
    pod__clear(at);
    return pod__fused();
}
