/* Language models: networks on token ids. One file per family, one line per model in
 * languages.def. */
#ifndef MINIPOD_MODELS_LANGUAGE_H
#define MINIPOD_MODELS_LANGUAGE_H

#include "runtime/graph/graph.h"
#include "runtime/ops/ops.h"

/* The inputs of a model: N sequences of S tokens. Each task uses some of the fields. */
typedef struct pod_language_in {
    pod_value ids;     /* (N, S) i32; translate: ids of the source */
    pod_value lengths; /* (N) i32: number of tokens before padding; translate: in the source */
    /* translate: up to P sentences may share a sequence, each of which sees only itself. Then
     * lengths and target_lengths are (N, P): where the sentences end. */
    /* masked-lm */
    pod_value segments;  /* (N, S) i32, 0 or 1 */
    pod_value positions; /* (N, M) i32: of the tokens whose ids are predicted */
    /* translate: what the decoder reads: POD_NO_TOKEN, then the answers except the last */
    pod_value target;         /* (N, T) i32 */
    pod_value target_lengths; /* (N) i32 */
} pod_language_in;

typedef struct pod_language_args {
    int64_t n_tokens; /* of the vocabulary */
    pod_dtype travel; /* type of activations */
    bool bf16_products;
    pod_value draws;      /* random numbers for dropout; id 0: none */
    float dropout;        /* negative: the model's own */
    bool plain_attention; /* pod_attention_attr.plain */
} pod_language_args;

typedef struct pod_language_out {
    /* masked-lm: (N, M, H), at in->positions; language-model: (N, S, H), for the token after each;
     * translate: (N, T, H). The logits of the predicted tokens are hidden table^T + bias. */
    pod_value hidden;
    pod_value table; /* (V, H), of hidden's type */
    pod_value bias;  /* (V) float32; id 0: none */
    pod_value next;  /* masked-lm: (N, 2) float32: logits of "segment 1 follows segment 0" and of
                        "segment 1 is random" */
} pod_language_out;

typedef struct pod_language_size {
    int64_t layers, hidden, heads, inner; /* inner: width of the feed-forward layers */
    int64_t positions; /* longest sequence; 0: any length, as positions have no weights */
} pod_language_size;

/* A step of search: the next token of B hypotheses for each of N sources. Hypothesis b of source n
 * is row n B + b. Greedy search has B = 1. */
typedef struct pod_language_step {
    pod_value token;   /* (N, B) i32: the last token, POD_NO_TOKEN at the start */
    pod_value count;   /* (N, B) i32: number of tokens including `token`: 1 at the start */
    pod_value lengths; /* (N) i32: of the sources */
    /* 2 x layers values each, the keys and then the values of layer 0, of layer 1, ...; float32 or
     * bfloat16. */
    const pod_value *source;  /* (N, S, H): the values that encode returned */
    const pod_value *earlier; /* (N, B, T, H): rows of the count - 1 earlier steps. The rows after
                                 them may have any finite values. T is at least 1 */
} pod_language_step;

/* The two programs of a search for a translation, token by token: one encodes the sources, the
 * other takes a step. Both functions add those variables of `build` that they read, by the same
 * names; args have no draws. They return float32 matrices for pod_output, (N, S H) from encode and
 * (N, B H) from step, with the memory layout of the shapes above. */
typedef struct pod_language_search {
    /* Reads ids and lengths; writes 2 x layers values to source. */
    void (*encode)(pod_graph *g, const pod_language_size *size, const pod_language_in *in,
                   const pod_language_args *args, pod_value source[]);
    /* Returns the logits of the next token (N, B V), and writes 2 x layers values (N, B H) for this
     * token, which the caller copies to row count - 1 of `earlier`. */
    pod_value (*step)(pod_graph *g, const pod_language_size *size, const pod_language_step *in,
                      const pod_language_args *args, pod_value rows[]);
} pod_language_search;

typedef struct pod_language {
    const char *name, *about;
    const char *task;
    int32_t n_tokens; /* of the published vocabulary */
    pod_language_size size;
    pod_language_out (*build)(pod_graph *g, const pod_language_size *size,
                              const pod_language_in *in, const pod_language_args *args);
    const pod_language_search *search; /* NULL: the task has none */
} pod_language;

/* Finds the inputs of a model among the inputs of a graph, by the names of the members of
 * pod_language_in; ids and lengths may be named source and source_lengths. An input that is absent
 * has id 0. */
pod_language_in pod_language_read(const pod_graph *g);

const pod_language *pod_languages(int *n);
const pod_language *pod_language_find(const char *name); /* NULL: there is none */

#endif
