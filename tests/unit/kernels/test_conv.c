/* kernels/conv: every kernel of the table, all passes, against sums in double that go over
 * y[n,p,q,k] += x[...] w[...] in one loop; and the passes against each other. */
#include <math.h>
#include <stdlib.h>

#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"
#include "kernels/conv/conv.h"
#include "tests/harness/harness.h"

#define N_OF(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* n h w c, p q k, r s, stride pad_h pad_w */
static const pod_conv_shape shapes[] = {
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0},       /* one number */
    {2, 8, 8, 16, 8, 8, 16, 3, 3, 1, 1, 1},     /* the layer of ResNet-20 */
    {3, 7, 7, 8, 7, 7, 24, 3, 3, 1, 1, 1},      /* several images a panel */
    {2, 9, 9, 5, 5, 5, 7, 3, 3, 2, 1, 1},       /* stride 2, odd everything */
    {2, 8, 8, 4, 4, 4, 6, 3, 3, 2, 0, 0},       /* stride 2, "same": zeros only behind */
    {1, 12, 10, 3, 6, 5, 9, 7, 7, 2, 3, 3},     /* the first layer of ResNet-50 */
    {2, 11, 6, 1, 11, 6, 5, 3, 3, 1, 1, 1},     /* one channel */
    {2, 5, 9, 3, 4, 7, 2, 2, 5, 1, 0, 1},       /* flat filter, flat image */
    {1, 10, 10, 2, 4, 4, 3, 2, 2, 3, 1, 1},     /* stride longer than the filter: pixels unseen */
    {2, 6, 6, 3, 3, 3, 4, 3, 3, 1, 0, 0},       /* fewer windows than fit */
    {1, 4, 4, 2, 7, 6, 3, 3, 3, 1, 2, 1},       /* more windows than the image has pixels */
    {1, 3, 3, 2, 5, 5, 3, 3, 3, 2, 4, 4},       /* windows wholly outside */
    {1, 5, 5, 2, 3, 3, 3, 3, 3, 3, 0, 2},       /* stride 3 */
    {1, 3, 70, 4, 3, 70, 3, 3, 3, 1, 1, 1},     /* long lines */
    {2, 2, 2, 3, 2, 2, 130, 5, 5, 1, 2, 2},     /* filter larger than the image, many filters */
    {1, 1, 5000, 1, 1, 4998, 2, 1, 3, 1, 0, 0}, /* a line longer than a panel */
    {6, 14, 14, 32, 14, 14, 17, 3, 3, 1, 1, 1}, /* several panels */
    {3, 6, 5, 20, 6, 5, 17, 1, 1, 1, 0, 0},     /* 1x1 */
    {3, 9, 7, 20, 5, 4, 6, 1, 1, 2, 0, 0},      /* 1x1, stride 2 */
    {40, 9, 9, 80, 3, 3, 10, 1, 1, 3, 0, 0},    /* 1x1, stride 3, several panels in bfloat16 */
    {70, 7, 8, 300, 3, 4, 4, 1, 1, 2, 0, 0},    /* 1x1, stride 2, several panels */
    {2, 4, 4, 3, 6, 6, 5, 1, 1, 1, 1, 1},       /* 1x1 with padding */
    {2, 6, 6, 3, 4, 5, 5, 1, 1, 1, 0, 0},       /* 1x1, not every pixel */
    {16, 6, 6, 32, 6, 6, 33, 3, 3, 1, 1, 1},    /* as many images as a tile has rows */
    {15, 4, 4, 64, 4, 4, 31, 3, 3, 1, 1, 1},    /* one less */
    {33, 5, 4, 32, 3, 2, 40, 3, 3, 2, 1, 1},    /* two tiles and one more, stride 2 */
    {31, 3, 3, 32, 3, 3, 32, 3, 3, 1, 1, 1},    /* one less than two */
    {16, 7, 7, 16, 4, 4, 32, 3, 3, 2, 1, 1},    /* half a step of the depth */
    {2, 9, 9, 15, 9, 9, 17, 3, 3, 1, 1, 1},     /* one less, one more */
    {2, 5, 17, 16, 5, 17, 33, 3, 3, 1, 1, 1},   /* 16 channels: a tile and a pixel a line */
    {3, 9, 31, 16, 9, 31, 15, 5, 5, 1, 2, 2},   /* two tiles less a pixel, five rows */
    {2, 6, 32, 16, 5, 33, 16, 2, 2, 1, 0, 1},   /* two rows */
    {2, 7, 33, 33, 9, 31, 16, 3, 3, 1, 2, 0},   /* 16 channels of dy */
    {2, 40, 16, 16, 20, 8, 17, 3, 3, 2, 1, 1},  /* stride 2, several blocks */
    {1, 9, 300, 16, 9, 300, 1, 3, 3, 1, 1, 1},  /* a line longer than the first cache */
    {2, 4, 1, 16, 6, 1, 16, 3, 3, 1, 2, 1},     /* a pixel a line */
    {1, 3, 3, 16, 8, 9, 16, 2, 3, 1, 3, 5},     /* windows wholly outside */
    {2, 5, 17, 24, 5, 17, 24, 5, 5, 1, 2, 2},   /* a tile and a pixel a line */
    {1, 5, 31, 40, 5, 31, 33, 3, 3, 1, 1, 1},   /* two tiles less a pixel */
    {16, 9, 9, 3, 5, 5, 16, 7, 7, 2, 3, 3},     /* few channels, many images */
    {5, 7, 7, 64, 7, 7, 64, 1, 1, 1, 0, 0},     /* 1x1, where it lies */
    {8, 3, 4, 16, 3, 4, 17, 3, 3, 1, 1, 1},     /* lines that fill tiles of pixels */
    {5, 4, 7, 33, 4, 7, 16, 3, 3, 1, 1, 1},     /* an odd one, two images a tile */
    {3, 2, 10, 32, 2, 10, 32, 3, 3, 1, 1, 1},   /* three */
    {4, 2, 8, 16, 2, 8, 16, 3, 3, 1, 1, 1},     /* four */
    {2, 3, 14, 16, 4, 13, 24, 3, 3, 1, 1, 0},   /* borders that differ */
    {1, 4, 28, 18, 3, 29, 16, 3, 3, 1, 0, 1},   /* the same, the other way */
    {1, 2, 50, 16, 2, 50, 16, 3, 3, 1, 1, 1},   /* a line in two pieces */
    {3, 7, 32, 16, 7, 32, 16, 3, 3, 1, 1, 1},   /* two pixels a row of a tile */
    {2, 6, 32, 16, 6, 32, 16, 3, 3, 1, 1, 1},   /* two lines as well */
    {3, 2, 32, 16, 2, 32, 16, 3, 3, 1, 1, 1},   /* an image is two lines */
    {2, 5, 47, 16, 5, 47, 16, 3, 3, 1, 1, 1},   /* the last one half */
    {2, 9, 33, 16, 5, 17, 32, 3, 3, 2, 1, 1},   /* stride 2 */
    {3, 6, 32, 3, 6, 32, 16, 3, 3, 1, 1, 1},    /* windows folded into pixels */
    {2, 7, 7, 64, 7, 7, 96, 1, 1, 1, 0, 0},     /* 1x1, panels of 32 pixels and two more */
    {1, 8, 12, 160, 8, 12, 33, 1, 1, 1, 0, 0},  /* whole panels, a column beyond a strip */
    {3, 9, 1, 2048, 9, 1, 40, 1, 1, 1, 0, 0},   /* a page apart, less than a panel */
    {3, 11, 1, 992, 11, 1, 520, 1, 1, 1, 0, 0}, /* more weights than a block */
    {2, 5, 16, 32, 5, 16, 32, 3, 3, 1, 1, 1},   /* whole chunks of channels: a tile a line */
    {3, 9, 8, 64, 9, 8, 32, 3, 3, 1, 1, 1},     /* two images a tile, an odd one */
    {5, 6, 14, 32, 6, 14, 64, 3, 3, 1, 1, 1},   /* eight, of which three are not there */
    {17, 7, 7, 32, 7, 7, 32, 3, 3, 1, 1, 1},    /* 16 and one more */
    {1, 11, 17, 32, 11, 17, 32, 3, 3, 1, 1, 1}, /* a tile and a pixel a line */
    {2, 30, 15, 32, 30, 15, 32, 3, 3, 1, 1, 1}, /* a pixel less, many lines */
    {1, 9, 33, 96, 8, 31, 64, 5, 5, 1, 1, 1},   /* long windows */
    {2, 6, 48, 128, 6, 48, 32, 3, 3, 1, 1, 1},  /* a strip larger than the first cache */
    {2, 4, 6, 64, 9, 9, 64, 2, 3, 1, 3, 2},     /* windows wholly outside */
    {2, 15, 16, 32, 8, 8, 64, 3, 3, 2, 1, 1},   /* stride 2 */
    {1, 12, 13, 32, 6, 6, 32, 2, 2, 2, 0, 0},   /* windows side by side */
    {2, 9, 40, 32, 9, 38, 32, 1, 3, 1, 0, 0},   /* one row */
    {1, 10, 10, 32, 4, 5, 32, 1, 2, 2, 0, 0},   /* rows that no window sees */
    {2, 6, 6, 512, 6, 6, 224, 3, 3, 1, 1, 1},   /* filters that fill the second cache */
    {3, 5, 5, 17, 5, 5, 17, 3, 3, 1, 1, 1},     /* a window's row is an odd number of values, */
    {1, 7, 6, 1, 7, 6, 3, 3, 3, 1, 1, 1},       /* of one channel, */
    {1, 7, 6, 3, 4, 3, 1, 5, 5, 2, 2, 2},       /* to one filter; or an even number */
    {3, 5, 7, 3, 5, 6, 5, 2, 2, 1, 1, 0},       /* of pixels with an odd one */
    {3, 4, 2, 16, 4, 2, 7, 3, 3, 1, 1, 1},      /* two windows a line, few filters */
    {2, 6, 14, 3, 3, 6, 9, 2, 6, 2, 0, 1},      /* a window as long as three steps */
    {1, 3, 9, 2048, 2, 5, 16, 1, 1, 2, 0, 0},   /* pixels whole pages apart */
    {2, 9, 12, 16, 5, 6, 24, 5, 5, 2, 2, 2},    /* the first window of a line lacks two columns */
    {2, 5, 11, 32, 3, 6, 48, 5, 5, 2, 2, 2},    /* the last one as well */
    {2, 3, 4, 16, 2, 3, 16, 1, 2, 2, 0, 2},     /* the first one all of them */
    {3, 8, 1, 64, 8, 1, 32, 3, 3, 1, 1, 1},     /* the only one lacks both sides */
    {0, 8, 8, 32, 8, 8, 32, 3, 3, 1, 1, 1},     /* no image */
    {0, 8, 8, 4, 8, 8, 4, 3, 3, 1, 1, 1},       {0, 8, 8, 4, 4, 4, 4, 1, 1, 2, 0, 0},
    {0, 8, 8, 4, 8, 8, 4, 1, 1, 1, 0, 0},
};

