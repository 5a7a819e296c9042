/* The event queue: order, ties, and times at the ends of what can be counted. */
#include <math.h>

#include "collectives/net/engine.h"
#include "kernels/base/rng.h"
#include "tests/harness/harness.h"

static void test_picoseconds(void)
{
    CU_ASSERT_EQUAL(pod_ps(0), 0);
    CU_ASSERT_EQUAL(pod_ps(-1), 0);
    CU_ASSERT_EQUAL(pod_ps(0.4e-12), 0);
    CU_ASSERT_EQUAL(pod_ps(0.6e-12), 1);
    CU_ASSERT_EQUAL(pod_ps(1e-6), 1000000);
    CU_ASSERT_EQUAL(pod_ps(86400), INT64_C(86400000000000000));
    CU_ASSERT_EQUAL(pod_ps(1e8), POD_PS_NEVER);
    CU_ASSERT_EQUAL(pod_ps((double)INFINITY), POD_PS_NEVER);
    CU_ASSERT_EQUAL(pod_ps((double)NAN), POD_PS_NEVER);
    CU_ASSERT_EQUAL(pod_ps_add(1, 2), 3);
    CU_ASSERT_EQUAL(pod_ps_add(POD_PS_NEVER, 0), POD_PS_NEVER);
    CU_ASSERT_EQUAL(pod_ps_add(POD_PS_NEVER, POD_PS_NEVER), POD_PS_NEVER);
    CU_ASSERT_EQUAL(pod_ps_add(POD_PS_NEVER - 5, 4), POD_PS_NEVER - 1);
    CU_ASSERT_EQUAL(pod_ps_seconds(1500000), 1.5e-6);
}

static void test_ties(void)
{
    static const struct {
        int64_t at_ps;
        uint64_t key;
    } in[] = {{5, 1}, {3, 9}, {3, 2}, {5, 0}, {0, 7}, {3, 3}},
      want[] = {{0, 7}, {3, 2}, {3, 3}, {3, 9}, {5, 0}, {5, 1}};
    enum { N = sizeof in / sizeof in[0] };
    /* The order in which they go in makes no difference. */
    for (int turn = 0; turn < N; turn++) {
        pod_engine *e;
        POD_CHECK_OK(pod_engine_create(NULL, &e));
        for (int i = 0; i < N; i++)
            pod_engine_push(e, in[(i + turn) % N].at_ps, in[(i + turn) % N].key);
        pod_engine_event out;
        for (int i = 0; i < N; i++) {
            CU_ASSERT_TRUE(pod_engine_pop(e, &out));
            POD_CHECK(out.at_ps == want[i].at_ps && out.key == want[i].key,
                      "turn %d: event %d is %d/%d", turn, i, (int)out.at_ps, (int)out.key);
            CU_ASSERT_EQUAL(pod_engine_now(e), out.at_ps);
        }
        CU_ASSERT_FALSE(pod_engine_pop(e, &out));
        CU_ASSERT_EQUAL(pod_engine_n_events(e), N);
        pod_engine_destroy(e);
    }
}

/* Events that come out put others in, as a simulation does; the queue grows and drains. */
static void test_long_run(void)
{
    enum { N_FIRST = 1000, N_ALL = 200000 };
    pod_engine *e;
    POD_CHECK_OK(pod_engine_create(NULL, &e));
    for (int i = 0; i < 10; i++) pod_engine_push(e, i, (uint64_t)i);
    pod_rng rng = pod_rng_at(7, (pod_place){POD_STREAM_TEST, 0, 0, 0});
    for (int i = 10; i < N_FIRST; i++)
        pod_engine_push(e, (int64_t)pod_rng_below(&rng, 1000), (uint64_t)i);
    int64_t n_pushed = N_FIRST, n_popped = 0, n_disordered = 0;
    pod_engine_event last = {0, 0}, out;
    while (pod_engine_pop(e, &out)) {
        n_popped++;
        n_disordered += out.at_ps < last.at_ps ||
                        (out.at_ps == last.at_ps && out.key < last.key && out.key < N_FIRST);
        last = out;
        for (int k = 0; k < 2 && n_pushed < N_ALL && n_pushed - n_popped < N_FIRST; k++)
            pod_engine_push(e, out.at_ps + 1 + (int64_t)pod_rng_below(&rng, 50),
                            (uint64_t)n_pushed++);
    }
    CU_ASSERT_EQUAL(n_popped, N_ALL);
    CU_ASSERT_EQUAL(n_disordered, 0);
    pod_engine_destroy(e);
}

/* Against a plain list: bursts at one time, times near and far, put in before and while they come
 * out. */
