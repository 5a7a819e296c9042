/* kernels/depthwise: every set of the table, all passes, against sums in double that go over
 * y[n,p,q,c] += x[...] w[...] in one loop. */
#include <stdlib.h>

#include "kernels/base/assert.h"
#include "kernels/depthwise/depthwise.h"
#include "tests/unit/kernels/kernel_test.h"

#define N_OF(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* n h w c, p q, r s, stride pad_h pad_w */
static const pod_depthwise_shape shapes[] = {
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0},       /* one number */
    {2, 14, 14, 32, 14, 14, 3, 3, 1, 1, 1},  /* whole runs, one block */
    {2, 7, 7, 96, 7, 7, 5, 5, 1, 2, 2},      /* a run a line, both ends outside */
    {1, 28, 28, 40, 14, 14, 5, 5, 2, 1, 1},  /* "same": less before than behind; blocks overlap */
    {1, 28, 28, 33, 14, 14, 3, 3, 2, 0, 0},  /* "same": zeros only behind */
    {2, 15, 17, 48, 8, 9, 3, 3, 2, 1, 1},    /* stride 2, odd everything, pixels behind the runs */
    {1, 9, 13, 64, 9, 13, 5, 5, 1, 2, 2},    /* fewer than two runs */
    {1, 23, 31, 16, 12, 16, 5, 5, 2, 2, 2},  /* half a block of AVX-512, a whole one of AVX2 */
    {2, 9, 9, 5, 9, 9, 3, 3, 1, 1, 1},       /* few channels */
    {1, 8, 16, 1, 8, 16, 3, 3, 1, 1, 1},     /* one channel */
    {1, 10, 12, 31, 5, 6, 3, 3, 2, 1, 1},    /* one channel short of a block */
    {1, 12, 20, 36, 6, 10, 7, 7, 2, 3, 3},   /* a filter without runs */
    {1, 11, 9, 34, 10, 8, 2, 2, 1, 0, 0},    /* even filter */
    {2, 10, 24, 32, 9, 22, 5, 3, 1, 1, 0},   /* flat filters */
    {1, 12, 15, 32, 13, 15, 2, 5, 1, 1, 2},  /* */
    {1, 16, 30, 32, 4, 8, 3, 3, 4, 1, 1},    /* stride longer than the filter: pixels unseen */
    {1, 12, 40, 32, 5, 7, 3, 3, 2, 0, 0},    /* fewer windows than fit: pixels unseen behind */
    {1, 16, 40, 32, 6, 7, 3, 3, 1, 0, 0},    /* the same, stride 1 */
    {1, 4, 4, 32, 17, 16, 3, 3, 1, 8, 7},    /* windows wholly outside, before and behind */
    {1, 4, 4, 32, 12, 14, 5, 5, 2, 9, 9},    /* the same, stride 2 */
    {2, 2, 2, 64, 2, 2, 5, 5, 1, 2, 2},      /* filter larger than the image */
    {1, 3, 2, 32, 1, 2, 5, 5, 1, 2, 2},      /* the same, one row of windows */
    {3, 4, 4, 40, 4, 4, 5, 5, 1, 2, 2},      /* half a run a line */
    {2, 8, 8, 48, 4, 4, 3, 3, 2, 0, 0},      /* the same, stride 2 */
    {1, 1, 600, 32, 1, 600, 1, 3, 1, 0, 1},  /* a line longer than a segment */
    {1, 1, 1200, 32, 1, 600, 3, 3, 2, 1, 0}, /* the same, stride 2 */
    {1, 1, 1500, 3, 1, 1500, 1, 3, 1, 0, 1}, /* the same, pixel by pixel */
    {1, 56, 56, 64, 56, 56, 3, 3, 1, 1, 1},  /* several bands, long sums */
    {1, 97, 98, 72, 49, 49, 3, 3, 2, 1, 1},  /* several bands, stride 2 */
    {0, 8, 8, 32, 8, 8, 3, 3, 1, 1, 1},      /* no image */
};

