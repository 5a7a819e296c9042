/* Models: what a network is, in graph calls. One file a family, one line a model in models.def. */
#ifndef MINIPOD_MODELS_MODEL_H
#define MINIPOD_MODELS_MODEL_H

#include "runtime/graph/graph.h"
#include "runtime/ops/ops.h"

typedef struct pod_model_args {
    int64_t n_classes;
    bool train;                    /* false: batch norm uses its moving statistics */
    float bn_momentum, bn_epsilon; /* of every batch norm */
    bool bf16_products;            /* of float32 images: convolutions and matrix products in bf16 */
    /* A number below 0, of width and depth 0, leaves it to the model. */
    pod_value draws;     /* for pod_dropout; id 0: nothing is left out */
    float dropout;       /* rate, of what the last layer reads */
    float survival;      /* of the last residual unit; the rate of others grows up to it */
    double width, depth; /* factors of channels and of units */
} pod_model_args;

typedef struct pod_model {
    const char *name;  /* "resnet20" */
    const char *about; /* one line, with its source */
    int64_t h, w, c;   /* the images it was published for; others work where the strides allow */
    int64_t n_classes; /* likewise */
    int param;         /* the family's own, e.g. the depth */
    bool scales;       /* heeds dropout, survival, width and depth of pod_model_args */
    /* images (N, H, W, C) in the travelling type -> logits (N, n_classes) float32 */
    pod_value (*build)(pod_graph *g, int param, pod_value images, const pod_model_args *args);
} pod_model;

const pod_model *pod_models(int *n);
const pod_model *pod_model_find(const char *name); /* NULL: there is none */

#endif
