/* Scores of repeated runs: against sums by hand, and Student's t against published quantiles
 * (NIST/SEMATECH e-Handbook, 1.3.6.7.2). */
#include <math.h>

#include "runtime/goodput/score.h"
#include "tests/harness/harness.h"

static const double missed = (double)INFINITY;

static bool is_near(double got, double want) { return fabs(got - want) <= 1e-12 * fabs(want); }

/* Five runs of 3.5 to 7.5: the mean of 4.5, 5.5 and 6.5. */
static void test_without_extremes(void)
{
    const double time_s[] = {5.5, 7.5, 3.5, 6.5, 4.5};
    const pod_score s = pod_score_of(time_s, 5);
    CU_ASSERT(s.is_valid);
    CU_ASSERT_EQUAL(s.n_reached, 5);
    CU_ASSERT(is_near(s.score_s, 5.5));
    CU_ASSERT(is_near(s.mean_s, 5.5));
    CU_ASSERT_EQUAL(s.least_s, 3.5);
    CU_ASSERT_EQUAL(s.most_s, 7.5);
}

/* One that missed is the slowest, so only the fastest of the others is left out: (5.5 + 6.5 + 7.5) / 3
 * where that of 3.5 missed. */
static void test_one_missed(void)
{
    const double time_s[] = {5.5, 7.5, missed, 6.5, 4.5};
    const pod_score s = pod_score_of(time_s, 5);
    CU_ASSERT(s.is_valid);
    CU_ASSERT_EQUAL(s.n_reached, 4);
    CU_ASSERT(is_near(s.score_s, 6.5));
    CU_ASSERT(is_near(s.mean_s, 6));
}

static void test_no_score(void)
{
    const double two_missed[] = {5.5, missed, missed, 6.5, 4.5};
    const double two[] = {1, 2}, none[] = {missed, missed, missed};
    CU_ASSERT(!pod_score_of(two_missed, 5).is_valid);
    CU_ASSERT(is_near(pod_score_of(two_missed, 5).mean_s, 5.5));
    CU_ASSERT(!pod_score_of(two, 2).is_valid);
    CU_ASSERT(is_near(pod_score_of(two, 2).mean_s, 1.5));
    CU_ASSERT(!pod_score_of(none, 3).is_valid);
    CU_ASSERT_EQUAL(pod_score_of(none, 3).n_reached, 0);
}

static void test_least_runs(void)
{
    const double three[] = {9, 4, 7}, with_a_miss[] = {9, missed, 7};
    CU_ASSERT(is_near(pod_score_of(three, 3).score_s, 7));
    CU_ASSERT(pod_score_of(with_a_miss, 3).is_valid);
    CU_ASSERT(is_near(pod_score_of(with_a_miss, 3).score_s, 9));
}

/* Of 1, 2, 3, 4, 5 the mean is 3, the deviation sqrt(2.5), and t of 4 degrees 2.776445. */
static void test_interval(void)
{
    const double time_s[] = {1, 2, 3, 4, 5}, one[] = {4};
    const pod_score s = pod_score_of(time_s, 5);
    const double half = 2.7764451051977987 * sqrt(2.5 / 5);
    CU_ASSERT(fabs(s.low_s - (3 - half)) < 1e-12);
    CU_ASSERT(fabs(s.high_s - (3 + half)) < 1e-12);
    CU_ASSERT_EQUAL(pod_score_of(one, 1).mean_s, 4);
}

/* Within t of one degree lies 2/pi atan(t), of two t / sqrt(2 + t^2). */
static void test_student(void)
{
    static const struct {
        double share;
        int df;
        double t;
    } known[] = {{0.95, 1, 12.706}, {0.95, 2, 4.303},  {0.95, 3, 3.182},  {0.95, 4, 2.776},
                 {0.95, 9, 2.262},  {0.95, 10, 2.228}, {0.95, 29, 2.045}, {0.95, 100, 1.984},
                 {0.90, 5, 2.015},  {0.99, 7, 3.499},  {0.998, 4, 7.173}, {0.80, 30, 1.310}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const double t = pod_student_t(known[i].share, known[i].df);
        POD_CHECK(fabs(t - known[i].t) <= 0.0005 + 1e-9, "share %g, %d degrees: %.6f, want %.3f",
                  known[i].share, known[i].df, t, known[i].t);
    }
    for (double share = 0.05; share < 1; share += 0.1) {
        const double t = pod_student_t(share, 2);
        POD_CHECK(fabs(t / sqrt(2 + t * t) - share) < 1e-14, "share %g", share);
        const double want = tan(acos(-1.0) / 2 * share); /* whose slope is 1 + t^2 */
        POD_CHECK(fabs(pod_student_t(share, 1) - want) < 1e-14 * (1 + want * want), "share %g",
                  share);
    }
}

POD_TEST_SUITE("runtime.score", {"the fastest and the slowest are left out", test_without_extremes},
               {"a run that missed is the slowest", test_one_missed},
               {"two that missed, or two runs, make no score", test_no_score},
               {"three runs are enough", test_least_runs}, {"interval of the mean", test_interval},
               {"Student's t", test_student});
