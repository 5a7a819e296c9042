/* kernels/conv: what kernels fuse and the filters they pack, against the reference, which fuses the
 * same in plain loops. Operands are small multiples of 1/2, so that results are equal in value,
 * sums of channels within the roundings they may have. */
#include <stdio.h>

#include "kernels/base/simd/loop.h"
#include "kernels/conv/conv.h"
#include "tests/unit/kernels/kernel_test.h"

#define N_OF(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* n h w c, p q k, r s, stride pad_h pad_w */
static const pod_conv_shape shapes[] = {
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0},      {2, 8, 8, 16, 8, 8, 16, 3, 3, 1, 1, 1},
    {16, 8, 8, 16, 8, 8, 16, 3, 3, 1, 1, 1},   {17, 6, 5, 16, 6, 5, 33, 3, 3, 1, 1, 1},
    {16, 9, 8, 16, 5, 4, 32, 3, 3, 2, 1, 1},   {2, 7, 7, 24, 7, 7, 40, 3, 3, 1, 1, 1},
    {16, 7, 7, 32, 7, 7, 31, 3, 3, 1, 1, 1},   {31, 5, 6, 64, 5, 6, 17, 3, 3, 1, 1, 1},
    {16, 9, 9, 32, 5, 5, 48, 3, 3, 2, 1, 1},   {16, 6, 6, 96, 6, 6, 15, 5, 5, 1, 2, 2},
    {2, 13, 13, 3, 7, 7, 64, 7, 7, 2, 3, 3},   {16, 13, 13, 3, 7, 7, 24, 7, 7, 2, 3, 3},
    {16, 9, 9, 3, 9, 9, 16, 3, 3, 1, 1, 1},    {3, 9, 11, 8, 9, 11, 33, 5, 5, 1, 2, 2},
    {3, 6, 5, 40, 6, 5, 65, 1, 1, 1, 0, 0},    {4, 7, 7, 64, 7, 7, 32, 1, 1, 1, 0, 0},
    {1, 3, 5, 32, 3, 5, 16, 1, 1, 1, 0, 0},    {1, 17, 1, 32, 17, 1, 3, 1, 1, 1, 0, 0},
    {5, 9, 7, 32, 5, 4, 64, 1, 1, 2, 0, 0},    {5, 9, 7, 1, 5, 4, 1, 3, 3, 2, 1, 1},
    {2, 9, 9, 31, 9, 9, 33, 3, 3, 1, 1, 1},    {1, 10, 10, 32, 4, 4, 3, 2, 2, 3, 1, 1},
    {16, 10, 10, 32, 4, 4, 32, 2, 2, 3, 1, 1}, {16, 4, 4, 32, 6, 6, 5, 3, 3, 1, 2, 2},
    {1, 3, 3, 2, 5, 5, 3, 3, 3, 2, 4, 4},      {0, 8, 8, 32, 8, 8, 16, 3, 3, 1, 1, 1},
    {3, 5, 15, 16, 5, 15, 1, 3, 3, 1, 1, 1},   {2, 4, 16, 16, 4, 16, 15, 3, 3, 1, 1, 1},
    {2, 9, 17, 16, 9, 17, 16, 5, 5, 1, 2, 2},  {1, 12, 31, 16, 12, 31, 32, 3, 3, 1, 1, 1},
    {2, 6, 32, 16, 5, 33, 16, 2, 2, 1, 0, 1},  {2, 5, 33, 33, 7, 31, 16, 3, 3, 1, 2, 0},
    {2, 17, 17, 16, 9, 9, 33, 3, 3, 2, 1, 1},  {3, 4, 1, 16, 6, 1, 16, 3, 3, 1, 2, 1},
    {1, 3, 3, 16, 8, 9, 17, 2, 3, 1, 3, 5},    {2, 9, 9, 16, 7, 7, 16, 3, 3, 1, 0, 0},
    {2, 7, 7, 64, 7, 7, 96, 1, 1, 1, 0, 0},    {1, 8, 12, 160, 8, 12, 33, 1, 1, 1, 0, 0},
    {1, 13, 5, 256, 13, 5, 16, 1, 1, 1, 0, 0}, {1, 8, 8, 512, 8, 8, 32, 1, 1, 1, 0, 0},
    {1, 7, 5, 2048, 7, 5, 8, 1, 1, 1, 0, 0},   {1, 1, 2, 992, 1, 2, 520, 1, 1, 1, 0, 0},
    {1, 20, 19, 16, 9, 9, 32, 3, 3, 2, 0, 0},  {1, 9, 12, 16, 8, 11, 16, 2, 2, 1, 0, 0},
    {1, 1, 2, 272, 1, 2, 256, 3, 3, 1, 1, 1},  {3, 5, 32, 16, 5, 32, 16, 3, 3, 1, 1, 1},
    {3, 4, 32, 16, 4, 32, 16, 3, 3, 1, 1, 1},  {2, 2, 32, 16, 2, 32, 16, 3, 3, 1, 1, 1},
    {2, 3, 28, 16, 3, 28, 16, 3, 3, 1, 1, 1},  {5, 1, 31, 16, 1, 31, 16, 3, 3, 1, 1, 1},
    {5, 2, 65, 16, 2, 65, 16, 3, 3, 1, 1, 1},  {4, 7, 34, 16, 5, 32, 16, 3, 3, 1, 0, 0},
    {1, 3, 26, 16, 9, 31, 16, 2, 3, 1, 4, 3},  {2, 6, 70, 16, 7, 71, 16, 2, 2, 1, 1, 1},
    {2, 9, 33, 16, 5, 17, 32, 3, 3, 2, 1, 1},  {3, 8, 33, 16, 3, 16, 32, 3, 3, 2, 0, 0},
    {6, 2, 28, 16, 1, 14, 32, 3, 3, 2, 0, 1},  {2, 4, 32, 3, 4, 32, 16, 3, 3, 1, 1, 1},
    {3, 5, 39, 5, 5, 39, 16, 3, 3, 1, 1, 1},   {2, 6, 47, 3, 3, 24, 32, 3, 3, 2, 1, 1},
    {2, 3, 28, 1, 5, 30, 16, 2, 3, 1, 2, 2},   {3, 32, 32, 16, 16, 16, 32, 3, 3, 2, 1, 1},
    {2, 16, 16, 32, 8, 8, 64, 3, 3, 2, 1, 1},  {3, 8, 8, 64, 4, 4, 32, 1, 1, 2, 0, 0},
    {2, 8, 12, 16, 4, 6, 64, 1, 1, 2, 0, 0},   {2, 13, 15, 16, 7, 8, 32, 7, 7, 2, 3, 3},
    {1, 6, 5, 32, 3, 3, 32, 5, 5, 2, 2, 2},    {1, 8, 8, 32, 5, 5, 32, 1, 1, 2, 1, 1},
    {1, 7, 6, 16, 5, 5, 32, 1, 1, 2, 1, 1},    {1, 3, 3, 16, 5, 5, 32, 3, 3, 2, 4, 4},
    {1, 1, 1, 32, 1, 1, 32, 3, 3, 2, 1, 1},    {1, 2, 5, 64, 2, 4, 32, 2, 2, 2, 1, 1},
    {2, 6, 6, 512, 3, 3, 1056, 1, 1, 2, 0, 0}, {2, 5, 16, 32, 5, 16, 32, 3, 3, 1, 1, 1},
    {3, 9, 8, 64, 9, 8, 32, 3, 3, 1, 1, 1},    {5, 6, 14, 96, 6, 14, 64, 3, 3, 1, 1, 1},
    {17, 7, 7, 32, 7, 7, 32, 3, 3, 1, 1, 1},   {1, 9, 17, 32, 9, 17, 32, 5, 5, 1, 2, 2},
    {3, 15, 17, 64, 8, 9, 32, 3, 3, 2, 1, 1},  {0, 8, 8, 32, 8, 8, 32, 3, 3, 1, 1, 1},
    {3, 5, 5, 17, 5, 5, 17, 3, 3, 1, 1, 1},    {1, 7, 6, 1, 7, 6, 3, 3, 3, 1, 1, 1},
    {1, 7, 6, 3, 4, 3, 1, 5, 5, 2, 2, 2},      {3, 5, 7, 3, 5, 6, 5, 2, 2, 1, 1, 0},
    {1, 3, 9, 2048, 2, 5, 16, 1, 1, 2, 0, 0},  {1, 5, 4, 16, 5, 4, 2048, 1, 1, 1, 0, 0},
};

