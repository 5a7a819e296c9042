/* The weight gradient of every kernel that has it, against the reference's: shapes at tiles and
 * beside them, blocks of images and of lines, and what is fused on the way in. */
#include <math.h>
#include <stdlib.h>

#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"
#include "kernels/conv/conv.h"
#include "tests/harness/harness.h"

#define N_OF(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* n h w c, p q k, r s, stride pad_h pad_w */
static const pod_conv_shape shapes[] = {
    {3, 8, 8, 16, 8, 8, 16, 3, 3, 1, 1, 1},       /* few channels, images side by side */
    {5, 6, 10, 16, 6, 10, 16, 3, 3, 1, 1, 1},     /* gaps within tiles of pixels */
    {30, 16, 16, 16, 16, 16, 16, 3, 3, 1, 1, 1},  /* several blocks of images */
    {4, 8, 8, 64, 8, 8, 64, 3, 3, 1, 1, 1},       /* channels in parts */
    {7, 32, 32, 3, 32, 32, 16, 3, 3, 1, 1, 1},    /* three channels */
    {3, 16, 16, 16, 8, 8, 32, 3, 3, 2, 1, 1},     /* stride 2 */
    {3, 16, 16, 16, 8, 8, 32, 1, 1, 2, 0, 0},     /* stride 2, one tap */
    {2, 40, 38, 3, 20, 19, 33, 7, 7, 2, 3, 3},    /* the first layer of ResNet-50, smaller */
    {1, 120, 56, 16, 120, 56, 16, 3, 3, 1, 1, 1}, /* blocks of lines */
    {2, 7, 7, 65, 7, 7, 33, 3, 3, 1, 1, 1},       /* tile + 1 */
    {2, 9, 7, 63, 9, 7, 31, 3, 3, 1, 1, 1},       /* tile - 1 */
    {4, 12, 12, 17, 12, 12, 15, 3, 3, 1, 1, 1},
    {2, 11, 14, 24, 11, 14, 40, 5, 5, 1, 2, 2},
    {2, 11, 14, 40, 6, 7, 24, 5, 5, 2, 2, 2},
    {3, 5, 5, 49, 5, 5, 48, 3, 3, 1, 1, 1},
    {2, 10, 12, 6, 10, 12, 20, 7, 7, 1, 3, 3},
    {2, 9, 8, 5, 9, 8, 7, 1, 3, 1, 0, 1}, /* flat filters */
    {2, 9, 8, 5, 9, 8, 7, 3, 1, 1, 1, 0},
    {1, 6, 40, 4, 6, 40, 8, 1, 20, 1, 0, 9}, /* a long one */
    {1, 40, 6, 4, 40, 6, 8, 20, 1, 1, 9, 0}, /* more rows than a panel serves */
    {3, 7, 7, 64, 7, 7, 32, 1, 1, 1, 0, 0},  /* products of matrices */
    {3, 7, 7, 32, 7, 7, 64, 1, 1, 1, 0, 0},
    {3, 7, 7, 32, 7, 7, 65, 1, 1, 1, 0, 0},
    {2, 7, 7, 272, 7, 7, 16, 1, 1, 1, 0, 0},
    {2, 7, 7, 136, 7, 7, 17, 3, 3, 1, 1, 1},
    {3, 7, 7, 33, 7, 7, 64, 1, 1, 1, 0, 0},
    {5, 13, 11, 48, 7, 6, 80, 1, 1, 2, 0, 0},
    {5, 13, 11, 80, 7, 6, 48, 1, 1, 2, 0, 0},
    {2, 30, 30, 256, 30, 30, 16, 1, 1, 1, 0, 0}, /* several blocks */
    {2, 30, 30, 16, 30, 30, 256, 1, 1, 1, 0, 0},
    {1, 1, 31, 16, 1, 31, 16, 1, 1, 1, 0, 0}, /* one tile of pixels, less one, and more one */
    {1, 1, 32, 16, 1, 32, 16, 1, 1, 1, 0, 0},
    {1, 1, 33, 16, 1, 33, 16, 1, 1, 1, 0, 0},
    {1, 1, 9000, 16, 1, 9000, 16, 1, 3, 1, 0, 1}, /* a line longer than a block */
    {2, 4, 4, 20, 7, 7, 20, 3, 3, 1, 3, 2},       /* windows outside */
    {1, 3, 3, 16, 6, 6, 16, 3, 3, 2, 5, 5},
    {2, 9, 9, 16, 2, 2, 16, 2, 2, 4, 0, 0}, /* pixels unseen */
    {0, 8, 8, 16, 8, 8, 16, 3, 3, 1, 1, 1},
    /* lines in tiles of pixels: one image a tile, two, four, with a rest behind, in pieces */
    {3, 32, 32, 16, 32, 32, 16, 3, 3, 1, 1, 1},
    {3, 16, 16, 32, 16, 16, 40, 3, 3, 1, 1, 1},
    {6, 8, 8, 40, 8, 8, 17, 3, 3, 1, 1, 1},
    {2, 11, 28, 17, 11, 28, 32, 3, 3, 1, 1, 1},
    {3, 14, 14, 32, 14, 14, 16, 3, 3, 1, 1, 1},
    {7, 7, 7, 48, 7, 7, 32, 3, 3, 1, 1, 1},
    {2, 7, 30, 16, 7, 30, 32, 3, 3, 1, 1, 1},
    {2, 5, 31, 32, 5, 31, 16, 3, 3, 1, 1, 1},
    {2, 4, 33, 16, 4, 33, 17, 3, 3, 1, 1, 1},
    {1, 9, 56, 48, 9, 56, 32, 3, 3, 1, 1, 1},
    {1, 3, 62, 32, 3, 62, 32, 3, 3, 1, 1, 1},
    {15, 3, 2, 16, 3, 2, 16, 3, 3, 1, 1, 1},
    {75, 8, 8, 16, 8, 8, 16, 3, 3, 1, 1, 1},   /* several blocks */
    {8, 3, 4, 192, 3, 4, 160, 3, 3, 1, 1, 1},  /* sums beyond the cache */
    {3, 10, 12, 16, 8, 10, 16, 3, 3, 1, 0, 0}, /* other borders */
    {3, 10, 12, 16, 12, 14, 32, 3, 3, 1, 2, 2},
    {4, 10, 12, 33, 11, 11, 32, 3, 3, 1, 2, 0},
    {2, 10, 12, 16, 16, 20, 16, 3, 3, 1, 4, 5},
    {8, 12, 20, 16, 3, 4, 16, 3, 3, 1, 1, 1}, /* lines and columns unseen */
    /* the same with stride 2: even and odd sides, other borders, three channels */
    {4, 16, 16, 32, 8, 8, 64, 3, 3, 2, 1, 1},
    {5, 15, 17, 17, 8, 9, 33, 3, 3, 2, 1, 1},
    {16, 14, 14, 48, 7, 7, 32, 3, 3, 2, 1, 1},
    {16, 28, 28, 16, 14, 14, 16, 3, 3, 2, 1, 1},
    {3, 56, 56, 16, 28, 28, 40, 3, 3, 2, 1, 1},
    {4, 16, 16, 32, 8, 7, 32, 3, 3, 2, 1, 0},
    {4, 12, 10, 16, 8, 8, 16, 3, 3, 2, 3, 4},
    {9, 3, 3, 16, 2, 2, 16, 3, 3, 2, 1, 1},
    {6, 32, 30, 3, 16, 15, 24, 3, 3, 2, 1, 1},
    {7, 9, 14, 15, 9, 14, 17, 3, 3, 1, 1, 1},
    {3, 8, 7, 256, 4, 4, 40, 3, 3, 2, 1, 1}, /* many channels, and lines of them */
    {2, 7, 5, 480, 7, 5, 33, 1, 1, 1, 0, 0},
    /* products of matrices: either side turned, in blocks of pixels, in ranges of channels */
    {1, 17, 18, 70, 17, 18, 50, 1, 1, 1, 0, 0},
    {2, 33, 21, 50, 17, 11, 70, 1, 1, 2, 0, 0},
    {1, 17, 18, 528, 17, 18, 1072, 1, 1, 1, 0, 0},
    {4, 12, 32, 16, 12, 32, 16, 3, 3, 1, 1, 1}, /* two images, two lines at a time */
    {6, 2, 32, 16, 2, 32, 16, 3, 3, 1, 1, 1},   /* these two are an image */
    {3, 8, 32, 16, 8, 32, 16, 3, 3, 1, 1, 1},   /* an odd image */
    /* pairs of images or of lines, whichever leaves fewer single: both even, one odd, both odd */
    {1, 8, 9, 17, 8, 9, 9, 3, 3, 1, 1, 1},
    {3, 8, 9, 3, 8, 9, 9, 3, 3, 1, 1, 1},
    {3, 7, 9, 1, 7, 9, 33, 3, 3, 1, 1, 1},
    {1, 7, 9, 33, 4, 5, 17, 3, 3, 2, 1, 1},
    {5, 3, 9, 17, 3, 9, 17, 3, 3, 1, 1, 1},
    {1, 1, 9, 17, 1, 9, 17, 1, 3, 1, 0, 1},
    {1, 90, 56, 16, 90, 56, 16, 3, 3, 1, 1, 1}, /* blocks of such lines */
    {1, 9, 5, 20, 9, 5, 17, 1, 1, 1, 0, 0},
    {3, 7, 9, 32, 7, 9, 17, 1, 1, 1, 0, 0},
    {1, 9, 9, 16, 5, 5, 17, 1, 1, 2, 0, 0},
};

