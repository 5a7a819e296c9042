/* Job logs: what was written is read back, whatever cut the file off; what is no log is refused by
 * file and line. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/file.h"
#include "runtime/goodput/job_file.h"
#include "tests/harness/harness.h"

static const pod_stamp start = 1763816000123456789;

/* A run's folder with an empty DIR/job. */
static const char *make_dir(const char *name)
{
    const char *dir = pod_test_path("%s", name);
    POD_CHECK_OK(pod_job_clear(dir));
    return dir;
}

static void write_file(const char *dir, const char *name, const char *text, size_t bytes)
{
    pod_test_spill(pod_test_text("%s/job/%s", dir, name), text, bytes);
}

static pod_job_head head_of(int attempt, int rank)
{
    return (pod_job_head){.attempt = attempt,
                          .rank = rank,
                          .ranks = 4,
                          .mesh = "2x2",
                          .model = "resnet20",
                          .data = "fashion-mnist",
                          .host = "node7",
                          .pid = 4711,
                          .begin = start};
}

static pod_job read_job(const char *dir)
{
    pod_job j = {0};
    POD_CHECK_OK(pod_job_read(pod_test_arena(), dir, &j));
    return j;
}

static pod_job_step step_of(int64_t s)
{
    const pod_stamp begin = start + 1000 + 100 * s;
    return (pod_job_step){.step = s,
                          .begin = begin,
                          .end = begin + 97,
                          .input = 11,
                          .reduce = 5,
                          .save = s % 3,
                          .core_wait = s % 5};
}

/* ---- there and back ---- */

static const char odd_text[] = "a \"quoted\" C:\\path\twith\nlines, \xc3\xa9 and a stray \xff byte";
static const char odd_text_read[] =
    "a \"quoted\" C:\\path\twith\nlines, \xc3\xa9 and a stray \xef\xbf\xbd byte";

static void write_whole(const char *dir)
{
    pod_job_writer *w = NULL;
    pod_job_head head = head_of(2, 3);
    head.data = odd_text;
    POD_CHECK_OK(pod_job_writer_open(dir, &head, &w));
    pod_job_put_span(w, POD_JOB_INIT, start, start + 1);
    pod_job_put_span(w, POD_JOB_BUILD, start + 1, start + 999);
    pod_job_put_from(w, 120, 30446000001, start + 900);
    for (int64_t s = 121; s <= 125; s++) {
        const pod_job_step step = step_of(s);
        pod_job_put_step(w, &step);
    }
    pod_job_put_kept(w, 124, start + 20000);
    pod_job_put_kept(w, 125, start + 20001);
    pod_job_put_fault(w, 7, start + 20002);
    pod_job_put_end(w, POD_JOB_END_FAILED, odd_text, 4000000000000000000);
    POD_CHECK_OK(pod_job_writer_close(w));
}

static void there_and_back(void)
{
    const char *dir = make_dir("whole");
    write_whole(dir);
    const pod_job j = read_job(dir);
    CU_ASSERT_EQUAL_FATAL(j.n_parts, 1);
    const pod_job_part *p = &j.part[0];
    CU_ASSERT_EQUAL(p->head.attempt, 2);
    CU_ASSERT_EQUAL(p->head.rank, 3);
    CU_ASSERT_EQUAL(p->head.ranks, 4);
    CU_ASSERT_STRING_EQUAL(p->head.mesh, "2x2");
    CU_ASSERT_STRING_EQUAL(p->head.model, "resnet20");
    CU_ASSERT_STRING_EQUAL(p->head.data, odd_text_read);
    CU_ASSERT_STRING_EQUAL(p->head.host, "node7");
    CU_ASSERT_EQUAL(p->head.pid, 4711);
    CU_ASSERT_EQUAL(p->head.begin, start);
    CU_ASSERT_EQUAL(p->first_step, 120);
    CU_ASSERT_EQUAL(p->ideal, 30446000001);
    CU_ASSERT_EQUAL_FATAL(p->n_marks, 2);
    CU_ASSERT_EQUAL(p->mark[1].span, POD_JOB_BUILD);
    CU_ASSERT_EQUAL(p->mark[1].begin, start + 1);
    CU_ASSERT_EQUAL(p->mark[1].end, start + 999);
    CU_ASSERT_EQUAL_FATAL(p->n_steps, 5);
    for (int i = 0; i < 5; i++) {
        const pod_job_step want = step_of(121 + i), *got = &p->step[i];
        POD_CHECK(got->step == want.step && got->begin == want.begin && got->end == want.end &&
                      got->input == want.input && got->reduce == want.reduce &&
                      got->save == want.save && got->core_wait == want.core_wait,
                  "step %d", 121 + i);
    }
    CU_ASSERT_EQUAL_FATAL(p->n_kept, 2);
    CU_ASSERT_EQUAL(p->kept[1], 125);
    CU_ASSERT_EQUAL(p->kept_at[0], start + 20000);
    CU_ASSERT_EQUAL_FATAL(p->n_faults, 1);
    CU_ASSERT_EQUAL(p->fault[0], 7);
    CU_ASSERT_EQUAL(p->end, POD_JOB_END_FAILED);
    CU_ASSERT_STRING_EQUAL(p->end_text, odd_text_read);
    CU_ASSERT_EQUAL(p->last, 4000000000000000000);
}

