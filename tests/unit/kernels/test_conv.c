/* kernels/conv: the reference, all passes, against sums in double that go over
 * y[n,p,q,k] += x[...] w[...] in one loop; every kernel against the reference, with what it fuses and
 * packs: equal on small multiples of 1/2, within the bound of both sums on others. */
#include <stdlib.h>

#include "kernels/base/assert.h"
#include "kernels/base/simd/loop.h"
#include "tests/unit/kernels/conv_shapes.h"
#include "tests/unit/kernels/kernel_test.h"

#define N_OF(array) ((int)(sizeof(array) / sizeof(array)[0]))

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

/* What is in the operands: whole numbers, and halves in what is fused; numbers of any kind; or whole
 * numbers with a NaN and an infinity among them. */
typedef enum filling { EXACT, RANDOM, POISONED } filling;

/* Operands, and what the reference makes of them with the bits that call.fused has. */
typedef struct trial {
    pod_conv_call call; /* without what kernels pack */
    filling filling;
    tensor a, b, scale, shift, bias, out, sum, sum_sq;
    double *bound; /* (out.count) how far off one sum may be; NULL: not at all */
} trial;

static tensor filled(filling how, uint64_t seed, pod_dtype type, int64_t count, double unit)
{
    tensor t = tensor_new(type, count);
    if (how == RANDOM) {
        pod_test_fill(seed, count, type, t.data);
        return t;
    }
    pod_test_fill_exact(seed, count, 3, type, t.data);
    for (int64_t i = 0; i < count; i++) pod_test_put(type, t.data, i, tensor_get(&t, i) * unit);
    return t;
}

static void poison(tensor *t)
{
    if (t->count > 2) pod_test_put(t->t, t->data, t->count / 2, (double)NAN);
    if (t->count > 9) pod_test_put(t->t, t->data, t->count / 9, -(double)INFINITY);
}

/* A pixel that no window reaches over the border with: zeros there may or may not be multiplied. */
static void poison_middle(tensor *t, int64_t n, int64_t h, int64_t w, int64_t c, double value)
{
    pod_test_put(t->t, t->data, ((n / 2 * h + h / 2) * w + w / 2) * c + c / 2, value);
}

/* Elements of x, w and y. */
static int64_t n_x(const pod_conv_shape *s) { return s->n * s->h * s->w * s->c; }
static int64_t n_w(const pod_conv_shape *s) { return s->k * s->r * s->s * s->c; }
static int64_t n_y(const pod_conv_shape *s) { return s->n * s->p * s->q * s->k; }

static tensor out_of(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    if (call->pass == POD_CONV_WEIGHT_GRAD) return tensor_new(POD_F32, n_w(s));
    return tensor_new(call->dtype, call->pass == POD_CONV_FORWARD ? n_y(s) : n_x(s));
}

/* So many zeros, to be freed. */
static double *numbers(int64_t count)
{
    double *x = calloc((size_t)count + 1, sizeof *x);
    POD_ASSERT(x, "no memory for %lld numbers", (long long)count);
    return x;
}

static void print(const char *kernel, const pod_conv_call *call, char text[160])
{
    const pod_conv_shape *s = &call->shape;
    snprintf(text, 160,
             "%s %s pass %d fused 0x%x n%d h%d w%d c%d p%d q%d k%d r%d s%d stride%d pad%d,%d",
             kernel, pod_dtype_name(call->dtype), (int)call->pass, call->fused, (int)s->n,
             (int)s->h, (int)s->w, (int)s->c, (int)s->p, (int)s->q, (int)s->k, (int)s->r, (int)s->s,
             (int)s->stride, (int)s->pad_h, (int)s->pad_w);
}

static void run(const pod_conv_kernel *kernel, const pod_conv_call *call)
{
    char what[160];
    print(kernel->name, call, what);
    pod_test_doing("%s", what);
    TENSOR scratch = tensor_new(POD_U8, (int64_t)(kernel->scratch_bytes(call) + 63) / 64 * 64);
    kernel->run(call, scratch.data);
}

