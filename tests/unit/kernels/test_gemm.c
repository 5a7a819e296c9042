/* kernels/gemm: every kernel of the table against sums in double, plain, with what is fused, and with B
 * packed beforehand; its edges, and its contract. */
#include <stdlib.h>

#include "kernels/base/assert.h"
#include "kernels/gemm/blas.h"
#include "kernels/gemm/gemm.h"
#include "tests/unit/kernels/kernel_test.h"

#define N_OF(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* Tiles and one off, one row or column, nothing, long sums, past the blocks of 512; sums so long
 * that A^T B goes another way; past the columns of a block, 1,024 and 2,048; odd ones among what a kernel of pairs of k
 * takes. */
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

/* Tiles and one off, nothing, skinny, more than one block of k, of rows and of columns. */
static const pod_gemm_shape fused_shapes[] = {
    {1, 1, 1},    {5, 4, 0},      {0, 4, 3},       {4, 0, 3},      {16, 16, 32},
    {17, 15, 33}, {32, 32, 64},   {33, 33, 1},     {31, 64, 31},   {64, 10, 96},
    {3, 40, 70},  {40, 36, 1400}, {515, 5, 7},     {4, 520, 20},   {131, 129, 128},
    {29, 66, 33}, {20, 70, 17},   {270, 34, 1030}, {3, 530, 1030},
};

enum { BIAS_AND_RELU = POD_GEMM_BIAS | POD_GEMM_RELU };

/* A product of A and B, whichever way they lie: the same for all transposes. */
typedef struct product {
    pod_gemm_shape shape;
    int64_t n_batch;
    bool exact;            /* small whole numbers: nothing is rounded before the result */
    tensor a, b;           /* (n_batch, M, K), (n_batch, K, N) */
    double *sum, *sum_abs; /* of the terms of C's elements, (n_batch, M, N) */
} product;

/* A call and its operands, which are NaN between their rows. */
typedef struct trial {
    const product *of;
    pod_gemm_call call;
    tensor a, b, bias, c;
} trial;

/* Zeros, n of them; one more, so that n may be 0. */
static double *zeros(int64_t n)
{
    double *p = calloc((size_t)n + 1, sizeof *p);
    POD_ASSERT(p != NULL, "no memory for %lld numbers", (long long)n);
    return p;
}

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

static product product_of(pod_gemm_shape s, int64_t n_batch, pod_dtype type, uint64_t seed,
                          bool exact)
{
    product p = {.shape = s, .n_batch = n_batch, .exact = exact};
    tensor *const operands[] = {&p.a, &p.b};
    p.a = tensor_new(type, n_batch * s.m * s.k), p.b = tensor_new(type, n_batch * s.k * s.n);
    p.sum = zeros(n_batch * s.m * s.n), p.sum_abs = zeros(n_batch * s.m * s.n);
    for (int i = 0; i < 2; i++)
        if (exact)
            pod_test_fill_exact(seed + (uint64_t)i, operands[i]->count, 3, type, operands[i]->data);
        else
            pod_test_fill(seed + (uint64_t)i, operands[i]->count, type, operands[i]->data);
    double *row = zeros(s.n);
    for (int64_t i = 0; i < n_batch * s.k; i++) { /* row k of a product's B, by column k of A */
        const int64_t batch = i / s.k, k = i % s.k;
        for (int64_t n = 0; n < s.n; n++) row[n] = tensor_get(&p.b, i * s.n + n);
        for (int64_t m = 0; m < s.m; m++) {
            const double x = tensor_get(&p.a, (batch * s.m + m) * s.k + k);
            double *sum = p.sum + (batch * s.m + m) * s.n;
            double *sum_abs = p.sum_abs + (batch * s.m + m) * s.n;
            for (int64_t n = 0; n < s.n; n++) {
                sum[n] += x * row[n];
                sum_abs[n] += fabs(x * row[n]);
            }
        }
    }
    free(row);
    return p;
}

static void product_end(product *p)
{
    tensor_free(&p->a), tensor_free(&p->b);
    free(p->sum), free(p->sum_abs);
}
#define PRODUCT __attribute__((cleanup(product_end))) product

