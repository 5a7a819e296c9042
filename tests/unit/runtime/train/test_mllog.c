/* The training log: a small run's log passes the judge; each line taken away, or put elsewhere,
 * makes it fail. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "runtime/core/file.h"
#include "runtime/train/mllog.h"
#include "tests/harness/harness.h"
#include "tests/tools/mllog_check.h"

static const pod_mllog_left anew; /* nothing is left */

static const char *at(const char *name) { return pod_test_path("%s", name); }

static void write_run(pod_mllog *l)
{
    POD_CHECK_OK(pod_mllog_begin(l, &anew, 1, 0));
    pod_mllog_submission(
        l, &(pod_mllog_run){"resnet", "nobody", "2 cores \"x\\y\"", "resnet20", "glyphs"});
    pod_mllog_put(l, "init_start", pod_mllog_null());
    pod_mllog_put(l, "seed", pod_mllog_int(11));
    pod_mllog_put(l, "global_batch_size", pod_mllog_int(256));
    pod_mllog_put(l, "lars_opt_end_learning_rate", pod_mllog_real(0.0001));
    pod_mllog_put(l, "init_stop", pod_mllog_null());
    pod_mllog_put(l, "run_start", pod_mllog_null());
    pod_mllog_put(l, "train_samples", pod_mllog_int(60000));
    pod_mllog_put(l, "eval_samples", pod_mllog_int(10000));
    for (int epoch = 1; epoch <= 2; epoch++) {
        const pod_mllog_value n = pod_mllog_int(epoch);
        pod_mllog_put(l, "epoch_start", pod_mllog_null(), {"epoch_num", n});
        pod_mllog_put(l, "epoch_stop", pod_mllog_null(), {"epoch_num", n});
        pod_mllog_put(l, "eval_start", pod_mllog_null(), {"epoch_num", n});
        pod_mllog_put(l, "eval_stop", pod_mllog_null(), {"epoch_num", n});
        pod_mllog_put(l, "eval_accuracy", pod_mllog_real(0.4 * epoch), {"epoch_num", n});
    }
    pod_mllog_put(l, "run_stop", pod_mllog_null(), {"status", pod_mllog_text("success")});
}

static const char *make_log(void)
{
    const char *path = at("mllog.txt");
    pod_clock clock = pod_clock_start();
    pod_mllog *l;
    POD_CHECK_OK(pod_mllog_open(path, 0, &clock, &l));
    write_run(l);
    POD_CHECK_OK(pod_mllog_close(l));
    return path;
}

static void a_run_passes(void)
{
    char why[512] = "";
    POD_CHECK(pod_mllog_check(make_log(), why, sizeof why), "%s", why);
}

static void lines_are_as_the_library_writes_them(void)
{
    char *text;
    POD_CHECK_OK(pod_file_read_text(pod_test_arena(), make_log(), 1 << 20, &text));
    const char *line = strstr(text, "\"key\": \"epoch_start\"");
    CU_ASSERT_PTR_NOT_NULL(line);
    while (line && line > text && line[-1] != '\n') line--;
    long long time_ms = 0;
    int lineno = 0, epoch = 0, length = 0;
    const int n = line ? sscanf(line,
                                ":::MLLOG {\"namespace\": \"\", \"time_ms\": %lld, "
                                "\"event_type\": \"INTERVAL_START\", \"key\": \"epoch_start\", "
                                "\"value\": null, \"metadata\": {\"file\": \"test_mllog.c\", "
                                "\"lineno\": %d, \"epoch_num\": %d}}%n",
                                &time_ms, &lineno, &epoch, &length)
                       : 0;
    POD_CHECK(n == 3 && length > 0 && line[length] == '\n', "%.200s", line ? line : "");
    CU_ASSERT_TRUE(time_ms > 1577836800000LL && epoch == 1); /* after 2020 */
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"value\": 0.0001, "));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"value\": \"2 cores \\\"x\\\\y\\\"\", "));
}

/* Splits a text into its lines, each with its newline. */
static int split_lines(char *text, const char *lines[], int max)
{
    int n = 0;
    for (char *p = text; *p != '\0' && n < max; n++) {
        lines[n] = p;
        p = strchr(p, '\n') + 1;
    }
    return n;
}

