/* Softmax cross entropy and its gradient against sums of exponentials in double. */
#include <stdlib.h>

#include "kernels/base/simd/loop.h"
#include "kernels/softmax/softmax.h"
#include "tests/unit/kernels/kernel_test.h"

/* log of the sum of exp(l[i]), not in the kernel's way but term by term:
 * log(e^a + e^b) = max + log1p(e^-|a-b|). */
static double log_sum_exp(int64_t c, const double *l)
{
    double all = l[0];
    for (int64_t j = 1; j < c; j++) {
        const double high = all > l[j] ? all : l[j], low = all > l[j] ? l[j] : all;
        all = high + log1p(exp(low - high));
    }
    return all;
}

static double row_loss(int64_t c, const double *l, int label, double smoothing)
{
    const double all = log_sum_exp(c, l);
    double loss = 0;
    for (int64_t j = 0; j < c; j++) {
        const double target = (j == label ? 1 - smoothing : 0) + smoothing / (double)c;
        loss += target * (all - l[j]);
    }
    return loss;
}

typedef struct problem {
    int64_t rows, c;
    tensor logits, labels;
} problem;

/* Every fourth row is padding. `size` is the largest logit. */
static problem problem_make(int64_t rows, int64_t c, double size)
{
    problem p = {.rows = rows, .c = c};
    p.logits = tensor_random(1, POD_F32, rows * c);
    p.labels = tensor_new(POD_I32, rows);
    for (int64_t i = 0; i < rows * c; i++)
        pod_test_put(POD_F32, p.logits.data, i, size * tensor_get(&p.logits, i));
    for (int64_t r = 0; r < rows; r++)
        ((int32_t *)p.labels.data)[r] = r % 4 == 3 ? -1 : (int32_t)(r * 7 % c);
    return p;
}

static void problem_free(problem *p)
{
    tensor_free(&p->logits);
    tensor_free(&p->labels);
}
#define PROBLEM __attribute__((cleanup(problem_free))) problem

static void row_of(const problem *p, int64_t r, double *row)
{
    for (int64_t j = 0; j < p->c; j++) row[j] = tensor_get(&p->logits, r * p->c + j);
}

static int label_of(const problem *p, int64_t r) { return ((int32_t *)p->labels.data)[r]; }

static bool is_reference(const pod_softmax *k)
{
    return k == pod_softmax_pick(POD_CPU_REFERENCE_ONLY);
}

/* What a row costs in float32, relative to its sum of e^-d, d = max - x: the exponential's 2^-22,
 * d's rounding, which counts d 2^-24, and the sum. `mean_d` is the mean of d in the target of
 * smoothing, whose sum is rounded likewise. */
typedef struct row_error {
    double sum, mean_d, max;
} row_error;

static row_error row_error_of(int64_t c, const double *l)
{
    const double u = pod_test_roundoff(POD_F32);
    row_error r = {.max = l[0]};
    double sum = 0, off = 0;
    for (int64_t j = 1; j < c; j++) r.max = l[j] > r.max ? l[j] : r.max;
    for (int64_t j = 0; j < c; j++) {
        const double d = r.max - l[j], e = exp(-d);
        sum += e;
        off += e * (4 * u + d * u) + 0x1p-125; /* what is below e^-87 is 0 */
        r.mean_d += (POD_SUM_CHAIN + 1) * u * d / (double)c;
    }
    r.sum = off / sum + POD_SUM_CHAIN * u;
    return r;
}

static void check_loss(const pod_softmax *k, const problem *p, float smoothing)
{
    const float scale = 0.125f;
    double *row = calloc((size_t)p->c, sizeof *row), want = 0, in_float = 0;
    float got = -1;
    for (int64_t r = 0; r < p->rows; r++) {
        row_of(p, r, row);
        if (label_of(p, r) < 0) continue;
        want += (double)scale * row_loss(p->c, row, label_of(p, r), (double)smoothing);
        const row_error e = row_error_of(p->c, row);
        in_float += (double)scale * 1.01 * (e.sum + (double)smoothing * e.mean_d);
    }
    k->loss(p->rows, p->c, p->logits.data, p->labels.data, smoothing, scale, &got);
    /* The reference is in double throughout, so one rounding to float32; and what log_sum_exp
     * above loses itself. */
    const double bound =
        want * (pod_test_roundoff(POD_F32) + 1e-12) + 1e-12 + (is_reference(k) ? 0 : in_float);
    POD_CHECK(pod_test_near((double)got, want, bound), "%s (%lld, %lld): %.9g, want %.9g", k->name,
              (long long)p->rows, (long long)p->c, (double)got, want);
    free(row);
}

