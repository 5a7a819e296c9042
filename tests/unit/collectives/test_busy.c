/* Who waits for whom at what serves one after the other, by hand. */
#include "collectives/net/busy.h"
#include "tests/harness/harness.h"

typedef struct arrival {
    int64_t at, held;
    bool is_preferred;
    int64_t want; /* from when it is held */
} arrival;

enum { MAX_ARRIVALS = 6 };

static const struct {
    const char *what;
    arrival all[MAX_ARRIVALS]; /* held 0: no more */
} cases[] = {
    {"first come, first served; idle in between",
     {{0, 10, false, 0}, {3, 5, false, 10}, {20, 1, false, 20}}},
    {"the preferred likewise, among themselves",
     {{0, 10, true, 0}, {3, 5, true, 10}, {20, 1, true, 20}}},
    {"what is preferred does not wait for what is not; the next one waits as much longer",
     {{0, 10, false, 0}, {4, 3, true, 4}, {5, 1, false, 13}}},
    {"nor does it where others stand in line",
     {{0, 10, false, 0}, {1, 10, false, 10}, {2, 3, true, 2}, {3, 1, false, 23}}},
    {"but for what is preferred, in line with it",
     {{0, 10, false, 0}, {1, 5, true, 1}, {2, 5, true, 6}, {3, 1, false, 20}}},
    {"what is not preferred waits for what is", {{0, 10, true, 0}, {4, 5, false, 10}}},
    {"a debt is of those behind it: none is left once it was idle",
     {{0, 10, false, 0}, {4, 3, true, 4}, {13, 2, false, 13}, {15, 2, true, 15}}},
    {"what is preferred and comes later than all before it is as any other",
     {{0, 10, false, 0}, {30, 5, true, 30}, {31, 5, false, 35}}},
};

static void test_by_hand(void)
{
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        pod_busy busy = {0};
        for (int i = 0; i < MAX_ARRIVALS && cases[k].all[i].held > 0; i++) {
            const arrival *a = &cases[k].all[i];
            const int64_t got = pod_busy_take(&busy, a->at, a->held, a->is_preferred);
            POD_CHECK(got == a->want, "%s: the one that comes at %d begins at %d, want %d",
                      cases[k].what, (int)a->at, (int)got, (int)a->want);
        }
    }
}

static void test_never(void)
{
    pod_busy busy = {0};
    (void)pod_busy_take(&busy, 0, POD_PS_NEVER - 1, false);
    CU_ASSERT_EQUAL(pod_busy_take(&busy, 5, POD_PS_NEVER, true), 5);
    CU_ASSERT_EQUAL(pod_busy_take(&busy, 6, 1, true), POD_PS_NEVER);
    CU_ASSERT_EQUAL(pod_busy_take(&busy, 6, 1, false), POD_PS_NEVER);
}

POD_TEST_SUITE("busy", {"by hand", test_by_hand},
               {"no time lies behind the end of time", test_never});
