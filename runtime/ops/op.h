/* One op, and all that is known of it. Each op is one file, op_<name>.c, and one line in
 * ops.def. */
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

/* `count` matmuls, (rows, depth) by (depth, cols). A convolution is one as well: forward reads
 * images as (N P Q, R S C), the gradient of the images as (N H W, R S K / stride^2), and the
 * gradient of the filters sums over all N P Q. */
typedef struct pod_product {
    double count, rows, cols, depth;
} pod_product;

/* The work of a node on values of given shapes. */
typedef struct pod_cost {
    double matrix_flops; /* two per multiply-add of matmuls and convolutions */
    pod_product product; /* these, if a matrix unit can do them; none for depthwise convolutions */
    /* Other work, one per element and operation; a function such as exp counts about ten, like a
     * polynomial of vector operations. */
    double vector_ops;
    double bytes_read, bytes_written;
} pod_cost;

/* How an op traverses its largest value: whether a compiler can join ops in one pass over
 * memory. */
typedef enum pod_sweep {
    POD_SWEEP_OWN,  /* in some other way */
    POD_SWEEP_EACH, /* element by element, with values per channel or per sample */
    POD_SWEEP_SUMS  /* the same, with sums as outputs, which are much smaller, and perhaps a copy of
                       the summands */
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
    const char *const *step_impl; /* for an op that runs others: the kernel of each */
    int8_t in_place[POD_MAX_OUT]; /* output k may use the memory of input in_place[k]; -1: none */
} pod_lowering;

/* A weight of a node, packed for its kernel. */
typedef struct pod_packing {
    int input;        /* the input to pack; the packing node reads it before its cast */
    size_t bytes;     /* of the packed weight; 0: the kernel takes no packed weight */
    const pod_op *op; /* the op that packs: float32 or bfloat16 -> bytes */
    const void *attr; /* attribute of this node from then on, and of the packing node */
    size_t attr_bytes;
} pod_packing;

typedef enum pod_op_kind {
    POD_OP_RUN,       /* becomes an instruction */
    POD_OP_INPUT,     /* fed by the host; attr is an int32_t, the batch_dim of pod_input */
    POD_OP_VARIABLE,  /* lives in the store */
    POD_OP_VIEW,      /* its output is its input's memory: no instruction */
    POD_OP_COLLECTIVE /* becomes a start and a wait; only passes add it */
} pod_op_kind;

enum { POD_N_OUT_IS_N_IN = -1 };

struct pod_op {
    const char *name;
    pod_op_kind kind;
    int n_in, n_more; /* required inputs, and optional ones after them */
    int n_out;        /* POD_N_OUT_IS_N_IN: as many as inputs */
    /* false: an input that is a sum or varies over cores is reduced before this op. true: the op
     * works on this core's summand, and infer gives the type of the result; if infer returns
     * E_UNSUPPORTED (an add of a sum and a whole value), all inputs are reduced first. */
    bool takes_parts;
    /* Bits of the inputs that must be summed over the samples of a group of cores that share batch
     * norm's statistics. They remain summands of the sum over all groups. */
    uint32_t of_group;
    /* The op works element by element on all its values but scalars, and its run attr begins with
     * their count, an int64_t: with another count and shifted pointers it processes so many. */
    bool by_element;
    /* How its values depend on samples, one letter each, inputs > outputs, as in "sw>s+": 's' the
     * first dimension counts samples; 'w' no dimension does, as in a weight; '+' an output that is
     * a float32 sum over samples. The op can run on some of the samples alone. A node with fewer
     * inputs has the first letters. NULL: it needs all samples at once. */
    const char *by_sample;
    pod_sweep sweep;
    /* One pass over memory: backward may recompute the outputs instead of keeping them. */
    bool is_cheap;
    /* Computes the types of the outputs (shape, dtype, split, sum and vary) from those of the
     * inputs. The text of an error names the shapes of the inputs; pod_op_infer and pod_op_add
     * prepend op and label. NULL for leaves, whose types the builder gives. */
    pod_status (*infer)(const pod_node *n, const pod_type in[], int n_in, pod_type out[]);
    /* Appends the nodes of the gradient. d_out[k] has id 0 if output k has no gradient (never all
     * of them); d_in[j] is needed if need[j], and stays 0 if there is none. NULL: not
     * differentiable. */
    void (*grad)(pod_graph *g, const pod_node *n, const pod_value d_out[], const bool need[],
                 pod_value d_in[]);
    /* Vector operations per element of the first input or output, whichever is larger. */
    double ops_each;
    /* NULL: every input is read once, every output written once, and ops_each. */
    void (*cost)(const pod_node *n, const pod_type in[], const pod_type out[], pod_cost *cost);
    /* Called before lowering; the attr is in the arena. NULL: the op packs nothing. */
    pod_status (*packing)(const pod_lower_args *args, pod_packing *out);
    /* For POD_OP_RUN only. infer has checked the types; E_NOMEM is the usual failure. */
    pod_status (*lower)(const pod_lower_args *args, pod_lowering *lowering);
};

/* Every op by its name: pod_op_named.copy. */
extern const struct pod_op_names {
#define POD_OP(name) const pod_op *name;
#include "runtime/ops/ops.def"
#undef POD_OP
} pod_op_named;

const pod_op *const *pod_ops(int *n);        /* in the order of ops.def */
const pod_op *pod_op_find(const char *name); /* NULL: there is none */

/* Adds a node with inference. Sticky: if an input has id 0, or inference fails (the graph records
 * its text), every output has id 0. Writes op->n_out values. The label is the scope, or the name of
 * the op outside any scope. */
void pod_op_add(pod_graph *g, const pod_op *op, const void *attr, size_t attr_bytes,
                const pod_value in[], int n_in, pod_value out[]);
pod_value pod_op_add1(pod_graph *g, const pod_op *op, const void *attr, size_t attr_bytes,
                      const pod_value in[], int n_in);

/* Returns the elements that a value takes in a sharded sequence, where values begin at cache
 * lines. */
int64_t pod_shard_padded(int64_t count);

/* Returns the work of a node on values of these types; zero if it becomes no instruction. */
pod_cost pod_op_cost(const pod_node *n, const pod_type in[], const pod_type out[]);

pod_cost pod_op_cost_in(const pod_graph *g, const pod_node *n); /* a node of g */

/* Repeats inference over types that were split over cores: for passes. */
POD_MUST pod_status pod_op_infer(const pod_node *n, const pod_type in[], pod_type out[]);

#endif
