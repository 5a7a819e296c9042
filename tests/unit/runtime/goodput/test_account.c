/* Accounts of jobs made by hand, redone in comments. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/goodput/account.h"
#include "tests/harness/harness.h"

static const pod_stamp second = 1000000000;

static pod_stamp at(double s) { return (pod_stamp)(s * 1e9); }

/* ---- a job made by hand ---------------------------------------------------------------------
 *
 * Two ranks, all times in seconds, both ranks alike but for what follows a kill.
 *
 *    0     launched;  1: attempt 1 begins;  2: the ranks' records begin
 *    2- 3  TPU_INITIALIZATION;  3- 5 PROGRAM_STARTUP; goes on from step 0
 *    5- 7  step 1;  7- 8 step 2;  8- 9 step 3;  9-10 step 4, 0.25 of it a wait for input
 *          step 2 is kept by a checkpoint. A rank dies in step 5
 *   10.5   the launcher sees the end;  12: attempt 2 begins;  13: its records begin
 *   13-14  TPU_INITIALIZATION;  14-15 restoring; goes on from step 2
 *   15-16.5 step 3;  16.5-17.5 step 4;  17.5-18.5 step 5
 *   18.5-19 saving; step 5 is kept;  19-21 evaluation;  22 ends well;  22.5 the launcher sees it
 *
 * A usual step is 1 s. Of each rank's 22.5 s:
 *   initialization  2 (from launch to record) + 1 + 1                          4
 *   start-up        2, 1 more of step 1 than usual, 0.5 more of step 3 again    3.5
 *   productive      steps 1, 2 of attempt 1 without that; 3, 4, 5 of attempt 2  5
 *   input           in step 4                                                   0.25
 *   wasted          steps 3 and 4: 1 + 0.75; of step 5, 10 to 10.5              2.25
 *   recovery        10.5 to 13                                                  2.5
 *   restore 1, save 0.5, evaluation 2, other 21 to 22: 1, shutdown 0.5
 * Sum 22.5. Runtime goodput 2 x 5 / (2 x 22.5) = 2/9. */

enum { N_RANKS = 2, N_ATTEMPTS = 2, MAX_STEPS = 4, MAX_MARKS = 4 };

typedef struct hand_made {
    pod_job job;
    pod_job_part part[N_ATTEMPTS * N_RANKS];
    pod_job_attempt attempt[N_ATTEMPTS];
    pod_job_mark mark[N_ATTEMPTS * N_RANKS][MAX_MARKS];
    pod_job_step step[N_ATTEMPTS * N_RANKS][MAX_STEPS];
    int64_t kept[N_ATTEMPTS];
    pod_stamp kept_at[N_ATTEMPTS];
} hand_made;

static const struct {
    int attempt;
    pod_job_span span;
    double begin, end;
} hand_marks[] = {
    {0, POD_JOB_INIT, 2, 3},      {0, POD_JOB_BUILD, 3, 5},    {1, POD_JOB_INIT, 13, 14},
    {1, POD_JOB_RESTORE, 14, 15}, {1, POD_JOB_SAVE, 18.5, 19}, {1, POD_JOB_EVAL, 19, 21},
};

static const struct {
    int attempt, step;
    double begin, end, input;
} hand_steps[] = {
    {0, 1, 5, 7, 0},     {0, 2, 7, 8, 0},       {0, 3, 8, 9, 0},       {0, 4, 9, 10, 0.25},
    {1, 3, 15, 16.5, 0}, {1, 4, 16.5, 17.5, 0}, {1, 5, 17.5, 18.5, 0},
};