typedef struct trial {
    pod_conv_call call;
    int64_t n_x, n_dy, n_dw;
    void *x, *dy;
    float *scale, *shift, *want, *got, *sum_abs;
} trial;

static size_t bytes_of(pod_dtype t, int64_t n) { return (size_t)n * pod_dtype_bytes(t); }

static void run(const pod_conv_kernel *kernel, const trial *t, float *out)
{
    pod_conv_call call = t->call;
    call.a = t->x, call.b = t->dy, call.out = out;
    call.x_scale = t->scale, call.x_shift = t->shift;
    const size_t bytes = (kernel->scratch_bytes(&call) + 63) / 64 * 64;
    void *scratch = pod_test_guard(bytes);
    memset(out, 0xff, bytes_of(POD_F32, t->n_dw));
    const pod_conv_shape at = call.shape;
    pod_test_doing("conv %s pass %d, %lldx%lldx%lldx%lld, %lld filters of %lldx%lld", kernel->name,
                   (int)call.pass, (long long)at.n, (long long)at.h, (long long)at.w,
                   (long long)at.c, (long long)at.k, (long long)at.r, (long long)at.s);
    kernel->run(&call, scratch);
    pod_test_guard_free(scratch, bytes);
}

/* The reference on magnitudes: the sums of |x dy| that the bound needs. */
static void run_on_magnitudes(trial *t)
{
    const pod_dtype type = t->call.dtype;
    trial of = *t;
    of.x = malloc(bytes_of(type, t->n_x) + 1), of.dy = malloc(bytes_of(type, t->n_dy) + 1);
    of.call.fused = 0;
    POD_ASSERT(of.x && of.dy, "no memory for %lld numbers", (long long)(t->n_x + t->n_dy));
    for (int64_t i = 0; i < t->n_x; i++) {
        const int64_t c = i % t->call.shape.c;
        double x = pod_test_get(type, t->x, i);
        if (t->call.fused & POD_CONV_AFFINE_X) x = x * (double)t->scale[c] + (double)t->shift[c];
        pod_test_put(type, of.x, i, (t->call.fused & POD_CONV_RELU_X) && x < 0 ? 0 : fabs(x));
    }
    for (int64_t i = 0; i < t->n_dy; i++)
        pod_test_put(type, of.dy, i, fabs(pod_test_get(type, t->dy, i)));
    run(pod_conv_find("ref"), &of, t->sum_abs);
    free(of.x), free(of.dy);
}

