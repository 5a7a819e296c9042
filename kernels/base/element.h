/* Access to an element of a tensor of float32 or bf16, for reference kernels. */
#ifndef MINIPOD_KERNELS_BASE_ELEMENT_H
#define MINIPOD_KERNELS_BASE_ELEMENT_H

#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/base/dtype.h"

/* `t` is POD_F32 or POD_BF16. */
static inline float pod_element_get(pod_dtype t, const void *data, int64_t i)
{
    return t == POD_BF16 ? pod_bf16_to_f32(((const pod_bf16 *)data)[i]) : ((const float *)data)[i];
}

/* Rounds if t is bf16. */
static inline void pod_element_put(pod_dtype t, void *data, int64_t i, float value)
{
    if (t == POD_BF16)
        ((pod_bf16 *)data)[i] = pod_bf16_from_f32(value);
    else
        ((float *)data)[i] = value;
}

/* Returns the address of element i. */
static inline const void *pod_element_at(pod_dtype t, const void *data, int64_t i)
{
    return (const char *)data + i * (int64_t)pod_dtype_bytes(t);
}

#endif
