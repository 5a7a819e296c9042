/* Layer normalization: every set against the formulas of the header in double, with the errors that
 * float32 can have made. The operators' tests hold the gradient against finite differences. */
#include <stdlib.h>

#include "kernels/base/simd/loop.h"
#include "kernels/layernorm/layernorm.h"
#include "tests/unit/kernels/kernel_test.h"

static const float EPS = 1e-3f;
static const double U = 0x1p-24;

/* Roundings of a sum along a row or a column, and a few of what is made of its terms before. */
enum { SUM = POD_SUM_CHAIN + 6 };

typedef struct batch {
    int64_t rows, c;
    pod_dtype t;
    tensor x, res, dy, more, gamma, beta, mean, rstd; /* mean and rstd of x */
} batch;

/* One row's mean and 1 / sqrt(var + eps) in double. */
static void moments(const tensor *x, int64_t r, int64_t c, double *mean, double *rstd)
{
    double sum = 0, squares = 0;
    for (int64_t i = r * c; i < (r + 1) * c; i++) sum += tensor_get(x, i);
    *mean = sum / (double)c;
    for (int64_t i = r * c; i < (r + 1) * c; i++) squares += pow(tensor_get(x, i) - *mean, 2);
    *rstd = 1 / sqrt(squares / (double)c + (double)EPS);
}

static batch batch_make(int64_t rows, int64_t c, pod_dtype t)
{
    batch b = {.rows = rows, .c = c, .t = t};
    b.x = tensor_random(1, t, rows * c);
    b.res = tensor_random(2, t, rows * c);
    b.dy = tensor_random(3, t, rows * c);
    b.more = tensor_random(4, t, rows * c);
    b.gamma = tensor_random(5, POD_F32, c);
    b.beta = tensor_random(6, POD_F32, c);
    b.mean = tensor_new(POD_F32, rows);
    b.rstd = tensor_new(POD_F32, rows);
    for (int64_t r = 0; r < rows; r++) {
        double mean, rstd;
        for (int64_t i = r * c; i < (r + 1) * c; i++)
            pod_test_put(t, b.x.data, i, tensor_get(&b.x, i) + 0.25 * (double)(r % 5));
        moments(&b.x, r, c, &mean, &rstd);
        pod_test_put(POD_F32, b.mean.data, r, mean);
        pod_test_put(POD_F32, b.rstd.data, r, rstd);
    }
    return b;
}

static void batch_free(batch *b)
{
    tensor *all[] = {&b->x, &b->res, &b->dy, &b->more, &b->gamma, &b->beta, &b->mean, &b->rstd};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) tensor_free(all[i]);
}

static const char *batch_name(const pod_layernorm *k, const char *what, const batch *b)
{
    return pod_test_text("%s %s %s (%lld, %lld)", k->name, what, pod_dtype_name(b->t),
                         (long long)b->rows, (long long)b->c);
}

/* y of what was normalized, `s`. The mean is off by the roundings of a sum of |s|; so is each
 * s - mean, and rstd by that relative to rstd and the roundings of the sum of squares. */
