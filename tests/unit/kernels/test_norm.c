/* Batch normalization: sums against double, what is elementwise against the reference bit by bit,
 * the reference against the formulas in double (whose gradient the operators' tests hold against finite
 * differences). */
#include <stdlib.h>

#include "kernels/base/simd/loop.h"
#include "kernels/norm/norm.h"
#include "tests/unit/kernels/kernel_test.h"

/* Roundings to float32 of one term of a sum: x - mean, the product, its way through the sum, the
 * scaling, the result. */
enum { ROUNDINGS = POD_SUM_CHAIN + 4 };

static const pod_norm *reference(void) { return pod_norm_pick(POD_CPU_REFERENCE_ONLY); }

/* Activations with a mean of their own in each column, and all that goes with them. */
typedef struct batch {
    int64_t rows, c;
    pod_norm_types t;
    double count;
    tensor x, dy, mean, rstd, gamma, beta, dgamma, dbeta;
} batch;

static tensor column(uint64_t seed, int64_t c, double low, double high)
{
    tensor v = tensor_random(seed, POD_F32, c);
    for (int64_t j = 0; j < c; j++)
        pod_test_put(POD_F32, v.data, j, low + (high - low) * (tensor_get(&v, j) + 1) / 2);
    return v;
}

static batch batch_make(int64_t rows, int64_t c, pod_norm_types t)
{
    batch b = {.rows = rows, .c = c, .t = t, .count = (double)(2 * rows + 1)};
    b.x = tensor_random(1, t.x, rows * c);
    b.dy = tensor_random(2, t.beside, rows * c);
    for (int64_t i = 0; i < rows * c; i++)
        pod_test_put(t.x, b.x.data, i, tensor_get(&b.x, i) + 0.25 * (double)(i % c % 5));
    b.mean = column(3, c, -0.2, 1.2);
    b.rstd = column(4, c, 0.5, 3);
    b.gamma = column(5, c, -2, 2);
    b.beta = column(6, c, -1, 1);
    b.dgamma = column(7, c, -5, 5);
    b.dbeta = column(8, c, -5, 5);
    return b;
}

static void batch_free(batch *b)
{
    tensor *all[] = {&b->x, &b->dy, &b->mean, &b->rstd, &b->gamma, &b->beta, &b->dgamma, &b->dbeta};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) tensor_free(all[i]);
}
#define BATCH __attribute__((cleanup(batch_free))) batch

/* The case, for a message. */
static const char *batch_name(const pod_norm *k, const char *what, const batch *b)
{
    return pod_test_text("%s %s %s %s %s (%lld, %lld)", k->name, what, pod_dtype_name(b->t.x),
                         pod_dtype_name(b->t.beside), pod_dtype_name(b->t.out), (long long)b->rows,
                         (long long)b->c);
}

static void apply(const pod_norm *k, const batch *b, void *y)
{
    k->apply(b->rows, b->c, b->t, b->x.data, b->mean.data, b->rstd.data, b->gamma.data,
             b->beta.data, y);
}

static void grad_apply(const pod_norm *k, const batch *b, void *dx)
{
    k->grad_apply(b->rows, b->c, b->count, b->t, b->x.data, b->dy.data, b->mean.data, b->rstd.data,
                  b->gamma.data, b->dgamma.data, b->dbeta.data, dx);
}

/* The types that kernels take: all alike, then those beside an x in bf16. */
static const pod_norm_types all_types[] = {{POD_F32, POD_F32, POD_F32},
                                           {POD_BF16, POD_BF16, POD_BF16},
                                           {POD_BF16, POD_F32, POD_F32},
                                           {POD_BF16, POD_F32, POD_BF16},
                                           {POD_BF16, POD_BF16, POD_F32}};
enum { N_TYPES = sizeof all_types / sizeof all_types[0] };

/* ---- sums ---------------------------------------------------------------------------------- */

