/* Builds a graph from another one: copies its nodes one by one, with new nodes in between. Private
 * to this folder. */
#ifndef MINIPOD_RUNTIME_PASSES_REWRITE_H
#define MINIPOD_RUNTIME_PASSES_REWRITE_H

#include "runtime/graph/graph.h"

typedef struct pod_rewrite {
    const pod_graph *from;
    pod_graph *to;
    pod_value *mapped;   /* by value of `from`: its counterpart in `to` */
    pod_value *assigned; /* by value of `from`: the counterpart that variables are assigned instead;
                            id 0: `mapped` */
    /* Inputs and types of the node that is appended next; each has room for any node of `from` and
     * at least POD_MAX_VALUES elements. */
    pod_value *in;
    pod_type *in_type, *out_type;
} pod_rewrite;

POD_MUST pod_status pod__rewrite_start(pod_arena *a, const pod_graph *from, pod_rewrite *out);

/* Copies node `index` of `from` with the mapped inputs and the same types, and maps its outputs. */
POD_MUST pod_status pod__rewrite_node(pod_rewrite *w, int32_t index);
/* The same in another phase. If the node was copied before, its outputs are mapped to those of the
 * new copy, which nodes that are copied later then read. */
POD_MUST pod_status pod__rewrite_node_in(pod_rewrite *w, int32_t index, pod_phase phase);

/* Appends a node with the op, label, attribute, phase and numbers of inputs and outputs of `n`,
 * with inputs w->in and output types w->out_type. Sets out[] to its outputs. */
POD_MUST pod_status pod__rewrite_append(pod_rewrite *w, const pod_node *n, pod_value out[]);
/* The same with the types that the op infers from those of w->in. */
POD_MUST pod_status pod__rewrite_infer(pod_rewrite *w, const pod_node *n, pod_value out[]);

/* Copies inputs, outputs, and variables with their assignments. Drops an input or a variable that
 * is not mapped. Fails if the graph has failed. */
POD_MUST pod_status pod__rewrite_end(pod_rewrite *w);

#endif
