/* Pointwise kernels, plainly: what kernels/pointwise/pointwise.h says, element by element. */
#include <stdbool.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/element.h"
#include "kernels/base/sets.h"
#include "kernels/pointwise/pointwise.h"

static void pointwise_cast(int64_t count, pod_dtype from, const void *x, pod_dtype to, void *y)
{
    POD_ASSERT(from != to, "cast from %s to itself", pod_dtype_name(from));
    for (int64_t i = 0; i < count; i++) pod_element_put(to, y, i, pod_element_get(from, x, i));
}

/* y[i] = x[i] to the bit, or 0. */
static void keep_if(bool keep, pod_dtype t, const void *x, void *y, int64_t i)
{
    const size_t bytes = pod_dtype_bytes(t);
    char *to = (char *)y + i * (int64_t)bytes;
    if (keep)
        memmove(to, pod_element_at(t, x, i), bytes);
    else
        memset(to, 0, bytes);
}

static void pointwise_relu(int64_t count, pod_dtype t, const void *x, void *y)
{
    for (int64_t i = 0; i < count; i++) keep_if(!(pod_element_get(t, x, i) <= 0), t, x, y, i);
}

static void pointwise_relu_grad(int64_t count, pod_dtype t, const void *y, const void *dy, void *dx)
{
    for (int64_t i = 0; i < count; i++) keep_if(pod_element_get(t, y, i) > 0, t, dy, dx, i);
}

static void pointwise_add(int64_t count, pod_dtype t, const void *a, const void *b, void *y)
{
    for (int64_t i = 0; i < count; i++)
        pod_element_put(t, y, i, pod_element_get(t, a, i) + pod_element_get(t, b, i));
}

static void pointwise_bias_add(int64_t rows, int64_t c, pod_dtype t, const void *x,
                               const float *bias, void *y)
{
    for (int64_t i = 0; i < rows * c; i++)
        pod_element_put(t, y, i, pod_element_get(t, x, i) + bias[i % c]);
}

static void pointwise_axpby(int64_t count, float alpha, const float *x, float beta, const float *z,
                            float *y)
{
    if (beta == 0)
        for (int64_t i = 0; i < count; i++) y[i] = alpha * x[i];
    else
        for (int64_t i = 0; i < count; i++) y[i] = alpha * x[i] + beta * z[i];
}

static void pointwise_normalize_u8(int64_t rows, int64_t c, const uint8_t *x, const float *scale,
                                   const float *shift, pod_dtype t, void *y)
{
    for (int64_t i = 0; i < rows * c; i++)
        pod_element_put(t, y, i, (float)x[i] * scale[i % c] + shift[i % c]);
}

const pod_pointwise pod__pointwise_ref = {"ref",
                                          0,
                                          pointwise_cast,
                                          pointwise_relu,
                                          pointwise_relu_grad,
                                          pointwise_add,
                                          pointwise_bias_add,
                                          pointwise_axpby,
                                          pointwise_normalize_u8};

POD_SETS_BF16(pointwise)
