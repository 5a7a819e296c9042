/* What `minipod report` takes of a run: results and settings from run.json, its steps from
 * steps.csv, where the time of all ranks went from goodput.json. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/json_option.h"
#include "bench/common/run_json.h"
#include "bench/report/report.h"
#include "runtime/core/file.h"
#include "runtime/core/places.h"

enum {
    METRIC = -1,
    KEY_BYTES = 96,
    MAX_BYTES = 1 << 30,
    MOST_POINTS = 500
}; /* of a curve of steps */

typedef struct result {
    const char *within,
        *key;         /* an object of run.json, NULL: run.json itself; and what it has there, before
                         the name of the metric if it ends with _ */
    const char *name; /* on the page */
    double scale;     /* 0: a text */
    int places;       /* METRIC: as many as tell it from the target */
} result;

static const result results[] = {
    {NULL, "model", "model", 0, 0},
    {NULL, "data_name", "data", 0, 0},
    {NULL, "mesh", "mesh", 0, 0},
    {NULL, "ranks", "ranks", 1, 0},
    {"host", "hostname", "host", 0, 0},
    {"host", "cpu_model", "CPU", 0, 0},
    {"host", "physical_cores", "physical cores", 1, 0},
    {NULL, "date", "ended", 0, 0},
    {NULL, "precision", "precision", 0, 0},
    {NULL, "global_batch", "global batch", 1, 0},
    {NULL, "optimizer", "optimizer", 0, 0},
    {NULL, "seed", "seed", 1, 0},
    {NULL, "metric", "metric", 0, 0},
    {NULL, "target", "metric, target", 1, METRIC},
    {NULL, "eval_", "metric, last", 1, METRIC},
    {NULL, "best_eval_", "metric, best", 1, METRIC},
    {NULL, "epochs", "epochs", 1, 2},
    {NULL, "steps", "steps", 1, 0},
    {NULL, "time_to_target_s", "time to target, s", 1, 2},
    {NULL, "run_s", "run, s", 1, 2},
    {NULL, "step_s", "step, median, ms", 1e3, 3},
    {"step_spread_s", "p99", "step, p99, ms", 1e3, 3},
    {NULL, "samples_per_s", "samples/s", 1, 1},
    {NULL, "allreduce_exposed_s", "all-reduce exposed, ms a step", 1e3, 3},
    {NULL, "memory_bytes_per_core", "memory, MiB a core", 1.0 / (1 << 20), 1},
    {NULL, "program_goodput", "program goodput, %", 100, 2},
    {NULL, "runtime_goodput", "runtime goodput, %", 100, 2},
    {NULL, "attempts", "attempts", 1, 0},
    {NULL, "weights_hash", "weights, hash", 0, 0},
    {NULL, "git", "minipod, git", 0, 0}};

enum { N_RESULTS = sizeof results / sizeof results[0] };

/* ---- run.json ---- */

/* Records of earlier versions name none. */
static const char *metric_of(const cJSON *run)
{
    const cJSON *metric = pod_run_json_item(run, "metric");
    return cJSON_IsString(metric) ? metric->valuestring : "accuracy";
}

static double metric_number(const cJSON *run, const char *before)
{
    char key[KEY_BYTES];
    snprintf(key, sizeof key, "%s%s", before, metric_of(run));
    return pod_run_json_number(run, key);
}

static int places_of(const result *r, const cJSON *run)
{
    if (r->places != METRIC) return r->places;
    const double target = pod_run_json_number(run, "target");
    const int last = pod_places_apart(metric_number(run, "eval_"), target);
    const int best = pod_places_apart(metric_number(run, "best_eval_"), target);
    return last > best ? last : best;
}

const char *pod_report_result_name(int i) { return i < N_RESULTS ? results[i].name : NULL; }

const char *pod_report_result(pod_arena *a, const pod_report_run *run, int i)
{
    const result *r = &results[i];
    const cJSON *o = r->within ? pod_run_json_item(run->record, r->within) : run->record;
    const cJSON *value = pod_run_json_item(o, r->key);
    const bool is_metric = r->key[strlen(r->key) - 1] == '_';
    double x = is_metric ? metric_number(o, r->key) : pod_run_json_number(o, r->key);
    if (strcmp(r->key, "metric") == 0) return metric_of(o);
    if (r->scale == 0) return cJSON_IsString(value) ? value->valuestring : "-";
    if (strcmp(r->key, "runtime_goodput") == 0 && !isnan(run->runtime_goodput))
        x = run->runtime_goodput;
    return isnan(x) ? "-" : pod_arena_text(a, "%.*f", places_of(r, run->record), x * r->scale);
}

