/* Pointwise kernels: the reference against double, every set against the reference bit by bit. */
#include <stdlib.h>

#include "kernels/pointwise/pointwise.h"
#include "tests/unit/kernels/kernel_test.h"

/* What a case computes from: tensors of rows x c elements and columns of c. */
typedef struct input {
    int64_t rows, c;
    pod_dtype t;
    tensor a, b, bytes, scale, shift;
} input;

static int64_t count_of(const input *in) { return in->rows * in->c; }

static input input_make(int64_t rows, int64_t c, pod_dtype t, uint64_t seed)
{
    input in = {.rows = rows, .c = c, .t = t};
    in.a = tensor_random(seed, t, rows * c);
    in.b = tensor_random(seed + 1, t, rows * c);
    in.scale = tensor_random(seed + 2, POD_F32, c);
    in.shift = tensor_random(seed + 3, POD_F32, c);
    in.bytes = tensor_new(POD_U8, rows * c);
    pod_test_fill_exact(seed + 4, rows * c, 255, POD_U8, in.bytes.data);
    return in;
}

static void input_free(input *in)
{
    tensor *all[] = {&in->a, &in->b, &in->bytes, &in->scale, &in->shift};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) tensor_free(all[i]);
}

static const float ALPHA = 0.7f, BETA = -1.3f;

static pod_dtype other(pod_dtype t) { return t == POD_F32 ? POD_BF16 : POD_F32; }

static void run_cast(const pod_pointwise *k, const input *in, void *y)
{
    k->cast(count_of(in), in->t, in->a.data, other(in->t), y);
}
static void run_relu(const pod_pointwise *k, const input *in, void *y)
{
    k->relu(count_of(in), in->t, in->a.data, y);
}
static void run_relu_grad(const pod_pointwise *k, const input *in, void *y)
{
    k->relu_grad(count_of(in), in->t, in->a.data, in->b.data, y);
}
static void run_add(const pod_pointwise *k, const input *in, void *y)
{
    k->add(count_of(in), in->t, in->a.data, in->b.data, y);
}
static void run_bias_add(const pod_pointwise *k, const input *in, void *y)
{
    k->bias_add(in->rows, in->c, in->t, in->a.data, in->shift.data, y);
}
static void run_axpby(const pod_pointwise *k, const input *in, void *y)
{
    k->axpby(count_of(in), ALPHA, in->a.data, BETA, in->b.data, y);
}
static void run_scale(const pod_pointwise *k, const input *in, void *y)
{
    k->axpby(count_of(in), ALPHA, in->a.data, 0, NULL, y);
}
static void run_normalize(const pod_pointwise *k, const input *in, void *y)
{
    k->normalize_u8(in->rows, in->c, in->bytes.data, in->scale.data, in->shift.data, in->t, y);
}

/* The exact value of element i, and the magnitudes that are rounded on the way to it. */
typedef struct exact {
    double value, rounded;
} exact;

static exact sum_of(double a, double b, double rounded)
{
    return (exact){a + b, rounded + fabs(a + b)};
}

static exact want_cast(const input *in, int64_t i) { return (exact){tensor_get(&in->a, i), 0}; }
static exact want_relu(const input *in, int64_t i)
{
    const double x = tensor_get(&in->a, i);
    return (exact){x <= 0 ? 0 : x, 0};
}
static exact want_relu_grad(const input *in, int64_t i)
{
    return (exact){tensor_get(&in->a, i) > 0 ? tensor_get(&in->b, i) : 0, 0};
}
static exact want_add(const input *in, int64_t i)
{
    return sum_of(tensor_get(&in->a, i), tensor_get(&in->b, i), 0);
}
static exact want_bias_add(const input *in, int64_t i)
{
    return sum_of(tensor_get(&in->a, i), tensor_get(&in->shift, i % in->c), 0);
}
static exact want_axpby(const input *in, int64_t i)
{
    const double x = (double)ALPHA * tensor_get(&in->a, i);
    const double z = (double)BETA * tensor_get(&in->b, i);
    return sum_of(x, z, fabs(x) + fabs(z));
}
static exact want_scale(const input *in, int64_t i)
{
    const double x = (double)ALPHA * tensor_get(&in->a, i);
    return (exact){x, fabs(x)};
}
static exact want_normalize(const input *in, int64_t i)
{
    const double x = tensor_get(&in->bytes, i) * tensor_get(&in->scale, i % in->c);
    return sum_of(x, tensor_get(&in->shift, i % in->c), fabs(x));
}

