/* The file of a launcher: what it writes, and how it goes on behind what it finds. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/core/file.h"
#include "runtime/goodput/job_file.h"
#include "tests/harness/harness.h"

#define FIRST                                                                                     \
    "{\"schema\": \"minipod.launch\", \"version\": 1, \"command\": \"train --model \\\"x\\\"\", " \
    "\"ranks\": 4, \"begin_ns\": 100}\n"
#define ONE                                                                                    \
    "{\"attempt\": 1, \"begin_ns\": 101}\n"                                                    \
    "{\"attempt\": 1, \"end_ns\": 205, \"exit_code\": 137, \"reason\": \"killed\", \"text\": " \
    "\"rank 3 was killed by signal 9\"}\n"

static void write_one(const char *dir)
{
    pod_launch_file *f = NULL;
    POD_NEED_OK(pod_launch_file_open(dir, "train --model \"x\"", 4, 100, &f));
    POD_CHECK_OK(pod_launch_file_put_begin(f, 1, 101));
    POD_CHECK_OK(
        pod_launch_file_put_end(f, 1, 205, 137, "killed", "rank 3 was killed by signal 9"));
    pod_launch_file_close(f);
}

static void check_text(const char *dir, const char *want)
{
    char *text = NULL;
    const char *path = pod_test_text("%s/job/launch.jsonl", dir);
    POD_CHECK_OK(pod_file_read_text(pod_test_arena(), path, 1 << 20, &text));
    POD_CHECK(text && strcmp(text, want) == 0, "written:\n%swanted:\n%s", text ? text : "", want);
}

static void test_lines(void)
{
    const char *dir = pod_test_path("lines");
    write_one(dir);
    check_text(dir, FIRST ONE);
    write_one(dir);
    check_text(dir, FIRST ONE FIRST ONE);
    pod_launch_file_close(NULL);
}

/* A launch of which nothing began leaves what was there, or nothing. */
static void test_take_back(void)
{
    const char *dir = pod_test_path("taken back");
    for (int has_one = 0; has_one < 2; has_one++) {
        pod_launch_file *f = NULL;
        if (has_one) write_one(dir);
        CU_ASSERT_EQUAL_FATAL(pod_launch_file_open(dir, "train", 4, 300, &f), POD_OK);
        POD_CHECK_OK(pod_launch_file_put_begin(f, 2, 301));
        POD_CHECK_OK(pod_launch_file_put_end(f, 2, 302, 2, "usage", ""));
        POD_CHECK_OK(pod_launch_file_take_back(f));
        pod_launch_file_close(f);
        if (has_one)
            check_text(dir, FIRST ONE);
        else
            POD_CHECK(access(pod_test_text("%s/job/launch.jsonl", dir), F_OK) != 0,
                      "a file that was not there");
    }
}

/* A line that was cut off goes away, wherever its beginning lies. */
static void test_torn(void)
{
    static const int torn[] = {1, 100, 4095, 4096, 4097, 9000};
    for (size_t i = 0; i < sizeof torn / sizeof torn[0]; i++)
        for (int whole = 0; whole < 2; whole++) {
            const char *dir = pod_test_path("torn-%d-%d", torn[i], whole);
            const char *path = pod_test_text("%s/job/launch.jsonl", dir);
            POD_CHECK_OK(pod_dir_make_for(path));
            FILE *to = fopen(path, "w");
            fprintf(to, "%s%*s", whole ? FIRST : "", torn[i], "x");
            fclose(to);
            write_one(dir);
            check_text(dir, whole ? FIRST FIRST ONE : FIRST ONE);
        }
}

static bool is_refused(pod_status s, pod_status want, const char *says)
{
    return s == want && strstr(pod_error_text(), says);
}

/* Two launchers of one folder: the second is refused, also when the first has read the log meanwhile,
 * and harms nothing. */
