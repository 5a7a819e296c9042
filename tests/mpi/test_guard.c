/* What lets a run survive, in whole runs of a small network: attempts of one job, the log of all
 * of them, checkpoints on the way, what an earlier run left, faults of files. Deaths, restarts and
 * requests to stop are those of tests/system/train/kills.sh and tests/mpi/stopping.sh. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/file.h"
#include "runtime/goodput/account.h"
#include "runtime/goodput/job_file.h"
#include "runtime/train/guard.h"
#include "tests/harness/harness.h"
#include "tests/harness/training.h"
#include "tests/mpi/ranks.h"

#define RUN(r, name, ...)                                                      \
    pod_test_run_well((r), comm, &pod_test_nets[POD_TEST_BN_RESIDUAL], (name), \
                      (const char *const[]){"--optimizer=lars", __VA_ARGS__, NULL})

static bool there(const pod_test_run *r, const char *name)
{
    struct stat s;
    return stat(pod_test_text("%s/%s", r->folder, name), &s) == 0;
}

/* The job's log and its account, on all ranks. */
static void read_job(const pod_test_run *r, pod_job *job, pod_account *account)
{
    *job = (pod_job){0};
    *account = (pod_account){0};
    POD_CHECK_OK(pod_job_read(r->arena, r->folder, job));
    POD_CHECK_OK(pod_account_of(job, 0, account));
    pod_stamp sum = 0;
    for (int s = 0; s < POD_N_JOB_SPANS; s++) sum += account->by_span[s];
    POD_CHECK(sum == account->wall && account->wall > 0,
              "categories sum to %" PRId64 " ns of %" PRId64, sum, account->wall);
    pod_comm_barrier(comm); /* nobody goes on to remove it */
}

/* A run that starts anew in a folder of another neither goes on from its checkpoints nor loses
 * them. */
static void test_new_job(void)
{
    pod_test_run old, new, again;
    pod_job job;
    pod_account account;
    RUN(&old, "reused", "--steps=4");
    RUN(&new, "reused", "--steps=3");
    POD_CHECK(there(&new, "checkpoint.old/step-000000004/index.h5"), "the old one is gone");
    POD_CHECK(!there(&new, "checkpoint/step-000000004"), "the old one is taken for the new");
    read_job(&new, &job, &account);
    POD_CHECK(account.n_attempts == 1 && account.n_steps == 3, "%d attempts, %" PRId64 " steps",
              account.n_attempts, account.n_steps);
    RUN(&again, "reused", "--steps=2");
    POD_CHECK(there(&again, "checkpoint.old/step-000000004/index.h5") &&
                  there(&again, "checkpoint.old.2/step-000000003/index.h5") &&
                  there(&again, "checkpoint/step-000000002/index.h5"),
              "what was put aside before is gone");
    pod_test_run_end(&old);
    pod_test_run_end(&new);
    pod_test_run_end(&again);
}

static bool says(const pod_test_run *r, const char *name, const char *text)
{
    return strstr(pod_test_run_text(r, name), text) != NULL;
}

/* A launched job in an older one's folder, whose first attempt dies before it has begun: the second
 * begins what it writes, and goes on with nothing of the old. */