/* softmax(row)[j] - target: the derivative of row_loss. */
static double slope_at(const problem *p, const double *row, int64_t j, int label, double smoothing)
{
    const double target = (j == label ? 1 - smoothing : 0) + smoothing / (double)p->c;
    return exp(row[j] - log_sum_exp(p->c, row)) - target;
}

/* scale (p - target) in float32: p has the errors of its exponential, of the sum, of 1 / sum and of
 * their product; target one, the difference and its scaling one each. */
static double grad_error(const problem *p, const double *row, int64_t j, int label, float smoothing)
{
    const double u = pod_test_roundoff(POD_F32), scale = 0.125;
    const row_error e = row_error_of(p->c, row);
    const double share = exp(row[j] - log_sum_exp(p->c, row));
    const double target =
        (j == label ? 1 - (double)smoothing : 0) + (double)smoothing / (double)p->c;
    const double of_share = share * (4 * u + (e.max - row[j]) * u + e.sum + 3 * u) + 0x1p-125;
    return 1.01 * scale * (of_share + target * u + 2 * u * fabs(share - target));
}

static void check_grad(const pod_softmax *k, const problem *p, float smoothing)
{
    const float scale = 0.125f;
    const int64_t n = p->rows * p->c;
    double *want = calloc((size_t)(2 * n + p->c), sizeof *want), *bound = want + n;
    double *row = bound + n;
    for (int64_t i = 0; i < n; i++) {
        const int label = label_of(p, i / p->c);
        row_of(p, i / p->c, row);
        if (label >= 0)
            want[i] = (double)scale * slope_at(p, row, i % p->c, label, (double)smoothing);
        bound[i] = label < 0 ? 0 : pod_test_roundoff(POD_F32) * fabs(want[i]) + 1e-9;
        if (label >= 0 && !is_reference(k))
            bound[i] += grad_error(p, row, i % p->c, label, smoothing);
    }
    TENSOR got = tensor_new(POD_F32, n), twin = tensor_copy(&p->logits);
    k->grad(p->rows, p->c, p->logits.data, p->labels.data, smoothing, scale, got.data);
    tensor_check_near(k->name, &got, want, bound);
    k->grad(p->rows, p->c, twin.data, p->labels.data, smoothing, scale, twin.data);
    tensor_check_same(k->name, &twin, &got);
    free(want);
}

/* In one pass the bits of two; over the logits too. */
static void check_loss_grad(const pod_softmax *k, const problem *p, float smoothing)
{
    TENSOR want = tensor_new(POD_F32, p->rows * p->c), got = tensor_copy(&p->logits);
    float want_loss, loss;
    k->loss(p->rows, p->c, p->logits.data, p->labels.data, smoothing, 0.5f, &want_loss);
    k->grad(p->rows, p->c, p->logits.data, p->labels.data, smoothing, 0.25f, want.data);
    k->loss_grad(p->rows, p->c, got.data, p->labels.data, smoothing, 0.5f, 0.25f, &loss, got.data);
    tensor_check_same(k->name, &got, &want);
    memset(got.data, 0x55, tensor_bytes(&got));
    k->loss_grad(p->rows, p->c, p->logits.data, p->labels.data, smoothing, 0.5f, 0.25f, &loss,
                 got.data);
    tensor_check_same(k->name, &got, &want);
    POD_CHECK(loss == want_loss || (isnan(loss) && isnan(want_loss)), "%s: loss %.9g, want %.9g",
              k->name, (double)loss, (double)want_loss);
}

static void check_correct(const pod_softmax *k, const problem *p)
{
    float want, got;
    pod_softmax_pick(POD_CPU_REFERENCE_ONLY)
        ->correct(p->rows, p->c, p->logits.data, p->labels.data, &want);
    k->correct(p->rows, p->c, p->logits.data, p->labels.data, &got);
    CU_ASSERT_EQUAL(got, want);
}

static void test_shapes(void)
{
    const int64_t rows[] = {0, 1, 4, 17}, columns[] = {1, 2, 10, 17, 300};
    for (size_t i = 0; i < 20; i++) {
        PROBLEM p = problem_make(rows[i / 5], columns[i % 5], 3);
        EACH_SET(softmax, set) {
            check_loss(set, &p, 0);
            check_loss(set, &p, 0.1f);
            check_grad(set, &p, 0);
            check_grad(set, &p, 0.1f);
            check_loss_grad(set, &p, 0);
            check_loss_grad(set, &p, 0.1f);
            check_correct(set, &p);
        }
    }
}

