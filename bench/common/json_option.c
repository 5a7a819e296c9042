#include "bench/common/json_option.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/parse.h"

void pod_json_option(pod_json *j, const pod_option *o, const char *value)
{
    double real = 0;
    int64_t whole = 0;
    bool on = false;
    const bool is_text = o->type == POD_OPTION_TEXT || o->type == POD_OPTION_CHOICE;
    if (is_text)
        pod_json_text(j, o->name, value);
    else if (value[0] == '\0')
        pod_json_null(j, o->name);
    else if (o->type == POD_OPTION_BOOL && pod_parse_bool(o->name, value, &on) == POD_OK)
        pod_json_bool(j, o->name, on);
    else if (o->type == POD_OPTION_SIZE && pod_parse_size(o->name, value, &whole) == POD_OK)
        pod_json_int(j, o->name, whole);
    else if (o->type == POD_OPTION_INT &&
             pod_parse_int(o->name, value, INT64_MIN, INT64_MAX, &whole) == POD_OK)
        pod_json_int(j, o->name, whole);
    else if (pod_parse_double(o->name, value, o->min, o->max, &real) == POD_OK)
        pod_json_double(j, o->name, real);
    else
        pod_json_text(j, o->name, value);
}

void pod_json_arguments(pod_json *j, const pod_config *c, unsigned command)
{
    pod_json_open_object(j, "args");
    for (int i = 0; i < POD_N_OPTS; i++)
        if (pod_options[i].commands & command && !pod_options[i].only_typed)
            pod_json_option(j, &pod_options[i], pod_config_value(c, (pod_opt)i));
    pod_json_close(j);
}

static const pod_option *option_of(const char *name)
{
    for (int i = 0; name && i < POD_N_OPTS; i++)
        if (strcmp(pod_options[i].name, name) == 0) return &pod_options[i];
    return NULL;
}

const char *pod_json_option_text(const cJSON *value, pod_arena *a)
{
    char number[POD_OPTION_NORMAL_BYTES], normal[POD_OPTION_NORMAL_BYTES];
    const pod_option *o = option_of(value->string);
    const char *text = NULL;
    if (cJSON_IsString(value)) text = value->valuestring;
    if (cJSON_IsBool(value)) text = cJSON_IsTrue(value) ? "on" : "off";
    if (cJSON_IsNull(value)) text = "";
    if (cJSON_IsNumber(value)) {
        const bool is_whole = o && (o->type == POD_OPTION_INT || o->type == POD_OPTION_SIZE);
        snprintf(number, sizeof number, "%.0f", value->valuedouble);
        text = is_whole ? number : pod_print_double(value->valuedouble, number, sizeof number);
    }
    return text ? pod_arena_text(a, "%s", o ? pod_option_normal(o, text, normal) : text) : NULL;
}
