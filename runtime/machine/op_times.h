/* Measured times of ops on a machine: points to interpolate between. */
#ifndef MINIPOD_RUNTIME_MACHINE_OP_TIMES_H
#define MINIPOD_RUNTIME_MACHINE_OP_TIMES_H

#include <stdint.h>

#include "kernels/base/dtype.h"
#include "kernels/base/status.h"

enum { POD_OP_TIME_NAME_BYTES = 24, POD_MAX_OP_TIMES = 2048 };

/* One call of an op on one core. `columns` and `width` are those of its first input and of the
 * largest of its other values: the last dimension (channels), and the dimension before it (the
 * width of an image); 1 if there is none. */
typedef struct pod_op_time {
    char op[POD_OP_TIME_NAME_BYTES], impl[POD_OP_TIME_NAME_BYTES];
    int32_t dtype; /* pod_dtype of the first input */
    int32_t columns[2], width[2];
    double flops; /* of matmuls and convolutions, else vector operations */
    double bytes; /* read and written */
    double us;
} pod_op_time;

typedef struct pod_op_times { /* a value without pointers */
    int32_t n;
    pod_op_time at[POD_MAX_OP_TIMES];
} pod_op_times;

/* Fails with E_NOMEM if there is no room. */
POD_MUST pod_status pod_op_times_add(pod_op_times *t, const pod_op_time *point);

/* "conv2d_dx bf16 amx 16x32 16x32 75497472 1048576 129.5": op, type, kernel, columns x width of
 * both, flops, bytes, microseconds. */
POD_MUST pod_status pod_op_time_parse(const char *what, const char *text, pod_op_time *out);
const char *pod_op_time_print(const pod_op_time *p, char *text, size_t text_bytes);

/* Return the microseconds of a call like `like`, whose `us` is not read; 0 if no such call was
 * measured. From points of the same op, type and kernel they interpolate the logarithm of the time
 * per FLOP (per byte without FLOPs), with weights that fall with the distance (Shepard, "A
 * two-dimensional interpolation function for irregularly-spaced data", 1968) in powers of two of
 * columns, widths, FLOPs per byte, and bytes. The result is exact at a point, and between the least
 * and the greatest of them elsewhere. pod_op_times_estimate uses other kernels of the op if this
 * one has no point. */
double pod_op_times_of_kernel(const pod_op_times *t, const pod_op_time *like);
double pod_op_times_estimate(const pod_op_times *t, const pod_op_time *like);

#endif