/* The exponential: of (0, -d) the second class has the probability e^-d / (1 + e^-d). */
static void test_exponential(void)
{
    enum { ROWS = 200000 };
    const double u = pod_test_roundoff(POD_F32);
    PROBLEM p = problem_make(ROWS, 2, 1);
    TENSOR got = tensor_new(POD_F32, 2 * ROWS);
    double *want = calloc(4 * ROWS, sizeof *want), *bound = want + 2 * ROWS;
    for (int64_t r = 0; r < ROWS; r++) {
        pod_test_put(POD_F32, p.logits.data, 2 * r, 0);
        pod_test_put(POD_F32, p.logits.data, 2 * r + 1, -(double)r * 90 / ROWS);
        ((int32_t *)p.labels.data)[r] = 0;
        const double e = exp(tensor_get(&p.logits, 2 * r + 1));
        want[2 * r] = -e / (1 + e);
        want[2 * r + 1] = e / (1 + e);
        bound[2 * r] = 12 * u;                    /* beside 1, which is taken off */
        bound[2 * r + 1] = e * 12 * u + 0x1p-125; /* 2^-22 of its own, 2^-22 of the sum's, 4 u */
    }
    EACH_SET(softmax, set) {
        set->grad(ROWS, 2, p.logits.data, p.labels.data, 0, 1, got.data);
        tensor_check_near(set->name, &got, want, bound);
    }
    free(want);
}

/* Logits of ten thousand: exp of one alone overflows. */
static void test_large(void)
{
    enum { ROWS = 6, C = 10 };
    PROBLEM p = problem_make(ROWS, C, 1e4);
    for (int64_t j = 0; j < C; j++) { /* one row far up, one far down, all alike */
        pod_test_put(POD_F32, p.logits.data, j, 1e4);
        pod_test_put(POD_F32, p.logits.data, C + j, -1e4);
    }
    EACH_SET(softmax, set) {
        float loss, grad[ROWS * C];
        check_loss(set, &p, 0);
        check_loss(set, &p, 0.1f);
        set->loss(2, C, p.logits.data, p.labels.data, 0, 0.5f, &loss);
        CU_ASSERT_DOUBLE_EQUAL((double)loss, log(10), 3e-7);
        set->grad(ROWS, C, p.logits.data, p.labels.data, 0.1f, 1, grad);
        for (int i = 0; i < ROWS * C; i++) CU_ASSERT(fabsf(grad[i]) <= 1);
        CU_ASSERT_DOUBLE_EQUAL((double)grad[1], 0.1 - 0.01, 1e-7);
        check_loss_grad(set, &p, 0.1f);
    }
}

static void test_correct(void)
{
    enum { ROWS = 8, C = 4 };
    const float logits[ROWS * C] = {
        1,   2, 3,         4, /* the last: right */
        5,   5, 1,         0, /* the first of two: right */
        5,   5, 1,         0, /* the second of two: wrong */
        NAN, 9, 1,         0, /* a NaN elsewhere: wrong */
        0,   1, NAN,       2, /* a NaN at the label: wrong */
        9,   1, 2,         3, /* padding */
        0,   0, 0,         0, /* all alike, label 0: right */
        -1,  0, -INFINITY, 0, /* the second is the first maximum: right */
    };
    const int32_t labels[ROWS] = {3, 0, 1, 1, 2, -1, 0, 1};
    EACH_SET(softmax, set) {
        float got = -1;
        set->correct(ROWS, C, logits, labels, &got);
        CU_ASSERT_EQUAL(got, 4.0f);
        set->correct(0, C, logits, labels, &got);
        CU_ASSERT_EQUAL(got, 0.0f);
    }
}

/* A NaN reaches the loss and its own row's gradient; a class of probability 0 does no harm. */
static void test_not_numbers(void)
{
    enum { C = 3 };
    const float logits[3 * C] = {1, NAN, 2, 0, -INFINITY, 0, 1, 2, 3};
    const int32_t labels[3] = {0, 0, 1};
    EACH_SET(softmax, set) {
        float loss, grad[3 * C];
        set->loss(3, C, logits, labels, 0, 1, &loss);
        CU_ASSERT(isnan(loss));
        set->loss(1, C, logits + C, labels, 0, 1, &loss);
        CU_ASSERT_DOUBLE_EQUAL((double)loss, log(2), 1e-7);
        set->grad(3, C, logits, labels, 0, 1, grad);
        for (int i = 0; i < 3 * C; i++) CU_ASSERT_EQUAL(!isnan(grad[i]), i >= C);
        CU_ASSERT_EQUAL(grad[C + 1], 0);
        set->loss_grad(3, C, logits, labels, 0, 1, 1, &loss, grad);
        CU_ASSERT(isnan(loss));
        for (int i = 0; i < 3 * C; i++) CU_ASSERT_EQUAL(!isnan(grad[i]), i >= C);
    }
}

POD_TEST_SUITE("softmax", {"shapes", test_shapes}, {"exponential", test_exponential},
               {"large", test_large}, {"correct", test_correct}, {"not_numbers", test_not_numbers});
