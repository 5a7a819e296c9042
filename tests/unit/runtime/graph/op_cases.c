#include "tests/unit/runtime/graph/op_cases.h"

#include <stdio.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/passes/plan.h"
#include "tests/harness/harness.h"

enum { N_CLASSES = 5 };

static int64_t pick(pod_rng *r, int64_t lo, int64_t hi)
{
    return lo + (int64_t)pod_rng_below(r, (uint64_t)(hi - lo + 1));
}

static pod_value weight(pod_graph *g, const char *name, int n_dims, const int64_t dim[])
{
    pod_shape s = {.n_dims = n_dims};
    for (int i = 0; i < n_dims; i++) s.dim[i] = dim[i];
    return pod_weight(g, name, s, (pod_init){POD_INIT_NORMAL, 1}, POD_ROLE_WEIGHT);
}

/* An activation: a variable in the travelling type, so that it has a gradient. */
static pod_value activation(pod_graph *g, pod_dtype travel, int n_dims, const int64_t dim[])
{
    return pod_cast(g, weight(g, "x", n_dims, dim), travel);
}

/* ---- matrix products and convolutions ------------------------------------------------------ */

enum { TRANS_A = 1, TRANS_B = 2, BATCHED = 4, TO_F32 = 8 };

static pod_value matmul_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const bool ta = param & TRANS_A, tb = param & TRANS_B;
    const int64_t m = pick(r, 1, 6), n = pick(r, 1, 6), k = pick(r, 1, 6);
    const int skip = param & BATCHED ? 0 : 1;
    const int64_t a[] = {3, ta ? k : m, ta ? m : k}, b[] = {3, tb ? n : k, tb ? k : n};
    pod_value w = pod_cast(g, weight(g, "w", 3 - skip, b + skip), travel);
    return pod_matmul(g, activation(g, travel, 3 - skip, a + skip), w,
                      (pod_matmul_attr){ta, tb, param & TO_F32 ? POD_F32 : travel});
}

static pod_value dense_case(pod_graph *g, pod_rng *r, pod_dtype travel, int with_bias)
{
    const int64_t x[] = {pick(r, 1, 6), pick(r, 1, 6)};
    return pod_dense(g, activation(g, travel, 2, x), pick(r, 1, 6), with_bias != 0);
}

/* param: filter rows, filter columns, stride, padding or SAME, a digit each */
enum { SAME = 9 };

static pod_conv2d_attr attr_of(int param)
{
    const int pad = param % 10;
    return (pod_conv2d_attr){.stride = param / 10 % 10, .pad = pad % SAME, .same = pad == SAME};
}

static pod_value conv2d_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t rows = param / 1000, cols = param / 100 % 10;
    const int64_t c = pick(r, 1, 3), x[] = {pick(r, 1, 2), pick(r, 3, 5), pick(r, 3, 5), c};
    pod_value w = weight(g, "w", 4, (const int64_t[]){pick(r, 1, 4), rows, cols, c});
    return pod_conv2d(g, activation(g, travel, 4, x), w, attr_of(param));
}

static pod_value depthwise2d_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t rows = param / 1000, cols = param / 100 % 10;
    const int64_t c = pick(r, 1, 3), x[] = {pick(r, 1, 2), pick(r, 3, 5), pick(r, 3, 5), c};
    pod_value w = weight(g, "w", 3, (const int64_t[]){rows, cols, c});
    return pod_depthwise2d(g, activation(g, travel, 4, x), w, attr_of(param));
}

/* ---- pointwise ----------------------------------------------------------------------------- */

static pod_value relu_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    (void)param;
    return pod_relu(g, activation(g, travel, 2, (const int64_t[]){pick(r, 1, 9), pick(r, 1, 9)}));
}

static pod_value add_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t dim[] = {pick(r, 1, 9), pick(r, 1, 9)};
    pod_value x = activation(g, travel, 2, dim);
    return pod_add(g, x, param ? pod_cast(g, weight(g, "z", 2, dim), travel) : x);
}

static pod_value bias_add_case(pod_graph *g, pod_rng *r, pod_dtype travel, int n_dims)
{
    const int64_t c = pick(r, 1, 9), dim[] = {pick(r, 1, 3), pick(r, 1, 3), pick(r, 1, 3), c};
    pod_value b =
        pod_weight(g, "b", (pod_shape){1, {c}}, (pod_init){.kind = POD_INIT_ZERO}, POD_ROLE_BIAS);
    return pod_bias_add(g, activation(g, travel, n_dims, dim + (4 - n_dims)), b);
}

