/* Element types. */
#ifndef MINIPOD_KERNELS_BASE_DTYPE_H
#define MINIPOD_KERNELS_BASE_DTYPE_H

#include <stddef.h>

typedef enum pod_dtype {
    POD_F32,
    POD_BF16,
    POD_I32,
    POD_U8,
    POD_BINNED, /* a sum that is the same in any order: kernels/base/binned.h */
    POD_N_DTYPES
} pod_dtype;

static inline size_t pod_dtype_bytes(pod_dtype t)
{
    static const size_t bytes[POD_N_DTYPES] = {4, 2, 4, 1, 16};
    return bytes[t];
}

static inline const char *pod_dtype_name(pod_dtype t)
{
    static const char *const name[POD_N_DTYPES] = {"f32", "bf16", "i32", "u8", "binned"};
    return name[t];
}

#endif
