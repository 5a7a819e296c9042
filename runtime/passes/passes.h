/* From graph to program. Each pass is one file. Three add to the graph while it is built:
 *
 *   grad       appends the derivative of a loss
 *   update     appends the optimizer's nodes, one weight after the other, as gradients become ready
 *   ema        appends moving averages of the variables that evaluation reads, on demand
 *
 * and pod_compile runs those of passes.def, which turn the finished graph into a program. Inference
 * is no pass: the builder infers each node as it is added, and partition repeats it. */
#ifndef MINIPOD_RUNTIME_PASSES_PASSES_H
#define MINIPOD_RUNTIME_PASSES_PASSES_H

#include "collectives/algo/algo.h"
#include "runtime/graph/graph.h"
#include "runtime/optim/optim.h"
#include "runtime/program/program.h"

/* Sets grad[i] to the derivative of the scalar `loss` by variable i, with id 0 if the variable is
 * not trained or the loss does not depend on it; `grad` has room for all variables. Nodes are in
 * phase BACKWARD. */
POD_MUST pod_status pod_pass_grad(pod_graph *g, pod_value loss, pod_value grad[]);

/* Adds the scalar inputs "lr" and "step" (from 1), both float32, and the update of every variable
 * with a gradient, in the order in which gradients are computed. Optimizer states become variables
 * "<weight>/<optimizer>/<k>", k from 0, of role STATE. Nodes go into phase UPDATE. */
POD_MUST pod_status pod_pass_update(pod_graph *g, const pod_value grad[], const pod_optim *optim,
                                    const pod_hparams *hp);

/* Runs after update. Adds a variable "ema/<name>" of role MOVING for every variable that is
 * assigned and is no optimizer state, and its update with the new value (pod_ema_update). */
POD_MUST pod_status pod_pass_ema(pod_graph *g, float decay);

typedef struct pod_compile_args {
    pod_mesh mesh;
    const pod_target *target;
    bool fusion;                 /* fuses nodes if the target has a kernel for it */
    size_t tile_bytes;           /* of a core's cache, for nodes that run a few samples at a time;
                                    0: none do */
    const pod_coll_rules *rules; /* which algorithm for which size */
    int64_t bucket_bytes;        /* an all-reduce joins gradients up to about this many bytes */
    pod_dtype wire;              /* type of gradients in messages: f32, bf16; binned: of all sums */
    bool shard_update;           /* each core updates its shard of the weights */
    int node_size;               /* ranks that share memory: pod_coll_args has it */
    bool wait_at_once;           /* waits for a collective as soon as it has started */
    bool recompute;              /* recomputes cheap values if that takes less memory */
    int accumulate;              /* micro-steps per step, whose sums are accumulated; 0 is 1 */
    pod_group bn_group;          /* cores that share batch norm's statistics; tiles alone, no steps.
                                    Zeroed: none do */
    size_t guard_bytes;          /* canary bytes behind every slot; 0 but for the check executor */
} pod_compile_args;

/* Inputs whose batch_dim is 0 are spread over the whole mesh, and a core's share over the
 * micro-steps. E_INVALID unless they have `batch` samples and it divides by the number of cores times that of
 * micro-steps; E_UNSUPPORTED, naming the node, for a spread that an op does not take; E_NOMEM. The
 * program lives in the arena; the graph may go. */
POD_MUST pod_status pod_compile(const pod_graph *g, int64_t batch, const pod_compile_args *args,
                                pod_arena *arena, const pod_program **out);

#endif
