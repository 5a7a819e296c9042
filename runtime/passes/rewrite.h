/* A graph made anew from another: nodes are taken over one by one, with others between them.
 * Private to this folder. */
#ifndef MINIPOD_RUNTIME_PASSES_REWRITE_H
#define MINIPOD_RUNTIME_PASSES_REWRITE_H

#include "runtime/graph/graph.h"

typedef struct pod_rewrite {
    const pod_graph *from;
    pod_graph *to;
    pod_value *mapped;   /* by value of `from`: what stands for it in `to` */
    pod_value *assigned; /* likewise, for variables that become it, where that differs */
    /* Of the node at hand, whether copied or new; room for any node of `from`, and for
     * POD_MAX_VALUES. */
    pod_value *in;
    pod_type *in_type, *out_type;
} pod_rewrite;

POD_MUST pod_status pod__rewrite_start(pod_arena *a, const pod_graph *from, pod_rewrite *out);

/* Copies node `index` of `from`: it reads the mapped inputs and keeps its types; its outputs are
 * mapped. */
POD_MUST pod_status pod__rewrite_node(pod_rewrite *w, int32_t index);
/* The same in another phase. Where the outputs were mapped already, later nodes read these. */
POD_MUST pod_status pod__rewrite_node_in(pod_rewrite *w, int32_t index, pod_phase phase);

/* Appends a node with the op, label, attribute, phase and numbers of inputs and outputs of `n`. It
 * reads w->in, its types are w->out_type, its values go to out[]. */
POD_MUST pod_status pod__rewrite_append(pod_rewrite *w, const pod_node *n, pod_value out[]);
/* The same with the types that the op infers from those of w->in. */
POD_MUST pod_status pod__rewrite_infer(pod_rewrite *w, const pod_node *n, pod_value out[]);

/* Copies names: inputs, variables with what they become, outputs. An input or a variable that is
 * not mapped is dropped. */
POD_MUST pod_status pod__rewrite_end(pod_rewrite *w);

#endif
