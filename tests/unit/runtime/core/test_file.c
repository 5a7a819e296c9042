/* Files written aside and renamed, directories, and the clock and log beside them. */
#define _XOPEN_SOURCE 700 /* posix_openpt */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/checkpoint/disk.h"
#include "runtime/core/clock.h"
#include "runtime/core/file.h"
#include "runtime/core/log.h"
#include "tests/harness/harness.h"

static const char *at(const char *name) { return pod_test_path("%s", name); }

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static void check_text(const char *path, const char *want)
{
    char *text;
    POD_CHECK_OK(pod_file_read_text(pod_test_arena(), path, 1 << 20, &text));
    CU_ASSERT_STRING_EQUAL(text, want);
}

static void written_whole(void)
{
    const char *path = at("whole.txt"), *part = at("whole.txt" POD_FILE_PART);
    POD_CHECK_OK(pod_file_write_atomic(path, "old", 3));
    pod_file *f;
    POD_CHECK_OK(pod_file_open(path, &f));
    fputs("new text", pod_file_stream(f));
    check_text(path, "old"); /* until it is closed */
    CU_ASSERT_TRUE(exists(part));
    POD_CHECK_OK(pod_file_close(f));
    check_text(path, "new text");
    CU_ASSERT_FALSE(exists(part));

    POD_CHECK_OK(pod_file_open(path, &f));
    fputs("not wanted", pod_file_stream(f));
    pod_file_abandon(f);
    check_text(path, "new text");
    CU_ASSERT_FALSE(exists(part));
}

/* Over processes, under its own name: what was left is gone on with, whether it was closed or not. */
static void goes_on(void)
{
    const char *path = at("grows.txt");
    pod_file *f;
    POD_CHECK_OK(pod_file_hold(path, &f));
    CU_ASSERT_TRUE(pod_file_is_taken(path));
    pod_file_abandon(f);
    CU_ASSERT_FALSE(exists(path));
    POD_CHECK_OK(pod_file_write_atomic(path, "one two", 7));
    POD_CHECK_OK(pod_file_hold(path, &f));
    pod_file_abandon(f); /* nothing was done with it */
    CU_ASSERT_FALSE(pod_file_is_taken(path));
    check_text(path, "one two");
    POD_CHECK_OK(pod_file_hold(path, &f));
    char text[8] = "";
    CU_ASSERT_EQUAL(fread(text, 1, 7, pod_file_stream(f)), 7);
    CU_ASSERT_STRING_EQUAL(text, "one two");
    POD_CHECK_OK(pod_file_cut(f, 4));
    CU_ASSERT_EQUAL(write(fileno(pod_file_stream(f)), "three", 5), 5);
    check_text(path, "one three"); /* while it goes on */
    pod_file_abandon(f);           /* as a process that dies does */
    check_text(path, "one three");
    POD_CHECK_OK(pod_file_hold(path, &f));
    POD_CHECK_OK(pod_file_cut(f, 9));
    fputs(" four", pod_file_stream(f));
    POD_CHECK_OK(pod_file_close(f));
    check_text(path, "one three four");
    POD_CHECK_OK(pod_file_hold(path, &f));
    POD_CHECK_OK(pod_file_cut(f, 0));
    fputs("new", pod_file_stream(f));
    POD_CHECK_OK(pod_file_close(f));
    check_text(path, "new");
}

