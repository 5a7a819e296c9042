/* Pooling: the reference against plain scans in double that go the other way round (each window
 * hands its gradient out), every set against the reference bit by bit. */
#include <stdlib.h>

#include "kernels/pool/pool.h"
#include "tests/unit/kernels/kernel_test.h"

static const pod_pool *reference(void) { return pod_pool_pick(POD_CPU_REFERENCE_ONLY); }

static const struct {
    int64_t n, h, w, window, stride, pad;
} geometries[] = {
    {2, 8, 8, 2, 2, 0},   {2, 9, 7, 3, 2, 1}, {1, 6, 6, 3, 1, 1},   {1, 5, 7, 1, 1, 0},
    {1, 7, 7, 7, 7, 0},   {2, 5, 5, 3, 3, 0}, {1, 4, 9, 2, 3, 0},   {0, 8, 8, 2, 2, 0},
    {1, 3, 300, 3, 2, 1}, {1, 9, 9, 8, 1, 4}, {1, 10, 10, 9, 2, 4},
};
enum { N_GEOMETRIES = sizeof geometries / sizeof geometries[0] };

static pod_pool_shape shape_of(int g, int64_t c)
{
    const int64_t window = geometries[g].window, stride = geometries[g].stride;
    const int64_t pad = geometries[g].pad, h = geometries[g].h, w = geometries[g].w;
    return (pod_pool_shape){.n = geometries[g].n,
                            .h = h,
                            .w = w,
                            .c = c,
                            .p = (h + 2 * pad - window) / stride + 1,
                            .q = (w + 2 * pad - window) / stride + 1,
                            .window = window,
                            .stride = stride,
                            .pad = pad};
}

static int64_t count_in(const pod_pool_shape *s) { return s->n * s->h * s->w * s->c; }
static int64_t count_out(const pod_pool_shape *s) { return s->n * s->p * s->q * s->c; }

/* Where the window of output element i has its first maximum. */
static int64_t first_max(const pod_pool_shape *s, const tensor *x, int64_t i)
{
    const int64_t j = i % s->c, q = i / s->c % s->q, p = i / (s->c * s->q) % s->p;
    const int64_t image = i / (s->c * s->q * s->p);
    int64_t best = -1;
    for (int64_t at = 0; at < s->window * s->window; at++) {
        const int64_t h = p * s->stride - s->pad + at / s->window;
        const int64_t w = q * s->stride - s->pad + at % s->window;
        if (h < 0 || h >= s->h || w < 0 || w >= s->w) continue;
        const int64_t place = ((image * s->h + h) * s->w + w) * s->c + j;
        const double v = tensor_get(x, place);
        if (best < 0) {
            best = place;
            continue;
        }
        const double held = tensor_get(x, best);
        if (!isnan(held) && (isnan(v) || v > held)) best = place;
    }
    return best;
}

/* The reference, whose results are `got` and `got_dx`, against scans. */
static void check_reference(const pod_pool_shape *s, const tensor *x, const tensor *dy,
                            const tensor *got, const tensor *got_dx)
{
    const int64_t n_in = count_in(s), n_out = count_out(s);
    double *y = calloc((size_t)(n_out + 2 * n_in + 1), sizeof *y);
    double *dx = y + n_out, *bound = dx + n_in;
    for (int64_t i = 0; i < n_out; i++) {
        const int64_t at = first_max(s, x, i);
        y[i] = tensor_get(x, at);
        dx[at] += tensor_get(dy, i);
        /* The partial sums that are rounded on the way are no larger than all terms together, and
         * a place is in as many windows as fit over it. */
        const double windows = ceil((double)s->window / (double)s->stride);
        bound[at] += fabs(tensor_get(dy, i)) * windows * windows;
    }
    for (int64_t i = 0; i < n_in; i++) bound[i] = bound_rounded(x->t, bound[i], dx[i]);
    tensor_check_near("max", got, y, NULL);
    tensor_check_near("max_grad", got_dx, dx, bound);
    free(y);
}

/* The reference, and every other set against it. */
static void check_max(const pod_pool_shape *s, const tensor *x, const tensor *dy,
                      bool with_reference)
{
    TENSOR want = tensor_new(x->t, count_out(s)), want_dx = tensor_new(x->t, count_in(s));
    reference()->max(s, x->t, x->data, want.data);
    reference()->max_grad(s, x->t, x->data, dy->data, want_dx.data);
    if (with_reference) check_reference(s, x, dy, &want, &want_dx);
    EACH_SET(pool, set) {
        if (set == reference()) continue;
        TENSOR y = tensor_new(x->t, count_out(s)), dx = tensor_new(x->t, count_in(s));
        set->max(s, x->t, x->data, y.data);
        tensor_check_same(set->name, &y, &want);
        set->max_grad(s, x->t, x->data, dy->data, dx.data);
        tensor_check_same(set->name, &dx, &want_dx);
    }
}

/* What is below 0 becomes 0, as in front of most poolings. */
static void let_through(tensor *x)
{
    for (int64_t i = 0; i < x->count; i++)
        if (tensor_get(x, i) < 0) pod_test_put(x->t, x->data, i, 0);
}

