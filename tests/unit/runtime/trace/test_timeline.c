/* Timelines and step statistics: hand-made steps whose sums stand in the comments. */
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "runtime/trace/timeline.h"
#include "tests/harness/harness.h"

static const pod_time ms = 1000000000; /* picoseconds */

static void end_timeline(void *tl) { pod_timeline_destroy(tl); }

static pod_timeline *make(int64_t max_steps, int64_t max_events, int64_t kept)
{
    pod_timeline *tl = NULL;
    pod_timeline_plan plan = {
        .rank = 3, .max_steps = max_steps, .max_events = max_events, .kept_steps = kept};
    POD_NEED_OK(pod_timeline_create(&plan, &tl));
    pod_test_at_end(end_timeline, tl);
    return tl;
}

/* One step of `length` ms from `at` ms: input 1, forward 2, backward 3, reduce 1, update 1 (8 in
 * all), and a message in flight for 3 beside them. */
static void add_step(pod_timeline *tl, int64_t step, int64_t at, int64_t length)
{
    static const int took[POD_N_PHASES] = {1, 2, 3, 1, 1};
    pod_timeline_begin_step(tl, step, at * ms);
    pod_time t = at * ms;
    for (int p = 0; p < POD_N_PHASES; p++) {
        pod_timeline_add(tl, POD_LANE_COMPUTE, (pod_phase)p, p, t, t + took[p] * ms);
        t += took[p] * ms;
    }
    pod_timeline_add(tl, POD_LANE_COMM, POD_PHASE_REDUCE, 3, (at + 4) * ms, (at + 7) * ms);
    pod_timeline_end_step(tl, (at + length) * ms);
}

static void a_step_closes(void)
{
    pod_timeline *tl = make(4, 16, 1);
    add_step(tl, 7, 100, 10);
    int64_t n;
    const pod_step_row *row = pod_timeline_rows(tl, &n);
    CU_ASSERT_EQUAL(n, 1);
    CU_ASSERT_EQUAL(row->step, 7);
    CU_ASSERT_EQUAL(row->phase[POD_PHASE_INPUT], 1 * ms);
    CU_ASSERT_EQUAL(row->phase[POD_PHASE_BACKWARD], 3 * ms);
    CU_ASSERT_EQUAL(row->phase[POD_PHASE_REDUCE], 1 * ms); /* exposed, of 3 in flight */
    CU_ASSERT_EQUAL(row->comm, 3 * ms);
    CU_ASSERT_EQUAL(row->other, 2 * ms); /* 10 - 8 */
    CU_ASSERT_EQUAL(row->end - row->begin, 10 * ms);
    CU_ASSERT_EQUAL(row->n_dropped, 0);
}

static void dropped_events_count_as_other(void)
{
    pod_timeline *tl = make(1, 3, 1); /* room for input, forward, backward */
    add_step(tl, 0, 0, 10);
    int64_t n;
    const pod_step_row *row = pod_timeline_rows(tl, &n);
    CU_ASSERT_EQUAL(row->n_dropped, 3);
    CU_ASSERT_EQUAL(row->other, 4 * ms); /* 10 - (1 + 2 + 3) */
    CU_ASSERT_EQUAL(row->comm, 0);
}

static void last_steps_are_kept(void)
{
    pod_timeline *tl = make(10, 6, 3);
    pod_event *events = malloc((size_t)pod_timeline_kept_room(tl) * sizeof *events);
    CU_ASSERT_EQUAL(pod_timeline_kept_room(tl), 18);
    CU_ASSERT_EQUAL(pod_timeline_copy_kept(tl, events), 0);
    for (int64_t step = 0; step < 10; step++) {
        if (step == 5) { /* a step that is open, or ended, leaves the kept ones whole */
            pod_timeline_begin_step(tl, 5, 50 * ms);
            pod_timeline_add(tl, POD_LANE_DATA, POD_PHASE_INPUT, -1, 50 * ms, 51 * ms);
            CU_ASSERT_EQUAL(pod_timeline_copy_kept(tl, events), 18);
            CU_ASSERT_EQUAL(events[0].step, 2);
            pod_timeline_end_step(tl, 60 * ms);
        } else {
            add_step(tl, step, 10 * step, 10);
        }
    }
    CU_ASSERT_EQUAL(pod_timeline_copy_kept(tl, events), 18);
    for (int64_t i = 0; i < 18; i++)
        POD_CHECK(events[i].step == 7 + i / 6 && events[i].rank == 3, "event %d: step %d", (int)i,
                  (int)events[i].step);
    CU_ASSERT_EQUAL(events[5].lane, POD_LANE_COMM);
    CU_ASSERT_EQUAL(events[5].begin, 74 * ms);
    CU_ASSERT_EQUAL(pod_timeline_n_kept(tl), 3);
    for (int64_t i = 0; i < 3; i++) { /* the same, step by step */
        int64_t n;
        const pod_event *step = pod_timeline_kept(tl, i, &n);
        CU_ASSERT(n == 6 && memcmp(step, events + 6 * i, 6 * sizeof *step) == 0);
    }
    free(events);
}

