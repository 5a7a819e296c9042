/* GELU, tanh and softmax: every set against the formulas of the header in double. */
#include "kernels/activation/activation.h"
#include "tests/unit/kernels/kernel_test.h"

static const double U = 0x1p-24, ERROR = 0x1p-20, LEAST = 0x1p-110;

/* What a curve is to give for x, and how far off it may be before it is rounded to the type. */
typedef struct near {
    double value, off;
} near;

/* Phi(x), its error in float32, and x Phi'(x) with that of the density. */
typedef struct bell {
    double phi, phi_off, grown, grown_off;
} bell;

static bell bell_of(pod_gelu_form form, pod_dtype t, double x, bool is_grad)
{
    if (form == POD_GELU_ERF) {
        const double error = ERROR + x * x * 0x1p-24, phi = 0.5 * erfc(-x / sqrt(2));
        const double grown = x * exp(-x * x / 2) / sqrt(2 * acos(-1));
        const double tail = x > 0 ? 1 - phi : phi; /* Phi(x) = 1 - tail for x > 0 */
        return (bell){phi, error * tail + 2 * U * phi + LEAST, grown, error * fabs(grown) + LEAST};
    }
    const double a = 2 * sqrt(2 / acos(-1)), b = 0.044715 * a, z = x * (a + b * x * x);
    const double short_error = t == POD_BF16 && !is_grad ? 0x1p-12 : ERROR;
    const double error = short_error + fabs(z) * 0x1p-22;
    const double phi = 1 / (1 + exp(-z)), rest = 1 / (1 + exp(z));
    const double grown = phi * rest * x * (a + 3 * b * x * x);
    return (bell){phi, (short_error + fabs(z) * rest * 0x1p-22) * phi + LEAST, grown,
                  (2 * error + 4 * U) * fabs(grown) + LEAST * (1 + fabs(x * x * x))};
}

static near gelu_at(pod_gelu_form form, pod_dtype t, double x)
{
    const bell of = bell_of(form, t, x, false);
    return (near){x * of.phi, fabs(x) * of.phi_off + 2 * U * fabs(x * of.phi)};
}

static near slope_at(pod_gelu_form form, pod_dtype t, double x)
{
    const bell of = bell_of(form, t, x, true);
    const double slope = of.phi + of.grown;
    return (near){slope, of.phi_off + of.grown_off + 2 * U * (fabs(slope) + of.phi)};
}

typedef enum curve { GELU, GELU_GRAD, ERF, ERF_GRAD, TANH, N_CURVES } curve;
static const char *const curve_name[] = {"gelu", "gelu_grad", "erf gelu", "erf gelu_grad", "tanh"};

static near curve_at(curve what, pod_dtype t, double x, double dy)
{
    const pod_gelu_form form = what < ERF ? POD_GELU_TANH : POD_GELU_ERF;
    if (what == TANH) return (near){tanh(x), ERROR * fabs(tanh(x)) + LEAST};
    if (what == GELU || what == ERF) return gelu_at(form, t, x);
    const near slope = slope_at(form, t, x);
    return (near){dy * slope.value, fabs(dy) * (slope.off + 2 * U * fabs(slope.value))};
}

static void run_curve(const pod_activation *k, curve what, const tensor *x, const tensor *dy,
                      void *out)
{
    const int64_t n = x->count;
    switch (what) {
    case GELU: k->gelu(n, x->t, POD_GELU_TANH, x->data, out); break;
    case GELU_GRAD: k->gelu_grad(n, x->t, POD_GELU_TANH, x->data, dy->data, out); break;
    case ERF: k->gelu(n, x->t, POD_GELU_ERF, x->data, out); break;
    case ERF_GRAD: k->gelu_grad(n, x->t, POD_GELU_ERF, x->data, dy->data, out); break;
    default: k->tanh(n, x->t, x->data, out);
    }
}

