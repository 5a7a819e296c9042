/* What the ops of a plain and of a fused batch normalization share. For this folder only. */
#ifndef MINIPOD_RUNTIME_OPS_OP_BATCHNORM_H
#define MINIPOD_RUNTIME_OPS_OP_BATCHNORM_H

#include "runtime/ops/op_common.h"

/* rows: of the whole x. Of bn_apply: infinite where the statistics are fixed; the gradients that
 * are made of it inherit it. */
typedef struct pod__bn_attr {
    double rows;
} pod__bn_attr;

/* Activations of two or more dimensions, whole or split. */
pod_status pod__bn_want_images(const char *what, const pod_type *t);
/* Two values of x's channels, such as mean and rstd: they vary alike, and are summed. */
pod_status pod__bn_want_pair(const pod_type *x, const char *name0, const pod_type *in0,
                             const char *name1, const pod_type *in1);
/* dgamma and dbeta must be sums over the samples of which mean and rstd are the moments: they are
 * parts over the mesh dimensions over which those vary. */
pod_status pod__bn_want_sums_of_group(const pod__bn_attr *attr, const pod_type *x,
                                      const pod_type *mean, const pod_type *dgamma,
                                      const pod_type *dbeta);
/* The rows of which each core that holds a part of the sums has counted its own. */
double pod__bn_own_rows(double rows, const pod_lower_args *args, int in);

#endif
