/* kernels/gemm: every kernel of the table against sums in double, its edges, and its contract. */
#include <math.h>
#include <stdlib.h>

#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"
#include "kernels/gemm/blas.h"
#include "kernels/gemm/gemm.h"
#include "tests/harness/harness.h"

/* Tiles and one off, one row or column, nothing, long sums, past the blocks of 512; sums so long
 * that A^T B goes another way; past the columns of a block, 1,024 and 2,048; odd ones among what a kernel of pairs of k takes. */
static const pod_gemm_shape shapes[] = {
    {1, 1, 1},      {3, 5, 7},       {16, 16, 16},    {17, 15, 33},   {31, 33, 64},
    {1, 64, 129},   {64, 1, 9},      {5, 4, 0},       {0, 4, 3},      {4, 0, 3},
    {7, 9, 5000},   {700, 16, 80},   {16, 8, 9000},   {3, 520, 20},   {20, 3, 1030},
    {258, 9, 514},  {32, 32, 32},    {33, 49, 1300},  {65, 64, 96},   {530, 47, 2},
    {48, 530, 64},  {130, 129, 130}, {128, 129, 400}, {33, 49, 2100}, {530, 5, 2081},
    {3, 530, 2048}, {20, 70, 1},     {29, 100, 31},   {16, 40, 65},   {29, 65, 1025},
    {2, 130, 67},   {1030, 34, 521}, {20, 40, 0},     {5, 1100, 70},  {20, 2081, 33},
    {33, 1030, 19},
};

/* How operands lie: so many products, rows so much longer than they need to be. */
static const struct {
    int64_t n_batch, gap;
} layouts[] = {{1, 0}, {3, 5}, {0, 1}};

#define N_OF(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* Zeros, n of them; one more, so that n may be 0. */
static double *zeros(int64_t n)
{
    double *p = calloc((size_t)n + 1, sizeof *p);
    POD_ASSERT(p != NULL, "no memory for %lld numbers", (long long)n);
    return p;
}

/* A call, its memory, and the size of each operand in elements. */
typedef struct trial {
    pod_gemm_call call;
    void *a, *b, *c, *scratch;
    int64_t a_count, b_count, c_count;
    size_t scratch_bytes;
    double *want, *sum_abs; /* of C's elements, (n_batch, M, N) */
} trial;

/* Elements from the first to the last; rows of `width` stand `ld` apart, no gap behind the last. */
static int64_t extent(int64_t n_batch, int64_t stride, int64_t rows, int64_t width, int64_t ld)
{
    if (n_batch == 0 || rows == 0 || width == 0) return 0;
    return (n_batch - 1) * stride + (rows - 1) * ld + width;
}

static int64_t a_at(const pod_gemm_call *c, int64_t i, int64_t m, int64_t k)
{
    return i * c->stride_a + (c->trans_a ? k * c->lda + m : m * c->lda + k);
}

static int64_t b_at(const pod_gemm_call *c, int64_t i, int64_t k, int64_t n)
{
    return i * c->stride_b + (c->trans_b ? n * c->ldb + k : k * c->ldb + n);
}

static int64_t c_at(const pod_gemm_call *c, int64_t i, int64_t m, int64_t n)
{
    return i * c->stride_c + m * c->ldc + n;
}

static void lay_out(pod_gemm_call *c, int64_t gap)
{
    const pod_gemm_shape s = c->shape;
    c->lda = (c->trans_a ? s.m : s.k) + gap;
    c->ldb = (c->trans_b ? s.k : s.n) + gap;
    c->ldc = s.n + gap;
    c->stride_a = (c->trans_a ? s.k : s.m) * c->lda + gap;
    c->stride_b = (c->trans_b ? s.n : s.k) * c->ldb + gap;
    c->stride_c = s.m * c->ldc + gap;
}

/* Guarded A and B full of NaN; what is in them comes next. C comes with each run. */
static trial trial_of(pod_gemm_call call)
{
    const pod_gemm_shape s = call.shape;
    trial t = {.call = call};
    t.a_count = extent(call.n_batch, call.stride_a, call.trans_a ? s.k : s.m,
                       call.trans_a ? s.m : s.k, call.lda);
    t.b_count = extent(call.n_batch, call.stride_b, call.trans_b ? s.n : s.k,
                       call.trans_b ? s.k : s.n, call.ldb);
    t.c_count = extent(call.n_batch, call.stride_c, s.m, s.n, call.ldc);
    t.call.a = t.a = pod_test_guard((size_t)t.a_count * pod_dtype_bytes(call.ab_dtype));
    t.call.b = t.b = pod_test_guard((size_t)t.b_count * pod_dtype_bytes(call.ab_dtype));
    t.want = zeros(call.n_batch * s.m * s.n);
    t.sum_abs = zeros(call.n_batch * s.m * s.n);
    return t;
}

