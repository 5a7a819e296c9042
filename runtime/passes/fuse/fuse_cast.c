/* Patterns of casts. Where float32 travels between convolutions in bf16, each batch norm stands
 * between two casts: its ops read what was cast and store what is wanted themselves. Widening is
 * exact and narrowing rounds the same sum, so nothing changes but what goes through memory. */
#include "runtime/passes/fuse/fuse.h"

/* The ops of batch norm, whose x is input 0; -1: they have none. */
typedef struct bn_op {
    const pod_op *const *op;
    int beside; /* input that may be float32 beside an x in bf16, or bf16 too */
    int images; /* output of images */
    bool makes; /* these; else a gradient is handed on */
} bn_op;

static const bn_op bn_ops[] = {
    {&pod_op_named.bn_sums, -1, -1, false},         {&pod_op_named.bn_apply, -1, 0, true},
    {&pod_op_named.bn_apply_act, 3, 0, true},       {&pod_op_named.bn_grad_sums, 1, -1, false},
    {&pod_op_named.bn_grad_sums_act, 1, -1, false}, {&pod_op_named.bn_grad_sums_swish, 1, 2, false},
    {&pod_op_named.bn_grad_sums_of, 1, 2, false},   {&pod_op_named.bn_grad_apply, 1, 0, true},
    {&pod_op_named.bn_grad_apply_act, 1, 0, true}};

static const bn_op *bn_op_of(const pod__site *s)
{
    for (size_t i = 0; i < sizeof bn_ops / sizeof bn_ops[0]; i++)
        if (pod__site_is(s, *bn_ops[i].op)) return &bn_ops[i];
    return NULL;
}

static bool is_cast(const pod__fuse *f, const pod__site *s, pod_dtype from, pod_dtype to)
{
    return pod__site_is(s, pod_op_named.cast) && pod__dtype_of(f, s->in[0]) == from &&
           pod__dtype_of(f, s->out[0]) == to;
}

/* ---- cast_again ---- */

pod__verdict pod__fuse_cast_again(pod__fuse *f, pod__site *at)
{
    if (!pod__site_is(at, pod_op_named.cast) || f->kept[at->out[0].id]) return pod__no_match();
    const pod_value x = at->in[0], again = at->out[0];
    for (pod__site *s = pod__maker_of(f, x) + 1; s < at; s++) {
        if (!pod__site_is(s, pod_op_named.cast) || s->in[0].id != x.id ||
            s->node.phase != at->node.phase)
            continue;
        if (pod__dtype_of(f, s->out[0]) != pod__dtype_of(f, again)) continue;
        for (pod__site *reader = at + 1; reader < f->site + f->n_sites; reader++)
            pod__read_instead(reader, again, s->out[0]);
        pod__clear(at);
        return pod__fused();
    }
    return pod__no_match();
}

/* ---- bn_cast, bn_grad_cast: x, or what stands beside it, was widened ---- */

/* Returns whether the site reads v only as x, or only beside an x in bf16. */
static bool may_read_uncast(const pod__fuse *f, const pod__site *s, pod_value v, bool beside)
{
    const bn_op *op = bn_op_of(s);
    if (!op || (beside && pod__dtype_of(f, s->in[0]) != POD_BF16)) return false;
    const int as = beside ? op->beside : 0;
    for (int j = 0; j < s->node.n_in; j++)
        if ((s->in[j].id == v.id) != (j == as)) return false;
    return as >= 0;
}

/* Its images come out as the type they have. */
static void keep_type(pod__fuse *f, pod__site *s)
{
    const bn_op *op = bn_op_of(s);
    if (!op || op->images < 0) return;
    const pod_dtype t = pod__dtype_of(f, s->out[op->images]);
    if (pod_bn_store_as(&s->node, t, f->plan->arena) != POD_OK) f->no_memory = true;
}

static pod__verdict read_uncast(pod__fuse *f, pod__site *at, bool beside)
{
    if (!is_cast(f, at, POD_BF16, POD_F32)) return pod__no_match();
    const pod_value v = at->out[0], u = at->in[0];
    const pod__readers r = pod__readers_of(f, v);
    bool any = false;
    for (int i = 0; i < r.n; i++) any = any || may_read_uncast(f, r.site[i], v, beside);
    if (!any) return pod__no_match();
    for (int i = 0; i < r.n; i++)
        if (!may_read_uncast(f, r.site[i], v, beside)) return pod__refused_by_reader(f, r.site[i]);
    for (int i = 0; i < r.n; i++) {
        pod__read_instead(r.site[i], v, u);
        keep_type(f, r.site[i]);
    }
    pod__clear(at);
    return pod__fused();
}

pod__verdict pod__fuse_bn_cast(pod__fuse *f, pod__site *at) { return read_uncast(f, at, false); }

pod__verdict pod__fuse_bn_grad_cast(pod__fuse *f, pod__site *at)
{
    return read_uncast(f, at, true);
}

/* ---- bn_store: what is made is narrowed ---- */

pod__verdict pod__fuse_bn_store(pod__fuse *f, pod__site *at)
{
    if (!is_cast(f, at, POD_F32, POD_BF16)) return pod__no_match();
    pod__site *bn = pod__maker_of(f, at->in[0]);
    const bn_op *op = bn_op_of(bn);
    if (!op || !op->makes || pod__dtype_of(f, bn->in[0]) != POD_BF16) return pod__no_match();
    const pod__readers r = pod__readers_of(f, at->in[0]);
    for (int i = 0; i < r.n; i++)
        if (r.site[i] != at) return pod__refused_by_reader(f, r.site[i]);
    if (r.n < 1) return pod__refused("it has many readers");
    bn->node.n_out = 0;
    pod__take_output(f, bn, at->out[0]);
    keep_type(f, bn);
    pod__clear(at);
    return pod__fused();
}