/* Both sums of one call, against double. With a `gate` (of the batch's size), of the gradient
 * where that is above 0, and by grad_sums_act, which is shown it as z. */
static void check_sums(const pod_norm *k, const batch *b, bool grad, const tensor *gate)
{
    const int64_t c = b->c;
    double *want = calloc((size_t)(4 * c), sizeof *want), *bound = want + 2 * c;
    TENSOR plain = tensor_new(POD_F32, c), times = tensor_new(POD_F32, c);
    for (int64_t i = 0; i < b->rows * c; i++) {
        const int64_t j = i % c;
        const bool open = !gate || tensor_get(gate, i) > 0;
        const double x = tensor_get(&b->x, i), one = !grad ? x : open ? tensor_get(&b->dy, i) : 0;
        const double factor = grad ? tensor_get(&b->rstd, j) : 1;
        const double two = grad ? (x - tensor_get(&b->mean, j)) * factor : x;
        want[j] += one;
        want[c + j] += one * two;
        bound[j] += ROUNDINGS * pod_test_roundoff(POD_F32) * 1.001 * fabs(one);
        bound[c + j] += ROUNDINGS * pod_test_roundoff(POD_F32) * 1.001 * fabs(one * two);
    }
    if (gate)
        k->grad_sums_act(b->rows, c, b->t, b->x.data, b->dy.data, NULL, gate->data, NULL, NULL,
                         b->mean.data, b->rstd.data, POD_NORM_RELU, NULL, times.data, plain.data);
    else if (grad)
        k->grad_sums(b->rows, c, b->t, b->x.data, b->dy.data, b->mean.data, b->rstd.data,
                     times.data, plain.data);
    else
        k->sums(b->rows, c, b->t.x, b->x.data, plain.data, times.data);
    const char *name = batch_name(k, grad ? "grad_sums" : "sums", b);
    tensor_check_near(name, &plain, want, bound);
    tensor_check_near(name, &times, want + c, bound + c);
    free(want);
}

/* A float32 chain over these rows would be off by thousands of roundings. */
static void test_error_does_not_grow(void)
{
    enum { ROWS = 1000000 };
    BATCH b = batch_make(ROWS, 1, pod_norm_all(POD_F32));
    for (int i = 0; i < ROWS; i++) {
        pod_test_put(POD_F32, b.x.data, i, 0.1);
        pod_test_put(POD_F32, b.dy.data, i, 0.3);
    }
    EACH_SET(norm, set) {
        check_sums(set, &b, false, NULL);
        check_sums(set, &b, true, NULL);
    }
}

/* ---- what is elementwise ------------------------------------------------------------------- */

/* Over x, or dy, only where what comes out is of its type. */
static void check_same(const pod_norm *k, const batch *b)
{
    const char *name = batch_name(k, "apply or grad_apply", b);
    TENSOR want = tensor_new(b->t.out, b->rows * b->c), got = tensor_new(b->t.out, b->rows * b->c);
    batch twin = *b;
    apply(reference(), b, want.data);
    apply(k, b, got.data);
    tensor_check_same(name, &got, &want);
    if (b->t.x == b->t.out) {
        twin.x = tensor_copy(&b->x);
        apply(k, &twin, twin.x.data);
        tensor_check_same(name, &twin.x, &want);
        tensor_free(&twin.x);
    }
    grad_apply(reference(), b, want.data);
    grad_apply(k, b, got.data);
    tensor_check_same(name, &got, &want);
    if (b->t.beside == b->t.out) {
        twin.x = b->x;
        twin.dy = tensor_copy(&b->dy);
        grad_apply(k, &twin, twin.dy.data);
        tensor_check_same(name, &twin.dy, &want);
        tensor_free(&twin.dy);
    }
}

