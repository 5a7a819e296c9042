/* The builder calls that model code uses. All are sticky (runtime/graph/graph.h).
 *
 * Activations are float32 or bfloat16. Weights are float32 variables; convolutions and pod_dense
 * cast them to the type of the activations, pod_matmul does not. runtime/graph/shape.h defines the
 * letters of shapes. */
#ifndef MINIPOD_RUNTIME_OPS_OPS_H
#define MINIPOD_RUNTIME_OPS_OPS_H

#include "kernels/activation/activation.h"
#include "runtime/graph/graph.h"

/* ---- leaves: op_leaf.c ---- */
enum { POD_NO_BATCH = -1 };
/* Declares a value that the host feeds in each step. batch_dim 0: the first dimension counts the
 * samples of the batch, which pod_compile splits over the mesh and the micro-steps. POD_NO_BATCH:
 * every core reads the whole value. E_INVALID for any other batch_dim. */
pod_value pod_input(pod_graph *g, const char *name, pod_type type, int batch_dim);
/* Adds a trained variable, float32, named by scope and `name`. */
pod_value pod_weight(pod_graph *g, const char *name, pod_shape shape, pod_init init, pod_role role);
/* Adds a variable that is kept from step to step but not trained: role MOVING or STATE. */
pod_value pod_variable(pod_graph *g, const char *name, pod_shape shape, pod_init init,
                       pod_role role);
pod_value pod_fill(pod_graph *g, float value); /* a constant scalar, float32: op_fill.c */

/* ---- matmuls and convolutions ---- */
typedef struct pod_matmul_attr {
    bool trans_a, trans_b;
    pod_dtype c_dtype; /* of the result */
} pod_matmul_attr;
/* Returns op(a) op(b), where op transposes or not: (M, K) by (K, N), or batched (B, M, K) by (B, K,
 * N). a and b have one element type. */
pod_value pod_matmul(pod_graph *g, pod_value a, pod_value b, pod_matmul_attr attr);

typedef struct pod_conv2d_attr {
    int stride;
    int pad;   /* rows and columns of zeros on every side */
    bool same; /* TensorFlow's SAME padding instead: P = ceil(H / stride), an odd zero at the end */
} pod_conv2d_attr;
/* x (N, H, W, C), w (K, R, S, C) -> (N, P, Q, K), P = (H + 2 pad - R) / stride + 1. The filter is
 * cast to x's type. */
pod_value pod_conv2d(pod_graph *g, pod_value x, pod_value w, pod_conv2d_attr attr);
/* Convolves each channel with its own filter: x (N, H, W, C), w (R, S, C) -> (N, P, Q, C). The
 * filter is cast to x's type. */
pod_value pod_depthwise2d(pod_graph *g, pod_value x, pod_value w, pod_conv2d_attr attr);
/* Multiplies x (N, F) by a new weight "w" (F, units) and, with_bias, adds a new bias "b", both in
 * the current scope. */
pod_value pod_dense(pod_graph *g, pod_value x, int64_t units, bool with_bias);

/* ---- pointwise ---- */
pod_value pod_cast(pod_graph *g, pod_value x, pod_dtype to); /* x itself if it has that type */
pod_value pod_relu(pod_graph *g, pod_value x);
pod_value pod_add(pod_graph *g, pod_value a, pod_value b);
pod_value pod_bias_add(pod_graph *g, pod_value x,
                       pod_value bias); /* bias (C), last dimension of x */
/* alpha x + beta z, float32. */
pod_value pod_axpby(pod_graph *g, float alpha, pod_value x, float beta, pod_value z);
pod_value pod_scale(pod_graph *g, float alpha, pod_value x); /* float32 */
/* Converts images of bytes (N, H, W, C) to (x / 255 - mean[c]) / std[c], of type `to`; C is at most
 * POD_MAX_CHANNELS. */
enum { POD_MAX_CHANNELS = 4 };
pod_value pod_normalize(pod_graph *g, pod_value images, const float mean[], const float std[],
                        pod_dtype to);
