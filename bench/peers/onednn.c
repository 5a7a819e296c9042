/* oneDNN 2: matmul, convolution and depthwise convolution, one thread.
 *
 * Packed: oneDNN chooses the layout of weights, of a convolution also that of images, and all is
 * laid out so before the clock runs. Else images lie NHWC and products row by row as ours do; a
 * convolution's weights still go through the layout that oneDNN likes, within the time. */
#include <dnnl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers/peer.h"

enum { A, B, OUT, N_SIDES };

typedef struct side {
    int arg;                                  /* DNNL_ARG_ of the primitive */
    dnnl_query_t query;                       /* where its descriptor has its layout */
    dnnl_memory_desc_t plain, own;            /* as ours lies; as the primitive has it */
    dnnl_memory_t *plain_memory, *own_memory; /* (n_sets); the same where the layouts are */
    dnnl_primitive_t reorder; /* plain to own, of OUT own to plain; NULL: it lies as it should */
    bool is_timed;            /* it is reordered in each run */
} side;

struct pod_peer_run {
    int n_sets;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t hint, descriptor;
    dnnl_primitive_t primitive;
    side side[N_SIDES];
};

#define TRY_DNNL(expr)                                       \
    do {                                                     \
        const dnnl_status_t status_ = (expr);                \
        if (status_ != dnnl_success) return refuse(status_); \
    } while (0)

static pod_status refuse(dnnl_status_t s)
{
    if (s == dnnl_out_of_memory) return POD_E_NOMEM;
    return pod_fail(POD_E_UNSUPPORTED, "onednn: status %d", (int)s);
}

static dnnl_data_type_t type_of(pod_dtype t) { return t == POD_BF16 ? dnnl_bf16 : dnnl_f32; }

/* The same dimensions in any layout. */
static pod_status any_layout(const dnnl_memory_desc_t *like, dnnl_memory_desc_t *out)
{
    TRY_DNNL(dnnl_memory_desc_init_by_tag(out, like->ndims, like->dims, like->data_type,
                                          dnnl_format_tag_any));
    return POD_OK;
}

static pod_status describe(int n, const int64_t dim[], const int64_t stride[], pod_dtype t,
                           dnnl_memory_desc_t *out)
{
    TRY_DNNL(dnnl_memory_desc_init_by_strides(out, n, dim, type_of(t), stride));
    return POD_OK;
}

/* ---- products -------------------------------------------------------------------------------- */

static pod_status describe_product(pod_peer_run *r, const pod_problem *p, bool is_packed)
{
    const int64_t m = p->product.m, n = p->product.n, k = p->product.k;
    side *a = &r->side[A], *b = &r->side[B], *c = &r->side[OUT];
    *a = (side){.arg = DNNL_ARG_SRC, .query = dnnl_query_src_md};
    *b = (side){.arg = DNNL_ARG_WEIGHTS, .query = dnnl_query_weights_md};
    *c = (side){.arg = DNNL_ARG_DST, .query = dnnl_query_dst_md};
    const dnnl_dims_t a_dim = {p->n_batch, m, k}, b_dim = {p->n_batch, k, n},
                      c_dim = {p->n_batch, m, n};
    const dnnl_dims_t a_stride = {m * k, p->trans_a ? 1 : k, p->trans_a ? m : 1};
    const dnnl_dims_t b_stride = {k * n, p->trans_b ? 1 : n, p->trans_b ? k : 1};
    const dnnl_dims_t c_stride = {m * n, n, 1};
    const int skip = p->n_batch == 1; /* oneDNN has layouts of its own for weights of (K, N) only */
    POD_TRY(describe(3 - skip, a_dim + skip, a_stride + skip, p->dtype, &a->plain));
    POD_TRY(describe(3 - skip, b_dim + skip, b_stride + skip, p->dtype, &b->plain));
    POD_TRY(describe(3 - skip, c_dim + skip, c_stride + skip, p->c_dtype, &c->plain));
    dnnl_memory_desc_t weights = b->plain;
    if (is_packed) POD_TRY(any_layout(&b->plain, &weights));
    dnnl_matmul_desc_t d;
    TRY_DNNL(dnnl_matmul_desc_init(&d, &a->plain, &weights, NULL, &c->plain));
    TRY_DNNL(dnnl_primitive_desc_create(&r->descriptor, &d, NULL, r->engine, NULL));
    return POD_OK;
}

/* ---- convolutions ---------------------------------------------------------------------------- */

typedef struct conv_descs {
    dnnl_memory_desc_t x, w, y;
    dnnl_dims_t stride, pad_before, pad_behind;
} conv_descs;