/* Numbers over the whole range in which the curves bend, small ones, and some beyond. */
static tensor wide_numbers(uint64_t seed, pod_dtype t, int64_t count)
{
    static const double reach[] = {100, 16, 6, 3, 1, 1e-3, 1e-30};
    tensor x = tensor_random(seed, t, count);
    for (int64_t i = 0; i < count; i++)
        pod_test_put(t, x.data, i, reach[i % 7] * tensor_get(&x, i));
    return x;
}

static void check_curve(const pod_activation *k, curve what, pod_dtype t, int64_t n)
{
    TENSOR x = wide_numbers(1, t, n), dy = tensor_random(2, t, n), out = tensor_new(t, n);
    TENSOR in_place = tensor_copy(&x);
    run_curve(k, what, &x, &dy, out.data);
    for (int64_t i = 0; i < n; i++) {
        const near want = curve_at(what, t, tensor_get(&x, i), tensor_get(&dy, i));
        const double got = tensor_get(&out, i), size = fabs(want.value) + want.off;
        const double stored = t == POD_BF16 ? 0x1p-8 * size + 0x1p-126 : U * size;
        POD_CHECK(fabs(got - want.value) <= want.off + stored,
                  "%s %s %s of %lld: x %.9g gives %.9g, want %.9g within %g", k->name,
                  curve_name[what], pod_dtype_name(t), (long long)n, tensor_get(&x, i), got,
                  want.value, want.off + stored);
    }
    run_curve(k, what, &in_place, &dy, in_place.data);
    tensor_check_same(k->name, &in_place, &out);
}

static const int64_t counts[] = {0, 1, 15, 16, 17, 33, 64, 2000};
enum { N_COUNTS = sizeof counts / sizeof counts[0] };

static void test_curves(void)
{
    EACH_SET(activation, set)
        for (int what = 0; what < N_CURVES; what++)
            for (int i = 0; i < N_COUNTS; i++)
                for (int t = 0; t < 2; t++)
                    check_curve(set, (curve)what, t ? POD_BF16 : POD_F32, counts[i]);
}

static void check_tanh_grad(const pod_activation *k, pod_dtype t, int64_t n)
{
    TENSOR y = tensor_random(3, t, n), dy = tensor_random(4, t, n);
    TENSOR got = tensor_new(t, n), want = tensor_new(t, n);
    tensor_sprinkle(&dy);
    k->tanh_grad(n, t, y.data, dy.data, got.data);
    pod_activation_pick(POD_CPU_REFERENCE_ONLY)->tanh_grad(n, t, y.data, dy.data, want.data);
    tensor_check_same(k->name, &got, &want);
    for (int64_t i = 0; i < n; i++) {
        const double v = tensor_get(&y, i), d = tensor_get(&dy, i), slope = d * (1 - v * v);
        if (isfinite(slope) && fabs(slope) < 1e38)
            POD_CHECK(fabs(tensor_get(&want, i) - slope) <=
                          bound_rounded(t, 4 * fabs(slope), slope),
                      "tanh_grad at %lld", (long long)i);
    }
}

static void test_tanh_grad(void)
{
    EACH_SET(activation, set)
        for (int i = 0; i < N_COUNTS; i++)
            for (int t = 0; t < 2; t++) check_tanh_grad(set, t ? POD_BF16 : POD_F32, counts[i]);
}