static const char *const pass_names[POD_N_CONV_PASSES] = {"forward", "input grad", "weight grad"};

typedef struct tensor {
    int64_t count;
    pod_dtype type;
    void *data;
    double *value; /* the same in double; for a result, the sum worked out */
    double *sum_abs;
} tensor;

static tensor tensor_of(int64_t count, pod_dtype type)
{
    tensor t = {.count = count, .type = type};
    t.data = pod_test_guard((size_t)count * pod_dtype_bytes(type));
    t.value = calloc((size_t)count + 1, sizeof *t.value);
    t.sum_abs = calloc((size_t)count + 1, sizeof *t.sum_abs);
    POD_ASSERT(t.value && t.sum_abs, "no memory for %lld numbers", (long long)count);
    return t;
}

static void tensor_end(tensor *t)
{
    pod_test_guard_free(t->data, (size_t)t->count * pod_dtype_bytes(t->type));
    free(t->value);
    free(t->sum_abs);
}

static void read_values(tensor *t)
{
    for (int64_t i = 0; i < t->count; i++) t->value[i] = pod_test_get(t->type, t->data, i);
}

static void fill(tensor *t, uint64_t seed, bool exact)
{
    if (exact)
        pod_test_fill_exact(seed, t->count, 3, t->type, t->data);
    else
        pod_test_fill(seed, t->count, t->type, t->data);
    read_values(t);
}

