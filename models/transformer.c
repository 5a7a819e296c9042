/* The Transformer (Vaswani et al. 2017) for translation, as tensorflow/models, official/transformer,
 * and MLPerf's reference have it: layer norm in front of each sublayer, x + dropout(f(norm(x))), and
 * once more behind each stack; projections of attention without bias; ReLU, with dropout behind it.
 * One table (V, H) embeds source and target, times sqrt(H), and projects onto the vocabulary. Positions
 * are sinusoids. The decoder reads the answers one place later; its first row is zero.
 *
 * The decoder sees a target token and those before it, and the source up to its length. Rows of padding
 * have weight 0 in the loss and no other row sees them, so that they need not be zero. */
#include <math.h>

#include "models/language_parts.h"

static const float EPSILON = 1e-6f;
static const float DROPOUT = 0.1f;

static const pod__names names = {"self_attention/LayerNorm", "self_attention",
                                 "self_attention/output",    "feed_forward/LayerNorm",
                                 "feed_forward/filter",      "feed_forward/output"};

typedef struct transformer {
    pod__blocks blocks;
    int64_t n, layers; /* sources */
    pod_value table;
} transformer;

static transformer begin(pod_graph *g, const pod_language_size *size, const pod_language_args *args,
                         pod_value of_sources)
{
    transformer t = {.blocks = {.g = g,
                                .args = args,
                                .hidden = size->hidden,
                                .heads = size->heads,
                                .inner = size->inner,
                                .epsilon = EPSILON,
                                .dropout = args->dropout < 0 ? DROPOUT : args->dropout,
                                .drops_inner = true,
                                .activation = pod_relu,
                                .kernel = {POD_INIT_UNIFORM, 0},
                                .to_residual = {POD_INIT_UNIFORM, 0}},
                     .layers = size->layers};
    if (pod_graph_failed(g)) return t;
    t.n = pod_graph_type(g, of_sources)->shape.dim[0];
    pod_scope_begin(g, "embeddings");
    t.table =
        pod_weight(g, "shared", (pod_shape){2, {args->n_tokens, size->hidden}},
                   (pod_init){POD_INIT_NORMAL, 1 / sqrtf((float)size->hidden)}, POD_ROLE_WEIGHT);
    pod_scope_end(g);
    return t;
}

/* ---- embeddings ---------------------------------------------------------------------------- */

/* Float32, before positions are added; outside the scopes of the stacks. */
static pod_value scaled(const transformer *t, pod_value ids)
{
    pod_graph *g = t->blocks.g;
    pod_scope_begin(g, "embeddings");
    pod_value x =
        pod_scale(g, sqrtf((float)t->blocks.hidden), pod_embed_rows(g, ids, t->table, POD_F32));
    pod_scope_end(g);
    return x;
}

static pod_value embedded(const transformer *t, pod_value sum)
{
    const pod__blocks *b = &t->blocks;
    pod_value rows = pod__to_rows(b, pod_cast(b->g, sum, b->args->travel));
    return pod__drop(b, rows, b->dropout);
}

/* x (N, S, H) -> rows (N S, H). The positions of a sequence are added as one bias of S H; where
 * sentences share a sequence, each has its own. */
static pod_value placed(const transformer *t, pod_value x, pod_value lengths)
{
    pod_graph *g = t->blocks.g;
    if (pod_graph_failed(g)) return (pod_value){0};
    const int64_t *dim = pod_graph_type(g, x)->shape.dim, n = dim[0], s = dim[1], h = dim[2];
    if (pod__is_packed(g, lengths)) {
        pod_value at = pod_part_positions(g, lengths, s);
        return embedded(t,
                        pod_add(g, x, pod_embed_rows(g, at, pod_sinusoids(g, 0, s, h), POD_F32)));
    }
    x = pod_reshape(g, x, (pod_shape){2, {n, s * h}});
    pod_value places = pod_reshape(g, pod_sinusoids(g, 0, s, h), (pod_shape){1, {s * h}});
    return embedded(t, pod_bias_add(g, x, places));
}

/* The tokens of a step, each at its own place: rows (N B, H). Row `count` of the table is place
 * count - 1. */
