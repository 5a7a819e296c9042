/* GELU and tanh, plainly: what kernels/activation/activation.h says; curves in double, rounded at
 * the end. */
#include <math.h>

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

const pod_activation pod__activation_ref = {
    "ref", 0, activation_gelu, activation_gelu_grad, activation_tanh, activation_tanh_grad};

POD_SETS_BF16(activation)