static void steps_allocate_nothing(void)
{
    pod_timeline *tl = make(100, 6, 2);
    const long before = pod_alloc_count();
    for (int64_t step = 0; step < 100; step++) add_step(tl, step, 10 * step, 9);
    CU_ASSERT_EQUAL(pod_alloc_count(), before);
}

/* Tracks are threads of their lane; the end of a step takes what they have. */
static void deeds(void)
{
    pod_timeline *tl = make(10, 6, 2);
    pod_arena *a;
    pod_track *track[3] = {0};
    const pod_clock clock = pod_clock_start();
    pod_event *e = malloc((size_t)pod_timeline_beside_room(tl) * sizeof *e);
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    for (int i = 0; i < 3; i++) POD_CHECK_OK(pod_track_create(a, &clock, 8, &track[i]));
    pod_timeline_follow(tl, POD_LANE_DATA, track[0]);
    pod_timeline_follow(tl, POD_LANE_DATA, track[1]);
    pod_timeline_follow(tl, POD_LANE_FILE, track[2]);
    pod_timeline_mark(tl, POD_LANE_STEPS, POD_DEED_ATTEMPT, 2, 0, 0); /* before the first step */
    CU_ASSERT_EQUAL(pod_timeline_copy_beside(tl, e), 1);
    pod_track_put(track[1], POD_DEED_BATCH, 1, 1 * ms, 2 * ms);
    CU_ASSERT_EQUAL(pod_timeline_copy_beside(tl, e), 1); /* not known yet */
    add_step(tl, 0, 10, 10);
    CU_ASSERT_EQUAL(pod_timeline_copy_beside(tl, e), 2); /* all steps are kept, and the start */
    CU_ASSERT(e[0].deed == POD_DEED_ATTEMPT && e[0].step == 2 && e[0].thread == 0);
    CU_ASSERT(e[1].deed == POD_DEED_BATCH && e[1].step == 1 && e[1].thread == 2);
    pod_track_put(track[2], POD_DEED_SAVE_WRITE, 1, 12 * ms, 35 * ms);
    pod_track_put(track[0], POD_DEED_BATCH, 3, 13 * ms, 14 * ms);
    add_step(tl, 1, 20, 10);
    CU_ASSERT_EQUAL(pod_timeline_copy_beside(tl, e), 4);
    CU_ASSERT(e[2].lane == POD_LANE_DATA && e[2].thread == 1 && e[2].deed == POD_DEED_BATCH);
    CU_ASSERT(e[2].step == 3 && e[2].begin == 13 * ms && e[2].end == 14 * ms && e[2].instr == -1);
    CU_ASSERT(e[3].lane == POD_LANE_FILE && e[3].thread == 1 && e[3].rank == 3);
    pod_track_put(track[1], POD_DEED_BATCH, 4, 24 * ms, 25 * ms);
    add_step(tl, 2, 30, 10); /* of the two kept steps the first begins at 20 */
    CU_ASSERT_EQUAL(pod_timeline_copy_beside(tl, e), 2);
    CU_ASSERT(e[1].thread == 2 && e[1].step == 4);
    pod_track_put(track[2], POD_DEED_SAVE_COMMIT, 1, 41 * ms, 42 * ms);
    pod_timeline_forget(tl); /* takes the last one */
    pod_arena_destroy(a);    /* and does not come back */
    CU_ASSERT_EQUAL(pod_timeline_copy_beside(tl, e), 3);
    add_step(tl, 3, 50, 10);
    free(e);
}

/* Of more deeds than there is room for the latest stay. */
static void latest_deeds(void)
{
    pod_timeline *tl = make(10, 6, 1);
    const int64_t room = pod_timeline_beside_room(tl);
    pod_event *e = malloc((size_t)room * sizeof *e);
    for (int64_t i = 1; i <= room + 5; i++)
        pod_timeline_mark(tl, POD_LANE_FILE, POD_DEED_SAVE_COPY, i, i * ms, i * ms + 1);
    CU_ASSERT_EQUAL(pod_timeline_copy_beside(tl, e), room);
    CU_ASSERT(e[0].step == 6 && e[room - 1].step == room + 5);
    CU_ASSERT(e[0].lane == POD_LANE_FILE && e[0].thread == 0);
    free(e);
}

static void too_many_steps(void)
{
    pod_timeline *tl = NULL;
    pod_timeline_plan plan = {.max_steps = 1000000, .max_events = 936, .kept_steps = 1000000};
    POD_CHECK_FAILS(pod_timeline_create(&plan, &tl), POD_E_INVALID,
                    "trace-steps: 1000000 steps of 936 events take 37.3 GiB of a rank; the most "
                    "that fit into 1 are 26843");
    CU_ASSERT_PTR_NULL(tl);
    plan.max_steps = 5; /* no more are kept than there are */
    POD_CHECK_OK(pod_timeline_create(&plan, &tl));
    CU_ASSERT_EQUAL(pod_timeline_kept_room(tl), 5 * 936);
    pod_timeline_destroy(tl);
}