/* The same elements in another shape. Before and after, the first dimension counts samples or rows
 * of samples, so that one of the two extents divides the other. */
pod_value pod_reshape(pod_graph *g, pod_value x, pod_shape shape);

/* ---- GELU and tanh: op_activation.c ---- */
/* x Phi(x); BERT uses POD_GELU_TANH (kernels/activation/activation.h). */
pod_value pod_gelu(pod_graph *g, pod_value x, pod_gelu_form form);
pod_value pod_tanh(pod_graph *g, pod_value x);

/* ---- embeddings and rows of sequences: op_embed.c ---- */
/* Returns (N, n) int32, 0 to n - 1 for each of the samples that `like` (N, ...) has. */
pod_value pod_positions(pod_graph *g, pod_value like, int64_t n);
/* Returns (N, n) int32: the position of each token of a packed row within its part, from 0; 0
 * behind the last part. Parts and ends (N, P) are those of pod_attention_packed. */
pod_value pod_part_positions(pod_graph *g, pod_value ends, int64_t n);
/* Returns the positions first to first + n - 1, float32 (n, h): half of the features are
 * sin(position f_i), the other half cos(position f_i), with f_i = 10000^(-i / (h / 2 - 1)) (Vaswani
 * et al. 2017, section 3.5, laid out as in tensor2tensor). A constant, without gradient:
 * op_sinusoids.c */
pod_value pod_sinusoids(pod_graph *g, int64_t first, int64_t n, int64_t h);
/* Looks up rows: ids (N, ...) int32, table (V, H) float32 -> (N, ..., H) of type `to`. The gradient
 * is a dense (V, H). Ids come in as an input of type POD_I32 and lie in [0, V), or are POD_NO_TOKEN
 * (kernels/embed/embed.h), which looks up zeros; a step with any other id aborts, so that code that
 * reads ids from a file must refuse them. */
pod_value pod_embed_rows(pod_graph *g, pod_value ids, pod_value table, pod_dtype to);
/* Picks rows out of each sequence: x (N, S, H), places (N, P) int32 in [0, S) -> (N, P, H). A row
 * may be picked more than once. */
pod_value pod_gather_rows(pod_graph *g, pod_value x, pod_value places);
/* Puts the rows of b (N, B, H) behind those of a (N, A, H): (N, A + B, H), op_concat.c. */
pod_value pod_concat_rows(pod_graph *g, pod_value a, pod_value b);

/* ---- sigmoid, swish and gates: op_gate.c ---- */
pod_value pod_sigmoid(pod_graph *g, pod_value x); /* float32 */
pod_value pod_swish(pod_graph *g, pod_value x);   /* x sigmoid(x) */
/* Multiplies x (N, ..., C) by gate (N, C), float32: channel c of sample n by gate[n][c]. */
pod_value pod_gate_by(pod_graph *g, pod_value x, pod_value gate);

/* ---- dropout in training: op_drop.c ---- */
/* Zeroes each element of x with probability `rate` and scales the others by 1 / (1 - rate). draws
 * (N), int32, holds one random number per sample and step, which the host feeds; x has N samples,
 * as (N, ...) or as their rows (N S, ...). The scope is part of the random key, so that layers in
 * different scopes drop different elements. */
pod_value pod_dropout(pod_graph *g, pod_value x, pod_value draws, float rate);
/* The same for whole samples of x (N, ..., C): stochastic depth. */
pod_value pod_drop_samples(pod_graph *g, pod_value x, pod_value draws, float rate);

/* ---- batch normalization: op_batchnorm.c ---- */
typedef struct pod_batchnorm_attr {
    float momentum; /* moving = momentum moving + (1 - momentum) batch */
    float eps;
    bool train;     /* false: normalizes with the moving statistics */
    pod_init gamma; /* ONE, or ZERO for the last one of a residual unit */
} pod_batchnorm_attr;
/* Normalizes over all dimensions but the last. Adds "gamma", "beta", "moving_mean" and "moving_var"
 * in the current scope. In training, mean and variance are those of one core's samples in one
 * micro-step, or those of a group of cores (pod_compile_args.bn_group). The moving statistics
 * follow the average of these over all cores and micro-steps; the variance is the biased one. */