static const struct {
    const char *name;
    void (*run)(const pod_pointwise *k, const input *in, void *y);
    exact (*want)(const input *in, int64_t i);
    bool f32_only, changes_type, over_a, over_b; /* over: y may be in place of a, of b */
} ops[] = {
    {"cast", run_cast, want_cast, false, true, false, false},
    {"relu", run_relu, want_relu, false, false, true, false},
    {"relu_grad", run_relu_grad, want_relu_grad, false, false, true, true},
    {"add", run_add, want_add, false, false, true, true},
    {"bias_add", run_bias_add, want_bias_add, false, false, true, false},
    {"axpby", run_axpby, want_axpby, true, false, true, true},
    {"axpby with beta 0", run_scale, want_scale, true, false, true, false},
    {"normalize_u8", run_normalize, want_normalize, false, false, false, false},
};
enum { N_OPS = sizeof ops / sizeof ops[0] };

static const struct {
    int64_t rows, c;
} shapes[] = {{0, 1},  {1, 1},   {15, 1},  {16, 1},   {17, 1},   {1023, 1}, {1, 17},
              {5, 3},  {400, 3}, {7, 16},  {300, 16}, {33, 20},  {3, 31},   {64, 10},
              {9, 64}, {0, 64},  {70, 64}, {23, 100}, {3, 1025}, {2, 2100}, {5, 1024}};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

static const pod_pointwise *reference(void) { return pod_pointwise_pick(POD_CPU_REFERENCE_ONLY); }

static void check_reference(int op, const input *in, const char *name, const tensor *y)
{
    double *want = calloc((size_t)count_of(in) + 1, sizeof *want);
    double *bound = calloc((size_t)count_of(in) + 1, sizeof *bound);
    for (int64_t i = 0; i < count_of(in); i++) {
        const exact e = ops[op].want(in, i);
        want[i] = e.value;
        bound[i] = ops[op].run == run_relu || ops[op].run == run_relu_grad
                       ? 0
                       : bound_rounded(y->t, e.rounded, e.value);
    }
    tensor_check_near(name, y, want, bound);
    free(want);
    free(bound);
}

/* y in place of a or b must have the bits it has elsewhere. */
static void check_in_place(const pod_pointwise *k, int op, const input *in, const char *name,
                           const tensor *want)
{
    for (int over_b = 0; over_b < 2; over_b++) {
        if (over_b ? !ops[op].over_b : !ops[op].over_a) continue;
        input twin = *in;
        TENSOR y = tensor_copy(over_b ? &in->b : &in->a);
        *(over_b ? &twin.b : &twin.a) = y;
        ops[op].run(k, &twin, y.data);
        tensor_check_same(name, &y, want);
    }
}

static void check_op(int op, const input *in, bool finite)
{
    const pod_dtype out = ops[op].changes_type ? other(in->t) : in->t;
    TENSOR want = tensor_new(out, count_of(in));
    char name[128];
    ops[op].run(reference(), in, want.data);
    if (finite) check_reference(op, in, ops[op].name, &want);
    EACH_SET(pointwise, set) {
        snprintf(name, sizeof name, "%s %s, %s (%lld, %lld)", set->name, ops[op].name,
                 pod_dtype_name(in->t), (long long)in->rows, (long long)in->c);
        TENSOR y = tensor_new(out, count_of(in));
        ops[op].run(set, in, y.data);
        tensor_check_same(name, &y, &want);
        check_in_place(set, op, in, name, &want);
    }
}