static trial trial_of(const pod_conv_shape *s, pod_dtype type, unsigned fused, bool exact)
{
    trial t = {.call = {.shape = *s, .pass = POD_CONV_WEIGHT_GRAD, .dtype = type, .fused = fused},
               .n_x = s->n * s->h * s->w * s->c,
               .n_dy = s->n * s->p * s->q * s->k,
               .n_dw = s->k * s->r * s->s * s->c};
    t.x = pod_test_guard(bytes_of(type, t.n_x)), t.dy = pod_test_guard(bytes_of(type, t.n_dy));
    t.scale = pod_test_guard(bytes_of(POD_F32, s->c));
    t.shift = pod_test_guard(bytes_of(POD_F32, s->c));
    t.want = malloc(bytes_of(POD_F32, t.n_dw)), t.sum_abs = malloc(bytes_of(POD_F32, t.n_dw));
    t.got = pod_test_guard(bytes_of(POD_F32, t.n_dw));
    POD_ASSERT(t.want && t.sum_abs, "no memory for %lld numbers", (long long)t.n_dw);
    if (exact) {
        pod_test_fill_exact(1, t.n_x, 3, type, t.x), pod_test_fill_exact(2, t.n_dy, 3, type, t.dy);
        pod_test_fill_exact(3, s->c, 2, POD_F32, t.scale);
        pod_test_fill_exact(4, s->c, 2, POD_F32, t.shift);
    } else {
        pod_test_fill(1, t.n_x, type, t.x), pod_test_fill(2, t.n_dy, type, t.dy);
        pod_test_fill(3, s->c, POD_F32, t.scale), pod_test_fill(4, s->c, POD_F32, t.shift);
    }
    return t;
}

