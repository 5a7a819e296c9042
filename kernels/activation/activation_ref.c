/* GELU, tanh and softmax, plainly: what kernels/activation/activation.h says; in double, rounded at
 * the end. */
#include <math.h>
#include <stdbool.h>

#include "kernels/activation/activation.h"
#include "kernels/base/element.h"
#include "kernels/base/sets.h"

static const double SQRT_2_OVER_PI = 0.79788456080286535588, CUBIC = 0.044715;
static const double SQRT_HALF = 0.70710678118654752440, ONE_OVER_SQRT_2_PI = 0.39894228040143267794;

/* Phi(x) of the form, and *slope = Phi(x) + x Phi'(x). */
static double phi(pod_gelu_form form, double x, double *slope)
{
    if (form == POD_GELU_ERF) {
        const double p = 0.5 * erfc(-x * SQRT_HALF);
        *slope = p + x * ONE_OVER_SQRT_2_PI * exp(-0.5 * x * x);
        return p;
    }
    const double u = SQRT_2_OVER_PI * (x + CUBIC * x * x * x);
    const double du = SQRT_2_OVER_PI * (1 + 3 * CUBIC * x * x);
    const double p = 1 / (1 + exp(-2 * u)), rest = 1 / (1 + exp(2 * u));
    *slope = p + 2 * x * p * rest * du;
    return p;
}

static void activation_gelu(int64_t count, pod_dtype t, pod_gelu_form form, const void *x, void *y)
{
    double slope;
    for (int64_t i = 0; i < count; i++) {
        const double v = (double)pod_element_get(t, x, i);
        pod_element_put(t, y, i, (float)(v * phi(form, v, &slope)));
    }
}

static void activation_gelu_grad(int64_t count, pod_dtype t, pod_gelu_form form, const void *x,
                                 const void *dy, void *dx)
{
    double slope;
    for (int64_t i = 0; i < count; i++) {
        phi(form, (double)pod_element_get(t, x, i), &slope);
        pod_element_put(t, dx, i, (float)((double)pod_element_get(t, dy, i) * slope));
    }
}

static void activation_tanh(int64_t count, pod_dtype t, const void *x, void *y)
{
    for (int64_t i = 0; i < count; i++)
        pod_element_put(t, y, i, (float)tanh((double)pod_element_get(t, x, i)));
}

static void activation_tanh_grad(int64_t count, pod_dtype t, const void *y, const void *dy,
                                 void *dx)
{
    for (int64_t i = 0; i < count; i++) {
        const float v = pod_element_get(t, y, i);
        pod_element_put(t, dx, i, pod_element_get(t, dy, i) * ((1 - v) * (1 + v)));
    }
}

static pod_row_span span_of(const pod_row_span *spans, int64_t row, int64_t c)
{
    return spans ? spans[row] : (pod_row_span){0, c};
}

static bool is_in(const pod_row_span *span, int64_t j) { return j >= span->first && j < span->end; }

static void activation_softmax(int64_t rows, int64_t c, pod_dtype t, float scale,
                               const pod_row_span *spans, const void *x, void *y)
{
    for (int64_t r = 0; r < rows; r++) {
        const pod_row_span span = span_of(spans, r, c);
        double max = -INFINITY, sum = 0;
        for (int64_t j = span.first; j < span.end; j++)
            max = fmax(max, (double)pod_element_get(t, x, r * c + j));
        for (int64_t j = span.first; j < span.end; j++)
            sum += exp((double)scale * ((double)pod_element_get(t, x, r * c + j) - max));
        for (int64_t j = 0; j < c; j++) {
            double p = 0;
            if (is_in(&span, j))
                p = exp((double)scale * ((double)pod_element_get(t, x, r * c + j) - max)) / sum;
            pod_element_put(t, y, r * c + j, (float)p);
        }
    }
}

static void activation_softmax_grad(int64_t rows, int64_t c, pod_dtype t, float scale,
                                    const pod_row_span *spans, const void *y, const void *dy,
                                    void *dx)
{
    for (int64_t r = 0; r < rows; r++) {
        const pod_row_span span = span_of(spans, r, c);
        double sum = 0;
        for (int64_t j = span.first; j < span.end; j++)
            sum += (double)pod_element_get(t, y, r * c + j) *
                   (double)pod_element_get(t, dy, r * c + j);
        for (int64_t j = 0; j < c; j++) {
            double d = 0;
            if (is_in(&span, j))
                d = (double)scale * (double)pod_element_get(t, y, r * c + j) *
                    ((double)pod_element_get(t, dy, r * c + j) - sum);
            pod_element_put(t, dx, r * c + j, (float)d);
        }
    }
}

const pod_activation pod__activation_ref = {"ref",
                                            0,
                                            activation_gelu,
                                            activation_gelu_grad,
                                            activation_tanh,
                                            activation_tanh_grad,
                                            activation_softmax,
                                            activation_softmax_grad};

POD_SETS_BF16(activation)
