/* The pass that fuses needs to know more of ops than their names: which of their kernels can do
 * more, and the attributes of fused nodes. Builders of models have no use for it. */
#ifndef MINIPOD_RUNTIME_OPS_FUSED_H
#define MINIPOD_RUNTIME_OPS_FUSED_H

#include "runtime/ops/op.h"

/* Attribute of the batch-norm ops that write images: op_batchnorm.c, op_bn_act.c. */
typedef struct pod_bn_attr {
    double rows; /* of the whole x; infinite where the statistics are fixed; gradients inherit it */
    int64_t act; /* of bn_apply_act: POD_NORM_ */
    int64_t stored; /* 1 + the type of the images that come out; 0: as those that go in */
} pod_bn_attr;
/* The node's images come out as this type from now on. */
POD_MUST pod_status pod_bn_store_as(pod_node *node, pod_dtype out, pod_arena *arena);

/* A convolution or product to be changed, and for whom. `samples` are those of one core in
 * one micro-step. */
typedef struct pod_fuse_args {
    const pod_node *node;
    const pod_type *in, *out;
    int64_t samples;
    pod_choice how;
    pod_arena *arena;
} pod_fuse_args;

/* Why no kernel as fast as the node's would do what `bits` say (POD_CONV_, beside those it does);
 * NULL: one would. "" without memory. */
const char *pod_conv2d_why_not(const pod_fuse_args *args, unsigned bits);
/* The node does so from now on: its op and attr; inputs and outputs are the caller's. A convolution
 * becomes conv2d_bias, or conv2d_act, conv2d_sums or conv2d_act_sums, its weight gradient
 * conv2d_dw_act. */
POD_MUST pod_status pod_conv2d_fuse(pod_node *node, unsigned bits, pod_arena *arena);

/* The same of a matmul, with POD_GEMM_ bits and what its result is stored as: it becomes
 * matmul_bias. */
const char *pod_matmul_why_not(const pod_fuse_args *args, unsigned bits, pod_dtype c_dtype);
POD_MUST pod_status pod_matmul_fuse(pod_node *node, unsigned bits, pod_dtype c_dtype,
                                    pod_arena *arena);

#endif