pod_value pod_batchnorm(pod_graph *g, pod_value x, pod_batchnorm_attr attr);

/* ---- layer normalization: op_layernorm.c ---- */
/* Normalizes over the last dimension. Adds "gamma" and "beta" in the current scope. */
pod_value pod_layer_norm(pod_graph *g, pod_value x, float eps);
/* Layer norm of x + res in one op; *sum is x + res, for the residual path. */
pod_value pod_add_layer_norm(pod_graph *g, pod_value x, pod_value res, float eps, pod_value *sum);

/* ---- attention: op_attention.c ---- */
typedef struct pod_attention_attr {
    int n_heads;   /* divides H; head h is features [h D, (h + 1) D) with D = H / n_heads */
    float scale;   /* of the scores; 0: 1 / sqrt(D) */
    bool causal;   /* query i sees the keys 0 .. i; needs Sq = Sk */
    float dropout; /* probability that a probability becomes 0, in [0, 1); training only */
    bool plain;    /* stores the scores; dropout then draws other numbers */
} pod_attention_attr;
/* Returns softmax(scale q k^T) v of each head (kernels/attention/attention.h): q (N, Sq, H) attends
 * to k and v (N, Sk, H), all of one type, and the result has the type of q. lengths, int32 (N),
 * counts the keys of each sequence that are no padding; id 0: all keys. A query without a key gives
 * 0 and has gradient 0. draws is that of pod_dropout, and the scope is part of the random key as
 * there; without dropout it is not read and may have id 0. */
pod_value pod_attention(pod_graph *g, pod_value q, pod_value k, pod_value v, pod_value lengths,
                        pod_value draws, pod_attention_attr attr);
/* The same for rows in which up to P short sequences, the parts, are packed one after the other.
 * q_ends and k_ends (N, P) int32 give the end of each part; unused entries repeat the last end. A
 * query attends only to the keys of its part. A query behind the last part gives 0. causal needs
 * q_ends = k_ends. */
pod_value pod_attention_packed(pod_graph *g, pod_value q, pod_value k, pod_value v,
                               pod_value q_ends, pod_value k_ends, pod_value draws,
                               pod_attention_attr attr);

/* ---- matmuls of heads: op_heads_matmul.c ---- */
/* Tokens x, y are (N, S, H) with H = n_heads D, and head h is features [h D, (h + 1) D); p (N,
 * n_heads, Sq, Sk) has a number for each query and key. All have one type. */
typedef enum pod_heads_form {
    POD_HEADS_SCORES,  /* x (N, Sq, H), y (N, Sk, H) -> x y^T (N, n_heads, Sq, Sk) */
    POD_HEADS_QUERIES, /* p, y (N, Sk, H) -> p y (N, Sq, H) */
    POD_HEADS_KEYS     /* p, x (N, Sq, H) -> p^T x (N, Sk, H) */
} pod_heads_form;
pod_value pod_heads_matmul(pod_graph *g, pod_heads_form form, int n_heads, pod_value a,
                           pod_value b);

/* ---- pooling ---- */
typedef struct pod_max_pool_attr {
    int window, stride, pad;
} pod_max_pool_attr;
pod_value pod_max_pool(pod_graph *g, pod_value x, pod_max_pool_attr attr);
pod_value pod_mean_pool(pod_graph *g, pod_value x); /* (N, H, W, C) -> (N, C) */

/* ---- loss and metric: logits (N, C) float32, labels (N) int32, where < 0 is padding ---- */
typedef struct pod_softmax_loss_attr {
    float smoothing;
    float scale; /* 1/N: the mean over the whole batch; 1: the sum */
} pod_softmax_loss_attr;
pod_value pod_softmax_loss(pod_graph *g, pod_value logits, pod_value labels,
                           pod_softmax_loss_attr attr);                        /* scalar */
