/* GPT-2 (Radford et al. 2019; openai/gpt-2, src/model.py): a token sees itself and those before it.
 * Layer norm in front of each sublayer and once more at the end, GELU in its tanh form, learned
 * positions, and the table of tokens projects onto the vocabulary. Scopes have the names of the original,
 * whose c_attn holds side by side what is query, key and value here. Kernels start normal with deviation
 * 0.02, those whose result is added to the residual path with 0.02 / sqrt(2 layers). */
#include <math.h>

#include "models/language_parts.h"

static const float EPSILON = 1e-5f;
static const float DROPOUT = 0.1f;
static const float DEVIATION = 0.02f, OF_POSITIONS = 0.01f;

static const pod__names names = {"ln_1", "attn/c_attn", "attn/c_proj",
                                 "ln_2", "mlp/c_fc",    "mlp/c_proj"};

static pod_value table(pod_graph *g, const char *name, int64_t rows, int64_t h, float deviation)
{
    return pod_weight(g, name, (pod_shape){2, {rows, h}}, (pod_init){POD_INIT_NORMAL, deviation},
                      POD_ROLE_WEIGHT);
}

pod_language_out pod__gpt(pod_graph *g, const pod_language_size *size, const pod_language_in *in,
                          const pod_language_args *args)
{
    if (pod_graph_failed(g)) return (pod_language_out){.hidden = {0}};
    const int64_t *dim = pod_graph_type(g, in->ids)->shape.dim, n = dim[0], s = dim[1];
    const float to_residual = DEVIATION / sqrtf(2 * (float)size->layers);
    const pod__blocks b = {.g = g,
                           .args = args,
                           .hidden = size->hidden,
                           .heads = size->heads,
                           .inner = size->inner,
                           .epsilon = EPSILON,
                           .dropout = args->dropout < 0 ? DROPOUT : args->dropout,
                           .attention_bias = true,
                           .activation = pod__gelu_tanh,
                           .kernel = {POD_INIT_NORMAL, DEVIATION},
                           .to_residual = {POD_INIT_NORMAL, to_residual}};
    pod__check_positions(g, size, s);
    const pod_value wte = table(g, "wte", args->n_tokens, size->hidden, DEVIATION);
    const pod_value wpe = table(g, "wpe", size->positions, size->hidden, OF_POSITIONS);
    pod_value x = pod_embed_rows(g, in->ids, wte, args->travel);
    x = pod_add(g, x, pod_embed_rows(g, pod_positions(g, in->ids, s), wpe, args->travel));
    pod__residual path = {.x = pod__drop(&b, pod__to_rows(&b, x), b.dropout)};
    for (int64_t i = 0; i < size->layers; i++) {
        pod_scope_begin(g, "h%d", (int)i);
        pod__attention_first(&b, &path, &names, n, (pod__look){in->lengths, .causal = true});
        pod__feed_forward_first(&b, &path, &names, n);
        pod_scope_end(g);
    }
    const pod_value hidden = pod__to_sequences(&b, pod__norm_first(&b, &path, "ln_f"), n);
    const pod_dtype to = pod__product_type(args);
    return (pod_language_out){.hidden = pod_cast(g, hidden, to), .table = pod_cast(g, wte, to)};
}
