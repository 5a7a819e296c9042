/* Shared by the families of models.def: their build functions, and common layers. All functions are
 * sticky (runtime/graph/graph.h). Filters are (K, R, S, C), images (N, H, W, C). */
#ifndef MINIPOD_MODELS_FAMILY_H
#define MINIPOD_MODELS_FAMILY_H

#include "models/model.h"

#define POD_MODEL(name, h, w, c, n_classes, param, build, scales, about) \
    pod_value build(pod_graph *g, int depth, pod_value images, const pod_model_args *args);
#include "models/models.def"
#undef POD_MODEL

/* Convolves x with a float32 weight, in x's type. With bf16_products and a float32 x, both operands
 * and the result are rounded to bfloat16, and the result is stored as float32. */
pod_value pod__conv2d(pod_graph *g, pod_value x, pod_value w, pod_conv2d_attr attr,
                      const pod_model_args *args);
pod_value pod__depthwise2d(pod_graph *g, pod_value x, pod_value w, pod_conv2d_attr attr,
                           const pod_model_args *args);

/* Multiplies x (N, F) by a new weight "w" (F, units) and adds a new bias "b" that starts at 0, both
 * in the current scope. The result has x's type; with bf16_products and a float32 x, both operands
 * are rounded to bfloat16, and the sums stay float32. */
typedef struct pod__dense_attr {
    int64_t units;
    pod_init w;
    bool to_f32; /* the result is float32, without a rounding in between, whatever x is */
} pod__dense_attr;
pod_value pod__dense(pod_graph *g, pod_value x, pod__dense_attr attr, const pod_model_args *args);

/* Appends in scope `name` a convolution k x k with padding k/2 to c_out channels, with He's initial
 * values and without bias, and batch norm, whose scale starts as `gamma`. */
pod_value pod__conv_bn(pod_graph *g, pod_value x, const char *name, int64_t c_out, int k,
                       int stride, pod_init_kind gamma, const pod_model_args *args);

/* Appends in scope "logits" a dense layer x (N, F) -> (N, n_classes) with sums in float32. Weights
 * start normal with deviation 0.01 (the MLPerf reference's last layer). */
pod_value pod__logits(pod_graph *g, pod_value x, const pod_model_args *args);

/* Fails the graph unless images are (N, H, W, C) with H and W at least `smallest`. */
void pod__need_images(pod_graph *g, const char *model, pod_value images, int64_t smallest);

/* Returns the channels of x, its last dimension; 0 in a graph that has failed. */
int64_t pod__channels(const pod_graph *g, pod_value x);

#endif