static pod_value placed_one(const transformer *t, pod_value x, pod_value count, int64_t longest)
{
    pod_graph *g = t->blocks.g;
    pod_value places = pod_sinusoids(g, -1, longest + 1, t->blocks.hidden);
    return embedded(t, pod_add(g, x, pod_embed_rows(g, count, places, POD_F32)));
}

/* ---- encoder ------------------------------------------------------------------------------- */

static pod_value encoder(const transformer *t, pod_value ids, pod_value lengths)
{
    const pod__blocks *b = &t->blocks;
    pod_value x = scaled(t, ids);
    pod_scope_begin(b->g, "encoder");
    pod__residual path = {.x = placed(t, x, lengths)};
    for (int64_t i = 0; i < t->layers; i++) {
        pod_scope_begin(b->g, "layer_%d", (int)i);
        pod__attention_first(b, &path, &names, t->n,
                             (pod__look){.lengths = lengths, .queries = lengths});
        pod__feed_forward_first(b, &path, &names, t->n);
        pod_scope_end(b->g);
    }
    pod_value rows = pod__norm_first(b, &path, "LayerNorm");
    pod_scope_end(b->g);
    return rows;
}

/* ---- decoder ------------------------------------------------------------------------------- */

enum { KEYS, VALUES, N_SIDES };

/* Projects the encoded source onto keys and values (N, S, H) for decoder layer i. */
static void source_keys(const transformer *t, pod_value encoded, int64_t i, pod_value kv[N_SIDES])
{
    const pod__blocks *b = &t->blocks;
    pod_scope_begin(b->g, "decoder");
    pod_scope_begin(b->g, "layer_%d", (int)i);
    pod_scope_begin(b->g, "source_attention");
    kv[KEYS] = pod__heads(b, encoded, "key", t->n);
    kv[VALUES] = pod__heads(b, encoded, "value", t->n);
    for (int scope = 0; scope < 3; scope++) pod_scope_end(b->g);
}

/* Attention of the target rows to the source. All rows of a source are queries of one sequence. */
static void source_attention(const transformer *t, pod__residual *path, const pod_value kv[N_SIDES],
                             pod__look look)
{
    const pod__blocks *b = &t->blocks;
    pod_value rows = pod__norm_first(b, path, "source_attention/LayerNorm");
    pod_scope_begin(b->g, "source_attention");
    pod_value q = pod__heads(b, rows, "query", t->n);
    pod_value y = pod__attend(b, q, kv[KEYS], kv[VALUES], look);
    pod_scope_end(b->g);
    pod__add_to(b, path, pod__to_rows(b, y), "source_attention/output", false, t->n);
}

pod_language_out pod__transformer(pod_graph *g, const pod_language_size *size,
                                  const pod_language_in *in, const pod_language_args *args)
{
    const transformer t = begin(g, size, args, in->ids);
    const pod__blocks *b = &t.blocks;
    pod_value encoded = encoder(&t, in->ids, in->lengths), x = scaled(&t, in->target);
    pod_scope_begin(g, "decoder");
    pod__residual path = {.x = placed(&t, x, in->target_lengths)};
    pod_scope_end(g);
    for (int64_t i = 0; i < t.layers; i++) {
        pod_value kv[N_SIDES];
        source_keys(&t, encoded, i, kv);
        pod_scope_begin(g, "decoder");
        pod_scope_begin(g, "layer_%d", (int)i);
        pod__attention_first(b, &path, &names, t.n,
                             (pod__look){.lengths = in->target_lengths,
                                         .queries = in->target_lengths,
                                         .causal = true});
        source_attention(&t, &path, kv,
                         (pod__look){.lengths = in->lengths, .queries = in->target_lengths});
        pod__feed_forward_first(b, &path, &names, t.n);
        pod_scope_end(g);
        pod_scope_end(g);
    }
    pod_scope_begin(g, "decoder");
    pod_value hidden = pod__norm_first(b, &path, "LayerNorm");
    pod_scope_end(g);
    const pod_dtype to = pod__product_type(args);
    return (pod_language_out){.hidden = pod_cast(g, pod__to_sequences(b, hidden, t.n), to),
                              .table = pod_cast(g, t.table, to)};
}

