/* Sigmoid, swish and gates: every set against the formulas of the header in double. */
#include <stdlib.h>

#include "kernels/base/rng.h"
#include "kernels/base/simd/loop.h"
#include "kernels/gate/gate.h"
#include "tests/unit/kernels/kernel_test.h"

static const double U = 0x1p-24, SIGMOID_ERROR = 0x1p-20, SIGMOID_LEAST = 0x1p-120;
static double swish_error(pod_dtype t) { return t == POD_BF16 ? 0x1p-12 : SIGMOID_ERROR; }

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* Numbers over the whole range of what a sigmoid tells apart, and beyond. */
static tensor wide_numbers(uint64_t seed, pod_dtype t, int64_t count)
{
    tensor x = tensor_random(seed, t, count);
    for (int64_t i = 0; i < count; i++) {
        const double reach = i % 5 == 0 ? 100 : i % 5 == 1 ? 20 : 4;
        pod_test_put(t, x.data, i, reach * tensor_get(&x, i));
    }
    return x;
}

/* An error of `relative` and `absolute` in float32, then the rounding to the type. */
static double bound_of(pod_dtype t, double want, double relative, double absolute)
{
    const double off = relative * fabs(want) + absolute;
    return off + (t == POD_BF16 ? 0x1p-8 * (fabs(want) + off) + 0x1p-126 : U * fabs(want));
}

static const int64_t counts[] = {0, 1, 7, 15, 16, 17, 31, 32, 33, 64, 100, 1000};
enum { N_COUNTS = sizeof counts / sizeof counts[0] };

/* What a curve is to give at element i, and how far off it may be. */
typedef struct near {
    double value, bound;
} near;

static near sigmoid_at(pod_dtype t, double x, double y, double dy)
{
    (void)t, (void)y, (void)dy;
    return (near){sigmoid(x), bound_of(POD_F32, sigmoid(x), SIGMOID_ERROR, SIGMOID_LEAST)};
}

static near sigmoid_grad_at(pod_dtype t, double x, double y, double dy)
{
    (void)x;
    const double want = dy * y * (1 - y);
    return (near){want, bound_of(t, want, 4 * U, 0x1p-126) + U * fabs(dy * y)};
}

static near swish_at(pod_dtype t, double x, double y, double dy)
{
    (void)y, (void)dy;
    const double want = x * sigmoid(x);
    return (near){want, bound_of(t, want, swish_error(t) + 2 * U, fabs(x) * SIGMOID_LEAST)};
}

/* 1 - s and 1 + x (1 - s) lose what cancels. */
static near swish_grad_at(pod_dtype t, double x, double y, double dy)
{
    (void)y;
    const double s = sigmoid(x), want = dy * s * (1 + x * (1 - s));
    const double error = swish_error(t),
                 inner = (error * s + U) * fabs(x) + 4 * U * (1 + fabs(x * (1 - s)));
    const double off =
        fabs(dy) * (s * inner + error * s * (1 + fabs(x)) + SIGMOID_LEAST * (1 + fabs(x)));
    return (near){want, bound_of(t, want, 4 * U, off)};
}

typedef enum curve { SIGMOID, SIGMOID_GRAD, SWISH, SWISH_GRAD, N_CURVES } curve;
static const char *const curve_name[] = {"sigmoid", "sigmoid_grad", "swish", "swish_grad"};

static void run_curve(const pod_gate *k, curve what, const tensor *x, const tensor *y,
                      const tensor *dy, const tensor *dy_f32, tensor *out)
{
    const int64_t n = x->count;
    switch (what) {
    case SIGMOID: k->sigmoid(n, x->t, x->data, out->data); break;
    case SIGMOID_GRAD: k->sigmoid_grad(n, x->t, y->data, dy_f32->data, out->data); break;
    case SWISH: k->swish(n, x->t, x->data, out->data); break;
    default: k->swish_grad(n, x->t, x->data, dy->data, out->data);
    }
}