static pod_value axpby_case(pod_graph *g, pod_rng *r, pod_dtype travel, int n_in)
{
    const int64_t dim[] = {pick(r, 1, 9), pick(r, 1, 9)};
    pod_value x = weight(g, "x", 2, dim);
    (void)travel;
    return n_in == 1 ? pod_scale(g, -0.75f, x)
                     : pod_axpby(g, 0.25f, x, -0.5f, weight(g, "z", 2, dim));
}

static pod_value reshape_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t n = pick(r, 1, 3), h = pick(r, 1, 3), c = pick(r, 1, 3);
    pod_value x = activation(g, travel, 3, (const int64_t[]){n, h, c});
    if (param == 0) return pod_reshape(g, x, (pod_shape){2, {n, h * c}});
    pod_value rows = pod_reshape(g, x, (pod_shape){2, {n * h, c}});
    return param == 1 ? rows : pod_reshape(g, rows, (pod_shape){3, {n, c, h}});
}

static pod_value sigmoid_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    (void)param;
    return pod_sigmoid(g,
                       activation(g, travel, 2, (const int64_t[]){pick(r, 1, 9), pick(r, 1, 9)}));
}

static pod_value swish_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    (void)param;
    return pod_swish(g, activation(g, travel, 2, (const int64_t[]){pick(r, 1, 9), pick(r, 1, 9)}));
}

static pod_value gelu_case(pod_graph *g, pod_rng *r, pod_dtype travel, int form)
{
    const int64_t dim[] = {pick(r, 1, 9), pick(r, 1, 9)};
    return pod_gelu(g, activation(g, travel, 2, dim), (pod_gelu_form)form);
}

/* Of numbers up to 1/2, where a gradient made from a y in bfloat16 is no farther off than y. */
static pod_value tanh_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t dim[] = {pick(r, 1, 9), pick(r, 1, 9)};
    (void)param;
    return pod_tanh(g, pod_cast(g, pod_scale(g, 0.5f, weight(g, "x", 2, dim)), travel));
}

/* Numbers are below N_CLASSES, so that some occur more than once. */
static pod_value numbers(pod_graph *g, const char *name, int n_dims, const int64_t dim[])
{
    return pod_input(g, name, pod_type_of(POD_I32, n_dims, dim), 0);
}

/* With NONE one of the ids is POD_NO_TOKEN, as op_fill gives it to labels. */
enum { NONE = 4 };

static pod_value embed_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t ids[] = {pick(r, 1, 4), pick(r, 1, 3)}, table[] = {pick(r, 5, 7), pick(r, 1, 9)};
    const char *name = param & NONE ? "labels" : "ids";
    return pod_embed_rows(g, numbers(g, name, param % NONE, ids), weight(g, "table", 2, table),
                          travel);
}

static pod_value sinusoids_case(pod_graph *g, pod_rng *r, pod_dtype travel, int first)
{
    const int64_t dim[] = {pick(r, 1, 5), 2 * pick(r, 2, 5)};
    pod_value places = pod_cast(g, pod_sinusoids(g, first, dim[0], dim[1]), travel);
    return pod_add(g, activation(g, travel, 2, dim), places);
}

static pod_value concat_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t n = pick(r, 1, 3), h = pick(r, 1, 9);
    const int64_t a[] = {n, pick(r, 1, 3), h}, b[] = {n, pick(r, 1, 3), h};
    (void)param;
    return pod_concat_rows(g, activation(g, travel, 3, a),
                           pod_cast(g, weight(g, "more", 3, b), travel));
}

static pod_value gather_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t x[] = {pick(r, 1, 3), pick(r, 5, 6), pick(r, 1, 9)};
    (void)param;
    return pod_gather_rows(g, activation(g, travel, 3, x),
                           numbers(g, "places", 2, (const int64_t[]){x[0], pick(r, 1, 7)}));
}