static const unsigned forward_bits[] = {
    0,
    POD_CONV_AFFINE_X,
    POD_CONV_AFFINE_X | POD_CONV_RELU_X,
    POD_CONV_BIAS,
    POD_CONV_RELU,
    POD_CONV_SUMS,
    POD_CONV_BIAS | POD_CONV_RELU,
    POD_CONV_AFFINE_X | POD_CONV_RELU_X | POD_CONV_SUMS,
    POD_CONV_AFFINE_X | POD_CONV_RELU_X | POD_CONV_BIAS | POD_CONV_RELU | POD_CONV_SUMS,
};

enum { PACK_NOT, PACK_SAME, PACK_F32, N_PACKINGS };

typedef struct trial {
    pod_conv_call call; /* without what kernels pack */
    tensor a, w, w_f32, scale, shift, bias, want;
    float *want_sum, *want_sum_sq;
} trial;

static tensor exact(uint64_t seed, pod_dtype type, int64_t count, double unit)
{
    tensor t = tensor_new(type, count);
    pod_test_fill_exact(seed, count, 3, type, t.data);
    for (int64_t i = 0; i < count; i++) pod_test_put(type, t.data, i, tensor_get(&t, i) * unit);
    return t;
}

static void poison(tensor *t)
{
    if (t->count > 2) pod_test_put(t->t, t->data, t->count / 2, (double)NAN);
    if (t->count > 9) pod_test_put(t->t, t->data, t->count / 9, -(double)INFINITY);
}