/* An x in bf16 counts as its copy in float32 does: the same sums, whatever the gradient is. */
static void check_sums_as_widened(const pod_norm *k, const batch *b)
{
    const char *name = batch_name(k, "sums of bf16", b);
    TENSOR x = tensor_new(POD_F32, b->x.count), dy = tensor_new(POD_F32, b->x.count);
    tensor sums[8];
    for (int i = 0; i < 8; i++) sums[i] = tensor_new(POD_F32, b->c);
    for (int64_t i = 0; i < x.count; i++) {
        pod_test_put(POD_F32, x.data, i, tensor_get(&b->x, i));
        pod_test_put(POD_F32, dy.data, i, tensor_get(&b->dy, i));
    }
    k->sums(b->rows, b->c, b->t.x, b->x.data, sums[0].data, sums[1].data);
    k->sums(b->rows, b->c, POD_F32, x.data, sums[2].data, sums[3].data);
    k->grad_sums(b->rows, b->c, b->t, b->x.data, b->dy.data, b->mean.data, b->rstd.data,
                 sums[4].data, sums[5].data);
    k->grad_sums(b->rows, b->c, pod_norm_all(POD_F32), x.data, dy.data, b->mean.data, b->rstd.data,
                 sums[6].data, sums[7].data);
    for (int i = 0; i < 2; i++) tensor_check_same(name, &sums[i], &sums[2 + i]);
    for (int i = 4; i < 6; i++) tensor_check_same(name, &sums[i], &sums[2 + i]);
    for (int i = 0; i < 8; i++) tensor_free(&sums[i]);
}

static void test_shapes(void)
{
    const int64_t columns[] = {1, 3, 16, 20, 64, 100, 1024, 1030};
    const int64_t rows[] = {0, 1, 2, 7, 50, 333};
    int n_cases = 0;
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        for (size_t r = 0; r < N_TYPES * sizeof rows / sizeof rows[0]; r++) {
            if (n_cases++ % POD_TEST_EVERY) continue;
            BATCH b = batch_make(rows[r / N_TYPES], columns[i], all_types[r % N_TYPES]);
            EACH_SET(norm, set) {
                check_sums(set, &b, false, NULL);
                check_sums(set, &b, true, NULL);
                check_sums_as_widened(set, &b);
                check_same(set, &b);
            }
        }
    }
}

/* The reference against the formulas of the header in double; with infinite count the statistics are
 * fixed: dx = gamma rstd dy. */
static void check_formulas(pod_norm_types types, bool fixed)
{
    enum { ROWS = 50, C = 20, N = ROWS * C };
    static double y[N], dx[N], y_bound[N], dx_bound[N];
    const pod_dtype t = types.out;
    BATCH b = batch_make(ROWS, C, types);
    if (fixed) b.count = (double)INFINITY;
    TENSOR got = tensor_new(t, N);
    for (int64_t i = 0; i < N; i++) {
        const int64_t j = i % C;
        const double x = tensor_get(&b.x, i) - tensor_get(&b.mean, j), dy = tensor_get(&b.dy, i);
        const double scale = tensor_get(&b.rstd, j) * tensor_get(&b.gamma, j);
        const double offset = tensor_get(&b.dbeta, j) / b.count;
        const double slope = tensor_get(&b.rstd, j) * tensor_get(&b.dgamma, j) / b.count;
        y[i] = x * scale + tensor_get(&b.beta, j);
        dx[i] = scale * (dy - offset - x * slope);
        /* x, scale and their product are rounded, then the sum. */
        y_bound[i] = bound_rounded(t, 3 * fabs(x * scale) + fabs(y[i]), y[i]);
        /* scale, of all terms; the coefficients along x and of the offset; the inner sum, dx. */
        const double along = tensor_get(&b.x, i) * scale * slope;
        const double apart = scale * (tensor_get(&b.mean, j) * slope - offset);
        const double terms = 2 * fabs(scale * dy) + 3 * fabs(apart) + 2 * fabs(along);
        dx_bound[i] = bound_rounded(t, terms + fabs(dx[i]), dx[i]);
    }
    apply(reference(), &b, got.data);
    tensor_check_near("apply", &got, y, y_bound);
    grad_apply(reference(), &b, got.data);
    tensor_check_near("grad_apply", &got, dx, dx_bound);
}