static void no_writer_takes_nothing(void)
{
    const pod_job_step step = step_of(1);
    pod_job_put_from(NULL, 0, 0, start);
    pod_job_put_span(NULL, POD_JOB_INIT, start, start);
    pod_job_put_step(NULL, &step);
    pod_job_put_kept(NULL, 1, start);
    pod_job_put_fault(NULL, 0, start);
    pod_job_put_end(NULL, POD_JOB_END_OK, "", start);
    POD_CHECK_OK(pod_job_writer_close(NULL));
}

/* ---- what a kill and a full disk leave ---- */

static void a_torn_line_is_left_out(void)
{
    char *text = NULL;
    const char *dir = make_dir("torn");
    write_whole(dir);
    const char *path = pod_test_text("%s/job/attempt-002.rank-0003.jsonl", dir);
    POD_CHECK_OK(pod_file_read_text(pod_test_arena(), path, 1 << 16, &text));
    const size_t bytes = strlen(text);
    const size_t head_bytes = (size_t)(strchr(text, '\n') + 1 - text);
    int64_t n_before = 0;
    for (size_t cut = 0; cut <= bytes; cut += cut + 7 > bytes && cut < bytes ? bytes - cut : 7) {
        write_file(dir, "attempt-002.rank-0003.jsonl", text, cut);
        const pod_job j = read_job(dir);
        CU_ASSERT_EQUAL(j.n_parts, cut >= head_bytes);
        if (j.n_parts == 0) continue;
        const pod_job_part *p = &j.part[0];
        POD_CHECK(p->is_torn == (text[cut - 1] != '\n'), "cut at %zu: torn %d", cut, p->is_torn);
        const int64_t n = p->n_marks + p->n_steps + p->n_kept + p->n_faults + (p->first_step >= 0) +
                          (p->end != POD_JOB_END_NONE);
        int64_t want = -1;
        for (size_t i = 0; i < cut; i++) want += text[i] == '\n';
        POD_CHECK(n == want && n >= n_before, "%zu bytes: %d records of %d", cut, (int)n,
                  (int)want);
        n_before = n;
    }
    CU_ASSERT_EQUAL(n_before, 12);
}

/* The disk is full for a while: a limit on the length of files stands for it. */
static void a_full_disk_leaves_whole_lines(void)
{
    const char *dir = make_dir("full");
    struct rlimit old, tight;
    struct stat st;
    pod_job_writer *w = NULL;
    const pod_job_head head = head_of(1, 0);
    POD_CHECK_OK(pod_job_writer_open(dir, &head, &w));
    pod_job_put_from(w, 0, 0, start);
    CU_ASSERT_EQUAL(stat(pod_test_text("%s/job/attempt-001.rank-0000.jsonl", dir), &st), 0);
    getrlimit(RLIMIT_FSIZE, &old);
    tight = old;
    tight.rlim_cur = (rlim_t)st.st_size + 200; /* one record and a part of the next */
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &tight);
    for (int64_t s = 1; s <= 10; s++) {
        const pod_job_step step = step_of(s);
        if (s == 6) setrlimit(RLIMIT_FSIZE, &old);
        pod_job_put_step(w, &step);
    }
    signal(SIGXFSZ, handler);
    POD_CHECK_FAILS(pod_job_writer_close(w), POD_E_WRITE,
                    "rank-0000.jsonl: cannot write: no space");
    const pod_job j = read_job(dir);
    CU_ASSERT_EQUAL_FATAL(j.part[0].n_steps, 6);
    CU_ASSERT_EQUAL(j.part[0].step[0].step, 1);
    CU_ASSERT_EQUAL(j.part[0].step[1].step, 6);
    CU_ASSERT_EQUAL(j.part[0].step[5].step, 10);
}

