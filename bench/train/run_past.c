/* What run.json says of a training that has nothing left to do. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/run_json.h"
#include "bench/train/run.h"
#include "runtime/core/file.h"

static double number(const cJSON *o, const char *name) /* 0 of null, and of what is missing */
{
    const cJSON *value = pod_run_json_item(o, name);
    return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

static bool is_text(const cJSON *o, const char *name, const char *text)
{
    const cJSON *value = pod_run_json_item(o, name);
    return cJSON_IsString(value) && strcmp(value->valuestring, text) == 0;
}

/* Whether it has the number, or null for what is not known. */
static bool is_number(const cJSON *o, const char *name, bool is_known, double x)
{
    const cJSON *value = pod_run_json_item(o, name);
    if (!is_known) return cJSON_IsNull(value);
    return cJSON_IsNumber(value) && value->valuedouble == x;
}

/* Whether it came to its end, and that of these weights. */
static bool is_of(const cJSON *run, const pod_train_result *t)
{
    char hash[20];
    snprintf(hash, sizeof hash, "%016" PRIx64, t->weights_hash);
    return is_text(run, "weights_hash", hash) && is_text(run, "status", "OK") &&
           is_number(run, "steps", true, (double)t->first_step) &&
           cJSON_IsFalse(pod_run_json_item(run, "stopped"));
}

static bool has_same_end(const cJSON *run, const pod_run *r)
{
    const pod_train_result *t = r->result;
    return is_text(run, "metric", r->task->metric[r->setup->target_metric].name) &&
           is_number(run, "target", r->setup->target > 0, r->setup->target) &&
           is_number(run, "time_to_target_s", t->reached, t->time_to_target_s);
}

static void take_measures(const cJSON *run, pod_train_result *t)
{
    const cJSON *step = pod_run_json_item(run, "step_spread_s"),
                *share = pod_run_json_item(run, "phase_share");
    const double n = number(step, "n");
    if (!(n > 0 && n < 1e15)) return; /* of no step */
    t->stats.step = (pod_spread){.n = (int64_t)n,
                                 .min = number(step, "min"),
                                 .median = number(step, "median"),
                                 .mean = number(step, "mean"),
                                 .p99 = number(step, "p99"),
                                 .max = number(step, "max")};
    for (int p = 0; p < POD_N_PHASES; p++)
        t->phase_share[p] = number(share, pod_phase_name((pod_phase)p));
    t->other_share = number(share, "other");
    t->exposed_s = number(run, "allreduce_exposed_s");
}

pod_run_past pod_run_find_past(pod_arena *a, const char *path, const pod_run *r,
                               pod_train_result *result)
{
    enum { MAX_BYTES = 1 << 26 };
    char *text;
    pod_run_past past = {0};
    if (result->n_steps > 0 || access(path, F_OK) != 0) return past;
    if (pod_file_read_text(a, path, MAX_BYTES, &text) != POD_OK) return past;
    cJSON *run = cJSON_Parse(text);
    if (is_of(run, result)) {
        past.text = text;
        past.has_same_end = has_same_end(run, r);
        take_measures(run, result);
    }
    cJSON_Delete(run);
    return past;
}
