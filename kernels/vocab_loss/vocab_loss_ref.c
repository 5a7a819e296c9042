/* Blocks of logits, plainly: what kernels/vocab_loss/vocab_loss.h says, in double, rounded at the end. */
#include <math.h>

#include "kernels/base/element.h"
#include "kernels/base/sets.h"
#include "kernels/vocab_loss/vocab_loss.h"

static void vocab_fold(const pod_vocab_loss_block *b, bool with_total, pod_vocab_loss_row *row)
{
    for (int64_t r = 0; r < b->rows; r++, row++)
        for (int64_t j = 0; j < b->cols; j++) {
            const float x = b->logits[r * b->cols + j];
            if (x > row->max) {
                row->sum *= exp((double)row->max - (double)x);
                row->max = x;
                row->best = (int32_t)(b->first + j);
            }
            row->sum += exp((double)x - (double)row->max);
            if (with_total) row->total += (double)x;
            if (b->first + j == b->label[r]) row->at_label = x;
        }
}

static void vocab_slopes(const pod_vocab_loss_block *b, const float *lse, const float *scale,
                         float at_label, float elsewhere, pod_dtype t, void *out, double *sums)
{
    for (int64_t r = 0; r < b->rows; r++)
        for (int64_t j = 0; j < b->cols; j++) {
            const int64_t i = r * b->cols + j;
            const float target = b->first + j == b->label[r] ? at_label : elsewhere;
            const double share = exp((double)b->logits[i] - (double)lse[r]);
            const bool is_padding = fpclassify(scale[r]) == FP_ZERO;
            const double slope = is_padding ? 0 : (double)scale[r] * (share - (double)target);
            pod_element_put(t, out, i, (float)slope);
            sums[j] += slope;
        }
}

const pod_vocab_loss pod__vocab_loss_ref = {"ref", 0, vocab_fold, vocab_slopes};

POD_SETS_BF16(vocab_loss)