static void *put_faults(void *writer)
{
    for (int i = 0; i < 20000; i++) pod_job_put_fault(writer, i % 8, start + i);
    return NULL;
}

/* The saver's thread puts a fault while a step is put, on a disk that has room for a part of a
 * record every now and then. */
static void two_threads_leave_whole_lines(void)
{
    const char *dir = make_dir("threads");
    struct rlimit old, tight;
    pthread_t thread;
    pod_job_writer *w = NULL;
    const pod_job_head head = head_of(1, 0);
    POD_CHECK_OK(pod_job_writer_open(dir, &head, &w));
    pod_job_put_from(w, 0, 0, start);
    getrlimit(RLIMIT_FSIZE, &old);
    tight = old;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    tight.rlim_cur = 4000;
    setrlimit(RLIMIT_FSIZE, &tight);
    const bool is_started = pthread_create(&thread, NULL, put_faults, w) == 0;
    CU_ASSERT_TRUE(is_started);
    for (int64_t s = 1; s <= 20000; s++) {
        const pod_job_step step = step_of(s);
        tight.rlim_cur += (rlim_t)s % 70;
        setrlimit(RLIMIT_FSIZE, &tight);
        pod_job_put_step(w, &step);
    }
    if (is_started) pthread_join(thread, NULL);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    POD_CHECK_FAILS(pod_job_writer_close(w), POD_E_WRITE, "rank-0000.jsonl: cannot write: ");
    const pod_job j = read_job(dir);
    CU_ASSERT_EQUAL_FATAL(j.n_parts, 1);
}

static void two_do_not_write_one_file(void)
{
    const char *dir = make_dir("two");
    pod_job_writer *w = NULL, *other = NULL;
    const pod_job_head head = head_of(1, 0);
    POD_CHECK_OK(pod_job_writer_open(dir, &head, &w));
    POD_CHECK_FAILS(pod_job_writer_open(dir, &head, &other), POD_E_IO,
                    "attempt-001.rank-0000.jsonl: cannot write: File exists");
    CU_ASSERT_PTR_NULL(other);
    POD_CHECK_OK(pod_job_writer_close(w));
    POD_CHECK_FAILS(pod_job_writer_open("/nowhere", &head, &w), POD_E_IO, "/nowhere/job");
}

/* ---- what is no log ---- */

#define HEAD(more)                                                             \
    "{\"schema\":\"minipod.job\",\"version\":1,\"attempt\":1,\"rank\":0," more \
    "\"mesh\":\"2\",\"model\":\"m\",\"data\":\"d\",\"host\":\"h\",\"pid\":1,\"begin_ns\":1000}\n"
#define GOOD_HEAD HEAD("\"ranks\":2,")