/* Of images N C H W and filters K C R S, of a depthwise convolution C 1 1 R S, as ours lie. */
static pod_status describe_conv_operands(const pod_problem *p, conv_descs *d)
{
    const pod_conv_shape *s = &p->conv;
    const pod_dtype w_type = p->function == POD_CONV_WEIGHT_GRAD ? POD_F32 : p->dtype;
    const int64_t rs = s->r * s->s;
    POD_TRY(describe(4, (dnnl_dims_t){s->n, s->c, s->h, s->w},
                     (dnnl_dims_t){s->h * s->w * s->c, 1, s->w * s->c, s->c}, p->dtype, &d->x));
    POD_TRY(describe(4, (dnnl_dims_t){s->n, s->k, s->p, s->q},
                     (dnnl_dims_t){s->p * s->q * s->k, 1, s->q * s->k, s->k}, p->dtype, &d->y));
    if (p->family == POD_FAMILY_depthwise)
        POD_TRY(describe(5, (dnnl_dims_t){s->c, 1, 1, s->r, s->s},
                         (dnnl_dims_t){1, s->c, s->c, s->s * s->c, s->c}, w_type, &d->w));
    else
        POD_TRY(describe(4, (dnnl_dims_t){s->k, s->c, s->r, s->s},
                         (dnnl_dims_t){rs * s->c, 1, s->s * s->c, s->c}, w_type, &d->w));
    for (int i = 0; i < 2; i++) d->stride[i] = s->stride;
    d->pad_before[0] = s->pad_h;
    d->pad_before[1] = s->pad_w;
    d->pad_behind[0] = (s->p - 1) * s->stride + s->r - s->h - s->pad_h;
    d->pad_behind[1] = (s->q - 1) * s->stride + s->s - s->w - s->pad_w;
    return POD_OK;
}

static pod_status forward_desc(pod_peer_run *r, const conv_descs *d, dnnl_primitive_desc_t *out)
{
    dnnl_convolution_desc_t c;
    TRY_DNNL(dnnl_convolution_forward_desc_init(&c, dnnl_forward_training, dnnl_convolution_direct,
                                                &d->x, &d->w, NULL, &d->y, d->stride, d->pad_before,
                                                d->pad_behind));
    TRY_DNNL(dnnl_primitive_desc_create(out, &c, NULL, r->engine, NULL));
    return POD_OK;
}

/* A gradient asks for the forward primitive that it belongs to. */
static pod_status gradient_desc(pod_peer_run *r, const pod_problem *p, const conv_descs *d)
{
    dnnl_convolution_desc_t c;
    conv_descs hint = *d;
    hint.w.data_type = d->x.data_type;
    POD_TRY(any_layout(&hint.w, &hint.w));
    POD_TRY(forward_desc(r, &hint, &r->hint));
    if (p->function == POD_CONV_INPUT_GRAD)
        TRY_DNNL(dnnl_convolution_backward_data_desc_init(&c, dnnl_convolution_direct, &d->x, &d->w,
                                                          &d->y, d->stride, d->pad_before,
                                                          d->pad_behind));
    else
        TRY_DNNL(dnnl_convolution_backward_weights_desc_init(&c, dnnl_convolution_direct, &d->x,
                                                             &d->w, NULL, &d->y, d->stride,
                                                             d->pad_before, d->pad_behind));
    TRY_DNNL(dnnl_primitive_desc_create(&r->descriptor, &c, NULL, r->engine, r->hint));
    return POD_OK;
}

static void name_sides(pod_peer_run *r, int pass, const conv_descs *plain)
{
    const side x = {DNNL_ARG_SRC, dnnl_query_src_md, .plain = plain->x};
    const side w = {DNNL_ARG_WEIGHTS, dnnl_query_weights_md, .plain = plain->w};
    const side y = {DNNL_ARG_DST, dnnl_query_dst_md, .plain = plain->y};
    const side dx = {DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md, .plain = plain->x};
    const side dw = {DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md, .plain = plain->w};
    const side dy = {DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, .plain = plain->y};
    r->side[A] = pass == POD_CONV_INPUT_GRAD ? dy : x;
    r->side[B] = pass == POD_CONV_WEIGHT_GRAD ? dy : w;
    r->side[OUT] = pass == POD_CONV_FORWARD ? y : pass == POD_CONV_INPUT_GRAD ? dx : dw;
}

static pod_status describe_conv(pod_peer_run *r, const pod_problem *p, bool is_packed)
{
    conv_descs plain;
    POD_TRY(describe_conv_operands(p, &plain));
    name_sides(r, p->function, &plain);
    conv_descs wanted = plain;
    POD_TRY(any_layout(&plain.w, &wanted.w));
    if (is_packed) {
        POD_TRY(any_layout(&plain.x, &wanted.x));
        POD_TRY(any_layout(&plain.y, &wanted.y));
    }
    r->side[p->function == POD_CONV_WEIGHT_GRAD ? OUT : B].is_timed = !is_packed;
    if (p->function == POD_CONV_FORWARD) return forward_desc(r, &wanted, &r->descriptor);
    return gradient_desc(r, p, &wanted);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static pod_status make_reorder(pod_peer_run *r, side *s, bool is_output)
{
    dnnl_primitive_desc_t d;
    const dnnl_memory_desc_t *from = is_output ? &s->own : &s->plain;
    const dnnl_memory_desc_t *to = is_output ? &s->plain : &s->own;
    TRY_DNNL(dnnl_reorder_primitive_desc_create(&d, from, r->engine, to, r->engine, NULL));
    const dnnl_status_t status = dnnl_primitive_create(&s->reorder, d);
    dnnl_primitive_desc_destroy(d);
    TRY_DNNL(status);
    return POD_OK;
}

static void reorder(pod_peer_run *r, const side *s, bool is_output, int set)
{
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_FROM, is_output ? s->own_memory[set] : s->plain_memory[set]},
        {DNNL_ARG_TO, is_output ? s->plain_memory[set] : s->own_memory[set]}};
    dnnl_primitive_execute(s->reorder, r->stream, 2, args);
    dnnl_stream_wait(r->stream);
}

