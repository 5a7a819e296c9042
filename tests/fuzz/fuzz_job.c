/* Any text as the log of a rank, or of a launch: what is read is within its ranges, and its account
 * closes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/assert.h"
#include "runtime/goodput/advice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static char dir[] = "/tmp/minipod_fuzz_job_XXXXXX", folder[64], rank_path[128], launch_path[128];

static const char good_rank[] =
    "{\"schema\":\"minipod.job\",\"version\":1,\"attempt\":1,\"rank\":0,\"ranks\":2,\"mesh\":\"2\","
    "\"model\":\"m\",\"data\":\"d\",\"host\":\"h\",\"pid\":1,\"begin_ns\":1000}\n"
    "{\"from\":0,\"at_ns\":1000}\n"
    "{\"step\":1,\"begin_ns\":1000,\"end_ns\":1100,\"input_ns\":1,\"reduce_ns\":2,\"save_ns\":3}\n";

static void clean_up(void)
{
    unlink(rank_path);
    unlink(launch_path);
    rmdir(folder);
    rmdir(dir);
}

static void make_folder(void)
{
    POD_ASSERT(mkdtemp(dir), "cannot make %s", dir);
    snprintf(folder, sizeof folder, "%s/job", dir);
    POD_ASSERT(mkdir(folder, 0777) == 0, "cannot make %s", folder);
    snprintf(rank_path, sizeof rank_path, "%s/attempt-001.rank-0000.jsonl", folder);
    snprintf(launch_path, sizeof launch_path, "%s/launch.jsonl", folder);
    atexit(clean_up);
}

static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "w");
    POD_ASSERT(f && fwrite(data, 1, bytes, f) == bytes && fclose(f) == 0, "cannot write %s", path);
}

static void check_account(const pod_account *a)
{
    pod_stamp sum = 0;
    for (int s = 0; s < POD_N_JOB_SPANS; s++) {
        POD_ASSERT(a->by_span[s] >= 0, "%s is negative", pod_job_span_name((pod_job_span)s));
        sum += a->by_span[s];
    }
    POD_ASSERT(sum == a->wall && a->wall >= 0, "%lld ns of %lld", (long long)sum,
               (long long)a->wall);
    POD_ASSERT(a->unsaved >= 0 && a->unsaved <= a->by_span[POD_JOB_STEP], "%lld ns not saved",
               (long long)a->unsaved);
}

/* What is worked out of a job that has an account. */
static void check_figures(pod_arena *a, const pod_job *j, const pod_account *sum)
{
    enum { N_PARTS = 5 };
    pod_account x[N_PARTS];
    pod_stragglers s;
    pod_deviation d;
    pod_advice advice[POD_MAX_ADVICE];
    pod_stamp wall = 0;
    int n;
    POD_ASSERT(pod_stragglers_of(a, j, &s) == POD_OK && pod_deviation_of(j, &d) == POD_OK &&
                   pod_advise(a, j, sum, &s, advice, &n) == POD_OK &&
                   pod_account_cut(j, 0, sum->begin, sum->end, x, N_PARTS) == POD_OK,
               "%s", pod_error_text());
    for (int i = 0; i < N_PARTS; i++) wall += x[i].wall;
    POD_ASSERT(wall == sum->wall, "%lld ns in parts of %lld", (long long)wall,
               (long long)sum->wall);
    for (int i = 0; i < n; i++)
        POD_ASSERT(advice[i].gain >= POD_ADVICE_LEAST && advice[i].gain <= 1, "%s: %g",
                   advice[i].text, advice[i].gain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char launch[] = "{\"schema\":\"minipod.launch\"";
    pod_arena *a;
    pod_job j;
    pod_account sum;
    if (rank_path[0] == '\0') make_folder();
    const bool is_launch =
        bytes >= sizeof launch - 1 && memcmp(data, launch, sizeof launch - 1) == 0;
    write_file(launch_path, data, is_launch ? bytes : 0);
    write_file(rank_path, is_launch ? (const void *)good_rank : data,
               is_launch ? sizeof good_rank - 1 : bytes);
    POD_ASSERT(pod_arena_create(NULL, &a) == POD_OK, "no memory for %zu bytes", bytes);
    if (pod_job_read(a, dir, &j) == POD_OK && j.n_parts > 0) {
        if (pod_account_of(&j, 0, &sum) == POD_OK) {
            check_account(&sum);
            check_figures(a, &j, &sum);
        }
        if (pod_account_of(&j, 2000, &sum) == POD_OK) check_account(&sum);
        if (pod_account_rank(&j, 0, 0, &sum) == POD_OK) check_account(&sum);
    }
    pod_arena_destroy(a);
    return 0;
}