static void unwritable(void)
{
    POD_CHECK_FAILS(pod_file_write_atomic("/nowhere/at/all", "x", 1), POD_E_IO,
                    "/nowhere/at/all: cannot write");
    POD_CHECK_FAILS(pod_file_write_atomic("", "x", 1), POD_E_IO, "without a name");
    POD_CHECK_FAILS(pod_file_write_atomic(pod_test_dir(), "x", 1), POD_E_IO, "is a directory");
    POD_CHECK_FAILS(pod_file_check("/nowhere/at/all"), POD_E_IO, "/nowhere/at/all: cannot write");
    /* What is no file is not replaced by one. */
    CU_ASSERT_EQUAL(mkfifo(at("pipe"), 0600), 0);
    POD_CHECK_FAILS(pod_file_check(at("pipe")), POD_E_IO, "pipe: cannot write a file: it is no");
    CU_ASSERT_EQUAL(symlink("/dev/full", at("link")), 0);
    POD_CHECK_FAILS(pod_file_check(at("link")), POD_E_IO, "it is a symbolic link");
    POD_CHECK_OK(pod_file_check(at("could be")));
    CU_ASSERT_FALSE(exists(at("could be")) || exists(at("could be" POD_FILE_PART)));
    if (access("/dev/full", W_OK) != 0) {
        pod_test_skip("a full disk", "no /dev/full");
        return;
    }
    /* The half file is a link to a device that is always full. */
    const char *path = at("full.txt");
    CU_ASSERT_EQUAL(symlink("/dev/full", at("full.txt" POD_FILE_PART)), 0);
    POD_CHECK_FAILS(pod_file_write_atomic(path, "x", 1), POD_E_WRITE, "full.txt: cannot write");
    CU_ASSERT_FALSE(exists(path));
    CU_ASSERT_FALSE(exists(at("full.txt" POD_FILE_PART)));
}

/* A pipe and a device are written as they are; a file is whole or not there. */
static void results(void)
{
    char text[8] = "";
    POD_CHECK_OK(pod_file_write_result(at("table.csv"), "rows", 4));
    check_text(at("table.csv"), "rows");
    CU_ASSERT_EQUAL(mkfifo(at("reader"), 0600), 0);
    POD_CHECK_OK(pod_file_check_result(at("reader")));
    const int fd = open(at("reader"), O_RDONLY | O_NONBLOCK);
    POD_CHECK_OK(pod_file_write_result(at("reader"), "rows", 4));
    CU_ASSERT_TRUE(read(fd, text, sizeof text) == 4 && strcmp(text, "rows") == 0);
    close(fd);
    POD_CHECK_OK(pod_file_write_result("/dev/null", "rows", 4));
    CU_ASSERT_EQUAL(symlink("table.csv", at("to a file")), 0);
    POD_CHECK_FAILS(pod_file_check_result(at("to a file")), POD_E_IO, "it is a symbolic link");
    POD_CHECK_FAILS(pod_file_check_result(pod_test_dir()), POD_E_IO, "is a directory");
    CU_ASSERT_TRUE(pod_file_is_stdout("-") && pod_file_is_stdout("/dev/stdout"));
    CU_ASSERT_FALSE(pod_file_is_stdout("") || pod_file_is_stdout(at("table.csv")) ||
                    pod_file_is_stdout(at("to a file")) || pod_file_is_stdout("./-"));
    const char *table = at("table.csv");
    CU_ASSERT_TRUE(pod_file_is_same(table, at("./table.csv")) &&
                   pod_file_is_same("absent", "./absent"));
    CU_ASSERT_TRUE(pod_file_is_same("-", "/dev/stdout"));
    CU_ASSERT_FALSE(pod_file_is_same(table, at("other.csv")) || pod_file_is_same("-", "./-") ||
                    pod_file_is_same(table, "table.csv") ||
                    pod_file_is_same("/dev/null", "/dev/null"));
    if (access("/dev/full", W_OK) == 0)
        POD_CHECK_FAILS(pod_file_write_result("/dev/full", "rows", 4), POD_E_WRITE,
                        "/dev/full: cannot write: No space left");
}

static void within(void)
{
    const char *dir = at("a/b"), *file = at("a/b/../b//./c/d"), *link = at("by another name");
    CU_ASSERT_TRUE(pod_path_is_within(file, dir) && pod_path_is_within(dir, dir));
    CU_ASSERT_TRUE(pod_path_is_within(dir, pod_test_dir()) && pod_path_is_within(dir, "/"));
    CU_ASSERT_TRUE(pod_path_is_within("x", ".") && pod_path_is_within("x/y/..", "./x/"));
    CU_ASSERT_FALSE(pod_path_is_within(dir, file) || pod_path_is_within(at("a/bc"), dir));
    CU_ASSERT_FALSE(pod_path_is_within("x/..", "x") || pod_path_is_within("../../x", "."));
    file = at("a/b/c/..//d");
    CU_ASSERT_TRUE(pod_file_comes_with(at("a/x"), dir) && pod_file_comes_with(at("a/b/x"), dir));
    CU_ASSERT_FALSE(pod_file_comes_with(at("x"), dir) || pod_file_comes_with(at("a/c/x"), dir) ||
                    pod_file_comes_with(at("a/b/c/x"), dir));
    CU_ASSERT_TRUE(pod_file_is_same(at("a/b/d"), file));
    CU_ASSERT_FALSE(pod_file_is_same(at("a/d"), file) || pod_file_is_same(at("a/b/c"), file));
    CU_ASSERT_EQUAL(symlink(pod_test_dir(), link), 0);
    CU_ASSERT_TRUE(pod_path_is_within(at("by another name/a/b/c"), dir) &&
                   pod_path_is_within(link, pod_test_dir()));
}

