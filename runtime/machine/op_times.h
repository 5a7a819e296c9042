/* How long ops take on a machine, as it was measured: points, between which one may look. */
#ifndef MINIPOD_RUNTIME_CORE_OP_TIMES_H
#define MINIPOD_RUNTIME_CORE_OP_TIMES_H

#include <stdint.h>

#include "kernels/base/dtype.h"
#include "kernels/base/status.h"

enum { POD_OP_TIME_NAME_BYTES = 24, POD_MAX_OP_TIMES = 2048 };

/* One call of an op on one core. Of its first input and the largest of its other values: elements
 * of a row (the last dimension, channels), and rows side by side (the dimension before, the width
 * of an image); 1 where there are none. */
typedef struct pod_op_time {
    char op[POD_OP_TIME_NAME_BYTES], impl[POD_OP_TIME_NAME_BYTES];
    int32_t dtype; /* pod_dtype of the first input */
    int32_t columns[2], width[2];
    double flops; /* of products and convolutions; else of vector operations */
    double bytes; /* read and written */
    double us;
} pod_op_time;

typedef struct pod_op_times { /* a value without pointers */
    int32_t n;
    pod_op_time at[POD_MAX_OP_TIMES];
} pod_op_times;

/* E_NOMEM when there is no room. */
POD_MUST pod_status pod_op_times_add(pod_op_times *t, const pod_op_time *point);

/* "conv2d_dx bf16 amx 16x32 16x32 75497472 1048576 129.5": op, type, kernel, columns x width of
 * both, flops, bytes, microseconds. */
POD_MUST pod_status pod_op_time_parse(const char *what, const char *text, pod_op_time *out);
const char *pod_op_time_print(const pod_op_time *p, char *text, size_t text_bytes);

/* Microseconds of a call like `like`, whose own are not read. From points of the same op, type and
 * kernel: the time of a FLOP (of a byte where there is none) is interpolated in its logarithm, with
 * weights that fall with the distance (Shepard, "A two-dimensional interpolation function for
 * irregularly-spaced data", 1968), in powers of two of columns, widths, FLOPs a byte, and bytes. It
 * is exact at a point, and within the least and the most of them elsewhere. 0: none was measured.
 * pod_op_times_estimate takes other kernels of the op where that one has no point. */
double pod_op_times_of_kernel(const pod_op_times *t, const pod_op_time *like);
double pod_op_times_estimate(const pod_op_times *t, const pod_op_time *like);

#endif