static void write_lines(const char *path, const char *const lines[], int n, int skip, int swap)
{
    FILE *f = fopen(path, "w");
    for (int i = 0; i < n; i++) {
        const int from = i == swap ? i + 1 : i == swap + 1 && swap >= 0 ? i - 1 : i;
        const char *end = strchr(lines[from], '\n');
        if (from != skip) fwrite(lines[from], 1, (size_t)(end - lines[from] + 1), f);
    }
    fclose(f);
}

static bool has_key(const char *line, const char *key)
{
    const char *found = strstr(line, key);
    return found && found < strchr(line, '\n');
}

/* All records at one time, so that only their order tells. */
static void stop_time(char *text)
{
    static const char field[] = "\"time_ms\": ";
    const char *first = strstr(text, field) + strlen(field);
    for (char *at = text; (at = strstr(at, field)) != NULL;) {
        at += strlen(field);
        memmove(at, first, strspn(first, "0123456789"));
    }
}

/* Every record but a hyper-parameter is needed, in a file with one epoch as in one with two. */
static void each_line_is_needed(void)
{
    char *text, why[512];
    POD_CHECK_OK(pod_file_read_text(pod_test_arena(), make_log(), 1 << 20, &text));
    stop_time(text);
    const char *lines[64] = {0};
    const int n = split_lines(text, lines, 64);
    CU_ASSERT_EQUAL(n, 28); /* 9 + 8 + 2 x 5 + 1 */
    const char *path = at("cut.txt");
    write_lines(path, lines, n, -1, -2);
    POD_CHECK(pod_mllog_check(path, why, sizeof why), "%s", why);
    for (int skip = 0; skip < n; skip++) {
        write_lines(path, lines, n, skip, -2);
        POD_CHECK(pod_mllog_check(path, why, sizeof why) == has_key(lines[skip], "lars_opt"),
                  "without line %d: %.120s", skip + 1, lines[skip]);
    }
    /* Neighbours change places from init_stop on, where order matters; but samples are two counts,
     * and an evaluation may begin within an epoch. */
    for (int swap = 13; swap + 1 < n; swap++) {
        const bool is_free =
            has_key(lines[swap], "train_samples") || has_key(lines[swap], "epoch_stop");
        write_lines(path, lines, n, -1, swap);
        POD_CHECK(pod_mllog_check(path, why, sizeof why) == is_free, "line %d behind the next",
                  swap + 1);
    }
}

static void bad_records_are_found(void)
{
    static const struct {
        const char *from, *to, *part; /* of the first line that has `from` */
    } rows[] = {
        {"\"open\"", "\"closed\"", "submission_division"},
        {"\"resnet\"", "\"\"", "submission_benchmark"},
        {"\"nobody\"", "\"\"", "submission_org"},
        {"\"value\": 0.40000000000000002", "\"value\": null", "fraction"},
        {"\"value\": 0.4", "\"value\": 40", "fraction"},
        {"\"value\": 0.8", "\"value\": nan", "not one JSON object"},
        {"\"epoch_num\": 2", "\"epoch_num\": 0", "epoch_num 0 after 1"},
        {"\"success\"", "\"done\"", "status"},
        {"\"lineno\"", "\"line\"", "lineno"},
        {"test_mllog.c", "/somewhere/x.c", "plain file"},
        {"}}\n", "}} x\n", "not one JSON object"},
        {":::MLLOG ", ":::MLL ", "no record"},
        {"INTERVAL_END", "INTERVAL_START", "event_type"},
    };
    pod_arena *a = pod_test_arena();
    char *text, why[512];
    POD_CHECK_OK(pod_file_read_text(a, make_log(), 1 << 20, &text));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *found = strstr(text, rows[i].from);
        if (!found) continue; /* the other spelling of a number */
        char *changed = pod_arena_text(a, "%.*s%s%s", (int)(found - text), text, rows[i].to,
                                       found + strlen(rows[i].from));
        POD_CHECK_OK(pod_file_write_atomic(at("bad.txt"), changed, strlen(changed)));
        const bool ok = pod_mllog_check(at("bad.txt"), why, sizeof why);
        POD_CHECK(!ok && strstr(why, rows[i].part), "row %zu: %s", i, ok ? "passes" : why);
    }
}

