/* Several nodes that run as one, a few samples at a time, so that what one of them makes is still
 * in the core's cache when the next one reads it. Only the pass that tiles makes such a node
 * (runtime/passes/tile.c). */
#ifndef MINIPOD_RUNTIME_OPS_TILED_H
#define MINIPOD_RUNTIME_OPS_TILED_H

#include "runtime/ops/op.h"

enum {
    POD_TILED_VALUES = 48,
    POD_TILED_STEPS = 12,
    POD_TILED_IN = POD_MAX_VALUES - POD_MAX_OUT /* of a step, and of the whole */
};

typedef struct pod_tiled_value {
    pod_type type;
    char kind;   /* of pod_op.by_sample: 's', 'w' or '+' */
    int32_t in;  /* input of the node, -1: made by a step */
    int32_t out; /* output of the node, -1: only its steps read it, a tile of it exists at a time */
} pod_tiled_value;

typedef struct pod_tiled_step { /* inputs, then outputs: indices of values */
    pod_node node;              /* its op, label, attr and counts; neither in nor first_out */
    int32_t value[POD_TILED_IN + POD_MAX_OUT];
} pod_tiled_step;

typedef struct pod_tiled {
    int64_t n_tiles; /* divides the samples of a core */
    int n_steps, n_values;
    pod_tiled_step step[POD_TILED_STEPS];
    pod_tiled_value value[POD_TILED_VALUES];
} pod_tiled;

/* Attribute of the node `tiled`: the steps that it runs. */
typedef struct pod_tiled_attr {
    const pod_tiled *tiled; /* in the plan's arena */
} pod_tiled_attr;

#endif
