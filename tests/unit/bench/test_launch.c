/* What a launcher decides, reads and says. */
#include <stdio.h>
#include <string.h>

#include "bench/launch/launch.h"
#include "tests/harness/harness.h"

/* ---- what follows an attempt ---- */

enum { /* what was seen */
       KILLED = 1,
       HUNG = 2,
       ASKED = 4,
       STOPPED = 8,
       FINISHED = 16,
       SAVED = 32,
       PROGRESSED = 64,
       REFUSED = 128,
       UNSTARTED = 256
};

static pod_launch_seen seen_of(int exit_code, int seen, int left, double first_s, double pause_s)
{
    return (pod_launch_seen){.exit_code = exit_code,
                             .killed = seen & KILLED,
                             .hung = seen & HUNG,
                             .refused = seen & REFUSED,
                             .unstarted = seen & UNSTARTED,
                             .asked_to_stop = seen & ASKED,
                             .stopped = seen & STOPPED,
                             .finished = seen & FINISHED,
                             .is_saved = seen & SAVED,
                             .progressed = seen & PROGRESSED,
                             .restarts_left = left,
                             .first_pause_s = first_s,
                             .pause_s = pause_s};
}

static void test_next(void)
{
    enum { ENDS, AGAIN };
    static const struct {
        const char *what;
        int exit_code, seen, restarts_left;
        double first_pause_s, pause_s; /* before this attempt */
        int again;
        double next_pause_s;
        int next_exit_code;
        pod_launch_reason reason;
    } rows[] = {
        {"done", 0, 0, 3, 0, 0, ENDS, 0, 0, POD_LAUNCH_OK},
        {"done, as its log says", 0, FINISHED, 3, 0, 0, ENDS, 0, 0, POD_LAUNCH_OK},
        {"failed", 1, 0, 1, 2, 0, AGAIN, 2, 1, POD_LAUNCH_FAILED},
        {"failed, none is left", 1, 0, 0, 2, 0, ENDS, 0, 1, POD_LAUNCH_FAILED},
        {"usage", 2, 0, 3, 0, 0, ENDS, 0, 2, POD_LAUNCH_USAGE},
        {"a rank was killed", 137, KILLED, 3, 1, 4, AGAIN, 8, 1, POD_LAUNCH_KILLED},
        {"mpirun makes 1 of it", 1, KILLED, 3, 1, 0, AGAIN, 1, 1, POD_LAUNCH_KILLED},
        {"progress sets the pause back", 137, KILLED | PROGRESSED, 3, 1, 32, AGAIN, 1, 1,
         POD_LAUNCH_KILLED},
        {"a minute at most", 1, 0, 3, 1, 32, AGAIN, 60, 1, POD_LAUNCH_FAILED},
        {"and no more", 1, 0, 3, 1, 60, AGAIN, 60, 1, POD_LAUNCH_FAILED},
        {"no pause stays none", 1, 0, 3, 0, 0, AGAIN, 0, 1, POD_LAUNCH_FAILED},
        {"hung", 1, HUNG | KILLED, 1, 1, 0, AGAIN, 1, 1, POD_LAUNCH_HUNG},
        {"hung, and left well when it was ended", 0, HUNG, 1, 1, 0, AGAIN, 1, 1, POD_LAUNCH_HUNG},
        {"hung; its ranks took the launcher's SIGTERM for a request", 1, HUNG | STOPPED, 1, 1, 0,
         AGAIN, 1, 1, POD_LAUNCH_HUNG},
        {"asked to stop, and hung", 1, HUNG | ASKED, 1, 0, 0, ENDS, 0, 1, POD_LAUNCH_HUNG},
        {"asked to stop, and hung behind a checkpoint of its last step", 1, HUNG | ASKED | SAVED, 0,
         0, 0, ENDS, 0, 0, POD_LAUNCH_STOPPED},
        {"asked to stop; it hung, and saved when it was ended", 0, HUNG | ASKED | STOPPED, 1, 0, 0,
         ENDS, 0, 0, POD_LAUNCH_STOPPED},
        {"a rank was killed; another one took mpirun's SIGTERM for a request", 137,
         KILLED | STOPPED, 1, 0, 0, AGAIN, 0, 1, POD_LAUNCH_KILLED},
        {"asked from elsewhere, and failed", 1, STOPPED, 1, 0, 0, ENDS, 0, 1, POD_LAUNCH_STOPPED},
        {"asked to stop, and killed behind its last step", 137, KILLED | ASKED | FINISHED, 1, 0, 0,
         ENDS, 0, 1, POD_LAUNCH_KILLED},
        {"hung, none is left", 0, HUNG, 0, 0, 0, ENDS, 0, 1, POD_LAUNCH_HUNG},
        {"taken for hung in its last second", 0, HUNG | FINISHED, 1, 0, 0, ENDS, 0, 0,
         POD_LAUNCH_OK},
        {"missed its target", 1, FINISHED, 3, 0, 0, ENDS, 0, 1, POD_LAUNCH_MISSED},
        {"missed its target, and asked to stop in its last evaluation or save", 1,
         FINISHED | ASKED | SAVED, 0, 0, 0, ENDS, 0, 1, POD_LAUNCH_MISSED},
        {"killed before its results were written", 137, KILLED | FINISHED, 3, 0, 0, AGAIN, 0, 1,
         POD_LAUNCH_KILLED},
        {"stopped and saved", 0, ASKED | STOPPED, 3, 0, 0, ENDS, 0, 0, POD_LAUNCH_STOPPED},
        {"ranks were asked behind the launcher's back", 0, STOPPED, 3, 0, 0, ENDS, 0, 0,
         POD_LAUNCH_STOPPED},
        {"asked to stop in its last second", 0, ASKED | FINISHED, 0, 0, 0, ENDS, 0, 0,
         POD_LAUNCH_OK},
        {"asked to stop, and ended before it could save", 138, KILLED | ASKED, 3, 0, 0, ENDS, 0, 1,
         POD_LAUNCH_STOPPED},
        {"asked to stop before its first step, or twice and saved all the same", 138,
         KILLED | ASKED | SAVED, 3, 0, 0, ENDS, 0, 0, POD_LAUNCH_STOPPED},
        {"asked to stop, and its input cannot be used", 2, ASKED | SAVED, 0, 0, 0, ENDS, 0, 2,
         POD_LAUNCH_STOPPED},
        {"no rank ever began", 1, UNSTARTED, 3, 1, 0, ENDS, 0, 1, POD_LAUNCH_UNSTARTED},
        {"no rank ever began, since one was killed", 137, UNSTARTED | KILLED, 3, 0, 0, AGAIN, 0, 1,
         POD_LAUNCH_KILLED},
        {"mpirun cannot be used like that", 1, REFUSED | UNSTARTED, 3, 0, 0, ENDS, 0, 2,
         POD_LAUNCH_USAGE},
        {"nobody asked, and no step is lost", 138, KILLED | SAVED, 0, 0, 0, ENDS, 0, 1,
         POD_LAUNCH_KILLED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pod_launch_seen seen = seen_of(rows[i].exit_code, rows[i].seen, rows[i].restarts_left,
                                             rows[i].first_pause_s, rows[i].pause_s);
        const pod_launch_next got = pod_launch_decide(&seen);
        POD_CHECK(got.again == rows[i].again && got.pause_s == rows[i].next_pause_s &&
                      got.exit_code == rows[i].next_exit_code && got.reason == rows[i].reason,
                  "%s: again %d in %g s, exit %d, %s", rows[i].what, got.again, got.pause_s,
                  got.exit_code, pod_launch_reason_text(got.reason));
    }
}

/* However a job fails, it comes to an end. */
static void test_ends(void)
{
    pod_launch_seen s = {.exit_code = 1, .restarts_left = 20, .first_pause_s = 1};
    double all_s = 0;
    for (int attempt = 1;; attempt++, s.restarts_left--) {
        const pod_launch_next n = pod_launch_decide(&s);
        POD_CHECK(n.pause_s <= 60, "a pause of %g s", n.pause_s);
        if (!n.again) {
            POD_CHECK(attempt == 21, "%d attempts of 20 restarts", attempt);
            break;
        }
        all_s += s.pause_s = n.pause_s;
    }
    POD_CHECK(all_s == 1 + 2 + 4 + 8 + 16 + 32 + 14 * 60, "paused for %g s", all_s);
}

/* ---- who died ---- */

static void test_scan(void)
{
    static const struct {
        const char *text;
        int rank, signal;
    } rows[] = {
        {"", -1, 0},
        {"all is well\n", -1, 0},
        {"mpirun noticed that process rank 3 with PID 0 on node here exited on signal 9 "
         "(Killed).\n",
         3, 9},
        {"mpirun noticed that process rank 3 with PID 0 on node here exited on signal 9", -1, 0},
        {"x\nrank 0: rank 11 died; rank 0 was waiting for rank 11 in allreduce ring 1M #8170\ny\n",
         11, 0},
        {"rank 0: rank 1 died; rank 0 was waiting in x\nmpirun noticed that process rank 1 with "
         "PID 5 on node a exited"
         " on signal 11 (Segmentation fault).\n",
         1, 11},
        {"rank 0: rank 1 died; rank 0 was waiting in x\nmpirun noticed that process rank 2 with "
         "PID 5 on node a exited"
         " on signal 6.\n",
         1, 0},
        {"rank 0: rank 3 did not arrive in allreduce ring 1M #5, step 7, for 2 s: ending the job\n",
         -1, 0},
        {"rank 0: rank 1 is late\nrank x: rank 1 died\n", -1, 0},
        {"prterun noticed that process rank 13 with PID 28 on node fresh exited on\nsignal 11 "
         "(Segmentation fault).\n",
         13, 11},
        {"prterun noticed that process rank 1 with PID 2 on node a exited on\nsignal\n", -1, 0},
        {"prterun noticed that process rank 1 with PID 2 on node a exited on\n\nsignal 9\n", -1, 0},
        {"---\nrank 0: rank 3 died; rank 0 was waiting in x\n", 3, 0},
        {"noticed that process rank -4 exited on signal 9\n", -1, 0},
        {"noticed that process rank 4 exited on signal nine\n", -1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t piece = 1; piece < 40; piece += 13) { /* however the bytes come */
            pod_launch_scanner s = pod_launch_scanner_start();
            const size_t n = strlen(rows[i].text);
            for (size_t at = 0; at < n; at += piece)
                pod_launch_scanner_feed(&s, rows[i].text + at, at + piece < n ? piece : n - at);
            POD_CHECK(s.heard.rank == rows[i].rank && s.heard.signal == rows[i].signal,
                      "'%s': rank %d, signal %d", rows[i].text, s.heard.rank, s.heard.signal);
        }
    static const char *const refusals[] = {
        "mpirun: Error: unknown option \"--hosts\"",
        "There are not enough slots available in the system to satisfy the 9"};
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        pod_launch_heard h = {.rank = -1};
        pod_launch_scan("epoch 3, options and slots", &h);
        CU_ASSERT_FALSE(h.refused);
        pod_launch_scan(refusals[i], &h);
        CU_ASSERT_TRUE(h.refused);
    }
    static const struct {
        const char *line, *overdue;
    } waits[] = {
        {"rank 0: rank 3 did not arrive in allreduce ring 1M #5, step 7, for 2 s: ending the job",
         "rank 3 did not arrive in allreduce ring 1M #5, step 7, for 2 s"},
        {"rank 1: rank 2, rank 3 did not arrive in barrier #5, for 12 s: ending the job",
         "rank 2, rank 3 did not arrive in barrier #5, for 12 s"},
        {"rank 1: rank 2 did not arrive in barrier #5", ""},
        {"rank 1 did not arrive in barrier #5: ending the job", ""},
        {"rank 1: : ending the job did not arrive in ", ""},
    };
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        pod_launch_heard h = {.rank = -1};
        pod_launch_scan(waits[i].line, &h);
        pod_launch_scan("rank 0: rank 9 did not arrive in x: ending the job", &h);
        const char *want = waits[i].overdue[0] ? waits[i].overdue : "rank 9 did not arrive in x";
        POD_CHECK(strcmp(h.overdue, want) == 0, "'%s': '%s'", waits[i].line, h.overdue);
    }
    pod_launch_scanner s = pod_launch_scanner_start();
    for (int i = 0; i < 10000; i++) pod_launch_scanner_feed(&s, "x", 1);
    pod_launch_scanner_feed(&s, "\n\0rank 0: rank 2 died, a\n", 26); /* as Open MPI 5 prints it */
    POD_CHECK(s.heard.rank == 2, "behind a long line: rank %d", s.heard.rank);
}

