/* Softmax cross entropy in vectors, compiled once for each instruction set: exponentials and sums
 * of one row in float32, sums short and combined in double, what is left of a row in double. A row
 * is read from memory once: for its maximum, and then from the cache. */
#include <math.h>
#include <stdbool.h>

#include "kernels/base/assert.h"
#include "kernels/base/simd/simd.h"
#include "kernels/softmax/softmax.h"

enum { MAX_STRIP = 4 }; /* vectors of a row whose maxima are taken side by side */

/* The largest number of the row; -inf where there is none. */
POD_INLINE float row_max(int64_t c, const float *row)
{
    const int64_t strips = c - c % (MAX_STRIP * POD_VEC_LANES);
    pod_vec max[MAX_STRIP];
    float lane[POD_VEC_LANES], top = -INFINITY;
    for (int u = 0; u < MAX_STRIP; u++) max[u] = pod_vec_all(-INFINITY);
    for (int64_t i = 0; i < strips; i += MAX_STRIP * POD_VEC_LANES)
        for (int u = 0; u < MAX_STRIP; u++)
            max[u] = pod_vec_max(pod_vec_load(POD_F32, row, i + u * POD_VEC_LANES, POD_VEC_LANES),
                                 max[u]);
    POD_VEC_EACH(POD_VEC_LANES, c - strips, i, n, {
        const pod_vec v = pod_vec_load(POD_F32, row, strips + i, n);
        max[0] = pod_vec_max(pod_vec_first(n, v, pod_vec_all(-INFINITY)), max[0]);
    });
    for (int u = 1; u < MAX_STRIP; u++) max[0] = pod_vec_max(max[u], max[0]);
    pod_vec_store(POD_F32, lane, 0, POD_VEC_LANES, max[0]);
    for (int k = 0; k < POD_VEC_LANES; k++) top = lane[k] > top ? lane[k] : top;
    return top;
}

POD_INLINE double lanes_sum(double lane[POD_VEC_LANES])
{
    for (int half = POD_VEC_LANES / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++) lane[k] += lane[k + half];
    return lane[0];
}

/* Sums over the row of e^(x - max), which `e` keeps where it is given, and of x - max, which is for
 * `smooth` alone. */
typedef struct row_sums {
    double e, below;
} row_sums;

POD_INLINE row_sums row_sum(bool smooth, int64_t c, const float *row, float max, float *e)
{
    enum { BLOCK = POD_SUM_SWEEPS * POD_VEC_LANES };
    double e_total[POD_VEC_LANES] = {0}, below_total[POD_VEC_LANES] = {0};
    const pod_vec top = pod_vec_all(max), zero = pod_vec_all(0);
    for (int64_t at = 0; at < c; at += BLOCK) {
        const int64_t length = c - at < BLOCK ? c - at : BLOCK;
        pod_vec e_sum = zero, below_sum = zero;
        POD_VEC_EACH(POD_VEC_LANES, length, i, n, {
            const pod_vec below = pod_vec_sub(pod_vec_load(POD_F32, row, at + i, n), top);
            const pod_vec power = pod_vec_exp(below);
            if (e) pod_vec_store(POD_F32, e, at + i, n, power);
            e_sum = pod_vec_add(e_sum, pod_vec_first(n, power, zero));
            if (smooth) below_sum = pod_vec_add(below_sum, pod_vec_first(n, below, zero));
        });
        pod_vec_add_f64(e_sum, e_total);
        if (smooth) pod_vec_add_f64(below_sum, below_total);
    }
    return (row_sums){lanes_sum(e_total), smooth ? lanes_sum(below_total) : 0};
}

POD_INLINE double row_loss(int64_t c, float at_label, float max, double smoothing,
                           const row_sums *of)
{
    const double log_sum = log(of->e), alone = log_sum - ((double)at_label - (double)max);
    if (!(smoothing > 0)) return alone;
    return (1 - smoothing) * alone + smoothing * (log_sum - of->below / (double)c);
}

/* The gradient, from the row's powers of e in its place. */
POD_INLINE void row_grad(int64_t c, int32_t label, double smoothing, float scale, double e_sum,
                         float *row)
{
    const float per_sum = (float)(1 / e_sum), everywhere = (float)(smoothing / (double)c);
    const float at_label = (float)(1 - smoothing + smoothing / (double)c);
    const float of_label = scale * (row[label] * per_sum - at_label);
    const pod_vec by = pod_vec_all(per_sum), target = pod_vec_all(everywhere);
    const pod_vec k = pod_vec_all(scale);
    POD_VEC_EACH(POD_VEC_LANES, c, i, n, {
        const pod_vec p = pod_vec_mul(pod_vec_load(POD_F32, row, i, n), by);
        pod_vec_store(POD_F32, row, i, n, pod_vec_mul(k, pod_vec_sub(p, target)));
    });
    row[label] = of_label;
}

