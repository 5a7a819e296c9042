/* Looking for values that are not finite. */
#ifndef MINIPOD_RUNTIME_EXEC_FINITE_H
#define MINIPOD_RUNTIME_EXEC_FINITE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/dtype.h"

/* Checks f32 and bf16; returns true for other types. */
bool pod__all_finite(pod_dtype t, const void *data, int64_t count);

#endif