/* mpirun's exit code is of the rank that died first, unless its words are of another. */
static void test_exit(void)
{
    static const struct {
        const char *text;
        int exit_code, rank, signal;
    } rows[] = {
        {"", 137, -1, 0},
        {"rank 0: rank 1 died; rank 0 was waiting in x", 137, 1, 9},
        {"rank 0: rank 1 died; rank 0 was waiting in x", 1, 1, 0},
        {"rank 0: rank 1 died; rank 0 was waiting in x\nmpirun noticed that process rank 2 with "
         "PID 5 on node a exited"
         " on signal 6.",
         134, 1, 0},
        {"mpirun noticed that process rank 1 with PID 5 on node a exited on signal 11.", 137, 1,
         11},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_launch_scanner s = pod_launch_scanner_start();
        pod_launch_scanner_feed(&s, rows[i].text, strlen(rows[i].text));
        pod_launch_scanner_feed(&s, "\n", 1);
        pod_launch_hear_exit(rows[i].exit_code, &s.heard);
        POD_CHECK(s.heard.rank == rows[i].rank && s.heard.signal == rows[i].signal,
                  "'%s', %d: rank %d, signal %d", rows[i].text, rows[i].exit_code, s.heard.rank,
                  s.heard.signal);
    }
}

static void test_story(void)
{
    static const struct {
        pod_launch_reason reason;
        pod_launch_outcome of;
        const char *failure;
        int64_t step;
        const char *text;
    } rows[] = {
        {POD_LAUNCH_KILLED,
         {.heard = {.rank = 3, .signal = 9}, .end = 12340000000},
         "",
         120,
         "rank 3 was killed by signal 9; it took 12.3 s, to step 120"},
        {POD_LAUNCH_KILLED,
         {.heard = {.rank = 3, .signal = 9}, .lacked_memory = true, .end = 1000000000},
         "",
         2,
         "rank 3 was killed by signal 9, as memory ran out (--data-cache, --batch and the number "
         "of ranks say how much they take); it took 1.0 s, to step 2"},
        {POD_LAUNCH_KILLED,
         {.heard = {.rank = 3}, .exit_code = 1},
         "",
         0,
         "rank 3 died (no signal is known); it took 0.0 s and ended before its first step"},
        {POD_LAUNCH_KILLED,
         {.heard = {.rank = -1}, .exit_code = 137, .launcher_signal = 9},
         "",
         1,
         "mpirun was killed by signal 9; it took 0.0 s, to step 1"},
        {POD_LAUNCH_KILLED,
         {.heard = {.rank = -1}, .exit_code = 139},
         "",
         1,
         "a rank was killed by signal 11; it took 0.0 s, to step 1"},
        {POD_LAUNCH_HUNG,
         {.heard = {.rank = -1}, .quiet_s = 375},
         "",
         7,
         "no rank's log grew for 375.0 s; it took 0.0 s, to step 7"},
        {POD_LAUNCH_HUNG,
         {.heard = {.rank = -1, .overdue = "rank 3 did not arrive in x"}},
         "",
         7,
         "rank 3 did not arrive in x; it took 0.0 s, to step 7"},
        {POD_LAUNCH_FAILED,
         {.exit_code = 1},
         "loss is nan",
         7,
         "ended with exit code 1: loss is nan; it took 0.0 s, to step 7"},
        {POD_LAUNCH_FAILED,
         {.exit_code = 1},
         "",
         7,
         "ended with exit code 1; it took 0.0 s, to step 7"},
        {POD_LAUNCH_MISSED,
         {.exit_code = 1},
         "",
         7,
         "came to its end and missed its target; it took 0.0 s, to step 7"},
        {POD_LAUNCH_STOPPED, {0}, "", 7, "stopped as it was asked to; it took 0.0 s, to step 7"},
    };
    pod_arena *a = pod_test_arena();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *what =
            pod_launch_what(a, rows[i].reason, "mpirun", &rows[i].of, rows[i].failure);
        const char *got = pod_launch_tell(a, what, &rows[i].of, rows[i].step);
        POD_CHECK(got && strcmp(got, rows[i].text) == 0, "'%s', want '%s'", got, rows[i].text);
    }
}

