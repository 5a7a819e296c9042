/* The graph of one step: nodes in an order in which each value is computed before it is used.
 *
 * The builder is sticky: the first call that fails records its cause and scope and returns a value
 * with id 0, and so does every later call. Model code thus needs no error branches;
 * pod_graph_finish reports the cause. Model code uses the calls of runtime/ops/ops.h, which call
 * pod_graph_append. Everything that a graph holds lives in the arena that it was created from. */
#ifndef MINIPOD_RUNTIME_GRAPH_GRAPH_H
#define MINIPOD_RUNTIME_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"
#include "runtime/graph/phase.h"
#include "runtime/graph/shape.h"

/* The most outputs of a node, and the most inputs and outputs together. Only the nodes of
 * collectives over a bucket have more. */
enum { POD_MAX_OUT = 8, POD_MAX_VALUES = 32 };

typedef struct pod_op pod_op; /* runtime/ops/op.h */
typedef struct pod_graph pod_graph;
typedef struct pod_value {
    int32_t id; /* 0: none */
} pod_value;

typedef struct pod_node {
    const pod_op *op;
    const char *label; /* "stage3/unit2/conv1": the scopes, joined */
    const void *attr;  /* attributes of the op; NULL if it has none */
    size_t attr_bytes;
    pod_phase phase;
    int n_in, n_out;
    const pod_value *in;
    int32_t first_out; /* the outputs have consecutive ids from here */
} pod_node;

typedef struct pod_value_info {
    pod_type type;
    int32_t node;              /* index of the node that computes it */
    int out;                   /* index among the outputs of that node */
    int32_t variable, becomes; /* 1 + the result of pod_graph_find_variable, of
                                  pod_graph_find_assigned */
} pod_value_info;

/* HE: normal with variance 2 scale / fan-in (He et al., 2015); fan-in is R S C of filters (K, R, S,
 * C) and the rows of a matrix. NORMAL: standard deviation `scale`. TRUNCATED: the same, drawn again
 * beyond two deviations. UNIFORM: in [-scale, scale). */
typedef enum pod_init_kind {
    POD_INIT_ZERO,
    POD_INIT_ONE,
    POD_INIT_HE,
    POD_INIT_NORMAL,
    POD_INIT_TRUNCATED,
    POD_INIT_UNIFORM
} pod_init_kind;
typedef struct pod_init {
    pod_init_kind kind;
    float scale;
} pod_init;

typedef enum pod_role {
    POD_ROLE_WEIGHT, /* trained */
    POD_ROLE_NORM,   /* trained, scale or shift of a normalization: no weight decay, no trust
                        ratio */
    POD_ROLE_BIAS,   /* trained, a bias: likewise, except that rmsprop decays it */
    POD_ROLE_MOVING, /* a moving statistic */
    POD_ROLE_STATE   /* state of an optimizer */
} pod_role;

typedef struct pod_variable_info {
    const char *name; /* with its scope; unique in the graph */
    pod_value value;
    pod_init init;
    pod_role role;
    pod_value assigned; /* the value that it is assigned at the end of the step; id 0: none */
} pod_variable_info;

typedef struct pod_named {
    const char *name;
    pod_value value;
} pod_named;

POD_MUST pod_status pod_graph_create(pod_arena *a, pod_graph **out);
/* Returns the first failure of any builder call, with its scope: E_SHAPE, E_INVALID or E_NOMEM. */
POD_MUST pod_status pod_graph_finish(pod_graph *g);
/* Records a failure unless one is recorded already; returns the value with id 0. */
pod_value pod_graph_fail(pod_graph *g, pod_status s, const char *fmt, ...) POD_PRINTF(3, 4);
bool pod_graph_failed(const pod_graph *g);
pod_arena *pod_graph_arena(pod_graph *g);

void pod_scope_begin(pod_graph *g, const char *fmt, ...) POD_PRINTF(2, 3);
void pod_scope_end(pod_graph *g);
const char *pod_graph_scope(const pod_graph *g); /* "stage3/unit2"; "" outside */
/* Nodes that are appended from here on belong to this phase. A new graph is in FORWARD. */
void pod_graph_set_phase(pod_graph *g, pod_phase p);
pod_phase pod_graph_phase(const pod_graph *g);

/* The raw builder: no inference, no checks of types. `label`, `attr` and `in` are copied. Returns
 * the node's index, or -1 if the graph has failed. */
int32_t pod_graph_append(pod_graph *g, const pod_op *op, const char *label, const void *attr,
                         size_t attr_bytes, const pod_value in[], int n_in, const pod_type out[],
                         int n_out);

/* Register the output of an input or variable node under its name, which is copied. */
void pod_graph_add_input(pod_graph *g, const char *name, pod_value value);
void pod_graph_add_variable(pod_graph *g, const pod_variable_info *v);
/* Assigns `value`, of the same type, to the variable at the end of the step. At most once per
 * variable. */
void pod_assign(pod_graph *g, pod_value variable, pod_value value);
/* Names a float32 value that the host reads after each step: a scalar, or rows (N, F), of which
 * each core returns those that it holds. E_SHAPE for other values. */
void pod_output(pod_graph *g, const char *name, pod_value value);

/* Reading. Indices start at 0, value ids at 1. Pointers are valid until the next append. */
int32_t pod_graph_n_nodes(const pod_graph *g);
const pod_node *pod_graph_node(const pod_graph *g, int32_t index);
int32_t pod_graph_n_values(const pod_graph *g); /* the largest id */
const pod_value_info *pod_graph_value(const pod_graph *g, pod_value v);
const pod_type *pod_graph_type(const pod_graph *g, pod_value v);
const pod_node *pod_graph_maker(const pod_graph *g, pod_value v);
static inline pod_value pod_node_out(const pod_node *n, int i)
{
    return (pod_value){n->first_out + i};
}

int pod_graph_n_inputs(const pod_graph *g);
const pod_named *pod_graph_input(const pod_graph *g, int i);
int pod_graph_n_outputs(const pod_graph *g);
const pod_named *pod_graph_output(const pod_graph *g, int i);
int pod_graph_n_variables(const pod_graph *g);
const pod_variable_info *pod_graph_variable(const pod_graph *g, int i);
/* Returns the index of the variable with this value, or -1. */
int pod_graph_find_variable(const pod_graph *g, pod_value v);
/* Returns the index of the first variable that gets this value at the end of the step, or -1. */
int pod_graph_find_assigned(const pod_graph *g, pod_value v);

#endif