static void trial_end(trial *t)
{
    pod_test_guard_free(t->a, (size_t)t->a_count * pod_dtype_bytes(t->call.ab_dtype));
    pod_test_guard_free(t->b, (size_t)t->b_count * pod_dtype_bytes(t->call.ab_dtype));
    free(t->want);
    free(t->sum_abs);
}

/* Numbers where the operands' elements are; between the rows the NaNs stay. */
static void fill(trial *t, uint64_t seed, bool exact)
{
    const pod_gemm_call *c = &t->call;
    const pod_gemm_shape s = c->shape;
    const int64_t n_a = c->n_batch * s.m * s.k, n_b = c->n_batch * s.k * s.n;
    float *values = calloc((size_t)(n_a + n_b) + 1, sizeof *values);
    POD_ASSERT(values != NULL, "no memory for %lld numbers", (long long)(n_a + n_b));
    if (exact)
        pod_test_fill_exact(seed, n_a + n_b, 3, POD_F32, values);
    else
        pod_test_fill(seed, n_a + n_b, POD_F32, values);
    const float *next = values;
    for (int64_t i = 0; i < c->n_batch; i++) {
        for (int64_t m = 0; m < s.m; m++)
            for (int64_t k = 0; k < s.k; k++)
                pod_test_put(c->ab_dtype, t->a, a_at(c, i, m, k), (double)*next++);
        for (int64_t k = 0; k < s.k; k++)
            for (int64_t n = 0; n < s.n; n++)
                pod_test_put(c->ab_dtype, t->b, b_at(c, i, k, n), (double)*next++);
    }
    free(values);
}

static void work_out(trial *t)
{
    const pod_gemm_call *c = &t->call;
    const pod_gemm_shape s = c->shape;
    double *want = t->want, *sum_abs = t->sum_abs, *b = zeros(s.k * s.n);
    for (int64_t i = 0; i < c->n_batch; i++) {
        for (int64_t at = 0; at < s.k * s.n; at++)
            b[at] = pod_test_get(c->ab_dtype, t->b, b_at(c, i, at / s.n, at % s.n));
        for (int64_t m = 0; m < s.m; m++, want += s.n, sum_abs += s.n)
            for (int64_t k = 0; k < s.k; k++) {
                const double a = pod_test_get(c->ab_dtype, t->a, a_at(c, i, m, k));
                for (int64_t n = 0; n < s.n; n++) {
                    const double term = a * b[k * s.n + n];
                    want[n] += term;
                    sum_abs[n] += fabs(term);
                }
            }
    }
    free(b);
}

static void run(trial *t, const pod_gemm_kernel *kernel)
{
    const size_t bytes = (kernel->scratch_bytes(&t->call) + 63) / 64 * 64;
    void *scratch = pod_test_guard(bytes);
    const pod_gemm_shape s = t->call.shape;
    pod_test_doing("gemm %s, %lldx%lldx%lld", kernel->name, (long long)s.m, (long long)s.n,
                   (long long)s.k);
    kernel->run(&t->call, scratch);
    pod_test_guard_free(scratch, bytes);
}

/* A fresh C: NaNs all over, or `before` in its elements when they are added to. */
static void c_begin(trial *t, double before)
{
    const pod_gemm_call *c = &t->call;
    t->call.c = t->c = pod_test_guard((size_t)t->c_count * pod_dtype_bytes(c->c_dtype));
    if (c->beta < 1.0f) return;
    for (int64_t i = 0; i < c->n_batch; i++)
        for (int64_t m = 0; m < c->shape.m; m++)
            for (int64_t n = 0; n < c->shape.n; n++)
                pod_test_put(c->c_dtype, t->c, c_at(c, i, m, n), before);
}

static void c_end(trial *t)
{
    pod_test_guard_free(t->c, (size_t)t->c_count * pod_dtype_bytes(t->call.c_dtype));
}

static bool is_untouched(const trial *t, int64_t at)
{
    static const unsigned char fresh[4] = {0xff, 0xff, 0xff, 0xff};
    const size_t bytes = pod_dtype_bytes(t->call.c_dtype);
    return memcmp((const char *)t->c + (size_t)at * bytes, fresh, bytes) == 0;
}