/* One convolution's tensors: x w dy given, y dx dw worked out. */
typedef struct trial {
    pod_conv_shape shape;
    pod_dtype type;
    tensor x, w, dy, y, dx, dw;
} trial;

static trial trial_of(pod_conv_shape s, pod_dtype type)
{
    const int64_t x = s.n * s.h * s.w * s.c, y = s.n * s.p * s.q * s.k, w = s.k * s.r * s.s * s.c;
    return (trial){.shape = s,
                   .type = type,
                   .x = tensor_of(x, type),
                   .w = tensor_of(w, type),
                   .dy = tensor_of(y, type),
                   .y = tensor_of(y, type),
                   .dx = tensor_of(x, type),
                   .dw = tensor_of(w, POD_F32)};
}

static void trial_end(trial *t)
{
    tensor *const all[] = {&t->x, &t->w, &t->dy, &t->y, &t->dx, &t->dw};
    for (int i = 0; i < N_OF(all); i++) tensor_end(all[i]);
}

static void add(tensor *t, int64_t at, double term)
{
    t->value[at] += term;
    t->sum_abs[at] += fabs(term);
}

/* One window at one tap: what it gives to each of the three results. */
static void add_tap(trial *t, int64_t x0, int64_t w0, int64_t y0)
{
    const pod_conv_shape s = t->shape;
    const int64_t filter = s.r * s.s * s.c;
    for (int64_t k = 0; k < s.k; k++)
        for (int64_t c = 0; c < s.c; c++) {
            const double x = t->x.value[x0 + c], w = t->w.value[w0 + k * filter + c];
            const double dy = t->dy.value[y0 + k];
            add(&t->y, y0 + k, x * w);
            add(&t->dx, x0 + c, dy * w);
            add(&t->dw, w0 + k * filter + c, x * dy);
        }
}

