/* Which convolutions of few channels are taken, how they are cut and how filters are packed. */
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/conv/amx_few/few.h"
#include "kernels/conv/amx_few/pairs.h"

pod__few pod__few_of(const pod_conv_call *call)
{
    const pod__amx_view v = pod__amx_view_at(call, 0);
    pod__few x = {.view = v, .folds = v.c < POD__FEW_CHANNELS};
    const int64_t last = pod_min(v.h - 1, v.top + (v.p - 1) * v.step + v.r - 1);
    x.window_rows = x.folds ? 1 : v.r;
    x.n_rows = v.step == 1 ? pod_div_up(v.q, 2) : v.q;
    x.n_units = pod_div_up(x.n_rows, POD__AMX_ROWS);
    x.n_pieces = pod_div_up(x.n_rows + 1, POD__FEW_PIECE);
    x.pitch =
        pod_max(x.n_units * POD__AMX_ROWS + 1, x.n_pieces * POD__FEW_PIECE) * POD__AMX_LINE_BYTES;
    x.first = x.folds ? 0 : pod_max(0, v.top);
    x.n_seen = x.folds ? v.p : last - x.first + 1;
    /* Those of four lines of output: at stride 1 up to 8 rows, at stride 2, or where a line is an
     * image or half of one, 12. */
    x.n_ring = v.step == 1 && v.p > 2 ? 8 : 16;
    return x;
}

bool pod__few_takes(const pod_conv_call *call)
{
    const int64_t least = 12; /* of a tile's 16 rows: with fewer used it is not the faster way */
    const pod_conv_shape *s = &call->shape;
    if (call->pass == POD_CONV_INPUT_GRAD && s->stride != 1) return false;
    if (s->r > POD__FEW_ROWS || s->s > 3 || s->r < 2 || s->s < 2) return false;
    const pod__few x = pod__few_of(call);
    const pod__amx_view *v = &x.view;
    const bool wide = (v->step == 1 && v->width == 16) || (v->step == 2 && v->width == 32);
    const bool deep = x.folds
                          ? v->r * v->c <= POD__FEW_CHANNELS && !(call->fused & POD_CONV_AFFINE_X)
                          : v->c == POD__FEW_CHANNELS;
    return wide && deep && x.n_rows >= least && x.n_seen > 0;
}

/* ---- filters -------------------------------------------------------------------------------- */

size_t pod__few_packed_bytes(const pod_conv_call *call)
{
    if (pod__few_pairs_takes(call)) return pod__few_pairs_packed_bytes();
    const pod__few x = pod__few_of(call);
    return pod__few_weight_bytes(&x);
}

static pod_bf16 weight(const pod_conv_call *call, const pod__amx_view *v, pod_dtype from,
                       const void *w, int64_t filter, int64_t r, int64_t s, int64_t c)
{
    const pod_conv_shape *shape = &call->shape;
    const int64_t at =
        call->pass == POD_CONV_FORWARD
            ? ((filter * shape->r + r) * shape->s + s) * shape->c + c
            : ((c * shape->r + v->r - 1 - r) * shape->s + v->s - 1 - s) * shape->c + filter;
    return from == POD_BF16 ? ((const pod_bf16 *)w)[at] : pod_bf16_from_f32(((const float *)w)[at]);
}

/* For each row of a window, for its first two pixels and its next two: two tiles, the window at the
 * first pixel and at the second, or the first 16 filters and the next. */
void pod__few_pack(const pod_conv_call *call, pod_dtype from, const void *w, void *packed)
{
    if (pod__few_pairs_takes(call)) {
        pod__few_pairs_pack(call, from, w, packed);
        return;
    }
    const pod__few x = pod__few_of(call);
    const pod__amx_view *v = &x.view;
    pod_bf16 *to = packed;
    memset(packed, 0, pod__few_weight_bytes(&x));
    for (int64_t filter = 0; filter < v->width; filter++)
        for (int64_t r = 0; r < v->r; r++)
            for (int64_t s = 0; s < v->s; s++)
                for (int64_t c = 0; c < v->c; c++) {
                    const pod_bf16 value = weight(call, v, from, w, filter, r, s, c);
                    const int64_t channel = x.folds ? r * v->c + c : c;
                    for (int64_t i = 0; i < (v->step == 1 ? 2 : 1); i++) {
                        const int64_t pixel = s + i, half = v->step == 1 ? i : filter / 16;
                        const int64_t tile = (x.folds ? 0 : r) * 4 + pixel / 2 * 2 + half;
                        const int64_t value_at = pixel % 2 * POD__FEW_CHANNELS + channel;
                        to[(tile * 16 + value_at / 2) * 32 + filter % 16 * 2 + value_at % 2] =
                            value;
                    }
                }
}