/* C against what was worked out: within the bound, or equal; and nothing between its rows. */
static void compare(const trial *t, const char *name, double before, bool exact)
{
    const pod_gemm_call *c = &t->call;
    const pod_gemm_shape s = c->shape;
    char what[160];
    snprintf(what, sizeof what, "%s %lldx%lldx%lld%s%s batch %lld ld+%lld %s->%s beta %g", name,
             (long long)s.m, (long long)s.n, (long long)s.k, c->trans_a ? " ta" : "",
             c->trans_b ? " tb" : "", (long long)c->n_batch, (long long)(c->ldc - s.n),
             pod_dtype_name(c->ab_dtype), pod_dtype_name(c->c_dtype), (double)c->beta);
    int64_t n_wrong = 0, n_seen = 0;
    for (int64_t at = 0, i = 0; at < t->c_count; at++) {
        const int64_t in_batch = c->stride_c ? at % c->stride_c : at;
        if (in_batch >= s.m * c->ldc || in_batch % c->ldc >= s.n) {
            POD_CHECK(is_untouched(t, at), "%s: wrote between rows, at %lld", what, (long long)at);
            continue;
        }
        double want = t->want[i] + before, bound = 0.0;
        if (exact && c->c_dtype == POD_BF16)
            want = (double)pod_bf16_to_f32(pod_bf16_from_f32((float)want));
        if (!exact)
            bound = pod_test_bound_dot(s.k + 1, t->sum_abs[i] + fabs(before), want, c->c_dtype);
        n_wrong += !pod_test_near(pod_test_get(c->c_dtype, t->c, at), want, bound);
        i++, n_seen++;
    }
    POD_CHECK(n_wrong == 0, "%s: %lld of %lld differ", what, (long long)n_wrong, (long long)n_seen);
    POD_CHECK(n_seen == c->n_batch * s.m * s.n, "%s: %lld elements seen", what, (long long)n_seen);
}

/* n_runs[i] counts how often kernel i ran, so that one which refuses everything is found out. */
static void try_kernels(trial *t, bool exact, int n_runs[])
{
    int n_kernels;
    const pod_gemm_kernel *kernels = pod_gemm_kernels(&n_kernels);
    static const struct {
        pod_dtype type;
        float beta;
    } outputs[] = {{POD_F32, 0.0f}, {POD_F32, 1.0f}, {POD_BF16, 0.0f}};
    for (int i = 0; i < n_kernels; i++) {
        if (!pod_test_tries(kernels[i].needs)) continue;
        for (int o = 0; o < N_OF(outputs); o++) {
            t->call.c_dtype = outputs[o].type;
            t->call.beta = outputs[o].beta;
            const double before = outputs[o].beta > 0.0f ? 2.0 : 0.0;
            POD_CHECK_OK(pod_gemm_check(&t->call));
            if (kernels[i].why_not(&t->call)) continue;
            c_begin(t, before);
            run(t, &kernels[i]);
            compare(t, kernels[i].name, before, exact);
            c_end(t);
            n_runs[i]++;
        }
    }
}

static void try_shapes(bool exact)
{
    static const pod_dtype types[] = {POD_F32, POD_BF16};
    int n_kernels, n_cases = 0;
    const pod_gemm_kernel *kernels = pod_gemm_kernels(&n_kernels);
    int *n_runs = calloc((size_t)n_kernels, sizeof *n_runs);
    POD_ASSERT(n_runs != NULL, "no memory for %d counts", n_kernels);
    for (int s = 0; s < N_OF(shapes); s++)
        for (int l = 0; l < N_OF(layouts); l++) {
            const bool is_large = shapes[s].m * shapes[s].n * shapes[s].k > 1000000;
            if (is_large && layouts[l].n_batch != 1) continue;
            for (int variant = 0; variant < 8; variant++) {
                if (n_cases++ % POD_TEST_EVERY) continue;
                pod_gemm_call call = {.shape = shapes[s],
                                      .n_batch = layouts[l].n_batch,
                                      .trans_a = variant & 1,
                                      .trans_b = variant & 2,
                                      .ab_dtype = types[variant >> 2]};
                lay_out(&call, layouts[l].gap);
                trial t = trial_of(call);
                fill(&t, (uint64_t)s * 100 + (uint64_t)l * 10 + (uint64_t)variant, exact);
                work_out(&t);
                try_kernels(&t, exact, n_runs);
                trial_end(&t);
            }
        }
    for (int i = 0; i < n_kernels; i++)
        if (pod_test_tries(kernels[i].needs))
            POD_CHECK(POD_TEST_EVERY > 1 || n_runs[i] >= 12, "%s: ran %d times only",
                      kernels[i].name, n_runs[i]);
    free(n_runs);
}