/* ---- search -------------------------------------------------------------------------------- */

/* Returns x as float32 rows (n, ...), as outputs of a program are. */
static pod_value for_host(pod_graph *g, pod_value x, int64_t n)
{
    if (!x.id || n == 0) return (pod_value){0}; /* the graph has failed */
    const int64_t count = pod_shape_count(&pod_graph_type(g, x)->shape);
    return pod_reshape(g, pod_cast(g, x, POD_F32), (pod_shape){2, {n, count / n}});
}

static void encode(pod_graph *g, const pod_language_size *size, const pod_language_in *in,
                   const pod_language_args *args, pod_value source[])
{
    const transformer t = begin(g, size, args, in->ids);
    pod_value encoded = encoder(&t, in->ids, in->lengths);
    for (int64_t i = 0; i < t.layers; i++) source_keys(&t, encoded, i, source + N_SIDES * i);
    for (int64_t i = 0; i < N_SIDES * t.layers; i++)
        source[i] = for_host(g, pod_cast(g, source[i], pod__product_type(args)), t.n);
}

/* Attention of a hypothesis's last token to itself and to the earlier ones, whose order makes no
 * difference to a softmax: the new row stands first. */
static void step_attention(const transformer *t, pod__residual *path, const pod_language_step *in,
                           int64_t i, int64_t n_hypotheses, pod_value rows[N_SIDES])
{
    const pod__blocks *b = &t->blocks;
    static const char *const part[N_SIDES] = {"key", "value"};
    pod_value kv[N_SIDES], x = pod__norm_first(b, path, names.attention_norm);
    pod_scope_begin(b->g, "%s", names.attention);
    pod_value q = pod__heads(b, x, "query", n_hypotheses);
    for (int side = 0; side < N_SIDES; side++) {
        const pod_dtype to = pod__product_type(b->args);
        pod_value now = pod_cast(b->g, pod__heads(b, x, part[side], n_hypotheses), to);
        pod_value before = pod_cast(b->g, in->earlier[N_SIDES * i + side], to);
        before = pod__to_sequences(b, before, n_hypotheses);
        kv[side] = pod_concat_rows(b->g, now, before);
        rows[side] = for_host(b->g, now, t->n);
    }
    pod_value lengths = pod_reshape(b->g, in->count, (pod_shape){1, {n_hypotheses}});
    pod_value y = pod__attend(b, q, kv[KEYS], kv[VALUES], (pod__look){.lengths = lengths});
    pod_scope_end(b->g);
    pod__add_to(b, path, pod__to_rows(b, y), names.attention_output, false, n_hypotheses);
}

static pod_value step(pod_graph *g, const pod_language_size *size, const pod_language_step *in,
                      const pod_language_args *args, pod_value rows[])
{
    const transformer t = begin(g, size, args, in->lengths);
    if (pod_graph_failed(g)) return (pod_value){0};
    const pod_shape of = pod_graph_type(g, in->earlier[0])->shape; /* (N, B, T, H) */
    const pod_dtype to = pod__product_type(args);
    pod_value x = scaled(&t, in->token);
    pod_scope_begin(g, "decoder");
    pod__residual path = {.x = placed_one(&t, x, in->count, of.dim[2] + 1)};
    for (int64_t i = 0; i < t.layers; i++) {
        pod_scope_begin(g, "layer_%d", (int)i);
        step_attention(&t, &path, in, i, t.n * of.dim[1], rows + N_SIDES * i);
        source_attention(&t, &path, in->source + N_SIDES * i, (pod__look){.lengths = in->lengths});
        pod__feed_forward_first(&t.blocks, &path, &names, t.n);
        pod_scope_end(g);
    }
    pod_value hidden = pod__norm_first(&t.blocks, &path, "LayerNorm");
    pod_scope_end(g);
    return for_host(g,
                    pod_matmul(g, pod_cast(g, hidden, to), pod_cast(g, t.table, to),
                               (pod_matmul_attr){.trans_b = true, .c_dtype = POD_F32}),
                    t.n);
}

const pod_language_search pod__transformer_search = {encode, step};