static const struct {
    const char *text, *part; /* part: behind the path */
} refused[] = {
    {"\n", ":1: no JSON object"},
    {"[1]\n", ":1: no JSON object"},
    {"{}\n", ":1: not one whole JSON object of texts and whole numbers"},
    {"{\"schema\":\"minipod.launch\",\"version\":1}\n",
     ":1: schema: want minipod.job, found 'minipod.launch'"},
    {"{\"schema\":\"minipod.job\",\"version\":2}\n", ":1: version: want 1 to 1, found 2"},
    {HEAD(""), ":1: ranks is missing"},
    {HEAD("\"ranks\":0,"), ":1: ranks: want 1 to 1048576, found 0"},
    {HEAD("\"ranks\":\"2\","), ":1: ranks: want a whole number"},
    {HEAD("\"rank\":0,\"ranks\":2,"), ":1: rank stands twice"},
    {"{\"schema\":7}\n", ":1: schema: want a text"},
    {"{\"schema\":\"minipod.job\",\"version\":1,\"attempt\":2,\"rank\":0,\"ranks\":2,\"mesh\":"
     "\"2\","
     "\"model\":\"m\",\"data\":\"d\",\"host\":\"h\",\"pid\":1,\"begin_ns\":1000}\n",
     ":1: attempt: want 1 to 1, found 2"},
    {GOOD_HEAD "{\"span\":\"NAPPING\",\"begin_ns\":1000,\"end_ns\":1001}\n",
     ":2: 'NAPPING' is no span of a job log"},
    {GOOD_HEAD "{\"span\":\"PRODUCTIVE_STEPS\",\"begin_ns\":1000,\"end_ns\":1001}\n",
     ":2: 'PRODUCTIVE_STEPS' is no span of a job log"},
    {GOOD_HEAD "{\"span\":\"EVALUATION\",\"begin_ns\":999,\"end_ns\":1001}\n",
     ":2: begin_ns: want 1000 to "},
    {GOOD_HEAD "{\"from\":0,\"at_ns\":1000}\n"
               "{\"span\":\"EVALUATION\",\"begin_ns\":1002,\"end_ns\":1001}\n",
     ":3: end_ns: want 1002 to "},
    {GOOD_HEAD "{\"step\":0,\"begin_ns\":1000,\"end_ns\":1001}\n", ":2: step: want 1 to "},
    {GOOD_HEAD "{\"step\":1,\"begin_ns\":1000,\"end_ns\":1010,\"input_ns\":7,\"reduce_ns\":0,"
               "\"save_ns\":4}\n",
     ":2: save_ns: want 0 to 3, found 4"},
    {GOOD_HEAD "{\"step\":1,\"begin_ns\":1000}\n", ":2: end_ns is missing"},
    {GOOD_HEAD "{\"from\":0,\"at_ns\":1000}\n{\"from\":0,\"at_ns\":1000}\n",
     ":3: from stands twice"},
    {GOOD_HEAD "{\"end\":\"so so\",\"at_ns\":1000,\"text\":\"\"}\n",
     ":2: end: want ok, stopped or failed"},
    {GOOD_HEAD "{\"end\":\"ok\",\"at_ns\":1000,\"text\":\"\"}\n"
               "{\"end\":\"ok\",\"at_ns\":1000,\"text\":\"\"}\n",
     ":3: a second end"},
    {GOOD_HEAD "{\"dream\":1}\n", ":2: no record of a job log"},
    {GOOD_HEAD GOOD_HEAD, ":2: no record of a job log"},
};

static const char *const no_objects[] = {
    GOOD_HEAD "{\"kept\":1.5,\"at_ns\":1000}\n",
    GOOD_HEAD "{\"kept\":1e3,\"at_ns\":1000}\n",
    GOOD_HEAD "{\"kept\":01,\"at_ns\":1000}\n",
    GOOD_HEAD "{\"kept\":+1,\"at_ns\":1000}\n",
    GOOD_HEAD "{\"kept\":99999999999999999999,\"at_ns\":1000}\n",
    GOOD_HEAD "{\"kept\":[1],\"at_ns\":1000}\n",
    GOOD_HEAD "{\"kept\":1,\"at_ns\":1000\n",
    GOOD_HEAD "{\"kept\":1,\"at_ns\":1000} {}\n",
    GOOD_HEAD "{\"kept\":1,\"at_ns\":1000,}\n",
    GOOD_HEAD "{\"end\":\"o\\k\",\"at_ns\":1000}\n",
    GOOD_HEAD "{\"end\":\"ok\n",
};

static void what_is_no_log_is_refused(void)
{
    const char *dir = make_dir("refused");
    pod_arena *a = pod_test_arena();
    pod_job j;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char want[160];
        snprintf(want, sizeof want, "attempt-001.rank-0000.jsonl%s", refused[i].part);
        write_file(dir, "attempt-001.rank-0000.jsonl", refused[i].text, strlen(refused[i].text));
        POD_CHECK_FAILS(pod_job_read(a, dir, &j), POD_E_FORMAT, want);
    }
    for (size_t i = 0; i < sizeof no_objects / sizeof no_objects[0]; i++) {
        write_file(dir, "attempt-001.rank-0000.jsonl", no_objects[i], strlen(no_objects[i]));
        POD_CHECK_FAILS(pod_job_read(a, dir, &j), POD_E_FORMAT,
                        ":2: not one whole JSON object of texts and whole numbers");
    }
    static const char with_zero[] = GOOD_HEAD "{\"kept\":1,\0\"at_ns\":1000}\n";
    write_file(dir, "attempt-001.rank-0000.jsonl", with_zero, sizeof with_zero - 1);
    POD_CHECK_FAILS(pod_job_read(a, dir, &j), POD_E_FORMAT, ":2: a byte of value 0");
    static const char good[] = GOOD_HEAD " { \"at_ns\" : 1000 , \"more\":\"\", \"kept\":1 } \r\n";
    write_file(dir, "attempt-001.rank-0000.jsonl", good, sizeof good - 1);
    POD_CHECK_OK(pod_job_read(a, dir, &j));
    CU_ASSERT_EQUAL(j.part[0].n_kept, 1);
}

