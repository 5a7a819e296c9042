/* One op, and all that is known of it. Each op is one file, op_<name>.c, and one line in ops.def.
 * */
#ifndef MINIPOD_RUNTIME_OPS_OP_H
#define MINIPOD_RUNTIME_OPS_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/choice.h"
#include "kernels/base/status.h"
#include "kernels/gemm/gemm.h"
#include "runtime/graph/graph.h"

/* The CPU, rates and wishes that a program is compiled for. */
typedef struct pod_target {
    const char *name; /* "host", "reference" */
    uint32_t cpu;     /* POD_CPU_ bits, or POD_CPU_REFERENCE_ONLY */
    const char *impl; /* kernels to prefer where they apply: pod_choice; NULL: none */
    const pod_rates *rates;
} pod_target;

static inline pod_choice pod_target_choice(const pod_target *t)
{
    return (pod_choice){.cpu = t->cpu, .impl = t->impl, .rates = t->rates};
}

/* `count` products of matrices, (rows, depth) by (depth, cols). A convolution is one: of its passes
 * forward reads images as (N P Q, R S C), the gradient of the images as (N H W, R S K / stride^2),
 * that of the filters sums over all N P Q. */
typedef struct pod_product {
    double count, rows, cols, depth;
} pod_product;

/* The work of a node on values of given shapes. */
typedef struct pod_cost {
    double matrix_flops; /* two a multiply-add of matrix products and convolutions */
    pod_product product; /* where a matrix unit can do these; none of a depthwise convolution */
    /* Everything else, one an element and operation; a function such as exp is about ten, as a
     * polynomial of vector operations is. */
    double vector_ops;
    double bytes_read, bytes_written;
} pod_cost;

/* How an op goes over its largest value; whether ops can do so together, in one pass over memory,
 * on a machine whose compiler joins them. */
typedef enum pod_sweep {
    POD_SWEEP_OWN,  /* in a way of its own */
    POD_SWEEP_EACH, /* element by element, values of a channel or a sample beside them */
    POD_SWEEP_SUMS  /* the same, and adds up: what comes out is much smaller, but for a copy of
                       what was added up */
} pod_sweep;

/* Runs an instruction. in, out and scratch are ready; nothing may fail or allocate. When
 * out[k] is in[j] (see in_place) both pointers are equal. */
typedef void pod_run_fn(const void *attr, const void *const in[], void *const out[], void *scratch);

/* The arguments of lowering. Types are the graph's, with their sharding; the shapes are those on
 * one core. */
typedef struct pod_lower_args {
    const pod_node *node;
    const pod_type *in, *out;
    const pod_shape *in_local, *out_local;
    const pod_mesh *mesh;
    const pod_target *target;
    pod_arena *arena; /* for the attr; lives as long as the program */
} pod_lower_args;

typedef struct pod_lowering {
    pod_run_fn *run;
    const void *attr; /* in the arena; the first attr_bytes are hashed: no pointers, no padding */
    size_t attr_bytes;
    size_t scratch_bytes;
    const char *impl;             /* name of the kernel: "blas", "avx512", "ref" */
    const char *const *step_impl; /* of an op that runs others: that of each */
    int8_t in_place[POD_MAX_OUT]; /* out k may take the memory of in in_place[k]; -1: it may not */
} pod_lowering;

/* How a node would take a weight packed as its kernel likes it. */
typedef struct pod_packing {
    int input;        /* that is to be packed; the node that packs reads what was cast to it */
    size_t bytes;     /* of the packed weight; 0: the kernel takes none */
    const pod_op *op; /* that packs: float32 or bfloat16 -> bytes */
    const void *attr; /* of the node from then on, and of the node that packs */
    size_t attr_bytes;
} pod_packing;

typedef enum pod_op_kind {
    POD_OP_RUN,       /* becomes an instruction */
    POD_OP_INPUT,     /* fed by the host; attr is an int32_t, the batch_dim of pod_input */
    POD_OP_VARIABLE,  /* lives in the store */
    POD_OP_VIEW,      /* its output is its input's memory: no instruction */
    POD_OP_COLLECTIVE /* becomes a start and a wait; only passes make it */
} pod_op_kind;