static const char *const pass_names[POD_N_DEPTHWISE_PASSES] = {"forward", "input grad",
                                                               "weight grad"};

/* A tensor, and beside it the same in double; for a result, the sum worked out. */
typedef struct wide {
    tensor t;
    double *value, *sum_abs;
} wide;

static wide wide_of(int64_t count, pod_dtype type)
{
    wide x = {.t = tensor_new(type, count)};
    x.value = calloc((size_t)count + 1, sizeof *x.value);
    x.sum_abs = calloc((size_t)count + 1, sizeof *x.sum_abs);
    POD_ASSERT(x.value && x.sum_abs, "no memory for %lld numbers", (long long)count);
    return x;
}

static void wide_end(wide *x)
{
    tensor_free(&x->t);
    free(x->value);
    free(x->sum_abs);
}

static void read_values(wide *x)
{
    for (int64_t i = 0; i < x->t.count; i++) x->value[i] = tensor_get(&x->t, i);
}

static void fill(wide *x, uint64_t seed, bool exact)
{
    if (exact)
        pod_test_fill_exact(seed, x->t.count, 3, x->t.t, x->t.data);
    else
        pod_test_fill(seed, x->t.count, x->t.t, x->t.data);
    read_values(x);
}

/* One convolution's tensors: x w dy given, y dx dw worked out, sums measured on the y stored. */
typedef struct trial {
    pod_depthwise_shape shape;
    pod_dtype type;
    wide x, w, dy, y, dx, dw, sum, sum_sq;
} trial;

static trial trial_of(pod_depthwise_shape s, pod_dtype type)
{
    const int64_t x = s.n * s.h * s.w * s.c, y = s.n * s.p * s.q * s.c, w = s.r * s.s * s.c;
    return (trial){.shape = s,
                   .type = type,
                   .x = wide_of(x, type),
                   .w = wide_of(w, type),
                   .dy = wide_of(y, type),
                   .y = wide_of(y, type),
                   .dx = wide_of(x, type),
                   .dw = wide_of(w, POD_F32),
                   .sum = wide_of(s.c, POD_F32),
                   .sum_sq = wide_of(s.c, POD_F32)};
}

static void trial_end(trial *t)
{
    wide *const all[] = {&t->x, &t->w, &t->dy, &t->y, &t->dx, &t->dw, &t->sum, &t->sum_sq};
    for (int i = 0; i < N_OF(all); i++) wide_end(all[i]);
}
#define TRIAL __attribute__((cleanup(trial_end))) trial

static void add(wide *x, int64_t at, double term)
{
    x->value[at] += term;
    x->sum_abs[at] += fabs(term);
}

static void work_out(trial *t)
{
    const pod_depthwise_shape s = t->shape;
    for (int64_t row = 0; row < s.n * s.p * s.q; row++)
        for (int64_t tap = 0; tap < s.r * s.s; tap++) {
            const int64_t n = row / s.q / s.p, p = row / s.q % s.p, q = row % s.q;
            const int64_t h = p * s.stride - s.pad_h + tap / s.s;
            const int64_t w = q * s.stride - s.pad_w + tap % s.s;
            if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
            for (int64_t c = 0; c < s.c; c++) {
                const int64_t x0 = ((n * s.h + h) * s.w + w) * s.c + c, w0 = tap * s.c + c;
                const int64_t y0 = row * s.c + c;
                add(&t->y, y0, t->x.value[x0] * t->w.value[w0]);
                add(&t->dx, x0, t->dy.value[y0] * t->w.value[w0]);
                add(&t->dw, w0, t->x.value[x0] * t->dy.value[y0]);
            }
        }
}

static wide *result_of(trial *t, pod_depthwise_pass pass)
{
    wide *const out[] = {&t->y, &t->dx, &t->dw};
    return out[pass];
}

