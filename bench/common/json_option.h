/* Values of options in JSON: numbers (sizes in bytes), true and false, and texts; null is a number
 * that is not set. Records of older versions have only texts. */
#ifndef MINIPOD_BENCH_COMMON_JSON_OPTION_H
#define MINIPOD_BENCH_COMMON_JSON_OPTION_H

#include <cjson/cJSON.h>

#include "kernels/base/arena.h"
#include "runtime/config/config.h"
#include "runtime/core/json.h"

/* Puts `value`, a valid text of the option or "", under the option's name. */
void pod_json_option(pod_json *j, const pod_option *o, const char *value);

/* Puts an object "args" with the options of a command (POD_CMD_...), except those that work only on
 * the command line. */
void pod_json_arguments(pod_json *j, const pod_config *c, unsigned command);

/* Returns the text of a value in a record, in the form of pod_option_normal; NULL if the value is
 * not a text, number, bool or null, or if there is no memory. `value` may belong to an option that
 * no longer exists. */
const char *pod_json_option_text(const cJSON *value, pod_arena *a);

#endif