static void trial_end(trial *t)
{
    const pod_dtype type = t->call.dtype;
    pod_test_guard_free(t->x, bytes_of(type, t->n_x));
    pod_test_guard_free(t->dy, bytes_of(type, t->n_dy));
    pod_test_guard_free(t->scale, bytes_of(POD_F32, t->call.shape.c));
    pod_test_guard_free(t->shift, bytes_of(POD_F32, t->call.shape.c));
    pod_test_guard_free(t->got, bytes_of(POD_F32, t->n_dw));
    free(t->want), free(t->sum_abs);
}

/* Both the kernel and the reference are within the bound; what is applied to x may be rounded once
 * or twice in float32 before the rounding to the element type, which may then fall elsewhere. */
static double bound_of(const trial *t, int64_t i)
{
    const pod_conv_shape *s = &t->call.shape;
    const double sum_abs = (double)t->sum_abs[i] * 1.01;
    const double one = pod_test_bound_dot(s->n * s->p * s->q, sum_abs, sum_abs, POD_F32);
    if (!t->call.fused) return 2 * one;
    return 2 * one + 2 * pod_test_roundoff(t->call.dtype) * sum_abs;
}

static void compare(const pod_conv_kernel *kernel, const trial *t, bool exact)
{
    const pod_conv_shape *s = &t->call.shape;
    int64_t n_wrong = 0;
    for (int64_t i = 0; i < t->n_dw; i++)
        n_wrong +=
            !pod_test_near((double)t->got[i], (double)t->want[i], exact ? 0 : bound_of(t, i));
    POD_CHECK(n_wrong == 0,
              "%s %s 0x%x n%lld h%lld w%lld c%lld p%lld q%lld k%lld r%lld s%lld stride%lld "
              "pad%lld,%lld: %lld of %lld differ",
              kernel->name, pod_dtype_name(t->call.dtype), t->call.fused, (long long)s->n,
              (long long)s->h, (long long)s->w, (long long)s->c, (long long)s->p, (long long)s->q,
              (long long)s->k, (long long)s->r, (long long)s->s, (long long)s->stride,
              (long long)s->pad_h, (long long)s->pad_w, (long long)n_wrong, (long long)t->n_dw);
}

/* Every kernel but the reference that takes the call. */
static void try_kernels(const trial *t, bool exact)
{
    int n_kernels;
    const pod_conv_kernel *kernels = pod_conv_kernels(&n_kernels);
    for (int i = 0; i < n_kernels - 1; i++) {
        if (!pod_test_tries(kernels[i].needs) || kernels[i].why_not(&t->call)) continue;
        run(&kernels[i], t, t->got);
        compare(&kernels[i], t, exact);
    }
}

static void try_shapes(bool exact)
{
    static const unsigned fused[] = {0, POD_CONV_AFFINE_X, POD_CONV_AFFINE_X | POD_CONV_RELU_X};
    int n = 0;
    for (int i = 0; i < N_OF(shapes); i++)
        for (int f = 0; f < N_OF(fused); f++) {
            if (n++ % POD_TEST_EVERY) continue;
            trial t = trial_of(&shapes[i], POD_BF16, fused[f], exact);
            POD_CHECK_OK(pod_conv_check(&t.call));
            run(pod_conv_find("ref"), &t, t.want);
            if (!exact) run_on_magnitudes(&t);
            try_kernels(&t, exact);
            trial_end(&t);
        }
}

static void dw_keeps_within_the_bound(void) { try_shapes(false); }
static void dw_is_exact_on_whole_numbers(void) { try_shapes(true); }

/* One value of x or dy that is not finite, in the middle of its image: whole numbers elsewhere. */
static void poison(const pod_conv_shape *s, bool of_dy, float value)
{
    trial t = trial_of(s, POD_BF16, POD_CONV_AFFINE_X | POD_CONV_RELU_X, true);
    const int64_t channels = of_dy ? s->k : s->c, rows = of_dy ? s->p : s->h;
    const int64_t columns = of_dy ? s->q : s->w;
    const int64_t pixel = (s->n / 2 * rows + rows / 2) * columns + columns / 2;
    for (int64_t c = 0; c < s->c; c++) t.scale[c] = 1, t.shift[c] = 4; /* x stays, and above 0 */
    pod_test_put(POD_BF16, of_dy ? t.dy : t.x, pixel * channels + channels / 2, (double)value);
    run(pod_conv_find("ref"), &t, t.want);
    int64_t n_poisoned = 0;
    for (int64_t i = 0; i < t.n_dw; i++) n_poisoned += !isfinite(t.want[i]);
    POD_CHECK(n_poisoned > 0 && n_poisoned < t.n_dw, "%lld of %lld are poisoned",
              (long long)n_poisoned, (long long)t.n_dw);
    try_kernels(&t, true);
    trial_end(&t);
}

