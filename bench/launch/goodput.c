#include "bench/launch/goodput.h"

#include <cjson/cJSON.h>
#include <unistd.h>

#include "runtime/core/file.h"
#include "runtime/goodput/goodput.h"

/* 0 where it is null: not known. */
static double number(const cJSON *at, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(at, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static int whole(const cJSON *at, const char *key)
{
    const double value = number(at, key);
    return value > 0 && value <= INT32_MAX ? (int)value : 0;
}

static const char *text(const cJSON *at, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(at, key);
    return cJSON_IsString(item) ? item->valuestring : "";
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
