/* Slow ranks in made-up jobs: named where they are slow, and nobody where none is, however much the
 * ranks' own times scatter. */
#include <math.h>
#include <stdlib.h>

#include "kernels/base/rng.h"
#include "runtime/goodput/straggler.h"
#include "tests/harness/harness.h"

enum { MAX_RANKS = 8, MAX_STEPS = 1200 };

typedef struct slowness {
    int rank;
    double factor;
    int from, until; /* steps, both included */
} slowness;

typedef struct scene {
    const char *name;
    int n_ranks, n_steps;
    double scatter; /* standard deviation of the logarithm of an own time */
    double memory;  /* share of a step's scatter that the next one has too */
    int n_cores;    /* above 0: ranks take turns on so few, instead of scatter */
    int n_slow;
    slowness slow[4];
} scene;

static pod_job_step steps[MAX_RANKS][MAX_STEPS];
static pod_job_part parts[2 * MAX_RANKS];

static double draw_normal(pod_rng *r) { return (double)pod_rng_normal(r); }

/* When each of the ranks on one core is done, which all begin at 0 and take turns: in the order of
 * their work w the k-th is done after the sum of min(w_i, w_k). */
static void take_turns(const scene *c, const int core[], const double work[], double done[])
{
    for (int r = 0; r < c->n_ranks; r++) {
        done[r] = 0;
        for (int i = 0; i < c->n_ranks; i++)
            if (core[i] == core[r]) done[r] += fmin(work[i], work[r]);
    }
}

static double factor_of(const scene *c, int rank, int step)
{
    for (int i = 0; i < c->n_slow; i++)
        if (c->slow[i].rank == rank && step >= c->slow[i].from && step <= c->slow[i].until)
            return c->slow[i].factor;
    return 1;
}

/* Own times of all ranks in all steps, seconds; a step is 10 ms of work. */
static void make_own(const scene *c, uint64_t seed, double own[][MAX_STEPS])
{
    pod_rng rng = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST});
    double held[MAX_RANKS] = {0}, work[MAX_RANKS], done[MAX_RANKS];
    int core[MAX_RANKS];
    for (int r = 0; r < c->n_ranks; r++) {
        held[r] = draw_normal(&rng);
        core[r] = c->n_cores ? r % c->n_cores : r;
    }
    for (int s = 0; s < c->n_steps; s++) {
        for (int r = 0; r < c->n_ranks; r++) {
            held[r] = c->memory * held[r] + sqrt(1 - c->memory * c->memory) * draw_normal(&rng);
            if (c->n_cores && pod_rng_below(&rng, 8) == 0) /* as the system likes: 3 and 1 too */
                core[r] = (int)pod_rng_below(&rng, (uint64_t)c->n_cores);
            work[r] = 0.010 * factor_of(c, r, s + 1) * exp(c->scatter * held[r]);
            if (pod_rng_below(&rng, 50) == 0) work[r] += 0.010; /* an interruption */
        }
        take_turns(c, core, work, done);
        for (int r = 0; r < c->n_ranks; r++) own[r][s] = done[r];
    }
}

/* The last one waits 1 ms for data on the way, the others for the last one as well. */
static pod_job make_job(const scene *c, uint64_t seed)
{
    static double own[MAX_RANKS][MAX_STEPS];
    const pod_stamp ms = 1000000, input = ms / 2, save = ms / 4;
    pod_stamp now = 1700000000000000000;
    make_own(c, seed, own);
    for (int s = 0; s < c->n_steps; s++) {
        double longest_s = 0;
        for (int r = 0; r < c->n_ranks; r++) longest_s = fmax(longest_s, own[r][s]);
        const pod_stamp longest = (pod_stamp)(longest_s * 1e9);
        for (int r = 0; r < c->n_ranks; r++)
            steps[r][s] = (pod_job_step){.step = s + 1,
                                         .begin = now,
                                         .end = now + longest + ms + input + save,
                                         .input = input,
                                         .save = save,
                                         .reduce = longest + ms - (pod_stamp)(own[r][s] * 1e9)};
        now += longest + ms + input + save;
    }
    for (int r = 0; r < c->n_ranks; r++)
        parts[r] = (pod_job_part){.head = {.attempt = 1, .rank = r, .ranks = c->n_ranks},
                                  .n_steps = c->n_steps,
                                  .step = steps[r]};
    return (pod_job){.n_parts = c->n_ranks, .part = parts};
}