static void silent_where_it_should_be(void)
{
    struct stat st;
    pod_clock clock = pod_clock_start();
    pod_mllog *l;
    POD_CHECK_OK(pod_mllog_open(at("silent.txt"), 1, &clock, &l));
    write_run(l);
    POD_CHECK_OK(pod_mllog_close(l));
    POD_CHECK_OK(pod_mllog_open(NULL, 0, &clock, &l));
    write_run(l);
    POD_CHECK_OK(pod_mllog_close(l));
    CU_ASSERT_NOT_EQUAL(stat(at("silent.txt"), &st), 0);
    CU_ASSERT_NOT_EQUAL(stat(at("silent.txt.part"), &st), 0);
}

static void abandoned_leaves_the_log_before(void)
{
    struct stat before, after;
    pod_clock clock = pod_clock_start();
    pod_mllog *l;
    const char *path = make_log();
    CU_ASSERT_EQUAL(stat(path, &before), 0);
    POD_CHECK_OK(pod_mllog_open(path, 0, &clock, &l));
    pod_mllog_put(l, "k", pod_mllog_bool(true));
    pod_mllog_abandon(l);
    CU_ASSERT_EQUAL(stat(path, &after), 0);
    CU_ASSERT_TRUE(before.st_ino == after.st_ino && before.st_size == after.st_size);
    CU_ASSERT_NOT_EQUAL(stat(at("mllog.txt.part"), &after), 0);
    POD_CHECK_OK(pod_mllog_open(NULL, 0, &clock, &l));
    pod_mllog_abandon(l);
}

/* What one attempt writes in two epochs of 4 steps, evaluated after each 4, from a step to another;
 * it may be killed before the end. */
static void put_attempt(pod_mllog *l, int64_t from, int64_t to, bool in_epoch, bool is_killed)
{
    for (int64_t step = from; step < to; step++) {
        const pod_mllog_meta begun = {"minipod_step", pod_mllog_int(step)};
        const pod_mllog_meta done = {"minipod_step", pod_mllog_int(step + 1)};
        const pod_mllog_meta epoch = {"epoch_num", pod_mllog_int(step / 4 + 1)};
        if ((step == from && !in_epoch) || step % 4 == 0)
            pod_mllog_put(l, "epoch_start", pod_mllog_null(), epoch, begun);
        if (is_killed && step + 1 == to) return;
        if (step % 4 != 3 && step + 1 < to) continue;
        pod_mllog_put(l, "epoch_stop", pod_mllog_null(), epoch, done);
        if (step % 4 != 3) continue;
        pod_mllog_put(l, "eval_start", pod_mllog_null(), epoch, done);
        pod_mllog_put(l, "eval_stop", pod_mllog_null(), epoch, done);
        pod_mllog_put(l, "eval_accuracy", pod_mllog_real(0.1 * (double)step), epoch, done);
    }
    pod_mllog_put(l, "run_stop", pod_mllog_null(), {"status", pod_mllog_text("aborted")});
}

static int count(const char *path, const char *what)
{
    char *text = NULL;
    int n = 0;
    POD_CHECK_OK(pod_file_read_text(pod_test_arena(), path, 1 << 20, &text));
    for (const char *p = text; p && (p = strstr(p, what)); p++) n++;
    return n;
}

static void put_head(pod_mllog *l)
{
    pod_mllog_submission(l, &(pod_mllog_run){"resnet", "nobody", "here", "resnet20", "glyphs"});
    pod_mllog_put(l, "init_start", pod_mllog_null());
    pod_mllog_put(l, "seed", pod_mllog_int(11));
    pod_mllog_put(l, "global_batch_size", pod_mllog_int(256));
    pod_mllog_put(l, "init_stop", pod_mllog_null());
    pod_mllog_put(l, "run_start", pod_mllog_null());
    pod_mllog_put(l, "train_samples", pod_mllog_int(60000));
    pod_mllog_put(l, "eval_samples", pod_mllog_int(10000));
}

