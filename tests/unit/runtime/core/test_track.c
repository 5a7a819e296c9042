/* A track between two threads: nothing is lost, torn or out of order; what finds no room is
 * counted. */
#include <pthread.h>
#include <stdatomic.h>

#include "runtime/core/track.h"
#include "tests/harness/harness.h"

static pod_arena *arena;

static pod_track *make(int room)
{
    const pod_clock clock = pod_clock_start();
    pod_track *t = NULL;
    arena = pod_test_arena();
    POD_CHECK_OK(pod_track_create(arena, &clock, room, &t));
    return t;
}

static void what_goes_in_comes_out(void)
{
    pod_track *t = make(2);
    pod_done d;
    CU_ASSERT_FALSE(pod_track_take(t, &d));
    pod_track_put(t, POD_DEED_BATCH, 7, 10, 20);
    pod_track_put(t, POD_DEED_SAVE_WRITE, 8, 20, 30);
    pod_track_put(t, POD_DEED_SAVE_WRITE, 9, 30, 40); /* there is room for two */
    CU_ASSERT_EQUAL(pod_track_dropped(t), 1);
    CU_ASSERT_TRUE(pod_track_take(t, &d));
    CU_ASSERT(d.deed == POD_DEED_BATCH && d.number == 7 && d.begin == 10 && d.end == 20);
    pod_track_put(t, POD_DEED_SAVE_COMMIT, 10, 40, 40);
    CU_ASSERT_TRUE(pod_track_take(t, &d));
    CU_ASSERT(d.deed == POD_DEED_SAVE_WRITE && d.number == 8);
    CU_ASSERT_TRUE(pod_track_take(t, &d));
    CU_ASSERT(d.deed == POD_DEED_SAVE_COMMIT && d.number == 10 && d.end == 40);
    CU_ASSERT_FALSE(pod_track_take(t, &d));
    CU_ASSERT_EQUAL(pod_track_dropped(t), 1);
}

static void nobody_listens(void)
{
    CU_ASSERT_EQUAL(pod_track_now(NULL), 0);
    pod_track_put(NULL, POD_DEED_BATCH, 1, 0, 1);
}

static void time_goes_on(void)
{
    pod_track *t = make(1);
    const pod_time first = pod_track_now(t);
    CU_ASSERT(first >= 0 && pod_track_now(t) >= first);
}

enum { N_PUTS = 200000 };

static atomic_bool has_ended;

static void *put_many(void *arg)
{
    pod_track *t = arg;
    for (int64_t i = 1; i <= N_PUTS; i++) pod_track_put(t, POD_DEED_BATCH, i, i, 3 * i);
    atomic_store(&has_ended, true);
    return NULL;
}

static void two_threads(void)
{
    pod_track *t = make(16);
    pthread_t owner;
    int64_t n = 0, n_bad = 0, last = 0;
    atomic_store(&has_ended, false);
    CU_ASSERT_EQUAL(pthread_create(&owner, NULL, put_many, t), 0);
    for (bool more = true; more;) {
        const bool was_over = atomic_load(&has_ended);
        pod_done d;
        more = pod_track_take(t, &d);
        if (more) {
            n_bad += d.number <= last || d.begin != d.number || d.end != 3 * d.number;
            last = d.number;
            n++;
        }
        more = more || !was_over;
    }
    pthread_join(owner, NULL);
    CU_ASSERT_EQUAL(n_bad, 0);
    CU_ASSERT(n >= 16);
    POD_CHECK(n + pod_track_dropped(t) == N_PUTS, "%lld taken, %lld dropped", (long long)n,
              (long long)pod_track_dropped(t));
}

POD_TEST_SUITE("runtime.track", {"what goes in comes out", what_goes_in_comes_out},
               {"nobody listens", nobody_listens}, {"time goes on", time_goes_on},
               {"two threads", two_threads});
