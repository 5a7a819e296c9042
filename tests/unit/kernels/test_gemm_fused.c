/* kernels/gemm: what is fused to a product, and B packed beforehand, by every kernel of the table
 * that takes it, against sums in double. */
#include <math.h>
#include <stdlib.h>

#include "kernels/base/assert.h"
#include "kernels/gemm/gemm.h"
#include "tests/unit/kernels/kernel_test.h"

#define N_OF(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* Tiles and one off, nothing, skinny, more than one block of k, of rows and of columns. */
static const pod_gemm_shape shapes[] = {
    {1, 1, 1},    {5, 4, 0},      {0, 4, 3},       {4, 0, 3},      {16, 16, 32},
    {17, 15, 33}, {32, 32, 64},   {33, 33, 1},     {31, 64, 31},   {64, 10, 96},
    {3, 40, 70},  {40, 36, 1400}, {515, 5, 7},     {4, 520, 20},   {131, 129, 128},
    {29, 66, 33}, {20, 70, 17},   {270, 34, 1030}, {3, 530, 1030},
};

enum { BIAS_AND_RELU = POD_GEMM_BIAS | POD_GEMM_RELU };

/* A call with its operands; rows stand `gap` elements further apart than they have to. */
typedef struct trial {
    pod_gemm_call call;
    tensor a, b, bias, c;
    double *sum, *sum_abs; /* of the terms of each element, (M, N) */
} trial;

static int64_t extent(int64_t rows, int64_t width, int64_t ld)
{
    return rows == 0 || width == 0 ? 0 : (rows - 1) * ld + width;
}

static int64_t a_at(const pod_gemm_call *c, int64_t m, int64_t k)
{
    return c->trans_a ? k * c->lda + m : m * c->lda + k;
}

static int64_t b_at(const pod_gemm_call *c, int64_t k, int64_t n)
{
    return c->trans_b ? n * c->ldb + k : k * c->ldb + n;
}

static void work_out(trial *t)
{
    const pod_gemm_shape s = t->call.shape;
    t->sum = calloc((size_t)(s.m * s.n) + 1, sizeof *t->sum);
    t->sum_abs = calloc((size_t)(s.m * s.n) + 1, sizeof *t->sum_abs);
    POD_ASSERT(t->sum && t->sum_abs, "no memory for %lld sums", (long long)(s.m * s.n));
    double *b = calloc((size_t)(s.k * s.n) + 1, sizeof *b);
    POD_ASSERT(b, "no memory for %lld numbers", (long long)(s.k * s.n));
    for (int64_t i = 0; i < s.k * s.n; i++)
        b[i] = tensor_get(&t->b, b_at(&t->call, i / s.n, i % s.n));
    for (int64_t m = 0; m < s.m; m++)
        for (int64_t k = 0; k < s.k; k++) {
            const double a = tensor_get(&t->a, a_at(&t->call, m, k));
            for (int64_t n = 0; n < s.n; n++) {
                const double term = a * b[k * s.n + n];
                t->sum[m * s.n + n] += term;
                t->sum_abs[m * s.n + n] += fabs(term);
            }
        }
    free(b);
}

static trial trial_of(pod_gemm_shape s, bool trans_a, bool trans_b, pod_dtype type, int64_t gap)
{
    trial t = {.call = {.shape = s,
                        .n_batch = 1,
                        .trans_a = trans_a,
                        .trans_b = trans_b,
                        .ab_dtype = type,
                        .lda = (trans_a ? s.m : s.k) + gap,
                        .ldb = (trans_b ? s.k : s.n) + gap,
                        .ldc = s.n + gap}};
    t.a = tensor_random(1, type, extent(trans_a ? s.k : s.m, trans_a ? s.m : s.k, t.call.lda));
    t.b = tensor_random(2, type, extent(trans_b ? s.n : s.k, trans_b ? s.k : s.n, t.call.ldb));
    t.bias = tensor_random(3, POD_F32, s.n);
    t.call.a = t.a.data;
    t.call.b = t.b.data;
    t.call.bias = t.bias.data;
    work_out(&t);
    return t;
}

