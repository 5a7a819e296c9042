/* Values of options in JSON, in types of their own: numbers, bytes as a number, true and false, texts;
 * null is a number that there is none of. Records of older versions have texts alone. */
#ifndef MINIPOD_BENCH_COMMON_JSON_OPTION_H
#define MINIPOD_BENCH_COMMON_JSON_OPTION_H

#include <cjson/cJSON.h>

#include "kernels/base/arena.h"
#include "runtime/config/config.h"
#include "runtime/core/json.h"

/* `value` is a text of one of the option's values, or "". */
void pod_json_option(pod_json *j, const pod_option *o, const char *value);

/* An object "args" of the options of a command (POD_CMD_...), but for those that are typed alone. */
void pod_json_arguments(pod_json *j, const pod_config *c, unsigned command);

/* The text of a value in a record, as pod_option_normal has it; NULL where it is neither text, number,
 * bool nor null, or there is no memory. `value` may be of an option that there is no more. */
const char *pod_json_option_text(const cJSON *value, pod_arena *a);

#endif
