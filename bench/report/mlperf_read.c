/* What `minipod mlperf` knows of a run: its time from mllog.txt, which others score as well, and
 * what it was of from run.json. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/common/json_option.h"
#include "bench/common/run_json.h"
#include "bench/report/mlperf.h"
#include "runtime/core/file.h"
#include "runtime/data/dataset.h"
#include "runtime/optim/optim.h"

enum { MAX_BYTES = 1 << 26 };

static const char token[] = ":::MLLOG ";

/* ---- run.json ---- */

static const pod_option *option_of(const char *name) /* NULL: of another version */
{
    for (int i = 0; i < POD_N_OPTS; i++)
        if (strcmp(pod_options[i].name, name) == 0) return &pod_options[i];
    return NULL;
}

static bool must_agree(const char *name)
{
    const pod_option *o = option_of(name);
    return strcmp(name, "seed") != 0 && !(o && o->records);
}

static pod_status take_text(const char *path, const cJSON *o, const char *name, pod_arena *a,
                            const char **out)
{
    const cJSON *value = pod_run_json_item(o, name);
    if (!cJSON_IsString(value)) return pod_fail(POD_E_FORMAT, "%s: has no text '%s'", path, name);
    *out = pod_arena_text(a, "%s", value->valuestring);
    return *out ? POD_OK : POD_E_NOMEM;
}

static pod_status take_number(const char *path, const cJSON *o, const char *name, double *out)
{
    const cJSON *value = pod_run_json_item(o, name);
    if (!cJSON_IsNumber(value) || !isfinite(value->valuedouble))
        return pod_fail(POD_E_FORMAT, "%s: has no number '%s'", path, name);
    *out = value->valuedouble;
    return POD_OK;
}

static pod_status take_options(const char *path, const cJSON *o, pod_arena *a, pod_mlperf_run *r)
{
    const cJSON *settings = pod_run_json_item(o, "settings");
    if (!cJSON_IsObject(settings)) return pod_fail(POD_E_FORMAT, "%s: has no 'settings'", path);
    r->option = POD_ARENA_NEW(a, pod_mlperf_option, cJSON_GetArraySize(settings) + 1);
    if (!r->option) return POD_E_NOMEM;
    for (const cJSON *s = settings->child; s; s = s->next) {
        if (!must_agree(s->string)) continue;
        pod_mlperf_option *option = &r->option[r->n_options++];
        option->name = pod_arena_text(a, "%s", s->string);
        if (!option->name) return POD_E_NOMEM;
        option->value = pod_json_option_text(s, a);
        if (!option->value)
            return pod_fail(POD_E_FORMAT, "%s: setting '%s' is no value", path, s->string);
    }
    return POD_OK;
}

/* The metric of the target and its value; NaN in records that do not have it under its name. */
static pod_status take_metric(const cJSON *o, pod_arena *a, pod_mlperf_run *r)
{
    const cJSON *name = pod_run_json_item(o, "metric");
    r->metric = pod_arena_text(a, "%s", cJSON_IsString(name) ? name->valuestring : "accuracy");
    const char *key = pod_arena_text(a, "eval_%s", r->metric ? r->metric : "");
    if (!r->metric || !key) return POD_E_NOMEM;
    r->value = pod_run_json_number(o, key);
    return POD_OK;
}

static pod_status take_record(const char *path, const cJSON *o, pod_arena *a, pod_mlperf_run *r)
{
    double seed, ranks;
    r->was_stopped = !cJSON_IsFalse(pod_run_json_item(o, "stopped")) || pod_run_json_is_running(o);
    if (!cJSON_IsNumber(pod_run_json_item(o, "target")))
        return pod_fail(POD_E_INVALID, "%s: a run without --target has no time to it", path);
    POD_TRY(take_number(path, o, "target", &r->target));
    POD_TRY(take_number(path, o, "seed", &seed));
    POD_TRY(take_number(path, o, "ranks", &ranks));
    if (!(fabs(seed) < 1e16 && ranks >= 1 && ranks <= 1e9))
        return pod_fail(POD_E_FORMAT, "%s: seed %g of %g ranks", path, seed, ranks);
    r->seed = (int64_t)seed;
    r->ranks = (int)ranks;
    POD_TRY(take_metric(o, a, r));
    POD_TRY(take_text(path, o, "model", a, &r->model));
    POD_TRY(take_text(path, o, "data_name", a, &r->data));
    POD_TRY(take_text(path, o, "mesh", a, &r->mesh));
    POD_TRY(take_text(path, o, "git", a, &r->git));
    POD_TRY(take_text(path, pod_run_json_item(o, "host"), "cpu_model", a, &r->host));
    return take_options(path, o, a, r);
}

