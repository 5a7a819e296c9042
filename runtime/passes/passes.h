/* The passes that turn a graph into a program. Each pass is one file. Four passes add to the graph
 * while it is built:
 *
 *   grad       appends the derivative of a loss
 *   clip       appends the scaling of gradients whose norm is too large, on demand
 *   update     appends the optimizer's nodes, one weight after the other, as gradients become ready
 *   ema        appends moving averages of the variables that evaluation reads, on demand
 *
 * and pod_compile runs the passes of passes.def, which turn the finished graph into a program. Type
 * inference is not a pass: the builder infers each node as it is added, and the pass `partition`
 * infers it again. */
#ifndef MINIPOD_RUNTIME_PASSES_PASSES_H
#define MINIPOD_RUNTIME_PASSES_PASSES_H

#include "collectives/algo/algo.h"
#include "runtime/graph/graph.h"
#include "runtime/optim/optim.h"
#include "runtime/program/program.h"

/* Sets grad[i] to the derivative of the scalar `loss` by variable i, or to id 0 if the variable is
 * not trained or the loss does not depend on it. `grad` has one element per variable. The new nodes
 * are in phase BACKWARD. */
POD_MUST pod_status pod_pass_grad(pod_graph *g, pod_value loss, pod_value grad[]);

/* Replaces the gradients by those that are clipped to hp->clip_norm > 0. Call it before
 * pod_pass_update. */
POD_MUST pod_status pod_pass_clip(pod_graph *g, pod_value grad[], const pod_hparams *hp);

/* Adds the scalar inputs "lr" and "step" (counted from 1), both float32, and the update of every
 * variable with a gradient, in the order in which gradients are computed. Optimizer states become
 * variables "<weight>/<optimizer>/<k>", k from 0, of role STATE. Nodes go into phase UPDATE. */
POD_MUST pod_status pod_pass_update(pod_graph *g, const pod_value grad[], const pod_optim *optim,
                                    const pod_hparams *hp);

/* Call it after pod_pass_update. For every variable that is assigned and is not an optimizer state,
 * adds a variable "ema/<name>" of role MOVING, and its update from the variable's new value
 * (pod_ema_update). */
POD_MUST pod_status pod_pass_ema(pod_graph *g, float decay);

typedef struct pod_compile_args {
    pod_mesh mesh;
    const pod_target *target;
    bool fusion;       /* runs the patterns of fuse/fusions.def, where the target's kernels gain */
    size_t tile_bytes; /* cache of a core that a tile of samples may fill (pass `tile`); 0: no
                          tiles */
    const pod_coll_rules *rules; /* which collective algorithm for which size */
    int64_t bucket_bytes;        /* one collective joins gradients up to about this many bytes */
    pod_dtype wire;     /* type in messages: f32; bf16 for gradients; binned for all sums */
    bool shard_update;  /* each core updates its shard of the weights */
    int node_size;      /* ranks per node, as in pod_coll_args */
    bool wait_at_once;  /* waits for each collective right after its start: no overlap */
    bool recompute;     /* recomputes cheap values in backward if the step then needs less memory */
    int accumulate;     /* micro-steps per step; 0 means 1 */
    pod_group bn_group; /* cores that share batch norm's statistics: dims and tile, step unused.
                           Zeroed: each core alone */
    size_t guard_bytes; /* canary bytes behind every slot, for tests; else 0 */
} pod_compile_args;

/* Compiles the graph for a batch of `batch` samples. Inputs with batch_dim 0 are split over the
 * whole mesh, and a core's share over the micro-steps. E_INVALID if such an input does not have
 * `batch` samples, or if `batch` is not divisible by the number of cores times the number of
 * micro-steps; E_UNSUPPORTED, naming the node, if an op does not take the sharding of its inputs;
 * E_NOMEM. The program lives in `arena` and does not refer to the graph. */
POD_MUST pod_status pod_compile(const pod_graph *g, int64_t batch, const pod_compile_args *args,
                                pod_arena *arena, const pod_program **out);

#endif
