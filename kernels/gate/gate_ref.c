/* Sigmoid, swish and gates, plainly: what kernels/gate/gate.h says; curves and sums in double,
 * rounded at the end. */
#include <math.h>

#include "kernels/base/element.h"
#include "kernels/base/rng.h"
#include "kernels/base/sets.h"
#include "kernels/gate/gate.h"

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static void gate_sigmoid(int64_t count, pod_dtype t, const void *x, float *y)
{
    for (int64_t i = 0; i < count; i++) y[i] = (float)sigmoid((double)pod_element_get(t, x, i));
}

static void gate_sigmoid_grad(int64_t count, pod_dtype t, const float *y, const float *dy, void *dx)
{
    for (int64_t i = 0; i < count; i++) pod_element_put(t, dx, i, dy[i] * (y[i] * (1 - y[i])));
}

static void gate_swish(int64_t count, pod_dtype t, const void *x, void *y)
{
    for (int64_t i = 0; i < count; i++) {
        const double v = (double)pod_element_get(t, x, i);
        pod_element_put(t, y, i, (float)(v * sigmoid(v)));
    }
}

static void gate_swish_grad(int64_t count, pod_dtype t, const void *x, const void *dy, void *dx)
{
    for (int64_t i = 0; i < count; i++) {
        const double v = (double)pod_element_get(t, x, i), s = sigmoid(v);
        const double slope = s * (1 + v * (1 - s));
        pod_element_put(t, dx, i, (float)((double)pod_element_get(t, dy, i) * slope));
    }
}

static void gate_scale(int64_t n, int64_t rows, int64_t c, pod_dtype t, const void *x,
                       const float *gate, void *y)
{
    for (int64_t i = 0; i < n * rows * c; i++)
        pod_element_put(t, y, i, pod_element_get(t, x, i) * gate[i / (rows * c) * c + i % c]);
}

static void gate_mean_grad(int64_t n, int64_t rows, int64_t c, pod_dtype t, const void *dy,
                           const float *gate, const void *d_mean, void *dx)
{
    for (int64_t i = 0; i < n * rows * c; i++) {
        const int64_t of_image = i / (rows * c) * c + i % c;
        const float of_mean = pod_element_get(t, d_mean, of_image) / (float)rows;
        pod_element_put(t, dx, i, pod_element_get(t, dy, i) * gate[of_image] + of_mean);
    }
}

static void gate_sums(int64_t n, int64_t rows, int64_t c, pod_dtype t, const void *x, const void *y,
                      float *sum)
{
    for (int64_t image = 0; image < n; image++)
        for (int64_t j = 0; j < c; j++) {
            double total = 0;
            for (int64_t r = 0; r < rows; r++) {
                const int64_t i = (image * rows + r) * c + j;
                total += (double)pod_element_get(t, x, i) * (double)pod_element_get(t, y, i);
            }
            sum[image * c + j] = (float)total;
        }
}

static void gate_drop(int64_t n, int64_t c, pod_dtype t, const pod_drop *how, const int32_t *draws,
                      const void *x, void *y)
{
    for (int64_t i = 0; i < n * c; i++) {
        const int64_t of_sample = how->by_sample ? 0 : i % c;
        const uint32_t key[2] = {(uint32_t)draws[i / c], how->layer};
        const uint32_t counter[4] = {(uint32_t)(of_sample / 4), 0, 0, POD_STREAM_DROPOUT};
        uint32_t word[4];
        pod_philox(key, counter, word);
        const bool is_kept = (float)(word[of_sample % 4] >> 8) * 0x1p-24f >= how->rate;
        pod_element_put(t, y, i, pod_element_get(t, x, i) * (is_kept ? 1 / (1 - how->rate) : 0));
    }
}

const pod_gate pod__gate_ref = {
    "ref",           0,          gate_sigmoid,   gate_sigmoid_grad, gate_swish,
    gate_swish_grad, gate_scale, gate_mean_grad, gate_sums,         gate_drop};

POD_SETS_BF16(gate)