static pod_status parse_record(pod_arena *a, const char *path, const char *text, pod_mlperf_run *r)
{
    cJSON *o;
    POD_TRY(pod_run_json_parse(path, text, &o));
    const pod_status s = take_record(path, o, a, r);
    cJSON_Delete(o);
    return s;
}

/* ---- mllog.txt ---- */

typedef struct events {
    bool has_start, has_stop, has_epoch, has_eval, has_reached;
    double start_ms, stop_ms; /* the first of each, as the reference summarizer takes them */
    double epochs, accuracy;
} events;

static pod_status take_event(const char *path, int line, const cJSON *o, events *e)
{
    const cJSON *key = pod_run_json_item(o, "key"), *time_ms = pod_run_json_item(o, "time_ms"),
                *value = pod_run_json_item(o, "value");
    const cJSON *meta = pod_run_json_item(o, "metadata");
    const cJSON *epoch = pod_run_json_item(meta, "epoch_num"),
                *status = pod_run_json_item(meta, "status");
    if (!cJSON_IsString(key) || !cJSON_IsNumber(time_ms) || !isfinite(time_ms->valuedouble))
        return pod_fail(POD_E_FORMAT, "%s:%d: a record has a key and a time_ms", path, line);
    if (strcmp(key->valuestring, "run_start") == 0 && !e->has_start) {
        e->has_start = true;
        e->start_ms = time_ms->valuedouble;
    } else if (strcmp(key->valuestring, "epoch_start") == 0 && !e->has_epoch) {
        const cJSON *step = pod_run_json_item(meta, "minipod_step");
        e->has_epoch = true;
        if ((cJSON_IsNumber(epoch) && epoch->valuedouble > 1) ||
            (cJSON_IsNumber(step) && step->valuedouble > 0))
            return pod_fail(POD_E_INVALID,
                            "%s:%d: goes on from another run, whose time is not in it", path, line);
    } else if (strcmp(key->valuestring, "run_stop") == 0 && !e->has_stop) {
        e->has_stop = true;
        e->stop_ms = time_ms->valuedouble;
        e->has_reached = cJSON_IsString(status) && strcmp(status->valuestring, "success") == 0;
    } else if (strcmp(key->valuestring, "eval_accuracy") == 0 && !e->has_stop) {
        if (!cJSON_IsNumber(value) || !isfinite(value->valuedouble) || !cJSON_IsNumber(epoch) ||
            !isfinite(epoch->valuedouble))
            return pod_fail(POD_E_FORMAT, "%s:%d: eval_accuracy without value or epoch_num", path,
                            line);
        e->has_eval = true;
        e->accuracy = value->valuedouble;
        e->epochs = epoch->valuedouble;
    }
    return POD_OK;
}

static pod_status read_record(const char *path, const char *from, int line, events *e)
{
    cJSON *o = cJSON_ParseWithLength(from, strcspn(from, "\n"));
    const pod_status s =
        o ? take_event(path, line, o, e) : pod_fail(POD_E_FORMAT, "%s:%d: is no JSON", path, line);
    cJSON_Delete(o);
    return s;
}

static pod_status read_events(const char *path, const char *text, events *e)
{
    int line = 1;
    for (const char *found; (found = strstr(text, token));) {
        for (; text < found; text++) line += *text == '\n';
        text += strlen(token);
        POD_TRY(read_record(path, text, line, e));
    }
    if (!e->has_start || !e->has_stop || !e->has_eval)
        return pod_fail(POD_E_FORMAT, "%s: has no %s", path,
                        !e->has_start  ? "run_start"
                        : !e->has_stop ? "run_stop"
                                       : "eval_accuracy");
    if (e->stop_ms < e->start_ms)
        return pod_fail(POD_E_FORMAT, "%s: run_stop is %.0f ms before run_start", path,
                        e->start_ms - e->stop_ms);
    return POD_OK;
}

static pod_status parse_log(const char *path, const char *text, pod_mlperf_run *r)
{
    enum { MS_PER_S = 1000 };
    events e = {0};
    POD_TRY(read_events(path, text, &e));
    r->log = text;
    r->run_s = (e.stop_ms - e.start_ms) / MS_PER_S;
    r->has_reached = e.has_reached;
    r->epochs = e.epochs;
    if (isnan(r->value)) r->value = e.accuracy;
    return POD_OK;
}

