/* runtime/ops: what builders refuse, and how a graph says so. */
#include "tests/harness/harness.h"
#include "tests/unit/runtime/graph/op_cases.h"

static void matmul_inner(pod_graph *g)
{
    pod_matmul(g, F32(g, "a", 4, 3), F32(g, "b", 4, 5), (pod_matmul_attr){.c_dtype = POD_F32});
}
static void matmul_transposed(pod_graph *g)
{
    pod_matmul(g, F32(g, "a", 4, 3), F32(g, "b", 3, 5),
               (pod_matmul_attr){.trans_a = true, .c_dtype = POD_F32});
}
static void matmul_types(pod_graph *g)
{
    pod_matmul(g, F32(g, "a", 4, 3), pod_cast(g, F32(g, "b", 3, 5), POD_BF16),
               (pod_matmul_attr){.c_dtype = POD_F32});
}
static void matmul_batch(pod_graph *g)
{
    pod_matmul(g, F32(g, "a", 2, 4, 3), F32(g, "b", 3, 3, 5),
               (pod_matmul_attr){.c_dtype = POD_F32});
}
static void matmul_result(pod_graph *g)
{
    pod_matmul(g, F32(g, "a", 4, 3), F32(g, "b", 3, 5), (pod_matmul_attr){.c_dtype = POD_I32});
}
static void conv_channels(pod_graph *g)
{
    pod_conv2d(g, F32(g, "x", 2, 8, 8, 3), F32(g, "w", 6, 3, 3, 4),
               (pod_conv2d_attr){.stride = 1, .pad = 1});
}
static void conv_small(pod_graph *g)
{
    pod_conv2d(g, F32(g, "x", 2, 2, 8, 3), F32(g, "w", 6, 5, 3, 3),
               (pod_conv2d_attr){.stride = 1, .pad = 1});
}
static void conv_dims(pod_graph *g)
{
    pod_conv2d(g, F32(g, "x", 2, 8, 3), F32(g, "w", 6, 3, 3, 3),
               (pod_conv2d_attr){.stride = 1, .pad = 1});
}
static void conv_stride(pod_graph *g)
{
    pod_conv2d(g, F32(g, "x", 2, 8, 8, 3), F32(g, "w", 6, 3, 3, 3), (pod_conv2d_attr){.pad = 1});
}
static void depthwise_channels(pod_graph *g)
{
    pod_depthwise2d(g, F32(g, "x", 2, 8, 8, 3), F32(g, "w", 3, 3, 4),
                    (pod_conv2d_attr){.stride = 1});
}
static void depthwise_small(pod_graph *g)
{
    pod_depthwise2d(g, F32(g, "x", 2, 2, 8, 3), F32(g, "w", 5, 3, 3),
                    (pod_conv2d_attr){.stride = 1, .pad = 1});
}
static void depthwise_dims(pod_graph *g)
{
    pod_depthwise2d(g, F32(g, "x", 2, 8, 8, 3), F32(g, "w", 3, 3, 3, 1),
                    (pod_conv2d_attr){.stride = 1});
}
static void depthwise_padding(pod_graph *g)
{
    pod_depthwise2d(g, F32(g, "x", 2, 8, 8, 3), F32(g, "w", 3, 3, 3),
                    (pod_conv2d_attr){.stride = 1, .pad = -1});
}
static void dense_images(pod_graph *g) { pod_dense(g, F32(g, "x", 2, 8, 8, 3), 10, true); }
static void cast_ints(pod_graph *g) { pod_cast(g, INTS(g, POD_I32, 4), POD_F32); }
static void cast_to_ints(pod_graph *g) { pod_cast(g, F32(g, "x", 4), POD_I32); }
static void relu_ints(pod_graph *g) { pod_relu(g, INTS(g, POD_U8, 4, 4)); }
static void gelu_ints(pod_graph *g) { pod_gelu(g, INTS(g, POD_I32, 4, 4), POD_GELU_TANH); }
static void gelu_form(pod_graph *g) { pod_gelu(g, F32(g, "x", 4), POD_N_GELU_FORMS); }
static void tanh_ints(pod_graph *g) { pod_tanh(g, INTS(g, POD_U8, 4)); }
static void embed_float_ids(pod_graph *g)
{
    pod_embed_rows(g, F32(g, "ids", 4), F32(g, "table", 5, 3), POD_F32);
}
static void embed_bf16_table(pod_graph *g)
{
    pod_embed_rows(g, INTS(g, POD_I32, 4), pod_cast(g, F32(g, "table", 5, 3), POD_BF16), POD_F32);
}
static void embed_vector(pod_graph *g)
{
    pod_embed_rows(g, INTS(g, POD_I32, 4), F32(g, "table", 5), POD_F32);
}
static void embed_to_ints(pod_graph *g)
{
    pod_embed_rows(g, INTS(g, POD_I32, 4), F32(g, "table", 5, 3), POD_I32);
}
static void embed_dims(pod_graph *g)
{
    pod_embed_rows(g, INTS(g, POD_I32, 1, 1, 1, 1, 1), F32(g, "table", 5, 3), POD_F32);
}
static void gather_sequences(pod_graph *g)
{
    pod_gather_rows(g, F32(g, "x", 4, 5, 3), INTS(g, POD_I32, 3, 2));
}
static void gather_matrix(pod_graph *g)
{
    pod_gather_rows(g, F32(g, "x", 4, 3), INTS(g, POD_I32, 4, 2));
}
static void gather_floats(pod_graph *g)
{
    pod_gather_rows(g, F32(g, "x", 4, 5, 3), F32(g, "places", 4, 2));
}
static void concat_features(pod_graph *g)
{
    pod_concat_rows(g, F32(g, "a", 4, 5, 3), F32(g, "b", 4, 2, 2));
}
static void concat_matrices(pod_graph *g)
{
    pod_concat_rows(g, F32(g, "a", 4, 3), F32(g, "b", 4, 3));
}
static void sinusoids_odd(pod_graph *g) { pod_sinusoids(g, 0, 4, 7); }
static void add_shapes(pod_graph *g) { pod_add(g, F32(g, "a", 4, 3), F32(g, "b", 3, 4)); }
static void add_types(pod_graph *g)
{
    pod_add(g, F32(g, "a", 4, 3), pod_cast(g, F32(g, "b", 4, 3), POD_BF16));
}
static void bias_length(pod_graph *g) { pod_bias_add(g, F32(g, "x", 4, 3), F32(g, "b", 4)); }
static void axpby_bf16(pod_graph *g) { pod_scale(g, 2, pod_cast(g, F32(g, "x", 4), POD_BF16)); }
static void axpby_shapes(pod_graph *g) { pod_axpby(g, 1, F32(g, "x", 4, 3), 1, F32(g, "z", 12)); }
static void normalize_floats(pod_graph *g)
{
    pod_normalize(g, F32(g, "x", 1, 2, 2, 1), (float[]){0}, (float[]){1}, POD_F32);
}
static void normalize_channels(pod_graph *g)
{
    const float many[POD_MAX_CHANNELS + 1] = {1, 1, 1, 1, 1};
    pod_normalize(g, INTS(g, POD_U8, 1, 2, 2, 5), many, many, POD_F32);
}
static void normalize_std(pod_graph *g)
{
    pod_normalize(g, INTS(g, POD_U8, 1, 2, 2, 1), (float[]){0}, (float[]){0}, POD_F32);
}
static void reshape_count(pod_graph *g)
{
    pod_reshape(g, F32(g, "x", 4, 3), (pod_shape){2, {4, 4}});
}
static void reshape_first(pod_graph *g)
{
    pod_reshape(g, F32(g, "x", 4, 3), (pod_shape){2, {3, 4}});
}
static void batchnorm_ints(pod_graph *g)
{
    pod_batchnorm(g, INTS(g, POD_I32, 4, 3), (pod_batchnorm_attr){.train = true});
}
static void batchnorm_vector(pod_graph *g)
{
    pod_batchnorm(g, F32(g, "x", 4), (pod_batchnorm_attr){.train = true});
}
static pod_value attend(pod_graph *g, pod_value q, pod_value k, pod_attention_attr attr)
{
    const pod_value lengths = attr.n_heads == 3 ? INTS(g, POD_I32, 5) : (pod_value){0};
    return pod_attention(g, q, k, k, lengths, (pod_value){0}, attr);
}
static void attention_matrix(pod_graph *g)
{
    attend(g, F32(g, "q", 4, 6), F32(g, "k", 4, 6), (pod_attention_attr){.n_heads = 1});
}
static void attention_keys(pod_graph *g)
{
    attend(g, F32(g, "q", 4, 2, 6), F32(g, "k", 3, 2, 6), (pod_attention_attr){.n_heads = 1});
}
static void attention_heads(pod_graph *g)
{
    attend(g, F32(g, "q", 4, 2, 6), F32(g, "k", 4, 2, 6), (pod_attention_attr){.n_heads = 4});
}
static void attention_causal(pod_graph *g)
{
    attend(g, F32(g, "q", 4, 2, 6), F32(g, "k", 4, 3, 6),
           (pod_attention_attr){.n_heads = 1, .causal = true});
}
static void attention_lengths(pod_graph *g)
{
    attend(g, F32(g, "q", 4, 2, 6), F32(g, "k", 4, 2, 6), (pod_attention_attr){.n_heads = 3});
}
static void attention_no_heads(pod_graph *g)
{
    attend(g, F32(g, "q", 4, 2, 6), F32(g, "k", 4, 2, 6), (pod_attention_attr){.n_heads = 0});
}
static void attention_scale(pod_graph *g)
{
    attend(g, F32(g, "q", 4, 2, 6), F32(g, "k", 4, 2, 6),
           (pod_attention_attr){.n_heads = 1, .scale = -1});
}
static void attention_rate(pod_graph *g)
{
    attend(g, F32(g, "q", 4, 2, 6), F32(g, "k", 4, 2, 6),
           (pod_attention_attr){.n_heads = 1, .dropout = 1});
}
static void attention_draws(pod_graph *g)
{
    attend(g, F32(g, "q", 4, 2, 6), F32(g, "k", 4, 2, 6),
           (pod_attention_attr){.n_heads = 1, .dropout = 0.5f});
}
static void plain_causal(pod_graph *g)
{
    attend(g, F32(g, "q", 4, 2, 6), F32(g, "k", 4, 3, 6),
           (pod_attention_attr){.n_heads = 1, .causal = true, .plain = true});
}
static void plain_lengths(pod_graph *g)
{
    attend(g, F32(g, "q", 4, 2, 6), F32(g, "k", 4, 2, 6),
           (pod_attention_attr){.n_heads = 3, .plain = true});
}
static void heads_features(pod_graph *g)
{
    pod_heads_matmul(g, POD_HEADS_SCORES, 4, F32(g, "x", 4, 2, 6), F32(g, "y", 4, 2, 6));
}
static void heads_tokens(pod_graph *g)
{
    pod_heads_matmul(g, POD_HEADS_SCORES, 2, F32(g, "x", 4, 2, 6), F32(g, "y", 4, 2, 8));
}
static void heads_keys(pod_graph *g)
{
    pod_heads_matmul(g, POD_HEADS_QUERIES, 2, F32(g, "p", 4, 2, 5, 3), F32(g, "y", 4, 5, 6));
}
static void heads_queries(pod_graph *g)
{
    pod_heads_matmul(g, POD_HEADS_KEYS, 2, F32(g, "p", 4, 2, 5, 3), F32(g, "x", 4, 3, 6));
}
static void heads_other(pod_graph *g)
{
    pod_heads_matmul(g, POD_HEADS_QUERIES, 3, F32(g, "p", 4, 2, 5, 3), F32(g, "y", 4, 3, 6));
}
static void heads_none(pod_graph *g)
{
    pod_heads_matmul(g, POD_HEADS_QUERIES, 0, F32(g, "p", 4, 2, 5, 3), F32(g, "y", 4, 3, 6));
}
static void pool_small(pod_graph *g)
{
    pod_max_pool(g, F32(g, "x", 1, 2, 2, 3), (pod_max_pool_attr){5, 1, 1});
}
static void pool_pad(pod_graph *g)
{
    pod_max_pool(g, F32(g, "x", 1, 8, 8, 3), (pod_max_pool_attr){2, 1, 2});
}
static void mean_pool_matrix(pod_graph *g) { pod_mean_pool(g, F32(g, "x", 4, 3)); }
static void loss_labels(pod_graph *g)
{
    pod_softmax_loss(g, F32(g, "x", 4, 3), INTS(g, POD_I32, 5),
                     (pod_softmax_loss_attr){.scale = 1});
}
static void loss_label_type(pod_graph *g)
{
    pod_softmax_loss(g, F32(g, "x", 4, 3), F32(g, "labels", 4),
                     (pod_softmax_loss_attr){.scale = 1});
}
static void loss_bf16(pod_graph *g)
{
    pod_count_correct(g, pod_cast(g, F32(g, "x", 4, 3), POD_BF16), INTS(g, POD_I32, 4));
}
/* A head whose values but one have these dimensions: rows 4 of 3, a vocabulary of 5. */
static void head(pod_graph *g, pod_value h, pod_value table, pod_value bias, pod_value weights)
{
    pod_vocab_sums sums;
    pod_vocab_head(g, h, table, bias, INTS(g, POD_I32, 4), weights, 0, &sums);
}
static void vocab_table(pod_graph *g)
{
    head(g, F32(g, "h", 4, 3), F32(g, "table", 5, 4), F32(g, "bias", 5), F32(g, "weights", 4));
}
static void vocab_bias(pod_graph *g)
{
    head(g, F32(g, "h", 4, 3), F32(g, "table", 5, 3), F32(g, "bias", 6), F32(g, "weights", 4));
}
static void vocab_weights(pod_graph *g)
{
    head(g, F32(g, "h", 4, 3), F32(g, "table", 5, 3), (pod_value){0}, F32(g, "weights", 4, 1));
}
static void vocab_labels(pod_graph *g)
{
    head(g, F32(g, "h", 2, 2, 3), F32(g, "table", 5, 3), (pod_value){0}, F32(g, "weights", 2, 2));
}
static void vocab_vector(pod_graph *g)
{
    head(g, F32(g, "h", 4), F32(g, "table", 5, 3), (pod_value){0}, F32(g, "weights", 4));
}
static void vocab_smoothing(pod_graph *g)
{
    pod_vocab_sums sums;
    pod_vocab_head(g, F32(g, "h", 4, 3), F32(g, "table", 5, 3), (pod_value){0}, INTS(g, POD_I32, 4),
                   F32(g, "weights", 4), 1, &sums);
}
static void vocab_of_one(pod_graph *g)
{
    pod_vocab_sums sums;
    pod_vocab_head(g, F32(g, "h", 4, 3), F32(g, "table", 1, 3), (pod_value){0}, INTS(g, POD_I32, 4),
                   F32(g, "weights", 4), 0.1f, &sums);
}
static void momentum_rate(pod_graph *g)
{
    const pod_shape s = {1, {4}};
    pod_value w = pod_weight(g, "w", s, (pod_init){POD_INIT_ONE, 1}, POD_ROLE_WEIGHT);
    pod_value v = pod_variable(g, "v", s, (pod_init){.kind = POD_INIT_ZERO}, POD_ROLE_STATE);
    pod_momentum_update(g, w, v, F32(g, "grad", 4), F32(g, "lr", 1), (pod_value){0}, (pod_value){0},
                        (pod_momentum_attr){.momentum = 0.9f});
}
static void momentum_shape(pod_graph *g)
{
    pod_value w =
        pod_weight(g, "w", (pod_shape){1, {4}}, (pod_init){POD_INIT_ONE, 1}, POD_ROLE_WEIGHT);
    pod_value v = pod_variable(g, "v", (pod_shape){1, {4}}, (pod_init){.kind = POD_INIT_ZERO},
                               POD_ROLE_STATE);
    pod_momentum_update(g, w, v, F32(g, "u", 5), pod_fill(g, 1), (pod_value){0}, (pod_value){0},
                        (pod_momentum_attr){.momentum = 0.9f});
}
static void input_twice(pod_graph *g) { (void)F32(g, "x", 1), (void)F32(g, "x", 1); }
static void input_empty(pod_graph *g) { (void)F32(g, "x", 4, 0); }
static void variable_twice(pod_graph *g)
{
    for (int i = 0; i < 2; i++)
        pod_weight(g, "w", (pod_shape){1, {4}}, (pod_init){POD_INIT_ONE, 1}, POD_ROLE_WEIGHT);
}
static void nothing_passed_on(pod_graph *g) { pod_relu(g, (pod_value){0}); }

