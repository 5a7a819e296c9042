/* Shared by the families of languages.def and by the vision transformer: build functions, and the
 * blocks of a network of attention. Everything is sticky (runtime/graph/graph.h). Rows are the tokens
 * of all sequences, (N S, H). */
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
    float dropout;       /* of attention's probabilities and of what is added to a residual */
    bool drops_inner;    /* also behind the activation */
    float drop_samples;  /* stochastic depth: the rate of what is added; 0: none */
    bool attention_bias; /* in the four projections of attention */
    pod_value (*activation)(pod_graph *g, pod_value x);
    /* Initial values of kernels; to_residual: of those whose result is added to a residual. UNIFORM has
     * Glorot's reach, sqrt(6 / (inputs + outputs)), whatever the scale says. */
    pod_init kernel, to_residual;
} pod__blocks;

pod_value pod__gelu_tanh(pod_graph *g, pod_value x); /* activations */
pod_value pod__gelu_erf(pod_graph *g, pod_value x);

/* Fails the graph, naming both, if sequences are longer than the model's positions. */
void pod__check_positions(pod_graph *g, const pod_language_size *size, int64_t seq_len);

/* Adds a weight that starts normal with deviation 0.02, cut at two deviations. */
pod_value pod__kernel(pod_graph *g, const char *name, pod_shape shape);

/* Returns the type in which matrices are multiplied. */
pod_dtype pod__product_type(const pod_language_args *args);

/* Multiplies rows x (R, F) by a new weight "kernel" (F, units) and, with_bias, adds a new "bias", in
 * scope `name`. The result has type `to`. With bf16_products and a float32 x, both operands are rounded
 * to bfloat16. */
typedef struct pod__projection {
    int64_t units;
    pod_init kernel;
    bool with_bias;
    pod_dtype to;
} pod__projection;
pod_value pod__project(const pod__blocks *b, pod_value x, const char *name, pod__projection how);

/* Dropout, if there are draws. */
pod_value pod__drop(const pod__blocks *b, pod_value x, float rate);

/* From sequences (N, ..., H) to rows, and from rows to n sequences (n, S, H). */
pod_value pod__to_rows(const pod__blocks *b, pod_value sequences);
pod_value pod__to_sequences(const pod__blocks *b, pod_value rows, int64_t n);

/* ---- blocks ---- */

/* Projects rows onto H features in scope `name`: queries, keys or values, of n sequences. */
pod_value pod__heads(const pod__blocks *b, pod_value rows, const char *name, int64_t n);

/* Attention of q to k and v, sequences in the type of activations. */
typedef struct pod__look {
    pod_value lengths; /* of the keys, or the ends of their parts (N, P); id 0: all */
    pod_value queries; /* the ends of parts of the queries, if those of keys are given */
    bool causal;
} pod__look;
/* Whether `lengths` are ends of parts. */
bool pod__is_packed(const pod_graph *g, pod_value lengths);
pod_value pod__attend(const pod__blocks *b, pod_value q, pod_value k, pod_value v, pod__look look);

/* Projects rows onto the inner width in scope `inner`, with activation and dropout. */
pod_value pod__feed_forward(const pod__blocks *b, pod_value rows, const char *inner);

/* The residual path of blocks whose layer norm comes first, x + f(norm(x)): rows that are the sum of
 * both values. The sum is made where the next layer norm reads it, in one op. */
typedef struct pod__residual {
    pod_value x, more; /* more: id 0, if there is none */
} pod__residual;

/* Returns the layer norm of the path, in scope `name`. */
pod_value pod__norm_first(const pod__blocks *b, pod__residual *path, const char *name);
/* Projects rows in scope `name`, drops, and adds that to the path. n counts the sequences. */
void pod__add_to(const pod__blocks *b, pod__residual *path, pod_value rows, const char *name,
                 bool with_bias, int64_t n);

/* The scopes of a block: of attention those of norm, queries and what follows them, output; of the
 * feed-forward layers likewise. */
typedef struct pod__names {
    const char *attention_norm, *attention, *attention_output;
    const char *norm, *inner, *output;
} pod__names;
/* The halves of a block: attention of n sequences to themselves, and the feed-forward layers. */
void pod__attention_first(const pod__blocks *b, pod__residual *path, const pod__names *names,
                          int64_t n, pod__look look);
void pod__feed_forward_first(const pod__blocks *b, pod__residual *path, const pod__names *names,
                             int64_t n);

#endif