/* The reference on magnitudes in float32: the sum of the terms of each result without their signs. */
static tensor sums_of_magnitudes(const trial *t)
{
    pod_conv_call call = t->call;
    TENSOR a = tensor_new(POD_F32, t->a.count), b = tensor_new(POD_F32, t->b.count);
    for (int64_t i = 0; i < a.count; i++) {
        const int64_t c = i % call.shape.c;
        double x = tensor_get(&t->a, i);
        if (call.fused & POD_CONV_AFFINE_X)
            x = x * tensor_get(&t->scale, c) + tensor_get(&t->shift, c);
        pod_test_put(POD_F32, a.data, i, (call.fused & POD_CONV_RELU_X) && x < 0 ? 0 : fabs(x));
    }
    for (int64_t i = 0; i < b.count; i++)
        pod_test_put(POD_F32, b.data, i, fabs(tensor_get(&t->b, i)));
    call.fused = 0, call.dtype = POD_F32;
    tensor out = out_of(&call);
    call.a = a.data, call.b = b.data, call.out = out.data;
    run(pod_conv_find("ref"), &call);
    return out;
}

static trial trial_of(pod_conv_shape s, pod_dtype type, pod_conv_pass pass, filling how)
{
    trial t = {.call = {.shape = s, .pass = pass, .dtype = type}, .filling = how};
    POD_CHECK_OK(pod_conv_check(&t.call));
    t.a = filled(how, 1, type, pass == POD_CONV_INPUT_GRAD ? n_y(&s) : n_x(&s), 1);
    t.b = filled(how, 2, type, pass == POD_CONV_WEIGHT_GRAD ? n_y(&s) : n_w(&s), 1);
    if (how == POISONED && pass == POD_CONV_WEIGHT_GRAD) {
        poison_middle(&t.a, s.n, s.h, s.w, s.c, (double)NAN);
        poison_middle(&t.b, s.n, s.p, s.q, s.k, -(double)INFINITY);
    } else if (how == POISONED) {
        poison(&t.a);
    }
    t.scale = filled(how, 3, POD_F32, s.c, 0.5);
    t.shift = filled(how, 4, POD_F32, s.c, 0.5);
    t.bias = filled(how, 5, POD_F32, s.k, 0.5);
    t.sum = tensor_new(POD_F32, s.k), t.sum_sq = tensor_new(POD_F32, s.k);
    t.out = out_of(&t.call);
    if (how == RANDOM) t.bound = numbers(t.out.count);
    t.call.a = t.a.data, t.call.b = t.b.data, t.call.out = t.out.data;
    t.call.x_scale = t.scale.data, t.call.x_shift = t.shift.data, t.call.bias = t.bias.data;
    t.call.sum = t.sum.data, t.call.sum_sq = t.sum_sq.data;
    return t;
}

static void trial_end(trial *t)
{
    tensor *const all[] = {&t->a,    &t->b,   &t->scale, &t->shift,
                           &t->bias, &t->out, &t->sum,   &t->sum_sq};
    for (int i = 0; i < N_OF(all); i++) tensor_free(all[i]);
    free(t->bound);
}
#define TRIAL __attribute__((cleanup(trial_end))) trial

/* Runs the reference. What is applied to x may be rounded once or twice in float32 before the
 * rounding to the element type, which may then fall elsewhere. */
static void run_reference(trial *t, unsigned fused)
{
    const pod_conv_shape *s = &t->call.shape;
    const int64_t n_terms[] = {s->r * s->s * s->c, s->r * s->s * s->k, s->n * s->p * s->q};
    t->call.fused = fused;
    run(pod_conv_find("ref"), &t->call);
    if (!t->bound) return;
    TENSOR magnitudes = sums_of_magnitudes(t);
    for (int64_t i = 0; i < t->out.count; i++) {
        const double sum_abs = tensor_get(&magnitudes, i) * 1.01;
        t->bound[i] =
            pod_test_bound_dot(n_terms[t->call.pass], sum_abs, tensor_get(&t->out, i), t->out.t) +
            (fused ? pod_test_roundoff(t->call.dtype) * sum_abs : 0);
    }
}

