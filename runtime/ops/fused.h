/* For the pass `fuse` only: asks whether a kernel can do more in one call, and turns nodes into
 * fused ones. Model code does not use it. */
#ifndef MINIPOD_RUNTIME_OPS_FUSED_H
#define MINIPOD_RUNTIME_OPS_FUSED_H

#include "runtime/ops/op.h"

/* Attribute of the batch-norm ops that write images (op_batchnorm.c, op_bn_act.c). */
typedef struct pod_bn_attr {
    double rows;    /* of x over all cores; infinite if the statistics are constants (evaluation) */
    int64_t act;    /* bn_apply_act's activation: POD_NORM_ */
    int64_t stored; /* 1 + the type of the output images; 0: the type of the input images */
} pod_bn_attr;
/* Makes the node write its images in this type. E_NOMEM. */
POD_MUST pod_status pod_bn_store_as(pod_node *node, pod_dtype out, pod_arena *arena);

/* A convolution or matmul to be fused, and how its kernel is chosen. `samples` counts the samples
 * of one core in one micro-step. */
typedef struct pod_fuse_args {
    const pod_node *node;
    const pod_type *in, *out;
    int64_t samples;
    pod_choice how;
    pod_arena *arena;
} pod_fuse_args;

/* Returns NULL if a kernel about as fast as the node's can also do what `bits` ask for (POD_CONV_,
 * in addition to those of the node), else the reason why none can; "" without memory. */
const char *pod_conv2d_why_not(const pod_fuse_args *args, unsigned bits);
/* Sets the node's op and attr to the fused ones; the caller changes its inputs and outputs. A
 * convolution becomes conv2d_bias, conv2d_act, conv2d_sums or conv2d_act_sums, a weight gradient
 * conv2d_dw_act. E_NOMEM. */
POD_MUST pod_status pod_conv2d_fuse(pod_node *node, unsigned bits, pod_arena *arena);

/* The same for a matmul, with POD_GEMM_ bits and the type that its result is stored as. It becomes
 * matmul_bias. */
const char *pod_matmul_why_not(const pod_fuse_args *args, unsigned bits, pod_dtype c_dtype);
POD_MUST pod_status pod_matmul_fuse(pod_node *node, unsigned bits, pod_dtype c_dtype,
                                    pod_arena *arena);

/* Returns NULL if loss and gradients over a vocabulary gain by one call (vocab_loss_both, of a
 * vocab_loss), else the reason why not. */
const char *pod_vocab_both_why_not(const pod_fuse_args *args);

#endif
