#include "bench/job/simulate_job.h"

#include "bench/common/json_file.h"
#include "bench/job/table.h"
#include "runtime/core/file.h"

static void put(const void *study, pod_json *j) { pod_job_json(study, j); }

static pod_status write_json(const pod_job_study *s, const char *path)
{
    return pod_json_file_write(path, 4, put, s);
}

static pod_status write_folder(const pod_job_study *s, const char *folder, pod_log *log)
{
    char path[POD_PATH_BYTES];
    POD_TRY(pod_path_join(folder, "job.json", path));
    POD_TRY(write_json(s, path));
    POD_TRY(pod_path_join(folder, "job.svg", path));
    return pod_job_plot(s, path, log);
}

pod_status pod_simulate_job(pod_call *call)
{
    const pod_config *c = call->config;
    const char *json = pod_config_text(c, POD_OPT_JSON), *folder = pod_config_text(c, POD_OPT_OUT);
    pod_arena *arena;
    pod_job_study *study;
    pod_status status;
    POD_TRY(pod_arena_create(NULL, &arena));
    if (*folder) POD_TRY_GOTO(status, pod_dir_make(folder), done);
    POD_TRY_GOTO(status, pod_job_study_make(c, arena, call->log, &study), done);
    POD_TRY_GOTO(status, pod_job_print(study, call->log->out, pod_config_text(c, POD_OPT_CSV)),
                 done);
    POD_TRY_GOTO(status, pod_job_study_tell_not_struck(study, arena, call->log), done);
    if (*json) POD_TRY_GOTO(status, write_json(study, json), done);
    if (*folder) POD_TRY_GOTO(status, write_folder(study, folder, call->log), done);
done:
    pod_arena_destroy(arena);
    return status;
}