/* The reference of a call without anything fused. */
static void check_reference(const trial *t)
{
    const pod_conv_shape s = t->call.shape;
    double *a = numbers(t->a.count), *b = numbers(t->b.count), *want = numbers(t->out.count);
    for (int64_t i = 0; i < t->a.count; i++) a[i] = tensor_get(&t->a, i);
    for (int64_t i = 0; i < t->b.count; i++) b[i] = tensor_get(&t->b, i);
    for (int64_t i = 0; i < s.n * s.p * s.q * s.r * s.s; i++) {
        const int64_t row = i / (s.r * s.s), tap = i % (s.r * s.s);
        const int64_t n = row / s.q / s.p, p = row / s.q % s.p, q = row % s.q;
        const int64_t h = p * s.stride - s.pad_h + tap / s.s;
        const int64_t w = q * s.stride - s.pad_w + tap % s.s;
        if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
        for (int64_t k = 0; k < s.k; k++) {
            const int64_t x = ((n * s.h + h) * s.w + w) * s.c, y = row * s.k + k;
            const int64_t of_w = (k * s.r * s.s + tap) * s.c;
            if (t->call.pass == POD_CONV_FORWARD)
                for (int64_t c = 0; c < s.c; c++) want[y] += a[x + c] * b[of_w + c];
            else if (t->call.pass == POD_CONV_INPUT_GRAD)
                for (int64_t c = 0; c < s.c; c++) want[x + c] += a[y] * b[of_w + c];
            else
                for (int64_t c = 0; c < s.c; c++) want[of_w + c] += a[x + c] * b[y];
        }
    }
    char what[160];
    print("ref", &t->call, what);
    for (int64_t i = 0; t->filling == EXACT && t->out.t == POD_BF16 && i < t->out.count; i++)
        want[i] = (double)pod_bf16_to_f32(pod_bf16_from_f32((float)want[i]));
    pod_test_compare(what, t->out.count, t->out.t, t->out.data, want, t->bound);
    free(a), free(b), free(want);
}

/* A kernel's result against that of the reference. */
static void check_result(const trial *t, const char *what, const tensor *got)
{
    int64_t n_wrong = 0;
    const bool is_same = tensor_has_bits(got, &t->out);
    for (int64_t i = 0; !is_same && i < got->count; i++)
        n_wrong += !pod_test_near(tensor_get(got, i), tensor_get(&t->out, i),
                                  t->bound ? 2 * t->bound[i] : 0);
    POD_CHECK(n_wrong == 0, "%s: %lld of %lld differ", what, (long long)n_wrong,
              (long long)got->count);
}

static void check_sums(const trial *t, const char *what, const tensor *sum, const tensor *sum_sq)
{
    for (int64_t k = 0; k < sum->count; k++) {
        double sum_abs = 0;
        for (int64_t i = k; i < t->out.count; i += sum->count)
            sum_abs += fabs(tensor_get(&t->out, i));
        const double want = tensor_get(&t->sum, k), want_sq = tensor_get(&t->sum_sq, k);
        const double bound = pod_test_bound_dot(POD_SUM_CHAIN + 2, sum_abs, want, POD_F32);
        const double bound_sq = pod_test_bound_dot(POD_SUM_CHAIN + 2, want_sq, want_sq, POD_F32);
        POD_CHECK(pod_test_near(tensor_get(sum, k), want, bound) &&
                      pod_test_near(tensor_get(sum_sq, k), want_sq, bound_sq),
                  "%s: sums of channel %lld are %.9g and %.9g, want %.9g and %.9g", what,
                  (long long)k, tensor_get(sum, k), tensor_get(sum_sq, k), want, want_sq);
    }
}