/* Numbers; then few whole ones, so that most windows have ties; then what is not a number; then
 * these again, with none below 0. */
static void test_max(void)
{
    enum { N_KINDS = 6, N_EACH = 2 * N_KINDS * 5 };
    const int64_t channels[] = {1, 3, 16, 20, 64};
    for (int i = 0; i < N_GEOMETRIES * N_EACH; i++) {
        const int kind = i % N_KINDS;
        const pod_dtype t = i / N_KINDS % 2 ? POD_BF16 : POD_F32;
        const pod_pool_shape s = shape_of(i / N_EACH, channels[i / (2 * N_KINDS) % 5]);
        TENSOR x = tensor_random((uint64_t)i, t, count_in(&s));
        TENSOR dy = tensor_random((uint64_t)i + 1000, t, count_out(&s));
        if (kind % 3 == 1) pod_test_fill_exact((uint64_t)i, x.count, 1, t, x.data);
        if (kind >= 3) let_through(&x);
        if (kind % 3 == 2) tensor_sprinkle(&x);
        check_max(&s, &x, &dy, true);
    }
}

/* So large that results go past the caches. */
static void test_large_max(void)
{
    const pod_pool_shape s = {.n = 1,
                              .h = 190,
                              .w = 190,
                              .c = 64,
                              .p = 190,
                              .q = 190,
                              .window = 3,
                              .stride = 1,
                              .pad = 1};
    TENSOR x = tensor_random(1, POD_BF16, count_in(&s));
    TENSOR dy = tensor_random(2, POD_BF16, count_out(&s));
    let_through(&x);
    check_max(&s, &x, &dy, false);
}

/* By hand: 3x3 windows, stride 2, pad 1 on 4x4 with the maximum of all windows shared.
 *
 *   0 0 0 0    The windows (0,0), (0,1), (1,0), (1,1) all see the place (1,1), which holds 7; only
 *   0 7 0 7    (0,1) and (1,1) see (1,3) too, and there (1,1) comes first. So (1,1) gets all four.
 *   0 0 0 0
 *   0 0 0 0 */
static void test_max_by_hand(void)
{
    const pod_pool_shape s = {
        .n = 1, .h = 4, .w = 4, .c = 1, .p = 2, .q = 2, .window = 3, .stride = 2, .pad = 1};
    const float x[16] = {[5] = 7, [7] = 7}, dy[4] = {1, 2, 4, 8};
    EACH_SET(pool, set) {
        float y[4], dx[16];
        set->max(&s, POD_F32, x, y);
        set->max_grad(&s, POD_F32, x, dy, dx);
        for (int j = 0; j < 4; j++) CU_ASSERT_EQUAL(y[j], 7);
        for (int j = 0; j < 16; j++) CU_ASSERT_EQUAL(dx[j], j == 5 ? 15 : 0);
    }
}

static void check_mean(int64_t n_images, int64_t hw, int64_t c, pod_dtype t)
{
    TENSOR x = tensor_random(1, t, n_images * hw * c), dy = tensor_random(2, t, n_images * c);
    TENSOR y = tensor_new(t, dy.count), dx = tensor_new(t, x.count);
    double *want = calloc((size_t)(2 * (dy.count + x.count) + 1), sizeof *want);
    double *bound = want + dy.count, *want_dx = bound + dy.count, *bound_dx = want_dx + x.count;
    for (int64_t i = 0; i < x.count; i++) {
        const int64_t at = i / (hw * c) * c + i % c;
        want[at] += tensor_get(&x, i) / (double)hw;
        bound[at] += fabs(tensor_get(&x, i)); /* hw roundings of a hw-th of the sum */
        want_dx[i] = tensor_get(&dy, at) / (double)hw;
        bound_dx[i] = bound_rounded(t, fabs(want_dx[i]), want_dx[i]);
    }
    for (int64_t i = 0; i < dy.count; i++) bound[i] = bound_rounded(t, bound[i], want[i]);
    EACH_SET(pool, set) {
        set->mean(n_images, hw, c, t, x.data, y.data);
        tensor_check_near(set->name, &y, want, bound);
        set->mean_grad(n_images, hw, c, t, dy.data, dx.data);
        tensor_check_near(set->name, &dx, want_dx, bound_dx);
        TENSOR same = tensor_new(t, y.count), same_dx = tensor_new(t, dx.count);
        reference()->mean(n_images, hw, c, t, x.data, same.data);
        reference()->mean_grad(n_images, hw, c, t, dy.data, same_dx.data);
        tensor_check_same(set->name, &y, &same);
        tensor_check_same(set->name, &dx, &same_dx);
    }
    free(want);
}

static void test_mean(void)
{
    const int64_t places[] = {1, 49, 64}, channels[] = {1, 3, 16, 20, 64, 100};
    for (size_t i = 0; i < 36; i++)
        check_mean(i % 4 == 3 ? 0 : 2, places[i % 3], channels[i / 3 % 6],
                   i < 18 ? POD_F32 : POD_BF16);
}

POD_TEST_SUITE("pool", {"max", test_max}, {"large_max", test_large_max},
               {"max_by_hand", test_max_by_hand}, {"mean", test_mean});
