/* Element types. */
#ifndef MINIPOD_KERNELS_BASE_DTYPE_H
#define MINIPOD_KERNELS_BASE_DTYPE_H

#include <stddef.h>

typedef enum pod_dtype {
    POD_F32,
    POD_BF16,
    POD_I32,
    POD_U8,
    POD_BINNED, /* a sum with the same bits in any order: kernels/base/binned.h */
    POD_F16,    /* from here on for collectives only: kernels/combine */
    POD_F64,
    POD_I8,
    POD_I64,
    POD_U32,
    POD_U64,
    POD_N_DTYPES
} pod_dtype;

static inline size_t pod_dtype_bytes(pod_dtype t)
{
    static const size_t bytes[POD_N_DTYPES] = {4, 2, 4, 1, 16, 2, 8, 1, 8, 4, 8};
    return bytes[t];
}

static inline const char *pod_dtype_name(pod_dtype t)
{
    static const char *const name[POD_N_DTYPES] = {"f32", "bf16", "i32", "u8",  "binned", "f16",
                                                   "f64", "i8",   "i64", "u32", "u64"};
    return name[t];
}

#endif