/* What overflows in a power of x does not reach the result. */
static void test_odd_values(void)
{
    const float odd[] = {NAN, 0, -0.0f, 3e38f, -3e38f, 1e-40f, -1e20f, INFINITY};
    enum { N = sizeof odd / sizeof odd[0] };
    const float dy[N] = {1, 1, 1, 1, 1, 1, 1, 1};
    EACH_SET(activation, set) {
        float y[N], d[N];
        set->tanh(N, POD_F32, odd, y);
        POD_CHECK(isnan(y[0]) && y[1] == 0 && y[2] == 0 && y[3] == 1 && y[4] == -1 && y[6] == -1 &&
                      y[7] == 1,
                  "%s: tanh", set->name);
        for (int form = 0; form < POD_N_GELU_FORMS; form++) {
            set->gelu(N, POD_F32, (pod_gelu_form)form, odd, y);
            set->gelu_grad(N - 1, POD_F32, (pod_gelu_form)form, odd, dy, d);
            POD_CHECK(isnan(y[0]) && y[1] == 0 && y[3] == odd[3] && fabsf(y[4]) < 1e-30f &&
                          fabsf(y[6]) < 1e-30f && isinf(y[7]),
                      "%s: gelu %d: %g %g %g", set->name, form, (double)y[3], (double)y[4],
                      (double)y[6]);
            POD_CHECK(isnan(d[0]) && fabsf(d[1] - 0.5f) < 1e-6f && d[3] == 1 &&
                          fabsf(d[4]) < 1e-30f && fabsf(d[5] - 0.5f) < 1e-6f &&
                          fabsf(d[6]) < 1e-30f,
                      "%s: gelu_grad %d: %g %g", set->name, form, (double)d[3], (double)d[4]);
        }
    }
}

/* The two forms, by their published difference, and points of the normal distribution. */
static void test_forms(void)
{
    enum { N = 1201 };
    float x[N], by_tanh[N], by_erf[N];
    for (int i = 0; i < N; i++) x[i] = (float)(i - 600) / 100;
    EACH_SET(activation, set) {
        set->gelu(N, POD_F32, POD_GELU_TANH, x, by_tanh);
        set->gelu(N, POD_F32, POD_GELU_ERF, x, by_erf);
        double most = 0;
        for (int i = 0; i < N; i++) most = fmax(most, fabs((double)by_tanh[i] - (double)by_erf[i]));
        POD_CHECK(most > 1e-4 && most < 1e-3, "%s: the forms differ by %g", set->name, most);
        POD_CHECK(fabs((double)by_erf[700] - 0.8413447461) < 1e-6 &&
                      fabs((double)by_erf[400] + 2 * 0.0227501319) < 1e-7,
                  "%s: Phi(1) = %g, -2 Phi(-2) = %g", set->name, (double)by_erf[700],
                  (double)by_erf[400]);
    }
}

/* ---- softmax ------------------------------------------------------------------------------- */

enum { SOFTMAX_ROWS = 7 };

/* Spans of every kind: empty, one element, the whole row, one that ends or begins within. */
static pod_row_span span_at(int64_t row, int64_t c)
{
    const pod_row_span all[] = {{0, c}, {0, 0},     {c, c},        {c - 1, c},
                                {0, 1}, {c / 3, c}, {0, c - c / 4}};
    return all[row % SOFTMAX_ROWS];
}

static double bound_stored(pod_dtype t, double want, double off)
{
    const double size = fabs(want) + off;
    return off + (t == POD_BF16 ? 0x1p-8 * size + 0x1p-126 : U * size);
}

static void check_softmax_row(const char *what, float scale, const tensor *x, const tensor *y,
                              int64_t at, int64_t c, pod_row_span span)
{
    double max = -INFINITY, min = INFINITY, sum = 0;
    for (int64_t j = span.first; j < span.end; j++) {
        max = fmax(max, tensor_get(x, at + j));
        min = fmin(min, tensor_get(x, at + j));
    }
    for (int64_t j = span.first; j < span.end; j++)
        sum += exp((double)scale * (tensor_get(x, at + j) - max));
    const double error = 0x1p-19 + 0x1p-22 * (double)scale * (max - min);
    for (int64_t j = 0; j < c; j++) {
        const bool is_in = j >= span.first && j < span.end;
        const double want = is_in ? exp((double)scale * (tensor_get(x, at + j) - max)) / sum : 0;
        const double bound = is_in ? bound_stored(x->t, want, error * want + LEAST) : 0;
        const double got = tensor_get(y, at + j);
        POD_CHECK(fabs(got - want) <= bound,
                  "%s: element %lld of %lld is %.9g, want %.9g within %g", what, (long long)j,
                  (long long)c, got, want, bound);
    }
}