static void fill_part(hand_made *h, int attempt, int rank)
{
    const int i = attempt * N_RANKS + rank;
    pod_job_part *p = &h->part[i];
    *p = (pod_job_part){.head = {.attempt = attempt + 1,
                                 .rank = rank,
                                 .ranks = N_RANKS,
                                 .begin = at(attempt == 0 ? 2 : 13)},
                        .first_step = attempt == 0 ? 0 : 2,
                        .mark = h->mark[i],
                        .step = h->step[i],
                        .end = attempt == 0 ? POD_JOB_END_NONE : POD_JOB_END_OK,
                        .last = at(attempt == 0 ? 10 : 22)};
    for (size_t k = 0; k < sizeof hand_marks / sizeof hand_marks[0]; k++)
        if (hand_marks[k].attempt == attempt)
            h->mark[i][p->n_marks++] =
                (pod_job_mark){hand_marks[k].span, at(hand_marks[k].begin), at(hand_marks[k].end)};
    for (size_t k = 0; k < sizeof hand_steps / sizeof hand_steps[0]; k++)
        if (hand_steps[k].attempt == attempt)
            h->step[i][p->n_steps++] = (pod_job_step){.step = hand_steps[k].step,
                                                      .begin = at(hand_steps[k].begin),
                                                      .end = at(hand_steps[k].end),
                                                      .input = at(hand_steps[k].input)};
    if (rank > 0) return;
    p->n_kept = 1;
    p->kept = &h->kept[attempt];
    p->kept_at = &h->kept_at[attempt];
    h->kept[attempt] = attempt == 0 ? 2 : 5;
    h->kept_at[attempt] = at(attempt == 0 ? 8.5 : 19);
}

static void make_by_hand(hand_made *h)
{
    *h = (hand_made){0};
    for (int i = 0; i < N_ATTEMPTS; i++)
        for (int r = 0; r < N_RANKS; r++) fill_part(h, i, r);
    h->attempt[0] = (pod_job_attempt){1, 1, 1, at(1), at(10.5), "killed", "rank 1"};
    h->attempt[1] = (pod_job_attempt){2, 0, 1, at(12), at(22.5), "ok", ""};
    h->job = (pod_job){"dir", N_ATTEMPTS * N_RANKS, h->part, N_ATTEMPTS, h->attempt, 0, 0};
    h->job.launch_begin = 1; /* a nanosecond after 0, which is no launch */
    h->attempt[0].begin = at(1);
}

static bool closes(const pod_account *a)
{
    pod_stamp sum = 0;
    for (int s = 0; s < POD_N_JOB_SPANS; s++) {
        if (a->by_span[s] < 0) return false;
        sum += a->by_span[s];
    }
    return sum == a->wall && a->unsaved >= 0 && a->unsaved <= a->by_span[POD_JOB_STEP];
}

typedef struct wanted { /* seconds of one rank, and steps */
    double by[POD_N_JOB_SPANS];
    double unsaved;
    int64_t n_steps, n_lost, n_unsaved, last;
} wanted;

/* In the order of the hand-made job's comment. */
#define SECONDS(init, build, step, input, lost, recovery, other, shutdown)             \
    {                                                                                  \
        [POD_JOB_INIT] = (init), [POD_JOB_BUILD] = (build), [POD_JOB_STEP] = (step),   \
        [POD_JOB_INPUT_WAIT] = (input), [POD_JOB_LOST_STEP] = (lost),                  \
        [POD_JOB_RECOVERY] = (recovery), [POD_JOB_RESTORE] = 1, [POD_JOB_SAVE] = 0.5,  \
        [POD_JOB_EVAL] = 2, [POD_JOB_OTHER] = (other), [POD_JOB_SHUTDOWN] = (shutdown) \
    }

/* Within a nanosecond a rank: the job by hand begins at one. */
static void check(const char *what, const pod_account *a, const wanted *w, int n_ranks)
{
    POD_CHECK(closes(a), "%s: categories do not sum to %.9g s", what, pod_stamp_seconds(a->wall));
    for (int s = 0; s < POD_N_JOB_SPANS; s++)
        POD_CHECK(llabs(a->by_span[s] - n_ranks * at(w->by[s])) <= n_ranks,
                  "%s: %.9g s of %s, want %g", what, pod_stamp_seconds(a->by_span[s]),
                  pod_job_span_name((pod_job_span)s), n_ranks * w->by[s]);
    POD_CHECK(a->unsaved == n_ranks * at(w->unsaved), "%s: %.9g s not saved", what,
              pod_stamp_seconds(a->unsaved));
    POD_CHECK(a->n_steps == w->n_steps && a->n_lost_steps == w->n_lost &&
                  a->n_unsaved_steps == w->n_unsaved && a->max_productive_step == w->last,
              "%s: %d steps, %d lost, %d not saved, the last %d", what, (int)a->n_steps,
              (int)a->n_lost_steps, (int)a->n_unsaved_steps, (int)a->max_productive_step);
}