/* The text names what is wrong with its shapes; all are made in scope "unit1". */
static const struct {
    void (*build)(pod_graph *g);
    pod_status status;
    const char *text;
} refusals[] = {
    {matmul_inner, POD_E_SHAPE, "matmul: a is f32 (4, 3), b is f32 (4, 5)"},
    {matmul_transposed, POD_E_SHAPE, "a is f32 (4, 3) transposed, b is f32 (3, 5)"},
    {matmul_types, POD_E_SHAPE, "a is f32 (4, 3), b is bf16 (3, 5)"},
    {matmul_batch, POD_E_SHAPE, "a is f32 (2, 4, 3), b is f32 (3, 3, 5)"},
    {matmul_result, POD_E_SHAPE, "the result is i32 (4, 5), need f32 or bf16"},
    {conv_channels, POD_E_SHAPE,
     "conv2d: x is f32 (2, 8, 8, 3), the filter is f32 (6, 3, 3, 4), stride 1, padding 1"},
    {conv_small, POD_E_SHAPE, "x is f32 (2, 2, 8, 3), the filter is f32 (6, 5, 3, 3)"},
    {conv_dims, POD_E_SHAPE, "x is f32 (2, 8, 3), need 4 dimensions"},
    {conv_stride, POD_E_INVALID, "stride 0"},
    {depthwise_channels, POD_E_SHAPE, "x is f32 (2, 8, 8, 3), the filter is f32 (3, 3, 4)"},
    {depthwise_small, POD_E_SHAPE, "stride 1, padding 1: they do not fit"},
    {depthwise_dims, POD_E_SHAPE, "the filter is f32 (3, 3, 3, 1), need 3 dimensions"},
    {depthwise_padding, POD_E_INVALID, "stride 1, padding -1"},
    {dense_images, POD_E_SHAPE, "input is f32 (2, 8, 8, 3), need (N, F)"},
    {cast_ints, POD_E_SHAPE, "x is i32 (4), need f32 or bf16"},
    {cast_to_ints, POD_E_SHAPE, "the result is i32 (4)"},
    {relu_ints, POD_E_SHAPE, "x is u8 (4, 4)"},
    {gelu_ints, POD_E_SHAPE, "gelu: x is i32 (4, 4), need f32 or bf16"},
    {gelu_form, POD_E_INVALID, "gelu: form 2, need POD_GELU_TANH or POD_GELU_ERF"},
    {tanh_ints, POD_E_SHAPE, "tanh: x is u8 (4)"},
    {embed_float_ids, POD_E_SHAPE, "embed: ids is f32 (4), need i32"},
    {embed_bf16_table, POD_E_SHAPE, "the table is bf16 (5, 3), need f32"},
    {embed_vector, POD_E_SHAPE, "the table is f32 (5), need 2 dimensions"},
    {embed_to_ints, POD_E_SHAPE, "the result is i32 (4, 3), need f32 or bf16"},
    {embed_dims, POD_E_SHAPE, "ids is i32 (1, 1, 1, 1, 1), need 1 to 4 dimensions"},
    {gather_sequences, POD_E_SHAPE,
     "places are i32 (3, 2), x is f32 (4, 5, 3): need as many sequences"},
    {gather_matrix, POD_E_SHAPE, "x is f32 (4, 3), need 3 dimensions"},
    {gather_floats, POD_E_SHAPE, "places is f32 (4, 2), need i32"},
    {concat_features, POD_E_SHAPE, "a is f32 (4, 5, 3), b, with as many rows, is f32 (4, 5, 2)"},
    {concat_matrices, POD_E_SHAPE, "a is f32 (4, 3), need 3 dimensions"},
    {sinusoids_odd, POD_E_SHAPE, "4 positions of 7 features, need 1 or more, of an even number"},
    {add_shapes, POD_E_SHAPE, "a is f32 (4, 3), b is f32 (3, 4)"},
    {add_types, POD_E_SHAPE, "a is f32 (4, 3), b is bf16 (4, 3)"},
    {bias_length, POD_E_SHAPE,
     "the bias is f32 (4), need f32 and the last dimension of f32 (4, 3)"},
    {axpby_bf16, POD_E_SHAPE, "x is bf16 (4), need f32"},
    {axpby_shapes, POD_E_SHAPE, "x is f32 (4, 3), z is f32 (12)"},
    {normalize_floats, POD_E_SHAPE, "images is f32 (1, 2, 2, 1), need u8"},
    {normalize_channels, POD_E_SHAPE, "images are u8 (1, 2, 2, 5), need at most 4 channels"},
    {normalize_std, POD_E_INVALID, "std[0] is 0"},
    {reshape_count, POD_E_SHAPE, "x is f32 (4, 3), cannot become (4, 4)"},
    {reshape_first, POD_E_SHAPE, "x is f32 (4, 3), cannot become (3, 4)"},
    {batchnorm_ints, POD_E_SHAPE, "bn_sums: x is i32 (4, 3)"},
    {batchnorm_vector, POD_E_SHAPE, "x is f32 (4), need"},
    {attention_matrix, POD_E_SHAPE, "attention: q is f32 (4, 6), need 3 dimensions"},
    {attention_keys, POD_E_SHAPE,
     "q is f32 (4, 2, 6), k is f32 (3, 2, 6): need the same but for the tokens"},
    {attention_heads, POD_E_SHAPE, "6 features do not divide into 4 heads"},
    {attention_causal, POD_E_SHAPE, "k is f32 (4, 3, 6): causal attention needs as many tokens"},
    {attention_lengths, POD_E_SHAPE,
     "lengths are i32 (5), q is f32 (4, 2, 6): need one number a sample"},
    {attention_no_heads, POD_E_INVALID, "attention: 0 heads, need 1 or more"},
    {attention_scale, POD_E_INVALID, "attention: a scale of -1, need a positive number"},
    {attention_rate, POD_E_INVALID, "attention: dropout of 1, need 0 to below 1"},
    {attention_draws, POD_E_INVALID, "an input is nothing"},
    {plain_causal, POD_E_SHAPE,
     "scores are f32 (4, 1, 2, 3): causal attention needs as many keys as queries"},
    {plain_lengths, POD_E_SHAPE,
     "lengths are i32 (5), the scores are f32 (4, 3, 2, 2): need one number a sample"},
    {heads_features, POD_E_SHAPE, "6 features do not divide into 4 heads"},
    {heads_tokens, POD_E_SHAPE,
     "a is f32 (4, 2, 6), b is f32 (4, 2, 8): need the same type, samples and features"},
    {heads_keys, POD_E_SHAPE,
     "a is f32 (4, 2, 5, 3), b is f32 (4, 5, 6): need the same type, samples and keys"},
    {heads_queries, POD_E_SHAPE,
     "a is f32 (4, 2, 5, 3), b is f32 (4, 3, 6): need the same type, samples and queries"},
    {heads_none, POD_E_SHAPE, "0 heads, need 1 or more"},
    {heads_other, POD_E_SHAPE, "a has 2 heads, need 3"},
    {pool_small, POD_E_SHAPE, "x is f32 (1, 2, 2, 3), too small for a window of 5 with padding 1"},
    {pool_pad, POD_E_INVALID, "window 2, stride 1, padding 2"},
    {mean_pool_matrix, POD_E_SHAPE, "x is f32 (4, 3), need 4 dimensions"},
    {loss_labels, POD_E_SHAPE, "labels are i32 (5), logits are f32 (4, 3)"},
    {loss_label_type, POD_E_SHAPE, "labels is f32 (4), need i32"},
    {loss_bf16, POD_E_SHAPE, "logits is bf16 (4, 3), need f32"},
    {vocab_table, POD_E_SHAPE,
     "vocab_loss: the table is f32 (5, 4), h is f32 (4, 3): need (V, H) of h's type"},
    {vocab_bias, POD_E_SHAPE,
     "the bias is f32 (6), one for each row of the table is f32 (5): need the same"},
    {vocab_weights, POD_E_SHAPE,
     "weights is f32 (4, 1), one for each row of h is f32 (4): need the same"},
    {vocab_labels, POD_E_SHAPE,
     "labels is i32 (4), one for each row of h is i32 (2, 2): need the same"},
    {vocab_vector, POD_E_SHAPE, "h is f32 (4), need 2 dimensions"},
    {vocab_smoothing, POD_E_INVALID, "vocab_loss: smoothing 1, need 0 to below 1"},
    {vocab_of_one, POD_E_INVALID, "smoothing 0.1 over a vocabulary of 1, need 2 or more"},
    {momentum_rate, POD_E_SHAPE, "lr or step is f32 (1), need a scalar f32"},
    {momentum_shape, POD_E_SHAPE, "w is f32 (4), a state or gradient is f32 (5)"},
    {input_twice, POD_E_INVALID, "input 'x' exists already"},
    {input_empty, POD_E_SHAPE, "input 'x' is f32 (4, 0), need positive dimensions"},
    {variable_twice, POD_E_INVALID, "variable 'unit1/w' exists already"},
    {nothing_passed_on, POD_E_INVALID, "an input is nothing"},
};

static void builders_refuse(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        pod_graph *g;
        POD_CHECK_OK(pod_graph_create(pod_test_arena(), &g));
        pod_scope_begin(g, "unit1");
        refusals[i].build(g);
        POD_CHECK_FAILS(pod_graph_finish(g), refusals[i].status, refusals[i].text);
        POD_CHECK(strstr(pod_error_text(), "in 'unit1'"), "no scope in '%s'", pod_error_text());
        /* what fails passes on: nothing more is added, nothing replaces the first cause */
        const int32_t n = pod_graph_n_nodes(g);
        pod_value x = pod_relu(g, F32(g, "later", 2, 2));
        x = pod_batchnorm(g, x, (pod_batchnorm_attr){.train = true});
        x = pod_dense(g, pod_cast(g, x, POD_BF16), 3, true);
        CU_ASSERT(x.id == 0 && pod_graph_n_nodes(g) == n);
        POD_CHECK_FAILS(pod_graph_finish(g), refusals[i].status, refusals[i].text);
    }
}

POD_TEST_SUITE("op_refusals", {"builders_refuse", builders_refuse});
