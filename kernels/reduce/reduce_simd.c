/* Sums in vectors, compiled once for each instruction set: short float32 sums, combined in
 * double. */
#include <float.h>

#include "kernels/base/simd/simd.h"
#include "kernels/reduce/reduce.h"

static float reduce_sum_sq(int64_t count, const float *x)
{
    enum { BLOCK = POD_SUM_SWEEPS * POD_VEC_LANES };
    double total[POD_VEC_LANES] = {0};
    for (int64_t at = 0; at < count; at += BLOCK) {
        const int64_t length = count - at < BLOCK ? count - at : BLOCK;
        pod_vec sum = pod_vec_all(0);
        POD_VEC_EACH(POD_VEC_LANES, length, i, n, {
            const pod_vec v = pod_vec_load(POD_F32, x, at + i, n);
            sum = pod_vec_fma(v, v, sum);
        });
        pod_vec_add_f64(sum, total);
    }
    double all = 0;
    for (int lane = 0; lane < POD_VEC_LANES; lane++) all += total[lane];
    return (float)all;
}

/* The squares of a block in double, without rounding. With 2^e at or below the greatest of them,
 * those from 2^(e-19) on are whole numbers of 2^(e-42), and 2^10 of them stay below 2^53 times
 * that; those below, down to 2^(e-39), are summed apart likewise. Where one lies lower still, or is
 * not finite, the reference takes the block.
 *
 *     2^(e+1)        2^(e-19)        2^(e-39)
 *        |------ upper ---|---- lower ----|-- reference -- - - */
enum { WIDE_BLOCK = 1024, WIDE_UPPER = 19, WIDE_LOWER = 20 };

POD_INLINE pod_vec greatest_square(int64_t count, const float *x)
{
    pod_vec most = pod_vec_all(0);
    POD_VEC_EACH(POD_VEC_LANES, count, i, n, {
        const pod_vec v = pod_vec_load(POD_F32, x, i, n);
        most = pod_vec_max(pod_vec_mul(v, v), most);
    });
    return most;
}

POD_INLINE float greatest_lane(pod_vec v)
{
    float lane[POD_VEC_LANES], most = 0;
    pod_vec_store(POD_F32, lane, 0, POD_VEC_LANES, v);
    for (int k = 0; k < POD_VEC_LANES; k++) most = lane[k] > most ? lane[k] : most;
    return most;
}

/* 2^down times the power of two at or below x > 0; 0 where float32 has none. */
POD_INLINE float power_below(float x, int down)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t exponent = bits >> 23;
    bits = exponent > (uint32_t)down ? (exponent - (uint32_t)down) << 23 : 0;
    memcpy(&x, &bits, sizeof x);
    return x;
}

POD_INLINE double sum_of_lanes(const double *lane)
{
    double sum = 0;
    for (int k = 0; k < POD_VEC_LANES; k++) sum += lane[k];
    return sum;
}

/* false: the block is not for this way. */
POD_INLINE bool sum_sq_wide_block(int64_t count, const float *x, pod_wide_sum *sum)
{
    const float most = greatest_lane(greatest_square(count, x));
    const float edge = power_below(most, WIDE_UPPER), end = power_below(edge, WIDE_LOWER);
    const pod_vec zero = pod_vec_all(0), edges = pod_vec_all(edge), ends = pod_vec_all(end);
    double upper[POD_VEC_LANES] = {0}, lower[POD_VEC_LANES] = {0};
    pod_vec below = zero;
    POD_VEC_EACH(POD_VEC_LANES, count, i, n, {
        const pod_vec v = pod_vec_load(POD_F32, x, i, n), square = pod_vec_mul(v, v);
        const pod_vec_mask is_lower = pod_vec_gt(edges, square);
        pod_vec_add_f64(pod_vec_select(is_lower, zero, square), upper);
        if (pod_vec_any(is_lower)) { /* of weights, in one vector of twenty */
            pod_vec_add_f64(pod_vec_select(is_lower, square, zero), lower);
            below = pod_vec_add(below, pod_vec_select(pod_vec_gt(ends, square), square, zero));
        }
    });
    const double upper_sum = sum_of_lanes(upper);
    if (!(upper_sum <= DBL_MAX) || greatest_lane(below) > 0) return false;
    pod_wide_sum_add(sum, upper_sum);
    pod_wide_sum_add(sum, sum_of_lanes(lower));
    return true;
}

