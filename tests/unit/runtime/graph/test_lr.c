/* Learning-rate schedules against hand-made numbers, and their shapes. */
#include <math.h>

#include "runtime/optim/lr.h"
#include "tests/harness/harness.h"

/* A few roundings of double in numbers up to 32. */
static const double BOUND = 64 * 0x1p-53 * 32;

static const pod_lr warmed[POD_N_LR_KINDS] = {
    {.kind = POD_LR_CONSTANT, .base = 8, .warmup_steps = 4, .train_steps = 13},
    {.kind = POD_LR_POLY, .base = 9, .end = 1, .warmup_steps = 4, .train_steps = 13, .power = 2},
    {.kind = POD_LR_EXP, .base = 8, .warmup_steps = 4, .decay_rate = 0.5, .decay_steps = 2.5},
    {.kind = POD_LR_COSINE, .base = 9, .end = 1, .warmup_steps = 4, .train_steps = 12},
    {.kind = POD_LR_NOAM, .base = 8, .warmup_steps = 4, .train_steps = 13},
};

static void by_hand(void)
{
    static const struct {
        pod_lr_kind kind;
        int64_t step;
        double want;
        const char *how;
    } cases[] = {
        {POD_LR_CONSTANT, 0, 0, "8 * 0/4"},
        {POD_LR_CONSTANT, 1, 2, "8 * 1/4"},
        {POD_LR_CONSTANT, 3, 6, "8 * 3/4"},
        {POD_LR_CONSTANT, 4, 8, "base"},
        {POD_LR_CONSTANT, 1000000, 8, "base"},
        /* T = 13 - 4 + 1 = 10 */
        {POD_LR_POLY, 0, 0, "9 * 0/4"},
        {POD_LR_POLY, 3, 6.75, "9 * 3/4"},
        {POD_LR_POLY, 4, 9, "base at the end of the warm-up"},
        {POD_LR_POLY, 5, 7.48, "p = 1: 8 * 0.81 + 1"},
        {POD_LR_POLY, 9, 3, "p = 5: 8 * 0.25 + 1"},
        {POD_LR_POLY, 12, 1.32, "the last step, p = 8: 8 * 0.04 + 1"},
        {POD_LR_POLY, 13, 1.08, "p = 9: 8 * 0.01 + 1"},
        {POD_LR_POLY, 14, 1, "p = T"},
        {POD_LR_POLY, 99, 1, "p > T"},
        /* stairs at 2.5, 5, 7.5, 10: the warm-up hides the first one */
        {POD_LR_EXP, 0, 0, "8 * 0/4"},
        {POD_LR_EXP, 3, 6, "8 * 3/4"},
        {POD_LR_EXP, 4, 4, "one stair"},
        {POD_LR_EXP, 5, 2, "two stairs"},
        {POD_LR_EXP, 7, 2, "still two"},
        {POD_LR_EXP, 8, 1, "three stairs"},
        {POD_LR_EXP, 10, 0.5, "four stairs"},
        {POD_LR_COSINE, 2, 4.5, "9 * 2/4"},
        {POD_LR_COSINE, 4, 9, "cos 0"},
        {POD_LR_COSINE, 6, 1 + 4 * (1 + 0.70710678118654752440), "cos pi/4"},
        {POD_LR_COSINE, 8, 5, "cos pi/2"},
        {POD_LR_COSINE, 10, 1 + 4 * (1 - 0.70710678118654752440), "cos 3pi/4"},
        {POD_LR_COSINE, 12, 1, "cos pi"},
        {POD_LR_COSINE, 50, 1, "behind the end"},
        {POD_LR_NOAM, 1, 2, "8 * 1/4"},
        {POD_LR_NOAM, 4, 8, "base"},
        {POD_LR_NOAM, 16, 4, "8 sqrt(4/16)"},
        {POD_LR_NOAM, 64, 2, "8 sqrt(4/64)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double got = pod_lr_at(&warmed[cases[i].kind], cases[i].step);
        POD_CHECK(pod_test_near(got, cases[i].want, BOUND), "%s step %d: %.17g, want %.17g (%s)",
                  pod_lr_print(cases[i].kind), (int)cases[i].step, got, cases[i].want,
                  cases[i].how);
    }
}

/* The numbers of an MLPerf v0.7 submission at batch 4096: 13 by 2 epochs of 313 steps, power 2,
 * 12169 steps in all. */
static void mlperf_poly(void)
{
    const pod_lr lr = {.kind = POD_LR_POLY,
                       .base = 13,
                       .end = 1e-4,
                       .warmup_steps = 626,
                       .train_steps = 12169,
                       .power = 2};
    for (int64_t s = 0; s < 12400; s += 7) {
        double want;
        if (s <= 626) {
            want = 13.0 * (double)s / 626.0;
        } else {
            double p = fmin((double)s - 626, 11544), left = 1 - p / 11544;
            want = (13 - 1e-4) * left * left + 1e-4;
        }
        double got = pod_lr_at(&lr, s);
        POD_CHECK(pod_test_near(got, want, BOUND), "step %d: %.17g, want %.17g", (int)s, got, want);
    }
}

/* The rates in the logs of two MLPerf v0.7 submissions of BERT at batch 3072: 1141 steps, a warm-up
 * of 100, which in the second has begun 76 steps before; and the v4-16 run, without a warm-up. */
static void mlperf_bert(void)
{
    const pod_lr first = {.kind = POD_LR_POLY,
                          .base = 1.5e-3,
                          .warmup_steps = 100,
                          .train_steps = 1141,
                          .power = 1,
                          .from_start = true};
    pod_lr second = first, third = first;
    second.warmup_start = -76;
    third.warmup_steps = 0;
    third.base = 3.5e-4;
    third.train_steps = 13700;
    const struct {
        const pod_lr *lr;
        int64_t step;
        double want;
    } rows[] = {{&first, 0, 0},
                {&first, 99, 1.485e-3},
                {&first, 100, 1.5e-3 * (1 - 100.0 / 1141)},
                {&first, 570, 1.5e-3 * (1 - 570.0 / 1141)},
                {&first, 1141, 0},
                {&first, 2000, 0},
                {&second, 0, 1.5e-3 * 0.76},
                {&second, 23, 1.5e-3 * 0.99},
                {&second, 24, 1.5e-3 * (1 - 24.0 / 1141)},
                {&third, 0, 3.5e-4},
                {&third, 6850, 1.75e-4}};
    /* Whatever the schedule, a warm-up that begins elsewhere is the same curve, shifted. */
    for (int k = 0; k < POD_N_LR_KINDS; k++) {
        pod_lr shifted = warmed[k];
        if (k == POD_LR_EXP) continue; /* its stairs count from step 0 */
        shifted.warmup_start = 3;
        shifted.train_steps += 3;
        for (int64_t s = 0; s < 20; s++)
            POD_CHECK(pod_test_near(pod_lr_at(&shifted, s + 3), pod_lr_at(&warmed[k], s), BOUND),
                      "%s: %g at step %d", pod_lr_print((pod_lr_kind)k), pod_lr_at(&shifted, s + 3),
                      (int)s + 3);
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        POD_CHECK(pod_test_near(pod_lr_at(rows[i].lr, rows[i].step), rows[i].want, BOUND),
                  "row %d: %.17g, want %.17g", (int)i, pod_lr_at(rows[i].lr, rows[i].step),
                  rows[i].want);
}

/* Without a warm-up every schedule starts at base (poly with p = 1), and so does the end of one. */
static void starts_at_base(void)
{
    for (int k = 0; k < POD_N_LR_KINDS; k++) {
        pod_lr lr = warmed[k];
        lr.decay_steps = 100; /* longer than the warm-up */
        double top = pod_lr_at(&lr, 4), below = pod_lr_at(&lr, 3);
        POD_CHECK(pod_test_near(top, lr.base, BOUND), "%s: %g at the end of the warm-up, want %g",
                  pod_lr_print(lr.kind), top, lr.base);
        POD_CHECK(pod_test_near(below, lr.base * 0.75, BOUND), "%s: %g before",
                  pod_lr_print(lr.kind), below);
        lr.warmup_steps = 0;
        double want = lr.base;
        if (k == POD_LR_POLY) want = 8 * (13.0 / 14) * (13.0 / 14) + 1; /* T = 14 */
        POD_CHECK(pod_test_near(pod_lr_at(&lr, 0), want, BOUND), "%s: starts at %g, want %g",
                  pod_lr_print(lr.kind), pod_lr_at(&lr, 0), want);
    }
}

/* Up to the end of the warm-up nothing falls, behind it nothing rises, nowhere a rate leaves
 * [0, base]; also where the run ends inside the warm-up. */
static void keeps_its_shape(void)
{
    for (int k = 0; k < POD_N_LR_KINDS; k++)
        for (int64_t train = 1; train < 20; train++) {
            pod_lr lr = warmed[k];
            lr.train_steps = train;
            double before = 0;
            for (int64_t s = 0; s < 30; s++) {
                double now = pod_lr_at(&lr, s);
                bool fits = s < 4 ? now >= before : s == 4 || now <= before;
                POD_CHECK(fits && now >= 0 && now <= lr.base, "%s of %d steps: %g at %d after %g",
                          pod_lr_print(lr.kind), (int)train, now, (int)s, before);
                before = now;
            }
        }
}

static void names(void)
{
    for (int k = 0; k < POD_N_LR_KINDS; k++) {
        pod_lr_kind back = POD_N_LR_KINDS;
        POD_CHECK_OK(pod_lr_parse(pod_lr_print((pod_lr_kind)k), &back));
        POD_CHECK((int)back == k, "%s parses as %d", pod_lr_print((pod_lr_kind)k), (int)back);
    }
    pod_lr_kind kind = POD_LR_COSINE;
    POD_CHECK_FAILS(pod_lr_parse("linear", &kind), POD_E_INVALID,
                    "'linear': the kinds are constant poly exp cosine noam");
    POD_CHECK(kind == POD_LR_COSINE, "a failure changed the kind to %d", (int)kind);
}

POD_TEST_SUITE("runtime.lr", {"by_hand", by_hand}, {"mlperf_poly", mlperf_poly},
               {"mlperf_bert", mlperf_bert}, {"starts_at_base", starts_at_base},
               {"keeps_its_shape", keeps_its_shape}, {"names", names});