static void test_unborn_attempt(void)
{
    pod_test_run old, new;
    RUN(&old, "unborn", "--steps=4", "--seed=81");
    pod_comm_barrier(comm);
    if (rank == 0) {
        pod_launch_file *launch = NULL;
        const pod_clock clock = pod_clock_start();
        POD_CHECK_OK(pod_job_clear(old.folder));
        POD_CHECK_OK(pod_launch_file_open(old.folder, "train", size, clock.stamp, &launch));
        POD_CHECK_OK(pod_launch_file_put_begin(launch, 1, pod_clock_stamp(&clock)));
        POD_CHECK_OK(pod_launch_file_put_end(launch, 1, pod_clock_stamp(&clock), 137, "killed",
                                             "killed by signal 9"));
        POD_CHECK_OK(pod_launch_file_put_begin(launch, 2, pod_clock_stamp(&clock)));
        pod_launch_file_close(launch);
    }
    pod_comm_barrier(comm);
    RUN(&new, "unborn", "--steps=3", "--seed=82", "--attempt=2");
    POD_CHECK(says(&new, "mllog.txt", "\"seed\", \"value\": 82") &&
                  !says(&new, "mllog.txt", "\"seed\", \"value\": 81"),
              "the log is the old job's");
    POD_CHECK(says(&new, "steps.csv", "# attempt 2") && !says(&new, "steps.csv", "# attempt 1"),
              "the steps are the old job's");
    pod_test_run_end(&old);
    pod_test_run_end(&new);
}

/* When the n-th row of steps.csv, from 0, began by it; on all ranks alike. */
static double row_begin_s(const pod_test_run *r, int n)
{
    char *end;
    const char *next, *line = pod_test_run_text(r, "steps.csv");
    for (; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        (void)strtol(line, &end, 10);
        if (end != line && n-- == 0) return strtod(end + 1, NULL);
    }
    return -1;
}

/* Times of a launched job count from the run_start of its first attempt, as its score does: in that
 * attempt as in those behind it, and however long the launch took before. */
static void test_one_zero(void)
{
    static const double ago_s = 1000;
    pod_test_run first, second;
    const char *folder = pod_test_path("launched");
    if (rank == 0) {
        pod_launch_file *launch;
        const pod_stamp begin = pod_clock_start().stamp - (pod_stamp)(ago_s * 1e9);
        POD_CHECK_OK(pod_launch_file_open(folder, "train", size, begin, &launch));
        if (launch) POD_CHECK_OK(pod_launch_file_put_begin(launch, 1, begin));
        pod_launch_file_close(launch);
    }
    pod_comm_barrier(comm);
    RUN(&first, "launched", "--steps=2", "--attempt=1");
    RUN(&second, "launched", "--steps=4", "--attempt=2", "--resume=auto");
    const double begin_s[] = {row_begin_s(&second, 0), row_begin_s(&second, 1),
                              row_begin_s(&second, 2)};
    POD_CHECK(begin_s[0] >= 0 && begin_s[1] > begin_s[0] && begin_s[2] > begin_s[1] &&
                  begin_s[2] > first.result.run_s && begin_s[2] < ago_s,
              "steps begin %g, %g and %g s behind the first run's start, which took %g s",
              begin_s[0], begin_s[1], begin_s[2], first.result.run_s);
    /* Rank 0 alone has the log, and tells the time of a run. */
    POD_CHECK(rank > 0 ||
                  (second.result.run_s >= first.result.run_s && second.result.run_s < ago_s),
              "runs of %g and %g s", first.result.run_s, second.result.run_s);
    pod_comm_barrier(comm);
    pod_test_run_end(&first);
    pod_test_run_end(&second);
}

/* A run that cannot have its steps.csv leaves the log of those before as it was. */
static void test_records_stay(void)
{
    pod_test_run r;
    struct stat before, after;
    RUN(&r, "records", "--steps=4");
    const char *steps = pod_test_text("%s/steps.csv", r.folder);
    POD_CHECK(stat(r.mllog_path, &before) == 0, "no log");
    pod_comm_barrier(comm);
    if (rank == 0) POD_CHECK(remove(steps) == 0 && mkdir(steps, 0777) == 0, "%s", steps);
    pod_test_run_end(&r);
    pod_test_run_start(&r, comm, &pod_test_nets[POD_TEST_BN_RESIDUAL], "records",
                       (const char *const[]){"--steps=7", "--resume=auto", NULL});
    POD_CHECK(r.status == POD_E_IO && strstr(r.error, "steps.csv"), "%s: %s",
              pod_status_name(r.status), r.error);
    POD_CHECK(stat(r.mllog_path, &after) == 0 && after.st_ino == before.st_ino &&
                  after.st_size == before.st_size && !there(&r, "mllog.txt" POD_FILE_PART),
              "the log is another");
    pod_test_run_end(&r);
}

