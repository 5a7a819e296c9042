/* A convolution or depthwise convolution of minipod kernels: its operands, and its outputs by their
 * definition. The three passes share them; what a pass makes is not filled. */
#ifndef MINIPOD_BENCH_KERNELS_CONV_H
#define MINIPOD_BENCH_KERNELS_CONV_H

#include "bench/kernels/kernels.h"

typedef struct pod_convolution {
    pod_operand x, w, y; /* or their gradients */
    pod_operand x_scale, x_shift, bias, sum, sum_sq;
} pod_convolution;

/* Which operand a pass reads first and second, and which it makes. */
typedef struct pod_conv_sides {
    const pod_operand *a, *b, *out;
} pod_conv_sides;

pod_conv_sides pod_convolution_sides(const pod_convolution *o, int pass);

/* A contender's err, in a race with a pod_convolution as operands. */
double pod_convolution_err(const pod_race *r, const pod_contender *c);

#endif
