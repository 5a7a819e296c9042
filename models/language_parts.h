/* Shared by the families of languages.def: their build functions, and the pieces of a network.
 * Everything is sticky (runtime/graph/graph.h). Rows are the tokens of all sequences, (N S, H). */
#ifndef MINIPOD_MODELS_LANGUAGE_PARTS_H
#define MINIPOD_MODELS_LANGUAGE_PARTS_H

#include "models/language.h"

#define POD_LANGUAGE(name, task, build, n_tokens, layers, hidden, heads, inner, positions, about)  \
    pod_language_out build(pod_graph *g, const pod_language_size *size, const pod_language_in *in, \
                           const pod_language_args *args);
#include "models/languages.def"
#undef POD_LANGUAGE

/* Adds a weight that starts normal with deviation 0.02, cut at two deviations. */
pod_value pod__kernel(pod_graph *g, const char *name, pod_shape shape);

/* Returns the type in which matrices are multiplied. */
pod_dtype pod__product_type(const pod_language_args *args);

/* Multiplies rows x (R, F) by a new weight "kernel" (F, units) and adds a new "bias", in scope
 * `name`. The result has type `to`. With bf16_products and a float32 x, both operands are rounded to
 * bfloat16. */
pod_value pod__project(pod_graph *g, pod_value x, const char *name, int64_t units, pod_dtype to,
                       const pod_language_args *args);

/* Dropout, if there are draws. */
pod_value pod__drop(pod_graph *g, pod_value x, float rate, const pod_language_args *args);

#endif