static bool is_slow_in(const scene *c, int rank)
{
    for (int i = 0; i < c->n_slow; i++)
        if (c->slow[i].rank == rank) return true;
    return false;
}

static void check_times(const scene *c, const pod_stragglers *s)
{
    for (int i = 0; i < c->n_slow; i++) {
        const slowness *want = &c->slow[i];
        const pod_rank_pace *got = &s->rank[want->rank];
        const int off = want->until - want->from < c->n_steps - 1 ? c->n_steps / 8 : c->n_steps;
        POD_CHECK(abs((int)got->from - want->from) <= off &&
                      abs((int)got->until - want->until) <= off,
                  "%s: rank %d is slow in steps %d to %d, found %d to %d", c->name, want->rank,
                  want->from, want->until, (int)got->from, (int)got->until);
        POD_CHECK(c->n_cores || fabs(got->factor / want->factor - 1) < 0.15,
                  "%s: rank %d is %g times as slow, found %g", c->name, want->rank, want->factor,
                  got->factor);
        POD_CHECK(got->relative < 0.95, "%s: rank %d: %g", c->name, want->rank, got->relative);
    }
    if (c->n_slow > 0) POD_CHECK(s->gain_s > 0, "%s: would win %g s", c->name, s->gain_s);
}

static void check_seed(const scene *c, uint64_t seed)
{
    pod_stragglers s = {0};
    const pod_job j = make_job(c, seed);
    POD_CHECK_OK(pod_stragglers_of(pod_test_arena(), &j, &s));
    CU_ASSERT_EQUAL(s.n_steps, c->n_steps - 1);
    for (int r = 0; s.rank && r < c->n_ranks; r++) {
        POD_CHECK(s.rank[r].is_slow == is_slow_in(c, r),
                  "%s, seed %d: rank %d is %snamed: relative %g, steps %d to %d, scatter %g",
                  c->name, (int)seed, r, s.rank[r].is_slow ? "" : "not ", s.rank[r].relative,
                  (int)s.rank[r].from, (int)s.rank[r].until, s.scatter);
        POD_CHECK(is_slow_in(c, r) || c->n_slow == 0 || is_slow_in(c, s.rank[r].waits_for),
                  "%s: rank %d waits for %d", c->name, r, s.rank[r].waits_for);
    }
    if (s.rank) check_times(c, &s);
}

/* Heavy noise comes in three forms: each step anew, held for several steps, and cores that the
 * system hands out unevenly, so that a rank is three times as slow as another for a while. */
