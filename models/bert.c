/* BERT (Devlin et al. 2018) with the heads of pre-training, as google-research/bert, modeling.py:
 * embeddings of word, position and segment, layer norm behind each residual sum, attention over all
 * tokens, GELU in its tanh form; a pooler on the first token for the next-sentence head, and a
 * transform on the masked tokens, whose projection is the word embeddings' own table. Variables have
 * the names of the original; the next-sentence head has a kernel
 * and a bias like other layers. */
#include "models/language_parts.h"

static const float EPSILON = 1e-12f;
static const float DROPOUT = 0.1f;

enum { SEGMENTS = 2, NEXT = 2 };

typedef struct bert {
    pod__blocks blocks;
    const pod_language_size *size;
    const pod_language_in *in;
    int64_t n, s; /* sequences, tokens of each */
} bert;

static pod_value norm(const pod__blocks *b, pod_value x)
{
    pod_scope_begin(b->g, "LayerNorm");
    x = pod_layer_norm(b->g, x, b->epsilon);
    pod_scope_end(b->g);
    return x;
}

static pod_value dense(const pod__blocks *b, pod_value x, const char *name, int64_t units,
                       pod_dtype to)
{
    return pod__project(b, x, name, (pod__projection){units, b->kernel, true, to});
}

/* A dense layer, dropout, and the layer norm of what comes out and x. */
static pod_value residual(const pod__blocks *b, pod_value y, pod_value x)
{
    pod_value sum;
    y = dense(b, y, "dense", b->hidden, b->args->travel);
    y = pod__drop(b, y, b->dropout);
    pod_scope_begin(b->g, "LayerNorm");
    y = pod_add_layer_norm(b->g, y, x, b->epsilon, &sum);
    pod_scope_end(b->g);
    return y;
}

static pod_value attention(const bert *m, pod_value x)
{
    const pod__blocks *b = &m->blocks;
    pod_scope_begin(b->g, "attention");
    pod_scope_begin(b->g, "self");
    pod_value q = pod__heads(b, x, "query", m->n), k = pod__heads(b, x, "key", m->n);
    pod_value v = pod__heads(b, x, "value", m->n);
    pod_value y = pod__attend(b, q, k, v, (pod__look){.lengths = m->in->lengths});
    pod_scope_end(b->g);
    pod_scope_begin(b->g, "output");
    y = residual(b, pod__to_rows(b, y), x);
    pod_scope_end(b->g);
    pod_scope_end(b->g);
    return y;
}

static pod_value feed_forward(const pod__blocks *b, pod_value x)
{
    pod_scope_begin(b->g, "intermediate");
    pod_value y = pod__feed_forward(b, x, "dense");
    pod_scope_end(b->g);
    pod_scope_begin(b->g, "output");
    y = residual(b, y, x);
    pod_scope_end(b->g);
    return y;
}

static pod_value embeddings(const bert *m, pod_value table)
{
    const pod__blocks *b = &m->blocks;
    pod_graph *g = b->g;
    const pod_dtype t = b->args->travel;
    pod_value segment =
        pod__kernel(g, "token_type_embeddings", (pod_shape){2, {SEGMENTS, b->hidden}});
    pod_value position =
        pod__kernel(g, "position_embeddings", (pod_shape){2, {m->size->positions, b->hidden}});
    pod_value x = pod_embed_rows(g, m->in->ids, table, t);
    x = pod_add(g, x, pod_embed_rows(g, m->in->segments, segment, t));
    x = pod_add(g, x, pod_embed_rows(g, pod_positions(g, m->in->ids, m->s), position, t));
    return pod__drop(b, norm(b, pod__to_rows(b, x)), b->dropout);
}

/* What the first token says of the whole sequence. */
static pod_value pooled(const bert *m, pod_value x)
{
    const pod__blocks *b = &m->blocks;
    pod_value first =
        pod_gather_rows(b->g, pod__to_sequences(b, x, m->n), pod_positions(b->g, m->in->ids, 1));
    pod_scope_begin(b->g, "pooler");
    first = dense(b, pod__to_rows(b, first), "dense", b->hidden, b->args->travel);
    first = pod_tanh(b->g, first);
    pod_scope_end(b->g);
    return first;
}

/* The masked tokens, ready for the projection onto the vocabulary. */
static pod_value transform(const bert *m, pod_value x)
{
    const pod__blocks *b = &m->blocks;
    pod_value y = pod_gather_rows(b->g, pod__to_sequences(b, x, m->n), m->in->positions);
    y = pod__to_rows(b, y);
    pod_scope_begin(b->g, "transform");
    y = dense(b, y, "dense", b->hidden, b->args->travel);
    y = norm(b, pod__gelu_tanh(b->g, y));
    pod_scope_end(b->g);
    return pod__to_sequences(b, y, m->n);
}

pod_language_out pod__bert(pod_graph *g, const pod_language_size *size, const pod_language_in *in,
                           const pod_language_args *args)
{
    pod_language_out out = {{0}, {0}, {0}, {0}};
    if (pod_graph_failed(g)) return out;
    const int64_t *dim = pod_graph_type(g, in->ids)->shape.dim;
    const bert b = {.blocks = {.g = g,
                               .args = args,
                               .hidden = size->hidden,
                               .heads = size->heads,
                               .inner = size->inner,
                               .epsilon = EPSILON,
                               .dropout = args->dropout < 0 ? DROPOUT : args->dropout,
                               .attention_bias = true,
                               .activation = pod__gelu_tanh,
                               .kernel = {POD_INIT_TRUNCATED, 0.02f}},
                    .size = size,
                    .in = in,
                    .n = dim[0],
                    .s = dim[1]};
    pod__check_positions(g, size, b.s);
    pod_scope_begin(g, "bert");
    pod_scope_begin(g, "embeddings");
    pod_value table =
        pod__kernel(g, "word_embeddings", (pod_shape){2, {args->n_tokens, size->hidden}});
    pod_value x = embeddings(&b, table);
    pod_scope_end(g);
    pod_scope_begin(g, "encoder");
    for (int64_t i = 0; i < size->layers; i++) {
        pod_scope_begin(g, "layer_%d", (int)i);
        x = feed_forward(&b.blocks, attention(&b, x));
        pod_scope_end(g);
    }
    pod_scope_end(g);
    pod_value first = pooled(&b, x);
    pod_scope_end(g);
    pod_scope_begin(g, "cls");
    out.next = dense(&b.blocks, first, "seq_relationship", NEXT, POD_F32);
    pod_scope_begin(g, "predictions");
    out.hidden = pod_cast(g, transform(&b, x), pod__product_type(args));
    out.table = pod_cast(g, table, pod__product_type(args));
    out.bias = pod_weight(g, "output_bias", (pod_shape){1, {args->n_tokens}},
                          (pod_init){POD_INIT_ZERO, 0}, POD_ROLE_BIAS);
    pod_scope_end(g);
    pod_scope_end(g);
    return out;
}
