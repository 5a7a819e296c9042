/* run.json as training leaves it, read. */
#ifndef MINIPOD_BENCH_COMMON_RUN_JSON_H
#define MINIPOD_BENCH_COMMON_RUN_JSON_H

#include <cjson/cJSON.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"
#include "runtime/config/config.h"

/* The text of FOLDER/run.json, in the arena. E_IO: also where it is not there. */
POD_MUST pod_status pod_run_json_read(pod_arena *a, const char *folder, char **out);

/* The caller deletes `out`. E_FORMAT, naming the path: it is no record of a run. */
POD_MUST pod_status pod_run_json_parse(const char *path, const char *text, cJSON **out);

/* Whether training wrote it at its beginning: it runs, or was killed. */
bool pod_run_json_is_running(const cJSON *run);
/* Which of the two, of the run in `folder`. */
const char *pod_run_json_running_text(const char *folder);

/* Whether no two of the command's arguments are one folder. E_INVALID, naming both. */
POD_MUST pod_status pod_run_json_check_apart(const pod_config *c);

/* NULL where there is none, also of NULL. */
const cJSON *pod_run_json_item(const cJSON *o, const char *name);

#endif