static pod_depthwise_call call_of(trial *t, pod_depthwise_pass pass, unsigned fused)
{
    const wide *const a[] = {&t->x, &t->dy, &t->x}, *const b[] = {&t->w, &t->w, &t->dy};
    return (pod_depthwise_call){.shape = t->shape,
                                .pass = pass,
                                .dtype = t->type,
                                .fused = fused,
                                .a = a[pass]->t.data,
                                .b = b[pass]->t.data,
                                .out = result_of(t, pass)->t.data,
                                .sum = fused ? t->sum.t.data : NULL,
                                .sum_sq = fused ? t->sum_sq.t.data : NULL};
}

/* Fills the result with NaN, so that what the set leaves out shows. */
static void run(const pod_depthwise *set, trial *t, pod_depthwise_pass pass, unsigned fused)
{
    const pod_depthwise_call call = call_of(t, pass, fused);
    const tensor *out = &result_of(t, pass)->t;
    const size_t bytes = (set->scratch_bytes(&call) + 63) / 64 * 64;
    void *scratch = pod_test_guard(bytes);
    memset(out->data, 0xff, tensor_bytes(out));
    POD_CHECK_OK(pod_depthwise_check(&call));
    const pod_depthwise_shape at = call.shape;
    pod_test_doing("depthwise %s pass %d, %lldx%lldx%lldx%lld, filter %lldx%lld", set->name,
                   (int)call.pass, (long long)at.n, (long long)at.h, (long long)at.w,
                   (long long)at.c, (long long)at.r, (long long)at.s);
    set->run(&call, scratch);
    pod_test_guard_free(scratch, bytes);
}

static bool is_ref(const pod_depthwise *set) { return strcmp(set->name, "ref") == 0; }

/* How many roundings to float32 a term passes at most. */
static int64_t chain(const pod_depthwise *set, const pod_depthwise_shape *s,
                     pod_depthwise_pass pass)
{
    const int64_t windows = s->n * s->p * s->q;
    if (pass != POD_DEPTHWISE_WEIGHT_GRAD) return s->r * s->s;
    return is_ref(set) || windows < POD_DEPTHWISE_CHAIN ? windows : POD_DEPTHWISE_CHAIN;
}

static void compare(const pod_depthwise *set, const trial *t, const char *result, const wide *out,
                    int64_t n_terms, bool exact)
{
    const pod_depthwise_shape s = t->shape;
    int64_t n_wrong = 0;
    for (int64_t i = 0; i < out->t.count; i++) {
        double want = out->value[i], bound = 0.0;
        if (!exact)
            bound = pod_test_bound_dot(n_terms, out->sum_abs[i], want, out->t.t);
        else if (out->t.t == POD_BF16)
            want = (double)pod_bf16_to_f32(pod_bf16_from_f32((float)want));
        n_wrong += !pod_test_near(tensor_get(&out->t, i), want, bound);
    }
    POD_CHECK(n_wrong == 0,
              "%s %s %s n%lld h%lld w%lld c%lld p%lld q%lld r%lld s%lld stride%lld pad%lld,%lld: "
              "%lld of %lld differ",
              set->name, result, pod_dtype_name(t->type), (long long)s.n, (long long)s.h,
              (long long)s.w, (long long)s.c, (long long)s.p, (long long)s.q, (long long)s.r,
              (long long)s.s, (long long)s.stride, (long long)s.pad_h, (long long)s.pad_w,
              (long long)n_wrong, (long long)out->t.count);
}

/* The sums of the y that stands in t. */
static void compare_sums(const pod_depthwise *set, trial *t, bool exact)
{
    const pod_depthwise_shape *s = &t->shape;
    wide *const sums[] = {&t->sum, &t->sum_sq};
    for (int k = 0; k < 2; k++) {
        memset(sums[k]->value, 0, sizeof(double) * (size_t)s->c);
        memset(sums[k]->sum_abs, 0, sizeof(double) * (size_t)s->c);
        for (int64_t i = 0; i < t->y.t.count; i++) {
            const double y = tensor_get(&t->y.t, i);
            add(sums[k], i % s->c, k ? y * y : y);
        }
        compare(set, t, k ? "sum_sq" : "sum", sums[k], POD_DEPTHWISE_CHAIN, exact);
    }
}