static void no_log_is_said(void)
{
    pod_arena *a = pod_test_arena();
    pod_job j;
    POD_CHECK_FAILS(pod_job_read(a, "/nowhere", &j), POD_E_IO, "/nowhere/job: no job log: No such");
    POD_CHECK_FAILS(pod_job_read(a, make_dir("empty"), &j), POD_E_IO,
                    "empty/job: no job log: the folder is empty");
}

/* ---- launches, and what a folder holds ---- */

#define LAUNCH(begin)                                                                 \
    "{\"schema\":\"minipod.launch\",\"version\":1,\"command\":\"train\",\"ranks\":4," \
    "\"begin_ns\":" #begin "}\n"

static const char launched[] = LAUNCH(
    500) "{\"attempt\":1,\"begin_ns\":600}\n"
         "{\"attempt\":1,\"end_ns\":900,\"exit_code\":137,\"reason\":\"killed\","
         "\"text\":\"rank 3: killed by signal 9\"}\n"
         "{\"attempt\":3,\"begin_ns\":1000}\n" LAUNCH(2000) "{\"attempt\":12,\"begin_ns\":2100}\n"
                                                            "{\"attempt\":12,\"end_ns\":2";

static void launches_are_read(void)
{
    const char *dir = make_dir("launched");
    int last = -1;
    write_file(dir, "launch.jsonl", launched, sizeof launched - 1);
    const pod_job j = read_job(dir);
    CU_ASSERT_EQUAL(j.n_parts, 0);
    CU_ASSERT_EQUAL(j.launch_begin, 500);
    CU_ASSERT_EQUAL_FATAL(j.n_attempts, 3);
    CU_ASSERT_EQUAL(j.attempt[0].begin, 600);
    CU_ASSERT_EQUAL(j.attempt[0].end, 900);
    CU_ASSERT_EQUAL(j.attempt[0].exit_code, 137);
    CU_ASSERT_EQUAL(j.attempt[0].launch, 1);
    CU_ASSERT_STRING_EQUAL(j.attempt[0].reason, "killed");
    CU_ASSERT_STRING_EQUAL(j.attempt[0].text, "rank 3: killed by signal 9");
    CU_ASSERT_EQUAL(j.attempt[1].attempt, 3);
    CU_ASSERT_EQUAL(j.attempt[1].end, 0);
    CU_ASSERT_EQUAL(j.attempt[2].launch, 2);
    CU_ASSERT_EQUAL(j.attempt[2].end, 0);
    POD_CHECK_OK(pod_job_last_attempt(dir, &last));
    CU_ASSERT_EQUAL(last, 12);
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"{\"attempt\":1,\"begin_ns\":600}\n", "launch.jsonl:1: want a schema first"},
        {LAUNCH(5) "{\"attempt\":1,\"end_ns\":600,\"exit_code\":1,\"reason\":\"\",\"text\":\"\"}\n",
         "launch.jsonl:2: the end of an attempt that is not open"},
        {LAUNCH(5) "{\"attempt\":2,\"begin_ns\":600}\n{\"attempt\":2,\"begin_ns\":600}\n",
         "launch.jsonl:3: attempts go back"},
        {LAUNCH(5) "{\"attempt\":2,\"begin_ns\":600}\n{\"attempt\":2,\"end_ns\":599,"
                   "\"exit_code\":1,\"reason\":\"\",\"text\":\"\"}\n",
         "launch.jsonl:3: end_ns: want 600 to "},
    };
    pod_job none;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_file(dir, "launch.jsonl", bad[i].text, strlen(bad[i].text));
        POD_CHECK_FAILS(pod_job_read(pod_test_arena(), dir, &none), POD_E_FORMAT, bad[i].part);
    }
}