/* `trans`: 1 of A, 2 of B. */
static trial trial_of(const product *p, int trans, int64_t gap)
{
    const pod_gemm_shape s = p->shape;
    trial t = {.of = p,
               .call = {.shape = s,
                        .n_batch = p->n_batch,
                        .trans_a = trans & 1,
                        .trans_b = trans & 2,
                        .ab_dtype = p->a.t}};
    pod_gemm_call *c = &t.call;
    lay_out(c, gap);
    t.a = tensor_new(p->a.t, extent(p->n_batch, c->stride_a, c->trans_a ? s.k : s.m,
                                    c->trans_a ? s.m : s.k, c->lda));
    t.b = tensor_new(p->b.t, extent(p->n_batch, c->stride_b, c->trans_b ? s.n : s.k,
                                    c->trans_b ? s.k : s.n, c->ldb));
    t.bias = tensor_random(3, POD_F32, s.n);
    for (int64_t i = 0; i < p->a.count; i++)
        pod_test_put(t.a.t, t.a.data, a_at(c, i / (s.m * s.k), i / s.k % s.m, i % s.k),
                     tensor_get(&p->a, i));
    for (int64_t i = 0; i < p->b.count; i++)
        pod_test_put(t.b.t, t.b.data, b_at(c, i / (s.k * s.n), i / s.n % s.k, i % s.n),
                     tensor_get(&p->b, i));
    c->a = t.a.data, c->b = t.b.data, c->bias = t.bias.data;
    return t;
}

static void trial_end(trial *t) { tensor_free(&t->a), tensor_free(&t->b), tensor_free(&t->bias); }
#define TRIAL __attribute__((cleanup(trial_end))) trial

static void print(const char *kernel, const pod_gemm_call *c, char text[160])
{
    snprintf(text, 160, "gemm %s %lldx%lldx%lld%s%s batch %lld ld+%lld %s->%s beta %g fused %u",
             kernel, (long long)c->shape.m, (long long)c->shape.n, (long long)c->shape.k,
             c->trans_a ? " ta" : "", c->trans_b ? " tb" : "", (long long)c->n_batch,
             (long long)(c->ldc - c->shape.n), pod_dtype_name(c->ab_dtype),
             pod_dtype_name(c->c_dtype), (double)c->beta, c->fused);
}

static void run(const pod_gemm_kernel *kernel, const pod_gemm_call *call)
{
    char what[160];
    print(kernel->name, call, what);
    pod_test_doing("%s", what);
    TENSOR scratch = tensor_new(POD_U8, (int64_t)(kernel->scratch_bytes(call) + 63) / 64 * 64);
    kernel->run(call, scratch.data);
}

/* C, fresh: NaNs all over, or `before` in its elements when they are added to. */
static void c_begin(trial *t, double before)
{
    pod_gemm_call *c = &t->call;
    const pod_gemm_shape s = c->shape;
    t->c = tensor_new(c->c_dtype, extent(c->n_batch, c->stride_c, s.m, s.n, c->ldc));
    c->c = t->c.data;
    for (int64_t i = 0; c->beta > 0 && i < c->n_batch * s.m * s.n; i++)
        pod_test_put(c->c_dtype, c->c, c_at(c, i / (s.m * s.n), i / s.n % s.m, i % s.n), before);
}

/* Element i of C where it held `before`, and how far rounding may take it. */
static double element(const trial *t, int64_t i, double before, double *bound)
{
    const pod_gemm_call *c = &t->call;
    const double bias = c->fused & POD_GEMM_BIAS ? tensor_get(&t->bias, i % c->shape.n) : 0.0;
    double sum = t->of->sum[i] + before + bias;
    const double sum_abs = t->of->sum_abs[i] + fabs(before) + fabs(bias);
    *bound = t->of->exact ? 0 : pod_test_bound_dot(c->shape.k + 2, sum_abs, sum, c->c_dtype);
    if (t->of->exact && c->c_dtype == POD_BF16)
        sum = (double)pod_bf16_to_f32(pod_bf16_from_f32((float)sum));
    return c->fused & POD_GEMM_RELU && sum <= 0.0 ? 0.0 : sum;
}