static void check_apply(const pod_layernorm *k, const batch *b, bool with_res)
{
    const int64_t c = b->c, n = b->rows * c;
    double *want = calloc((size_t)(2 * n + 4 * b->rows + 1), sizeof *want), *bound = want + n;
    double *row = bound + n; /* mean, rstd, and their bounds */
    TENSOR s = tensor_copy(&b->x), y = tensor_new(b->t, n);
    TENSOR mean = tensor_new(POD_F32, b->rows), rstd = tensor_new(POD_F32, b->rows);
    for (int64_t i = 0; with_res && i < n; i++)
        pod_test_put(b->t, s.data, i,
                     (double)((float)tensor_get(&b->x, i) + (float)tensor_get(&b->res, i)));
    for (int64_t r = 0; r < b->rows; r++) {
        double size = 0, m, k_r;
        for (int64_t i = r * c; i < (r + 1) * c; i++) size += fabs(tensor_get(&s, i)) / (double)c;
        moments(&s, r, c, &m, &k_r);
        const double m_error = SUM * U * size, k_error = (SUM + 4 * m_error / U * k_r) * U * k_r;
        row[r] = m, row[b->rows + r] = k_r;
        row[2 * b->rows + r] = m_error, row[3 * b->rows + r] = k_error;
        for (int64_t i = r * c; i < (r + 1) * c; i++) {
            const double d = tensor_get(&s, i) - m, gamma = tensor_get(&b->gamma, i - r * c);
            want[i] = d * k_r * gamma + tensor_get(&b->beta, i - r * c);
            const double moved = (m_error * k_r + fabs(d) * k_error) * fabs(gamma);
            const double rounded = 3 * fabs(d * k_r * gamma) + fabs(want[i]);
            bound[i] = bound_rounded(b->t, rounded + 1.01 * moved / U, want[i]);
        }
    }
    TENSOR sum = tensor_copy(&b->x);
    const char *name = batch_name(k, with_res ? "apply to a sum" : "apply", b);
    k->apply(b->rows, c, EPS, b->t, sum.data, with_res ? b->res.data : NULL, b->gamma.data,
             b->beta.data, with_res ? sum.data : NULL, y.data, mean.data, rstd.data);
    tensor_check_same(name, &sum, &s);
    tensor_check_near(name, &y, want, bound);
    tensor_check_near(name, &mean, row, row + 2 * b->rows);
    tensor_check_near(name, &rstd, row + b->rows, row + 3 * b->rows);
    if (!with_res) { /* in place */
        k->apply(b->rows, c, EPS, b->t, sum.data, NULL, b->gamma.data, b->beta.data, NULL, sum.data,
                 mean.data, rstd.data);
        tensor_check_same(name, &sum, &y);
    }
    free(want);
}

static void check_grad_x(const pod_layernorm *k, const batch *b, bool with_more)
{
    const int64_t c = b->c, n = b->rows * c;
    double *want = calloc((size_t)(2 * n + 1), sizeof *want), *bound = want + n;
    for (int64_t r = 0; r < b->rows; r++) {
        const double m = tensor_get(&b->mean, r), k_r = tensor_get(&b->rstd, r);
        double a = 0, by_h = 0, a_size = 0, by_h_size = 0;
        for (int64_t i = r * c; i < (r + 1) * c; i++) {
            const double g = tensor_get(&b->dy, i) * tensor_get(&b->gamma, i - r * c);
            const double h = (tensor_get(&b->x, i) - m) * k_r;
            a += g / (double)c, by_h += g * h / (double)c;
            a_size += fabs(g) / (double)c, by_h_size += fabs(g * h) / (double)c;
        }
        for (int64_t i = r * c; i < (r + 1) * c; i++) {
            const double g = tensor_get(&b->dy, i) * tensor_get(&b->gamma, i - r * c);
            const double h = (tensor_get(&b->x, i) - m) * k_r;
            const double more = with_more ? tensor_get(&b->more, i) : 0;
            want[i] = k_r * (g - a - h * by_h) + more;
            /* g, a, h b and their differences, which are no larger than what they are of. */
            const double inner = 4 * fabs(g) + (SUM + 3) * a_size + (SUM + 4) * fabs(h) * by_h_size;
            bound[i] = bound_rounded(b->t, k_r * inner + 2 * fabs(want[i]) + fabs(more), want[i]);
        }
    }
    for (int place = 0; place < 4; place++) {
        TENSOR x = tensor_copy(&b->x), dy = tensor_copy(&b->dy), more = tensor_copy(&b->more);
        TENSOR own = tensor_copy(&b->x);
        tensor *const places[] = {&own, &x, &dy, &more};
        const char *name = batch_name(k, with_more ? "grad_x and more" : "grad_x", b);
        k->grad_x(b->rows, c, b->t, x.data, dy.data, b->mean.data, b->rstd.data, b->gamma.data,
                  with_more ? more.data : NULL, places[place]->data);
        tensor_check_near(name, places[place], want, bound);
    }
    free(want);
}