enum { POD_N_OUT_IS_N_IN = -1 };

struct pod_op {
    const char *name;
    pod_op_kind kind;
    int n_in, n_more; /* inputs that it needs, and that it may have behind them */
    int n_out;        /* POD_N_OUT_IS_N_IN: as many as inputs */
    /* false: an input that is a sum or varies over cores is reduced before this op sees it. true:
     * the op takes this core's own part, and infer says what comes out; where infer answers
     * E_UNSUPPORTED (an add of a sum and a whole value), all inputs are to be reduced first. */
    bool takes_parts;
    /* Bits of inputs that are sums over samples, wanted over those of a whole group of cores that
     * share batch norm's statistics; of what the cores of all groups hold they stay parts. */
    uint32_t of_group;
    /* The op works element by element on all its values but scalars, and its run attr begins with
     * an int64_t, their count: run with another count on pointers moved alike, it does so many. */
    bool by_element;
    /* How its values lie to samples, a letter each, inputs > outputs: 's' its first dimension is
     * samples; 'w' it has none; '+' a sum over samples, float32. Run on some of the samples, the op
     * does these alone. A node of fewer inputs has the first letters. NULL: it takes all at
     * once. */
    const char *by_sample;
    pod_sweep sweep;
    /* Made in one pass over memory: backward may make the outputs again rather than keep them. */
    bool is_cheap;
    /* Types of the outputs, with shape, dtype, split, sum and vary, from those of the inputs. The
     * error's text names the inputs' shapes, but neither op nor label: pod_op_infer and pod_op_add
     * put them before it. NULL for leaves: the builder gives their types. */
    pod_status (*infer)(const pod_node *n, const pod_type in[], int n_in, pod_type out[]);
    /* Appends the gradient's nodes. d_out[k] has id 0 where no gradient comes in (never for all);
     * d_in[j] is wanted where need[j], and left 0 where there is none. NULL: not differentiable. */
    void (*grad)(pod_graph *g, const pod_node *n, const pod_value d_out[], const bool need[],
                 pod_value d_in[]);
    /* Vector operations an element of the first input or output, whichever has more of them. */
    double ops_each;
    /* NULL: every input is read once, every output written once, and ops_each. */
    void (*cost)(const pod_node *n, const pod_type in[], const pod_type out[], pod_cost *cost);
    /* Asked before lowering; the attr goes into the arena. NULL: never. */
    pod_status (*packing)(const pod_lower_args *args, pod_packing *out);
    /* Only for POD_OP_RUN. The calls were checked by infer; E_NOMEM is the usual failure. */
    pod_status (*lower)(const pod_lower_args *args, pod_lowering *lowering);
};

/* Every op by its name: pod_op_named.copy. */
extern const struct pod_op_names {
#define POD_OP(name) const pod_op *name;
#include "runtime/ops/ops.def"
#undef POD_OP
} pod_op_named;

const pod_op *const *pod_ops(int *n);        /* the order of ops.def */
const pod_op *pod_op_find(const char *name); /* NULL: there is none */

/* Adds a node through infer. Sticky: if any input has id 0, or inference fails (its text recorded
 * in the graph), every output has id 0. Writes op->n_out values. The label is the scope, or the
 * op's name outside any scope. */
void pod_op_add(pod_graph *g, const pod_op *op, const void *attr, size_t attr_bytes,
                const pod_value in[], int n_in, pod_value out[]);
pod_value pod_op_add1(pod_graph *g, const pod_op *op, const void *attr, size_t attr_bytes,
                      const pod_value in[], int n_in);

/* Values that are dealt out as one sequence begin at multiples of a line: the elements one
 * takes. */
int64_t pod_shard_padded(int64_t count);

/* The work of a node on values of these types; nothing where it becomes no instruction of its own. */
pod_cost pod_op_cost(const pod_node *n, const pod_type in[], const pod_type out[]);

pod_cost pod_op_cost_in(const pod_graph *g, const pod_node *n); /* a node of g */

/* Inference again over types that were spread: for passes. */
POD_MUST pod_status pod_op_infer(const pod_node *n, const pod_type in[], pod_type out[]);

#endif
