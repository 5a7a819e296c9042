/* The differentiable ops in small graphs of random shapes: one table, read by the test of gradients
 * (against finite differences) and by the test of ops (targets against each other, bfloat16 against
 * float32, in place against apart). */
#ifndef MINIPOD_TESTS_UNIT_RUNTIME_GRAPH_OP_CASES_H
#define MINIPOD_TESTS_UNIT_RUNTIME_GRAPH_OP_CASES_H

#include "kernels/base/rng.h"
#include "runtime/ops/ops.h"
#include "tests/harness/interp.h"

typedef struct op_case {
    const char *name;
    /* Appends variables and the op under test on values of type `travel`; answers what comes
     * out. */
    pod_value (*build)(pod_graph *g, pod_rng *r, pod_dtype travel, int param);
    int param;
    /* An element of y comes of y_terms terms whose sizes add up to y_reach at most, when inputs are
     * in [-1, 1) and a step more; an element of a gradient likewise, of d_terms and d_reach. */
    int y_terms, d_terms;
    bool apart; /* inputs are k + 1/2 for distinct whole k; step stays below 1/2 */
    double y_reach, d_reach;
    double step; /* of the finite difference */
} op_case;

const op_case *op_cases(int *n);

typedef struct op_graph {
    pod_arena *arena;
    pod_graph *g;
    pod_value y;       /* what the case answered */
    pod_value r;       /* an input "r" of y's shape, float32; id 0 when y is the loss itself */
    pod_value loss;    /* weighed by r */
    int32_t n_forward; /* nodes up to the loss */
    pod_value *grad;   /* by variable, id 0: none */
} op_graph;

/* Bound of an element of y, or of a gradient, computed in float32: (terms + 12) u reach; Higham,
 * "Accuracy and Stability of Numerical Algorithms", section 3.1, and a dozen roundings for what
 * stands around the sum. */
double op_bound_y(const op_case *c);
double op_bound_d(const op_case *c);

/* The graph of a case with its gradients; the same shapes for the same seed, whatever the type. */
op_graph op_graph_open(const op_case *c, uint64_t seed, pod_dtype travel);
void op_graph_close(op_graph *og);
/* The same as the pass `fuse` makes it for `cpu`: its variables, inputs, loss and gradients, in the
 * same arena; y and n_forward are not known. `og` gets outputs and variables that keep what is
 * compared. `n_fused` counts the patterns that applied. */
op_graph op_graph_fuse(op_graph *og, uint32_t cpu, int *n_fused);

/* Fills variables and inputs with numbers that bfloat16 holds: in [-1, 1), or as the case wants
 * them; moving variances in [1/2, 3/2); the weights of a loss in [-1/4, 3/4), so that their sums do
 * not vanish; labels from -1 to one below the classes of `g`'s softmax. */
void op_fill(pod_interp *it, const pod_graph *g, uint64_t seed, bool apart);

#endif