static void check_grad_params(const pod_layernorm *k, const batch *b)
{
    const int64_t c = b->c;
    double *want = calloc((size_t)(4 * c), sizeof *want), *bound = want + 2 * c;
    TENSOR dgamma = tensor_new(POD_F32, c), dbeta = tensor_new(POD_F32, c);
    for (int64_t i = 0; i < b->rows * c; i++) {
        const double dy = tensor_get(&b->dy, i), m = tensor_get(&b->mean, i / c);
        const double term = dy * (tensor_get(&b->x, i) - m) * tensor_get(&b->rstd, i / c);
        want[i % c] += term, bound[i % c] += SUM * U * 1.001 * fabs(term);
        want[c + i % c] += dy, bound[c + i % c] += SUM * U * 1.001 * fabs(dy);
    }
    const char *name = batch_name(k, "grad_params", b);
    k->grad_params(b->rows, c, b->t, b->x.data, b->dy.data, b->mean.data, b->rstd.data, dgamma.data,
                   dbeta.data);
    tensor_check_near(name, &dgamma, want, bound);
    tensor_check_near(name, &dbeta, want + c, bound + c);
    free(want);
}

static void test_shapes(void)
{
    const int64_t columns[] = {1, 3, 16, 31, 33, 64, 768, 1030, 2100};
    const int64_t rows[] = {0, 1, 5, 47};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        for (size_t r = 0; r < 2 * sizeof rows / sizeof rows[0]; r++) {
            batch b = batch_make(rows[r / 2], columns[i], r % 2 ? POD_BF16 : POD_F32);
            EACH_SET(layernorm, set) {
                check_apply(set, &b, false);
                check_apply(set, &b, true);
                check_grad_x(set, &b, false);
                check_grad_x(set, &b, true);
                check_grad_params(set, &b);
            }
            batch_free(&b);
        }
    }
}

/* A NaN spoils its row of y and dx, and its column of the gradients of gamma; no other. */
static void test_not_numbers(void)
{
    enum { ROWS = 5, C = 40, AT = 2 * C + 7 };
    batch b = batch_make(ROWS, C, POD_BF16);
    pod_test_put(b.t, b.x.data, AT, (double)NAN);
    TENSOR y = tensor_new(b.t, ROWS * C), dgamma = tensor_new(POD_F32, C);
    TENSOR dbeta = tensor_new(POD_F32, C), mean = tensor_new(POD_F32, ROWS);
    TENSOR rstd = tensor_new(POD_F32, ROWS);
    EACH_SET(layernorm, set) {
        set->apply(ROWS, C, EPS, b.t, b.x.data, NULL, b.gamma.data, b.beta.data, NULL, y.data,
                   mean.data, rstd.data);
        for (int i = 0; i < ROWS * C; i++) CU_ASSERT_EQUAL(isnan(tensor_get(&y, i)), i / C == 2);
        set->grad_x(ROWS, C, b.t, b.x.data, b.dy.data, b.mean.data, b.rstd.data, b.gamma.data, NULL,
                    y.data);
        for (int i = 0; i < ROWS * C; i++) CU_ASSERT_EQUAL(isnan(tensor_get(&y, i)), i / C == 2);
        set->grad_params(ROWS, C, b.t, b.x.data, b.dy.data, b.mean.data, b.rstd.data, dgamma.data,
                         dbeta.data);
        for (int j = 0; j < C; j++)
            CU_ASSERT(isnan(tensor_get(&dgamma, j)) == (j == 7) && !isnan(tensor_get(&dbeta, j)));
    }
    batch_free(&b);
}

POD_TEST_SUITE("layernorm", {"shapes", test_shapes}, {"not_numbers", test_not_numbers});