static void check_curve(const pod_gate *k, curve what, pod_dtype t, int64_t n)
{
    static near (*const at[])(pod_dtype, double, double, double) = {sigmoid_at, sigmoid_grad_at,
                                                                    swish_at, swish_grad_at};
    TENSOR x = wide_numbers(1, t, n), dy = tensor_random(2, t, n), y = tensor_new(POD_F32, n);
    TENSOR dy_f32 = tensor_random(3, POD_F32, n), out = tensor_new(what ? t : POD_F32, n);
    for (int64_t i = 0; i < n; i++) pod_test_put(POD_F32, y.data, i, sigmoid(tensor_get(&x, i)));
    run_curve(k, what, &x, &y, &dy, &dy_f32, &out);
    for (int64_t i = 0; i < n; i++) {
        const double d = tensor_get(what == SIGMOID_GRAD ? &dy_f32 : &dy, i);
        const near want = at[what](t, tensor_get(&x, i), tensor_get(&y, i), d);
        const double got = tensor_get(&out, i);
        POD_CHECK(fabs(got - want.value) <= want.bound,
                  "%s %s %s of %lld: x %.9g gives %.9g, want %.9g within %g", k->name,
                  curve_name[what], pod_dtype_name(t), (long long)n, tensor_get(&x, i), got,
                  want.value, want.bound);
    }
}

static void test_curves(void)
{
    EACH_SET(gate, set)
        for (int what = 0; what < N_CURVES; what++)
            for (int i = 0; i < N_COUNTS; i++)
                for (int t = 0; t < 2; t++)
                    check_curve(set, (curve)what, t ? POD_BF16 : POD_F32, counts[i]);
}

static void test_odd_values(void)
{
    const float odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0f, 3e38f, -3e38f, 1e-40f};
    enum { N = sizeof odd / sizeof odd[0] };
    EACH_SET(gate, set) {
        float s[N], y[N];
        set->sigmoid(N, POD_F32, odd, s);
        set->swish(N, POD_F32, odd, y);
        POD_CHECK(isnan(s[0]) && s[1] == 1 && s[2] == 0 && s[3] == 0.5f && s[4] == 0.5f &&
                      s[5] == 1 && s[6] == 0 && s[7] == 0.5f,
                  "%s: sigmoid", set->name);
        POD_CHECK(isnan(y[0]) && isinf(y[1]) && isnan(y[2]) && y[3] == 0 && y[5] == odd[5] &&
                      y[6] == 0,
                  "%s: swish", set->name);
    }
}

/* ---- gates ----------------------------------------------------------------------------------- */

/* `scale`, or with a mean `mean_grad`. */
static void run_gate(const pod_gate *k, const int64_t shape[3], pod_dtype t, const tensor *gate,
                     const tensor *mean, const tensor *x, const tensor *y)
{
    if (mean)
        k->mean_grad(shape[0], shape[1], shape[2], t, x->data, gate->data, mean->data, y->data);
    else
        k->scale(shape[0], shape[1], shape[2], t, x->data, gate->data, y->data);
}

/* The bits of the reference, also over x; the reference near the formula. */
static void check_gate(const pod_gate *k, const int64_t shape[3], pod_dtype t, bool is_grad)
{
    const int64_t rows = shape[1], c = shape[2], n_gates = shape[0] * c, count = n_gates * rows;
    const char *name =
        pod_test_text("%s %s %s (%lld, %lld, %lld)", k->name, is_grad ? "mean_grad" : "scale",
                      pod_dtype_name(t), (long long)shape[0], (long long)rows, (long long)c);
    TENSOR x = tensor_random(5, t, count), gate = tensor_random(6, POD_F32, n_gates);
    TENSOR mean = tensor_random(9, t, n_gates);
    TENSOR y = tensor_new(t, count), want = tensor_new(t, count);
    const tensor *of_mean = is_grad ? &mean : NULL;
    tensor_sprinkle(&x);
    run_gate(pod_gate_pick(POD_CPU_REFERENCE_ONLY), shape, t, &gate, of_mean, &x, &want);
    for (int64_t i = 0; i < count; i++) {
        const int64_t j = i / (rows * c) * c + i % c;
        const double by_gate = tensor_get(&x, i) * tensor_get(&gate, j);
        const double share = is_grad ? tensor_get(&mean, j) / (double)rows : 0;
        const double v = by_gate + share;
        const double terms = is_grad ? U * (fabs(by_gate) + fabs(share)) : 0;
        if (isfinite(v) && fabs(v) < 1e38)
            POD_CHECK(fabs(tensor_get(&want, i) - v) <= bound_of(t, v, U, 0x1p-126 + terms),
                      "the reference at %lld", (long long)i);
    }
    run_gate(k, shape, t, &gate, of_mean, &x, &y);
    tensor_check_same(name, &y, &want);
    run_gate(k, shape, t, &gate, of_mean, &x, &x);
    tensor_check_same(name, &x, &want);
}

