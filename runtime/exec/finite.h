/* Detects NaN and infinity. */
#ifndef MINIPOD_RUNTIME_EXEC_FINITE_H
#define MINIPOD_RUNTIME_EXEC_FINITE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/dtype.h"

/* Returns whether all `count` elements are finite; always true for types other than f32 and
 * bf16. */
bool pod__all_finite(pod_dtype t, const void *data, int64_t count);

#endif
