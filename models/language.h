/* Language models: networks on token ids. One file per family, one line per model in
 * languages.def. */
#ifndef MINIPOD_MODELS_LANGUAGE_H
#define MINIPOD_MODELS_LANGUAGE_H

#include "runtime/graph/graph.h"
#include "runtime/ops/ops.h"

/* What a model reads: N sequences of S tokens. */
typedef struct pod_language_in {
    pod_value ids;       /* (N, S) i32 */
    pod_value segments;  /* (N, S) i32, 0 or 1 */
    pod_value lengths;   /* (N) i32: tokens that are no padding */
    pod_value positions; /* (N, M) i32: of the tokens whose ids are predicted */
} pod_language_in;

typedef struct pod_language_args {
    int64_t n_tokens; /* of the vocabulary */
    pod_dtype travel; /* of activations */
    bool bf16_products;
    pod_value draws; /* random numbers for dropout; id 0: none */
    float dropout;   /* negative: the model's own */
} pod_language_args;

typedef struct pod_language_out {
    pod_value hidden; /* (N, M, H), for these positions; its logits are hidden table^T + bias */
    pod_value table;  /* (V, H), of hidden's type */
    pod_value bias;   /* (V) float32 */
    pod_value next;   /* (N, 2) float32: logits of "follows" and "is random" */
} pod_language_out;

typedef struct pod_language_size {
    int64_t layers, hidden, heads, inner; /* inner: width of the feed-forward layers */
    int64_t positions;                    /* the longest sequence */
} pod_language_size;

typedef struct pod_language {
    const char *name, *about;
    const char *task;
    int32_t n_tokens; /* of the published vocabulary */
    pod_language_size size;
    pod_language_out (*build)(pod_graph *g, const pod_language_size *size,
                              const pod_language_in *in, const pod_language_args *args);
} pod_language;

const pod_language *pod_languages(int *n);
const pod_language *pod_language_find(const char *name); /* NULL: there is none */

#endif