/* An attempt that ends by a kill, as far as files go: nobody closes. */
static void killed_attempt(const char *path, int attempt, int64_t from, int64_t to)
{
    const pod_clock clock = pod_clock_start();
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        pod_mllog *l;
        pod_mllog_left left = {0};
        bool ok = pod_mllog_open(path, 0, &clock, &l) == POD_OK;
        if (ok) put_head(l);
        ok = ok && (attempt == 1 || pod_mllog_find(l, 0, from, &left) == POD_OK) &&
             left.has_run == (attempt > 1) && pod_mllog_begin(l, &left, attempt, from) == POD_OK;
        if (ok) put_attempt(l, from, to, left.in_epoch, true);
        _exit(!ok);
    }
    int ended = 1;
    POD_CHECK(child > 0 && waitpid(child, &ended, 0) == child && ended == 0, "ended: %d", ended);
}

static void attempts_are_one_run(void)
{
    const pod_clock clock = pod_clock_start();
    const char *path = at("job.txt");
    char why[256];
    const pod_stamp began = pod_clock_stamp(&clock);
    pod_mllog_left left;
    pod_mllog *l;
    killed_attempt(path, 1, 0, 7); /* evaluated at 4, killed in step 7 */
    killed_attempt(path, 2, 2, 6); /* goes on behind 2: evaluates at 4 again */
    FILE *torn = fopen(at("job.txt"), "a");
    POD_CHECK(torn && fputs(":::MLLOG {\"namesp", torn) >= 0 && fclose(torn) == 0, "no log");
    for (int attempt = 3; attempt <= 4; attempt++) { /* and 4 behind one that was closed */
        POD_CHECK_OK(pod_mllog_open(path, 0, &clock, &l));
        put_head(l);
        POD_CHECK_OK(pod_mllog_find(l, began, 5, &left));
        CU_ASSERT_TRUE(left.has_run && left.in_epoch);
        POD_CHECK_OK(pod_mllog_begin(l, &left, attempt, 5));
        put_attempt(l, 5, 8, left.in_epoch, false);
        POD_CHECK_OK(pod_mllog_close(l));
        POD_CHECK(pod_mllog_check(path, why, sizeof why), "attempt %d: %s", attempt, why);
    }
    CU_ASSERT_EQUAL(count(path, "\"run_start\""), 1);
    CU_ASSERT_EQUAL(count(path, "\"run_stop\""), 1);
    CU_ASSERT_EQUAL(count(path, "\"seed\""), 1);
    CU_ASSERT_EQUAL(count(path, "\"eval_accuracy\""), 2);
    CU_ASSERT_EQUAL(count(path, "\"minipod_attempt\""), 3);
    /* A later job's are not gone on with. */
    POD_CHECK_OK(pod_mllog_open(path, 0, &clock, &l));
    POD_CHECK_OK(pod_mllog_find(l, pod_clock_stamp(&clock) + 1000000000, 5, &left));
    CU_ASSERT_FALSE(left.has_run);
    pod_mllog_abandon(l);
    CU_ASSERT_EQUAL(count(path, "\"run_start\""), 1);
    /* One that did not get as far as its run_start is begun anew. */
    POD_CHECK_OK(pod_mllog_open(at("none.txt"), 0, &clock, &l));
    put_head(l);
    POD_CHECK_OK(pod_mllog_find(l, 0, 0, &left));
    CU_ASSERT_FALSE(left.has_run);
    POD_CHECK_OK(pod_mllog_begin(l, &anew, 1, 0));
    put_attempt(l, 0, 8, false, false);
    POD_CHECK_OK(pod_mllog_close(l));
    POD_CHECK(pod_mllog_check(at("none.txt"), why, sizeof why), "begun anew: %s", why);
}

