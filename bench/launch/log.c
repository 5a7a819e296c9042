#include <cjson/cJSON.h>
#include <math.h>
#include <unistd.h>

#include "bench/launch/launch.h"
#include "runtime/core/file.h"
#include "runtime/goodput/goodput.h"

static void look_at(const pod_job_part *p, pod_launch_log *l)
{
    l->began_now = true;
    if (p->first_step > l->step) l->step = p->first_step;
    if (p->n_steps > 0) l->step = p->step[p->n_steps - 1].step;
    l->stopped = p->end == POD_JOB_END_STOPPED;
    l->finished = p->end == POD_JOB_END_OK;
    if (p->end == POD_JOB_END_FAILED && p->end_text) l->failure = p->end_text;
}

pod_launch_log pod_launch_log_of(const pod_job *j, int attempt)
{
    pod_launch_log l = {.is_read = true, .failure = ""};
    for (int i = 0; i < j->n_parts; i++) {
        const pod_job_part *p = &j->part[i];
        if (p->head.rank != 0 || p->head.attempt > attempt) continue;
        l.began = true;
        if (p->first_step >= 0 && p->first_step < l.kept) l.kept = p->first_step;
        for (int64_t k = 0; k < p->n_kept; k++)
            if (p->kept[k] > l.kept) l.kept = p->kept[k];
        if (p->head.attempt == attempt) look_at(p, &l);
    }
    return l;
}

int pod_launch_log_struck(const pod_job *j, int attempt, const pod_fault fault[], int n_faults)
{
    for (int i = 0; i < j->n_parts; i++) {
        const pod_job_part *p = &j->part[i];
        if (p->head.attempt != attempt || p->end != POD_JOB_END_NONE || p->n_faults == 0) continue;
        const int last = p->fault[p->n_faults - 1];
        if (last >= 0 && last < n_faults && fault[last].kind == POD_FAULT_KILL) return p->head.rank;
    }
    return -1;
}

/* ---- goodput.json, which ends after its ranks ---- */

/* 0 where it is null: not known. */
static double number(const cJSON *at, const char *key)
{
    return fmax(0, cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(at, key)));
}

static int whole(const cJSON *at, const char *key)
{
    const double value = number(at, key);
    return value > 0 && value <= INT32_MAX ? (int)value : 0;
}

static const char *text(const cJSON *at, const char *key)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(at, key));
    return value ? value : "";
}

static pod_status write_again(pod_arena *a, const char *dir, const char *path, int64_t kept,
                              const cJSON *was)
{
    pod_job job;
    pod_account account;
    const pod_ideal ideal = {.model_flops = number(was, "model_flops"),
                             .peak_flop_per_s = number(was, "peak_flop_per_s"),
                             .ranks = whole(was, "ranks"),
                             .physical_cores = whole(was, "physical_cores"),
                             .cores_at_work = whole(was, "cores_at_work"),
                             .median_step_s = number(was, "step_s")};
    POD_TRY(pod_job_read(a, dir, &job));
    job.kept = kept;
    POD_TRY(pod_account_of(&job, 0, &account));
    return pod_goodput_write(path, text(was, "clock"), text(was, "machine"), &account, &ideal);
}

pod_status pod_launch_goodput_close(pod_arena *a, const char *dir, int64_t kept)
{
    enum { MAX_BYTES = 1 << 20 };
    char path[POD_PATH_BYTES], *content;
    POD_TRY(pod_path_join(dir, "goodput.json", path));
    if (access(path, F_OK) != 0) return POD_OK;
    POD_TRY(pod_file_read_text(a, path, MAX_BYTES, &content));
    cJSON *was = cJSON_Parse(content);
    pod_status status = POD_OK;
    if (cJSON_IsObject(was)) status = write_again(a, dir, path, kept, was);
    cJSON_Delete(was);
    return status;
}