static void check_sums(const pod_gate *k, int64_t n, int64_t rows, int64_t c, pod_dtype t)
{
    TENSOR x = tensor_random(7, t, n * rows * c), y = tensor_random(8, t, n * rows * c);
    TENSOR sum = tensor_new(POD_F32, n * c);
    k->sums(n, rows, c, t, x.data, y.data, sum.data);
    for (int64_t i = 0; i < n * c; i++) {
        double want = 0, size = 0;
        for (int64_t r = 0; r < rows; r++) {
            const int64_t at = (i / c * rows + r) * c + i % c;
            const double term = tensor_get(&x, at) * tensor_get(&y, at);
            want += term, size += fabs(term);
        }
        const double bound = (POD_SUM_CHAIN + 1) * U * size;
        POD_CHECK(fabs(tensor_get(&sum, i) - want) <= bound,
                  "%s sums %s (%lld, %lld, %lld): %.9g, want %.9g within %g", k->name,
                  pod_dtype_name(t), (long long)n, (long long)rows, (long long)c,
                  tensor_get(&sum, i), want, bound);
    }
}

static void test_gates(void)
{
    static const int64_t shapes[][3] = {{1, 1, 1},    {2, 1, 33},  {3, 9, 4},    {2, 49, 16},
                                        {1, 100, 7},  {2, 17, 96}, {1, 70, 240}, {2, 3, 1025},
                                        {0, 5, 8},    {2, 0, 8},   {1, 300, 32}, {2, 5, 2048},
                                        {3, 7777, 96}}; /* stored past the caches */
    EACH_SET(gate, set)
        for (size_t i = 0; i < 2 * sizeof shapes / sizeof shapes[0]; i++) {
            const int64_t *s = shapes[i / 2];
            check_gate(set, s, i % 2 ? POD_BF16 : POD_F32, false);
            check_gate(set, s, i % 2 ? POD_BF16 : POD_F32, true);
            check_sums(set, s[0], s[1], s[2], i % 2 ? POD_BF16 : POD_F32);
        }
}

/* Exactly what the header says, in place too. */
static void check_drop(const pod_gate *k, int64_t n, int64_t c, pod_dtype t, bool by_sample)
{
    const pod_drop how = {77, 0.3f, by_sample};
    static const int32_t draws[] = {5, -1, 1 << 30, 9};
    TENSOR x = tensor_random(9, t, n * c), y = tensor_new(t, n * c), want = tensor_new(t, n * c);
    k->drop(n, c, t, &how, draws, x.data, y.data);
    for (int64_t i = 0; i < n * c; i++) {
        const uint32_t key[2] = {(uint32_t)draws[i / c], how.layer};
        const uint32_t of = by_sample ? 0 : (uint32_t)(i % c);
        uint32_t word[4];
        pod_philox(key, (const uint32_t[4]){of / 4, 0, 0, POD_STREAM_DROPOUT}, word);
        const bool is_left_out = (float)(word[of % 4] >> 8) * 0x1p-24f < how.rate;
        const float scale = is_left_out ? 0 : 1 / (1 - how.rate);
        pod_test_put(t, want.data, i, (double)((float)tensor_get(&x, i) * scale));
    }
    char name[80];
    snprintf(name, sizeof name, "%s drop %s (%lld, %lld)%s", k->name, pod_dtype_name(t),
             (long long)n, (long long)c, by_sample ? " by sample" : "");
    tensor_check_same(name, &y, &want);
    k->drop(n, c, t, &how, draws, x.data, x.data);
    tensor_check_same(name, &x, &want);
}

static void test_drop(void)
{
    static const int64_t widths[] = {1, 3, 4, 31, 32, 33, 64, 100, 1000};
    EACH_SET(gate, set)
        for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
            for (int k = 0; k < 4; k++)
                check_drop(set, k % 2 ? 4 : 1, widths[i], k % 2 ? POD_BF16 : POD_F32, k >= 2);
}

POD_TEST_SUITE("gate", {"curves", test_curves}, {"odd values", test_odd_values},
               {"gates", test_gates}, {"dropout", test_drop});