static void read_back(void)
{
    pod_arena *a = pod_test_arena();
    char *text = NULL;
    char *large = malloc(20000);
    memset(large, 'z', 20000);
    POD_CHECK_OK(pod_file_write_atomic(at("large"), large, 20000));
    POD_CHECK_OK(pod_file_read_text(a, at("large"), 20000, &text));
    POD_CHECK(text && strlen(text) == 20000 && memcmp(text, large, 20000) == 0, "differs");
    POD_CHECK_FAILS(pod_file_read_text(a, at("large"), 19999, &text), POD_E_FORMAT, "longer than");
    POD_CHECK_FAILS(pod_file_read_text(a, at("absent"), 9, &text), POD_E_IO, "absent: cannot read");
    POD_CHECK_OK(pod_file_write_atomic(at("wide"), "a\0b\0", 4));
    POD_CHECK_FAILS(pod_file_read_text(a, at("wide"), 9, &text), POD_E_FORMAT,
                    "wide: byte 1 is 0, want text in UTF-8");
    POD_CHECK_FAILS(pod_file_read_text(a, pod_test_dir(), 9, &text), POD_E_IO, "cannot read");
    free(large);
}

static void directories(void)
{
    POD_CHECK_OK(pod_dir_make(at("a/b/c")));
    POD_CHECK_OK(pod_dir_make(at("a/b/c/"))); /* again */
    if (access("/", W_OK) == 0) POD_CHECK_OK(pod_dir_make("/"));
    POD_CHECK_OK(pod_dir_make("."));
    POD_CHECK_OK(pod_dir_make_for(at("d/e/file")));
    CU_ASSERT_TRUE(exists(at("d/e")) && !exists(at("d/e/file")));
    POD_CHECK_OK(pod_dir_make_for("file"));
    POD_CHECK_OK(pod_file_write_atomic(at("plain"), "", 0));
    POD_CHECK_FAILS(pod_dir_make(at("plain")), POD_E_IO, "exists and is no directory");
    POD_CHECK_FAILS(pod_dir_make(at("plain/below")), POD_E_IO, "plain");
    POD_CHECK_FAILS(pod_dir_make("/proc/no/such"), POD_E_IO, "/proc/no");
    POD_CHECK_FAILS(pod_dir_make(""), POD_E_IO, "1 to");
}

/* Progress is held to a clock that goes on when it is told to: how busy this machine is does not
 * matter. */
static bool is_made_up;
static pod_time made_up_now;

pod_time __real_pod_clock_now(const pod_clock *c);
pod_time __wrap_pod_clock_now(const pod_clock *c);
pod_time __wrap_pod_clock_now(const pod_clock *c)
{
    return is_made_up ? made_up_now : __real_pod_clock_now(c);
}

static void advance_ms(int ms) { made_up_now += (pod_time)ms * 1000000000; }

static void sleep_ms(long ms)
{
    struct timespec t = {.tv_nsec = ms * 1000000};
    nanosleep(&t, NULL);
}