static int64_t out_count(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    return call->pass == POD_CONV_FORWARD ? s->n * s->p * s->q * s->k : s->n * s->h * s->w * s->c;
}

static void run(const pod_conv_kernel *kernel, const pod_conv_call *call)
{
    const size_t bytes = (kernel->scratch_bytes(call) + 63) / 64 * 64;
    void *scratch = pod_test_guard(bytes);
    const pod_conv_shape at = call->shape;
    pod_test_doing("conv %s pass %d, %lldx%lldx%lldx%lld, %lld filters of %lldx%lld", kernel->name,
                   (int)call->pass, (long long)at.n, (long long)at.h, (long long)at.w,
                   (long long)at.c, (long long)at.k, (long long)at.r, (long long)at.s);
    kernel->run(call, scratch);
    pod_test_guard_free(scratch, bytes);
}

static trial trial_of(pod_conv_shape s, pod_dtype type, pod_conv_pass pass, unsigned fused,
                      bool poisoned)
{
    trial t = {.call = {.shape = s, .pass = pass, .dtype = type, .fused = fused}};
    const int64_t x = s.n * s.h * s.w * s.c, y = s.n * s.p * s.q * s.k;
    t.a = exact(1, type, pass == POD_CONV_FORWARD ? x : y, 1.0);
    if (poisoned) poison(&t.a);
    t.w = exact(2, type, s.k * s.r * s.s * s.c, 1.0);
    t.w_f32 = tensor_new(POD_F32, t.w.count);
    for (int64_t i = 0; i < t.w.count; i++)
        pod_test_put(POD_F32, t.w_f32.data, i, tensor_get(&t.w, i));
    t.scale = exact(3, POD_F32, s.c, 0.5);
    t.shift = exact(4, POD_F32, s.c, 0.5);
    t.bias = exact(5, POD_F32, s.k, 0.5);
    t.want = tensor_new(type, out_count(&t.call));
    t.want_sum = pod_test_guard((size_t)s.k * sizeof(float));
    t.want_sum_sq = pod_test_guard((size_t)s.k * sizeof(float));
    t.call.a = t.a.data;
    t.call.b = t.w.data;
    t.call.x_scale = t.scale.data;
    t.call.x_shift = t.shift.data;
    t.call.bias = t.bias.data;
    t.call.out = t.want.data;
    t.call.sum = t.want_sum;
    t.call.sum_sq = t.want_sum_sq;
    run(pod_conv_find("ref"), &t.call);
    return t;
}

static void trial_end(trial *t)
{
    tensor *const all[] = {&t->a, &t->w, &t->w_f32, &t->scale, &t->shift, &t->bias, &t->want};
    for (int i = 0; i < N_OF(all); i++) tensor_free(all[i]);
    pod_test_guard_free(t->want_sum, (size_t)t->call.shape.k * sizeof(float));
    pod_test_guard_free(t->want_sum_sq, (size_t)t->call.shape.k * sizeof(float));
}