/* Whether the kernel took the call. */
static bool try_kernel(const pod_conv_kernel *kernel, const trial *t, int packing)
{
    pod_conv_call call = t->call;
    if (packing != PACK_NOT) call.fused |= POD_CONV_PACKED_W;
    if ((packing != PACK_NOT && (!kernel->pack || call.pass == POD_CONV_WEIGHT_GRAD)) ||
        kernel->why_not(&call))
        return false;
    TENSOR packed = tensor_new(POD_U8, packing ? (int64_t)kernel->packed_bytes(&call) : 0);
    if (packing != PACK_NOT) {
        const pod_dtype from = packing == PACK_F32 ? POD_F32 : t->b.t;
        TENSOR w = tensor_new(from, t->b.count);
        for (int64_t i = 0; i < w.count; i++) pod_test_put(from, w.data, i, tensor_get(&t->b, i));
        CU_ASSERT_EQUAL(packed.count % 64, 0);
        kernel->pack(&call, from, w.data, packed.data);
        call.b = packed.data;
    }
    TENSOR out = tensor_new(t->out.t, t->out.count);
    TENSOR sum = tensor_new(POD_F32, call.shape.k), sum_sq = tensor_new(POD_F32, call.shape.k);
    call.out = out.data, call.sum = sum.data, call.sum_sq = sum_sq.data;
    run(kernel, &call);
    char what[160];
    print(kernel->name, &call, what);
    check_result(t, what, &out);
    if (call.fused & POD_CONV_SUMS) check_sums(t, what, &sum, &sum_sq);
    return true;
}

/* How often each kernel ran, so that one which refuses everything is found out; and with packed w; and
 * how many cases there were. */
static int n_runs[64], n_packed[64], n_tried;

static bool is_taken(const pod_conv_call *call)
{
    int n;
    const pod_conv_kernel *kernels = pod_conv_kernels(&n);
    for (int i = 0; i < n - 1; i++)
        if (pod_test_tries(kernels[i].needs) && !kernels[i].why_not(call)) return true;
    return false;
}

/* All kernels but the reference, which is last and takes everything, with these bits fused, one after
 * the other; with the reference itself against double where nothing is fused. */
static void try_kernels(pod_conv_shape s, pod_dtype type, pod_conv_pass pass, filling how,
                        const unsigned fused[], int n_fused, bool with_reference)
{
    int n;
    const pod_conv_kernel *kernels = pod_conv_kernels(&n);
    TRIAL t = trial_of(s, type, pass, how);
    for (int f = 0; f < n_fused; f++) {
        t.call.fused = fused[f];
        if (n_tried++ % POD_TEST_EVERY || (!with_reference && !is_taken(&t.call))) continue;
        run_reference(&t, fused[f]);
        if (with_reference) check_reference(&t);
        for (int i = 0; i < n - 1; i++)
            for (int packing = 0; packing < N_PACKINGS; packing++)
                if (pod_test_tries(kernels[i].needs) && try_kernel(&kernels[i], &t, packing))
                    (packing ? n_packed : n_runs)[i]++;
    }
}

static const pod_dtype types[] = {POD_F32, POD_BF16};
static const unsigned nothing[] = {0};

static void try_any(filling how)
{
    int n_kernels;
    const pod_conv_kernel *kernels = pod_conv_kernels(&n_kernels);
    memset(n_runs, 0, sizeof n_runs);
    for (int i = 0; i < N_OF(any_shapes) * 2 * POD_N_CONV_PASSES; i++)
        try_kernels(any_shapes[i / (2 * POD_N_CONV_PASSES)], types[i % 2],
                    (pod_conv_pass)(i / 2 % POD_N_CONV_PASSES), how, nothing, 1, true);
    for (int i = 0; i < n_kernels - 1; i++)
        if (kernel_runs("conv", kernels[i].name, kernels[i].needs))
            POD_CHECK(POD_TEST_EVERY > 1 || n_runs[i] >= 12, "%s: ran %d times only",
                      kernels[i].name, n_runs[i]);
}