static void work_out(trial *t)
{
    const pod_conv_shape s = t->shape;
    for (int64_t row = 0; row < s.n * s.p * s.q; row++)
        for (int64_t tap = 0; tap < s.r * s.s; tap++) {
            const int64_t n = row / s.q / s.p, p = row / s.q % s.p, q = row % s.q;
            const int64_t h = p * s.stride - s.pad_h + tap / s.s;
            const int64_t w = q * s.stride - s.pad_w + tap % s.s;
            if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
            add_tap(t, ((n * s.h + h) * s.w + w) * s.c, tap * s.c, row * s.k);
        }
}

static pod_conv_call call_of(const trial *t, pod_conv_pass pass)
{
    const tensor *const a[] = {&t->x, &t->dy, &t->x}, *const b[] = {&t->w, &t->w, &t->dy};
    const tensor *const out[] = {&t->y, &t->dx, &t->dw};
    return (pod_conv_call){.shape = t->shape,
                           .pass = pass,
                           .dtype = t->type,
                           .a = a[pass]->data,
                           .b = b[pass]->data,
                           .out = out[pass]->data};
}

static tensor *result_of(trial *t, pod_conv_pass pass)
{
    tensor *const out[] = {&t->y, &t->dx, &t->dw};
    return out[pass];
}

static int64_t n_terms(const pod_conv_shape *s, pod_conv_pass pass)
{
    const int64_t n[] = {s->r * s->s * s->c, s->r * s->s * s->k, s->n * s->p * s->q};
    return n[pass];
}