/* What is changed of the job made by hand, and its account then. */
enum { AS_IT_IS, NO_LAUNCH, FAILED, FAILED_EARLY, STOPPED, STOPPED_UNSAVED, RUNS, UNSAVED };

static const struct {
    const char *what;
    int change;
    double now; /* 0: over */
    int n_disruptions;
    wanted want;
} cases[] = {
    {"as it is", AS_IT_IS, 0, 1, {SECONDS(4, 3.5, 5, 0.25, 2.25, 2.5, 1, 0.5), 0, 5, 2, 0, 5}},
    /* From 2 to 22; the step that was begun could have gone on until 13: a usual one, 1 s. */
    {"not launched", NO_LAUNCH, 0, 1, {SECONDS(2, 3.5, 5, 0.25, 2.75, 2, 1, 0), 0, 5, 2, 0, 5}},
    /* Behind the evaluation, at 21: a begun step until 22, and nobody there until 22.5. */
    {"failed behind its last checkpoint",
     FAILED,
     0,
     2,
     {SECONDS(4, 3.5, 5, 0.25, 3.25, 3, 0, 0), 0, 5, 2, 0, 5}},
    {"failed with a checkpoint of step 4",
     FAILED_EARLY,
     0,
     2,
     {SECONDS(4, 3.5, 4, 0.25, 4.25, 3, 0, 0), 0, 4, 3, 0, 4}},
    {"stopped with a checkpoint of its last step",
     STOPPED,
     0,
     1,
     {SECONDS(4, 3.5, 5, 0.25, 2.25, 2.5, 1, 0.5), 0, 5, 2, 0, 5}},
    {"stopped, and the last checkpoint did not become whole",
     STOPPED_UNSAVED,
     0,
     1,
     {SECONDS(4, 3.5, 3, 0.25, 4.25, 2.5, 1, 0.5), 0, 3, 4, 0, 3}},
    /* Until 25; steps 4 and 5 are not kept yet. */
    {"still runs", RUNS, 25, 1, {SECONDS(4, 3.5, 5, 0.25, 2.25, 2.5, 4, 0), 2, 3, 2, 2, 3}},
    {"ends well without a checkpoint",
     UNSAVED,
     0,
     1,
     {SECONDS(4, 3.5, 5, 0.25, 2.25, 2.5, 1, 0.5), 0, 5, 2, 0, 5}},
};

static void change(hand_made *h, int how)
{
    static const pod_job_end_kind ends[] = {
        [AS_IT_IS] = POD_JOB_END_OK,     [NO_LAUNCH] = POD_JOB_END_OK,
        [FAILED] = POD_JOB_END_FAILED,   [FAILED_EARLY] = POD_JOB_END_FAILED,
        [STOPPED] = POD_JOB_END_STOPPED, [STOPPED_UNSAVED] = POD_JOB_END_STOPPED,
        [RUNS] = POD_JOB_END_NONE,       [UNSAVED] = POD_JOB_END_OK};
    for (int r = 0; r < N_RANKS; r++) h->part[N_RANKS + r].end = ends[how];
    if (how == NO_LAUNCH) h->job.n_attempts = 0, h->job.launch_begin = 0;
    if (how == FAILED_EARLY) h->kept[1] = 4;
    if (how == STOPPED_UNSAVED || how == RUNS) h->kept[1] = 3;
    if (how == RUNS) h->attempt[1].end = 0;
    if (how == UNSAVED) h->part[N_RANKS].n_kept = 0;
}

