/* Softmax cross entropy, plainly, in double. The row's maximum is taken off first, so that no
 * exponential overflows. */
#include <math.h>

#include "kernels/base/assert.h"
#include "kernels/base/sets.h"
#include "kernels/softmax/softmax.h"

static double row_max(int64_t c, const float *row)
{
    double max = (double)row[0];
    for (int64_t j = 1; j < c; j++)
        if ((double)row[j] > max) max = (double)row[j];
    return max;
}

/* Sum of exp(row - max): from 1 to C, or NaN when the row holds a NaN or an infinite maximum. */
static double row_sum(int64_t c, const float *row, double max)
{
    double sum = 0;
    for (int64_t j = 0; j < c; j++) sum += exp((double)row[j] - max);
    return sum;
}

static double row_loss(int64_t c, const float *row, int32_t label, double smoothing)
{
    const double max = row_max(c, row), log_sum = log(row_sum(c, row, max));
    double everywhere = 0;
    if (smoothing > 0) /* else a logit of -inf, probability 0, would give 0 times infinity */
        for (int64_t j = 0; j < c; j++) everywhere += log_sum - ((double)row[j] - max);
    const double at_label = log_sum - ((double)row[label] - max);
    return (1 - smoothing) * at_label + (smoothing > 0 ? smoothing / (double)c * everywhere : 0);
}

static void softmax_loss(int64_t rows, int64_t c, const float *logits, const int32_t *labels,
                         float smoothing, float scale, float *loss)
{
    double sum = 0;
    for (int64_t r = 0; r < rows; r++) {
        POD_DCHECK(labels[r] < c, "label %d of %lld classes", (int)labels[r], (long long)c);
        if (labels[r] >= 0) sum += row_loss(c, logits + r * c, labels[r], (double)smoothing);
    }
    *loss = (float)((double)scale * sum);
}

static void row_grad(int64_t c, const float *row, int32_t label, double smoothing, double scale,
                     float *out)
{
    const double max = row_max(c, row), sum = row_sum(c, row, max);
    for (int64_t j = 0; j < c; j++) {
        const double target = (j == label ? 1 - smoothing : 0) + smoothing / (double)c;
        out[j] = (float)(scale * (exp((double)row[j] - max) / sum - target));
    }
}

static void softmax_grad(int64_t rows, int64_t c, const float *logits, const int32_t *labels,
                         float smoothing, float scale, float *dlogits)
{
    for (int64_t r = 0; r < rows; r++) {
        POD_DCHECK(labels[r] < c, "label %d of %lld classes", (int)labels[r], (long long)c);
        float *out = dlogits + r * c;
        if (labels[r] >= 0)
            row_grad(c, logits + r * c, labels[r], (double)smoothing, (double)scale, out);
        else
            for (int64_t j = 0; j < c; j++) out[j] = 0;
    }
}

static void softmax_loss_grad(int64_t rows, int64_t c, const float *logits, const int32_t *labels,
                              float smoothing, float scale, float grad_scale, float *loss,
                              float *dlogits)
{
    softmax_loss(rows, c, logits, labels, smoothing, scale, loss);
    softmax_grad(rows, c, logits, labels, smoothing, grad_scale, dlogits);
}

static void softmax_correct(int64_t rows, int64_t c, const float *logits, const int32_t *labels,
                            float *n)
{
    int64_t correct = 0;
    for (int64_t r = 0; r < rows; r++) {
        if (labels[r] < 0) continue;
        const float *row = logits + r * c, own = row[labels[r]];
        int64_t beaten = 0;
        for (int64_t j = 0; j < c; j++) beaten += j < labels[r] ? own > row[j] : own >= row[j];
        correct += beaten == c;
    }
    *n = (float)correct;
}

const pod_softmax pod__softmax_ref = {
    "ref", 0, softmax_loss, softmax_grad, softmax_loss_grad, softmax_correct};

POD_SETS(softmax)