/* ---- a run ---- */

pod_status pod_mlperf_parse(pod_arena *a, const char *folder, const char *record, const char *log,
                            pod_mlperf_run *out)
{
    pod_mlperf_run r = {.folder = folder};
    const char *record_path = pod_arena_text(a, "%s/run.json", folder);
    const char *log_path = pod_arena_text(a, "%s/mllog.txt", folder);
    if (!record_path || !log_path) return POD_E_NOMEM;
    POD_TRY(parse_record(a, record_path, record, &r));
    if (!r.was_stopped) POD_TRY(parse_log(log_path, log, &r));
    *out = r;
    return POD_OK;
}

pod_status pod_mlperf_read(pod_arena *a, const char *folder, pod_mlperf_run *out)
{
    char path[POD_PATH_BYTES];
    char *record, *log;
    const char *name = pod_arena_text(a, "%s", folder);
    if (!name) return POD_E_NOMEM;
    POD_TRY(pod_run_json_read(a, folder, &record));
    POD_TRY(pod_path_join(folder, "mllog.txt", path));
    POD_TRY(pod_file_read_text(a, path, MAX_BYTES, &log));
    return pod_mlperf_parse(a, name, record, log, out);
}

/* A run of a version without the option did what is the default now; NULL: nobody knows it. */
static const char *value_of(const pod_mlperf_run *r, const char *name)
{
    for (int i = 0; i < r->n_options; i++)
        if (strcmp(r->option[i].name, name) == 0) return r->option[i].value;
    const pod_option *o = option_of(name);
    return o && o->commands & POD_CMD_TRAIN && must_agree(name) ? o->fallback : NULL;
}

static pod_status check_options(const pod_mlperf_run *first, const pod_mlperf_run *r)
{
    for (int i = 0; i < first->n_options; i++) {
        const pod_mlperf_option *o = &first->option[i];
        const char *value = value_of(r, o->name);
        if (!value || strcmp(value, o->value) != 0)
            return pod_fail(POD_E_INVALID,
                            "%s: --%s is '%s', and '%s' in %s: runs of a score differ in their"
                            " seeds alone",
                            r->folder, o->name, value ? value : "", o->value, first->folder);
    }
    return POD_OK;
}

pod_status pod_mlperf_check_alike(const pod_mlperf_run run[], int n)
{
    for (int i = 0; i < n; i++) {
        if (run[i].was_stopped)
            return pod_fail(POD_E_INVALID, "%s: the run was stopped before its end", run[i].folder);
        if (run[i].ranks != run[0].ranks)
            return pod_fail(POD_E_INVALID, "%s: ranks are %d, and %d in %s", run[i].folder,
                            run[i].ranks, run[0].ranks, run[0].folder);
        POD_TRY(check_options(&run[0], &run[i]));
        POD_TRY(check_options(&run[i], &run[0])); /* what the first one does not know */
        for (int k = 0; k < i; k++)
            if (run[k].seed == run[i].seed)
                return pod_fail(POD_E_INVALID, "%s: has the seed of %s, %" PRId64, run[i].folder,
                                run[k].folder, run[i].seed);
    }
    return POD_OK;
}

pod_status pod_mlperf_check_settings(const pod_mlperf_run *run, const pod_config *train,
                                     int64_t seed)
{
    if (run->seed != seed)
        return pod_fail(POD_E_INVALID, "%s: has a run of seed %" PRId64 ", this one's is %" PRId64,
                        run->folder, run->seed, seed);
    for (int i = 0; i < POD_N_OPTS; i++) {
        const char *value = value_of(run, pod_options[i].name);
        char room[POD_OPTION_NORMAL_BYTES];
        const char *asked =
            pod_option_normal(&pod_options[i], pod_optim_value(train, (pod_opt)i), room);
        if (value && strcmp(value, asked) != 0)
            return pod_fail(POD_E_INVALID,
                            "%s: has a run of --%s '%s', found '%s'; take another --out",
                            run->folder, pod_options[i].name, value, asked);
    }
    return POD_OK;
}

bool pod_mlperf_has_made_data(const pod_mlperf_run *run)
{
    const char *data = value_of(run, "data");
    return data && (!*data || pod_dataset_is_synthetic(data)); /* "": the task's own */
}