static void clock_goes_forth(void)
{
    pod_clock c = pod_clock_start();
    const pod_stamp year_2020 = 1577836800LL * 1000000000, year_2200 = 7258118400LL * 1000000000;
    pod_time t0 = pod_clock_now(&c);
    pod_stamp s0 = pod_clock_stamp(&c);
    CU_ASSERT_TRUE(s0 > year_2020 && s0 < year_2200);
    sleep_ms(2);
    pod_time t1 = pod_clock_now(&c);
    pod_stamp s1 = pod_clock_stamp(&c);
    CU_ASSERT_TRUE(t0 >= 0 && t1 - t0 >= 2000000000); /* 2 ms in picoseconds */
    CU_ASSERT_TRUE(s1 - s0 >= 2000000);               /* and in nanoseconds */
    CU_ASSERT_TRUE(t1 <= (s1 - c.stamp) * 1000);      /* the same start */
    CU_ASSERT_EQUAL(pod_time_seconds(2000000000000), 2.0);
    CU_ASSERT_EQUAL(pod_stamp_seconds(3000000000), 3.0);
}

static void log_by_level(void)
{
    char *out_text = NULL, *err_text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&out_text, &bytes), *err = open_memstream(&err_text, &bytes);
    pod_log quiet = pod_log_start(0, out, err, "off", true);
    pod_log other = pod_log_start(1, out, err, "on", false);
    pod_log_say(&quiet, POD_LOG_INFO, "not this");
    pod_log_say(&other, POD_LOG_ERROR, "nor this");
    pod_progress_begin(&other, "steps", "steps", 0, 10);
    pod_progress_at(&other, 5, "nor that");
    pod_progress_end(&other);
    pod_log_say(&quiet, POD_LOG_RESULT, "accuracy %d", 1);
    pod_log_say(&quiet, POD_LOG_WARNING, "w");
    pod_log_say(&quiet, POD_LOG_ERROR, "e");
    quiet.command = "coll";
    pod_log_say(&quiet, POD_LOG_ERROR, "f");
    pod_log_say(&quiet, POD_LOG_WARNING, "g");
    CU_ASSERT_STRING_EQUAL(out_text, "accuracy 1\n");
    CU_ASSERT_STRING_EQUAL(
        err_text, "minipod: warning: w\nminipod: e\nminipod coll: f\nminipod: warning: g\n");
    fclose(out);
    fclose(err);
    free(out_text);
    free(err_text);
}

static void log_progress_in_place(void)
{
    is_made_up = true;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    pod_log l = pod_log_start(0, out, out, "on", false);
    pod_progress_begin(&l, "epoch 1", "steps", 2, 12);
    pod_progress_at(&l, 3, "too early %d", 1);
    advance_ms(120);
    pod_progress_at(&l, 7, "loss %.2f", 0.5);
    pod_progress_at(&l, 8, "too early again");
    fflush(out);
    POD_CHECK(strstr(text, "\033[?7lepoch 1 7/12 steps  ") == text, "'%s'", text);
    POD_CHECK(strstr(text, "s left  loss 0.50\033[?7h") && !strstr(text, "early"), "'%s'", text);
    pod_log_say(&l, POD_LOG_INFO, "line");
    POD_CHECK(strstr(text, "\r\033[Kline\n"), "'%s'", text);
    fclose(out);
    free(text);
    is_made_up = false;
}

/* What is printed may be kept in a file: of progress nothing goes there. */
static void log_progress_spares_results(void)
{
    is_made_up = true;
    char *out_text = NULL, *err_text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&out_text, &bytes), *err = open_memstream(&err_text, &bytes);
    pod_log l = pod_log_start(0, out, err, "on", false);
    pod_progress_begin(&l, "simulating", "sizes", 0, 12);
    pod_log_say(&l, POD_LOG_RESULT, "row 1");
    advance_ms(120);
    pod_progress_at(&l, 7, "%s", "");
    pod_log_say(&l, POD_LOG_RESULT, "row 2");
    pod_progress_end(&l);
    fflush(out);
    fflush(err);
    CU_ASSERT_STRING_EQUAL(out_text, "row 1\nrow 2\n");
    POD_CHECK(strstr(err_text, "simulating 7/12 sizes") != NULL, "'%s'", err_text);
    fclose(out);
    fclose(err);
    free(out_text);
    free(err_text);
    is_made_up = false;
}