static pod_status make_memory(pod_peer_run *r, side *s, bool is_output, const pod_operand *plain)
{
    s->own = *dnnl_primitive_desc_query_md(r->descriptor, s->query, 0);
    s->plain_memory = calloc((size_t)r->n_sets, sizeof(dnnl_memory_t));
    s->own_memory = calloc((size_t)r->n_sets, sizeof(dnnl_memory_t));
    if (!s->plain_memory || !s->own_memory) return POD_E_NOMEM;
    const bool is_own = !dnnl_memory_desc_equal(&s->own, &s->plain);
    if (is_own) POD_TRY(make_reorder(r, s, is_output));
    for (int i = 0; i < r->n_sets; i++) {
        TRY_DNNL(dnnl_memory_create(&s->plain_memory[i], &s->plain, r->engine,
                                    pod_operand_at(plain, i)));
        TRY_DNNL(dnnl_memory_create(&s->own_memory[i], &s->own, r->engine,
                                    is_own ? DNNL_MEMORY_ALLOCATE : pod_operand_at(plain, i)));
        if (is_own && !is_output) reorder(r, s, false, i);
    }
    return POD_OK;
}

static void destroy_memory(side *s, int n_sets)
{
    for (int i = 0; i < n_sets; i++) {
        if (s->plain_memory && s->plain_memory[i]) dnnl_memory_destroy(s->plain_memory[i]);
        if (s->own_memory && s->own_memory[i]) dnnl_memory_destroy(s->own_memory[i]);
    }
    free(s->plain_memory);
    free(s->own_memory);
    if (s->reorder) dnnl_primitive_destroy(s->reorder);
}

/* ---- the peer -------------------------------------------------------------------------------- */

static void destroy(pod_peer_run *r)
{
    for (int i = 0; i < N_SIDES; i++) destroy_memory(&r->side[i], r->n_sets);
    if (r->primitive) dnnl_primitive_destroy(r->primitive);
    if (r->descriptor) dnnl_primitive_desc_destroy(r->descriptor);
    if (r->hint) dnnl_primitive_desc_destroy(r->hint);
    if (r->stream) dnnl_stream_destroy(r->stream);
    if (r->engine) dnnl_engine_destroy(r->engine);
    free(r);
}

static pod_status prepare(pod_peer_run *r, const pod_peer_call *call)
{
    const pod_problem *p = call->problem;
    omp_set_num_threads(1);
    TRY_DNNL(dnnl_engine_create(&r->engine, dnnl_cpu, 0));
    TRY_DNNL(dnnl_stream_create(&r->stream, r->engine, dnnl_stream_default_flags));
    POD_TRY(p->family == POD_FAMILY_gemm ? describe_product(r, p, call->is_packed)
                                         : describe_conv(r, p, call->is_packed));
    TRY_DNNL(dnnl_primitive_create(&r->primitive, r->descriptor));
    POD_TRY(make_memory(r, &r->side[A], false, call->a));
    POD_TRY(make_memory(r, &r->side[B], false, call->b));
    return make_memory(r, &r->side[OUT], true, call->out);
}

static pod_status create(const pod_peer_call *call, pod_peer_run **out)
{
    if (call->problem->fused) return pod_fail(POD_E_UNSUPPORTED, "onednn: nothing is fused here");
    pod_peer_run *r = calloc(1, sizeof *r);
    if (!r) return POD_E_NOMEM;
    r->n_sets = call->n_sets;
    const pod_status s = prepare(r, call);
    if (s == POD_OK)
        *out = r;
    else
        destroy(r);
    return s;
}

static void run(pod_peer_run *r, int set)
{
    dnnl_exec_arg_t args[N_SIDES];
    if (r->side[B].reorder && r->side[B].is_timed) reorder(r, &r->side[B], false, set);
    for (int i = 0; i < N_SIDES; i++)
        args[i] = (dnnl_exec_arg_t){r->side[i].arg, r->side[i].own_memory[set]};
    dnnl_primitive_execute(r->primitive, r->stream, N_SIDES, args);
    dnnl_stream_wait(r->stream);
    if (r->side[OUT].reorder && r->side[OUT].is_timed) reorder(r, &r->side[OUT], true, set);
}

static void settle(pod_peer_run *r)
{
    if (r->side[OUT].reorder) reorder(r, &r->side[OUT], true, 0);
}

static const char *version(char *text, size_t bytes)
{
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, bytes, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

const pod_peer *pod_peers(int *n)
{
    static const pod_peer peers[] = {{"onednn", version, create, run, settle, destroy}};
    *n = 1;
    return peers;
}