static void parts_stand_in_order(void)
{
    static const int order[][2] = {{10, 0}, {2, 3}, {2, 0}, {1000, 1}, {1, 2}};
    static const int want[][2] = {{1, 2}, {2, 0}, {2, 3}, {10, 0}, {1000, 1}};
    const char *dir = make_dir("order");
    int last = -1;
    for (size_t i = 0; i < 5; i++) {
        pod_job_writer *w = NULL;
        const pod_job_head head = head_of(order[i][0], order[i][1]);
        POD_CHECK_OK(pod_job_writer_open(dir, &head, &w));
        POD_CHECK_OK(pod_job_writer_close(w));
    }
    pod_job j = read_job(dir);
    CU_ASSERT_EQUAL_FATAL(j.n_parts, 5);
    for (int i = 0; i < 5; i++)
        POD_CHECK(j.part[i].head.attempt == want[i][0] && j.part[i].head.rank == want[i][1],
                  "part %d", i);
    POD_CHECK_OK(pod_job_read_rank(pod_test_arena(), dir, 0, &j));
    CU_ASSERT_EQUAL_FATAL(j.n_parts, 2);
    CU_ASSERT_EQUAL(j.part[1].head.attempt, 10);
    POD_CHECK_OK(pod_job_last_attempt(dir, &last));
    CU_ASSERT_EQUAL(last, 1000);
}

/* An older job's log goes, what stands beside it stays. */
static void clear_takes_logs_alone(void)
{
    static const char *const kept[] = {"notes.txt", "attempt-1.rank-0.jsonl", "attempt-001.jsonl"};
    const char *dir = make_dir("clear");
    int last = -1;
    POD_CHECK_OK(pod_job_last_attempt("/nowhere", &last));
    CU_ASSERT_EQUAL(last, 0);
    write_whole(dir);
    write_file(dir, "launch.jsonl", launched, sizeof launched - 1);
    for (int i = 0; i < 3; i++) write_file(dir, kept[i], "x", 1);
    POD_CHECK_OK(pod_job_last_attempt(dir, &last));
    CU_ASSERT_EQUAL(last, 12);
    POD_CHECK_OK(pod_job_clear(dir));
    POD_CHECK_OK(pod_job_last_attempt(dir, &last));
    CU_ASSERT_EQUAL(last, 0);
    for (int i = 0; i < 3; i++)
        POD_CHECK(access(pod_test_text("%s/job/%s", dir, kept[i]), F_OK) == 0, "%s is gone",
                  kept[i]);
}

static void names(void)
{
    static const char *const not_names[] = {
        "attempt-1.rank-0000.jsonl",       "attempt-001.rank-0000.jsonl.part",
        "attempt-000.rank-0000.jsonl",     "attempt-001.rank--001.jsonl",
        "attempt-1000001.rank-0000.jsonl", "launch.jsonl"};
    static const int numbers[] = {1, 7, 999, 1000, 12345, 1000000};
    char text[POD_JOB_NAME_BYTES];
    pod_job_name n, got;
    CU_ASSERT_STRING_EQUAL(pod_job_name_print((pod_job_name){1, 3}, text),
                           "attempt-001.rank-0003.jsonl");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        n = (pod_job_name){.attempt = numbers[i], .rank = numbers[i] - 1};
        POD_CHECK(pod_job_name_parse(pod_job_name_print(n, text), &got) &&
                      got.attempt == n.attempt && got.rank == n.rank,
                  "%s", text);
    }
    for (size_t i = 0; i < sizeof not_names / sizeof not_names[0]; i++)
        POD_CHECK(!pod_job_name_parse(not_names[i], &got), "%s is a name", not_names[i]);
}

POD_TEST_SUITE("runtime.job_file", {"names", names}, {"there and back", there_and_back},
               {"no writer takes nothing", no_writer_takes_nothing},
               {"a torn line is left out", a_torn_line_is_left_out},
               {"two threads leave whole lines", two_threads_leave_whole_lines},
               {"a full disk leaves whole lines", a_full_disk_leaves_whole_lines},
               {"two do not write one file", two_do_not_write_one_file},
               {"what is no log is refused", what_is_no_log_is_refused},
               {"no log is said", no_log_is_said}, {"launches are read", launches_are_read},
               {"parts stand in order", parts_stand_in_order},
               {"clear takes logs alone", clear_takes_logs_alone});
