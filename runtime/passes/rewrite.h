/* A graph made anew from another: nodes are taken over one by one, with others between them.
 * Private to this folder. */
#ifndef MINIPOD_RUNTIME_PASSES_REWRITE_H
#define MINIPOD_RUNTIME_PASSES_REWRITE_H

#include "runtime/graph/graph.h"

typedef struct pod_rewrite {
    const pod_graph *from;
    pod_graph *to;
    pod_value *mapped;  /* by value of `from`: what stands for it in `to` */
    pod_value *in;      /* of the node at hand */
    pod_type *out_type; /* likewise */
} pod_rewrite;

POD_MUST pod_status pod__rewrite_start(pod_arena *a, const pod_graph *from, pod_rewrite *out);
/* Node `index` of `from`, of the inputs that are mapped and the types it has there; its outputs
 * are mapped. */
POD_MUST pod_status pod__rewrite_node(pod_rewrite *w, int32_t index);
/* The same in another phase; where the outputs were mapped, this one counts from here on. */
POD_MUST pod_status pod__rewrite_node_in(pod_rewrite *w, int32_t index, pod_phase phase);
/* Inputs, variables and outputs, all of which are mapped. */
POD_MUST pod_status pod__rewrite_end(pod_rewrite *w);

#endif