static void gemm_keeps_within_the_bound(void) { try_shapes(false); }
static void gemm_is_exact_on_whole_numbers(void) { try_shapes(true); }

static void gemm_says_what_this_cpu_lacks(void)
{
    int n;
    const pod_gemm_kernel *kernels = pod_gemm_kernels(&n);
    for (int i = 0; i < n; i++)
        if (kernels[i].needs & ~pod_cpu_features())
            pod_test_skip(kernels[i].name, "this CPU lacks what it needs");
    POD_CHECK(n >= 2, "%d kernels", n);
}

/* Row 1 of A gets the value, and so must row 1 of C; the other rows stay as they were. */
static void special_in_a_row(pod_dtype type, const pod_gemm_kernel *kernel, double value)
{
    const int64_t m = 20, n = 17, k = 40;
    pod_gemm_call call = {.shape = {m, n, k}, .n_batch = 1, .ab_dtype = type, .c_dtype = type};
    lay_out(&call, 0);
    if (kernel->why_not(&call)) return;
    trial t = trial_of(call);
    fill(&t, 1, true);
    work_out(&t);
    for (int64_t i = 0; i < n; i++) pod_test_put(type, t.b, b_at(&call, 0, 3, i), 1.0);
    c_begin(&t, 0.0);
    run(&t, kernel);
    double *before = zeros(m * n);
    for (int64_t i = 0; i < m * n; i++) before[i] = pod_test_get(type, t.c, i);
    pod_test_put(type, t.a, a_at(&call, 0, 1, 3), value);
    run(&t, kernel);
    for (int64_t i = 0; i < m * n; i++) {
        const double want = i / n == 1 ? value : before[i];
        const double got = pod_test_get(type, t.c, i);
        POD_CHECK(pod_test_near(got, want, 0.0), "%s %s: element %lld is %g, want %g", kernel->name,
                  pod_dtype_name(type), (long long)i, got, want);
    }
    free(before);
    c_end(&t);
    trial_end(&t);
}

static void gemm_passes_on_what_is_not_finite(void)
{
    static const pod_dtype types[] = {POD_F32, POD_BF16};
    int n;
    const pod_gemm_kernel *kernels = pod_gemm_kernels(&n);
    for (int i = 0; i < n; i++) {
        if (!pod_test_tries(kernels[i].needs)) continue;
        for (int type = 0; type < 2; type++) {
            special_in_a_row(types[type], &kernels[i], (double)NAN);
            special_in_a_row(types[type], &kernels[i], (double)INFINITY);
            special_in_a_row(types[type], &kernels[i], -(double)INFINITY);
        }
    }
}

/* Products of a batch side by side in the rows of C, as heads of attention lie; one B for all. */
static void side_by_side(pod_dtype type, const pod_gemm_kernel *kernel)
{
    enum { HEADS = 3, M = 10, N = 4, K = 6 };
    float a[M * HEADS * K], b[K * N], c[M * HEADS * N];
    pod_test_fill_exact(1, N_OF(a), 3, type, a);
    pod_test_fill_exact(2, N_OF(b), 3, type, b);
    const pod_gemm_call call = {.shape = {M, N, K},
                                .n_batch = HEADS,
                                .stride_a = K,
                                .stride_c = N,
                                .ab_dtype = type,
                                .lda = (int64_t)HEADS * K,
                                .ldb = N,
                                .ldc = (int64_t)HEADS * N,
                                .a = a,
                                .b = b,
                                .c = c};
    POD_CHECK_OK(pod_gemm_check(&call));
    if (kernel->why_not(&call)) return;
    const size_t bytes = (kernel->scratch_bytes(&call) + 63) / 64 * 64;
    void *scratch = pod_test_guard(bytes);
    kernel->run(&call, scratch);
    pod_test_guard_free(scratch, bytes);
    double want[M * HEADS * N] = {0};
    for (int m = 0; m < M; m++)
        for (int head = 0; head < HEADS; head++)
            for (int col = 0; col < N; col++)
                for (int k = 0; k < K; k++)
                    want[(m * HEADS + head) * N + col] +=
                        pod_test_get(type, a, (m * HEADS + head) * K + k) *
                        pod_test_get(type, b, k * N + col);
    pod_test_compare(kernel->name, N_OF(c), POD_F32, c, want, NULL);
}