static void check_sums(const trial *t, const char *what, const float *sum, const float *sum_sq)
{
    const int64_t k_end = t->call.shape.k, rows = t->want.count / k_end;
    for (int64_t k = 0; k < k_end; k++) {
        double sum_abs = 0;
        for (int64_t row = 0; row < rows; row++)
            sum_abs += fabs(tensor_get(&t->want, row * k_end + k));
        const double want = (double)t->want_sum[k], want_sq = (double)t->want_sum_sq[k];
        POD_CHECK(pod_test_near((double)sum[k], want,
                                pod_test_bound_dot(POD_SUM_CHAIN + 2, sum_abs, want, POD_F32)),
                  "%s: sum[%lld] %.9g, want %.9g", what, (long long)k, (double)sum[k], want);
        POD_CHECK(pod_test_near((double)sum_sq[k], want_sq,
                                pod_test_bound_dot(POD_SUM_CHAIN + 2, want_sq, want_sq, POD_F32)),
                  "%s: sum_sq[%lld] %.9g, want %.9g", what, (long long)k, (double)sum_sq[k],
                  want_sq);
    }
}

/* Whether the kernel took the call. */
static bool try_kernel(const pod_conv_kernel *kernel, const trial *t, int packing)
{
    pod_conv_call call = t->call;
    if (packing != PACK_NOT) call.fused |= POD_CONV_PACKED_W;
    POD_CHECK_OK(pod_conv_check(&call));
    if ((packing != PACK_NOT && !kernel->pack) || kernel->why_not(&call)) return false;
    const pod_conv_shape s = call.shape;
    char what[160];
    snprintf(what, sizeof what,
             "%s pass %d fused 0x%x pack %d n%d h%d w%d c%d k%d r%d s%d stride%d", kernel->name,
             (int)call.pass, call.fused, packing, (int)s.n, (int)s.h, (int)s.w, (int)s.c, (int)s.k,
             (int)s.r, (int)s.s, (int)s.stride);
    const size_t packed_bytes = packing == PACK_NOT ? 0 : kernel->packed_bytes(&call);
    void *packed = pod_test_guard(packed_bytes);
    if (packing != PACK_NOT) {
        CU_ASSERT_EQUAL(packed_bytes % 64, 0);
        const tensor *w = packing == PACK_F32 ? &t->w_f32 : &t->w;
        kernel->pack(&call, w->t, w->data, packed);
        call.b = packed;
    }
    tensor out = tensor_new(t->want.t, t->want.count);
    float *sum = pod_test_guard((size_t)s.k * sizeof *sum);
    float *sum_sq = pod_test_guard((size_t)s.k * sizeof *sum_sq);
    call.out = out.data;
    call.sum = sum;
    call.sum_sq = sum_sq;
    run(kernel, &call);
    int64_t n_wrong = 0;
    for (int64_t i = 0; i < out.count; i++)
        n_wrong += !pod_test_near(tensor_get(&out, i), tensor_get(&t->want, i), 0.0);
    POD_CHECK(n_wrong == 0, "%s: %lld of %lld differ", what, (long long)n_wrong,
              (long long)out.count);
    if (call.fused & POD_CONV_SUMS) check_sums(t, what, sum, sum_sq);
    tensor_free(&out);
    pod_test_guard_free(sum, (size_t)s.k * sizeof *sum);
    pod_test_guard_free(sum_sq, (size_t)s.k * sizeof *sum_sq);
    pod_test_guard_free(packed, packed_bytes);
    return true;
}

/* The reference, which takes everything, is last. */
static bool is_for_some(const pod_conv_call *call)
{
    int n_kernels;
    const pod_conv_kernel *kernels = pod_conv_kernels(&n_kernels);
    for (int i = 0; i < n_kernels - 1; i++)
        if (pod_test_tries(kernels[i].needs) && !kernels[i].why_not(call)) return true;
    return false;
}

static int n_taken[64];

static void try_kernels(pod_conv_shape s, pod_conv_pass pass, unsigned fused, bool poisoned)
{
    static const pod_dtype types[] = {POD_F32, POD_BF16};
    int n_kernels;
    const pod_conv_kernel *kernels = pod_conv_kernels(&n_kernels);
    for (int type = 0; type < N_OF(types); type++) {
        const pod_conv_call call = {.shape = s, .pass = pass, .dtype = types[type], .fused = fused};
        if (!is_for_some(&call)) continue;
        trial t = trial_of(s, types[type], pass, fused, poisoned);
        for (int i = 0; i < n_kernels - 1; i++)
            for (int packing = 0; packing < N_PACKINGS; packing++)
                if (pod_test_tries(kernels[i].needs))
                    n_taken[i] += try_kernel(&kernels[i], &t, packing) && packing != PACK_NOT;
        trial_end(&t);
    }
}

