/* A job's categories by stretches of its time, redone in comments; what its steps deviate by; and
 * what would have helped it. */
#include <math.h>
#include <string.h>

#include "runtime/goodput/advice.h"
#include "tests/harness/harness.h"

static const pod_stamp second = 1000000000, begun = 1700000000000000000;

static pod_stamp at(double s) { return begun + (pod_stamp)(s * 1e9); }

/* Two ranks alike, seconds: 0-2 start-up; 2-4 and 4-6 steps 1 and 2, each with 0.5 for input and 0.5
 * to save; 7-9 saving, which is whole then; 9-11 step 3; ends well at 12. */
typedef struct made {
    pod_job job;
    pod_job_part part[2];
    pod_job_mark mark[2];
    pod_job_step step[3];
    int64_t kept;
    pod_stamp kept_at;
} made;

static void make(made *m)
{
    *m = (made){.kept = 2,
                .kept_at = at(9) - 1,
                .mark = {{POD_JOB_BUILD, at(0), at(2)}, {POD_JOB_SAVE, at(7), at(9)}},
                .step = {{1, at(2), at(4), second / 2, 0, second / 2, 0},
                         {2, at(4), at(6), second / 2, 0, second / 2, 0},
                         {3, at(9), at(11), second / 2, 0, second / 2, 0}}};
    for (int r = 0; r < 2; r++)
        m->part[r] = (pod_job_part){.head = {.attempt = 1, .rank = r, .ranks = 2, .begin = at(0)},
                                    .n_marks = 2,
                                    .mark = m->mark,
                                    .n_steps = 3,
                                    .step = m->step,
                                    .end = POD_JOB_END_OK,
                                    .end_text = "",
                                    .last = at(12)};
    m->part[0].n_kept = 1;
    m->part[0].kept = &m->kept;
    m->part[0].kept_at = &m->kept_at;
    m->job = (pod_job){.dir = "dir", .n_parts = 2, .part = m->part};
}

/* Of each rank, by 4 s: 2 start-up, 0.5 input, 1 step, 0.5 save; the same step without start-up, 1 s
 * of nothing, 1 save; 1 save, 0.5 input, 1 step, 0.5 save, 1 of nothing. */
static void thirds_of_a_job(void)
{
    static const struct {
        pod_job_span span;
        double s[3];
    } want[] = {{POD_JOB_BUILD, {2, 0, 0}},
                {POD_JOB_INPUT_WAIT, {0.5, 0.5, 0.5}},
                {POD_JOB_STEP, {1, 1, 1}},
                {POD_JOB_SAVE, {0.5, 1.5, 1.5}},
                {POD_JOB_OTHER, {0, 1, 1}}};
    made m;
    pod_account x[3];
    make(&m);
    POD_CHECK_OK(pod_account_cut(&m.job, 0, at(0), at(12), x, 3));
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(x[i].wall, 8 * second);
        CU_ASSERT_EQUAL(pod_account_runtime_goodput(&x[i]), 0.25);
        for (size_t k = 0; k < sizeof want / sizeof want[0]; k++)
            POD_CHECK(x[i].by_span[want[k].span] == (pod_stamp)(2e9 * want[k].s[i]),
                      "part %d has %g s of %s", i,
                      pod_stamp_seconds(x[i].by_span[want[k].span]) / 2,
                      pod_job_span_name(want[k].span));
    }
}

/* Odd parts close as well, and windows may overlap: the last 5 s are half a save behind, 7 to 12. */
static void parts_close(void)
{
    enum { N = 7 };
    made m;
    pod_account x[N] = {{0}};
    pod_account all = {0};
    pod_stamp wall = 0, by[POD_N_JOB_SPANS] = {0};
    make(&m);
    m.job.part = m.part;
    POD_CHECK_OK(pod_account_of(&m.job, 0, &all));
    POD_CHECK_OK(pod_account_cut(&m.job, 0, all.begin, all.end, x, N));
    for (int i = 0; i < N; i++) {
        wall += x[i].wall;
        for (int s = 0; s < POD_N_JOB_SPANS; s++) by[s] += x[i].by_span[s];
        CU_ASSERT_TRUE(i == 0 || x[i].begin == x[i - 1].end);
    }
    CU_ASSERT_EQUAL(wall, all.wall);
    CU_ASSERT_EQUAL(memcmp(by, all.by_span, sizeof by), 0);
    pod_account last[2] = {{.begin = at(7), .end = at(12)}, {.begin = at(12), .end = at(12)}};
    POD_CHECK_OK(pod_account_fill(&m.job, 0, last, 2));
    CU_ASSERT_EQUAL(last[0].wall, 10 * second);
    CU_ASSERT_EQUAL(last[0].by_span[POD_JOB_SAVE], 5 * second);
    CU_ASSERT_EQUAL(last[1].wall, 0);
    CU_ASSERT_TRUE(isnan(pod_account_runtime_goodput(&last[1])));
}