const char *pod_report_setting(pod_arena *a, const pod_report_run *run, const char *name)
{
    const cJSON *value = pod_run_json_item(pod_run_json_item(run->record, "settings"), name);
    const char *text = value ? pod_json_option_text(value, a) : NULL;
    return text ? text : "-";
}

static pod_status take_evaluations(pod_arena *a, const cJSON *evaluations, pod_report_run *out)
{
    const char *name = out->metric;
    const int n_all = cJSON_GetArraySize(evaluations);
    double *time_s = POD_ARENA_NEW(a, double, n_all), *epochs = POD_ARENA_NEW(a, double, n_all);
    double *metric = POD_ARENA_NEW(a, double, n_all);
    int n = 0;
    if (!time_s || !epochs || !metric) return POD_E_NOMEM;
    for (const cJSON *e = evaluations ? evaluations->child : NULL; e; e = e->next) {
        time_s[n] = pod_run_json_number(e, "time_s");
        epochs[n] = pod_run_json_number(e, "epochs");
        metric[n] = pod_run_json_number(e, name);
        n += !isnan(time_s[n]) && !isnan(epochs[n]) && !isnan(metric[n]);
    }
    out->by_time = (pod_report_curve){time_s, metric, n};
    out->by_epoch = (pod_report_curve){epochs, metric, n};
    return POD_OK;
}

/* The numbers of an object, as shares of their sum. */
static pod_status take_parts(pod_arena *a, const cJSON *o, pod_report_part **out, int *n)
{
    double sum = 0;
    *out = POD_ARENA_NEW(a, pod_report_part, cJSON_GetArraySize(o) + 1);
    if (!*out) return POD_E_NOMEM;
    for (const cJSON *p = o ? o->child : NULL; p; p = p->next) {
        if (!p->string || !cJSON_IsNumber(p) || !(p->valuedouble > 0) || isinf(p->valuedouble))
            continue;
        (*out)[*n].name = pod_arena_text(a, "%s", p->string);
        if (!(*out)[*n].name) return POD_E_NOMEM;
        (*out)[(*n)++].share = p->valuedouble;
        sum += p->valuedouble;
    }
    if (isinf(sum)) *n = 0;
    for (int i = 0; i < *n; i++) (*out)[i].share /= sum;
    return POD_OK;
}

static pod_status take_record(pod_arena *a, const cJSON *run, pod_report_run *out)
{
    out->metric = metric_of(run);
    out->target = pod_run_json_number(run, "target");
    POD_TRY(take_evaluations(a, pod_run_json_item(run, "evaluations"), out));
    return take_parts(a, pod_run_json_item(run, "phase_share"), &out->phase, &out->n_phases);
}

static pod_status parse_record(pod_arena *a, const char *text, pod_report_run *out)
{
    cJSON *run;
    const char *path = pod_arena_text(a, "%s/run.json", out->folder);
    if (!path) return POD_E_NOMEM;
    POD_TRY(pod_run_json_parse(path, text, &run));
    out->record = run;
    if (pod_run_json_is_running(run))
        return pod_fail(POD_E_INVALID, "%s: %s", out->folder,
                        pod_run_json_running_text(out->folder));
    return take_record(a, run, out);
}

/* ---- steps.csv ---- */

typedef struct steps {
    int step, total, loss; /* columns */
    double *at, *ms, *value;
    int n;
} steps;

static const char *next_line(const char *p)
{
    p += strcspn(p, "\n");
    return *p ? p + 1 : p;
}

static int column_of(const char *line, const char *name)
{
    const size_t length = strlen(name);
    for (int i = 0;; i++) {
        const size_t n = strcspn(line, ",\r\n");
        if (n == length && strncmp(line, name, n) == 0) return i;
        if (line[n] != ',') return -1;
        line += n + 1;
    }
}

/* NaN where the line has no number there. */
static double cell(const char *line, int column)
{
    for (; column > 0; column--) {
        line += strcspn(line, ",\r\n");
        if (*line++ != ',') return (double)NAN;
    }
    if (strchr(",\r\n", *line)) return (double)NAN; /* strtod would go on to the next line */
    char *end;
    const double x = strtod(line, &end);
    return end > line && isfinite(x) ? x : (double)NAN;
}

