#include "kernels/conv/conv.h"

#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/conv/conv_kernels.h"
#include "kernels/gemm/blas.h"

static const pod_conv_kernel kernels[] = {
#define POD_CONV(name, needs, id)                                                                 \
    {name, needs, pod__conv_##id##_why_not, pod__conv_##id##_scratch_bytes, pod__conv_##id##_run, \
     NULL, NULL},
#define POD_CONV_PACKS(name, needs, id) \
    {name,                              \
     needs,                             \
     pod__conv_##id##_why_not,          \
     pod__conv_##id##_scratch_bytes,    \
     pod__conv_##id##_run,              \
     pod__conv_##id##_packed_bytes,     \
     pod__conv_##id##_pack},
#include "kernels/conv/conv.def"
#undef POD_CONV
#undef POD_CONV_PACKS
};

enum { N_KERNELS = sizeof kernels / sizeof kernels[0] };

const pod_conv_kernel *pod_conv_kernels(int *n)
{
    *n = N_KERNELS;
    return kernels;
}

const pod_conv_kernel *pod_conv_find(const char *name)
{
    for (int i = 0; i < N_KERNELS; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}

/* ---- which kernel ---- */

/* Convolutions by what limits them. Kinds are told apart by the first that fits. */
typedef enum shape_kind { POINT, POINT_STRIDED, FEW, STRIDED, WINDOW, N_SHAPE_KINDS } shape_kind;

#define NAMES(what)                                                                \
    {                                                                              \
        {"conv.f32." what, "conv.f32." what ".dx", "conv.f32." what ".dw"},        \
            {"conv.bf16." what, "conv.bf16." what ".dx", "conv.bf16." what ".dw"}, \
    }
static const struct {
    const char *name[2][POD_N_CONV_PASSES]; /* [is bf16][pass] */
    pod_conv_shape typical;
} kinds[N_SHAPE_KINDS] = {
    [POINT] = {NAMES("1x1"), {16, 28, 28, 128, 28, 28, 256, 1, 1, 1, 0, 0}},
    [POINT_STRIDED] = {NAMES("1x1.strided"), {16, 28, 28, 128, 14, 14, 256, 1, 1, 2, 0, 0}},
    [FEW] = {NAMES("few"), {2, 64, 64, 3, 32, 32, 64, 7, 7, 2, 3, 3}}, /* few channels */
    [STRIDED] = {NAMES("strided"), {2, 28, 28, 64, 14, 14, 64, 3, 3, 2, 1, 1}},
    [WINDOW] = {NAMES("window"), {2, 28, 28, 64, 28, 28, 64, 3, 3, 1, 1, 1}},
};
#undef NAMES

static shape_kind shape_kind_of(const pod_conv_shape *s)
{
    if (s->r == 1 && s->s == 1) return s->stride > 1 ? POINT_STRIDED : POINT;
    if (s->c < 8) return FEW;
    return s->stride > 1 ? STRIDED : WINDOW;
}

const char *pod_conv_kind(const pod_conv_call *call)
{
    return kinds[shape_kind_of(&call->shape)].name[call->dtype == POD_BF16][call->pass];
}

const char *pod_conv_kind_at(int i, pod_conv_call *typical)
{
    const int n_passes = POD_N_CONV_PASSES;
    if (i >= 2 * n_passes * N_SHAPE_KINDS) return NULL;
    *typical = (pod_conv_call){.shape = kinds[i / (2 * n_passes)].typical,
                               .pass = (pod_conv_pass)(i / 2 % n_passes),
                               .dtype = i % 2 ? POD_F32 : POD_BF16};
    return pod_conv_kind(typical);
}

/* Those made of matrix products are as fast as the kernels for these: rates.def has their rates with
 * OpenBLAS's kernels for AVX-512, with those for AVX2 (and ours, which take their place where
 * OpenBLAS has none), and for bfloat16 on AMX and on AVX512_BF16. */
static const char *rated_as(const char *name, pod_dtype type)
{
    const uint32_t cpu = pod_cpu_features();
    const bool is_avx512 = pod_blas_features() & POD_CPU_AVX512;
    if (strcmp(name, "gemm") == 0) return is_avx512 ? NULL : "gemm.avx2";
    if (strcmp(name, "gemm_1x1") != 0 || cpu & POD_CPU_AMX_BF16) return NULL;
    if (type == POD_BF16 && cpu & POD_CPU_AVX512_BF16) return "gemm_1x1.avx512_bf16";
    return is_avx512 ? "gemm_1x1.avx512" : "gemm_1x1.avx2";
}

int pod_conv_candidates(const pod_conv_call *call, pod_candidate out[POD_MAX_CANDIDATES])
{
    _Static_assert((int)N_KERNELS <= (int)POD_MAX_CANDIDATES, "more room for candidates");
    for (int i = 0; i < N_KERNELS; i++) {
        const pod_conv_kernel *k = &kernels[i];
        const char *lacks = pod_cpu_why_not(k->needs);
        out[i] = (pod_candidate){.name = k->name,
                                 .needs = k->needs,
                                 .refusal = lacks ? lacks : k->why_not(call),
                                 .rated_as = rated_as(k->name, call->dtype)};
    }
    return N_KERNELS;
}

const pod_conv_kernel *pod_conv_pick(const pod_choice *how, const pod_conv_call *call)
{
    pod_candidate candidate[POD_MAX_CANDIDATES];
    const int n = pod_conv_candidates(call, candidate);
    return &kernels[pod_choose(how, pod_conv_kind(call), candidate, n)];
}

/* ---- checks ---- */

pod_status pod_conv_check(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    const struct {
        const char *name;
        int64_t value, min;
    } dims[] = {
        {"n", s->n, 0}, {"h", s->h, 1},           {"w", s->w, 1},         {"c", s->c, 1},
        {"p", s->p, 1}, {"q", s->q, 1},           {"k", s->k, 1},         {"r", s->r, 1},
        {"s", s->s, 1}, {"stride", s->stride, 1}, {"pad_h", s->pad_h, 0}, {"pad_w", s->pad_w, 0},
    };
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++)
        if (dims[i].value < dims[i].min)
            return pod_fail(POD_E_SHAPE, "conv: %s is %lld, need %lld or more", dims[i].name,
                            (long long)dims[i].value, (long long)dims[i].min);
    if (call->pass < 0 || call->pass >= POD_N_CONV_PASSES)
        return pod_fail(POD_E_UNSUPPORTED, "conv: there is no pass %d", (int)call->pass);
    static const unsigned allowed[POD_N_CONV_PASSES] = {
        [POD_CONV_FORWARD] = POD_CONV_PACKED_W | POD_CONV_AFFINE_X | POD_CONV_RELU_X |
                             POD_CONV_BIAS | POD_CONV_RELU | POD_CONV_SUMS,
        [POD_CONV_INPUT_GRAD] = POD_CONV_PACKED_W,
        [POD_CONV_WEIGHT_GRAD] = POD_CONV_AFFINE_X | POD_CONV_RELU_X,
    };
    if (call->fused & ~allowed[call->pass])
        return pod_fail(POD_E_UNSUPPORTED, "conv: pass %d cannot fuse 0x%x", (int)call->pass,
                        call->fused & ~allowed[call->pass]);
    if ((call->fused & POD_CONV_RELU_X) && !(call->fused & POD_CONV_AFFINE_X))
        return pod_fail(POD_E_UNSUPPORTED, "conv: RELU_X comes with AFFINE_X only");
    if (call->dtype != POD_F32 && call->dtype != POD_BF16)
        return pod_fail(POD_E_UNSUPPORTED, "conv: elements are %s, need f32 or bf16",
                        pod_dtype_name(call->dtype));
    return POD_OK;
}

double pod_conv_flops(const pod_conv_shape *s)
{
    return 2.0 * (double)s->n * (double)(s->p * s->q) * (double)(s->r * s->s * s->c) * (double)s->k;
}