/* While it runs step 3, in the last third, is not saved yet. With no checkpoint at all no step is,
 * which is no 0 % of any third. Cumulative is what the account says. */
static void parts_of_a_job_that_runs(void)
{
    made m;
    pod_account x[3], whole = {.begin = at(0), .end = at(12)};
    pod_account all = {0};
    make(&m);
    m.part[0].end = m.part[1].end = POD_JOB_END_NONE;
    for (int n_kept = 1; n_kept >= 0; n_kept--) {
        m.part[0].n_kept = n_kept;
        POD_CHECK_OK(pod_account_of(&m.job, at(12), &all));
        POD_CHECK_OK(pod_account_cut(&m.job, at(12), at(0), at(12), x, 3));
        POD_CHECK_OK(pod_account_fill(&m.job, at(12), &whole, 1));
        for (int i = 0; i < 3; i++) {
            const bool is_kept = n_kept > 0 && i < 2;
            CU_ASSERT_EQUAL(x[i].by_span[POD_JOB_STEP], 2 * second);
            CU_ASSERT_EQUAL(x[i].unsaved, is_kept ? 0 : 2 * second);
            CU_ASSERT_EQUAL(pod_account_productive(&x[i]), is_kept ? 2 * second : 0);
            const double goodput = pod_account_runtime_goodput(&x[i]);
            CU_ASSERT_TRUE(n_kept > 0 ? goodput == (is_kept ? 0.25 : 0) : isnan(goodput));
        }
        CU_ASSERT_EQUAL(whole.unsaved, all.unsaved);
        CU_ASSERT_TRUE(pod_account_runtime_goodput(&whole) == pod_account_runtime_goodput(&all) ||
                       n_kept == 0);
    }
}

/* ---- deviation ------------------------------------------------------------------------------- */

/* 2,000 steps: 1 s, then 1,000 of 2 s of which the last 20 take 3 s: the baseline is 2, 90 % of the
 * last 100 take 3 at most. An undisturbed one: the median is 1.5, and nothing is near it. */
static void deviation_of_steps(void)
{
    enum { N = 2000 };
    static double s[N];
    pod_deviation d = {0};
    for (int i = 0; i < N; i++) s[i] = i < 1000 ? 1 : i < N - 20 ? 2 : 3;
    POD_CHECK_OK(pod_deviation_of_steps(s, N, &d));
    CU_ASSERT_EQUAL(d.baseline_s, 2);
    CU_ASSERT_EQUAL(d.recent_s, 3);
    CU_ASSERT_EQUAL(d.deviation, 0.5);
    CU_ASSERT_EQUAL(d.median_s, 1.5);
    for (int i = 0; i < N; i++) s[i] = i % 10 == 9 ? 50 : i % 2 ? 1.1 : 0.9;
    POD_CHECK_OK(pod_deviation_of_steps(s, N, &d)); /* 0.9 five times, 1.1 four times of ten */
    POD_CHECK(fabs(d.undisturbed_s - (5 * 0.9 + 4 * 1.1) / 9) < 1e-9, "%g", d.undisturbed_s);
    POD_CHECK_OK(pod_deviation_of_steps(s, 0, &d));
    CU_ASSERT_TRUE(isnan(d.undisturbed_s) && isnan(d.deviation) && d.n_steps == 0);
    POD_CHECK_OK(pod_deviation_of_steps(s, 1, &d));
    CU_ASSERT_TRUE(d.undisturbed_s == 0.9 && d.deviation == 0);
}