static void test_formulas(void)
{
    for (int i = 0; i < 2 * N_TYPES; i++) check_formulas(all_types[i / 2], i % 2);
}

static void test_moments(void)
{
    enum { C = 4 };
    /* Columns: 1, 2, 3, 6; a constant whose squares were rounded down; a NaN; an infinity. */
    const float sum[C] = {12, 4, NAN, INFINITY}, sum_sq[C] = {50, 3.9999f, NAN, INFINITY};
    const double mean[C] = {3, 1, (double)NAN, (double)INFINITY};
    const double var[C] = {3.5, 0, (double)NAN, (double)NAN};
    const float eps = 0.25f;
    TENSOR m = tensor_new(POD_F32, C), v = tensor_new(POD_F32, C), r = tensor_new(POD_F32, C);
    const double rstd[C] = {1 / sqrt(3.75), 2, (double)NAN, (double)NAN};
    const double bound[C] = {0x1p-24, 0, 0, 0};
    EACH_SET(norm, set) {
        set->moments(C, 4, eps, sum, sum_sq, m.data, v.data, r.data);
        tensor_check_near("mean", &m, mean, NULL);
        tensor_check_near("var", &v, var, NULL);
        tensor_check_near("rstd", &r, rstd, bound);
    }
}

/* ---- with an activation behind ------------------------------------------------------------- */

/* apply_act on what is given, into y. */
static void apply_act(const pod_norm *k, const batch *b, const tensor *x, const tensor *res,
                      bool scaled, bool relu, const tensor *y)
{
    k->apply_act(b->rows, b->c, b->t, x->data, b->gamma.data, b->beta.data, res ? res->data : NULL,
                 scaled ? b->rstd.data : NULL, scaled ? b->mean.data : NULL,
                 relu ? POD_NORM_RELU : POD_NORM_NO_ACT, y->data);
}

/* The bits of the reference, in a place of its own, over x and over the residual. */
static void check_apply_act(const pod_norm *k, const batch *b, bool with_res, bool scaled,
                            bool relu)
{
    const char *name = batch_name(k, relu ? "apply_act" : "apply_act without", b);
    const tensor *res = with_res ? &b->dy : NULL;
    TENSOR want = tensor_new(b->t.out, b->rows * b->c), got = tensor_new(b->t.out, b->rows * b->c);
    apply_act(reference(), b, &b->x, res, scaled, relu, &want);
    memset(got.data, 0x55, tensor_bytes(&got));
    apply_act(k, b, &b->x, res, scaled, relu, &got);
    tensor_check_same(name, &got, &want);
    if (b->t.x == b->t.out) {
        memcpy(got.data, b->x.data, tensor_bytes(&got));
        apply_act(k, b, &got, res, scaled, relu, &got);
        tensor_check_same(name, &got, &want);
    }
    if (b->t.beside == b->t.out) {
        memcpy(got.data, b->dy.data, tensor_bytes(&got));
        apply_act(k, b, &b->x, res ? &got : NULL, scaled, relu, &got);
        tensor_check_same(name, &got, &want);
    }
}

/* What came out of the activation, where it is recomputed from x. */
static tensor gate_by_x(const batch *b)
{
    tensor z = tensor_new(POD_F32, b->rows * b->c);
    for (int64_t i = 0; i < z.count; i++) {
        const float product = (float)tensor_get(&b->x, i) * (float)tensor_get(&b->gamma, i % b->c);
        pod_test_put(POD_F32, z.data, i, (double)(product + (float)tensor_get(&b->beta, i % b->c)));
    }
    return z;
}