pod_value pod_count_correct(pod_graph *g, pod_value logits, pod_value labels); /* scalar */

/* ---- the head of a language model: op_vocab_loss.c ---- */
typedef struct pod_vocab_sums { /* scalars, float32 */
    pod_value weight;           /* the sum of the weights */
    pod_value correct;          /* the same over rows whose largest logit is the label's */
} pod_vocab_sums;
/* Returns the scalar sum of weight times cross entropy over rows h (..., H), whose logits are their
 * products with the rows of table (V, H) plus bias (V), which may have id 0. The table is cast to
 * h's type. Labels (...) are int32; a row of weight 0 is padding, other labels lie in [0, V), as
 * ids do. weights (...) are float32. The logits of all rows are never in memory at once. Label
 * smoothing gives smoothing / (V - 1) to each other id, and the entropy of the target is subtracted
 * (kernels/vocab_loss/vocab_loss.h). */
pod_value pod_vocab_head(pod_graph *g, pod_value h, pod_value table, pod_value bias,
                         pod_value labels, pod_value weights, float smoothing,
                         pod_vocab_sums *sums);

/* ---- updates, for optimizers; lr, step and sums of squares are float32 scalars ---- */
pod_value pod_sum_sq(pod_graph *g, pod_value x);
/* The same of this core's summand of x, which differs from core to core. */
pod_value pod_sum_sq_own(pod_graph *g, pod_value x);
/* Returns min(1, max_norm / sqrt(sum of n >= 1 scalars)). op_clip.c describes how the scalars may
 * vary over cores. `sq` is overwritten. */
pod_value pod_clip_ratio(pod_graph *g, pod_value sq[], int n, float max_norm);
pod_value pod_scale_by(pod_graph *g, pod_value x, pod_value s); /* y = s x, of a scalar s */
/* The same of this core's summand of x. */
pod_value pod_scale_own(pod_graph *g, pod_value x, pod_value s);
typedef struct pod_momentum_attr {
    float momentum, decay;
    bool nesterov;
    bool rate_inside; /* v accumulates the rate times the gradient (You 2017), not the gradient */
    bool trust;       /* rate = lr eta |w| / (|g| + decay |w| + eps), lr where a norm is 0 */
    float eta, eps;
} pod_momentum_attr;
/* Assigns w and v. w_sq and g_sq are the sums of squares of w and grad; without trust they have id
 * 0. */
void pod_momentum_update(pod_graph *g, pod_value w, pod_value v, pod_value grad, pod_value lr,
                         pod_value w_sq, pod_value g_sq, pod_momentum_attr attr);
typedef struct pod_rmsprop_update_attr {
    float rho, momentum, eps, decay;
} pod_rmsprop_update_attr;
/* Assigns w, the mean square s and the velocity v (kernels/update). */
void pod_rmsprop_update(pod_graph *g, pod_value w, pod_value s, pod_value v, pod_value grad,
                        pod_value lr, pod_rmsprop_update_attr attr);
typedef struct pod_adam_update_attr {
    float beta1, beta2, eps, decay;
    bool uncorrected; /* moments are not divided by 1 - beta^step */
} pod_adam_update_attr;
/* Assigns w - lr u, m and v (kernels/update). `step` counts from 1. */
void pod_adam_update(pod_graph *g, pod_value w, pod_value m, pod_value v, pod_value grad,
                     pod_value step, pod_value lr, pod_adam_update_attr attr);
/* The same, but assigns w - lr (|w| / |u|) u; the ratio is 1 if either norm is 0. */
void pod_lamb_update(pod_graph *g, pod_value w, pod_value m, pod_value v, pod_value grad,
                     pod_value step, pod_value lr, pod_adam_update_attr attr);

/* Assigns mean + (1 - d) (value - mean) to mean, where d = min(decay, (1 + step) / (10 + step)), as
 * TensorFlow's moving average with num_updates does; in step 1, d = 0. `step` counts from 1. */
void pod_ema_update(pod_graph *g, pod_value mean, pod_value value, pod_value step, float decay);

#endif
