#include "kernels/conv/conv.h"

#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/conv/conv_kernels.h"

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

const pod_conv_kernel *pod_conv_pick(uint32_t cpu, const pod_conv_call *call)
{
    const pod_conv_kernel *reference = &kernels[N_KERNELS - 1];
    if (cpu == POD_CPU_REFERENCE_ONLY) return reference;
    for (const pod_conv_kernel *k = kernels; k < reference; k++)
        if ((k->needs & ~cpu) == 0 && !k->why_not(call)) return k;
    return reference;
}

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