static void dw_passes_on_what_is_not_finite(void)
{
    static const int picked[] = {0, 2, 5, 6, 8, 9, 12, 20, 21, 38, 40, 43, 72};
    for (int i = 0; i < N_OF(picked); i++)
        for (int of_dy = 0; of_dy < 2; of_dy++) {
            poison(&shapes[picked[i]], of_dy, NAN);
            poison(&shapes[picked[i]], of_dy, INFINITY);
        }
}

/* A kernel that has this pass only says so. */
static void refuses_the_other_passes(const char *name, const pod_conv_shape *s)
{
    const pod_conv_kernel *kernel = pod_conv_find(name);
    if (!kernel) {
        pod_test_skip(name, "it is not built for this architecture");
        return;
    }
    pod_conv_call call = {.shape = *s, .pass = POD_CONV_WEIGHT_GRAD, .dtype = POD_BF16};
    CU_ASSERT_PTR_NULL(kernel->why_not(&call));
    call.pass = POD_CONV_FORWARD;
    CU_ASSERT_PTR_NOT_NULL(kernel->why_not(&call));
    call.pass = POD_CONV_INPUT_GRAD;
    CU_ASSERT_PTR_NOT_NULL(kernel->why_not(&call));
    call.pass = POD_CONV_WEIGHT_GRAD, call.dtype = POD_F32;
    CU_ASSERT_PTR_NOT_NULL(kernel->why_not(&call));
    if (kernel->needs & ~pod_cpu_features()) pod_test_skip(name, "this CPU lacks what it needs");
}

static void dw_refuses_the_other_passes(void)
{
    refuses_the_other_passes("amx_dw", &shapes[2]);
    refuses_the_other_passes("amx_dw_lines", &shapes[2]);
    refuses_the_other_passes("amx_dw_1x1", &shapes[6]);
}

/* The one by lines has a filter, strides 1 and 2 with their borders, and lines that fill tiles: 9
 * pixels of 32 do not, nor does one image of two. */
static void dw_by_lines_refuses_what_it_is_not_for(void)
{
    static const pod_conv_shape others[] = {
        {4, 16, 16, 32, 16, 16, 32, 5, 5, 1, 2, 2},   {4, 16, 16, 32, 16, 16, 32, 1, 1, 1, 0, 0},
        {4, 16, 16, 32, 8, 8, 32, 3, 3, 2, 0, 1},     {4, 16, 16, 32, 6, 6, 32, 3, 3, 3, 1, 1},
        {2, 9, 9, 32, 9, 9, 32, 3, 3, 1, 1, 1},       {1, 16, 16, 32, 16, 16, 32, 3, 3, 1, 1, 1},
        {4, 272, 32, 32, 272, 32, 32, 3, 3, 1, 1, 1}, {4, 4, 4, 32, 4, 4, 32, 3, 3, 1, 7, 1},
    };
    const pod_conv_kernel *kernel = pod_conv_find("amx_dw_lines");
    for (int i = 0; kernel && i < N_OF(others); i++) {
        const pod_conv_call call = {
            .shape = others[i], .pass = POD_CONV_WEIGHT_GRAD, .dtype = POD_BF16};
        CU_ASSERT_PTR_NOT_NULL(kernel->why_not(&call));
    }
}

static CU_TestInfo dw_tests[] = {
    {"dw_keeps_within_the_bound", dw_keeps_within_the_bound},
    {"dw_is_exact_on_whole_numbers", dw_is_exact_on_whole_numbers},
    {"dw_passes_on_what_is_not_finite", dw_passes_on_what_is_not_finite},
    {"dw_refuses_the_other_passes", dw_refuses_the_other_passes},
    {"dw_by_lines_refuses_what_it_is_not_for", dw_by_lines_refuses_what_it_is_not_for},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {.pName = "conv_dw", .pTests = dw_tests},
    CU_SUITE_INFO_NULL,
};
