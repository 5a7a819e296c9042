#include "kernels/gemm/gemm.h"

#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/gemm/blas.h"
#include "kernels/gemm/gemm_kernels.h"

static const pod_gemm_kernel kernels[] = {
#define NAMED(id_name, id_needs, id)                                         \
    .name = id_name, .needs = id_needs, .why_not = pod__gemm_##id##_why_not, \
    .scratch_bytes = pod__gemm_##id##_scratch_bytes, .run = pod__gemm_##id##_run
#define PACKING(id)                     .packed_bytes = pod__gemm_##id##_packed_bytes, .pack = pod__gemm_##id##_pack
#define POD_GEMM(name, needs, id)       {NAMED(name, needs, id)},
#define POD_GEMM_PACKS(name, needs, id) {NAMED(name, needs, id), PACKING(id)},
#define POD_GEMM_ADVISED(name, needs, id) \
    {NAMED(name, needs, id), PACKING(id), .slow = pod__gemm_##id##_slow},
#include "kernels/gemm/gemm.def"
#undef POD_GEMM
#undef POD_GEMM_PACKS
#undef POD_GEMM_ADVISED
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

/* ---- which kernel ---- */

/* Products by what limits them. Kinds are told apart by the first that fits. */
typedef enum shape_kind { NARROW, SHORT, SMALL, LARGE, N_SHAPE_KINDS } shape_kind;

static const struct {
    const char *f32, *bf16;
    pod_gemm_shape typical;
} kinds[N_SHAPE_KINDS] = {
    [NARROW] = {"gemm.f32.narrow", "gemm.bf16.narrow", {1024, 10, 256}}, /* few rows or columns */
    [SHORT] = {"gemm.f32.short", "gemm.bf16.short", {1024, 256, 16}},    /* few products a sum */
    [SMALL] = {"gemm.f32.small", "gemm.bf16.small", {64, 64, 64}},
    [LARGE] = {"gemm.f32.large", "gemm.bf16.large", {512, 256, 512}},
};

static shape_kind shape_kind_of(pod_gemm_shape s)
{
    const double small = 1e6; /* multiply-adds */
    if (s.m < 16 || s.n < 16) return NARROW;
    if (s.k < 32) return SHORT;
    return (double)s.m * (double)s.n * (double)s.k < small ? SMALL : LARGE;
}

const char *pod_gemm_kind(const pod_gemm_call *call)
{
    const shape_kind kind = shape_kind_of(call->shape);
    return call->ab_dtype == POD_F32 ? kinds[kind].f32 : kinds[kind].bf16;
}

const char *pod_gemm_kind_at(int i, pod_gemm_call *typical)
{
    if (i >= 2 * N_SHAPE_KINDS) return NULL;
    const pod_dtype type = i % 2 ? POD_F32 : POD_BF16;
    const pod_gemm_shape s = kinds[i / 2].typical;
    *typical = (pod_gemm_call){.shape = s,
                               .n_batch = 1,
                               .ab_dtype = type,
                               .c_dtype = type,
                               .lda = s.k,
                               .ldb = s.n,
                               .ldc = s.n};
    return pod_gemm_kind(typical);
}

/* OpenBLAS by the kernels that it took; NULL: those for AVX-512. */
static const char *blas_rated_as(void)
{
    const uint32_t features = pod_blas_features();
    if (features & POD_CPU_AVX512) return NULL;
    return features & POD_CPU_AVX2 ? "blas.avx2" : "blas.sse";
}

int pod_gemm_candidates(const pod_gemm_call *call, pod_candidate out[POD_MAX_CANDIDATES])
{
    _Static_assert((int)N_KERNELS <= (int)POD_MAX_CANDIDATES, "more room for candidates");
    for (int i = 0; i < N_KERNELS; i++) {
        const pod_gemm_kernel *k = &kernels[i];
        const char *lacks = pod_cpu_why_not(k->needs);
        out[i] = (pod_candidate){
            .name = k->name, .needs = k->needs, .refusal = lacks ? lacks : k->why_not(call)};
        if (!out[i].refusal && k->slow) out[i].slow = k->slow(call);
        if (strcmp(k->name, "blas") == 0) out[i].rated_as = blas_rated_as();
    }
    return N_KERNELS;
}

const pod_gemm_kernel *pod_gemm_pick(const pod_choice *how, const pod_gemm_call *call)
{
    pod_candidate candidate[POD_MAX_CANDIDATES];
    const int n = pod_gemm_candidates(call, candidate);
    return &kernels[pod_choose(how, pod_gemm_kind(call), candidate, n)];
}

/* ---- checks ---- */

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