static void statistics(void)
{
    enum { N = 101 };
    pod_timeline *tl = make(N, 6, 1);
    pod_time at = 0;
    for (int64_t step = 0; step < N; step++) { /* lengths 10, 11, .. 110 ms, out of order */
        const int64_t length = 10 + (step * 37) % N;
        add_step(tl, step, at, length);
        at += length;
    }
    int64_t n;
    pod_step_stats s;
    const pod_step_row *rows = pod_timeline_rows(tl, &n);
    POD_CHECK_OK(pod_step_stats_of(rows, n, &s));
    const double u = 1e-12;
    CU_ASSERT_EQUAL(s.step.n, N);
    POD_CHECK(pod_test_near(s.step.min, 0.010, u), "min %g", s.step.min);
    POD_CHECK(pod_test_near(s.step.median, 0.060, u), "median %g", s.step.median);
    POD_CHECK(pod_test_near(s.step.mean, 0.060, u), "mean %g", s.step.mean);
    /* the 100th of 101: 99 % of 101 is 99.99 */
    POD_CHECK(pod_test_near(s.step.p99, 0.109, u), "p99 %g", s.step.p99);
    POD_CHECK(pod_test_near(s.step.max, 0.110, u), "max %g", s.step.max);
    POD_CHECK(pod_test_near(s.phase[POD_PHASE_BACKWARD].median, 0.003, u), "backward");
    POD_CHECK(pod_test_near(s.comm.p99, 0.003, u), "comm %g", s.comm.p99);
    POD_CHECK(pod_test_near(s.other.median, 0.052, u), "other %g", s.other.median);
    double shares = s.other.mean / s.step.mean;
    for (int p = 0; p < POD_N_PHASES; p++) shares += pod_step_share(&s, (pod_phase)p);
    POD_CHECK(pod_test_near(shares, 1, 1e-12), "shares sum to %.17g", shares);
    POD_CHECK(pod_test_near(pod_step_share(&s, POD_PHASE_FORWARD), 2.0 / 60, 1e-12), "forward");

    POD_CHECK_OK(pod_step_stats_of(rows, 0, &s));
    CU_ASSERT_EQUAL(s.step.n, 0);
    CU_ASSERT_EQUAL(pod_step_share(&s, POD_PHASE_FORWARD), 0.0);
}

static void spread_of_few(void)
{
    double one[] = {3}, two[] = {4, 2};
    pod_spread s = pod_spread_of(one, 1);
    CU_ASSERT_TRUE(s.min == 3 && s.median == 3 && s.p99 == 3 && s.max == 3);
    s = pod_spread_of(two, 2);
    CU_ASSERT_TRUE(s.min == 2 && s.median == 3 && s.p99 == 4 && s.max == 4);
}

/* What found no room in a step or in a track is counted, also when the track is forgotten. */
static void dropped_are_counted(void)
{
    pod_timeline *tl;
    pod_track *track;
    const pod_clock clock = pod_clock_start();
    const pod_timeline_plan plan = {.max_steps = 2, .max_events = 1, .kept_steps = 1};
    POD_CHECK_OK(pod_track_create(pod_test_arena(), &clock, 2, &track));
    POD_CHECK_OK(pod_timeline_create(&plan, &tl));
    pod_timeline_follow(tl, POD_LANE_DATA, track);
    CU_ASSERT_EQUAL(pod_timeline_n_dropped(tl), 0);
    for (int64_t step = 0; step < 2; step++) {
        pod_timeline_begin_step(tl, step, 100 * step);
        for (int i = 0; i < 3; i++)
            pod_timeline_add(tl, POD_LANE_COMPUTE, POD_PHASE_INPUT, -1, 100 * step, 100 * step);
        pod_timeline_end_step(tl, 100 * step + 50);
    }
    CU_ASSERT_EQUAL(pod_timeline_n_dropped(tl), 4);
    for (int i = 0; i < 5; i++) pod_track_put(track, POD_DEED_BATCH, i, i, i + 1);
    CU_ASSERT_EQUAL(pod_timeline_n_dropped(tl), 7);
    pod_timeline_forget(tl);
    CU_ASSERT_EQUAL(pod_timeline_n_dropped(tl), 7);
    pod_timeline_destroy(tl);
}

POD_TEST_SUITE("runtime.timeline", {"a step closes", a_step_closes},
               {"dropped events count as other", dropped_events_count_as_other},
               {"last steps are kept", last_steps_are_kept},
               {"steps allocate nothing", steps_allocate_nothing}, {"deeds", deeds},
               {"of deeds the latest", latest_deeds}, {"too many steps", too_many_steps},
               {"statistics", statistics}, {"spread of few", spread_of_few},
               {"dropped are counted", dropped_are_counted});