static void try_set(const pod_depthwise *set, trial *t, bool exact)
{
    for (int pass = 0; pass < POD_N_DEPTHWISE_PASSES; pass++) {
        const pod_depthwise_pass p = (pod_depthwise_pass)pass;
        run(set, t, p, 0);
        compare(set, t, pass_names[pass], result_of(t, p), chain(set, &t->shape, p), exact);
    }
    run(set, t, POD_DEPTHWISE_FORWARD, POD_DEPTHWISE_SUMS);
    compare(set, t, "forward with sums", &t->y, chain(set, &t->shape, POD_DEPTHWISE_FORWARD),
            exact);
    compare_sums(set, t, exact);
}

static void try_shapes(bool exact)
{
    static const pod_dtype types[] = {POD_F32, POD_BF16};
    for (int s = 0; s < N_OF(shapes); s++)
        for (int type = 0; type < N_OF(types); type++) {
            TRIAL t = trial_of(shapes[s], types[type]);
            fill(&t.x, (uint64_t)s * 10 + 1, exact);
            fill(&t.w, (uint64_t)s * 10 + 2, exact);
            fill(&t.dy, (uint64_t)s * 10 + 3, exact);
            work_out(&t);
            EACH_SET(depthwise, set) try_set(set, &t, exact);
        }
}

static void keeps_within_the_bound(void) { try_shapes(false); }
static void is_exact_on_whole_numbers(void) { try_shapes(true); }

/* A value that is not finite in one pixel of an input reaches the results that the pixel reaches,
 * and no others. Weights are left out: the zeros round the image may or may not meet them. */
static void poison_spreads(const pod_depthwise *set, const pod_depthwise_shape *s, pod_dtype type,
                           pod_depthwise_pass pass, bool in_dy, double value)
{
    TRIAL t = trial_of(*s, type);
    wide *poisoned = in_dy ? &t.dy : &t.x;
    const int64_t at = poisoned->t.count / 3;
    for (int64_t i = 0; i < t.x.t.count; i++) pod_test_put(type, t.x.t.data, i, 1.0);
    for (int64_t i = 0; i < t.w.t.count; i++) pod_test_put(type, t.w.t.data, i, 1.0);
    for (int64_t i = 0; i < t.dy.t.count; i++) pod_test_put(type, t.dy.t.data, i, 1.0);
    pod_test_put(type, poisoned->t.data, at, value);
    read_values(&t.w), read_values(&t.dy), read_values(&t.x);
    work_out(&t);
    run(set, &t, pass, pass == POD_DEPTHWISE_FORWARD ? POD_DEPTHWISE_SUMS : 0);
    wide *out = result_of(&t, pass);
    compare(set, &t, pass_names[pass], out, 0, true);
    if (pass == POD_DEPTHWISE_FORWARD) compare_sums(set, &t, true);
    int64_t n_poisoned = 0;
    for (int64_t i = 0; i < out->t.count; i++) n_poisoned += !isfinite(out->value[i]);
    POD_CHECK(n_poisoned > 0 && n_poisoned < out->t.count, "%lld of %lld", (long long)n_poisoned,
              (long long)out->t.count);
}

static void passes_on_what_is_not_finite(void)
{
    static const int which[] = {1, 2, 5, 8, 16};
    const struct {
        pod_depthwise_pass pass;
        bool in_dy;
    } ways[] = {{POD_DEPTHWISE_FORWARD, false},
                {POD_DEPTHWISE_INPUT_GRAD, true},
                {POD_DEPTHWISE_WEIGHT_GRAD, false},
                {POD_DEPTHWISE_WEIGHT_GRAD, true}};
    EACH_SET(depthwise, set) {
        for (int k = 0; k < N_OF(which) * N_OF(ways) * 4; k++) {
            const pod_depthwise_shape *s = &shapes[which[k / (N_OF(ways) * 4)]];
            poison_spreads(set, s, k & 1 ? POD_BF16 : POD_F32, ways[k / 4 % N_OF(ways)].pass,
                           ways[k / 4 % N_OF(ways)].in_dy, k & 2 ? (double)NAN : -(double)INFINITY);
        }
    }
}