/* Fills the result with NaN, so that what the kernel leaves out shows. */
static void run(const pod_conv_kernel *kernel, trial *t, pod_conv_pass pass)
{
    const pod_conv_call call = call_of(t, pass);
    const tensor *out = result_of(t, pass);
    const size_t bytes = (kernel->scratch_bytes(&call) + 63) / 64 * 64;
    void *scratch = pod_test_guard(bytes);
    memset(out->data, 0xff, (size_t)out->count * pod_dtype_bytes(out->type));
    const pod_conv_shape at = call.shape;
    pod_test_doing("conv %s pass %d, %lldx%lldx%lldx%lld, %lld filters of %lldx%lld", kernel->name,
                   (int)call.pass, (long long)at.n, (long long)at.h, (long long)at.w,
                   (long long)at.c, (long long)at.k, (long long)at.r, (long long)at.s);
    kernel->run(&call, scratch);
    pod_test_guard_free(scratch, bytes);
}

static void compare(const pod_conv_kernel *kernel, trial *t, pod_conv_pass pass, bool exact)
{
    const pod_conv_shape s = t->shape;
    tensor *out = result_of(t, pass);
    char what[160];
    snprintf(
        what, sizeof what,
        "%s %s %s n%lld h%lld w%lld c%lld p%lld q%lld k%lld r%lld s%lld stride%lld pad%lld,%lld",
        kernel->name, pass_names[pass], pod_dtype_name(t->type), (long long)s.n, (long long)s.h,
        (long long)s.w, (long long)s.c, (long long)s.p, (long long)s.q, (long long)s.k,
        (long long)s.r, (long long)s.s, (long long)s.stride, (long long)s.pad_h,
        (long long)s.pad_w);
    int64_t n_wrong = 0;
    for (int64_t i = 0; i < out->count; i++) {
        const double got = pod_test_get(out->type, out->data, i);
        double want = out->value[i], bound = 0.0;
        if (!exact)
            bound = pod_test_bound_dot(n_terms(&s, pass), out->sum_abs[i], want, out->type);
        else if (out->type == POD_BF16)
            want = (double)pod_bf16_to_f32(pod_bf16_from_f32((float)want));
        n_wrong += !pod_test_near(got, want, bound);
    }
    POD_CHECK(n_wrong == 0, "%s: %lld of %lld differ", what, (long long)n_wrong,
              (long long)out->count);
}

/* How often each kernel ran, so that one which refuses everything is found out. */
static int try_kernel(const pod_conv_kernel *kernel, trial *t, bool exact)
{
    int n_runs = 0;
    for (int pass = 0; pass < POD_N_CONV_PASSES; pass++) {
        const pod_conv_call call = call_of(t, (pod_conv_pass)pass);
        POD_CHECK_OK(pod_conv_check(&call));
        if (kernel->why_not(&call)) continue;
        run(kernel, t, (pod_conv_pass)pass);
        compare(kernel, t, (pod_conv_pass)pass, exact);
        n_runs++;
    }
    return n_runs;
}

static void try_shapes(bool exact)
{
    static const pod_dtype types[] = {POD_F32, POD_BF16};
    int n_kernels, n_cases = 0;
    const pod_conv_kernel *kernels = pod_conv_kernels(&n_kernels);
    int *n_runs = calloc((size_t)n_kernels, sizeof *n_runs);
    POD_ASSERT(n_runs != NULL, "no memory for %d counts", n_kernels);
    for (int s = 0; s < N_OF(shapes); s++)
        for (int type = 0; type < N_OF(types); type++) {
            if (n_cases++ % POD_TEST_EVERY) continue;
            trial t = trial_of(shapes[s], types[type]);
            fill(&t.x, (uint64_t)s * 10 + 1, exact);
            fill(&t.w, (uint64_t)s * 10 + 2, exact);
            fill(&t.dy, (uint64_t)s * 10 + 3, exact);
            work_out(&t);
            for (int i = 0; i < n_kernels; i++)
                if (pod_test_tries(kernels[i].needs))
                    n_runs[i] += try_kernel(&kernels[i], &t, exact);
            trial_end(&t);
        }
    for (int i = 0; i < n_kernels; i++) {
        if (pod_test_tries(kernels[i].needs))
            POD_CHECK(POD_TEST_EVERY > 1 || n_runs[i] >= 12, "%s: ran %d times only",
                      kernels[i].name, n_runs[i]);
        else if (kernels[i].needs & ~pod_cpu_features())
            pod_test_skip(kernels[i].name, "this CPU lacks what it needs");
    }
    free(n_runs);
}