static void test_taken(void)
{
    pod_launch_file *f = NULL;
    int last = -1;
    const char *dir = pod_test_path("taken");
    POD_CHECK_OK(pod_launch_file_open(dir, "train", 1, 1, &f));
    POD_CHECK_OK(pod_job_last_attempt(dir, &last));
    const pid_t other = fork();
    if (other == 0) {
        pod_launch_file *second;
        const bool ok =
            is_refused(pod_launch_file_open(dir, "train", 1, 2, &second), POD_E_IO,
                       "another process is writing it") &&
            is_refused(pod_job_clear(dir), POD_E_IO, "a launcher that runs is writing it");
        _exit(ok ? 0 : 1);
    }
    int status = 1;
    waitpid(other, &status, 0);
    POD_CHECK(status == 0, "a second launcher is not refused");
    pod_launch_file_close(f);
    check_text(dir, "{\"schema\": \"minipod.launch\", \"version\": 1, \"command\": \"train\", "
                    "\"ranks\": 1, \"begin_ns\": 1}\n");
    POD_CHECK_OK(pod_job_clear(dir));
}

/* A line that does not fit on the disk is not there, and the next one is whole. */
static void test_full(void)
{
    pod_launch_file *f = NULL;
    struct rlimit old, tight;
    const char *dir = pod_test_path("full");
    POD_CHECK_OK(pod_launch_file_open(dir, "train --model \"x\"", 4, 100, &f));
    void (*const before)(int) = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    tight = old;
    tight.rlim_cur = sizeof FIRST - 1 + 10;
    setrlimit(RLIMIT_FSIZE, &tight);
    const pod_status s = pod_launch_file_put_begin(f, 1, 50);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, before);
    POD_CHECK(is_refused(s, POD_E_WRITE, "no space for a whole record"), "'%s'", pod_error_text());
    POD_CHECK_OK(pod_launch_file_put_begin(f, 1, 101));
    POD_CHECK_OK(
        pod_launch_file_put_end(f, 1, 205, 137, "killed", "rank 3 was killed by signal 9"));
    pod_launch_file_close(f);
    check_text(dir, FIRST ONE);
}

/* A pipe in the file's place takes a part of a line, and cannot be cut. What followed that would make
 * it the middle of a log, which no reader takes. */
static void test_torn_for_good(void)
{
    enum { MORE_THAN_A_PIPE = 1 << 17 };
    static char text[MORE_THAN_A_PIPE];
    pod_launch_file *f = NULL;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFL, O_NONBLOCK);
    const int fd = dup(ends[0]); /* the number that the file gets */
    close(fd);
    POD_CHECK_OK(pod_launch_file_open(pod_test_path("spoilt"), "train", 1, 1, &f));
    CU_ASSERT_EQUAL_FATAL(dup2(ends[1], fd), fd);
    memset(text, 'x', sizeof text - 1);
    CU_ASSERT_EQUAL(pod_launch_file_put_end(f, 1, 2, 1, "failed", text), POD_E_WRITE);
    while (read(ends[0], text, sizeof text) > 0) continue;
    POD_CHECK(is_refused(pod_launch_file_put_begin(f, 2, 3), POD_E_WRITE, "its last line is torn"),
              "'%s'", pod_error_text());
    CU_ASSERT_TRUE(read(ends[0], text, sizeof text) < 0);
    pod_launch_file_close(f);
    for (int i = 0; i < 2; i++) close(ends[i]);
}

static void test_bad(void)
{
    pod_launch_file *f;
    const char *file = pod_test_path("file");
    POD_CHECK_OK(pod_file_write_atomic(file, "x", 1));
    POD_CHECK_FAILS(pod_launch_file_open(file, "train", 1, 1, &f), POD_E_IO, file);
    const char *taken = pod_test_path("folder/job/launch.jsonl");
    POD_CHECK_OK(pod_dir_make(taken));
    POD_CHECK_FAILS(pod_launch_file_open(pod_test_path("folder"), "train", 1, 1, &f), POD_E_IO,
                    "launch.jsonl: cannot write");
}

POD_TEST_SUITE("runtime.launch_file", {"lines", test_lines}, {"taken back", test_take_back},
               {"a torn line", test_torn}, {"one launcher at a time", test_taken},
               {"a torn line that stays is the last", test_torn_for_good},
               {"a full disk", test_full}, {"bad ones", test_bad});