/* Loss and gradient, or one of them: dlogits or loss is then NULL, known to the compiler. */
POD_INLINE void softmax_as(bool smooth, int64_t rows, int64_t c, const float *logits,
                           const int32_t *labels, float smoothing, float scale, float grad_scale,
                           float *loss, float *dlogits)
{
    double sum = 0;
    for (int64_t r = 0; r < rows; r++) {
        const float *row = logits + r * c;
        float *out = dlogits ? dlogits + r * c : NULL;
        POD_DCHECK(labels[r] < c, "label %d of %lld classes", (int)labels[r], (long long)c);
        if (labels[r] < 0) {
            for (int64_t j = 0; out && j < c; j++) out[j] = 0;
            continue;
        }
        const float at_label = row[labels[r]], max = row_max(c, row);
        const row_sums of = row_sum(smooth, c, row, max, out);
        if (loss) sum += row_loss(c, at_label, max, (double)smoothing, &of);
        if (out) row_grad(c, labels[r], (double)smoothing, grad_scale, of.e, out);
    }
    if (loss) *loss = (float)((double)scale * sum);
}

static void softmax_loss(int64_t rows, int64_t c, const float *logits, const int32_t *labels,
                         float smoothing, float scale, float *loss)
{
    if (smoothing > 0)
        softmax_as(true, rows, c, logits, labels, smoothing, scale, 0, loss, NULL);
    else
        softmax_as(false, rows, c, logits, labels, smoothing, scale, 0, loss, NULL);
}

static void softmax_grad(int64_t rows, int64_t c, const float *logits, const int32_t *labels,
                         float smoothing, float scale, float *dlogits)
{
    softmax_as(false, rows, c, logits, labels, smoothing, 0, scale, NULL, dlogits);
}

static void softmax_loss_grad(int64_t rows, int64_t c, const float *logits, const int32_t *labels,
                              float smoothing, float scale, float grad_scale, float *loss,
                              float *dlogits)
{
    if (smoothing > 0)
        softmax_as(true, rows, c, logits, labels, smoothing, scale, grad_scale, loss, dlogits);
    else
        softmax_as(false, rows, c, logits, labels, smoothing, scale, grad_scale, loss, dlogits);
}

/* Elements of row[0, c) that `own` does not beat: is not greater than, or, where it may be equal,
 * is less than or not to be compared with. */
POD_INLINE float unbeaten(bool may_be_equal, int64_t c, const float *row, float own)
{
    const pod_vec mine = pod_vec_all(own), zero = pod_vec_all(0), one = pod_vec_all(1);
    pod_vec sum = zero;
    float lane[POD_VEC_LANES], all = 0;
    POD_VEC_EACH(POD_VEC_LANES, c, i, n, {
        const pod_vec v = pod_vec_load(POD_F32, row, i, n);
        const pod_vec_mask not_less =
            pod_vec_mask_and_not(pod_vec_is_number(v), pod_vec_gt(v, mine));
        const pod_vec_mask beats = may_be_equal ? not_less : pod_vec_gt(mine, v);
        sum = pod_vec_add(sum, pod_vec_first(n, pod_vec_select(beats, zero, one), zero));
    });
    pod_vec_store(POD_F32, lane, 0, POD_VEC_LANES, sum);
    for (int k = 0; k < POD_VEC_LANES; k++) all += lane[k];
    return all;
}

static void softmax_correct(int64_t rows, int64_t c, const float *logits, const int32_t *labels,
                            float *n)
{
    int64_t correct = 0;
    if (c < MAX_STRIP * POD_VEC_LANES) { /* rows too short for vectors */
        pod_softmax_pick(POD_CPU_REFERENCE_ONLY)->correct(rows, c, logits, labels, n);
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        if (labels[r] < 0) continue;
        const float *row = logits + r * c, own = row[labels[r]];
        correct += !isnan(own) && unbeaten(false, labels[r], row, own) == 0 &&
                   unbeaten(true, c - labels[r], row + labels[r], own) == 0;
    }
    *n = (float)correct;
}

const pod_softmax POD_ISA(pod__softmax) = {POD_ISA_SET, softmax_loss, softmax_grad,
                                           softmax_loss_grad, softmax_correct};