static const scene scenes[] = {
    {"quiet", 4, 100, 0.02, 0, 0, 0, {{0}}},
    {"quiet, one slow", 4, 60, 0.02, 0, 0, 1, {{2, 1.5, 1, 60}}},
    {"quiet, a little slow", 4, 100, 0.02, 0, 0, 1, {{3, 1.15, 1, 100}}},
    {"quiet, slow for a while", 4, 120, 0.02, 0, 0, 1, {{1, 1.5, 50, 80}}},
    {"quiet, 28 steps", 2, 28, 0.02, 0, 0, 1, {{1, 2, 1, 28}}},
    {"quiet, 3 of 8", 8, 100, 0.02, 0, 0, 3, {{1, 1.5, 1, 100}, {4, 1.3, 1, 100}, {6, 2, 40, 70}}},
    {"quiet, half of 4", 4, 160, 0.02, 0, 0, 2, {{0, 1.5, 1, 160}, {3, 1.4, 1, 160}}},
    {"quiet, half of 4 for a while", 4, 200, 0.02, 0, 0, 2, {{0, 1.5, 50, 150}, {3, 1.5, 50, 150}}},
    {"noise", 4, 600, 0.5, 0, 0, 0, {{0}}},
    {"noise of 8", 8, 600, 0.5, 0, 0, 0, {{0}}},
    {"noise that stays", 4, 600, 0.4, 0.7, 0, 0, {{0}}},
    {"noise that stays, 8", 8, 1000, 0.4, 0.8, 0, 0, {{0}}},
    {"noise, one slow", 4, 300, 0.4, 0, 0, 1, {{2, 1.5, 1, 300}}},
    {"noise, one of 8", 8, 300, 0.4, 0, 0, 1, {{5, 1.5, 1, 300}}},
    {"noise that stays, one slow", 4, 800, 0.3, 0.5, 0, 1, {{2, 1.6, 1, 800}}},
    {"noise, slow for a while", 8, 600, 0.3, 0, 0, 1, {{2, 1.6, 200, 400}}},
    {"noise, two of 8", 8, 400, 0.3, 0, 0, 2, {{2, 1.5, 1, 400}, {7, 1.5, 1, 400}}},
    {"4 on 2 cores", 4, 1000, 0.05, 0, 2, 0, {{0}}},
    {"8 on 2 cores", 8, 1000, 0.05, 0, 2, 0, {{0}}},
    {"4 on 2 cores, 100 steps", 4, 100, 0.05, 0, 2, 0, {{0}}},
    {"8 on 2 cores, 100 steps", 8, 100, 0.05, 0, 2, 0, {{0}}},
    {"4 on 2 cores, one slow", 4, 1000, 0.05, 0, 2, 1, {{2, 2, 1, 1000}}},
    {"8 on 2 cores, one slow", 8, 1000, 0.05, 0, 2, 1, {{2, 2, 1, 1000}}},
};

static void slow_ranks_are_named(void)
{
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        for (uint64_t seed = 0; seed < 8; seed++) check_seed(&scenes[i], seed);
}

/* ---- by chance and in time -------------------------------------------------------------------- */

static int count_named(const scene *c, uint64_t seed, bool *as_wanted)
{
    pod_arena *a; /* of thousands */
    pod_stragglers s = {0};
    const pod_job j = make_job(c, seed);
    int n = 0;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    POD_CHECK_OK(pod_stragglers_of(a, &j, &s));
    *as_wanted = s.rank != NULL;
    for (int r = 0; s.rank && r < c->n_ranks; r++) {
        n += s.rank[r].is_slow;
        *as_wanted &= s.rank[r].is_slow == is_slow_in(c, r);
    }
    pod_arena_destroy(a);
    return n;
}

