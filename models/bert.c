/* BERT (Devlin et al. 2018) with the heads of pre-training, as google-research/bert, modeling.py:
 * embeddings of word, position and segment, layer norm behind each residual sum, attention over all
 * tokens, GELU in its tanh form; a pooler on the first token for the next-sentence head, and a
 * transform on the masked tokens, whose projection is the word embeddings' own table. Variables have
 * the names of the original; the next-sentence head has a kernel
 * and a bias like other layers. */
#include <inttypes.h>

#include "models/language_parts.h"

static const float EPSILON = 1e-12f;
static const float DROPOUT = 0.1f;

enum { SEGMENTS = 2, NEXT = 2 };

typedef struct bert {
    pod_graph *g;
    const pod_language_size *size;
    const pod_language_in *in;
    const pod_language_args *args;
    int64_t n, s; /* sequences, tokens of each */
    float dropout;
} bert;

static pod_value rows_of(const bert *b, pod_value x)
{
    return pod_reshape(b->g, x, (pod_shape){2, {b->n * b->s, b->size->hidden}});
}

static pod_value sequences_of(const bert *b, pod_value rows)
{
    return pod_reshape(b->g, rows, (pod_shape){3, {b->n, b->s, b->size->hidden}});
}

static pod_value norm(const bert *b, pod_value x)
{
    pod_scope_begin(b->g, "LayerNorm");
    x = pod_layer_norm(b->g, x, EPSILON);
    pod_scope_end(b->g);
    return x;
}

/* A dense layer, dropout, and the layer norm of what comes out and x. */
static pod_value residual(const bert *b, pod_value y, pod_value x)
{
    pod_value sum;
    y = pod__project(b->g, y, "dense", b->size->hidden, b->args->travel, b->args);
    y = pod__drop(b->g, y, b->dropout, b->args);
    pod_scope_begin(b->g, "LayerNorm");
    y = pod_add_layer_norm(b->g, y, x, EPSILON, &sum);
    pod_scope_end(b->g);
    return y;
}

static pod_value attention(const bert *b, pod_value x)
{
    static const char *const name[] = {"query", "key", "value"};
    pod_value part[3];
    pod_scope_begin(b->g, "attention");
    pod_scope_begin(b->g, "self");
    for (int i = 0; i < 3; i++)
        part[i] = sequences_of(
            b, pod__project(b->g, x, name[i], b->size->hidden, b->args->travel, b->args));
    const pod_dtype t = pod__product_type(b->args);
    const pod_attention_attr attr = {.n_heads = (int)b->size->heads,
                                     .dropout = b->args->draws.id ? b->dropout : 0};
    for (int i = 0; i < 3; i++) part[i] = pod_cast(b->g, part[i], t);
    pod_value y =
        pod_attention(b->g, part[0], part[1], part[2], b->in->lengths, b->args->draws, attr);
    y = pod_cast(b->g, y, b->args->travel);
    pod_scope_end(b->g);
    pod_scope_begin(b->g, "output");
    y = residual(b, rows_of(b, y), x);
    pod_scope_end(b->g);
    pod_scope_end(b->g);
    return y;
}

static pod_value feed_forward(const bert *b, pod_value x)
{
    pod_scope_begin(b->g, "intermediate");
    pod_value y = pod__project(b->g, x, "dense", b->size->inner, b->args->travel, b->args);
    y = pod_gelu(b->g, y, POD_GELU_TANH);
    pod_scope_end(b->g);
    pod_scope_begin(b->g, "output");
    y = residual(b, y, x);
    pod_scope_end(b->g);
    return y;
}

static pod_value embeddings(const bert *b, pod_value table)
{
    pod_graph *g = b->g;
    const int64_t h = b->size->hidden;
    const pod_dtype t = b->args->travel;
    pod_value segment = pod__kernel(g, "token_type_embeddings", (pod_shape){2, {SEGMENTS, h}});
    pod_value position =
        pod__kernel(g, "position_embeddings", (pod_shape){2, {b->size->positions, h}});
    pod_value x = pod_embed_rows(g, b->in->ids, table, t);
    x = pod_add(g, x, pod_embed_rows(g, b->in->segments, segment, t));
    x = pod_add(g, x, pod_embed_rows(g, pod_positions(g, b->in->ids, b->s), position, t));
    return pod__drop(g, norm(b, rows_of(b, x)), b->dropout, b->args);
}

/* What the first token says of the whole sequence. */
static pod_value pooled(const bert *b, pod_value x)
{
    pod_graph *g = b->g;
    pod_value first = pod_gather_rows(g, sequences_of(b, x), pod_positions(g, b->in->ids, 1));
    first = pod_reshape(g, first, (pod_shape){2, {b->n, b->size->hidden}});
    pod_scope_begin(g, "pooler");
    first = pod_tanh(g, pod__project(g, first, "dense", b->size->hidden, b->args->travel, b->args));
    pod_scope_end(g);
    return first;
}

/* The masked tokens, ready for the projection onto the vocabulary. */
static pod_value transform(const bert *b, pod_value x)
{
    pod_graph *g = b->g;
    pod_value y = pod_gather_rows(g, sequences_of(b, x), b->in->positions);
    if (!y.id) return y;
    const pod_shape at = pod_graph_type(g, y)->shape;
    y = pod_reshape(g, y, (pod_shape){2, {at.dim[0] * at.dim[1], at.dim[2]}});
    pod_scope_begin(g, "transform");
    y = pod__project(g, y, "dense", b->size->hidden, b->args->travel, b->args);
    y = norm(b, pod_gelu(g, y, POD_GELU_TANH));
    pod_scope_end(g);
    return pod_reshape(g, y, at);
}

pod_language_out pod__bert(pod_graph *g, const pod_language_size *size, const pod_language_in *in,
                           const pod_language_args *args)
{
    pod_language_out out = {{0}, {0}, {0}, {0}};
    if (pod_graph_failed(g)) return out;
    const int64_t *dim = pod_graph_type(g, in->ids)->shape.dim;
    bert b = {g, size, in, args, dim[0], dim[1], args->dropout < 0 ? DROPOUT : args->dropout};
    if (b.s > size->positions) {
        pod_graph_fail(g, POD_E_INVALID,
                       "sequences of %" PRId64 " tokens, but the model has %" PRId64 " positions",
                       b.s, size->positions);
        return out;
    }
    pod_scope_begin(g, "bert");
    pod_scope_begin(g, "embeddings");
    pod_value table =
        pod__kernel(g, "word_embeddings", (pod_shape){2, {args->n_tokens, size->hidden}});
    pod_value x = embeddings(&b, table);
    pod_scope_end(g);
    pod_scope_begin(g, "encoder");
    for (int64_t i = 0; i < size->layers; i++) {
        pod_scope_begin(g, "layer_%d", (int)i);
        x = feed_forward(&b, attention(&b, x));
        pod_scope_end(g);
    }
    pod_scope_end(g);
    pod_value first = pooled(&b, x);
    pod_scope_end(g);
    pod_scope_begin(g, "cls");
    out.next = pod__project(g, first, "seq_relationship", NEXT, POD_F32, args);
    pod_scope_begin(g, "predictions");
    out.hidden = pod_cast(g, transform(&b, x), pod__product_type(args));
    out.table = pod_cast(g, table, pod__product_type(args));
    out.bias = pod_weight(g, "output_bias", (pod_shape){1, {args->n_tokens}},
                          (pod_init){POD_INIT_ZERO, 0}, POD_ROLE_BIAS);
    pod_scope_end(g);
    pod_scope_end(g);
    return out;
}
