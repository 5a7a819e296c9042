/* Offsets of ranks' clocks: on one node CLOCK_MONOTONIC is the same everywhere, so that what is
 * found can be off by half of the round trip and no more; an offset and a drift that are made up
 * are found again. */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "collectives/exec/mpi/clock_offset.h"
#include "tests/harness/harness.h"
#include "tests/mpi/ranks.h"

typedef struct made_up { /* a clock in nanoseconds */
    int64_t offset, since;
    double gain; /* of each nanosecond after `since` */
} made_up;

static int64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t read_clock(const void *ctx)
{
    const made_up *m = ctx;
    const int64_t now = monotonic_ns();
    return now + m->offset + (int64_t)(m->gain * (double)(now - m->since));
}

static pod_clock_offset find(const made_up *m)
{
    const pod_clock_source own = {.now = read_clock, .ctx = m};
    pod_clock_offset o = {0};
    POD_CHECK_OK(pod_clock_offset_find(comm, &own, &o));
    return o;
}

static void check(const char *what, int64_t got, int64_t want, int64_t bound)
{
    POD_CHECK(llabs(got - want) <= bound, "%s: %" PRId64 " ns, want %" PRId64 " within %" PRId64,
              what, got, want, bound);
}

static void test_one_clock(void)
{
    const made_up m = {0};
    const int64_t before = read_clock(&m);
    const pod_clock_offset o = find(&m);
    const int64_t after = read_clock(&m);
    check("the same clock", o.offset, 0, (o.round_trip + 1) / 2);
    /* However busy the machine is: the quickest of 32 took no longer than the mean of them. */
    POD_CHECK(rank == 0 ? o.offset == 0 && o.round_trip == 0
                        : o.round_trip > 0 && o.round_trip <= (after - before) / 32,
              "offset %" PRId64 ", round trip %" PRId64 " of %" PRId64 " ns", o.offset,
              o.round_trip, after - before);
    POD_CHECK(before <= o.at && o.at <= after, "not measured when it was");
}

static void test_made_up_offset(void)
{
    static const int64_t steps[] = {1234567, -5000000000, 3};
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        const made_up m = {.offset = rank * steps[k]};
        const pod_clock_offset o = find(&m);
        check("made up", o.offset, -m.offset, (o.round_trip + 1) / 2);
    }
}

/* Clocks that run apart, by one in ten thousand and rank: in the middle of two measurements, half
 * of what they gained. */
static void test_drift(void)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    const made_up m = {
        .offset = 1000000 * rank, .since = monotonic_ns(), .gain = 1e-4 * (double)rank};
    const pod_clock_offset early = find(&m);
    nanosleep(&pause, NULL);
    const int64_t at = read_clock(&m);
    nanosleep(&pause, NULL);
    const pod_clock_offset late = find(&m);
    const int64_t behind = m.offset + (int64_t)(m.gain * (double)(at - m.offset - m.since));
    const int64_t trips = early.round_trip + late.round_trip;
    const int64_t bound = trips / 2 + (int64_t)(m.gain * (double)trips) + 1000;
    check("drift", pod_clock_offset_at(&early, &late, at), -behind, bound);
    check("drift at the end", pod_clock_offset_at(&early, &late, late.at), late.offset, 0);
}

static void test_line(void)
{
    const pod_clock_offset early = {.at = 1000, .offset = 50}, late = {.at = 3000, .offset = 10};
    CU_ASSERT_EQUAL(pod_clock_offset_at(&early, &late, 1000), 50);
    CU_ASSERT_EQUAL(pod_clock_offset_at(&early, &late, 2000), 30);
    CU_ASSERT_EQUAL(pod_clock_offset_at(&early, &late, 3000), 10);
    CU_ASSERT_EQUAL(pod_clock_offset_at(&early, &late, 0), 70);
    CU_ASSERT_EQUAL(pod_clock_offset_at(&early, &early, 9999), 50);
}

POD_TEST_SUITE_WITH("clock_offset", open_comm, close_comm, {"one clock for all", test_one_clock},
                    {"made-up offsets are found", test_made_up_offset},
                    {"clocks that run apart", test_drift}, {"between two measurements", test_line});
