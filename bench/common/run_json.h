/* Reads run.json, which training writes. */
#ifndef MINIPOD_BENCH_COMMON_RUN_JSON_H
#define MINIPOD_BENCH_COMMON_RUN_JSON_H

#include <cjson/cJSON.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"
#include "runtime/config/config.h"

/* Reads the text of FOLDER/run.json into the arena. Fails with E_IO, also if the file does not
 * exist. */
POD_MUST pod_status pod_run_json_read(pod_arena *a, const char *folder, char **out);

/* Parses the text; the caller deletes `out`. Fails with E_FORMAT, naming the path, if it is not the
 * record of a run. */
POD_MUST pod_status pod_run_json_parse(const char *path, const char *text, cJSON **out);

/* Returns whether training wrote it at its start: the run is still running, or was killed. */
bool pod_run_json_is_running(const cJSON *run);
/* Says which of the two holds for the run in `folder`. */
const char *pod_run_json_running_text(const char *folder);

/* Fails with E_INVALID, naming both, if two of the command's arguments are the same folder. */
POD_MUST pod_status pod_run_json_check_apart(const pod_config *c);

/* Returns the item `name` of `o`; NULL if there is none or `o` is NULL. */
const cJSON *pod_run_json_item(const cJSON *o, const char *name);
/* Returns that number; NaN if it is none, or not finite. */
double pod_run_json_number(const cJSON *o, const char *name);

#endif
