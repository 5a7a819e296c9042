/* The table entry of an op: types, gradient, cost and kernels. An op is one line in ops.def;
 * related ops share a file op_<name>.c. */
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

/* The target of a compilation: the CPU's features, the preferred kernels, and measured rates. */
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

/* The cost of an op on a machine that has no single kernel for it: it runs as matmuls and sweeps,
 * one after the other, with scores (or logits) in memory between them. */
typedef struct pod_unfused {
    /* Number of matrices of scores, product.rows x product.cols each; 0: the op runs in one way
     * only. */
    double matrices;
    double score_bytes;
    double matmuls;    /* per matrix, instead of those of `product` */
    double vector_ops; /* instead of pod_cost.vector_ops */
    double passes;  /* over all scores, besides the one that leaves them for backward or reads those
                          of forward */
    double at_once; /* sets of scores that exist at the same time */
    int beside;     /* index among inputs and outputs: the value that exists as long as the scores
                          that forward leaves for backward */
} pod_unfused;

/* The work of a node, given the shapes of its values. */
typedef struct pod_cost {
    double matrix_flops; /* two per multiply-add of matmuls and convolutions */
    /* The matmuls that run; count 0: not for matrix units (depthwise). They are those of
     * matrix_flops, except that the gradients of attention and of vocab_loss also compute scores
     * and logits again. */
    pod_product product;
    /* All other work: one per element and operation. A function such as exp counts about ten, as
     * many as the terms of its polynomial; a random number counts one, as TPUs have an instruction
     * for it. */
    double vector_ops;
    double bytes_read, bytes_written;
    pod_unfused unfused;
} pod_cost;

/* The way in which an op traverses its largest value. It decides whether a compiler can join ops in
 * one pass over memory. */
typedef enum pod_sweep {
    POD_SWEEP_OWN,  /* in some other way */
    POD_SWEEP_EACH, /* element by element, with values per channel or per sample */
    POD_SWEEP_SUMS /* the same, but the outputs are sums, which are much smaller, and perhaps a copy
                      of the summands */
} pod_sweep;

/* Runs an instruction. in, out and scratch are allocated; the function may neither fail nor
 * allocate. If output k shares the memory of input j (in_place), out[k] == in[j]. */
typedef void pod_run_fn(const void *attr, const void *const in[], void *const out[], void *scratch);

/* The arguments of lowering. in and out are the types in the graph, with their sharding; in_local
 * and out_local are the shapes on one core. */
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
    const char *const *step_impl; /* for the op `tiled`, which runs others: the kernel of each */
    int8_t in_place[POD_MAX_OUT]; /* output k may use the memory of input in_place[k]; -1: none */
} pod_lowering;

/* A weight of a node, packed for its kernel. */
typedef struct pod_packing {
    int input;        /* the input to pack; the packing node reads it before its cast */
    size_t bytes;     /* of the packed weight; 0: the kernel takes no packed weight */
    const pod_op *op; /* the packing op: float32 or bfloat16 -> bytes */
    const void *attr; /* new attribute of this node, and attribute of the packing node */
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
    /* false: an input that is a sum over cores, or varies over them, is all-reduced before this op.
     * true: the op works on this core's summand, and infer gives the type of the result; if infer
     * returns E_UNSUPPORTED (an add of a summand and a complete value), all inputs are all-reduced
     * first. */
    bool takes_parts;
    /* Bit j: input j is first summed over the group of cores that share batch norm's statistics
     * (pod_compile_args.bn_group). It remains a summand of the sum over all groups. */
    uint32_t of_group;
    /* Bit j: input j is first added up over the micro-steps of a step. It remains a summand of the
     * sum over cores. */
    uint32_t of_step;
    /* Only for ops of the update phase, whose variables may be sharded: the op works element by
     * element on all its values but scalars, and its run attr begins with the element count, an
     * int64_t. A smaller count and shifted pointers make it process a range. */
    bool by_element;
    /* If the op can run on some of the samples alone: how each value depends on samples, one letter
     * per input, '>', one per output, as in "sw>s+". 's': the first dimension counts samples; 'w':
     * no dimension does, as in a weight; '+': an output that is a float32 sum over samples. A node
     * without optional inputs uses the first letters. NULL: the op needs all samples at once. */
    const char *by_sample;
    pod_sweep sweep;
    /* The op takes one pass over memory, so that backward may recompute its outputs instead of
     * keeping them. */
    bool is_cheap;
    /* Computes the types of the outputs (shape, dtype, split, sum and vary) from those of the
     * inputs. The text of an error names the shapes of the inputs; pod_op_infer and pod_op_add
     * prepend op and label. NULL for leaves, whose types the builder gives. */
    pod_status (*infer)(const pod_node *n, const pod_type in[], int n_in, pod_type out[]);
    /* Appends the nodes of the gradient. d_out[k] has id 0 if output k has no gradient; at least
     * one has. Sets d_in[j] for every j with need[j]; d_in[j] stays 0 if there is no gradient.
     * NULL: not differentiable. */
    void (*grad)(pod_graph *g, const pod_node *n, const pod_value d_out[], const bool need[],
                 pod_value d_in[]);
    /* Vector operations per element of the first input or output, whichever is larger. */
    double ops_each;
    /* NULL: every input is read once, every output is written once, and ops_each gives the work. */
    void (*cost)(const pod_node *n, const pod_type in[], const pod_type out[], pod_cost *cost);
    /* Says how a weight is to be packed; called before lowering, allocates the attr in the arena.
     * NULL: the op packs nothing. */
    pod_status (*packing)(const pod_lower_args *args, pod_packing *out);
    /* Chooses the kernel; for POD_OP_RUN only. infer has checked the types, so that E_NOMEM is the
     * usual failure. */
    pod_status (*lower)(const pod_lower_args *args, pod_lowering *lowering);
};

/* Every op by its name, as in pod_op_named.copy. */
extern const struct pod_op_names {
#define POD_OP(name) const pod_op *name;
#include "runtime/ops/ops.def"
#undef POD_OP
} pod_op_named;

const pod_op *const *pod_ops(int *n);        /* in the order of ops.def */
const pod_op *pod_op_find(const char *name); /* NULL: there is none */

/* Infers the types of a node's outputs and appends the node. Writes op->n_out values to out.
 * Sticky: if an input has id 0 or inference fails, the graph records the error and every output has
 * id 0. The node's label is the current scope, or the op's name outside any scope. */
void pod_op_add(pod_graph *g, const pod_op *op, const void *attr, size_t attr_bytes,
                const pod_value in[], int n_in, pod_value out[]);
pod_value pod_op_add1(pod_graph *g, const pod_op *op, const void *attr, size_t attr_bytes,
                      const pod_value in[], int n_in);

/* Returns `count` rounded up so that the next value of a sharded sequence begins at a cache
 * line. */
int64_t pod_shard_padded(int64_t count);

/* Returns the work of a node on values of these types; zero unless its op is of kind POD_OP_RUN. */
pod_cost pod_op_cost(const pod_node *n, const pod_type in[], const pod_type out[]);

pod_cost pod_op_cost_in(const pod_graph *g, const pod_node *n); /* a node of g */

/* Infers again, for passes that change the types of inputs. Fails as infer does, with op and label
 * before the text. */
POD_MUST pod_status pod_op_infer(const pod_node *n, const pod_type in[], pod_type out[]);

#endif
