/* Shared by the families of languages.def and by the vision transformer: build functions, and the
 * blocks of a network of attention. All functions are sticky (runtime/graph/graph.h). "Rows" are
 * the features of the tokens of all sequences, (N S, H). */
#ifndef MINIPOD_MODELS_LANGUAGE_PARTS_H
#define MINIPOD_MODELS_LANGUAGE_PARTS_H

#include "models/language.h"

#define POD_LANGUAGE(name, task, build, search, n_tokens, layers, hidden, heads, inner, positions, \
                     about)                                                                        \
    pod_language_out build(pod_graph *g, const pod_language_size *size, const pod_language_in *in, \
                           const pod_language_args *args);
#include "models/languages.def"
#undef POD_LANGUAGE
extern const pod_language_search pod__transformer_search;

/* The graph in which blocks are built, and the parameters in which families differ. */
typedef struct pod__blocks {
    pod_graph *g;
    const pod_language_args *args;
    int64_t hidden, heads, inner; /* of pod_language_size */
    float epsilon;                /* of layer norms */
    float dropout;       /* of attention's probabilities and of outputs added to the residual */
    bool drops_inner;    /* dropout also after the activation */
    float drop_samples;  /* stochastic depth: rate for outputs added to the residual; 0: none */
    bool attention_bias; /* in the four projections of attention */
    pod_value (*activation)(pod_graph *g, pod_value x);
    /* Initial values of kernels; to_residual: of kernels whose result is added to a residual.
     * UNIFORM has Glorot's scale, sqrt(6 / (inputs + outputs)); the scale of the pod_init is
     * ignored. */
    pod_init kernel, to_residual;
} pod__blocks;

pod_value pod__gelu_tanh(pod_graph *g, pod_value x); /* activations */
pod_value pod__gelu_erf(pod_graph *g, pod_value x);

/* Fails the graph, naming both, if sequences are longer than the model's positions. */
void pod__check_positions(pod_graph *g, const pod_language_size *size, int64_t seq_len);

/* Adds a weight that starts normal with deviation 0.02, cut at two deviations. */
pod_value pod__kernel(pod_graph *g, const char *name, pod_shape shape);

/* Returns the type of the operands of matmuls. */
pod_dtype pod__product_type(const pod_language_args *args);

/* Multiplies rows x (R, F) by a new weight "kernel" (F, units) and, with_bias, adds a new "bias",
 * in scope `name`. The result has type `to`. With bf16_products and a float32 x, both operands are
 * rounded to bfloat16. */
typedef struct pod__projection {
    int64_t units;
    pod_init kernel;
    bool with_bias;
    pod_dtype to;
} pod__projection;
pod_value pod__project(const pod__blocks *b, pod_value x, const char *name, pod__projection how);

/* Applies dropout, if args have draws. */
pod_value pod__drop(const pod__blocks *b, pod_value x, float rate);

/* Reshape sequences (N, ..., H) to rows, and rows to n sequences (n, S, H). */
pod_value pod__to_rows(const pod__blocks *b, pod_value sequences);
pod_value pod__to_sequences(const pod__blocks *b, pod_value rows, int64_t n);

/* ---- blocks ---- */

/* Projects rows onto H features in scope `name`: queries, keys or values, of n sequences. */
pod_value pod__heads(const pod__blocks *b, pod_value rows, const char *name, int64_t n);

/* Which keys a query of pod__attend sees. Sequences may be packed: a part is one of the short
 * sequences in a sequence (kernels/attention/attention.h). */
typedef struct pod__look {
    pod_value lengths; /* numbers of keys (N), or ends of the parts of the keys (N, P); id 0: all */
    pod_value queries; /* ends of the parts of the queries (N, P), if packed */
    bool causal;
} pod__look;
/* Returns whether `lengths` are ends of parts. */
bool pod__is_packed(const pod_graph *g, pod_value lengths);
/* Attends with the queries q to k and v, all sequences in the type of activations. */
pod_value pod__attend(const pod__blocks *b, pod_value q, pod_value k, pod_value v, pod__look look);

/* Projects rows onto the inner width in scope `inner`, with activation and dropout. */
pod_value pod__feed_forward(const pod__blocks *b, pod_value rows, const char *inner);

/* The residual path of blocks whose layer norm comes first, x + f(norm(x)): rows x + more, of which
 * the next layer norm computes the sum, in one op with the normalization. */
typedef struct pod__residual {
    pod_value x, more; /* more: id 0, if there is none */
} pod__residual;

/* Adds a layer norm of the path, in scope `name`, and returns its result. */
pod_value pod__norm_first(const pod__blocks *b, pod__residual *path, const char *name);
/* Projects rows in scope `name`, applies dropout, and adds the result to the path. n counts the
 * sequences. */
void pod__add_to(const pod__blocks *b, pod__residual *path, pod_value rows, const char *name,
                 bool with_bias, int64_t n);

/* The names of a block's scopes. For attention: the layer norm before it, attention with its
 * projections to queries, keys and values, and the output projection; then likewise for the
 * feed-forward layers. */
typedef struct pod__names {
    const char *attention_norm, *attention, *attention_output;
    const char *norm, *inner, *output;
} pod__names;
/* Add the two halves of a block to the path: self-attention of n sequences, and the feed-forward
 * layers. */
void pod__attention_first(const pod__blocks *b, pod__residual *path, const pod__names *names,
                          int64_t n, pod__look look);
void pod__feed_forward_first(const pod__blocks *b, pod__residual *path, const pod__names *names,
                             int64_t n);

#endif
