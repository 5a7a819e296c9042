/* Models: networks as graph calls. One file per family, one line per model in models.def. */
#ifndef MINIPOD_MODELS_MODEL_H
#define MINIPOD_MODELS_MODEL_H

#include "runtime/graph/graph.h"
#include "runtime/ops/ops.h"

typedef struct pod_model_args {
    int64_t n_classes;
    bool train;                    /* false: batch norm uses its moving statistics */
    float bn_momentum, bn_epsilon; /* for every batch norm */
    bool bf16_products;            /* bf16 convolutions and matmuls although images are float32 */
    /* A negative rate, and 0 for width and depth, mean the model's own. */
    pod_value draws;      /* random numbers for pod_dropout; id 0: no dropout */
    float dropout;        /* rate, before the last layer */
    float survival;       /* of the last residual unit; the drop rate grows linearly up to it */
    double width, depth;  /* multipliers of channels and of units */
    bool plain_attention; /* pod_attention_attr.plain */
} pod_model_args;

typedef struct pod_model {
    const char *name;  /* "resnet20" */
    const char *about; /* one line, with its source */
    int64_t h, w, c;   /* images in the publication; other sizes work if the strides allow */
    int64_t n_classes; /* likewise */
    int param;         /* parameter of the family, such as the depth */
    bool scales;       /* uses dropout, survival, width and depth of pod_model_args */
    /* images (N, H, W, C) in the type of activations -> logits (N, n_classes) float32 */
    pod_value (*build)(pod_graph *g, int param, pod_value images, const pod_model_args *args);
} pod_model;

const pod_model *pod_models(int *n);
const pod_model *pod_model_find(const char *name); /* NULL: there is none */

#endif