/* An evaluation that a kill cut off is told from its beginning; one that was told is known. */
static void an_evaluation_is_told_once(void)
{
    const pod_clock clock = pod_clock_start();
    const char *path = at("evaluated.txt");
    char why[256];
    pod_mllog_left left;
    pod_mllog *l;
    killed_attempt(path, 1, 0, 7);
    const pod_mllog_meta epoch = {"epoch_num", pod_mllog_int(2)};
    const pod_mllog_meta done = {"minipod_step", pod_mllog_int(8)};
    for (int n_told = 0; n_told <= 3; n_told++) {
        POD_CHECK_OK(pod_mllog_open(path, 0, &clock, &l));
        put_head(l);
        POD_CHECK_OK(pod_mllog_find(l, 0, 8, &left));
        POD_CHECK(!left.has_eval && !left.has_stop, "%d records are an evaluation", n_told);
        POD_CHECK_OK(pod_mllog_begin(l, &left, 2, 8));
        if (left.in_epoch) pod_mllog_put(l, "epoch_stop", pod_mllog_null(), epoch, done);
        if (n_told > 0) pod_mllog_put(l, "eval_start", pod_mllog_null(), epoch, done);
        if (n_told > 1) pod_mllog_put(l, "eval_stop", pod_mllog_null(), epoch, done);
        if (n_told > 2) pod_mllog_put(l, "eval_accuracy", pod_mllog_real(0.5), epoch, done);
        if (n_told > 2)
            pod_mllog_put(l, "run_stop", pod_mllog_null(), {"status", pod_mllog_text("success")});
        POD_CHECK_OK(pod_mllog_close(l));
    }
    POD_CHECK(pod_mllog_check(path, why, sizeof why), "%s", why);
    POD_CHECK_OK(pod_mllog_open(path, 0, &clock, &l));
    POD_CHECK_OK(pod_mllog_find(l, 0, 4, &left));
    CU_ASSERT_TRUE(left.has_eval && !left.has_stop);
    pod_mllog_abandon(l);
    POD_CHECK_OK(pod_mllog_open(path, 0, &clock, &l));
    POD_CHECK_OK(pod_mllog_find(l, 0, 8, &left));
    CU_ASSERT_TRUE(left.has_eval && left.has_stop && left.has_success);
    POD_CHECK_OK(pod_mllog_keep(l, &left));
    pod_mllog_put(l, "k", pod_mllog_null());
    POD_CHECK_OK(pod_mllog_close(l));
    POD_CHECK(pod_mllog_check(path, why, sizeof why), "kept: %s", why);
    CU_ASSERT_EQUAL(count(path, "\"run_stop\""), 1);
    CU_ASSERT_EQUAL(count(path, "\"k\""), 0);
}

static void lines_are_there_before_the_end(void)
{
    char *text;
    pod_clock clock = pod_clock_start();
    pod_mllog *l;
    POD_CHECK_OK(pod_mllog_open(at("live.txt"), 0, &clock, &l));
    POD_CHECK_OK(pod_mllog_begin(l, &anew, 1, 0));
    pod_mllog_put(l, "a_long_key_before_a_short_one", pod_mllog_real((double)NAN));
    pod_mllog_put(l, "k", pod_mllog_bool(true));
    POD_CHECK_OK(pod_file_read_text(pod_test_arena(), at("live.txt"), 1 << 20, &text));
    const char *lines[4];
    CU_ASSERT_EQUAL(split_lines(text, lines, 4), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(lines[0], "\"value\": null"));
    CU_ASSERT_PTR_NOT_NULL(strstr(lines[1], "\"key\": \"k\", \"value\": true"));
    POD_CHECK_OK(pod_mllog_close(l));
    POD_CHECK_FAILS(pod_mllog_open("/nowhere/mllog.txt", 0, &clock, &l), POD_E_IO, "/nowhere");
}

POD_TEST_SUITE("runtime.mllog", {"a run passes", a_run_passes},
               {"attempts are one run", attempts_are_one_run},
               {"an evaluation is told once", an_evaluation_is_told_once},
               {"lines are as the library writes them", lines_are_as_the_library_writes_them},
               {"each line is needed", each_line_is_needed},
               {"bad records are found", bad_records_are_found},
               {"silent where it should be", silent_where_it_should_be},
               {"abandoned leaves the log before", abandoned_leaves_the_log_before},
               {"lines are there before the end", lines_are_there_before_the_end});