static void reduce_sum_sq_wide(int64_t count, const float *x, pod_wide_sum *sum)
{
    for (int64_t at = 0; at < count; at += WIDE_BLOCK) {
        const int64_t length = count - at < WIDE_BLOCK ? count - at : WIDE_BLOCK;
        if (sum_sq_wide_block(length, x + at, sum))
            pod_wide_sum_carry(sum->digit);
        else
            pod_reduce_pick(POD_CPU_REFERENCE_ONLY)->sum_sq_wide(length, x + at, sum);
    }
}

/* sum[i] += n_rows rows of x from element `at` on. */
POD_INLINE void sum_rows(int n_rows, pod_dtype t, const void *x, int64_t at, int64_t stride,
                         int64_t width, float *sum)
{
    POD_VEC_EACH(POD_VEC_LANES, width, i, n, {
        pod_vec s = pod_vec_load(t, x, at + i, n);
        for (int r = 1; r < n_rows; r++)
            s = pod_vec_add(s, pod_vec_load(t, x, at + r * stride + i, n));
        s = pod_vec_add(s, pod_vec_load(POD_F32, sum, i, POD_VEC_LANES));
        pod_vec_store(POD_F32, sum, i, POD_VEC_LANES, s);
    });
}

/* Adds rows from `row` on to total, at most a float32 sum's worth; answers the row after. */
POD_INLINE int64_t sum_block(const pod_tile *tile, int64_t row, int64_t rows, int64_t c,
                             pod_dtype t, const void *x, double *total)
{
    float sum[POD_TILE_MAX];
    const int64_t stride = c * tile->rep, width = pod_tile_width(tile, tile->rep);
    for (int64_t i = 0; i < width; i += POD_VEC_LANES)
        pod_vec_store(POD_F32, sum, i, POD_VEC_LANES, pod_vec_all(0));
    for (int sweep = 0; sweep < POD_SUM_SWEEPS && row < rows; sweep++) {
        const int64_t at = row * c + tile->first;
        if (rows - row >= POD_SUM_ROWS * tile->rep) {
            sum_rows(POD_SUM_ROWS, t, x, at, stride, width, sum);
            row += POD_SUM_ROWS * tile->rep;
        } else {
            sum_rows(1, t, x, at, stride, pod_tile_width(tile, rows - row), sum);
            row += tile->rep;
        }
    }
    for (int64_t i = 0; i < width; i += POD_VEC_LANES)
        pod_vec_add_f64(pod_vec_load(POD_F32, sum, i, POD_VEC_LANES), total + i);
    return row;
}

POD_INLINE void col_sum_as(int64_t rows, int64_t c, pod_dtype t, const void *x, float *sum)
{
    for (int64_t first = 0; first < c; first += POD_TILE_MAX) {
        const pod_tile tile = pod_tile_at(rows, c, first, POD_VEC_LANES);
        double total[POD_TILE_MAX] = {0};
        for (int64_t row = 0; row < rows;) row = sum_block(&tile, row, rows, c, t, x, total);
        for (int64_t j = 0; j < tile.cols; j++)
            sum[first + j] = (float)pod_tile_fold(&tile, total, j);
    }
}

static void reduce_col_sum(int64_t rows, int64_t c, pod_dtype t, const void *x, float *sum)
{
    POD_TYPED(t, col_sum_as(rows, c, T, x, sum));
}

const pod_reduce POD_ISA(pod__reduce) = {POD_ISA_SET, reduce_sum_sq, reduce_sum_sq_wide,
                                         reduce_col_sum};
