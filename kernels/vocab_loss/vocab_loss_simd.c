/* Blocks of logits in vectors, compiled once for each instruction set: exponentials and short sums
 * in float32, what is added up over blocks and rows in double. */
#include <math.h>

#include "kernels/base/bf16.h"
#include "kernels/base/element.h"
#include "kernels/base/simd/simd.h"
#include "kernels/vocab_loss/vocab_loss.h"

/* ---- fold ---------------------------------------------------------------------------------- */

/* The largest number of x[0, count); -inf if there is none. */
POD_INLINE float row_max(int64_t count, const float *x)
{
    const pod_vec least = pod_vec_all(-INFINITY);
    pod_vec2 max = {least, least};
    POD_VEC_EACH(POD_VEC2_LANES, count, i, n, {
        const pod_vec2 v = pod_vec2_load(POD_F32, x, i, n);
        const int first = n < POD_VEC_LANES ? n : POD_VEC_LANES;
        max.a = pod_vec_max(pod_vec_first(first, v.a, least), max.a);
        max.b = pod_vec_max(pod_vec_first(n - first, v.b, least), max.b);
    });
    float lane[POD_VEC_LANES], top = -INFINITY;
    pod_vec_store(POD_F32, lane, 0, POD_VEC_LANES, pod_vec_max(max.a, max.b));
    for (int k = 0; k < POD_VEC_LANES; k++) top = lane[k] > top ? lane[k] : top;
    return top;
}

static int64_t first_of(float value, int64_t count, const float *x)
{
    for (int64_t i = 0; i < count; i++)
        if (!(x[i] < value) && !(x[i] > value) && !isnan(x[i])) return i;
    return 0;
}

POD_INLINE double lanes_sum(const double lane[POD_VEC_LANES])
{
    double sum = 0;
    for (int k = 0; k < POD_VEC_LANES; k++) sum += lane[k];
    return sum;
}

/* row->sum += sum of e^(x - max), row->total += sum of x. */
POD_INLINE void add_up(bool with_total, int64_t count, const float *x, pod_vocab_loss_row *row)
{
    enum { STRIP = POD_SUM_SWEEPS * POD_VEC_LANES };
    double powers[POD_VEC_LANES] = {0}, totals[POD_VEC_LANES] = {0};
    const pod_vec top = pod_vec_all(row->max), zero = pod_vec_all(0);
    for (int64_t at = 0; at < count; at += STRIP) {
        const int64_t length = count - at < STRIP ? count - at : STRIP;
        pod_vec power_sum = zero, total = zero;
        POD_VEC_EACH(POD_VEC_LANES, length, i, n, {
            const pod_vec v = pod_vec_load(POD_F32, x, at + i, n);
            const pod_vec power = pod_vec_exp(pod_vec_sub(v, top));
            power_sum = pod_vec_add(power_sum, pod_vec_first(n, power, zero));
            if (with_total) total = pod_vec_add(total, v);
        });
        pod_vec_add_f64(power_sum, powers);
        if (with_total) pod_vec_add_f64(total, totals);
    }
    row->sum += lanes_sum(powers);
    if (with_total) row->total += lanes_sum(totals);
}

POD_INLINE void fold_rows(const pod_vocab_loss_block *b, bool with_total, pod_vocab_loss_row *row)
{
    for (int64_t r = 0; r < b->rows; r++) {
        const float *x = b->logits + r * b->cols, top = row_max(b->cols, x);
        const int64_t label = b->label[r] - b->first;
        if (top > row[r].max) {
            row[r].sum *= exp((double)row[r].max - (double)top);
            row[r].max = top;
            row[r].best = (int32_t)(b->first + first_of(top, b->cols, x));
        }
        add_up(with_total, b->cols, x, &row[r]);
        if (label >= 0 && label < b->cols) row[r].at_label = x[label];
    }
}

static void vocab_fold(const pod_vocab_loss_block *b, bool with_total, pod_vocab_loss_row *row)
{
    if (with_total)
        fold_rows(b, true, row);
    else
        fold_rows(b, false, row);
}