static void conv_keeps_within_the_bound(void) { try_any(RANDOM); }
static void conv_is_exact_on_whole_numbers(void) { try_any(EXACT); }

static void try_fused(filling how, const unsigned bits[], int n_bits)
{
    for (int i = 0; i < 2 * N_OF(fused_shapes); i++) {
        try_kernels(fused_shapes[i / 2], types[i % 2], POD_CONV_FORWARD, how, bits, n_bits, false);
        try_kernels(fused_shapes[i / 2], types[i % 2], POD_CONV_INPUT_GRAD, how, nothing, 1, false);
    }
}

static void conv_fuses_and_packs(void)
{
    int n_kernels;
    const pod_conv_kernel *kernels = pod_conv_kernels(&n_kernels);
    try_fused(EXACT, forward_bits, N_OF(forward_bits));
    for (int i = 0; i < n_kernels; i++)
        if (kernels[i].pack && pod_test_tries(kernels[i].needs))
            POD_CHECK(POD_TEST_EVERY > 1 || n_packed[i] > 0, "%s took no packed filters",
                      kernels[i].name);
}

/* What is not finite reaches the results that its pixel reaches, and no others. Not sums: what is not
 * finite there is not finite in any order. */
static void conv_passes_on_what_is_not_finite(void)
{
    unsigned bits[N_OF(forward_bits)];
    int n = 0;
    for (int i = 0; i < N_OF(forward_bits); i++)
        if (!(forward_bits[i] & POD_CONV_SUMS)) bits[n++] = forward_bits[i];
    try_fused(POISONED, bits, n);
}

/* Output beyond the caches may take another way out. */
static void conv_fills_large_outputs(void)
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
    static const unsigned fused[] = {POD_CONV_BIAS | POD_CONV_SUMS};
    for (int i = 0; i < 2 * N_OF(large); i++)
        try_kernels(large[i / 2], types[i % 2], POD_CONV_FORWARD, EXACT, fused, 1, false);
    for (int t = 0; t < 2; t++)
        try_kernels((pod_conv_shape){1, 256, 512, 16, 128, 256, 2, 2, 2, 2, 0, 0}, types[t],
                    POD_CONV_INPUT_GRAD, EXACT, nothing, 1, false);
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
            const int64_t bytes = (int64_t)kernels[i].packed_bytes(&few);
            CU_ASSERT_EQUAL_FATAL(bytes, kernels[i].packed_bytes(&many));
            TENSOR w = tensor_random(1, POD_BF16, 32 * 9 * 32);
            TENSOR a = tensor_new(POD_U8, bytes), b = tensor_copy(&a);
            kernels[i].pack(&few, POD_BF16, w.data, a.data);
            kernels[i].pack(&many, POD_BF16, w.data, b.data);
            tensor_check_same(kernels[i].name, &a, &b);
        }
    }
}

static void try_dw(filling how)
{
    static const unsigned fused[] = {0, POD_CONV_AFFINE_X, POD_CONV_AFFINE_X | POD_CONV_RELU_X};
    for (int i = 0; i < N_OF(dw_shapes); i++)
        try_kernels(dw_shapes[i], POD_BF16, POD_CONV_WEIGHT_GRAD, how, fused, N_OF(fused), false);
}

static void dw_keeps_within_the_bound(void) { try_dw(RANDOM); }
static void dw_is_exact_on_whole_numbers(void) { try_dw(EXACT); }

/* One value of x or dy that is not finite, in the middle of its image. */
static void dw_passes_on_what_is_not_finite(void)
{
    static const int picked[] = {0, 2, 5, 6, 8, 9, 12, 20, 21, 38, 40, 43, 72};
    for (int i = 0; i < 2 * N_OF(picked); i++)
        try_kernels(dw_shapes[picked[i / 2]], types[i % 2], POD_CONV_WEIGHT_GRAD, POISONED, nothing,
                    1, false);
}