static void test_against_a_list(void)
{
    enum { N = 3000 };
    static const uint64_t reach[] = {1, 3, 50, 1000000, UINT64_C(1) << 50};
    static pod_engine_event all[N];
    for (int round = 0; round < 20; round++) {
        pod_rng rng = pod_rng_at(9, (pod_place){POD_STREAM_TEST, (uint16_t)round, 0, 0});
        pod_engine *e;
        pod_engine_event out, last = {0, 0};
        POD_CHECK_OK(pod_engine_create(NULL, &e));
        int n = 0, n_wrong = 0;
        for (int turn = 0; turn < N;) {
            const int n_more = n < N ? (int)pod_rng_below(&rng, turn % 7 == 0 ? 200 : 3) : 0;
            for (int k = 0; k < n_more && n < N; k++, n++) {
                all[n].at_ps =
                    pod_engine_now(e) + (int64_t)pod_rng_below(&rng, reach[(round + n / 50) % 5]);
                all[n].key = pod_rng_below(&rng, 1000) * N + (uint64_t)n;
                pod_engine_push(e, all[n].at_ps, all[n].key);
            }
            if (!pod_engine_pop(e, &out)) {
                if (n == N) break;
                continue;
            }
            turn++;
            int first = -1;
            for (int i = 0; i < n; i++)
                if (all[i].at_ps >= 0 &&
                    (first < 0 || all[i].at_ps < all[first].at_ps ||
                     (all[i].at_ps == all[first].at_ps && all[i].key < all[first].key)))
                    first = i;
            n_wrong += first < 0 || all[first].at_ps != out.at_ps || all[first].key != out.key;
            n_wrong += out.at_ps < last.at_ps;
            if (first >= 0) all[first].at_ps = -1;
            last = out;
        }
        POD_CHECK(n_wrong == 0 && n == N && pod_engine_n_events(e) == N,
                  "round %d: %d of %d events are wrong", round, n_wrong, n);
        POD_CHECK_OK(pod_engine_check(e));
        pod_engine_destroy(e);
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

enum { PLACES = 7, PLACE_MASK = 7, ELSEWHERE = 1 << 3, WINDOW_BITS = 10, FAR = (1 << 20) + 1 };

static const int16_t place_by_key[PLACE_MASK + 1] = {0, 1, 2, 3, 4, 5, 6, 0};

/* As far from what the table says as can be. */
static int find_elsewhere(const void *ctx, uint64_t key)
{
    (void)ctx;
    return PLACES - 1 - place_by_key[key & PLACE_MASK];
}

static int place_of(uint64_t key)
{
    return key & ELSEWHERE ? find_elsewhere(NULL, key) : place_by_key[key & PLACE_MASK];
}

static const pod_engine_places seven = {.n = PLACES,
                                        .window_bits = WINDOW_BITS,
                                        .mask = PLACE_MASK,
                                        .place = place_by_key,
                                        .elsewhere = ELSEWHERE,
                                        .find = find_elsewhere};

/* In a window place after place, at each by time and key. */
static void test_places(void)
{
    static const pod_engine_event in[] = {{900, 1}, {2000, 0},  {100, 1}, {100, 17}, {1, 2},
                                          {500, 8}, {1023, 16}, {FAR, 3}, {1024, 6}, {3, 0}},
                                  want[] = {{3, 0}, {1023, 16}, {100, 1},  {100, 17}, {900, 1},
                                            {1, 2}, {500, 8},   {2000, 0}, {1024, 6}, {FAR, 3}};
    enum { N = sizeof in / sizeof in[0] };
    pod_engine *e;
    pod_engine_event out;
    POD_CHECK_OK(pod_engine_create(NULL, &e));
    POD_CHECK_OK(pod_engine_set_places(e, &seven));
    for (int i = 0; i < N; i++) pod_engine_push(e, in[i].at_ps, in[i].key);
    for (int i = 0; i < N; i++) {
        CU_ASSERT_TRUE(pod_engine_pop(e, &out));
        POD_CHECK(out.at_ps == want[i].at_ps && out.key == want[i].key, "event %d is %d/%d", i,
                  (int)out.at_ps, (int)out.key);
        CU_ASSERT_EQUAL(pod_engine_now(e), out.at_ps);
        /* Later at this place, at one whose turn comes, and in the next window. */
        CU_ASSERT_TRUE(pod_engine_may_push(e, out.at_ps, out.key));
        CU_ASSERT_EQUAL(pod_engine_may_push(e, out.at_ps - 1, 6), place_of(out.key) < 6);
        CU_ASSERT_TRUE(pod_engine_may_push(e, out.at_ps + (1 << WINDOW_BITS), 0));
        CU_ASSERT_EQUAL(pod_engine_may_push(e, out.at_ps, 0), place_of(out.key) == 0);
    }
    CU_ASSERT_FALSE(pod_engine_pop(e, &out));
    CU_ASSERT_EQUAL(pod_engine_now(e), FAR);
    CU_ASSERT_FALSE(pod_engine_may_push(e, FAR - 1, 3));
    CU_ASSERT_TRUE(pod_engine_may_push(e, FAR, 0));
    pod_engine_destroy(e);
}

typedef struct trail { /* what came out at each place, in order */
    int n;
    uint64_t hash[PLACES];
} trail;

/* What an event puts in is by its key alone: at its own place soon, at others a window later. */
static trail follow(const pod_engine_places *places, int n_first)
{
    trail t = {0};
    pod_engine *e;
    pod_engine_event out;
    POD_CHECK_OK(pod_engine_create(NULL, &e));
    POD_CHECK_OK(pod_engine_set_places(e, places));
    pod_rng rng = pod_rng_at(11, (pod_place){POD_STREAM_TEST, 0, 0, 0});
    for (int i = 0; i < n_first; i++)
        pod_engine_push(e, (int64_t)pod_rng_below(&rng, 5000), pod_rng_below(&rng, 1 << 30) << 4);
    for (; pod_engine_pop(e, &out); t.n++) {
        uint64_t *hash = &t.hash[place_of(out.key)];
        *hash = (*hash ^ out.key ^ (uint64_t)out.at_ps << 32) * UINT64_C(0x9e3779b97f4a7c15);
        rng = pod_rng_at(out.key, (pod_place){POD_STREAM_TEST, 0, 0, 0});
        for (uint64_t n = pod_rng_below(&rng, 3) + (out.key >> 8) % 2; n > 0; n--) {
            static const uint64_t reach[] = {1, 40, 3000, 100000, 10000000};
            const uint64_t key =
                pod_rng_below(&rng, UINT64_C(1) << 60) << 4 | pod_rng_below(&rng, 16);
            const bool stays = place_of(key) == place_of(out.key);
            const int64_t in_ps = (int64_t)pod_rng_below(&rng, reach[pod_rng_below(&rng, 5)]);
            if (out.at_ps < 200000)
                pod_engine_push(e, out.at_ps + in_ps + (stays ? 0 : 1 << WINDOW_BITS), key);
        }
    }
    POD_CHECK_OK(pod_engine_check(e));
    CU_ASSERT_EQUAL(pod_engine_n_events(e), t.n);
    pod_engine_destroy(e);
    return t;
}

/* Each place sees what it would if all events came out by time. */
static void test_places_against_one(void)
{
    static const int n_first[] = {1, 10, 100, 1000};
    for (int i = 0; i < 4; i++) {
        const trail got = follow(&seven, n_first[i]), want = follow(NULL, n_first[i]);
        POD_CHECK(got.n == want.n && got.n >= n_first[i], "%d first: %d events, want %d",
                  n_first[i], got.n, want.n);
        for (int p = 0; p < PLACES; p++)
            POD_CHECK(got.hash[p] == want.hash[p], "%d first: place %d sees others", n_first[i], p);
    }
}

/* Where times end a place hears of another, whose turn was, without delay. */
static void test_never(void)
{
    static const uint64_t key[] = {3, 0, 5};
    pod_engine *e;
    pod_engine_event out;
    CU_ASSERT_EQUAL_FATAL(pod_engine_create(NULL, &e), POD_OK);
    POD_CHECK_OK(pod_engine_set_places(e, &seven));
    pod_engine_push(e, POD_PS_NEVER - 1, key[0]);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(pod_engine_pop(e, &out));
        POD_CHECK(out.key == key[i], "event %d: key %d", i, (int)out.key);
        if (i == 2) break;
        CU_ASSERT_TRUE(pod_engine_may_push(e, POD_PS_NEVER, key[i + 1]));
        pod_engine_push(e, POD_PS_NEVER, key[i + 1]);
    }
    CU_ASSERT_EQUAL(out.at_ps, POD_PS_NEVER);
    CU_ASSERT_TRUE(!pod_engine_pop(e, &out));
    POD_CHECK_OK(pod_engine_check(e));
    pod_engine_destroy(e);
}

static void test_no_memory(void)
{
    for (int n = 0;; n++) {
        pod_test_budget budget = {.n_left = n};
        const pod_alloc memory = pod_test_budget_alloc(&budget);
        pod_engine *e = NULL;
        pod_engine_event out;
        pod_status s = pod_engine_create(&memory, &e);
        int n_out = 0;
        if (s == POD_OK) {
            for (int i = 0; i < 300; i++) pod_engine_push(e, i / 100, (uint64_t)(300 - i));
            while (pod_engine_pop(e, &out)) n_out++;
            s = pod_engine_check(e);
        }
        pod_engine_destroy(e);
        CU_ASSERT_EQUAL(budget.n_alive, 0);
        if (s == POD_OK) {
            CU_ASSERT_EQUAL(n_out, 300);
            CU_ASSERT_TRUE(n > 5);
            return;
        }
        CU_ASSERT_EQUAL(s, POD_E_NOMEM);
    }
}

POD_TEST_SUITE("engine", {"picoseconds", test_picoseconds}, {"ties", test_ties},
               {"long run", test_long_run}, {"against a list", test_against_a_list},
               {"places", test_places}, {"places against one", test_places_against_one},
               {"never", test_never}, {"no memory", test_no_memory});
