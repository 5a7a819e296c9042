/* The score of repeated runs: table, CSV, JSON, and in --out the logs as a package of results has
 * them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/json_file.h"
#include "bench/common/table.h"
#include "bench/report/mlperf.h"
#include "runtime/core/file.h"
#include "runtime/core/places.h"

enum { N_COLUMNS = 6, RECORD_VERSION = 1, S_PER_MIN = 60 };

static const pod_column columns[N_COLUMNS] = {{"run", "", true},     {"seed", "", false},
                                              {"target", "", true},  {"time", "s", false},
                                              {"epochs", "", false}, {"accuracy", "", false}};

typedef struct report {
    const pod_mlperf_run *run;
    const pod_score *score;
} report;

/* ---- table ---- */

static void note_setting(pod_table *t, const pod_mlperf_run *run, int n)
{
    pod_table_note(t, "minipod %s mlperf, clock wall", POD_VERSION);
    pod_table_note(t, "%s", POD_MLPERF_CLAIM);
    pod_table_note(t, "%s on %s, mesh %s, %d rank%s, target %.4f, on %s", run->model, run->data,
                   run->mesh, run->ranks, run->ranks == 1 ? "" : "s", run->target, run->host);
    pod_table_note(t, "time: from run_start, before the data are read, to run_stop of mllog.txt");
    if (pod_mlperf_has_made_data(run))
        pod_table_note(t, "data: made from the seed, so each run has its own");
    for (int i = 1; i < n; i++)
        if (strcmp(run[i].host, run->host) != 0 || strcmp(run[i].git, run->git) != 0)
            pod_table_note(t, "%s is of git %s on %s, %s of git %s on %s", run[i].folder,
                           run[i].git, run[i].host, run->folder, run->git, run->host);
}

static void note_score(pod_table *t, const pod_mlperf_run *run, const pod_score *s)
{
    double epochs = 0;
    pod_table_footer(t);
    for (int i = 0; i < s->n; i++) epochs += run[i].has_reached ? run[i].epochs : 0;
    if (s->n_reached > 1)
        pod_table_note(
            t,
            "of the %d that reached it: mean %.3f s, 95 %% interval %.3f to %.3f (t of %d);"
            " least %.3f; mean %.2f epochs",
            s->n_reached, s->mean_s, s->low_s, s->high_s, s->n_reached - 1, s->least_s,
            epochs / s->n_reached);
    if (s->is_valid)
        pod_table_note(t, "score: %.3f s, %.4f min: the mean without the fastest and the slowest%s",
                       s->score_s, s->score_s / S_PER_MIN,
                       s->n_reached < s->n ? ", which missed the target" : "");
    else if (s->n - s->n_reached > POD_SCORE_MAX_MISSES)
        pod_table_note(t, "score: none, %d of %d runs missed the target and %d may",
                       s->n - s->n_reached, s->n, POD_SCORE_MAX_MISSES);
    else
        pod_table_note(t, "score: none, it wants at least %d runs", POD_SCORE_LEAST_RUNS);
}

static pod_status make_table(const report *r, pod_table **out)
{
    POD_TRY(pod_table_create(columns, N_COLUMNS, out));
    note_setting(*out, r->run, r->score->n);
    for (int i = 0; i < r->score->n; i++) {
        const pod_mlperf_run *run = &r->run[i];
        pod_table_add(*out, "%s", run->folder);
        pod_table_add(*out, "%" PRId64, run->seed);
        pod_table_add(*out, "%s", run->has_reached ? "reached" : "missed");
        pod_table_add(*out, "%.3f", run->run_s);
        pod_table_add(*out, "%g", run->epochs);
        pod_table_add(*out, "%.*f", pod_places_apart(run->accuracy, run->target), run->accuracy);
    }
    note_score(*out, r->run, r->score);
    return POD_OK;
}

/* ---- JSON ---- */

static void put_known(pod_json *j, const char *key, bool is_known, double value)
{
    if (is_known)
        pod_json_double(j, key, value);
    else
        pod_json_null(j, key);
}

static void put_run(pod_json *j, const pod_mlperf_run *run)
{
    pod_json_open_object(j, NULL);
    pod_json_text(j, "folder", run->folder);
    pod_json_int(j, "seed", run->seed);
    pod_json_bool(j, "reached", run->has_reached);
    pod_json_double(j, "run_s", run->run_s);
    pod_json_double(j, "epochs", run->epochs);
    pod_json_double(j, "eval_accuracy", run->accuracy);
    pod_json_text(j, "git", run->git);
    pod_json_close(j);
}

static void put_record(const void *what, pod_json *j)
{
    const report *r = what;
    const pod_score *s = r->score;
    pod_json_open_object(j, NULL);
    pod_json_text(j, "schema", "minipod.mlperf");
    pod_json_int(j, "version", RECORD_VERSION);
    pod_json_text(j, "claim", POD_MLPERF_CLAIM);
    pod_json_text(j, "clock", "wall");
    pod_json_text(j, "model", r->run->model);
    pod_json_text(j, "data_name", r->run->data);
    pod_json_text(j, "mesh", r->run->mesh);
    pod_json_int(j, "ranks", r->run->ranks);
    pod_json_double(j, "target", r->run->target);
    pod_json_text(j, "cpu_model", r->run->host);
    put_known(j, "score_s", s->is_valid, s->score_s);
    pod_json_int(j, "n_runs", s->n);
    pod_json_int(j, "n_reached", s->n_reached);
    put_known(j, "mean_s", s->n_reached > 0, s->mean_s);
    put_known(j, "least_s", s->n_reached > 0, s->least_s);
    put_known(j, "mean_low_s", s->n_reached > 1, s->low_s);
    put_known(j, "mean_high_s", s->n_reached > 1, s->high_s);
    pod_json_open_array(j, "runs");
    for (int i = 0; i < s->n; i++) put_run(j, &r->run[i]);
    pod_json_close(j);
    pod_json_close(j);
}

/* ---- files ---- */

static pod_status path_of_log(const char *out, int i, char path[POD_PATH_BYTES])
{
    char name[32];
    snprintf(name, sizeof name, "result_%d.txt", i);
    return pod_path_join(out, name, path);
}

/* mlperf.json, and the logs under the names that a package of results gives them, and no others. */
static pod_status write_out(const report *r, const char *out)
{
    char path[POD_PATH_BYTES];
    int i = 0;
    for (; i < r->score->n; i++) {
        POD_TRY(path_of_log(out, i, path));
        POD_TRY(pod_file_write_atomic(path, r->run[i].log, strlen(r->run[i].log)));
    }
    do POD_TRY(path_of_log(out, i++, path));
    while (unlink(path) == 0);
    POD_TRY(pod_path_join(out, "mlperf.json", path));
    return pod_json_file_write(path, 2, put_record, r);
}

pod_status pod_mlperf_report(const pod_config *c, pod_log *log, const pod_mlperf_run run[],
                             const pod_score *score)
{
    const report r = {.run = run, .score = score};
    const char *out = pod_config_text(c, POD_OPT_OUT), *csv = pod_config_text(c, POD_OPT_CSV);
    const char *json = pod_config_text(c, POD_OPT_JSON);
    pod_table *t = NULL;
    pod_status s = make_table(&r, &t);
    if (s == POD_OK) s = pod_table_print(t, log->out);
    if (s == POD_OK && *out) s = write_out(&r, out);
    if (s == POD_OK && *csv) s = pod_table_write_csv(t, csv);
    if (s == POD_OK && *json) s = pod_json_file_write(json, 2, put_record, &r);
    pod_table_destroy(t);
    return s;
}