/* Several become whole between two looks, at the end above all: the log has each, and when. */
static void test_each_kept(void)
{
    pod_test_run r;
    pod_job job;
    pod_account account;
    RUN(&r, "each", "--steps=9", "--checkpoint-every=1");
    read_job(&r, &job, &account);
    const pod_job_part *p = &job.part[0];
    POD_CHECK(p->n_kept == 9, "%" PRId64 " are kept", p->n_kept);
    for (int64_t i = 0; i < p->n_kept; i++)
        POD_CHECK(p->kept[i] == i + 1 && p->kept_at[i] > p->step[i].end &&
                      (i == 0 || p->kept_at[i] > p->kept_at[i - 1]),
                  "step %" PRId64 " is kept %" PRId64 " ns behind its end", p->kept[i],
                  p->kept_at[i] - p->step[i].end);
    pod_test_run_end(&r);
}

/* A fault of files is written down when it strikes, and only then: not where the save does not come
 * to it, nor where the save has failed before. */
static void test_only_what_struck(void)
{
    static const struct {
        const char *fault;
        int n_struck;
    } cases[] = {{"--fault=diskfull:rank=0,step=2,write=900", 0},
                 {"--fault=kill:rank=0,step=2,write=900", 0},
                 {"--fault=corrupt-checkpoint:step=2,byte=7", 1},
                 {"--fault=diskfull:rank=0,step=2;corrupt-checkpoint:step=2,byte=7", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pod_test_run r;
        pod_job job;
        pod_account account;
        RUN(&r, pod_test_text("files%zu", i), "--steps=3", "--checkpoint-every=1", cases[i].fault);
        read_job(&r, &job, &account);
        int64_t n = 0;
        for (int part = 0; part < job.n_parts; part++) n += job.part[part].n_faults;
        POD_CHECK(n == cases[i].n_struck, "%s: %" PRId64 " struck, want %d", cases[i].fault, n,
                  cases[i].n_struck);
        for (int64_t k = 0; k < job.part[0].n_faults; k++)
            POD_CHECK(job.part[0].fault[k] == 0, "%s: number %d struck", cases[i].fault,
                      job.part[0].fault[k]);
        pod_test_run_end(&r);
    }
}

/* What --resume names may be of the run's own folder, wherever the run is started; nothing is named
 * by an empty one, in the folder of a checkpoint, too. */
static void test_own_folder(void)
{
    static const struct {
        const char *resume;
        bool goes_on;
    } rows[] = {{"auto", true},     {".", true},         {"./", true},
                {"index.h5", true}, {"../..", true},     {"..", true},
                {"", false},        {"../../..", false}, {"../../../other", false}};
    char back[4096];
    const char *out = pod_test_path("own"), *step = pod_test_path("own/checkpoint/step-000000001");
    POD_CHECK_OK(pod_dir_make(step));
    pod_comm_barrier(comm);
    POD_CHECK(getcwd(back, sizeof back) && chdir(step) == 0, "%s", step);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        POD_CHECK(pod_guard_goes_on(rows[i].resume, out) == rows[i].goes_on, "'%s': %d",
                  rows[i].resume, !rows[i].goes_on);
    POD_CHECK(chdir(back) == 0, "%s", back);
}

POD_TEST_SUITE_WITH("guard", open_comm, close_comm,
                    {"a new job in an old one's folder", test_new_job},
                    {"an attempt that is not born", test_unborn_attempt},
                    {"one zero of a job's times", test_one_zero},
                    {"a run that cannot begin", test_records_stay},
                    {"each that is whole", test_each_kept},
                    {"faults of files that struck", test_only_what_struck},
                    {"its own folder", test_own_folder});
