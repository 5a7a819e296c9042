#include "kernels/gemm/gemm.h"

#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/gemm/gemm_kernels.h"

static const pod_gemm_kernel kernels[] = {
#define POD_GEMM(name, needs, id)                                                                 \
    {name, needs, pod__gemm_##id##_why_not, pod__gemm_##id##_scratch_bytes, pod__gemm_##id##_run, \
     NULL, NULL},
#define POD_GEMM_PACKS(name, needs, id) \
    {name,                              \
     needs,                             \
     pod__gemm_##id##_why_not,          \
     pod__gemm_##id##_scratch_bytes,    \
     pod__gemm_##id##_run,              \
     pod__gemm_##id##_packed_bytes,     \
     pod__gemm_##id##_pack},
#include "kernels/gemm/gemm.def"
#undef POD_GEMM
#undef POD_GEMM_PACKS
};

enum { N_KERNELS = sizeof kernels / sizeof kernels[0] };

const pod_gemm_kernel *pod_gemm_kernels(int *n)
{
    *n = N_KERNELS;
    return kernels;
}

const pod_gemm_kernel *pod_gemm_find(const char *name)
{
    for (int i = 0; i < N_KERNELS; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}

const pod_gemm_kernel *pod_gemm_pick(uint32_t cpu, const pod_gemm_call *call)
{
    const pod_gemm_kernel *reference = &kernels[N_KERNELS - 1];
    if (cpu == POD_CPU_REFERENCE_ONLY) return reference;
    for (const pod_gemm_kernel *k = kernels; k < reference; k++)
        if ((k->needs & ~cpu) == 0 && !k->why_not(call)) return k;
    return reference;
}

/* A matrix as it is stored: rows of `width` elements, `ld` apart. */
static pod_status check_matrix(char name, int64_t width, int64_t ld, int64_t stride)
{
    if (ld < width)
        return pod_fail(POD_E_SHAPE, "gemm: %c has a leading dimension of %lld, its rows have %lld",
                        name, (long long)ld, (long long)width);
    if (stride < 0)
        return pod_fail(POD_E_SHAPE, "gemm: %c has a batch stride of %lld, need 0 or more", name,
                        (long long)stride);
    return POD_OK;
}

/* The products of a batch must not write over each other: they lie one behind the other, or side by
 * side in the same rows. */
static pod_status check_outputs_apart(const pod_gemm_call *c)
{
    const pod_gemm_shape s = c->shape;
    if (c->n_batch < 2 || s.m == 0 || s.n == 0) return POD_OK;
    const int64_t behind = (s.m - 1) * c->ldc + s.n;
    const int64_t side_by_side = (c->n_batch - 1) * c->stride_c + s.n;
    if (c->stride_c >= behind || (c->stride_c >= s.n && side_by_side <= c->ldc)) return POD_OK;
    return pod_fail(POD_E_SHAPE,
                    "gemm: C has a batch stride of %lld, so that products of %lld x %lld overlap",
                    (long long)c->stride_c, (long long)s.m, (long long)s.n);
}

pod_status pod_gemm_check(const pod_gemm_call *c)
{
    const pod_gemm_shape s = c->shape;
    if (s.m < 0 || s.n < 0 || s.k < 0 || c->n_batch < 0)
        return pod_fail(POD_E_SHAPE, "gemm: (m, n, k) x batch is (%lld, %lld, %lld) x %lld",
                        (long long)s.m, (long long)s.n, (long long)s.k, (long long)c->n_batch);
    POD_TRY(check_matrix('A', c->trans_a ? s.m : s.k, c->lda, c->stride_a));
    POD_TRY(check_matrix('B', c->trans_b ? s.k : s.n, c->ldb, c->stride_b));
    POD_TRY(check_matrix('C', s.n, c->ldc, c->stride_c));
    POD_TRY(check_outputs_apart(c));
    if (c->ab_dtype != POD_F32 && c->ab_dtype != POD_BF16)
        return pod_fail(POD_E_UNSUPPORTED, "gemm: A and B are %s, need f32 or bf16",
                        pod_dtype_name(c->ab_dtype));
    if (c->c_dtype != POD_F32 && c->c_dtype != POD_BF16)
        return pod_fail(POD_E_UNSUPPORTED, "gemm: C is %s, need f32 or bf16",
                        pod_dtype_name(c->c_dtype));
    const bool overwrites = !(c->beta < 0.0f) && !(c->beta > 0.0f);
    const bool adds = c->beta >= 1.0f && c->beta <= 1.0f;
    if ((c->fused & POD_GEMM_PACKED_B) && c->n_batch != 1)
        return pod_fail(POD_E_UNSUPPORTED, "gemm: a packed B for a batch of %lld, need 1",
                        (long long)c->n_batch);
    if (!overwrites && !(adds && c->c_dtype == POD_F32))
        return pod_fail(POD_E_UNSUPPORTED, "gemm: beta is %g with C in %s, need 0, or 1 with f32",
                        (double)c->beta, pod_dtype_name(c->c_dtype));
    return POD_OK;
}