static void conv_keeps_within_the_bound(void) { try_shapes(false); }
static void conv_is_exact_on_whole_numbers(void) { try_shapes(true); }

static double inner_product(const tensor *a, const tensor *b)
{
    double sum = 0.0;
    for (int64_t i = 0; i < a->count; i++) sum += a->value[i] * b->value[i];
    return sum;
}

/* <conv(x, w), dy> = <x, input grad(dy, w)> = <w, weight grad(x, dy)>, in whole numbers below 2^24,
 * where nothing is rounded. */
static void conv_passes_are_adjoint(void)
{
    int n_kernels;
    const pod_conv_kernel *kernels = pod_conv_kernels(&n_kernels);
    for (int s = 0; s < N_OF(shapes); s += POD_TEST_EVERY)
        for (int i = 0; i < n_kernels; i++) {
            trial t = trial_of(shapes[s], POD_F32);
            const pod_conv_call call = call_of(&t, POD_CONV_FORWARD);
            const bool runs = pod_test_tries(kernels[i].needs);
            if (runs && !kernels[i].why_not(&call)) {
                fill(&t.x, (uint64_t)s + 100, true);
                fill(&t.w, (uint64_t)s + 200, true);
                fill(&t.dy, (uint64_t)s + 300, true);
                for (int pass = 0; pass < POD_N_CONV_PASSES; pass++) {
                    run(&kernels[i], &t, (pod_conv_pass)pass);
                    read_values(result_of(&t, (pod_conv_pass)pass));
                }
                const double y = inner_product(&t.y, &t.dy), dx = inner_product(&t.x, &t.dx);
                const double dw = inner_product(&t.w, &t.dw);
                POD_CHECK(pod_test_near(y, dx, 0.0) && pod_test_near(y, dw, 0.0),
                          "%s, shape %d: <y,dy> %.0f, <x,dx> %.0f, <w,dw> %.0f", kernels[i].name, s,
                          y, dx, dw);
            }
            trial_end(&t);
        }
}

/* A value that is not finite in one pixel of an input reaches the results that the pixel reaches,
 * and no others. Weights are left out: the zeros round the image may or may not meet them. */
static void poison_spreads(const pod_conv_kernel *kernel, pod_dtype type, pod_conv_pass pass,
                           double value)
{
    trial t = trial_of(shapes[1], type);
    fill(&t.x, 1, true);
    fill(&t.w, 2, true);
    fill(&t.dy, 3, true);
    tensor *poisoned = pass == POD_CONV_INPUT_GRAD ? &t.dy : &t.x;
    const int64_t at = poisoned->count / 3;
    for (int64_t i = 0; i < t.w.count; i++) pod_test_put(type, t.w.data, i, 1.0);
    for (int64_t i = 0; i < t.dy.count; i++)
        if (pass == POD_CONV_WEIGHT_GRAD) pod_test_put(type, t.dy.data, i, 1.0);
    pod_test_put(type, poisoned->data, at, value);
    read_values(&t.w), read_values(&t.dy), read_values(&t.x);
    work_out(&t);
    run(kernel, &t, pass);
    compare(kernel, &t, pass, true);
    int64_t n_poisoned = 0;
    const tensor *out = result_of(&t, pass);
    for (int64_t i = 0; i < out->count; i++) n_poisoned += !isfinite(out->value[i]);
    POD_CHECK(n_poisoned > 0 && n_poisoned < out->count, "%lld of %lld", (long long)n_poisoned,
              (long long)out->count);
    trial_end(&t);
}

