#include "bench/common/run_json.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/file.h"

enum { MAX_BYTES = 1 << 26 };

const cJSON *pod_run_json_item(const cJSON *o, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(o, name);
}

double pod_run_json_number(const cJSON *o, const char *name)
{
    const double value = cJSON_GetNumberValue(pod_run_json_item(o, name));
    return isfinite(value) ? value : (double)NAN;
}

pod_status pod_run_json_read(pod_arena *a, const char *folder, char **out)
{
    char path[POD_PATH_BYTES];
    POD_TRY(pod_path_join(folder, "run.json", path));
    if (access(path, F_OK) != 0)
        return pod_fail(
            POD_E_IO, "%s: is not there: no folder of train --out, or of a run that has not ended",
            path);
    return pod_file_read_text(a, path, MAX_BYTES, out);
}

pod_status pod_run_json_parse(const char *path, const char *text, cJSON **out)
{
    cJSON *run = cJSON_Parse(text);
    const cJSON *schema = pod_run_json_item(run, "schema");
    if (cJSON_IsString(schema) && strcmp(schema->valuestring, "minipod.run") == 0) {
        *out = run;
        return POD_OK;
    }
    cJSON_Delete(run);
    return pod_fail(POD_E_FORMAT, "%s: is no record of a run", path);
}

bool pod_run_json_is_running(const cJSON *run)
{
    const cJSON *state = pod_run_json_item(run, "state");
    return cJSON_IsString(state) && strcmp(state->valuestring, "running") == 0;
}

/* Who trains has the log open until the record is written. */
const char *pod_run_json_running_text(const char *folder)
{
    char path[POD_PATH_BYTES];
    const bool is_running =
        pod_path_join(folder, "mllog.txt", path) == POD_OK && pod_file_is_taken(path);
    return is_running ? "is running, and has no results yet"
                      : "was killed before its end, and has no results";
}

/* Names may be spelled in many ways, and links may lead to the same folder. */
static bool is_same_folder(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

pod_status pod_run_json_check_apart(const pod_config *c)
{
    for (int i = 0; i < pod_config_n_args(c); i++)
        for (int k = 0; k < i; k++)
            if (is_same_folder(pod_config_arg(c, k), pod_config_arg(c, i)))
                return pod_fail(POD_E_INVALID,
                                "%s: stands twice among the runs: it is the same folder as %s",
                                pod_config_arg(c, i), pod_config_arg(c, k));
    return POD_OK;
}