/* Where noise lasts, a rank may really have been late for a third of so few steps: `most` are let pass. */
static void nobody_is_named_by_chance(void)
{
    static const struct {
        scene of;
        int most;
    } rows[] = {
        {{"2 alike", 2, 61, 0.1, 0, 0, 0, {{0}}}, 0},
        {{"4 alike", 4, 61, 0.1, 0, 0, 0, {{0}}}, 0},
        {{"4 alike, quiet", 4, 61, 0.02, 0, 0, 0, {{0}}}, 0},
        {{"8 alike, noise", 8, 61, 0.4, 0, 0, 0, {{0}}}, 0},
        {{"4 alike, noise that stays a while", 4, 61, 0.1, 0.5, 0, 0, {{0}}}, 0},
        {{"4 alike, noise that stays", 4, 61, 0.1, 0.7, 0, 0, {{0}}}, 2},
        {{"4 on 2 cores", 4, 61, 0.05, 0, 2, 0, {{0}}}, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int n_jobs = 0;
        bool as_wanted;
        for (uint64_t seed = 0; seed < 1000; seed++)
            n_jobs += count_named(&rows[i].of, seed, &as_wanted) > 0;
        POD_CHECK(n_jobs <= rows[i].most, "%s: somebody is named in %d of 1000 jobs",
                  rows[i].of.name, n_jobs);
    }
}

static void a_slow_rank_is_named_in_time(void)
{
    static const scene rows[] = {
        {"4, quiet", 4, 61, 0.02, 0, 0, 1, {{2, 1.5, 1, 61}}},
        {"4, noise", 4, 61, 0.1, 0, 0, 1, {{2, 1.5, 1, 61}}},
        {"8, noise", 8, 61, 0.1, 0, 0, 1, {{5, 1.5, 1, 61}}},
        {"4, noise that stays a while", 4, 61, 0.1, 0.5, 0, 1, {{0, 1.5, 1, 61}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int n_right = 0;
        for (uint64_t seed = 0; seed < 200; seed++) {
            bool as_wanted;
            (void)count_named(&rows[i], seed, &as_wanted);
            n_right += as_wanted;
        }
        POD_CHECK(n_right == 200, "%s: the slow rank and no other in %d of 200 jobs", rows[i].name,
                  n_right);
    }
}

enum { MOST_RANKS = 4096 };

/* So many ranks, of which every 64th takes twice as long. Where each looked at its pairs with all
 * others this would take minutes. */
static void many_ranks(void)
{
    enum { STEPS = 33, SLOW = 64 };
    static pod_job_part part[MOST_RANKS];
    static pod_job_step of[2][STEPS]; /* of a fast rank and of a slow one */
    const pod_stamp ms = 1000000;
    pod_arena *a = pod_test_arena();
    pod_stragglers s = {0};
    for (int i = 0; i < 2 * STEPS; i++)
        of[i % 2][i / 2] = (pod_job_step){.step = i / 2 + 1,
                                          .begin = i / 2 * 21 * ms,
                                          .end = (i / 2 + 1) * 21 * ms,
                                          .reduce = i % 2 ? ms : 11 * ms};
    for (int r = 0; r < MOST_RANKS; r++)
        part[r] = (pod_job_part){.head = {.attempt = 1, .rank = r, .ranks = MOST_RANKS},
                                 .n_steps = STEPS,
                                 .step = of[r % SLOW == 0]};
    const pod_job j = {.n_parts = MOST_RANKS, .part = part};
    POD_CHECK_OK(pod_stragglers_of(a, &j, &s));
    POD_CHECK(s.n_slow == MOST_RANKS / SLOW, "%d are named", s.n_slow);
    for (int r = 0; s.rank && r < MOST_RANKS; r++) {
        const bool is_slow = r % SLOW == 0;
        CU_ASSERT_TRUE(s.rank[r].is_slow == is_slow);
        CU_ASSERT_TRUE(is_slow ||
                       (s.rank[r].waits_for == 0 && fabs(s.rank[r].waits_s - 0.010) < 1e-9));
    }
}

/* ---- by hand --------------------------------------------------------------------------------- */

static pod_job_step step_memory[8][64]; /* of parts[i] */

/* Rank r's own time is 10 ms, of the slow one 20 ms; all wait 1 ms for data, the others 10 more. */
static void fill_part(pod_job_part *part, int attempt, int rank, int ranks, int n, int slow)
{
    const pod_stamp ms = 1000000;
    pod_job_step *step = step_memory[part - parts];
    for (int s = 0; s < n; s++)
        step[s] = (pod_job_step){.step = s + 1,
                                 .begin = s * 21 * ms,
                                 .end = (s + 1) * 21 * ms,
                                 .reduce = rank == slow ? ms : 11 * ms};
    step[0].end += 500 * ms; /* a first step is start-up */
    *part = (pod_job_part){
        .head = {.attempt = attempt, .rank = rank, .ranks = ranks}, .n_steps = n, .step = step};
}

static pod_stragglers look(pod_arena *a, int n_parts)
{
    pod_stragglers s = {0};
    const pod_job j = {.n_parts = n_parts, .part = parts};
    POD_CHECK_OK(pod_stragglers_of(a, &j, &s));
    return s;
}

static bool is_near(double got, double want) { return fabs(got - want) < 1e-9; }

/* 40 steps of which 39 count: each would win 10 ms, for which the other rank waits. */
static void figures_by_hand(void)
{
    for (int r = 0; r < 2; r++) fill_part(&parts[r], 1, r, 2, 40, 1);
    const pod_stragglers s = look(pod_test_arena(), 2);
    CU_ASSERT_EQUAL(s.n_steps, 39);
    CU_ASSERT_EQUAL(s.n_slow, 1);
    POD_CHECK(is_near(s.steps_s, 39 * 0.021) && is_near(s.gain_s, 39 * 0.010) &&
                  is_near(s.exposed_s, 39 * 0.001),
              "%g, %g of %g s", s.gain_s, s.exposed_s, s.steps_s);
    const pod_rank_pace *fast = &s.rank[0], *slow = &s.rank[1];
    CU_ASSERT_TRUE(slow->is_slow && slow->is_throughout && slow->from == 2 && slow->until == 40);
    CU_ASSERT_TRUE(is_near(slow->factor, 2) && is_near(slow->relative, 0.5));
    CU_ASSERT_TRUE(is_near(slow->individual, 1) && is_near(slow->own_s, 0.020));
    CU_ASSERT_TRUE(!fast->is_slow && fast->waits_for == 1 && is_near(fast->waits_s, 0.010));
    CU_ASSERT_TRUE(is_near(fast->relative, 1) && is_near(fast->reduce_s, 0.011));
}

/* Both ranks' own times are 20 ms by the clock. Rank 0 had no core in half of its steps: without that
 * it took 10 ms, and rank 1 is the slow one. */
static void waits_for_cores_are_taken_off(void)
{
    pod_arena *a = pod_test_arena();
    for (int r = 0; r < 2; r++) {
        fill_part(&parts[r], 1, r, 2, 40, r);
        pod_job_step *step = step_memory[r];
        for (int s = 0; s < 40 && r == 0; s++)
            step[s].core_wait = (step[s].end - step[s].begin) / 2;
    }
    const pod_stragglers s = look(a, 2);
    CU_ASSERT_TRUE(s.n_slow == 1 && s.rank[1].is_slow && is_near(s.rank[1].factor, 2));
    CU_ASSERT_TRUE(is_near(s.rank[0].own_s, 0.010) && is_near(s.rank[0].core_wait_s, 0.0105));
    for (int i = 0; i < 40; i++) step_memory[0][i].core_wait = 0; /* not known */
    CU_ASSERT_EQUAL(look(a, 2).n_slow, 0);
}

/* Attempt 1 had two ranks, attempts 2 and 3 three of them, the last one lacks a rank's file; of
 * attempt 2 rank 2 has 30 steps, the others 40. */
static void attempts_that_compare(void)
{
    for (int r = 0; r < 2; r++) fill_part(&parts[r], 1, r, 2, 20, -1);
    for (int r = 0; r < 3; r++) fill_part(&parts[2 + r], 2, r, 3, r == 2 ? 30 : 40, 0);
    for (int r = 0; r < 2; r++) fill_part(&parts[5 + r], 3, r, 3, 40, 1);
    const pod_stragglers s = look(pod_test_arena(), 7);
    CU_ASSERT_EQUAL(s.n_ranks, 3);
    CU_ASSERT_EQUAL(s.n_steps, 29);
    CU_ASSERT_TRUE(s.n_slow == 1 && s.rank[0].is_slow);
}

static void nothing_to_compare(void)
{
    pod_arena *a = pod_test_arena();
    CU_ASSERT_TRUE(look(a, 0).rank == NULL);
    fill_part(&parts[0], 1, 0, 1, 40, 0); /* one rank */
    CU_ASSERT_TRUE(look(a, 1).rank == NULL);
    for (int r = 0; r < 2; r++) fill_part(&parts[r], 1, r, 2, 1, 1); /* a first step alone */
    CU_ASSERT_TRUE(look(a, 2).rank == NULL);
    for (int r = 0; r < 2; r++) fill_part(&parts[r], 1, r, 2, POD_STRAGGLER_MIN_STEPS, 1);
    CU_ASSERT_EQUAL(look(a, 2).n_slow, 0);
    for (int r = 0; r < 2; r++) fill_part(&parts[r], 1, r, 2, POD_STRAGGLER_MIN_STEPS + 1, 1);
    CU_ASSERT_EQUAL(look(a, 2).n_slow, 1);
}

POD_TEST_SUITE("runtime.straggler", {"slow ranks are named", slow_ranks_are_named},
               {"nobody is named by chance", nobody_is_named_by_chance},
               {"a slow rank is named in time", a_slow_rank_is_named_in_time},
               {"many ranks", many_ranks}, {"figures by hand", figures_by_hand},
               {"waits for cores are taken off", waits_for_cores_are_taken_off},
               {"attempts that compare", attempts_that_compare},
               {"nothing to compare", nothing_to_compare});