static void trial_end(trial *t)
{
    tensor_free(&t->a);
    tensor_free(&t->b);
    tensor_free(&t->bias);
    free(t->sum);
    free(t->sum_abs);
}

/* Element (m, n) of C where it held `before`, and how far rounding may take it. */
static double element(const trial *t, int64_t m, int64_t n, double before, double *bound)
{
    const pod_gemm_call *c = &t->call;
    const double bias = c->fused & POD_GEMM_BIAS ? tensor_get(&t->bias, n) : 0.0;
    const double sum = t->sum[m * c->shape.n + n] + before + bias;
    const double sum_abs = t->sum_abs[m * c->shape.n + n] + fabs(before) + fabs(bias);
    *bound = pod_test_bound_dot(c->shape.k + 2, sum_abs, sum, c->c_dtype);
    return c->fused & POD_GEMM_RELU && sum <= 0.0 ? 0.0 : sum;
}

/* C, fresh: NaNs all over, or `before` in its elements when they are added to. */
static void c_begin(trial *t, double before)
{
    pod_gemm_call *c = &t->call;
    t->c = tensor_new(c->c_dtype, extent(c->shape.m, c->shape.n, c->ldc));
    c->c = t->c.data;
    if (c->beta < 1.0f) return;
    for (int64_t m = 0; m < c->shape.m; m++)
        for (int64_t n = 0; n < c->shape.n; n++)
            pod_test_put(c->c_dtype, c->c, m * c->ldc + n, before);
}

static void check_c(const trial *t, const char *name, double before)
{
    const pod_gemm_call *c = &t->call;
    char what[160];
    snprintf(what, sizeof what, "%s %lldx%lldx%lld%s%s %s->%s beta %g fused %u", name,
             (long long)c->shape.m, (long long)c->shape.n, (long long)c->shape.k,
             c->trans_a ? " ta" : "", c->trans_b ? " tb" : "", pod_dtype_name(c->ab_dtype),
             pod_dtype_name(c->c_dtype), (double)c->beta, c->fused);
    int64_t n_wrong = 0, n_outside = 0;
    for (int64_t at = 0; at < t->c.count; at++) {
        const double got = tensor_get(&t->c, at);
        if (at % c->ldc >= c->shape.n) {
            n_outside += !isnan(got);
            continue;
        }
        double bound;
        const double want = element(t, at / c->ldc, at % c->ldc, before, &bound);
        n_wrong += !pod_test_near(got, want, bound);
    }
    POD_CHECK(n_wrong == 0, "%s: %lld elements differ", what, (long long)n_wrong);
    POD_CHECK(n_outside == 0, "%s: %lld elements between rows written", what, (long long)n_outside);
}

static void run(const pod_gemm_kernel *kernel, const pod_gemm_call *call)
{
    const size_t bytes = (kernel->scratch_bytes(call) + 63) / 64 * 64;
    void *scratch = pod_test_guard(bytes);
    const pod_gemm_shape s = call->shape;
    pod_test_doing("gemm %s, %lldx%lldx%lld", kernel->name, (long long)s.m, (long long)s.n,
                   (long long)s.k);
    kernel->run(call, scratch);
    pod_test_guard_free(scratch, bytes);
}

/* The call with C of each type and beta; 0 when the kernel refuses them all. */
static int try_outputs(const pod_gemm_kernel *kernel, trial *t, unsigned fused)
{
    static const struct {
        pod_dtype type;
        float beta;
    } outputs[] = {{POD_F32, 0.0f}, {POD_F32, 1.0f}, {POD_BF16, 0.0f}};
    int n_runs = 0;
    for (int o = 0; o < N_OF(outputs); o++) {
        t->call.c_dtype = outputs[o].type;
        t->call.beta = outputs[o].beta;
        t->call.fused = fused;
        POD_CHECK_OK(pod_gemm_check(&t->call));
        if (kernel->why_not(&t->call)) continue;
        const double before = outputs[o].beta > 0.0f ? 2.0 : 0.0;
        c_begin(t, before);
        run(kernel, &t->call);
        check_c(t, kernel->name, before);
        tensor_free(&t->c);
        n_runs++;
    }
    return n_runs;
}

/* B packed as the call says, from its own type or from the float32 it was rounded from. Nothing but
 * NaNs is left where B was. */