static void conv_passes_on_what_is_not_finite(void)
{
    static const pod_dtype types[] = {POD_F32, POD_BF16};
    int n_kernels;
    const pod_conv_kernel *kernels = pod_conv_kernels(&n_kernels);
    for (int i = 0; i < n_kernels; i++) {
        trial t = trial_of(shapes[1], POD_F32);
        const pod_conv_call call = call_of(&t, POD_CONV_FORWARD);
        const bool runs = pod_test_tries(kernels[i].needs) && !kernels[i].why_not(&call);
        trial_end(&t);
        for (int variant = 0; runs && variant < 2 * POD_N_CONV_PASSES; variant++) {
            poison_spreads(&kernels[i], types[variant % 2], (pod_conv_pass)(variant / 2),
                           (double)NAN);
            poison_spreads(&kernels[i], types[variant % 2], (pod_conv_pass)(variant / 2),
                           -(double)INFINITY);
        }
    }
}

static void conv_check_refuses(void)
{
    const pod_conv_call good = {.shape = shapes[1]};
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
    pod_conv_call call = {.shape = shapes[1]};
    CU_ASSERT_STRING_EQUAL(pod_conv_pick(&(pod_choice){.cpu = 0}, &call)->name, "gemm");
    CU_ASSERT_STRING_EQUAL(pod_conv_pick(&(pod_choice){.cpu = POD_CPU_REFERENCE_ONLY}, &call)->name,
                           "ref");
    call.shape = (pod_conv_shape){3, 9, 7, 20, 5, 4, 6, 1, 1, 2, 0, 0};
    CU_ASSERT_STRING_EQUAL(pod_conv_pick(&(pod_choice){.cpu = 0}, &call)->name, "gemm_1x1");
    call.shape.s = INT64_C(1) << 31;
    CU_ASSERT_STRING_EQUAL(pod_conv_pick(&(pod_choice){.cpu = 0}, &call)->name, "ref");
    CU_ASSERT_PTR_NULL(pod_conv_find("no such kernel"));
    CU_ASSERT_STRING_EQUAL(pod_conv_find("gemm_1x1")->name, "gemm_1x1");
    if (!(pod_cpu_features() & POD_CPU_AVX512)) {
        pod_test_skip("direct_avx512 is picked", "this CPU lacks avx512");
        return;
    }
    const pod_choice avx512 = {.cpu = POD_CPU_AVX2 | POD_CPU_AVX512};
    for (int pass = 0; pass < POD_N_CONV_PASSES; pass++) {
        call = (pod_conv_call){.shape = shapes[1], .pass = (pod_conv_pass)pass};
        CU_ASSERT_STRING_EQUAL(pod_conv_pick(&avx512, &call)->name, "direct_avx512");
    }
    if (!(pod_cpu_features() & POD_CPU_AVX512_BF16)) {
        pod_test_skip("direct_avx512_bf16 is picked", "this CPU lacks avx512_bf16");
        return;
    }
    const pod_choice bf16 = {.cpu = avx512.cpu | POD_CPU_AVX512_BF16};
    for (int pass = 0; pass < POD_N_CONV_PASSES; pass++) {
        call = (pod_conv_call){.shape = shapes[1], .pass = (pod_conv_pass)pass};
        CU_ASSERT_STRING_EQUAL(pod_conv_pick(&bf16, &call)->name, "direct_avx512");
        call.dtype = POD_BF16;
        CU_ASSERT_STRING_EQUAL(pod_conv_pick(&bf16, &call)->name, "direct_avx512_bf16");
    }
}