static void conv_fused_equals_the_reference(void)
{
    int n_kernels, n = 0;
    const pod_conv_kernel *kernels = pod_conv_kernels(&n_kernels);
    for (int s = 0; s < N_OF(shapes); s++) {
        for (int i = 0; i < N_OF(forward_bits); i++)
            if (n++ % POD_TEST_EVERY == 0)
                try_kernels(shapes[s], POD_CONV_FORWARD, forward_bits[i], false);
        try_kernels(shapes[s], POD_CONV_INPUT_GRAD, 0, false);
    }
    for (int i = 0; i < n_kernels; i++)
        if (kernels[i].pack && kernel_runs("conv", kernels[i].name, kernels[i].needs))
            POD_CHECK(POD_TEST_EVERY > 1 || n_taken[i] > 0, "%s took no packed filters",
                      kernels[i].name);
}

/* Not sums: what is not finite there is not finite in any order. */
static void conv_fused_passes_on_what_is_not_finite(void)
{
    for (int s = 0; s < N_OF(shapes); s += POD_TEST_EVERY) {
        for (int i = 0; i < N_OF(forward_bits); i++)
            if (!(forward_bits[i] & POD_CONV_SUMS))
                try_kernels(shapes[s], POD_CONV_FORWARD, forward_bits[i], true);
        try_kernels(shapes[s], POD_CONV_INPUT_GRAD, 0, true);
    }
}

/* Output beyond the caches may take another way out. */
static void conv_fused_fills_large_outputs(void)
{
    static const pod_conv_shape large[] = {
        {1, 256, 512, 1, 256, 512, 16, 1, 1, 1, 0, 0},
        {1, 256, 257, 2, 256, 257, 32, 1, 1, 1, 0, 0},
        {16, 64, 32, 32, 64, 32, 64, 1, 2, 1, 0, 0},
        {1, 256, 257, 2, 256, 257, 48, 1, 1, 1, 0, 0},
        {16, 64, 128, 32, 64, 128, 16, 1, 2, 1, 0, 0},
        {64, 33, 65, 16, 32, 64, 16, 2, 2, 1, 0, 0},
        {128, 32, 32, 16, 32, 32, 16, 3, 3, 1, 1, 1},
    };
    for (int i = 0; i < N_OF(large); i += POD_TEST_EVERY) {
        try_kernels(large[i], POD_CONV_FORWARD, POD_CONV_BIAS | POD_CONV_SUMS, false);
    }
    try_kernels((pod_conv_shape){1, 256, 512, 16, 128, 256, 2, 2, 2, 2, 0, 0}, POD_CONV_INPUT_GRAD,
                0, false);
}

/* Filters packed for one number of images serve another. */
static void conv_packed_filters_serve_any_batch(void)
{
    int n_kernels;
    const pod_conv_kernel *kernels = pod_conv_kernels(&n_kernels);
    for (int i = 0; i < n_kernels; i++) {
        if (!kernels[i].pack || !kernel_runs("conv", kernels[i].name, kernels[i].needs)) continue;
        pod_conv_call few = {.shape = {1, 8, 8, 32, 4, 4, 32, 3, 3, 2, 1, 1},
                             .dtype = POD_BF16,
                             .fused = POD_CONV_PACKED_W};
        for (few.pass = POD_CONV_FORWARD; few.pass <= POD_CONV_INPUT_GRAD; few.pass++) {
            pod_conv_call many = few;
            many.shape.n = 32;
            if (kernels[i].why_not(&few) || kernels[i].why_not(&many)) continue;
            const size_t bytes = kernels[i].packed_bytes(&few);
            CU_ASSERT_EQUAL_FATAL(bytes, kernels[i].packed_bytes(&many));
            tensor w = exact(1, POD_BF16, 32 * 9 * 32, 1.0);
            tensor a = {POD_U8, (int64_t)bytes, pod_test_guard(bytes)}, b = tensor_copy(&a);
            kernels[i].pack(&few, POD_BF16, w.data, a.data);
            kernels[i].pack(&many, POD_BF16, w.data, b.data);
            CU_ASSERT_EQUAL(memcmp(a.data, b.data, bytes), 0);
            tensor_free(&w), tensor_free(&a), tensor_free(&b);
        }
    }
}

static CU_TestInfo tests[] = {
    {"conv_fused_equals_the_reference", conv_fused_equals_the_reference},
    {"conv_fused_passes_on_what_is_not_finite", conv_fused_passes_on_what_is_not_finite},
    {"conv_fused_fills_large_outputs", conv_fused_fills_large_outputs},
    {"conv_packed_filters_serve_any_batch", conv_packed_filters_serve_any_batch},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {.pName = "conv_fused", .pTests = tests},
    CU_SUITE_INFO_NULL,
};