static void check_all(bool finite)
{
    for (int t = 0; t < 2; t++) {
        for (int s = 0; s < N_SHAPES; s++) {
            input in = input_make(shapes[s].rows, shapes[s].c, t ? POD_BF16 : POD_F32,
                                  (uint64_t)(10 * s + 1));
            if (!finite) {
                tensor_sprinkle(&in.a);
                tensor_sprinkle(&in.shift);
            }
            for (int op = 0; op < N_OPS; op++)
                if (!ops[op].f32_only || in.t == POD_F32) check_op(op, &in, finite);
            input_free(&in);
        }
    }
}

static void test_numbers(void) { check_all(true); }
static void test_not_numbers(void) { check_all(false); }

/* Each of the 65,536 bf16 values, among them all NaNs and what is below the normal numbers. */
static void test_every_bf16(void)
{
    enum { N = 65536 };
    TENSOR x = tensor_new(POD_BF16, N), y = tensor_new(POD_BF16, N), g = tensor_new(POD_BF16, N);
    TENSOR dy = tensor_random(5, POD_BF16, N);
    for (int i = 0; i < N; i++) ((pod_bf16 *)x.data)[i].bits = (uint16_t)i;
    EACH_SET(pointwise, set) {
        set->relu(N, POD_BF16, x.data, y.data);
        set->relu_grad(N, POD_BF16, x.data, dy.data, g.data);
        int n_wrong = 0;
        for (int j = 0; j < N; j++) {
            const double v = tensor_get(&x, j);
            const uint16_t keep = v > 0 || isnan(v) ? (uint16_t)j : 0;
            const uint16_t pass = v > 0 ? ((pod_bf16 *)dy.data)[j].bits : 0;
            n_wrong += ((pod_bf16 *)y.data)[j].bits != keep;
            n_wrong += ((pod_bf16 *)g.data)[j].bits != pass;
        }
        POD_CHECK(n_wrong == 0, "%s: %d values are wrong", set->name, n_wrong);
    }
}

/* Rounding to bf16 for every upper half and the lower halves that decide: below, at and above the
 * tie. */
static void test_rounding(void)
{
    const uint32_t low[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    enum { N_LOW = 6, N = 65536 * N_LOW };
    TENSOR x = tensor_new(POD_F32, N), y = tensor_new(POD_BF16, N), back = tensor_new(POD_F32, N);
    uint32_t *bits = x.data;
    for (uint32_t i = 0; i < N; i++) bits[i] = (i / N_LOW) << 16 | low[i % N_LOW];
    EACH_SET(pointwise, set) {
        set->cast(N, POD_F32, x.data, POD_BF16, y.data);
        set->cast(N, POD_BF16, y.data, POD_F32, back.data);
        int n_wrong = 0;
        for (int j = 0; j < N; j++) {
            const pod_bf16 want = pod_bf16_from_f32(((float *)x.data)[j]);
            n_wrong += ((pod_bf16 *)y.data)[j].bits != want.bits;
            n_wrong += ((uint32_t *)back.data)[j] != (uint32_t)want.bits << 16;
        }
        POD_CHECK(n_wrong == 0, "%s: %d of %d casts are wrong", set->name, n_wrong, (int)N);
    }
}

/* A sum so large that it is stored past the caches, with half a pair of vectors left. */
static void test_past_the_caches(void)
{
    for (int t = 0; t < 2; t++) {
        input in = input_make(t ? 2 * 65537 : 65537, 16, t ? POD_BF16 : POD_F32, 5);
        TENSOR want = tensor_new(in.t, count_of(&in)), got = tensor_new(in.t, count_of(&in));
        run_add(pod_pointwise_pick(POD_CPU_REFERENCE_ONLY), &in, want.data);
        EACH_SET(pointwise, set) {
            memset(got.data, 0x55, tensor_bytes(&got));
            run_add(set, &in, got.data);
            tensor_check_same(set->name, &got, &want);
        }
        input_free(&in);
    }
}

POD_TEST_SUITE("pointwise", {"numbers", test_numbers}, {"not_numbers", test_not_numbers},
               {"every_bf16", test_every_bf16}, {"rounding", test_rounding},
               {"past_the_caches", test_past_the_caches});
