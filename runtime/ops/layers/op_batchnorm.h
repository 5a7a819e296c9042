/* Parts that the ops of plain and of fused batch norm share. For this folder only. */
#ifndef MINIPOD_RUNTIME_OPS_OP_BATCHNORM_H
#define MINIPOD_RUNTIME_OPS_OP_BATCHNORM_H

#include "runtime/ops/fused.h"
#include "runtime/ops/op_common.h"

/* Activations of two or more dimensions, whole or split. */
pod_status pod__bn_want_images(const char *what, const pod_type *t);
/* Like x, but beside an x in bf16 it may be float32. */
pod_status pod__bn_want_beside(const pod_type *x, const char *what, const pod_type *t);
/* `images`, of the type that the node's attr says. */
pod_type pod__bn_stored(const pod_node *n, const pod_type *images);
/* Two values of x's channels, such as mean and rstd: they vary alike, and are summed. */
pod_status pod__bn_want_pair(const pod_type *x, const char *name0, const pod_type *in0,
                             const char *name1, const pod_type *in1);
/* dgamma and dbeta must be sums over the samples of which mean and rstd are the moments: they are
 * parts over the mesh dimensions over which those vary. */
pod_status pod__bn_want_sums_of_group(const pod_bn_attr *attr, const pod_type *x,
                                      const pod_type *mean, const pod_type *dgamma,
                                      const pod_type *dbeta);
/* The rows of which each core that holds a part of the sums has counted its own. */
double pod__bn_own_rows(double rows, const pod_lower_args *args, int in);

/* In an attr: the rows of x, and pod_norm_types. */
typedef struct pod__bn_rows {
    int64_t rows, c;
    int32_t set;
    int8_t x, beside, out, unused;
} pod__bn_rows;
/* Returns the rows of x = in[0], of in[beside] and of out[out]; -1 means that there is none. */
pod__bn_rows pod__bn_rows_of(const pod_lower_args *args, int beside, int out);
pod_norm_types pod__bn_types(const pod__bn_rows *a);
/* The first of the two inputs that is of the type of output k, which then may take its place; -1:
 * neither is, or `second` is -1. */
int8_t pod__bn_in_place(const pod_lower_args *args, int k, int first, int second);

#endif