static pod_value gate_case(pod_graph *g, pod_rng *r, pod_dtype travel, int n_dims)
{
    const int64_t n = pick(r, 1, 3), c = pick(r, 1, 9);
    const int64_t images[] = {n, pick(r, 1, 3), pick(r, 1, 3), c}, gate[] = {n, c};
    return pod_gate_by(g, activation(g, travel, n_dims, n_dims == 2 ? gate : images),
                       weight(g, "s", 2, gate));
}

/* ---- normalization and pooling ------------------------------------------------------------- */

enum { EVALUATE = 1, DENSE = 2 };

static pod_value batchnorm_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t dim[] = {pick(r, 4, 6), pick(r, 2, 3), pick(r, 2, 3), pick(r, 1, 5)};
    const int64_t flat[] = {dim[0] * dim[1], dim[3]};
    const bool dense = param & DENSE;
    return pod_batchnorm(g, activation(g, travel, dense ? 2 : 4, dense ? flat : dim),
                         (pod_batchnorm_attr){.momentum = 0.9f,
                                              .eps = 1e-3f,
                                              .train = !(param & EVALUATE),
                                              .gamma = {POD_INIT_ONE, 1}});
}

/* param: window, stride, padding, a digit each */
/* With RESIDUAL, of a sum that goes on beside it. eps keeps rstd below 3/2. */
enum { RESIDUAL = 1 };

static pod_value layernorm_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t dim[] = {pick(r, 1, 3), pick(r, 1, 3), pick(r, 2, 6)};
    pod_value x = activation(g, travel, 3, dim), sum;
    if (!(param & RESIDUAL)) return pod_layer_norm(g, x, 0.5f);
    pod_value y =
        pod_add_layer_norm(g, x, pod_cast(g, weight(g, "res", 3, dim), travel), 0.5f, &sum);
    return pod_add(g, y, sum);
}

enum { CAUSAL = 1, DROPS = 2, LENGTHS = 4, CROSS = 8, PACKED = 16, PLAIN = 32 };

static pod_value attention_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t n = pick(r, 2, 3), s = pick(r, 2, 5), h = 4;
    const int64_t q[] = {n, param & CROSS ? pick(r, 1, 5) : s, h}, k[] = {n, s, h};
    pod_value none = {0}, keys = pod_cast(g, weight(g, "k", 3, k), travel);
    pod_value values = pod_cast(g, weight(g, "v", 3, k), travel);
    pod_value lengths = param & LENGTHS ? OP_INPUT(g, "lengths", POD_I32, n) : none;
    pod_value draws = param & DROPS ? OP_INPUT(g, "draws", POD_I32, n) : none;
    const pod_attention_attr attr = {.n_heads = 2,
                                     .causal = param & CAUSAL,
                                     .dropout = param & DROPS ? .25f : 0,
                                     .plain = param & PLAIN};
    pod_value queries = activation(g, travel, 3, q);
    if (!(param & PACKED)) return pod_attention(g, queries, keys, values, lengths, draws, attr);
    pod_value q_ends = OP_INPUT(g, "q_ends", POD_I32, n, 2), k_ends = q_ends;
    if (param & CROSS) k_ends = OP_INPUT(g, "k_ends", POD_I32, n, 2);
    return pod_attention_packed(g, queries, keys, values, q_ends, k_ends, draws, attr);
}

/* The form that attention itself uses only in gradients. */
static pod_value heads_keys_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t n = pick(r, 2, 3), heads = pick(r, 1, 3), sq = pick(r, 1, 5);
    const int64_t p[] = {n, heads, sq, pick(r, 1, 5)}, x[] = {n, sq, heads * pick(r, 1, 3)};
    (void)param;
    return pod_heads_matmul(g, POD_HEADS_KEYS, (int)heads, activation(g, travel, 4, p),
                            pod_cast(g, weight(g, "tokens", 3, x), travel));
}

static pod_value max_pool_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t x[] = {pick(r, 1, 2), pick(r, 3, 6), pick(r, 3, 6), pick(r, 1, 3)};
    return pod_max_pool(g, activation(g, travel, 4, x),
                        (pod_max_pool_attr){param / 100, param / 10 % 10, param % 10});
}

static pod_value mean_pool_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t x[] = {pick(r, 1, 3), pick(r, 1, 5), pick(r, 1, 5), pick(r, 1, 4)};
    (void)param;
    return pod_mean_pool(g, activation(g, travel, 4, x));
}

/* ---- loss ---------------------------------------------------------------------------------- */