/* C against what was worked out; and nothing between its rows. */
static void check_c(const trial *t, const char *name, double before)
{
    const pod_gemm_call *c = &t->call;
    const pod_gemm_shape s = c->shape;
    int64_t n_wrong = 0, n_outside = 0, n_seen = 0;
    for (int64_t at = 0; at < t->c.count; at++) {
        const int64_t in_batch = c->stride_c ? at % c->stride_c : at;
        const double got = tensor_get(&t->c, at);
        if (in_batch >= s.m * c->ldc || in_batch % c->ldc >= s.n) {
            n_outside += !isnan(got);
            continue;
        }
        double bound;
        const double want = element(t, n_seen++, before, &bound);
        n_wrong += !pod_test_near(got, want, bound);
    }
    char what[160];
    print(name, c, what);
    POD_CHECK(n_wrong == 0, "%s: %lld of %lld differ", what, (long long)n_wrong, (long long)n_seen);
    POD_CHECK(n_outside == 0, "%s: %lld elements between rows written", what, (long long)n_outside);
    POD_CHECK(n_seen == c->n_batch * s.m * s.n, "%s: %lld elements seen", what, (long long)n_seen);
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

/* ---- plain products ---- */

static const pod_dtype types[] = {POD_F32, POD_BF16};

/* Each kernel, with transposes of every kind. The last one, the reference, knows no blocks and no tiles:
 * what is large shows nothing more of it. */
static void try_product(const product *p, int64_t gap, bool is_large, int n_runs[])
{
    static int n_cases;
    int n;
    const pod_gemm_kernel *kernels = pod_gemm_kernels(&n);
    for (int trans = 0; trans < 4; trans++) {
        if (n_cases++ % POD_TEST_EVERY) continue;
        TRIAL t = trial_of(p, trans, gap);
        for (int i = 0; i < n - is_large; i++)
            if (pod_test_tries(kernels[i].needs)) n_runs[i] += try_outputs(&kernels[i], &t, 0);
    }
}

static void try_shapes(bool exact)
{
    int n, n_runs[64] = {0};
    const pod_gemm_kernel *kernels = pod_gemm_kernels(&n);
    for (int s = 0; s < N_OF(shapes); s++)
        for (int l = 0; l < N_OF(layouts); l++) {
            const bool is_large = shapes[s].m * shapes[s].n * shapes[s].k > 1000000;
            if (is_large && layouts[l].n_batch != 1) continue;
            for (int t = 0; t < 2; t++) {
                PRODUCT p = product_of(shapes[s], layouts[l].n_batch, types[t],
                                       (uint64_t)(100 * s + 10 * l + 2 * t), exact);
                try_product(&p, layouts[l].gap, is_large, n_runs);
            }
        }
    for (int i = 0; i < n; i++)
        if (kernel_runs("gemm", kernels[i].name, kernels[i].needs))
            POD_CHECK(POD_TEST_EVERY > 1 || n_runs[i] >= 12, "%s: ran %d times only",
                      kernels[i].name, n_runs[i]);
}

static void gemm_keeps_within_the_bound(void) { try_shapes(false); }
static void gemm_is_exact_on_whole_numbers(void) { try_shapes(true); }

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

/* ---- what is fused, and B packed ---- */

/* Every kernel that runs here, over shapes, transposes, types and gaps. */
static void for_each_trial(int (*try_one)(const pod_gemm_kernel *, trial *))
{
    int n, n_runs = 0, n_cases = 0;
    const pod_gemm_kernel *kernels = pod_gemm_kernels(&n);
    for (int s = 0; s < 2 * N_OF(fused_shapes); s++) {
        PRODUCT p = product_of(fused_shapes[s / 2], 1, types[s % 2], 1, false);
        for (int i = 0; i < 4 * n; i++) {
            if (!pod_test_tries(kernels[i / 4].needs) || n_cases++ % POD_TEST_EVERY) continue;
            TRIAL t = trial_of(&p, i % 4, s / 2 % 3);
            n_runs += try_one(&kernels[i / 4], &t);
        }
    }
    POD_CHECK(n_runs > 0, "no kernel took any of it");
}

/* B packed for `m` rows as the call says, from its own type or from the float32 it was rounded from.
 * Nothing is left where B was. */
static int try_packed(const pod_gemm_kernel *kernel, trial *t, pod_dtype from, int64_t m)
{
    pod_gemm_call call = t->call;
    call.fused = POD_GEMM_PACKED_B, call.shape.m = m;
    if (!kernel->pack || kernel->why_not(&call)) return 0;
    TENSOR source = tensor_new(from, t->b.count);
    for (int64_t i = 0; i < source.count; i++)
        pod_test_put(from, source.data, i, tensor_get(&t->b, i));
    TENSOR packed = tensor_new(POD_U8, (int64_t)(kernel->packed_bytes(&call) + 63) / 64 * 64);
    CU_ASSERT_EQUAL(kernel->packed_bytes(&t->call), kernel->packed_bytes(&call));
    kernel->pack(&call, from, source.data, packed.data);
    t->call.b = packed.data;
    const int n_runs = try_outputs(kernel, t, POD_GEMM_PACKED_B) +
                       try_outputs(kernel, t, POD_GEMM_PACKED_B | BIAS_AND_RELU);
    t->call.b = t->b.data;
    return n_runs;
}

static int try_fused(const pod_gemm_kernel *kernel, trial *t)
{
    return try_outputs(kernel, t, POD_GEMM_BIAS) + try_outputs(kernel, t, POD_GEMM_RELU) +
           try_outputs(kernel, t, BIAS_AND_RELU);
}

static int try_packed_b(const pod_gemm_kernel *kernel, trial *t)
{
    const int64_t m = t->call.shape.m;
    return try_packed(kernel, t, POD_F32, m) +
           (t->call.ab_dtype == POD_BF16 ? try_packed(kernel, t, POD_BF16, m) : 0);
}

static void gemm_fuses_bias_and_relu(void) { for_each_trial(try_fused); }

/* Also for calls of another M, and in several blocks of rows and columns and of a long k: what is fused
 * to the last of them alone, and where they begin in a packed B. */
static void gemm_takes_packed_b(void)
{
    static const pod_gemm_shape large[] = {{131, 129, 130}, {518, 1060, 65}, {130, 131, 900}};
    int n;
    bool any = false;
    const pod_gemm_kernel *kernels = pod_gemm_kernels(&n);
    for (int i = 0; i < n; i++) {
        pod_gemm_call call = {.shape = {1, 1, 1}, .n_batch = 1, .fused = POD_GEMM_PACKED_B};
        call.ab_dtype = POD_BF16;
        POD_CHECK(!kernels[i].packed_bytes == !kernels[i].pack, "%s: half of packing",
                  kernels[i].name);
        if (!kernels[i].pack)
            POD_CHECK(kernels[i].why_not(&call), "%s takes what it cannot pack", kernels[i].name);
        if (!kernels[i].pack || !pod_test_tries(kernels[i].needs)) continue;
        any = true;
        for (int s = 0; s < N_OF(large); s++) {
            PRODUCT p = product_of(large[s], 1, POD_BF16, 1, false);
            TRIAL t = trial_of(&p, s == 2 ? 2 : 0, s == 0);
            POD_CHECK(try_packed(&kernels[i], &t, POD_F32, s ? large[s].m : 1) > 0,
                      "%s refuses a large product", kernels[i].name);
            if (s == 1) try_outputs(&kernels[i], &t, BIAS_AND_RELU);
        }
    }
    if (any)
        for_each_trial(try_packed_b);
    else
        pod_test_skip("gemm", "no kernel of this CPU packs B");
}

/* What is not finite in an operand shows in its row or column of C alone, through what is fused. */
static int try_nan(const pod_gemm_kernel *kernel, trial *t)
{
    const pod_gemm_shape s = t->call.shape;
    int64_t n_wrong = 0;
    for (int fused = 0; fused < 2; fused++) {
        t->call.fused = fused ? BIAS_AND_RELU : 0;
        if (kernel->why_not(&t->call) || s.m == 0 || s.n == 0 || s.k == 0) return 0;
        pod_test_put(t->a.t, t->a.data, a_at(&t->call, 0, s.m - 1, s.k - 1), (double)NAN);
        pod_test_put(t->b.t, t->b.data, b_at(&t->call, 0, s.k - 1, 0), -(double)INFINITY);
        if (fused) pod_test_put(t->b.t, t->b.data, b_at(&t->call, 0, s.k - 1, 0), (double)NAN);
        c_begin(t, 0.0);
        run(kernel, &t->call);
        for (int64_t i = 0; i < s.m * s.n; i++) {
            const double got = tensor_get(&t->c, c_at(&t->call, 0, i / s.n, i % s.n));
            n_wrong += isfinite(got) == (i / s.n == s.m - 1 || i % s.n == 0);
        }
        tensor_free(&t->c);
    }
    POD_CHECK(n_wrong == 0, "%s %lldx%lldx%lld: %lld NaNs lost or spread", kernel->name,
              (long long)s.m, (long long)s.n, (long long)s.k, (long long)n_wrong);
    return 1;
}

static void gemm_passes_on_what_is_not_finite(void) { for_each_trial(try_nan); }

/* ---- the contract ---- */

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

POD_TEST_SUITE("gemm", {"keeps_within_the_bound", gemm_keeps_within_the_bound},
               {"is_exact_on_whole_numbers", gemm_is_exact_on_whole_numbers},
               {"batch_lies_side_by_side", gemm_batch_lies_side_by_side},
               {"fuses_bias_and_relu", gemm_fuses_bias_and_relu},
               {"takes_packed_b", gemm_takes_packed_b},
               {"passes_on_what_is_not_finite", gemm_passes_on_what_is_not_finite},
               {"check_refuses", gemm_check_refuses},
               {"pick_always_answers", gemm_pick_always_answers});
