/* Scheduling goodput of made-up fleets, with the sums in comments; and what is refused. */
#include <math.h>
#include <string.h>

#include "runtime/core/file.h"
#include "runtime/goodput/fleet.h"
#include "tests/harness/harness.h"

#define HEADING "job,event,time_s,ranks\n"

/* Parses a copy, which lives in the arena like the result. */
static pod_status parse(const char *text, pod_fleet *out)
{
    pod_arena *a = pod_test_arena();
    char *copy = pod_arena_text(a, "%s", text);
    return copy ? pod_fleet_parse(a, "f.csv", copy, out) : POD_E_NOMEM;
}

static void check_job(const pod_fleet *f, const char *name, double asked_s, double together_s,
                      double partial_s, double queue_s)
{
    const pod_fleet_job *j = pod_fleet_find(f, name);
    POD_CHECK(j && j->asked_s == asked_s && j->together_s == together_s &&
                  j->partial_s == partial_s && j->queue_s == queue_s,
              "%s: asked %g, together %g, partial %g, queue %g", name, j ? j->asked_s : -1,
              j ? j->together_s : -1, j ? j->partial_s : -1, j ? j->queue_s : -1);
}

/* 16 ranks for 100 s: 1600.
 * a: 8 ranks asked from 0 to 90 (720); 4 of them from 10 to 20 (40 held in vain), 8 from 20 to 50
 *    and 60 to 90 (480), 0 between; queued 20 s.
 * b: 8 asked from 30 to 100 (560), had from 40 on (480), and has not ended; queued 10 s. */
static void two_jobs(void)
{
    pod_fleet f;
    POD_CHECK_OK(parse("# a fleet\n\n" HEADING ",capacity,0,16\n"
                       "a,submit,0,8\na,allocate,10,4\na,allocate,20,8\n b , submit , 30 , 8 \r\n"
                       "b,allocate,40,8\na,allocate,50,0\na,allocate,60,8\na,end,90,\n"
                       ",capacity,100,16",
                       &f));
    CU_ASSERT_EQUAL(f.n_jobs, 2);
    CU_ASSERT_TRUE(f.has_capacity);
    CU_ASSERT_EQUAL(f.capacity_s, 1600);
    CU_ASSERT_EQUAL(f.together_s, 480 + 480);
    CU_ASSERT_EQUAL(f.partial_s, 40);
    CU_ASSERT_EQUAL(pod_fleet_goodput(&f), 960.0 / 1600);
    check_job(&f, "a", 720, 480, 40, 20);
    check_job(&f, "b", 560, 480, 0, 10);
    CU_ASSERT_TRUE(pod_fleet_find(&f, "c") == NULL);
}

/* Without a capacity it is what was asked for: 4 x (10 - -10) + 2 x (30 - 20) = 100, of which 4 x 5
 * and 2 x 10 were together. The job that came again queues again. */
static void again_without_capacity(void)
{
    pod_fleet f;
    POD_CHECK_OK(parse(HEADING "j,submit,-10,4\nj,allocate,5,4\nj,end,10,0\n"
                               "j,submit,20,2\nj,allocate,20,2\nj,end,30,",
                       &f));
    CU_ASSERT_TRUE(!f.has_capacity);
    CU_ASSERT_EQUAL(f.capacity_s, 100);
    check_job(&f, "j", 100, 40, 0, 15);
    CU_ASSERT_EQUAL(pod_fleet_goodput(&f), 0.4);
}

/* 8 ranks for 10 s, then 4 for 10 s: 120; the job has 4 throughout: 80. */
static void capacity_changes(void)
{
    pod_fleet f;
    POD_CHECK_OK(parse(HEADING ",capacity,0,8\nj,submit,0,4\nj,allocate,0,4\n,capacity,10,4\n"
                               "j,end,20,",
                       &f));
    CU_ASSERT_EQUAL(pod_fleet_goodput(&f), 80.0 / 120);
}