/* Steps 2 and 3, of the rank that took longer: 2 s and 3 s. */
static void deviation_of_a_job(void)
{
    made m;
    pod_deviation d = {0};
    pod_job_step other[3];
    make(&m);
    memcpy(other, m.step, sizeof other);
    other[2].end += second;
    m.part[1].step = other;
    POD_CHECK_OK(pod_deviation_of(&m.job, &d));
    CU_ASSERT_EQUAL(d.n_steps, 2);
    CU_ASSERT_EQUAL(d.median_s, 2.5);
    CU_ASSERT_EQUAL(d.recent_s, 3);
}

/* ---- advice ---------------------------------------------------------------------------------- */

typedef struct advised {
    int n;
    pod_advice at[POD_MAX_ADVICE];
} advised;

/* `s` NULL: no rank is slow. */
static advised advise(const pod_job *j, const pod_stragglers *s)
{
    const pod_stragglers none = {0};
    pod_account sum = {0};
    advised v = {.n = 0};
    POD_CHECK_OK(pod_account_of(j, 0, &sum));
    POD_CHECK_OK(pod_advise(pod_test_arena(), j, &sum, s ? s : &none, v.at, &v.n));
    for (int i = 1; i < v.n; i++) CU_ASSERT_TRUE(v.at[i].gain <= v.at[i - 1].gain);
    return v;
}

/* That it stands there, with this gain. */
static void check_advice(const advised *v, double gain, const char *part)
{
    int i = 0;
    while (i < v->n && !strstr(v->at[i].text, part)) i++;
    POD_CHECK(i < v->n && fabs(v->at[i].gain - gain) < 1e-9, "want %g, '%s', found %g, '%s'", gain,
              part, i < v->n ? v->at[i].gain : 0, v->n > 0 ? v->at[0].text : "nothing");
}

/* Of 12 s a rank: 2 s between steps and 1.5 within to save; 1.5 waiting for input; 2 starting, which
 * would be 2 of 22 s. A checkpoint that is whole a step later was not waited for: no word of it. */
static void advice_by_hand(void)
{
    made m;
    make(&m);
    advised v = advise(&m.job, NULL);
    CU_ASSERT_EQUAL(v.n, 3);
    check_advice(&v, 3.5 / 12, "asynchronous checkpoints (--checkpoint async) would win back");
    check_advice(&v, 1.5 / 12, "waits for input took 3 s");
    check_advice(&v, 2. / 12 - 2. / 22, "starting took 4 s of rank time in 1 attempt, 16.7 %");
    m.kept_at = at(9.5);
    v = advise(&m.job, NULL);
    CU_ASSERT_EQUAL(v.n, 2);
    check_advice(&v, 1.5 / 12, "waits for input took 3 s");
}

/* Slow ranks and all-reduces are shares of the steps, which are 3 s of 12: 40 % and 10 % of them. */
static void advice_on_steps(void)
{
    made m;
    const pod_rank_pace rank[2] = {{.factor = 1}, {.is_slow = true, .factor = 2}};
    const pod_stragglers s = {.n_ranks = 2,
                              .n_slow = 1,
                              .n_steps = 100,
                              .rank = rank,
                              .steps_s = 10,
                              .gain_s = 4,
                              .exposed_s = 1};
    make(&m);
    m.part[0].n_marks = m.part[1].n_marks = 0;
    for (int i = 0; i < 3; i++) m.step[i].input = m.step[i].save = 0;
    const advised v = advise(&m.job, &s); /* of 12 s: steps of 2 s each */
    CU_ASSERT_EQUAL(v.n, 2);
    check_advice(&v, 0.4 * 6 / 12,
                 "rank 1 as fast as the others: steps 40.0 % shorter (60 ms instead of 100)");
    check_advice(&v, 0.1 * 6 / 12, "10 ms of a step's 100 ms are waited for");
}

/* Steps of a second behind step `from`, one after the other from second `begin_s` on. */
static void fill_steps(pod_job_step step[], int n, int64_t from, double begin_s)
{
    for (int i = 0; i < n; i++)
        step[i] = (pod_job_step){
            .step = from + i + 1, .begin = at(begin_s + i), .end = at(begin_s + i + 1)};
}

