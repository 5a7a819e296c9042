#include "bench/common/run_json.h"

#include <string.h>
#include <unistd.h>

#include "runtime/core/file.h"

enum { MAX_BYTES = 1 << 26 };

const cJSON *pod_run_json_item(const cJSON *o, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(o, name);
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
