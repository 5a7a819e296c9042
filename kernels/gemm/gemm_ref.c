/* The specification of a matrix product: one float32 sum an element, k ascending. */
#include "kernels/base/element.h"
#include "kernels/gemm/gemm_kernels.h"

static float dot(const pod_gemm_call *c, int64_t batch, int64_t m, int64_t n)
{
    const int64_t a_row = c->trans_a ? 1 : c->lda, a_step = c->trans_a ? c->lda : 1;
    const int64_t b_column = c->trans_b ? c->ldb : 1, b_step = c->trans_b ? 1 : c->ldb;
    const int64_t a = batch * c->stride_a + m * a_row, b = batch * c->stride_b + n * b_column;
    float sum = 0.0f;
    for (int64_t k = 0; k < c->shape.k; k++)
        sum += pod_element_get(c->ab_dtype, c->a, a + k * a_step) *
               pod_element_get(c->ab_dtype, c->b, b + k * b_step);
    return sum;
}

const char *pod__gemm_ref_why_not(const pod_gemm_call *call)
{
    return call->fused & POD_GEMM_PACKED_B ? "it has no packed layout" : NULL;
}

size_t pod__gemm_ref_scratch_bytes(const pod_gemm_call *call)
{
    (void)call;
    return 0;
}

void pod__gemm_ref_run(const pod_gemm_call *c, void *scratch)
{
    (void)scratch;
    for (int64_t batch = 0; batch < c->n_batch; batch++)
        for (int64_t m = 0; m < c->shape.m; m++)
            for (int64_t n = 0; n < c->shape.n; n++) {
                const int64_t at = batch * c->stride_c + m * c->ldc + n;
                float value = dot(c, batch, m, n);
                if (c->beta > 0.0f) value += ((const float *)c->c)[at];
                if (c->fused & POD_GEMM_BIAS) value += c->bias[n];
                if ((c->fused & POD_GEMM_RELU) && value <= 0.0f) value = 0.0f;
                pod_element_put(c->c_dtype, c->c, at, value);
            }
}