static int try_packed(const pod_gemm_kernel *kernel, trial *t, pod_dtype from)
{
    tensor source = tensor_new(from, t->b.count);
    for (int64_t i = 0; i < source.count; i++)
        pod_test_put(from, source.data, i, tensor_get(&t->b, i));
    const size_t bytes = (kernel->packed_bytes(&t->call) + 63) / 64 * 64;
    void *packed = pod_test_guard(bytes);
    kernel->pack(&t->call, from, source.data, packed);
    tensor_free(&source);
    t->call.b = packed;
    const int n_runs = try_outputs(kernel, t, POD_GEMM_PACKED_B) +
                       try_outputs(kernel, t, POD_GEMM_PACKED_B | BIAS_AND_RELU);
    t->call.b = t->b.data;
    pod_test_guard_free(packed, bytes);
    return n_runs;
}

/* Every kernel that runs here, over shapes, transposes, types and gaps. */
static void for_each_trial(int (*try_one)(const pod_gemm_kernel *, trial *))
{
    int n, n_runs = 0, n_cases = 0;
    const pod_gemm_kernel *kernels = pod_gemm_kernels(&n);
    for (int i = 0; i < n; i++) {
        if (!kernel_runs("gemm", kernels[i].name, kernels[i].needs)) continue;
        for (int s = 0; s < N_OF(shapes); s++)
            for (int variant = 0; variant < 8; variant++) {
                if (n_cases++ % POD_TEST_EVERY) continue;
                const pod_dtype type = variant & 4 ? POD_BF16 : POD_F32;
                trial t = trial_of(shapes[s], variant & 1, variant & 2, type, s % 3);
                n_runs += try_one(&kernels[i], &t);
                trial_end(&t);
            }
    }
    POD_CHECK(n_runs > 0, "no kernel took any of it");
}

static int try_fused(const pod_gemm_kernel *kernel, trial *t)
{
    return try_outputs(kernel, t, POD_GEMM_BIAS) + try_outputs(kernel, t, POD_GEMM_RELU) +
           try_outputs(kernel, t, BIAS_AND_RELU);
}

static int try_packed_b(const pod_gemm_kernel *kernel, trial *t)
{
    if (!kernel->pack) return 0;
    t->call.fused = POD_GEMM_PACKED_B;
    if (kernel->why_not(&t->call)) return 0;
    return try_packed(kernel, t, POD_F32) +
           (t->call.ab_dtype == POD_BF16 ? try_packed(kernel, t, POD_BF16) : 0);
}

static void gemm_fuses_bias_and_relu(void) { for_each_trial(try_fused); }

/* Where every kernel lacks the instructions or a layout, the reference has refused, and said so. */
static void gemm_takes_packed_b(void)
{
    int n;
    const pod_gemm_kernel *kernels = pod_gemm_kernels(&n);
    bool any = false;
    for (int i = 0; i < n; i++) any = any || (kernels[i].pack && pod_test_tries(kernels[i].needs));
    if (any)
        for_each_trial(try_packed_b);
    else
        pod_test_skip("gemm", "no kernel of this CPU packs B");
    for (int i = 0; i < n; i++) {
        pod_gemm_call call = {.shape = {1, 1, 1}, .n_batch = 1, .fused = POD_GEMM_PACKED_B};
        call.ab_dtype = POD_BF16;
        POD_CHECK(!kernels[i].packed_bytes == !kernels[i].pack, "%s: half of packing",
                  kernels[i].name);
        POD_CHECK(kernels[i].pack || kernels[i].why_not(&call), "%s takes what it cannot pack",
                  kernels[i].name);
    }
}

/* One packed B serves calls of any M. */
static int try_another_m(const pod_gemm_kernel *kernel, trial *t)
{
    if (!kernel->pack) return 0;
    t->call.fused = POD_GEMM_PACKED_B;
    if (kernel->why_not(&t->call)) return 0;
    pod_gemm_call other = t->call;
    other.shape.m = 1;
    const size_t bytes = kernel->packed_bytes(&other);
    POD_CHECK(bytes == kernel->packed_bytes(&t->call), "%s: m changes what packing takes",
              kernel->name);
    void *packed = pod_test_guard((bytes + 63) / 64 * 64);
    kernel->pack(&other, t->call.ab_dtype, t->b.data, packed);
    t->call.b = packed;
    const int n_runs = try_outputs(kernel, t, POD_GEMM_PACKED_B);
    t->call.b = t->b.data;
    pod_test_guard_free(packed, (bytes + 63) / 64 * 64);
    return n_runs;
}