/* With smoothing the loss is scaled as well, so that a gradient other than 1 comes back to it. */
static pod_value softmax_case(pod_graph *g, pod_rng *r, pod_dtype travel, int percent)
{
    const int64_t n = pick(r, 2, 6), x[] = {n, N_CLASSES};
    pod_value labels = pod_input(g, "labels", pod_type_of(POD_I32, 1, &n), 0);
    (void)travel;
    pod_value loss = pod_softmax_loss(
        g, weight(g, "x", 2, x), labels,
        (pod_softmax_loss_attr){.smoothing = (float)percent / 100, .scale = 1.0f / (float)n});
    return percent ? pod_scale(g, -1.5f, loss) : loss;
}

/* The loss of rows of one or two dimensions. In float32: in bfloat16 the slopes are rounded, which
 * tests/unit/kernels/test_vocab_loss.c bounds. */
enum { WITH_BIAS = 1, SMOOTH = 2, SEQUENCES = 4 };

static pod_value vocab_case(pod_graph *g, pod_rng *r, pod_dtype travel, int param)
{
    const int64_t n = pick(r, 1, 3), p = pick(r, 1, 2), width = pick(r, 1, 4), v = pick(r, 5, 7);
    const int n_dims = param & SEQUENCES ? 2 : 1;
    const int64_t rows[] = {n, p}, h[] = {n, n_dims == 2 ? p : width, width};
    const pod_value none = {0};
    pod_vocab_sums sums;
    (void)travel;
    pod_value bias = param & WITH_BIAS ? weight(g, "bias", 1, &v) : none;
    pod_value table = weight(g, "table", 2, (const int64_t[]){v, width});
    pod_value weights = pod_input(g, "weights", pod_type_of(POD_F32, n_dims, rows), 0);
    pod_value loss = pod_vocab_head(g, weight(g, "x", n_dims + 1, h), table, bias,
                                    numbers(g, "targets", n_dims, rows), weights,
                                    param & SMOOTH ? 0.1f : 0, &sums);
    return pod_scale(g, -0.1875f, loss);
}

/* Steps are 1/2 where the result is a polynomial of degree 2 along any line, for which a central
 * difference is exact; 1/8 for other functions (`tanh`). Where the first or the second derivative
 * jumps, `apart` is true: inputs are k + 1/2 for distinct whole k, so that no input crosses 0 within
 * a step < 1/2. If the function is linear on both sides of the jump (`relu`), its step is 1/4.
 *
 * Reaches: a product of two inputs that are half a step off is below 9/4; batch norm multiplies by
 * rstd, below 3 for numbers spread over [-1, 1), and gets below 4 in all. The gradient of attention
 * reads o, which is rounded to bfloat16 where values travel so: its sum with the incoming gradient,
 * of size 3, is 2^-8 of that off, as after DELTA roundings to float32.
 * tests/unit/kernels/test_attention.c has the sharp bounds. */