/* The gradient where the gate is above 0, else 0, with its bits where it is stored as dy is. */
static tensor gated(const batch *b, pod_dtype t, const tensor *gate)
{
    tensor g = tensor_new(t, b->dy.count);
    if (t == b->dy.t) memcpy(g.data, b->dy.data, tensor_bytes(&g));
    for (int64_t i = 0; i < g.count; i++) {
        const bool open = tensor_get(gate, i) > 0;
        if (t != b->dy.t || !open) pod_test_put(t, g.data, i, open ? tensor_get(&b->dy, i) : 0);
    }
    return g;
}

static void grad_sums_act(const pod_norm *k, const batch *b, const void *dz, const void *z,
                          void *g_out, float *dgamma, float *dbeta)
{
    k->grad_sums_act(b->rows, b->c, b->t, b->x.data, dz, NULL, z, b->gamma.data, b->beta.data,
                     b->mean.data, b->rstd.data, POD_NORM_RELU, g_out, dgamma, dbeta);
}

/* g as the definition says, over dz too; and the sums of grad_sums of that g, to the bit. */
static void check_grad_sums_act(const pod_norm *k, const batch *b, const tensor *z)
{
    const char *name = batch_name(k, z ? "grad_sums_act by z" : "grad_sums_act by x", b);
    tensor by_x = gate_by_x(b), want = gated(b, b->t.out, z ? z : &by_x);
    TENSOR g = tensor_new(b->t.out, b->dy.count);
    const bool in_place = b->t.beside == b->t.out;
    const pod_norm_types of_g = {b->t.x, b->t.out, b->t.out};
    if (in_place) memcpy(g.data, b->dy.data, tensor_bytes(&g));
    tensor sums[6];
    for (int i = 0; i < 6; i++) sums[i] = tensor_new(POD_F32, b->c);
    k->grad_sums(b->rows, b->c, of_g, b->x.data, want.data, b->mean.data, b->rstd.data,
                 sums[0].data, sums[1].data);
    grad_sums_act(k, b, b->dy.data, z ? z->data : NULL, NULL, sums[2].data, sums[3].data);
    grad_sums_act(k, b, in_place ? g.data : b->dy.data, z ? z->data : NULL, g.data, sums[4].data,
                  sums[5].data);
    tensor_check_same(name, &g, &want);
    for (int i = 2; i < 6; i++) tensor_check_same(name, &sums[i], &sums[i % 2]);
    for (int i = 0; i < 6; i++) tensor_free(&sums[i]);
    tensor_free(&by_x), tensor_free(&want);
}

/* Of dz in two parts: what grad_sums_act gives of their sum as it is stored, to the bit, over either
 * part too. The second part is x, which has NaNs and infinities of its own. */
static void check_grad_sums_more(const pod_norm *k, const batch *b, const tensor *z)
{
    const char *name = batch_name(k, "grad_sums_act of two parts", b);
    TENSOR sum = tensor_new(b->t.out, b->rows * b->c);
    TENSOR want = tensor_new(b->t.out, b->rows * b->c);
    batch of_sum = *b;
    of_sum.t.beside = b->t.out;
    tensor sums[4];
    for (int i = 0; i < 4; i++) sums[i] = tensor_new(POD_F32, b->c);
    for (int64_t i = 0; i < sum.count; i++) {
        const float both = (float)tensor_get(&b->dy, i) + (float)tensor_get(&b->x, i);
        pod_test_put(sum.t, sum.data, i, (double)both);
    }
    grad_sums_act(k, &of_sum, sum.data, z->data, want.data, sums[0].data, sums[1].data);
    for (int place = 0; place < 3; place++) {
        TENSOR dz = tensor_copy(&b->dy), more = tensor_copy(&b->x), own = tensor_copy(&want);
        tensor *g = place == 1 && dz.t == want.t     ? &dz
                    : place == 2 && more.t == want.t ? &more
                                                     : &own;
        k->grad_sums_act(b->rows, b->c, b->t, b->x.data, dz.data, more.data, z->data, NULL, NULL,
                         b->mean.data, b->rstd.data, POD_NORM_RELU, g->data, sums[2].data,
                         sums[3].data);
        tensor_check_same(name, g, &want);
        for (int i = 2; i < 4; i++) tensor_check_same(name, &sums[i], &sums[i % 2]);
    }
    for (int i = 0; i < 4; i++) tensor_free(&sums[i]);
}