/* The same bits wherever the operands lie. */
static void bits_do_not_depend_on_the_address(void)
{
    EACH_SET(depthwise, set) {
        TRIAL t = trial_of(shapes[5], POD_BF16);
        fill(&t.x, 1, false), fill(&t.w, 2, false), fill(&t.dy, 3, false);
        run(set, &t, POD_DEPTHWISE_WEIGHT_GRAD, 0);
        TENSOR first = tensor_copy(&t.dw.t), shifted = tensor_new(POD_BF16, t.x.t.count + 1);
        memcpy((uint16_t *)shifted.data + 1, t.x.t.data, tensor_bytes(&t.x.t));
        pod_depthwise_call call = call_of(&t, POD_DEPTHWISE_WEIGHT_GRAD, 0);
        call.a = (uint16_t *)shifted.data + 1;
        const size_t bytes = (set->scratch_bytes(&call) + 63) / 64 * 64;
        void *scratch = pod_test_guard(bytes);
        set->run(&call, scratch);
        tensor_check_same(set->name, &t.dw.t, &first);
        pod_test_guard_free(scratch, bytes);
    }
}

static void check_refuses(void)
{
    const pod_depthwise_call good = {.shape = shapes[1]};
    POD_CHECK_OK(pod_depthwise_check(&good));
    pod_depthwise_call call = good;
    call.shape.c = 0;
    POD_CHECK_FAILS(pod_depthwise_check(&call), POD_E_SHAPE, "c is 0, need 1 or more");
    call = good, call.shape.n = -1;
    POD_CHECK_FAILS(pod_depthwise_check(&call), POD_E_SHAPE, "n is -1, need 0 or more");
    call = good, call.shape.stride = 0;
    POD_CHECK_FAILS(pod_depthwise_check(&call), POD_E_SHAPE, "stride is 0");
    call = good, call.shape.pad_w = -1;
    POD_CHECK_FAILS(pod_depthwise_check(&call), POD_E_SHAPE, "pad_w is -1");
    call = good, call.pass = POD_N_DEPTHWISE_PASSES;
    POD_CHECK_FAILS(pod_depthwise_check(&call), POD_E_UNSUPPORTED, "no pass 3");
    call = good, call.pass = POD_DEPTHWISE_WEIGHT_GRAD, call.fused = POD_DEPTHWISE_SUMS;
    POD_CHECK_FAILS(pod_depthwise_check(&call), POD_E_UNSUPPORTED, "pass 2 cannot fuse 0x1");
    call = good, call.dtype = POD_U8;
    POD_CHECK_FAILS(pod_depthwise_check(&call), POD_E_UNSUPPORTED, "elements are u8");
}

/* A unit of MobileNet at 112x112x32 (Howard et al. 2017, table 1). */
static void flops_count_multiply_adds_twice(void)
{
    const pod_depthwise_shape first = {1, 112, 112, 32, 112, 112, 3, 3, 1, 1, 1};
    CU_ASSERT_EQUAL(pod_depthwise_flops(&first), 2.0 * 3612672.0);
}

POD_TEST_SUITE("depthwise", {"keeps_within_the_bound", keeps_within_the_bound},
               {"is_exact_on_whole_numbers", is_exact_on_whole_numbers},
               {"passes_on_what_is_not_finite", passes_on_what_is_not_finite},
               {"bits_do_not_depend_on_the_address", bits_do_not_depend_on_the_address},
               {"check_refuses", check_refuses},
               {"flops_count_multiply_adds_twice", flops_count_multiply_adds_twice});
