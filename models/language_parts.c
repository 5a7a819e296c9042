#include "models/language_parts.h"

#include <inttypes.h>
#include <math.h>

pod_value pod__gelu_tanh(pod_graph *g, pod_value x) { return pod_gelu(g, x, POD_GELU_TANH); }

pod_value pod__gelu_erf(pod_graph *g, pod_value x) { return pod_gelu(g, x, POD_GELU_ERF); }

void pod__check_positions(pod_graph *g, const pod_language_size *size, int64_t seq_len)
{
    if (seq_len > size->positions)
        pod_graph_fail(g, POD_E_INVALID,
                       "sequences of %" PRId64 " tokens, but the model has %" PRId64 " positions",
                       seq_len, size->positions);
}

pod_value pod__kernel(pod_graph *g, const char *name, pod_shape shape)
{
    return pod_weight(g, name, shape, (pod_init){POD_INIT_TRUNCATED, 0.02f}, POD_ROLE_WEIGHT);
}

pod_dtype pod__product_type(const pod_language_args *args)
{
    return args->bf16_products ? POD_BF16 : args->travel;
}

static pod_init init_of(pod_init init, int64_t inputs, int64_t outputs)
{
    if (init.kind == POD_INIT_UNIFORM) init.scale = sqrtf(6.0f / (float)(inputs + outputs));
    return init;
}

pod_value pod__project(const pod__blocks *b, pod_value x, const char *name, pod__projection how)
{
    pod_graph *g = b->g;
    if (!x.id) return x;
    const pod_shape *s = &pod_graph_type(g, x)->shape;
    const int64_t inputs = s->dim[s->n_dims - 1];
    const pod_dtype t = pod__product_type(b->args);
    pod_scope_begin(g, "%s", name);
    pod_value w = pod_weight(g, "kernel", (pod_shape){2, {inputs, how.units}},
                             init_of(how.kernel, inputs, how.units), POD_ROLE_WEIGHT);
    pod_value bias = {0};
    if (how.with_bias)
        bias = pod_weight(g, "bias", (pod_shape){1, {how.units}}, (pod_init){POD_INIT_ZERO, 0},
                          POD_ROLE_BIAS);
    x = pod_matmul(g, pod_cast(g, x, t), pod_cast(g, w, t), (pod_matmul_attr){.c_dtype = how.to});
    if (how.with_bias) x = pod_bias_add(g, x, bias);
    pod_scope_end(g);
    return x;
}

pod_value pod__drop(const pod__blocks *b, pod_value x, float rate)
{
    return b->args->draws.id ? pod_dropout(b->g, x, b->args->draws, rate) : x;
}

pod_value pod__to_rows(const pod__blocks *b, pod_value sequences)
{
    if (!sequences.id) return sequences;
    const int64_t count = pod_shape_count(&pod_graph_type(b->g, sequences)->shape);
    return pod_reshape(b->g, sequences, (pod_shape){2, {count / b->hidden, b->hidden}});
}

pod_value pod__to_sequences(const pod__blocks *b, pod_value rows, int64_t n)
{
    if (!rows.id) return rows;
    const int64_t count = pod_shape_count(&pod_graph_type(b->g, rows)->shape);
    return pod_reshape(b->g, rows, (pod_shape){3, {n, count / b->hidden / n, b->hidden}});
}

/* ---- blocks -------------------------------------------------------------------------------- */

pod_value pod__heads(const pod__blocks *b, pod_value rows, const char *name, int64_t n)
{
    const pod__projection how = {b->hidden, b->kernel, b->attention_bias, b->args->travel};
    return pod__to_sequences(b, pod__project(b, rows, name, how), n);
}

bool pod__is_packed(const pod_graph *g, pod_value lengths)
{
    return lengths.id && pod_graph_type(g, lengths)->shape.n_dims > 1;
}

pod_value pod__attend(const pod__blocks *b, pod_value q, pod_value k, pod_value v, pod__look look)
{
    const pod_dtype t = pod__product_type(b->args);
    const pod_attention_attr attr = {.n_heads = (int)b->heads,
                                     .causal = look.causal,
                                     .dropout = b->args->draws.id ? b->dropout : 0,
                                     .plain = b->args->plain_attention};
    q = pod_cast(b->g, q, t), k = pod_cast(b->g, k, t), v = pod_cast(b->g, v, t);
    pod_value y =
        pod__is_packed(b->g, look.lengths)
            ? pod_attention_packed(b->g, q, k, v, look.queries, look.lengths, b->args->draws, attr)
            : pod_attention(b->g, q, k, v, look.lengths, b->args->draws, attr);
    return pod_cast(b->g, y, b->args->travel);
}

pod_value pod__feed_forward(const pod__blocks *b, pod_value rows, const char *inner)
{
    const pod__projection how = {b->inner, b->kernel, true, b->args->travel};
    rows = b->activation(b->g, pod__project(b, rows, inner, how));
    if (!b->drops_inner) return rows;
    pod_scope_begin(b->g, "%s", inner); /* of the draws */
    rows = pod__drop(b, rows, b->dropout);
    pod_scope_end(b->g);
    return rows;
}

pod_value pod__norm_first(const pod__blocks *b, pod__residual *path, const char *name)
{
    pod_scope_begin(b->g, "%s", name);
    pod_value y = path->more.id
                      ? pod_add_layer_norm(b->g, path->more, path->x, b->epsilon, &path->x)
                      : pod_layer_norm(b->g, path->x, b->epsilon);
    path->more = (pod_value){0};
    pod_scope_end(b->g);
    return y;
}

static pod_value drop_samples(const pod__blocks *b, pod_value rows, int64_t n)
{
    pod_value y = pod__to_sequences(b, rows, n);
    return pod__to_rows(b, pod_drop_samples(b->g, y, b->args->draws, b->drop_samples));
}

void pod__add_to(const pod__blocks *b, pod__residual *path, pod_value rows, const char *name,
                 bool with_bias, int64_t n)
{
    const pod__projection how = {b->hidden, b->to_residual, with_bias, b->args->travel};
    rows = pod__project(b, rows, name, how);
    pod_scope_begin(b->g, "%s", name); /* of the draws */
    rows = pod__drop(b, rows, b->dropout);
    if (b->drop_samples > 0 && b->args->draws.id) rows = drop_samples(b, rows, n);
    pod_scope_end(b->g);
    path->more = rows;
}

void pod__attention_first(const pod__blocks *b, pod__residual *path, const pod__names *names,
                          int64_t n, pod__look look)
{
    pod_value rows = pod__norm_first(b, path, names->attention_norm);
    pod_scope_begin(b->g, "%s", names->attention);
    pod_value q = pod__heads(b, rows, "query", n), k = pod__heads(b, rows, "key", n);
    pod_value y = pod__attend(b, q, k, pod__heads(b, rows, "value", n), look);
    pod_scope_end(b->g);
    pod__add_to(b, path, pod__to_rows(b, y), names->attention_output, b->attention_bias, n);
}

void pod__feed_forward_first(const pod__blocks *b, pod__residual *path, const pod__names *names,
                             int64_t n)
{
    pod_value rows = pod__norm_first(b, path, names->norm);
    pod__add_to(b, path, pod__feed_forward(b, rows, names->inner), names->output, true, n);
}
