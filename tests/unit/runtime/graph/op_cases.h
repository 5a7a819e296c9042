/* The differentiable ops in small graphs of random shapes: one table, read by the test of gradients
 * (against finite differences) and by the test of ops (targets against each other, bfloat16 against
 * float32, in place against apart). */
#ifndef MINIPOD_TESTS_UNIT_RUNTIME_GRAPH_OP_CASES_H
#define MINIPOD_TESTS_UNIT_RUNTIME_GRAPH_OP_CASES_H

#include "kernels/base/cpu.h"
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
    /* Inputs are k + 1/2 for distinct whole k, so that no input crosses 0, or the other inputs of a
     * window, within a step < 1/2. */
    bool apart;
    double y_reach, d_reach;
    double step; /* of the finite difference */
} op_case;

const op_case *op_cases(int *n);

/* What kernels are picked for: the reference, and this CPU. */
enum { OP_N_TARGETS = 2 };
static inline uint32_t op_target_cpu(int target)
{
    return target == 0 ? POD_CPU_REFERENCE_ONLY : pod_cpu_features();
}

/* A test of op_fused.c, run beside those of test_op_values.c, which ask what ops were run. */
void op_fused_agree_with_plain(void);
/* Tests of op_sequences.c. */
void op_sinusoids_are_of_positions(void);
void op_parts_have_positions(void);
void op_some_are_left_out(void);
void op_attention_has_two_forms(void);

/* Inputs of these dimensions: F32(g, "x", 4, 3), INTS(g, POD_U8, 4). */
static inline pod_value op_input(pod_graph *g, const char *name, pod_dtype t, int n_dims,
                                 const int64_t dim[])
{
    return pod_input(g, name, pod_type_of(t, n_dims, dim), 0);
}
#define OP_INPUT(g, name, t, ...)                                                         \
    op_input((g), (name), (t), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
             (const int64_t[]){__VA_ARGS__})
#define F32(g, name, ...) OP_INPUT(g, name, POD_F32, __VA_ARGS__)
#define INTS(g, t, ...)   OP_INPUT(g, "ints", t, __VA_ARGS__)

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
 * not vanish; int32 from 0 to one below the classes of `g`'s softmax, one of
 * the input "labels" -1. */
void op_fill(pod_interp *it, const pod_graph *g, uint64_t seed, bool apart);

#endif
