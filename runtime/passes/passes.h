/* From graph to program. Each pass is one file. Three add to the graph while it is built:
 *
 *   grad       appends the derivative of a loss
 *   update     appends the optimizer's nodes, a weight at a time, as the gradients become ready
 *   ema        where it is asked for, moving averages of what evaluation reads
 *
 * and pod_compile runs those of passes.def, which make a program of the finished graph. Inference
 * is not a pass of its own: the builder infers each node as it is added, partition again. */
#ifndef MINIPOD_RUNTIME_PASSES_PASSES_H
#define MINIPOD_RUNTIME_PASSES_PASSES_H

#include "collectives/algo/algo.h"
#include "runtime/graph/graph.h"
#include "runtime/optim/optim.h"
#include "runtime/program/program.h"

/* grad[i] is the derivative of the scalar `loss` by variable i, id 0 where it is not trained or has
 * no part in it; `grad` has room for all variables. Nodes go into phase BACKWARD. */
POD_MUST pod_status pod_pass_grad(pod_graph *g, pod_value loss, pod_value grad[]);

/* Adds the scalar inputs "lr" and "step" (from 1), both float32, and the update of every variable
 * with a gradient, in the order in which the gradients are made. Optimizer states become variables
 * "<weight>/<optimizer>/<k>", k from 0, of role STATE. Nodes go into phase UPDATE. */
POD_MUST pod_status pod_pass_update(pod_graph *g, const pod_value grad[], const pod_optim *optim,
                                    const pod_hparams *hp);

/* Behind update: a variable "ema/<name>" of role MOVING for every variable that is assigned and no
 * optimizer's state, and its update with the new value (pod_ema_update). */
POD_MUST pod_status pod_pass_ema(pod_graph *g, float decay);

typedef struct pod_compile_args {
    pod_mesh mesh;
    const pod_target *target;
    bool fusion;                 /* nodes are joined where the target has a kernel for it */
    size_t tile_bytes;           /* of a core's cache, for nodes that run a few samples at a time;
                                    0: none do */
    const pod_coll_rules *rules; /* which algorithm for which size */
    int64_t bucket_bytes;        /* an all-reduce joins gradients up to about this many bytes */
    pod_dtype wire;              /* what gradients travel as: f32, bf16; binned: and all else */
    bool shard_update;           /* each core updates its part of the weights */
    int node_size;               /* ranks that share memory: pod_coll_args has it */
    bool wait_at_once;           /* a collective is waited for as soon as it has started */
    bool recompute;              /* cheap values are made again, where that takes less memory */
    int accumulate;              /* micro-steps of a step, whose sums are added up; 0 is 1 */
    pod_group bn_group;          /* cores that share batch norm's statistics; tiles alone, no steps.
                                    Zeroed: none do */
    size_t guard_bytes;          /* left free behind every slot; 0 but for the check executor */
} pod_compile_args;

/* Inputs whose batch_dim is 0 are spread over the whole mesh, and a core's share over the
 * micro-steps. E_INVALID unless they have `batch` samples and it divides by the number of cores times that of
 * micro-steps; E_UNSUPPORTED, naming the node, for a spread that an op does not take; E_NOMEM. The
 * program lives in the arena; the graph may go. */
POD_MUST pod_status pod_compile(const pod_graph *g, int64_t batch, const pod_compile_args *args,
                                pod_arena *arena, const pod_program **out);

#endif