static void gemm_packed_b_serves_any_m(void)
{
    int n;
    const pod_gemm_kernel *kernels = pod_gemm_kernels(&n);
    for (int i = 0; i < n; i++) {
        if (!pod_test_tries(kernels[i].needs)) continue;
        trial t = trial_of((pod_gemm_shape){131, 129, 130}, false, false, POD_BF16, 1);
        const int n_runs = try_another_m(&kernels[i], &t);
        POD_CHECK(n_runs > 0 || !kernels[i].pack, "%s took no packed B", kernels[i].name);
        trial_end(&t);
    }
}

/* Several blocks of rows and columns, and of a long k: what is fused to the last of them alone, and
 * where they begin in a packed B. */
static void gemm_fuses_behind_the_last_block(void)
{
    static const pod_gemm_shape large[] = {{518, 1060, 65}, {130, 131, 900}};
    int n;
    const pod_gemm_kernel *kernels = pod_gemm_kernels(&n);
    for (int s = 0; s < N_OF(large); s++) {
        trial t = trial_of(large[s], false, s > 0, POD_BF16, 0);
        for (int i = 0; i < n - 1; i++) {
            if (!kernels[i].pack || !kernel_runs("gemm", kernels[i].name, kernels[i].needs))
                continue;
            t.call.fused = POD_GEMM_PACKED_B;
            POD_CHECK(!kernels[i].why_not(&t.call), "%s refuses a large product", kernels[i].name);
            if (s == 0) try_outputs(&kernels[i], &t, BIAS_AND_RELU);
            t.call.fused = POD_GEMM_PACKED_B;
            CU_ASSERT(try_packed(&kernels[i], &t, POD_F32) > 0);
        }
        trial_end(&t);
    }
}

/* A NaN of an operand shows in its row or column of C alone, through bias and relu. */
static int try_nan(const pod_gemm_kernel *kernel, trial *t)
{
    const pod_gemm_shape s = t->call.shape;
    t->call.fused = BIAS_AND_RELU;
    if (kernel->why_not(&t->call) || s.m == 0 || s.n == 0 || s.k == 0) return 0;
    pod_test_put(t->a.t, t->a.data, a_at(&t->call, s.m - 1, s.k - 1), (double)NAN);
    pod_test_put(t->b.t, t->b.data, b_at(&t->call, s.k - 1, 0), (double)NAN);
    c_begin(t, 0.0);
    run(kernel, &t->call);
    int64_t n_wrong = 0;
    for (int64_t m = 0; m < s.m; m++)
        for (int64_t n = 0; n < s.n; n++) {
            const bool want = m == s.m - 1 || n == 0;
            n_wrong += isnan(tensor_get(&t->c, m * t->call.ldc + n)) != want;
        }
    POD_CHECK(n_wrong == 0, "%s %lldx%lldx%lld: %lld NaNs lost or spread", kernel->name,
              (long long)s.m, (long long)s.n, (long long)s.k, (long long)n_wrong);
    tensor_free(&t->c);
    return 1;
}

static void gemm_fused_passes_on_nan(void) { for_each_trial(try_nan); }

static CU_TestInfo gemm_fused_tests[] = {
    {"gemm_fuses_bias_and_relu", gemm_fuses_bias_and_relu},
    {"gemm_takes_packed_b", gemm_takes_packed_b},
    {"gemm_packed_b_serves_any_m", gemm_packed_b_serves_any_m},
    {"gemm_fuses_behind_the_last_block", gemm_fuses_behind_the_last_block},
    {"gemm_fused_passes_on_nan", gemm_fused_passes_on_nan},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {.pName = "gemm_fused", .pTests = gemm_fused_tests},
    CU_SUITE_INFO_NULL,
};