enum { DELTA = 1 << 16 };
static const op_case cases[] = {
    {"matmul_nn", matmul_case, 0, 6, 6, false, 14, 6, .5},
    {"matmul_nt", matmul_case, TRANS_B, 6, 6, false, 14, 6, .5},
    {"matmul_tn", matmul_case, TRANS_A | TO_F32, 6, 6, false, 14, 6, .5},
    {"matmul_tt", matmul_case, TRANS_A | TRANS_B, 6, 6, false, 14, 6, .5},
    {"matmul_batched_nn", matmul_case, BATCHED, 6, 6, false, 14, 6, .5},
    {"matmul_batched_nt", matmul_case, BATCHED | TRANS_B | TO_F32, 6, 6, false, 14, 6, .5},
    {"matmul_batched_tn", matmul_case, BATCHED | TRANS_A, 6, 6, false, 14, 6, .5},
    {"matmul_batched_tt", matmul_case, BATCHED | TRANS_A | TRANS_B, 6, 6, false, 14, 6, .5},
    {"dense", dense_case, 0, 6, 6, false, 14, 6, .5},
    {"dense_bias", dense_case, 1, 7, 6, false, 16, 6, .5},
    {"conv2d_3x3", conv2d_case, 3311, 27, 50, false, 61, 50, .5},
    {"conv2d_3x3_stride", conv2d_case, 3321, 27, 36, false, 61, 36, .5},
    {"conv2d_3x3_no_pad", conv2d_case, 3310, 27, 36, false, 61, 36, .5},
    {"conv2d_3x3_same", conv2d_case, 3329, 27, 36, false, 61, 36, .5},
    {"conv2d_3x1", conv2d_case, 3111, 9, 70, false, 21, 70, .5},
    {"conv2d_2x3_stride3", conv2d_case, 2331, 18, 24, false, 41, 24, .5},
    {"conv2d_1x1", conv2d_case, 1110, 3, 50, false, 7, 50, .5},
    {"conv2d_1x1_stride", conv2d_case, 1120, 3, 18, false, 7, 18, .5},
    {"depthwise2d_3x3", depthwise2d_case, 3311, 9, 50, false, 21, 50, .5},
    {"depthwise2d_3x3_stride", depthwise2d_case, 3329, 9, 18, false, 21, 18, .5},
    {"depthwise2d_5x5", depthwise2d_case, 5512, 25, 50, false, 57, 50, .5},
    {"depthwise2d_5x5_stride", depthwise2d_case, 5529, 25, 18, false, 57, 18, .5},
    {"depthwise2d_2x3", depthwise2d_case, 2310, 6, 24, false, 15, 24, .5},
    {"relu", relu_case, 0, 1, 1, true, 128, 1, .25},
    {"add", add_case, 1, 2, 1, false, 3, 1, .5},
    {"add_itself", add_case, 0, 2, 2, false, 3, 2, .5},
    {"bias_add", bias_add_case, 2, 2, 3, false, 3, 3, .5},
    {"bias_add_images", bias_add_case, 4, 2, 27, false, 3, 27, .5},
    {"axpby", axpby_case, 2, 2, 1, false, 2, 1, .5},
    {"scale", axpby_case, 1, 1, 1, false, 2, 1, .5},
    {"reshape", reshape_case, 0, 1, 1, false, 2, 1, .5},
    {"reshape_to_rows", reshape_case, 1, 1, 1, false, 2, 1, .5},
    {"reshape_from_rows", reshape_case, 2, 1, 1, false, 2, 1, .5},
    {"sigmoid", sigmoid_case, 0, 20, 20, false, 1, 1, .125},
    {"swish", swish_case, 0, 20, 20, false, 1.5, 1.5, .125},
    {"gelu_tanh", gelu_case, POD_GELU_TANH, 20, 20, false, 1.5, 1.5, .125},
    {"gelu_erf", gelu_case, POD_GELU_ERF, 20, 20, false, 1.5, 1.5, .125},
    {"tanh", tanh_case, 0, 20, 20, false, 1, 1, .125},
    {"embed", embed_case, 1, 1, 4, false, 2, 4, .5},
    {"embed_sequences", embed_case, 2, 1, 12, false, 2, 12, .5},
    {"embed_none", embed_case, NONE + 2, 1, 12, false, 2, 12, .5},
    {"sinusoids", sinusoids_case, -1, 2, 1, false, 3, 1, .5},
    {"gather_rows", gather_case, 0, 1, 7, false, 2, 7, .5},
    {"concat_rows", concat_case, 0, 1, 1, false, 2, 1, .5},
    {"gate", gate_case, 4, 1, 9, false, 9.0 / 4, 9, .5},
    {"gate_dense", gate_case, 2, 1, 1, false, 9.0 / 4, 1, .5},
    {"batchnorm", batchnorm_case, 0, 4, 54, false, 4, 162, .125},
    {"batchnorm_dense", batchnorm_case, DENSE, 4, 18, false, 4, 54, .125},
    {"batchnorm_eval", batchnorm_case, EVALUATE, 4, 54, false, 10, 189, .5},
    {"layer_norm", layernorm_case, 0, 6, 9, false, 5, 36, .125},
    {"add_layer_norm", layernorm_case, RESIDUAL, 6, 9, false, 10, 48, .125},
    {"attention", attention_case, 0, 13, DELTA, false, 1.25, 1, .125},
    {"attention_causal", attention_case, CAUSAL | LENGTHS, 13, DELTA, false, 1.25, 1, .125},
    {"attention_cross", attention_case, CROSS | LENGTHS | DROPS, 13, DELTA, false, 1.75, 1, .125},
    {"attention_packed", attention_case, PACKED | CAUSAL, 13, DELTA, false, 1.25, 1, .125},
    {"attention_packed_cross", attention_case, PACKED | CROSS | DROPS, 13, DELTA, false, 1.75, 1,
     .125},
    {"plain_attention", attention_case, PLAIN, 13, DELTA, false, 1.25, 1, .125},
    {"plain_attention_causal", attention_case, PLAIN | CAUSAL | LENGTHS, 13, DELTA, false, 1.25, 1,
     .125},
    {"plain_attention_cross", attention_case, PLAIN | CROSS | LENGTHS | DROPS, 13, DELTA, false,
     1.75, 1, .125},
    {"plain_attention_packed", attention_case, PLAIN | PACKED | CAUSAL, 13, DELTA, false, 1.25, 1,
     .125},
    {"plain_attention_packed_cross", attention_case, PLAIN | PACKED | CROSS | DROPS, 13, DELTA,
     false, 1.75, 1, .125},
    {"heads_matmul_keys", heads_keys_case, 0, 8, 8, false, 18, 18, .5},
    {"max_pool_2x2", max_pool_case, 220, 1, 1, true, 128, 1, .25},
    {"max_pool_3x3_overlap", max_pool_case, 321, 1, 4, true, 128, 4, .25},
    {"max_pool_3x3_dense", max_pool_case, 311, 1, 9, true, 128, 9, .25},
    {"mean_pool", mean_pool_case, 0, 25, 1, false, 2, 1, .5},
    {"softmax_loss", softmax_case, 0, 30, 5, false, 4, 2, .125},
    {"vocab_loss", vocab_case, 0, 30, 30, false, 4, 4, .125},
    {"vocab_loss_bias", vocab_case, WITH_BIAS | SEQUENCES, 30, 30, false, 8, 4, .125},
    {"vocab_loss_smooth", vocab_case, WITH_BIAS | SMOOTH, 30, 30, false, 4, 4, .125},
    {"softmax_loss_smooth", softmax_case, 10, 30, 5, false, 4, 2, .125},
};