static void by_hand(void)
{
    hand_made h;
    pod_account a = {0}, one = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_by_hand(&h);
        change(&h, cases[i].change);
        POD_CHECK_OK(pod_account_of(&h.job, at(cases[i].now), &a));
        check(cases[i].what, &a, &cases[i].want, N_RANKS);
        CU_ASSERT_EQUAL(a.n_ranks, N_RANKS);
        CU_ASSERT_EQUAL(a.n_attempts, N_ATTEMPTS);
        CU_ASSERT_EQUAL(a.n_disruptions, cases[i].n_disruptions);
        CU_ASSERT_EQUAL(a.runs, cases[i].change == RUNS);
        for (int r = 0; r < N_RANKS; r++) {
            POD_CHECK_OK(pod_account_rank(&h.job, r, at(cases[i].now), &one));
            check(cases[i].what, &one, &cases[i].want, 1);
        }
    }
    make_by_hand(&h);
    POD_CHECK_OK(pod_account_of(&h.job, 0, &a));
    POD_CHECK(pod_test_near(pod_account_runtime_goodput(&a), 2. / 9, 1e-9), "%.12g",
              pod_account_runtime_goodput(&a));
    CU_ASSERT_TRUE(isnan(pod_account_runtime_goodput(&(pod_account){0})));
    POD_CHECK_FAILS(pod_account_rank(&h.job, 2, 0, &one), POD_E_INVALID, "rank 2 of a job with 2");
}

/* Attempt 2 on one rank alone: 2 x (12 s of attempt 1) + 10.5 s of attempt 2. The rank that is not
 * in it: until 12 it was there, and 10.5 to 12 is its recovery. */
static void with_another_rank_count(void)
{
    hand_made h;
    pod_account a = {0}, one = {0};
    make_by_hand(&h);
    h.part[N_RANKS].head.ranks = 1;
    h.job.n_parts = N_RANKS + 1;
    POD_CHECK_OK(pod_account_of(&h.job, 0, &a));
    CU_ASSERT_TRUE(closes(&a));
    CU_ASSERT_EQUAL(a.n_ranks, 2);
    CU_ASSERT_EQUAL(a.n_steps, 5);
    CU_ASSERT_EQUAL(a.wall, 2 * (12 * second - 1) + 21 * second / 2);
    POD_CHECK_OK(pod_account_rank(&h.job, 1, 0, &one));
    CU_ASSERT_EQUAL(one.wall, 12 * second - 1);
    CU_ASSERT_EQUAL(one.by_span[POD_JOB_STEP], 2 * second);
    CU_ASSERT_EQUAL(one.by_span[POD_JOB_RECOVERY], 3 * second / 2);
    CU_ASSERT_EQUAL(one.n_steps, 2);
}

/* Nobody's: from a clean stop, or from a launch's last try, to the next attempt. */
static void time_given_back_is_not_counted(void)
{
    hand_made h;
    pod_account a = {0};
    make_by_hand(&h);
    h.part[0].end = h.part[1].end = POD_JOB_END_STOPPED; /* 10.5 to 12 */
    POD_CHECK_OK(pod_account_of(&h.job, 0, &a));
    CU_ASSERT_TRUE(closes(&a));
    CU_ASSERT_EQUAL(a.wall, 2 * (21 * second - 1));
    CU_ASSERT_EQUAL(a.n_disruptions, 0);
    CU_ASSERT_EQUAL(a.by_span[POD_JOB_RECOVERY], 0);
    CU_ASSERT_EQUAL(a.by_span[POD_JOB_LOST_STEP],
                    2 * 7 * second / 4); /* from step 2 all the same */
    make_by_hand(&h);
    h.attempt[1].launch = 2;
    POD_CHECK_OK(pod_account_of(&h.job, 0, &a));
    CU_ASSERT_TRUE(closes(&a));
    CU_ASSERT_EQUAL(a.wall, 2 * (21 * second - 1));
    CU_ASSERT_EQUAL(a.n_disruptions, 1);
    CU_ASSERT_EQUAL(a.by_span[POD_JOB_RECOVERY], 2 * second); /* 12 to 13 */
}