static pod_status read_steps(const char *folder, pod_arena *a, const char *text, steps *s)
{
    int n_lines = 0;
    for (const char *p = text; *p; p = next_line(p)) n_lines++;
    while (*text == '#') text = next_line(text);
    s->step = column_of(text, "step");
    s->total = column_of(text, "total_s");
    if (s->total < 0) s->total = column_of(text, "total"); /* of an earlier run */
    s->loss = column_of(text, "loss");
    if (s->step < 0 || s->total < 0 || s->loss < 0)
        return pod_fail(POD_E_FORMAT, "%s/steps.csv: has no columns step, total_s and loss",
                        folder);
    s->at = POD_ARENA_NEW(a, double, n_lines);
    s->ms = POD_ARENA_NEW(a, double, n_lines);
    s->value = POD_ARENA_NEW(a, double, n_lines);
    if (!s->at || !s->ms || !s->value) return POD_E_NOMEM;
    for (const char *p = next_line(text); *p; p = next_line(p)) {
        const double at = cell(p, s->step), ms = 1e3 * cell(p, s->total);
        if (*p == '#' || isnan(at) || !isfinite(ms)) continue;
        s->at[s->n] = at;
        s->ms[s->n] = ms;
        s->value[s->n++] = cell(p, s->loss);
    }
    return POD_OK;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* So many steps become a point that there are no more than MOST_POINTS: their last step, the median
 * of their times, the mean of their losses. In place, since a point stands before its steps. */
static void thin(steps *s, pod_report_run *out)
{
    const int each = (s->n + MOST_POINTS - 1) / MOST_POINTS;
    int n = 0;
    for (int from = 0; from < s->n; from += each, n++) {
        const int upto = from + each < s->n ? from + each : s->n;
        double loss = 0;
        for (int i = from; i < upto; i++) loss += s->value[i];
        qsort(s->ms + from, (size_t)(upto - from), sizeof *s->ms, by_value);
        s->at[n] = s->at[upto - 1];
        s->ms[n] = s->ms[from + (upto - from) / 2];
        s->value[n] = loss / (upto - from);
    }
    out->step = (pod_report_curve){s->at, s->ms, n};
    out->loss = (pod_report_curve){s->at, s->value, n};
}

/* ---- a run ---- */

static pod_status parse_goodput(pod_arena *a, const char *text, pod_report_run *out)
{
    cJSON *o = cJSON_Parse(text);
    pod_status s =
        o ? take_parts(a, pod_run_json_item(o, "categories_ns"), &out->category, &out->n_categories)
          : pod_fail(POD_E_FORMAT, "%s/goodput.json: is no JSON", out->folder);
    out->runtime_goodput = pod_run_json_number(o, "runtime_goodput");
    cJSON_Delete(o);
    return s;
}

pod_status pod_report_parse(pod_arena *a, const char *folder, const char *record,
                            const char *steps_text, const char *goodput, pod_report_run *out)
{
    pod_report_run r = {.folder = folder, .runtime_goodput = (double)NAN};
    steps t = {0};
    pod_status s = parse_record(a, record, &r);
    if (s == POD_OK && steps_text) s = read_steps(folder, a, steps_text, &t);
    if (s == POD_OK && goodput) s = parse_goodput(a, goodput, &r);
    if (s != POD_OK) {
        pod_report_close(&r);
        return s;
    }
    thin(&t, &r);
    *out = r;
    return POD_OK;
}

void pod_report_close(pod_report_run *r) { cJSON_Delete(r->record); }

/* NULL where it is not there. */
static pod_status read_file(pod_arena *a, const char *folder, const char *name, char **out)
{
    char path[POD_PATH_BYTES];
    POD_TRY(pod_path_join(folder, name, path));
    *out = NULL;
    return access(path, F_OK) == 0 ? pod_file_read_text(a, path, MAX_BYTES, out) : POD_OK;
}

pod_status pod_report_read(pod_arena *a, const char *folder, pod_report_run *out)
{
    char *record, *steps_text, *goodput;
    POD_TRY(pod_run_json_read(a, folder, &record));
    POD_TRY(read_file(a, folder, "steps.csv", &steps_text));
    POD_TRY(read_file(a, folder, "goodput.json", &goodput));
    return pod_report_parse(a, folder, record, steps_text, goodput, out);
}