const op_case *op_cases(int *n)
{
    *n = (int)(sizeof cases / sizeof cases[0]);
    return cases;
}

static double bound(int terms, double reach)
{
    return (terms + 12) * pod_test_roundoff(POD_F32) * reach;
}

double op_bound_y(const op_case *c) { return bound(c->y_terms, c->y_reach); }

double op_bound_d(const op_case *c) { return bound(c->d_terms, c->d_reach); }

/* ---- graphs -------------------------------------------------------------------------------- */

op_graph op_graph_open(const op_case *c, uint64_t seed, pod_dtype travel)
{
    op_graph og = {0};
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST});
    POD_CHECK_OK(pod_arena_create(NULL, &og.arena));
    POD_CHECK_OK(pod_graph_create(og.arena, &og.g));
    og.y = c->build(og.g, &r, travel, c->param);
    POD_CHECK_OK(pod_graph_finish(og.g));
    POD_ASSERT(og.y.id, "%s: %s", c->name, pod_error_text());
    pod_type t = *pod_graph_type(og.g, og.y);
    og.loss = og.y;
    if (t.shape.n_dims) {
        t.dtype = POD_F32;
        og.r = pod_input(og.g, "r", t, 0);
        og.loss = pod_test_weigh(og.g, og.y, og.r);
    }
    og.n_forward = pod_graph_n_nodes(og.g);
    const int n_variables = pod_graph_n_variables(og.g);
    og.grad = POD_ARENA_NEW(og.arena, pod_value, n_variables);
    POD_ASSERT(og.grad, "no memory");
    POD_CHECK_OK(pod_pass_grad(og.g, og.loss, og.grad));
    return og;
}

