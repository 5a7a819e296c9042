/* The node `tiled` runs several nodes, its steps, on a few samples at a time, so that the output of
 * a step is still in the core's cache when the next step reads it. Only the pass `tile` makes such
 * nodes (runtime/passes/tile.c). */
#ifndef MINIPOD_RUNTIME_OPS_TILED_H
#define MINIPOD_RUNTIME_OPS_TILED_H

#include "runtime/ops/op.h"

enum {
    POD_TILED_VALUES = 48,
    POD_TILED_STEPS = 12,
    POD_TILED_IN = POD_MAX_VALUES - POD_MAX_OUT /* inputs of a step, and of the node */
};

typedef struct pod_tiled_value {
    pod_type type;
    char kind;   /* of pod_op.by_sample: 's', 'w' or '+' */
    int32_t in;  /* input of the node; -1: a step computes it */
    int32_t out; /* output of the node; -1: only steps read it, one tile of it exists at a time */
} pod_tiled_value;

typedef struct pod_tiled_step { /* inputs, then outputs: indices of values */
    pod_node node; /* its op, label, attr and counts; `in` and `first_out` are unused */
    int32_t value[POD_TILED_IN + POD_MAX_OUT];
} pod_tiled_step;

typedef struct pod_tiled {
    int64_t n_tiles; /* divides the number of samples of a core */
    int n_steps, n_values;
    pod_tiled_step step[POD_TILED_STEPS];
    pod_tiled_value value[POD_TILED_VALUES];
} pod_tiled;

/* Attribute of the node `tiled`: the steps that it runs. */
typedef struct pod_tiled_attr {
    const pod_tiled *tiled; /* in the plan's arena */
} pod_tiled_attr;

#endif