/* ---- what is left ---- */

static void test_left(void)
{
    static const struct {
        const char *name;
        bool ours; /* of family 0x3792 */
    } rows[] = {
        {"vader_segment.vm.0.37920001.1", true},
        {"vader_segment.node7.example.org.1000.37920001.63", true},
        {"vader_segment.vm.0.37920002.0", true},
        {"sm_segment.vm.0.37920001.1", true},
        {"osc_sm.vm.37920001.3.1", true},
        {"osc_rdma.vm.37920001.3", true},
        {"vader_segment.vm.0.37930001.1", false},
        {"vader_segment.vm.0.3792.1", false},
        {"vader_segment.vm.37920001.0.1", false},
        {"osc_sm.vm.37920001.3", false},
        {"osc_sm.37920001.3.1", false},
        {"vader_segment.37920001.1", false},
        {"vader_segment.vm.0.137920001.1", false},
        {"vader_segment.vm.0.3792000g.1", false},
        {"vader_segment.", false},
        {"vader_segment", false},
        {"sem.37920001.1", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        POD_CHECK(pod_launch_is_left_by(rows[i].name, 0x3792) == rows[i].ours, "%s is %s",
                  rows[i].name, rows[i].ours ? "not seen" : "taken for ours");
    uint32_t family = 0;
    POD_CHECK(pod_launch_family_of("932315136.0;tcp://10.0.0.1:4\n23404\n", &family) &&
                  family == 0x3792,
              "family %x", (unsigned)family);
    static const char *const none[] = {"", "\n", "-1.0;", "932315136", "99999999999.0;tcp"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        POD_CHECK(!pod_launch_family_of(none[i], &family), "'%s' has a family", none[i]);
    POD_CHECK(pod_launch_family_of_session("prterun.fresh.40.0", 40, 0, &family) &&
                  family == 0x2e36, /* as Open MPI 5.0.7 had them */
              "family %x", (unsigned)family);
    POD_CHECK(pod_launch_family_of_session("prterun.fresh.8.0", 8, 0, &family) && family == 0xee3b,
              "family %x", (unsigned)family);
    static const char *const others[] = {"",
                                         "prterun",
                                         "prterun.40.0",
                                         "prterun.fresh.140.0",
                                         "prterun.fresh.40.1",
                                         "x.fresh.40.0",
                                         "prterun.fresh.40.0.1"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        POD_CHECK(!pod_launch_family_of_session(others[i], 40, 0, &family), "'%s' is a session",
                  others[i]);
}

/* ---- the log ---- */

static void test_log(void)
{
    const pod_job_step one[] = {{.step = 1}, {.step = 2}}, two[] = {{.step = 3}, {.step = 4}};
    const pod_job_step back[] = {{.step = 3}};
    const int64_t kept_one[] = {2}, kept_two[] = {4};
    const pod_job_part parts[] = {
        {.head = {.attempt = 1, .rank = 0},
         .n_steps = 2,
         .step = one,
         .n_kept = 1,
         .kept = kept_one,
         .end = POD_JOB_END_FAILED,
         .end_text = "the disk is full"},
        {.head = {.attempt = 1, .rank = 1}, .end = POD_JOB_END_FAILED, .end_text = "another"},
        {.head = {.attempt = 2, .rank = 0},
         .first_step = 2,
         .n_steps = 2,
         .step = two,
         .n_kept = 1,
         .kept = kept_two,
         .end = POD_JOB_END_OK,
         .end_text = ""},
        {.head = {.attempt = 3, .rank = 0}, .first_step = 4, .end = POD_JOB_END_STOPPED},
        {.head = {.attempt = 4, .rank = 0}, .first_step = -1},
        {.head = {.attempt = 5, .rank = 1}, .first_step = 4},
        {.head = {.attempt = 6, .rank = 0}, .first_step = 2, .n_steps = 1, .step = back},
    };
    const pod_job none = {0};
    POD_CHECK(!pod_launch_log_of(&none, 1).began, "a log that is not there has begun");
    const pod_job job = {.n_parts = (int)(sizeof parts / sizeof parts[0]), .part = parts};
    static const pod_launch_log want[] = {
        {.began = true, .began_now = true, .step = 2, .kept = 2, .failure = "the disk is full"},
        {.began = true, .began_now = true, .step = 4, .kept = 4, .finished = true, .failure = ""},
        {.began = true, .began_now = true, .step = 4, .kept = 4, .stopped = true, .failure = ""},
        {.began = true, .began_now = true, .step = 0, .kept = 4, .failure = ""},
        {.began = true, .step = 0, .kept = 4, .failure = ""}, /* rank 0 wrote nothing */
        {.began = true,
         .began_now = true,
         .step = 3,
         .kept = 2,
         .failure = ""}, /* 4 is left behind */
    };
    for (int i = 0; i < (int)(sizeof want / sizeof want[0]); i++) {
        const pod_launch_log got = pod_launch_log_of(&job, i + 1);
        POD_CHECK(got.began == want[i].began && got.began_now == want[i].began_now &&
                      got.step == want[i].step && got.kept == want[i].kept &&
                      got.stopped == want[i].stopped && got.finished == want[i].finished &&
                      strcmp(got.failure, want[i].failure) == 0,
                  "attempt %d: step %d, kept %d, stopped %d, finished %d, '%s'", i + 1,
                  (int)got.step, (int)got.kept, got.stopped, got.finished, got.failure);
    }
}

POD_TEST_SUITE("bench.launch", {"what follows an attempt", test_next},
               {"a job that fails comes to an end", test_ends}, {"who died", test_scan},
               {"by which signal", test_exit}, {"what is said", test_story},
               {"what is left", test_left}, {"what the log says", test_log});