/* Lines of few windows, and channels that fill no vectors: OpenBLAS is faster. */
static void conv_direct_refuses_what_it_is_slow_at(void)
{
    const pod_conv_kernel *kernel = pod_conv_find("direct_avx512");
    if (!kernel || pod_cpu_why_not(kernel->needs)) {
        pod_test_skip("direct_avx512", "this CPU lacks what it needs");
        return;
    }
    pod_conv_call call = {.shape = {8, 3, 3, 64, 3, 3, 64, 3, 3, 1, 1, 1}};
    CU_ASSERT_PTR_NOT_NULL(kernel->why_not(&call));
    call.pass = POD_CONV_WEIGHT_GRAD;
    CU_ASSERT_PTR_NULL(kernel->why_not(&call));
    call.shape = (pod_conv_shape){8, 3, 3, 24, 3, 3, 64, 1, 1, 1, 0, 0};
    CU_ASSERT_PTR_NOT_NULL(kernel->why_not(&call));
    call.pass = POD_CONV_FORWARD;
    CU_ASSERT_PTR_NULL(kernel->why_not(&call));
}

/* With pairs of bfloat16 it is slow at less. */
static void conv_direct_in_pairs_refuses_what_it_is_slow_at(void)
{
    const pod_conv_kernel *kernel = pod_conv_find("direct_avx512_bf16");
    if (!kernel || pod_cpu_why_not(kernel->needs)) {
        pod_test_skip("direct_avx512_bf16", "this CPU lacks what it needs");
        return;
    }
    pod_conv_call call = {.shape = {8, 2, 2, 64, 2, 2, 64, 3, 3, 1, 1, 1}};
    CU_ASSERT_PTR_NOT_NULL(kernel->why_not(&call)); /* float32 */
    call.dtype = POD_BF16;
    CU_ASSERT_PTR_NULL(kernel->why_not(&call));
    call.shape = (pod_conv_shape){8, 2, 1, 64, 2, 1, 64, 3, 3, 1, 1, 1};
    CU_ASSERT_PTR_NOT_NULL(kernel->why_not(&call));
    call.shape = (pod_conv_shape){8, 1, 1, 64, 1, 1, 64, 1, 1, 1, 0, 0};
    CU_ASSERT_PTR_NULL(kernel->why_not(&call));
    call.pass = POD_CONV_WEIGHT_GRAD;
    CU_ASSERT_PTR_NULL(kernel->why_not(&call));
    call.shape.c = 20;
    CU_ASSERT_PTR_NULL(kernel->why_not(&call));
    call.shape.c = 8;
    CU_ASSERT_PTR_NOT_NULL(kernel->why_not(&call));
    call.shape = (pod_conv_shape){7, 1, 1, 64, 1, 1, 64, 1, 1, 1, 0, 0};
    CU_ASSERT_PTR_NOT_NULL(kernel->why_not(&call));
}

/* The first layer of ResNet-50 at 224x224: 118 million multiply-adds (He et al. 2015, table 1). */
static void conv_flops_count_multiply_adds_twice(void)
{
    const pod_conv_shape first = {1, 224, 224, 3, 112, 112, 64, 7, 7, 2, 3, 3};
    CU_ASSERT_EQUAL(pod_conv_flops(&first), 2.0 * 118013952.0);
}

static CU_TestInfo conv_tests[] = {
    {"conv_keeps_within_the_bound", conv_keeps_within_the_bound},
    {"conv_is_exact_on_whole_numbers", conv_is_exact_on_whole_numbers},
    {"conv_passes_are_adjoint", conv_passes_are_adjoint},
    {"conv_passes_on_what_is_not_finite", conv_passes_on_what_is_not_finite},
    {"conv_check_refuses", conv_check_refuses},
    {"conv_pick_takes_the_best", conv_pick_takes_the_best},
    {"conv_direct_refuses_what_it_is_slow_at", conv_direct_refuses_what_it_is_slow_at},
    {"conv_direct_in_pairs_refuses_what_it_is_slow_at",
     conv_direct_in_pairs_refuses_what_it_is_slow_at},
    {"conv_flops_count_multiply_adds_twice", conv_flops_count_multiply_adds_twice},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {.pName = "conv", .pTests = conv_tests},
    CU_SUITE_INFO_NULL,
};