static void gemm_batch_lies_side_by_side(void)
{
    int n;
    const pod_gemm_kernel *kernels = pod_gemm_kernels(&n);
    for (int i = 0; i < n; i++) {
        if (!pod_test_tries(kernels[i].needs)) continue;
        side_by_side(POD_F32, &kernels[i]);
        side_by_side(POD_BF16, &kernels[i]);
    }
}

static void gemm_check_refuses(void)
{
    const pod_gemm_call good = {.shape = {4, 5, 6},
                                .n_batch = 2,
                                .stride_a = 24,
                                .stride_b = 30,
                                .stride_c = 20,
                                .lda = 6,
                                .ldb = 5,
                                .ldc = 5};
    POD_CHECK_OK(pod_gemm_check(&good));
    pod_gemm_call call = good;
    call.shape.k = -1;
    POD_CHECK_FAILS(pod_gemm_check(&call), POD_E_SHAPE, "(4, 5, -1) x 2");
    call = good, call.lda = 5;
    POD_CHECK_FAILS(pod_gemm_check(&call), POD_E_SHAPE, "A has a leading dimension of 5");
    call = good, call.trans_b = true;
    POD_CHECK_FAILS(pod_gemm_check(&call), POD_E_SHAPE, "B has a leading dimension of 5");
    call = good, call.ldc = 4;
    POD_CHECK_FAILS(pod_gemm_check(&call), POD_E_SHAPE, "C has a leading dimension of 4");
    call = good, call.stride_a = -1;
    POD_CHECK_FAILS(pod_gemm_check(&call), POD_E_SHAPE, "A has a batch stride of -1");
    call = good, call.stride_c = 19;
    POD_CHECK_FAILS(pod_gemm_check(&call), POD_E_SHAPE, "C has a batch stride of 19");
    call = good, call.ab_dtype = POD_I32;
    POD_CHECK_FAILS(pod_gemm_check(&call), POD_E_UNSUPPORTED, "A and B are i32");
    call = good, call.c_dtype = POD_U8;
    POD_CHECK_FAILS(pod_gemm_check(&call), POD_E_UNSUPPORTED, "C is u8");
    call = good, call.beta = 0.5f;
    POD_CHECK_FAILS(pod_gemm_check(&call), POD_E_UNSUPPORTED, "beta is 0.5");
    call = good, call.c_dtype = POD_BF16, call.beta = 1.0f;
    POD_CHECK_FAILS(pod_gemm_check(&call), POD_E_UNSUPPORTED, "beta is 1 with C in bf16");
}

static void gemm_pick_always_answers(void)
{
    pod_gemm_call call = {.shape = {8, 8, 8}, .n_batch = 1};
    lay_out(&call, 0);
    CU_ASSERT_STRING_EQUAL(pod_gemm_pick(&(pod_choice){.cpu = POD_CPU_REFERENCE_ONLY}, &call)->name,
                           "ref");
    CU_ASSERT_STRING_EQUAL(pod_gemm_pick(&(pod_choice){.cpu = 0}, &call)->name, "blas");
    call.lda = INT64_C(1) << 40;
    CU_ASSERT_STRING_EQUAL(pod_gemm_pick(&(pod_choice){.cpu = 0}, &call)->name, "ref");
    CU_ASSERT_PTR_NULL(pod_gemm_find("no such kernel"));
    CU_ASSERT_STRING_EQUAL(pod_gemm_find("ref")->name, "ref");
    CU_ASSERT_PTR_NOT_NULL(strstr(pod_blas_config(), "OpenBLAS"));
}

static CU_TestInfo gemm_tests[] = {
    {"gemm_keeps_within_the_bound", gemm_keeps_within_the_bound},
    {"gemm_is_exact_on_whole_numbers", gemm_is_exact_on_whole_numbers},
    {"gemm_says_what_this_cpu_lacks", gemm_says_what_this_cpu_lacks},
    {"gemm_passes_on_what_is_not_finite", gemm_passes_on_what_is_not_finite},
    {"gemm_batch_lies_side_by_side", gemm_batch_lies_side_by_side},
    {"gemm_check_refuses", gemm_check_refuses},
    {"gemm_pick_always_answers", gemm_pick_always_answers},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {.pName = "gemm", .pTests = gemm_tests},
    CU_SUITE_INFO_NULL,
};
