#include "kernels/depthwise/depthwise.h"

pod_status pod_depthwise_check(const pod_depthwise_call *call)
{
    const pod_depthwise_shape *s = &call->shape;
    const struct {
        const char *name;
        int64_t value, min;
    } dims[] = {
        {"n", s->n, 0},           {"h", s->h, 1},         {"w", s->w, 1},         {"c", s->c, 1},
        {"p", s->p, 1},           {"q", s->q, 1},         {"r", s->r, 1},         {"s", s->s, 1},
        {"stride", s->stride, 1}, {"pad_h", s->pad_h, 0}, {"pad_w", s->pad_w, 0},
    };
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++)
        if (dims[i].value < dims[i].min)
            return pod_fail(POD_E_SHAPE, "depthwise: %s is %lld, need %lld or more", dims[i].name,
                            (long long)dims[i].value, (long long)dims[i].min);
    if (call->pass < 0 || call->pass >= POD_N_DEPTHWISE_PASSES)
        return pod_fail(POD_E_UNSUPPORTED, "depthwise: there is no pass %d", (int)call->pass);
    const unsigned allowed = call->pass == POD_DEPTHWISE_FORWARD ? POD_DEPTHWISE_SUMS : 0;
    if (call->fused & ~allowed)
        return pod_fail(POD_E_UNSUPPORTED, "depthwise: pass %d cannot fuse 0x%x", (int)call->pass,
                        call->fused & ~allowed);
    if (call->dtype != POD_F32 && call->dtype != POD_BF16)
        return pod_fail(POD_E_UNSUPPORTED, "depthwise: elements are %s, need f32 or bf16",
                        pod_dtype_name(call->dtype));
    return POD_OK;
}

double pod_depthwise_flops(const pod_depthwise_shape *s)
{
    return 2.0 * (double)s->n * (double)(s->p * s->q) * (double)(s->r * s->s) * (double)s->c;
}