/* grad_apply of the gated gradient, to the bit; over x and over dz too. */
static void check_grad_apply_act(const pod_norm *k, const batch *b)
{
    const char *name = batch_name(k, "grad_apply_act", b);
    TENSOR by_x = gate_by_x(b), want = tensor_new(b->t.out, b->rows * b->c);
    batch of_g = *b;
    of_g.dy = gated(b, b->t.beside, &by_x);
    grad_apply(reference(), &of_g, want.data);
    for (int place = 0; place < 3; place++) {
        TENSOR x = tensor_copy(&b->x), dz = tensor_copy(&b->dy), own = tensor_copy(&want);
        tensor *dx = place == 1 && x.t == want.t ? &x : place == 2 && dz.t == want.t ? &dz : &own;
        k->grad_apply_act(b->rows, b->c, b->count, b->t, x.data, dz.data, b->gamma.data,
                          b->beta.data, b->mean.data, b->rstd.data, b->gamma.data, b->dgamma.data,
                          b->dbeta.data, dx->data);
        tensor_check_same(name, dx, &want);
    }
    tensor_free(&of_g.dy), tensor_free(&by_x), tensor_free(&want);
}

/* With swish behind: a sigmoid as near as kernels/gate/gate.h says. */
static const double SIGMOID_LEAST = 0x1p-120;
static double sigmoid_error(pod_dtype t) { return t == POD_BF16 ? 0x1p-12 : 0x1p-20; }

/* Near what is wanted, off by `off` in float32 before it is stored. What is no number there may be
 * anything. */
static void check_stored(const char *name, const tensor *got, int64_t i, double want, double off)
{
    if (!isfinite(want) || fabs(want) > 1e38) return;
    const double roundings = off / pod_test_roundoff(POD_F32) + fabs(want);
    const double bound = bound_rounded(got->t, roundings, want);
    if (fabs(tensor_get(got, i) - want) <= bound) return;
    pod_test_fail(__FILE__, __LINE__, "%s: %lld is %.9g, want %.9g within %g", name, (long long)i,
                  tensor_get(got, i), want, bound);
}

/* x scale + shift in float32, as the definition has it. */
static double before_act(const batch *b, int64_t i)
{
    const int64_t j = i % b->c;
    float v = (float)tensor_get(&b->x, i) * (float)tensor_get(&b->gamma, j);
    v += (float)tensor_get(&b->beta, j);
    return (double)v;
}

static void check_apply_swish(const pod_norm *k, const batch *b)
{
    const char *name = batch_name(k, "apply_act, swish", b);
    TENSOR x = tensor_copy(&b->x), got = tensor_new(b->t.out, b->rows * b->c);
    const tensor *const into[] = {&got, &x};
    const bool in_place = x.t == got.t;
    for (int place = 0; place < 1 + in_place; place++)
        k->apply_act(b->rows, b->c, b->t, x.data, b->gamma.data, b->beta.data, NULL, NULL, NULL,
                     POD_NORM_SWISH, into[place]->data);
    if (in_place) tensor_check_same(name, &x, &got);
    for (int64_t i = 0; i < got.count; i++) {
        const double v = before_act(b, i), want = v / (1 + exp(-v));
        check_stored(name, &got, i, want,
                     sigmoid_error(b->t.out) * fabs(want) + SIGMOID_LEAST * fabs(v));
    }
}