/* The one rank of an attempt that began as its first step, or as `begin_s`. */
static pod_job_part part_of(int attempt, double begin_s, int64_t from, const pod_job_step step[],
                            int n, pod_job_end_kind end, double last_s)
{
    return (pod_job_part){.head = {.attempt = attempt, .ranks = 1, .begin = at(begin_s)},
                          .first_step = from,
                          .n_steps = n,
                          .step = step,
                          .end = end,
                          .end_text = "",
                          .last = at(last_s)};
}

static void keep(pod_job_part *p, const int64_t *step, const pod_stamp *kept_at)
{
    p->n_kept = 1;
    p->kept = step;
    p->kept_at = kept_at;
}

/* One rank, 1 s steps without a gap: 1 to 60, of which a checkpoint at 50 took 0.5 s of its step and
 * was whole 2 s later; it is killed and goes on from 50 to 100 at once. 110 s and one disruption:
 * Young's interval for saves of 0.5 s is sqrt(110) = 10.49 s; it was 110 s. One that is whole after
 * 20 s cannot come more often. */
static void advice_on_checkpoints(void)
{
    static pod_job_step first[60], then[50];
    static const int64_t kept = 50;
    pod_stamp kept_at = at(52);
    fill_steps(first, 60, 0, 0);
    fill_steps(then, 50, 50, 60);
    first[49].save = second / 2;
    pod_job_part part[2] = {part_of(1, 0, 0, first, 60, POD_JOB_END_NONE, 60),
                            part_of(2, 60, 50, then, 50, POD_JOB_END_OK, 110)};
    keep(&part[0], &kept, &kept_at);
    const pod_job j = {.dir = "dir", .n_parts = 2, .part = part};
    advised v = advise(&j, NULL);
    CU_ASSERT_EQUAL(v.n, 1);
    const double best_s = sqrt(110);
    check_advice(&v, 0.5 / 110 + 0.5 - (0.5 / best_s + best_s / 220),
                 "checkpoints every 10 steps (10.5 s) instead of every 110 (110 s)");
    kept_at = at(70);
    v = advise(&j, NULL);
    CU_ASSERT_EQUAL(v.n, 1);
    check_advice(&v, 0.5 / 110 + 0.5 - (0.5 / 20 + 20. / 220), "and is whole after 20 s");
    first[49].save = 0; /* saving cost nothing that was measured: there is nothing to weigh */
    CU_ASSERT_EQUAL(advise(&j, NULL).n, 0);
    part[0].n_kept = 0; /* nothing was saved: what was lost is 10 of 110 s */
    v = advise(&j, NULL);
    CU_ASSERT_EQUAL(v.n, 1);
    check_advice(&v, 10. / 110, "10 steps were lost, none was saved");
}

/* One rank. Attempt 1, launched at 0, does steps of 1 s from 1 on, is killed at 41 and seen dead at 45;
 * the next begins at 55, its record at 60: 45 - 42 + 10 + 5 s of recovery, where 1 s goes to the step
 * that was begun. Saves of 0.1 s at steps 10, 20 and 30: that of 10 becomes whole, 20 and 30 do not:
 * those may have been under way as it died. With one more at step 40, that of 20 has failed: no save
 * is behind two others. It goes on from 10: 10 steps would not have been lost. */
