/* Helpers shared by the ops of plain and of fused batch norm. Private to this folder. */
#ifndef MINIPOD_RUNTIME_OPS_LAYERS_OP_BATCHNORM_H
#define MINIPOD_RUNTIME_OPS_LAYERS_OP_BATCHNORM_H

#include "runtime/ops/fused.h"
#include "runtime/ops/op_common.h"

/* Fails with E_SHAPE unless t is float32 or bf16 with two or more dimensions, and neither a summand
 * nor varying. */
pod_status pod__bn_want_images(const char *what, const pod_type *t);
/* Fails with E_SHAPE unless t is the type of x; if x is bf16, t may be float32. */
pod_status pod__bn_want_beside(const pod_type *x, const char *what, const pod_type *t);
/* Returns the type `images` with the element type that the node's attr names. */
pod_type pod__bn_stored(const pod_node *n, const pod_type *images);
/* Fails with E_SHAPE unless both are float32 (C) like x's channels, vary over the same mesh
 * dimensions, and have been summed already. */
pod_status pod__bn_want_pair(const pod_type *x, const char *name0, const pod_type *in0,
                             const char *name1, const pod_type *in1);
/* Fails with E_SHAPE unless dgamma and dbeta sum over the same samples as mean and rstd: they must
 * be summands over exactly the mesh dimensions over which mean varies. Constant statistics
 * (attr->rows infinite) skip that. */
pod_status pod__bn_want_sums_of_group(const pod_bn_attr *attr, const pod_type *x,
                                      const pod_type *mean, const pod_type *dgamma,
                                      const pod_type *dbeta);
/* Returns the number of rows in the sums that one core holds: `rows` divided by the number of cores
 * over which in[in] is a summand. */
double pod__bn_own_rows(double rows, const pod_lower_args *args, int in);

/* Part of a run attr: the rows of x, and the fields of pod_norm_types. */
typedef struct pod__bn_rows {
    int64_t rows, c;
    int32_t set;
    int8_t x, beside, out, unused;
} pod__bn_rows;
/* Returns the rows of x = in[0] and the types of x, in[beside] and out[out]. Index -1 (no such
 * value) gives the type of x. */
pod__bn_rows pod__bn_rows_of(const pod_lower_args *args, int beside, int out);
pod_norm_types pod__bn_types(const pod__bn_rows *a);
/* Returns the first of the two inputs with the element type of output k, which can then be written
 * in that input's memory; -1 if neither has it. `second` may be -1. */
int8_t pod__bn_in_place(const pod_lower_args *args, int k, int first, int second);

#endif