/* g in a place of its own and over dz; and the sums of grad_sums of that g, to the bit. 1 - s and
 * 1 + v (1 - s) lose what cancels. */
static void check_grad_sums_swish(const pod_norm *k, const batch *b)
{
    const double u = pod_test_roundoff(POD_F32), error = sigmoid_error(b->t.out);
    const char *name = batch_name(k, "grad_sums_act, swish", b);
    TENSOR g = tensor_new(b->t.out, b->rows * b->c), dz = tensor_copy(&b->dy);
    tensor sums[6];
    for (int i = 0; i < 6; i++) sums[i] = tensor_new(POD_F32, b->c);
    const bool in_place = dz.t == g.t;
    const pod_norm_types of_g = {b->t.x, b->t.out, b->t.out};
    void *const into[] = {g.data, in_place ? dz.data : g.data};
    for (int i = 0; i < 2; i++)
        k->grad_sums_act(b->rows, b->c, b->t, b->x.data, i == 1 ? dz.data : b->dy.data, NULL, NULL,
                         b->gamma.data, b->beta.data, b->mean.data, b->rstd.data, POD_NORM_SWISH,
                         into[i], sums[2 * i].data, sums[2 * i + 1].data);
    k->grad_sums(b->rows, b->c, of_g, b->x.data, g.data, b->mean.data, b->rstd.data, sums[4].data,
                 sums[5].data);
    for (int i = 0; i < 4; i++) tensor_check_same(name, &sums[i], &sums[4 + i % 2]);
    if (in_place) tensor_check_same(name, &dz, &g);
    for (int64_t i = 0; i < g.count; i++) {
        const double v = before_act(b, i), s = 1 / (1 + exp(-v)), part = v * (1 - s);
        const double d = tensor_get(&b->dy, i);
        const double inner = (error * s + u) * fabs(v) + 4 * u * (1 + fabs(part));
        const double outer = (error * s + SIGMOID_LEAST) * (1 + fabs(v));
        check_stored(name, &g, i, d * s * (1 + part),
                     fabs(d) * (s * inner + outer + 3 * u * s * (1 + fabs(part))));
    }
    for (int i = 0; i < 6; i++) tensor_free(&sums[i]);
}

/* A gradient that is handed on is not narrower than it came. */
static bool hands_on(pod_norm_types t) { return t.beside == POD_BF16 || t.out == POD_F32; }

static void check_act(const pod_norm *k, const batch *b)
{
    TENSOR z = tensor_random(9, b->t.out, b->rows * b->c);
    tensor_sprinkle(&z);
    for (int form = 0; form < 6; form++)
        check_apply_act(k, b, form / 2 > 0, form / 2 == 2, form % 2);
    check_grad_apply_act(k, b);
    check_apply_swish(k, b);
    if (hands_on(b->t)) {
        check_sums(k, b, true, &z);
        check_grad_sums_act(k, b, &z);
        check_grad_sums_act(k, b, NULL);
        check_grad_sums_more(k, b, &z);
        check_grad_sums_swish(k, b);
    }
}

static void test_act(void)
{
    const int64_t columns[] = {1, 16, 20, 100, 1030, 2048};
    const int64_t rows[] = {0, 1, 5, 330};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        for (size_t r = 0; r < N_TYPES * sizeof rows / sizeof rows[0]; r++) {
            BATCH b = batch_make(rows[r / N_TYPES], columns[i], all_types[r % N_TYPES]);
            EACH_SET(norm, set) check_act(set, &b);
        }
    }
}

/* Outputs so large that they are stored past the caches: in whole lines, with some left, and in
 * vain where lines do not begin with the output. */
static void test_past_the_caches(void)
{
    const int64_t rows[] = {13109, 26216, 26217};
    for (int i = 0; i < 4; i++) {
        BATCH b = batch_make(rows[i % 3], 80, all_types[i < 3 ? i > 0 : N_TYPES - 2]);
        EACH_SET(norm, set) {
            check_same(set, &b);
            check_apply_act(set, &b, true, true, true);
        }
    }
}