/* ---- slopes -------------------------------------------------------------------------------- */

POD_INLINE pod_vec slope_of(pod_vec x, pod_vec lse, pod_vec target, pod_vec scale)
{
    return pod_vec_mul(scale, pod_vec_sub(pod_vec_exp(pod_vec_sub(x, lse)), target));
}

/* One row; part[v] += its slopes, in whole vectors: what comes behind `cols` has no meaning.
 * Returns what the slope at `label` was too small by, as if every target were `elsewhere`. label is
 * -1 if the block does not have it. */
POD_INLINE double row_slopes(int64_t cols, const float *x, int64_t label, float lse, float scale,
                             float at_label, float elsewhere, pod_dtype t, void *out, int64_t at,
                             float *part)
{
    const pod_vec of_lse = pod_vec_all(lse), by = pod_vec_all(scale);
    const pod_vec target = pod_vec_all(elsewhere);
    const pod_vec here = label < 0 ? of_lse : pod_vec_load(POD_F32, x, label, 1);
    POD_VEC_EACH(POD_VEC2_LANES, cols, i, n, {
        const pod_vec2 v = pod_vec2_load(POD_F32, x, i, n);
        const pod_vec2 slope = {slope_of(v.a, of_lse, target, by),
                                slope_of(v.b, of_lse, target, by)};
        const pod_vec2 so_far = pod_vec2_load(POD_F32, part, i, POD_VEC2_LANES);
        pod_vec2_store_flat(t, out, at + i, n, slope);
        pod_vec2_store(POD_F32, part, i, POD_VEC2_LANES, pod_vec2_add(so_far, slope));
    });
    if (label < 0) return 0;
    float both[2];
    pod_vec_store(POD_F32, &both[0], 0, 1, slope_of(here, of_lse, target, by));
    pod_vec_store(POD_F32, &both[1], 0, 1, slope_of(here, of_lse, pod_vec_all(at_label), by));
    pod_element_put(t, out, at + label, both[1]);
    return (double)both[1] - (double)both[0];
}

POD_INLINE void slopes_as(const pod_vocab_loss_block *b, const float *lse, const float *scale,
                          float at_label, float elsewhere, pod_dtype t, void *out, double *sums)
{
    float part[POD_VOCAB_LOSS_MAX_COLS];
    _Static_assert(POD_VOCAB_LOSS_MAX_COLS % POD_VEC2_LANES == 0, "whole vectors");
    const size_t row_bytes = (size_t)b->cols * pod_dtype_bytes(t);
    for (int64_t first = 0; first < b->rows; first += POD_SUM_SWEEPS) {
        const int64_t end = b->rows - first < POD_SUM_SWEEPS ? b->rows : first + POD_SUM_SWEEPS;
        memset(part, 0, sizeof part);
        for (int64_t r = first; r < end; r++) {
            const int64_t here = b->label[r] - b->first;
            const int64_t label = here >= 0 && here < b->cols ? here : -1;
            if (!(scale[r] < 0) && !(scale[r] > 0) && !isnan(scale[r])) {
                memset((char *)out + (size_t)r * row_bytes, 0, row_bytes);
                continue;
            }
            const double more =
                row_slopes(b->cols, b->logits + r * b->cols, label, lse[r], scale[r], at_label,
                           elsewhere, t, out, r * b->cols, part);
            if (label >= 0) sums[label] += more;
        }
        for (int64_t j = 0; j < b->cols; j++) sums[j] += (double)part[j];
    }
}

static void vocab_slopes(const pod_vocab_loss_block *b, const float *lse, const float *scale,
                         float at_label, float elsewhere, pod_dtype t, void *out, double *sums)
{
    POD_TYPED(t, slopes_as(b, lse, scale, at_label, elsewhere, T, out, sums));
}

const pod_vocab_loss POD_ISA(pod__vocab_loss) = {POD_ISA_SET, vocab_fold, vocab_slopes};