/* A line is written over on a terminal only, and not where that has no order for it. */
static void log_in_place(void)
{
    static const struct {
        const char *kind;
        bool want;
    } cases[] = {{"xterm", true}, {"dumb", false}, {"", false}, {NULL, false}};
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return; /* there are none */
    FILE *terminal = fopen(ptsname(master), "w");
    unsetenv("OMPI_COMM_WORLD_RANK");
    for (size_t i = 0; terminal && i < sizeof cases / sizeof cases[0]; i++) {
        unsetenv("TERM");
        if (cases[i].kind) setenv("TERM", cases[i].kind, 1);
        const bool is = pod_log_start(0, terminal, terminal, "auto", false).in_place;
        POD_CHECK(is == cases[i].want, "TERM=%s: %d", cases[i].kind ? cases[i].kind : "-", is);
    }
    if (terminal) fclose(terminal);
    close(master);
}

static bool is_refused(const char *path)
{
    return pod_file_check(path) == POD_E_IO &&
           strstr(pod_error_text(), "another process is writing it") && pod_file_is_taken(path);
}

/* What one has open is neither written nor emptied by another, whatever the one closes beside it. */
static void one_writer(void)
{
    pod_file *f;
    POD_CHECK_OK(pod_file_open(at("shared"), &f));
    fputs("first\n", pod_file_stream(f));
    fflush(pod_file_stream(f));
    close(open(at("shared" POD_FILE_PART), O_WRONLY)); /* as HDF5 does */
    pid_t other = fork();
    if (other == 0) {
        fclose(pod_file_stream(f)); /* the open file of both */
        _exit(is_refused(at("shared")) && !pod_file_is_taken(at("none")) ? 0 : 1);
    }
    int how = -1;
    CU_ASSERT_EQUAL(waitpid(other, &how, 0), other);
    CU_ASSERT_EQUAL(how, 0);
    CU_ASSERT_TRUE(is_refused(at("shared")));
    pod_disk disk = {0};
    POD_CHECK_FAILS(pod_disk_write(&disk, at("shared"), "x", 1, false), POD_E_IO,
                    "another process is writing it");
    POD_CHECK_OK(pod_file_close(f));
    check_text(at("shared"), "first\n");
}

/* A process that was killed holds nothing. */
static void killed_writer(void)
{
    int begun[2];
    CU_ASSERT_EQUAL_FATAL(pipe(begun), 0);
    pid_t writer = fork();
    if (writer == 0) {
        pod_file *f;
        if (pod_file_open(at("killed"), &f) == POD_OK) (void)!write(begun[1], "x", 1);
        pause();
        _exit(1);
    }
    char byte;
    CU_ASSERT_EQUAL(read(begun[0], &byte, 1), 1);
    CU_ASSERT_TRUE(is_refused(at("killed")));
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    CU_ASSERT_TRUE(exists(at("killed" POD_FILE_PART)) && !pod_file_is_taken(at("killed")));
    POD_CHECK_OK(pod_file_write_atomic(at("killed"), "second", 6));
    check_text(at("killed"), "second");
    close(begun[0]);
    close(begun[1]);
}

/* The lock is of a file, and the name may have become another's meanwhile. */
static void name_taken_away(void)
{
    pod_file *f, *g;
    POD_CHECK_OK(pod_file_open(at("moved"), &f));
    CU_ASSERT_EQUAL(unlink(at("moved" POD_FILE_PART)), 0);
    POD_CHECK_OK(pod_file_open(at("moved"), &g));
    fputs("second", pod_file_stream(g));
    POD_CHECK_FAILS(pod_file_close(f), POD_E_WRITE, "moved: cannot write: somebody removed or");
    POD_CHECK_OK(pod_file_close(g));
    check_text(at("moved"), "second");
}

POD_TEST_SUITE("runtime.file", {"written whole", written_whole}, {"gone on with", goes_on},
               {"unwritable", unwritable}, {"files of results", results},
               {"within a folder", within}, {"one writer", one_writer},
               {"a killed writer", killed_writer}, {"a name taken away", name_taken_away},
               {"read back", read_back}, {"directories", directories},
               {"clock goes forth", clock_goes_forth}, {"log by level", log_by_level},
               {"log progress in place", log_progress_in_place},
               {"log progress spares results", log_progress_spares_results},
               {"log in place", log_in_place});