/* y dy is rounded, summed, subtracted from dy, and multiplied. */
static void check_softmax_grad_row(const char *what, float scale, const tensor *y, const tensor *dy,
                                   const tensor *dx, int64_t at, int64_t c, pod_row_span span)
{
    double sum = 0, size = 0;
    for (int64_t j = span.first; j < span.end; j++) {
        sum += tensor_get(y, at + j) * tensor_get(dy, at + j);
        size += fabs(tensor_get(y, at + j) * tensor_get(dy, at + j));
    }
    for (int64_t j = 0; j < c; j++) {
        const bool is_in = j >= span.first && j < span.end;
        const double p = (double)scale * tensor_get(y, at + j), d = tensor_get(dy, at + j);
        const double want = is_in ? p * (d - sum) : 0;
        const double off = 20 * U * fabs(p) * (fabs(d) + size) + 0x1p-126;
        const double bound = is_in ? bound_stored(y->t, want, off) : 0,
                     got = tensor_get(dx, at + j);
        POD_CHECK(fabs(got - want) <= bound,
                  "%s: gradient %lld of %lld is %.9g, want %.9g within %g", what, (long long)j,
                  (long long)c, got, want, bound);
    }
}

static void check_softmax(const pod_activation *k, pod_dtype t, int64_t c, float scale, bool whole)
{
    pod_row_span spans[SOFTMAX_ROWS];
    TENSOR x = tensor_random(5, t, SOFTMAX_ROWS * c), dy = tensor_random(6, t, SOFTMAX_ROWS * c);
    TENSOR y = tensor_new(t, x.count), dx = tensor_new(t, x.count);
    for (int64_t i = 0; i < x.count; i++) pod_test_put(t, x.data, i, 8 * tensor_get(&x, i));
    for (int64_t r = 0; r < SOFTMAX_ROWS; r++)
        spans[r] = whole ? (pod_row_span){0, c} : span_at(r, c);
    TENSOR in_place = tensor_copy(&x), d_in_place = tensor_copy(&dy);
    const pod_row_span *given = whole ? NULL : spans;
    k->softmax(SOFTMAX_ROWS, c, t, scale, given, x.data, y.data);
    k->softmax_grad(SOFTMAX_ROWS, c, t, scale, given, y.data, dy.data, dx.data);
    const char *what =
        pod_test_text("%s softmax %s scale %g", k->name, pod_dtype_name(t), (double)scale);
    for (int64_t r = 0; r < SOFTMAX_ROWS; r++) {
        check_softmax_row(what, scale, &x, &y, r * c, c, spans[r]);
        check_softmax_grad_row(what, scale, &y, &dy, &dx, r * c, c, spans[r]);
    }
    k->softmax(SOFTMAX_ROWS, c, t, scale, given, in_place.data, in_place.data);
    tensor_check_same(k->name, &in_place, &y);
    k->softmax_grad(SOFTMAX_ROWS, c, t, scale, given, y.data, d_in_place.data, d_in_place.data);
    tensor_check_same(k->name, &d_in_place, &dx);
}

static void test_softmax(void)
{
    static const int64_t widths[] = {1, 2, 15, 16, 17, 33, 64, 257, 700};
    static const float scales[] = {1, 0.125f, 30};
    EACH_SET(activation, set)
        for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
            for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++)
                for (int t = 0; t < 4; t++)
                    check_softmax(set, t % 2 ? POD_BF16 : POD_F32, widths[i], scales[s], t / 2);
}

POD_TEST_SUITE("activation", {"curves", test_curves}, {"tanh_grad", test_tanh_grad},
               {"odd values", test_odd_values}, {"forms", test_forms}, {"softmax", test_softmax});