/* A rank, or a whole attempt, that was gone before it could write. */
static void what_left_no_record(void)
{
    hand_made h;
    pod_account a = {0};
    make_by_hand(&h);
    h.job.part = h.part + 1; /* rank 0 of attempt 1, and what it kept */
    h.job.n_parts = 3;
    POD_CHECK_OK(pod_account_of(&h.job, 0, &a));
    CU_ASSERT_TRUE(closes(&a));
    CU_ASSERT_EQUAL(a.wall, 2 * (45 * second / 2 - 1));
    CU_ASSERT_EQUAL(a.n_steps, 5);
    CU_ASSERT_EQUAL(a.by_span[POD_JOB_RECOVERY], 5 * second / 2 + 13 * second - 1);
    make_by_hand(&h);
    h.job.part = h.part + N_RANKS;
    h.job.n_parts = N_RANKS;
    POD_CHECK_OK(pod_account_of(&h.job, 0, &a));
    CU_ASSERT_TRUE(closes(&a));
    CU_ASSERT_EQUAL(a.n_attempts, 2);
    CU_ASSERT_EQUAL(a.n_disruptions, 1);
    CU_ASSERT_EQUAL(a.wall, 2 * (45 * second / 2 - 1));
    h.job.n_parts = 0;
    POD_CHECK_FAILS(pod_account_of(&h.job, 0, &a), POD_E_FORMAT, "no rank of any attempt left");
}

/* Another attempt has been started, and has no record yet: the one before is over. */
static void the_next_is_on_its_way(void)
{
    hand_made h;
    pod_account a = {0};
    pod_job_attempt three[3];
    make_by_hand(&h);
    change(&h, RUNS);
    memcpy(three, h.attempt, sizeof h.attempt);
    three[2] = (pod_job_attempt){.attempt = 3, .launch = 1, .begin = at(24)};
    h.job.attempt = three;
    h.job.n_attempts = 3;
    POD_CHECK_OK(pod_account_of(&h.job, at(25), &a));
    CU_ASSERT_TRUE(closes(&a) && !a.runs);
    CU_ASSERT_EQUAL(a.n_attempts, 3);
    CU_ASSERT_EQUAL(a.n_disruptions, 2);
    CU_ASSERT_EQUAL(a.unsaved, 0);
    CU_ASSERT_EQUAL(a.n_lost_steps, 4);
    CU_ASSERT_EQUAL(a.end, at(24));
}

/* Dead behind the first step of all: there is no other to tell what one usually takes. 5 to 7 is
 * step 1, 10.5 the end that the launcher saw, 2 s later at least. */
static void dead_behind_its_first_step(void)
{
    hand_made h;
    pod_account a = {0};
    make_by_hand(&h);
    h.part[0].n_steps = 1;
    h.job.n_parts = 1;
    h.job.n_attempts = 1;
    h.part[0].head.ranks = 1;
    h.part[0].n_kept = 0;
    POD_CHECK_OK(pod_account_of(&h.job, 0, &a));
    CU_ASSERT_TRUE(closes(&a));
    CU_ASSERT_EQUAL(a.by_span[POD_JOB_STEP], 0);
    CU_ASSERT_EQUAL(a.by_span[POD_JOB_LOST_STEP], 4 * second);
    CU_ASSERT_EQUAL(a.by_span[POD_JOB_RECOVERY], 3 * second / 2);
    CU_ASSERT_EQUAL(a.n_lost_steps, 1);
}

/* An attempt that died before it knew where to go on changes nothing of what is kept. */
static void an_attempt_that_did_not_get_there(void)
{
    hand_made h;
    pod_account a = {0};
    make_by_hand(&h);
    for (int r = 0; r < N_RANKS; r++) {
        h.part[N_RANKS + r].first_step = -1;
        h.part[N_RANKS + r].n_steps = 0;
        h.part[N_RANKS + r].n_kept = 0;
        h.part[N_RANKS + r].end = POD_JOB_END_NONE;
    }
    POD_CHECK_OK(pod_account_of(&h.job, 0, &a));
    CU_ASSERT_TRUE(closes(&a));
    CU_ASSERT_EQUAL(a.n_steps, 2);
    CU_ASSERT_EQUAL(a.n_lost_steps, 2);
    CU_ASSERT_EQUAL(a.n_disruptions, 2);
}