op_graph op_graph_fuse(op_graph *og, uint32_t cpu, int *n_fused)
{
    const int n_before = pod_graph_n_variables(og->g);
    pod_value *grad = POD_ARENA_NEW(og->arena, pod_value, 2 * n_before),
              *fused_grad = POD_ARENA_NEW(og->arena, pod_value, 2 * n_before);
    POD_ASSERT(grad && fused_grad, "no memory");
    for (int i = 0; i < n_before; i++) {
        grad[i] = og->grad[i];
        if (!grad[i].id) continue;
        char name[32];
        snprintf(name, sizeof name, "gradient%d", i);
        pod_value kept = pod_variable(og->g, name, pod_graph_type(og->g, grad[i])->shape,
                                      (pod_init){.kind = POD_INIT_ZERO}, POD_ROLE_STATE);
        pod_assign(og->g, kept, grad[i]);
    }
    og->grad = grad;
    pod_output(og->g, "loss", og->loss);
    POD_CHECK_OK(pod_graph_finish(og->g));

    const pod_target target = {.name = "test", .cpu = cpu};
    const pod_compile_args args = {
        .mesh = {.n_dims = 1, .extent = {1}}, .target = &target, .fusion = true};
    pod_plan plan = {.arena = og->arena, .args = &args, .spread = args.mesh, .built = og->g};
    POD_CHECK_OK(pod__pass_fuse(&plan));
    op_graph fused = {.arena = og->arena, .g = (pod_graph *)plan.fused, .grad = fused_grad};
    fused.loss = pod_graph_output(fused.g, 0)->value;
    for (int i = 0, k = n_before; i < n_before; i++)
        if (grad[i].id) fused_grad[i] = pod_graph_variable(fused.g, k++)->assigned;
    *n_fused = 0;
    for (int i = 0; i < plan.n_fusions; i++)
        if (!plan.fusion[i].refused) *n_fused += plan.fusion[i].n;
    return fused;
}

void op_graph_close(op_graph *og) { pod_arena_destroy(og->arena); }

/* ---- numbers ------------------------------------------------------------------------------- */

static void fill_floats(float *x, int64_t count, uint64_t seed, bool apart, float around)
{
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST, .layer = 1});
    POD_ASSERT(!apart || count <= 256, "%lld distinct numbers", (long long)count);
    for (int64_t i = 0; i < count; i++) {
        if (apart) { /* a shuffle, grown from the inside */
            const int64_t j = (int64_t)pod_rng_below(&r, (uint64_t)i + 1);
            x[i] = x[j];
            x[j] = (float)(i % 2 ? -(i / 2) - 1 : i / 2) + 0.5f;
        } else {
            const float u = around + (pod_rng_uniform(&r) * 2 - 1) * (around > 0 ? 0.5f : 1.0f);
            x[i] = pod_bf16_to_f32(pod_bf16_from_f32(u));
        }
    }
}

/* Of which one may be padding. */
static void fill_labels(int32_t *labels, int64_t count, uint64_t seed, bool with_padding)
{
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST, .layer = 2});
    for (int64_t i = 0; i < count; i++)
        labels[i] = with_padding && i == 1 ? -1 : (int32_t)pod_rng_below(&r, N_CLASSES);
}

/* Of sequences; the second one is empty, the others have more than one token. */
static void fill_lengths(int32_t *lengths, int64_t count, uint64_t seed)
{
    fill_labels(lengths, count, seed, false);
    for (int64_t i = 0; i < count; i++) lengths[i] = i == 1 ? 0 : lengths[i] + 2;
}

void op_fill(pod_interp *it, const pod_graph *g, uint64_t seed, bool apart)
{
    for (int i = 0; i < pod_graph_n_variables(g); i++) {
        const pod_variable_info *v = pod_graph_variable(g, i);
        const bool is_variance = v->role == POD_ROLE_MOVING && v->init.kind == POD_INIT_ONE;
        fill_floats(pod_interp_data(it, v->value),
                    pod_shape_count(&pod_graph_type(g, v->value)->shape), seed * 64 + (uint64_t)i,
                    apart, is_variance ? 1.0f : 0.0f);
    }
    for (int i = 0; i < pod_graph_n_inputs(g); i++) {
        const pod_value v = pod_graph_input(g, i)->value;
        const int64_t count = pod_shape_count(&pod_graph_type(g, v)->shape);
        const char *name = pod_graph_input(g, i)->name;
        if (strcmp(name, "lengths") == 0)
            fill_lengths(pod_interp_data(it, v), count, seed);
        else if (pod_graph_type(g, v)->dtype == POD_I32)
            fill_labels(pod_interp_data(it, v), count, seed, strcmp(name, "labels") == 0);
        else
            fill_floats(pod_interp_data(it, v), count, seed * 64 + 63, false, 0.25f);
    }
}