/* Infinities and NaNs among x, the residual and dz go where the definition says. */
static void test_act_of_odd_ones(void)
{
    for (int t = 0; t < N_TYPES; t++) {
        BATCH b = batch_make(9, 20, all_types[t]);
        tensor_sprinkle(&b.dy);
        if (b.dy.t == POD_BF16) /* subnormal, and kept as g */
            ((pod_bf16 *)b.dy.data)[49] = (pod_bf16){1};
        pod_test_put(b.t.x, b.x.data, 5, (double)NAN);
        pod_test_put(b.t.x, b.x.data, 45, (double)INFINITY);
        pod_test_put(b.t.x, b.x.data, 66, -(double)INFINITY);
        EACH_SET(norm, set) check_act(set, &b);
    }
}

/* fold's line is apply's: (x - mean) rstd gamma + beta. */
static void test_fold(void)
{
    enum { C = 37 };
    double want[2][C], bound[2][C];
    BATCH b = batch_make(1, C, pod_norm_all(POD_F32));
    for (int j = 0; j < C; j++) {
        want[0][j] = tensor_get(&b.rstd, j) * tensor_get(&b.gamma, j);
        want[1][j] = tensor_get(&b.beta, j) - tensor_get(&b.mean, j) * want[0][j];
        bound[0][j] = bound_rounded(POD_F32, fabs(want[0][j]), want[0][j]);
        const double product = fabs(tensor_get(&b.mean, j) * want[0][j]);
        bound[1][j] = bound_rounded(POD_F32, 2 * product + fabs(want[1][j]), want[1][j]);
    }
    reference()->fold(C, b.mean.data, b.rstd.data, b.gamma.data, b.beta.data, b.dgamma.data,
                      b.dbeta.data); /* one for all sets */
    tensor_check_near("scale", &b.dgamma, want[0], bound[0]);
    tensor_check_near("shift", &b.dbeta, want[1], bound[1]);
}

/* A NaN spoils its own column and no other; the same bits wherever the data lies. */
static void test_columns_apart(void)
{
    enum { ROWS = 70, C = 20, N = ROWS * C };
    static float room[N + 16], a[2][C], q[2][C];
    BATCH b = batch_make(ROWS, C, pod_norm_all(POD_F32));
    pod_test_put(POD_F32, b.x.data, 69 * C + 3, (double)NAN);
    EACH_SET(norm, set) {
        set->sums(ROWS, C, POD_F32, b.x.data, a[0], q[0]);
        for (int j = 0; j < C; j++)
            POD_CHECK(isnan(a[0][j]) == (j == 3) && isnan(q[0][j]) == (j == 3), "%s: column %d",
                      set->name, j);
        for (int shift = 0; shift < 16; shift++) {
            memcpy(room + shift, b.dy.data, tensor_bytes(&b.dy));
            set->grad_sums(ROWS, C, pod_norm_all(POD_F32), b.dy.data, b.dy.data, b.mean.data,
                           b.rstd.data, a[0], q[0]);
            set->grad_sums(ROWS, C, pod_norm_all(POD_F32), room + shift, room + shift, b.mean.data,
                           b.rstd.data, a[1], q[1]);
            CU_ASSERT_EQUAL(memcmp(a[0], a[1], sizeof a[0]), 0);
            CU_ASSERT_EQUAL(memcmp(q[0], q[1], sizeof q[0]), 0);
        }
    }
}

POD_TEST_SUITE("norm", {"shapes", test_shapes}, {"error_does_not_grow", test_error_does_not_grow},
               {"formulas", test_formulas}, {"moments", test_moments}, {"fold", test_fold},
               {"act", test_act}, {"past_the_caches", test_past_the_caches},
               {"act_of_odd_ones", test_act_of_odd_ones}, {"columns_apart", test_columns_apart});