/* Failed behind its last step, and the log knows of a checkpoint of step 3: the rank died before it
 * could say that the folder's pointer stands at 5. What the folder has of another job, of more steps
 * than were done, is not this one's; nor does an older one take anything away. */
static void what_the_folder_keeps(void)
{
    hand_made h;
    pod_account a = {0};
    static const struct {
        int64_t in_folder, n_kept;
    } rows[] = {{0, 3}, {5, 5}, {4, 4}, {2, 3}, {9, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        make_by_hand(&h);
        change(&h, FAILED);
        h.kept[1] = 3;
        h.job.kept = rows[i].in_folder;
        POD_CHECK_OK(pod_account_of(&h.job, 0, &a));
        POD_CHECK(closes(&a) && a.n_steps == rows[i].n_kept &&
                      a.max_productive_step == rows[i].n_kept && a.n_lost_steps == 7 - a.n_steps,
                  "a folder with %d: %d steps are kept, %d lost", (int)rows[i].in_folder,
                  (int)a.n_steps, (int)a.n_lost_steps);
    }
}

enum { MOST_RANKS = 40000, ATTEMPTS = 3 };

/* Each rank asks for its own part in all attempts. Where it looked at all others this would take
 * minutes. */
static void many_ranks(void)
{
    static pod_job_part part[MOST_RANKS * ATTEMPTS];
    pod_job_step steps[ATTEMPTS];
    pod_account a = {0};
    for (int i = 0; i < ATTEMPTS; i++) {
        steps[i] = (pod_job_step){.step = 1, .begin = 10 * i, .end = 10 * i + 1};
        for (int r = 0; r < MOST_RANKS; r++)
            part[i * MOST_RANKS + r] = (pod_job_part){
                .head = {.attempt = i + 1, .rank = r, .ranks = MOST_RANKS, .begin = 10 * i},
                .n_steps = 1,
                .step = &steps[i],
                .end_text = "",
                .last = 10 * i + 2};
    }
    const pod_job j = {.dir = "dir", .n_parts = MOST_RANKS * ATTEMPTS, .part = part};
    POD_CHECK_OK(pod_account_of(&j, 0, &a));
    CU_ASSERT_TRUE(closes(&a));
    CU_ASSERT_EQUAL(a.n_ranks, MOST_RANKS);
}

/* As attempt 2 begins, at 13: steps 3 and 4 are lost, and what its log adds comes behind. */
static void before_an_attempt(void)
{
    hand_made h;
    pod_account a = {0};
    make_by_hand(&h);
    h.attempt[1].end = 0;
    POD_CHECK_OK(pod_account_before(&h.job, 2, &a));
    CU_ASSERT_TRUE(closes(&a));
    CU_ASSERT_EQUAL(a.wall, 13 * second - 1);
    CU_ASSERT_EQUAL(a.by_span[POD_JOB_STEP], 2 * second);
    CU_ASSERT_EQUAL(a.by_span[POD_JOB_RECOVERY], 5 * second / 2);
    CU_ASSERT_EQUAL(a.n_lost_steps, 2);
    CU_ASSERT_EQUAL(a.n_disruptions, 1);
    CU_ASSERT_EQUAL(a.n_attempts, 2);
    pod_job_log l = pod_job_start(at(13));
    pod_job_begin(&l, POD_JOB_INIT, at(13));
    pod_job_end(&l, POD_JOB_INIT, at(14));
    pod_job_from(&l, 2, 0, at(14));
    pod_job_begin(&l, POD_JOB_STEP, at(15));
    pod_job_end_step(&l, (pod_job_step){.step = 3}, at(16));
    const pod_account now = pod_account_add(&a, &l, at(17));
    CU_ASSERT_TRUE(closes(&now));
    CU_ASSERT_TRUE(now.runs);
    CU_ASSERT_EQUAL(now.wall, 17 * second - 1);
    CU_ASSERT_EQUAL(now.by_span[POD_JOB_STEP], 3 * second);
    CU_ASSERT_EQUAL(now.unsaved, second);
    CU_ASSERT_EQUAL(now.n_steps, 2);
    CU_ASSERT_EQUAL(now.n_unsaved_steps, 1);
    CU_ASSERT_EQUAL(now.max_productive_step, 2);
    pod_job_keep(&l);
    pod_job_finish(&l, at(18));
    const pod_account over = pod_account_add(&a, &l, 0);
    CU_ASSERT_TRUE(closes(&over) && !over.runs);
    CU_ASSERT_EQUAL(over.n_steps, 3);
    CU_ASSERT_EQUAL(over.max_productive_step, 3);
    POD_CHECK_FAILS(pod_account_before(&h.job, 3, &a), POD_E_FORMAT, "no record of attempt 3");
}

/* ---- what cannot be ---- */

static void overlap_step(hand_made *h) { h->step[1][2].begin -= 5; }
static void overlap_span(hand_made *h) { h->mark[1][1].begin = at(2.5); }
static void before_record(hand_made *h) { h->mark[1][0].begin = at(1.5); }
static void overlap_attempts(hand_made *h)
{
    h->job.n_attempts = 0;
    h->part[3].head.begin = at(9);
}
static void launched_early(hand_made *h)
{
    h->attempt[1].begin = at(8);
    h->attempt[0].end = at(9.5);
}
static void repeat_step(hand_made *h) { h->step[1][3].step = 3; }
static void step_before_first(hand_made *h) { h->step[3][0].step = 2; }
static void step_without_from(hand_made *h) { h->part[1].first_step = -1; }
static void other_ranks(hand_made *h) { h->part[1].head.ranks = 3; }
static void other_first_step(hand_made *h) { h->part[1].first_step = 1; }
static void long_job(hand_made *h)
{
    for (int i = 0; i < 4; i++) h->part[i].head.ranks = 1 << 20;
    h->attempt[1].end = INT64_MAX / 2;
}

static void what_cannot_be_is_refused(void)
{
    static const struct {
        void (*how)(hand_made *h);
        const char *part;
    } refused[] = {
        {overlap_step, "attempt 1, rank 1: step 3 begins 5 ns before what precedes it ends"},
        {overlap_span, "attempt 1, rank 1: PROGRAM_STARTUP begins 500000000 ns before"},
        {before_record, "attempt 1, rank 1: TPU_INITIALIZATION begins 500000000 ns before"},
        {overlap_attempts,
         "/job: attempt 2 begins 1 s before attempt 1 was last seen: a clock was"},
        {launched_early, "/job: attempt 2 begins"},
        {repeat_step, "attempt 1, rank 1: step 3 follows step 3"},
        {step_before_first, "attempt 2, rank 1: step 2 follows step 2"},
        {step_without_from, "attempt 1, rank 1: step 1 follows step -1"},
        {other_ranks, "attempt 1, rank 1: is of 3 ranks, another of 2"},
        {other_first_step, "attempt 1, rank 1: goes on from step 1, another from 0"},
        {long_job, "1048576 ranks for 4.61e+09 s: more than 2^63 ns"},
    };
    hand_made h;
    pod_account a;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        make_by_hand(&h);
        refused[i].how(&h);
        POD_CHECK_FAILS(pod_account_of(&h.job, 0, &a), POD_E_FORMAT, refused[i].part);
    }
}

POD_TEST_SUITE("runtime.account", {"by hand", by_hand},
               {"with another rank count", with_another_rank_count},
               {"time given back is not counted", time_given_back_is_not_counted},
               {"what left no record", what_left_no_record},
               {"the next is on its way", the_next_is_on_its_way},
               {"dead behind its first step", dead_behind_its_first_step},
               {"an attempt that did not get there", an_attempt_that_did_not_get_there},
               {"what cannot be is refused", what_cannot_be_is_refused},
               {"before an attempt", before_an_attempt},
               {"what the folder keeps", what_the_folder_keeps}, {"many ranks", many_ranks});
