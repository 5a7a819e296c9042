/* Softmax cross entropy against sums of exponentials in double, and its gradient against finite
 * differences of them. */
#include <stdlib.h>

#include "kernels/softmax/softmax.h"
#include "tests/unit/kernels/kernel_test.h"

static bool runs(const pod_softmax *k) { return !(k->needs & ~pod_cpu_features()); }

static void test_sets(void)
{
    int n;
    const pod_softmax *sets = pod_softmax_sets(&n);
    for (int i = 0; i < n; i++) {
        kernel_runs("softmax", sets[i].name, sets[i].needs);
        POD_CHECK(pod_softmax_pick(sets[i].needs) == &sets[i], "%s is not picked", sets[i].name);
    }
    CU_ASSERT_STRING_EQUAL(pod_softmax_pick(POD_CPU_REFERENCE_ONLY)->name, "ref");
}

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

static void row_of(const problem *p, int64_t r, double *row)
{
    for (int64_t j = 0; j < p->c; j++) row[j] = tensor_get(&p->logits, r * p->c + j);
}

static int label_of(const problem *p, int64_t r) { return ((int32_t *)p->labels.data)[r]; }

static void check_loss(const pod_softmax *k, const problem *p, float smoothing)
{
    const float scale = 0.125f;
    double *row = calloc((size_t)p->c, sizeof *row), want = 0;
    float got = -1;
    for (int64_t r = 0; r < p->rows; r++) {
        row_of(p, r, row);
        if (label_of(p, r) >= 0)
            want += (double)scale * row_loss(p->c, row, label_of(p, r), (double)smoothing);
    }
    k->loss(p->rows, p->c, p->logits.data, p->labels.data, smoothing, scale, &got);
    /* Double throughout, so one rounding to float32; and what log_sum_exp above loses itself. */
    const double bound = want * (pod_test_roundoff(POD_F32) + 1e-12) + 1e-12;
    POD_CHECK(pod_test_near((double)got, want, bound), "%s (%lld, %lld): %.9g, want %.9g", k->name,
              (long long)p->rows, (long long)p->c, (double)got, want);
    free(row);
}

/* Fourth-order central difference; terms of order h^4 and of 1e-16 / h. */
static double slope_at(const problem *p, double *row, int64_t j, int label, double smoothing)
{
    const double h = 0x1p-9, x0 = row[j], steps[4] = {-2, -1, 1, 2};
    double at[4];
    for (int s = 0; s < 4; s++) {
        row[j] = x0 + steps[s] * h;
        at[s] = row_loss(p->c, row, label, smoothing);
    }
    row[j] = x0;
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h);
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
    }
    tensor got = tensor_new(POD_F32, n), twin = tensor_copy(&p->logits);
    k->grad(p->rows, p->c, p->logits.data, p->labels.data, smoothing, scale, got.data);
    tensor_check_near(k->name, &got, want, bound);
    k->grad(p->rows, p->c, twin.data, p->labels.data, smoothing, scale, twin.data);
    tensor_check_same(k->name, &twin, &got);
    tensor_free(&got), tensor_free(&twin);
    free(want);
}

static void test_shapes(void)
{
    const int64_t rows[] = {0, 1, 4, 17}, columns[] = {1, 2, 10, 17, 100};
    int n;
    const pod_softmax *sets = pod_softmax_sets(&n);
    for (size_t i = 0; i < 20; i++) {
        problem p = problem_make(rows[i / 5], columns[i % 5], 3);
        for (int s = 0; s < n; s++) {
            if (!runs(&sets[s])) continue;
            check_loss(&sets[s], &p, 0);
            check_loss(&sets[s], &p, 0.1f);
            check_grad(&sets[s], &p, 0);
            check_grad(&sets[s], &p, 0.1f);
        }
        problem_free(&p);
    }
}

/* Logits of ten thousand: exp of one alone overflows. */
static void test_large(void)
{
    enum { ROWS = 6, C = 10 };
    int n;
    const pod_softmax *sets = pod_softmax_sets(&n);
    problem p = problem_make(ROWS, C, 1e4);
    for (int64_t j = 0; j < C; j++) { /* one row far up, one far down, all alike */
        pod_test_put(POD_F32, p.logits.data, j, 1e4);
        pod_test_put(POD_F32, p.logits.data, C + j, -1e4);
    }
    for (int s = 0; s < n; s++) {
        if (!runs(&sets[s])) continue;
        float loss, grad[ROWS * C];
        check_loss(&sets[s], &p, 0);
        check_loss(&sets[s], &p, 0.1f);
        sets[s].loss(2, C, p.logits.data, p.labels.data, 0, 0.5f, &loss);
        CU_ASSERT_DOUBLE_EQUAL((double)loss, log(10), 3e-7);
        sets[s].grad(ROWS, C, p.logits.data, p.labels.data, 0.1f, 1, grad);
        for (int i = 0; i < ROWS * C; i++) CU_ASSERT(fabsf(grad[i]) <= 1);
        CU_ASSERT_DOUBLE_EQUAL((double)grad[1], 0.1 - 0.01, 1e-7);
    }
    problem_free(&p);
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
    int n;
    const pod_softmax *sets = pod_softmax_sets(&n);
    for (int s = 0; s < n; s++) {
        if (!runs(&sets[s])) continue;
        float got = -1;
        sets[s].correct(ROWS, C, logits, labels, &got);
        CU_ASSERT_EQUAL(got, 4.0f);
        sets[s].correct(0, C, logits, labels, &got);
        CU_ASSERT_EQUAL(got, 0.0f);
    }
}

/* A NaN reaches the loss and its own row's gradient; a class of probability 0 does no harm. */
static void test_not_numbers(void)
{
    enum { C = 3 };
    const float logits[3 * C] = {1, NAN, 2, 0, -INFINITY, 0, 1, 2, 3};
    const int32_t labels[3] = {0, 0, 1};
    int n;
    const pod_softmax *sets = pod_softmax_sets(&n);
    for (int s = 0; s < n; s++) {
        if (!runs(&sets[s])) continue;
        float loss, grad[3 * C];
        sets[s].loss(3, C, logits, labels, 0, 1, &loss);
        CU_ASSERT(isnan(loss));
        sets[s].loss(1, C, logits + C, labels, 0, 1, &loss);
        CU_ASSERT_DOUBLE_EQUAL((double)loss, log(2), 1e-7);
        sets[s].grad(3, C, logits, labels, 0, 1, grad);
        for (int i = 0; i < 3 * C; i++) CU_ASSERT_EQUAL(!isnan(grad[i]), i >= C);
        CU_ASSERT_EQUAL(grad[C + 1], 0);
    }
}

static CU_TestInfo tests[] = {
    {"sets", test_sets},       {"shapes", test_shapes},           {"large", test_large},
    {"correct", test_correct}, {"not_numbers", test_not_numbers}, CU_TEST_INFO_NULL};

CU_SuiteInfo pod_test_suites[] = {{"softmax", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