static void conv_check_refuses(void)
{
    const pod_conv_call good = {.shape = any_shapes[1]};
    POD_CHECK_OK(pod_conv_check(&good));
    pod_conv_call call = good;
    call.shape.c = 0;
    POD_CHECK_FAILS(pod_conv_check(&call), POD_E_SHAPE, "c is 0, need 1 or more");
    call = good, call.shape.n = -1;
    POD_CHECK_FAILS(pod_conv_check(&call), POD_E_SHAPE, "n is -1, need 0 or more");
    call = good, call.shape.stride = 0;
    POD_CHECK_FAILS(pod_conv_check(&call), POD_E_SHAPE, "stride is 0");
    call = good, call.shape.pad_w = -1;
    POD_CHECK_FAILS(pod_conv_check(&call), POD_E_SHAPE, "pad_w is -1");
    call = good, call.pass = POD_N_CONV_PASSES;
    POD_CHECK_FAILS(pod_conv_check(&call), POD_E_UNSUPPORTED, "no pass 3");
    call = good, call.dtype = POD_U8;
    POD_CHECK_FAILS(pod_conv_check(&call), POD_E_UNSUPPORTED, "elements are u8");
}

static void conv_pick_takes_the_best(void)
{
    pod_conv_call call = {.shape = any_shapes[1]};
    CU_ASSERT_STRING_EQUAL(pod_conv_pick(&(pod_choice){.cpu = 0}, &call)->name, "gemm");
    CU_ASSERT_STRING_EQUAL(pod_conv_pick(&(pod_choice){.cpu = POD_CPU_REFERENCE_ONLY}, &call)->name,
                           "ref");
    call.shape = (pod_conv_shape){3, 9, 7, 20, 5, 4, 6, 1, 1, 2, 0, 0};
    CU_ASSERT_STRING_EQUAL(pod_conv_pick(&(pod_choice){.cpu = 0}, &call)->name, "gemm_1x1");
    call.shape.s = INT64_C(1) << 31;
    CU_ASSERT_STRING_EQUAL(pod_conv_pick(&(pod_choice){.cpu = 0}, &call)->name, "ref");
    CU_ASSERT_PTR_NULL(pod_conv_find("no such kernel"));
    CU_ASSERT_STRING_EQUAL(pod_conv_find("gemm_1x1")->name, "gemm_1x1");
}

/* The first layer of ResNet-50 at 224x224: 118 million multiply-adds (He et al. 2015, table 1). */
static void conv_flops_count_multiply_adds_twice(void)
{
    const pod_conv_shape first = {1, 224, 224, 3, 112, 112, 64, 7, 7, 2, 3, 3};
    CU_ASSERT_EQUAL(pod_conv_flops(&first), 2.0 * 118013952.0);
}

POD_TEST_SUITE("conv", {"keeps_within_the_bound", conv_keeps_within_the_bound},
               {"is_exact_on_whole_numbers", conv_is_exact_on_whole_numbers},
               {"fuses_and_packs", conv_fuses_and_packs},
               {"passes_on_what_is_not_finite", conv_passes_on_what_is_not_finite},
               {"fills_large_outputs", conv_fills_large_outputs},
               {"packed_filters_serve_any_batch", conv_packed_filters_serve_any_batch},
               {"check_refuses", conv_check_refuses},
               {"pick_takes_the_best", conv_pick_takes_the_best},
               {"flops_count_multiply_adds_twice", conv_flops_count_multiply_adds_twice},
               {"dw_keeps_within_the_bound", dw_keeps_within_the_bound},
               {"dw_is_exact_on_whole_numbers", dw_is_exact_on_whole_numbers},
               {"dw_passes_on_what_is_not_finite", dw_passes_on_what_is_not_finite});