static void no_time(void)
{
    pod_fleet f;
    POD_CHECK_OK(parse(HEADING, &f));
    CU_ASSERT_TRUE(isnan(pod_fleet_goodput(&f)) && f.n_jobs == 0);
    POD_CHECK_OK(parse("\xef\xbb\xbf" HEADING "a,submit,0,4\r\na,end,1,\r\n", &f));
    CU_ASSERT_EQUAL(f.n_jobs, 1);
}

static void what_is_refused(void)
{
    static const struct {
        const char *text, *part;
        pod_status status;
    } bad[] = {
        {"", "f.csv:1: want the heading", POD_E_FORMAT},
        {"job,event,time,ranks\n", "f.csv:1: want the heading", POD_E_FORMAT},
        {HEADING "a,submit,0\n", "f.csv:2: want the 4 fields of a line, found 3", POD_E_FORMAT},
        {HEADING "a,submit,0,4,5\n", "found 5", POD_E_FORMAT},
        {HEADING "a,submti,0,4\n", "f.csv:2: there is no event 'submti'; did you mean submit",
         POD_E_FORMAT},
        {HEADING "#\n\na,submit,0,4\na,end,-1,\n", "f.csv:5: time_s -1 goes back", POD_E_FORMAT},
        {HEADING "a,submit,nan,4\n", "f.csv:2: time_s: 'nan'", POD_E_INVALID},
        {HEADING "a,submit,,4\n", "f.csv:2: time_s: ''", POD_E_INVALID},
        {HEADING "a,submit,0,0\n", "f.csv:2: ranks: 0 is not within 1", POD_E_INVALID},
        {HEADING "a,submit,0,4.5\n", "f.csv:2: ranks: '4.5'", POD_E_INVALID},
        {HEADING "a,submit,0,4\na,submit,1,4\n", "f.csv:3: submit 'a' again: that of line 2",
         POD_E_FORMAT},
        {HEADING "a,allocate,0,4\n", "f.csv:2: allocate 'a' of a job that was not submitted",
         POD_E_FORMAT},
        {HEADING "a,submit,0,4\na,end,1,\na,allocate,2,1\n", "f.csv:4: allocate 'a' of a job",
         POD_E_FORMAT},
        {HEADING "a,submit,0,4\na,allocate,0,5\n",
         "f.csv:3: allocate 'a' 5 ranks, but it asked for 4", POD_E_FORMAT},
        {HEADING "a,submit,0,4\na,end,1,4\n", "f.csv:3: end 'a' leaves no ranks", POD_E_FORMAT},
        {HEADING ",submit,0,4\n", "f.csv:2: submit '' of which job", POD_E_FORMAT},
        {HEADING "a,capacity,0,4\n", "f.csv:2: capacity 'a' is the fleet's", POD_E_FORMAT},
        {HEADING "a,submit,0,4\n,capacity,0,6\n", "f.csv:3: capacity '' comes after", POD_E_FORMAT},
        {HEADING ",capacity,0,6\na,submit,0,4\nb,submit,0,4\na,allocate,1,4\nb,allocate,1,4\n",
         "f.csv:6: capacity of 6 ranks, but jobs have 8", POD_E_FORMAT},
        {HEADING ",capacity,0,6\na,submit,0,4\na,allocate,1,4\n,capacity,2,3\n",
         "f.csv:5: capacity of 3 ranks, but jobs have 4", POD_E_FORMAT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pod_fleet f;
        POD_CHECK_FAILS(parse(bad[i].text, &f), bad[i].status, bad[i].part);
    }
}

/* The job has 4 ranks together from 100 to 160 and ends there: 240 rank-seconds. A second is let pass;
 * a run may be shorter, or still at it. From 1e9 on seconds are those since 1970. */
static void against_a_run(void)
{
    static const struct {
        const char *what;
        double since_s; /* of the file's 0 */
        pod_fleet_run run;
        const char *part; /* NULL: it can be */
    } rows[] = {
        {"all of it", 0, {"r", 4, 5000, 5060, 240, false}, NULL},
        {"less", 0, {"r", 2, 5000, 5010, 20, false}, NULL},
        {"a second more", 0, {"r", 4, 5000, 5061, 244, false}, NULL},
        {"more ranks", 0, {"r", 8, 0, 10, 80, false}, "at most so many ranks together: 4, but"},
        {"longer", 0, {"r", 4, 0, 70, 280, false}, "for so many rank-seconds: 240, but the log of"},
        {"longer, and runs", 0, {"r", 4, 0, 70, 280, true}, NULL},
        {"all of it, since 1970", 2e9, {"r", 4, 2e9 + 100, 2e9 + 160, 240, false}, NULL},
        {"a second off", 2e9, {"r", 4, 2e9 + 99.5, 2e9 + 160.5, 240, false}, NULL},
        {"before",
         2e9,
         {"r", 4, 2e9 + 50, 2e9 + 70, 80, false},
         "is together from second 2000000100"},
        {"behind",
         2e9,
         {"r", 4, 2e9 + 110, 2e9 + 170, 240, false},
         "ends at second 2000000160, but"},
        {"behind, and runs", 2e9, {"r", 4, 2e9 + 110, 2e9 + 170, 240, true}, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_fleet f = {0};
        char text[256];
        snprintf(text, sizeof text,
                 HEADING "j,submit,%.0f,4\nj,allocate,%.0f,2\nj,allocate,%.0f,4\nj,end,%.0f,\n",
                 rows[i].since_s + 10, rows[i].since_s + 90, rows[i].since_s + 100,
                 rows[i].since_s + 160);
        POD_CHECK_OK(parse(text, &f));
        const pod_fleet_job *j = pod_fleet_find(&f, "j");
        const pod_status s = pod_fleet_check(&f, j, &rows[i].run);
        POD_CHECK(rows[i].part ? s == POD_E_INVALID && strstr(pod_error_text(), rows[i].part)
                               : s == POD_OK,
                  "%s: %s", rows[i].what, s == POD_OK ? "let pass" : pod_error_text());
    }
    pod_fleet f = {0};
    const pod_fleet_run run = {"r", 4, 0, 10, 40, false};
    POD_CHECK_OK(parse(HEADING "j,submit,0,4\nj,allocate,5,2\n", &f));
    POD_CHECK_FAILS(pod_fleet_check(&f, pod_fleet_find(&f, "j"), &run), POD_E_INVALID,
                    "together: 0");
    POD_CHECK_OK(parse(HEADING "j,submit,0,4\nj,allocate,5,4\n", &f)); /* has not ended */
    POD_CHECK_FAILS(pod_fleet_check(&f, pod_fleet_find(&f, "j"), &run), POD_E_INVALID,
                    "has no end, and till the last line so many rank-seconds together: 0, but");
    const pod_fleet_run runs = {"r", 4, 0, 10, 40, true};
    POD_CHECK_OK(pod_fleet_check(&f, pod_fleet_find(&f, "j"), &runs));
    POD_CHECK_OK(parse(HEADING "j,submit,0,4\nj,allocate,5,4\nk,submit,20,4\n", &f));
    POD_CHECK_OK(pod_fleet_check(&f, pod_fleet_find(&f, "j"), &run));
}

static void from_a_file(void)
{
    static const char text[] = HEADING "a,submit,0,4\na,allocate,1,4\na,end,4,\n";
    pod_arena *a = pod_test_arena();
    pod_fleet f;
    const char *path = pod_test_path("jobs.csv");
    POD_CHECK_OK(pod_file_write_atomic(path, text, sizeof text - 1));
    POD_CHECK_OK(pod_fleet_read(a, path, &f));
    CU_ASSERT_EQUAL(pod_fleet_goodput(&f), 0.75);
    POD_CHECK_FAILS(pod_fleet_read(a, "absent.csv", &f), POD_E_IO, "absent.csv");
}

POD_TEST_SUITE("runtime.fleet", {"two jobs", two_jobs},
               {"again, without capacity", again_without_capacity},
               {"capacity changes", capacity_changes}, {"no time", no_time},
               {"what is refused", what_is_refused}, {"against a run", against_a_run},
               {"from a file", from_a_file});