static void advice_on_disruptions(void)
{
    static pod_job_step first[40], then[30];
    static const int64_t kept = 10;
    const pod_stamp kept_at = at(13);
    fill_steps(first, 40, 0, 1);
    fill_steps(then, 30, 10, 60);
    first[9].save = first[19].save = first[29].save = second / 10;
    pod_job_part part[2] = {part_of(1, 1, 0, first, 40, POD_JOB_END_NONE, 41),
                            part_of(2, 60, 10, then, 30, POD_JOB_END_OK, 90)};
    keep(&part[0], &kept, &kept_at);
    const pod_job_attempt launched[2] = {{1, 1, 1, at(0), at(45), "killed", ""},
                                         {2, 0, 1, at(55), at(90), "ok", ""}};
    pod_job j = {.dir = "dir", .n_parts = 2, .part = part, .n_attempts = 2, .attempt = launched};
    pod_saves s = pod_saves_of(&j);
    CU_ASSERT_TRUE(s.n_begun == 3 && s.n_kept == 1 && s.n_failed == 0 && s.failed_s == 0);
    advised v = advise(&j, NULL);
    check_advice(&v, 18. / 90,
                 "1 disruption cost 18 s of rank time until ranks were back, up to 20.0 points of "
                 "runtime goodput: 3 s until the end was seen (--watchdog), 10 s of pauses "
                 "(--backoff), 5 s of starts");
    first[39].save = second / 10;
    s = pod_saves_of(&j);
    CU_ASSERT_TRUE(s.n_begun == 4 && s.n_failed == 1 && s.n_failed_steps == 10);
    CU_ASSERT_DOUBLE_EQUAL(s.failed_s, 9.9, 1e-9); /* without the copy of step 20 */
    part[0].end = POD_JOB_END_FAILED;              /* which waits for what is under way */
    s = pod_saves_of(&j);
    CU_ASSERT_TRUE(s.n_failed == 3 && s.n_failed_steps == 30);
    v = advise(&j, NULL);
    check_advice(
        &v, 29.7 / 90,
        "3 of 4 failed, which cost 29.7 s of rank time, 33.0 points of runtime goodput: 30 "
        "steps that they would have kept were lost");
    j.n_attempts = 0; /* nobody launched it: it ended at 41, and began again at 60 */
    v = advise(&j, NULL);
    check_advice(&v, 18. / 89, "minipod launch");
}

/* As above, but the launcher was begun again by hand: what lies between the two launches is nobody's, and
 * what the second one's rank took to start is no time in which an end was not seen. */
static void advice_on_a_second_launch(void)
{
    const pod_job_step done = {.step = 1, .begin = at(1), .end = at(41)};
    const pod_job_step then = {.step = 2, .begin = at(60), .end = at(90)};
    const pod_job_part part[2] = {part_of(1, 1, 0, &done, 1, POD_JOB_END_FAILED, 41),
                                  part_of(2, 60, 1, &then, 1, POD_JOB_END_OK, 90)};
    const pod_job_attempt launched[2] = {{1, 1, 1, at(0), at(41), "failed", ""},
                                         {2, 0, 2, at(50), at(90), "ok", ""}};
    const pod_job j = {
        .dir = "dir", .n_parts = 2, .part = part, .n_attempts = 2, .attempt = launched};
    const advised v = advise(&j, NULL);
    check_advice(&v, 10. / 81,
                 ": 0 s until the end was seen (--watchdog), 0 s of pauses (--backoff), 10 s of "
                 "starts");
}

static void check_saves(const pod_job *j, int n_begun, int n_failed)
{
    const pod_saves s = pod_saves_of(j);
    POD_CHECK(s.n_begun == n_begun && s.n_failed == n_failed, "%d of %d failed", (int)s.n_failed,
              (int)s.n_begun);
}

/* At step 50 the loss is no number; nothing was to be saved. The span behind it is a wait for nothing.
 * A save that the end asked for has a span of its own before that of the wait. */
static void a_failure_is_no_failed_save(void)
{
    static pod_job_step step[50];
    const pod_job_mark mark[2] = {{POD_JOB_SAVE, at(50.1), at(50.2)},
                                  {POD_JOB_SAVE, at(50.2), at(50.3)}};
    fill_steps(step, 50, 0, 0);
    pod_job_part part = part_of(1, 0, 0, step, 50, POD_JOB_END_FAILED, 51);
    const pod_job j = {.dir = "dir", .n_parts = 1, .part = &part};
    part.n_marks = 1;
    part.mark = mark;
    check_saves(&j, 0, 0);
    part.n_marks = 2;
    check_saves(&j, 1, 1);
    step[49].save = 1; /* of step 50: both are waits */
    check_saves(&j, 1, 1);
}

POD_TEST_SUITE("runtime.interval", {"thirds of a job", thirds_of_a_job},
               {"parts close", parts_close}, {"parts of a job that runs", parts_of_a_job_that_runs},
               {"deviation of steps", deviation_of_steps},
               {"deviation of a job", deviation_of_a_job}, {"advice by hand", advice_by_hand},
               {"advice on steps", advice_on_steps},
               {"advice on checkpoints", advice_on_checkpoints},
               {"advice on disruptions", advice_on_disruptions},
               {"advice on a second launch", advice_on_a_second_launch},
               {"a failure is no failed save", a_failure_is_no_failed_save});
