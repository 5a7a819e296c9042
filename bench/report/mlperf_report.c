/* The score of repeated runs: table, CSV, JSON, and in --out the logs as a package of results has
 * them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/record.h"
#include "bench/report/mlperf.h"
#include "runtime/core/file.h"
#include "runtime/core/places.h"

enum { N_COLUMNS = 6, S_PER_MIN = 60, KEY_BYTES = 64 };

/* Before that of the metric. */
static const pod_column columns[N_COLUMNS - 1] = {{"run", "", true},
                                                  {"seed", "", false},
                                                  {"target", "", true},
                                                  {"time", "s", false},
                                                  {"epochs", "", false}};

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

static void add_run(pod_record *q, const pod_mlperf_run *run)
{
    pod_json *j = &q->json;
    pod_json_open_object(j, NULL);
    pod_cell_text(q, "folder", run->folder);
    pod_cell_int(q, "seed", run->seed);
    pod_cell_text(q, NULL, run->has_reached ? "reached" : "missed");
    pod_json_bool(j, "reached", run->has_reached);
    pod_cell_real(q, "run_s", 3, run->run_s);
    pod_cell_real(q, "epochs", -6, run->epochs);
    char key[KEY_BYTES];
    snprintf(key, sizeof key, "eval_%s", run->metric);
    pod_cell_real(q, key, pod_places_apart(run->value, run->target), run->value);
    pod_json_text(j, "git", run->git);
    pod_json_close(j);
}

static void put_score(pod_json *j, const pod_mlperf_run *run, const pod_score *s)
{
    pod_json_text(j, "claim", POD_MLPERF_CLAIM);
    pod_json_text(j, "clock", "wall");
    pod_json_text(j, "model", run->model);
    pod_json_text(j, "data_name", run->data);
    pod_json_text(j, "mesh", run->mesh);
    pod_json_int(j, "ranks", run->ranks);
    pod_json_double(j, "target", run->target);
    pod_json_text(j, "cpu_model", run->host);
    pod_json_double(j, "score_s", pod_known(s->is_valid, s->score_s));
    pod_json_int(j, "n_runs", s->n);
    pod_json_int(j, "n_reached", s->n_reached);
    pod_json_double(j, "mean_s", pod_known(s->n_reached > 0, s->mean_s));
    pod_json_double(j, "least_s", pod_known(s->n_reached > 0, s->least_s));
    pod_json_double(j, "mean_low_s", pod_known(s->n_reached > 1, s->low_s));
    pod_json_double(j, "mean_high_s", pod_known(s->n_reached > 1, s->high_s));
}

/* ---- files ---- */

static pod_status path_of_log(const char *out, int i, char path[POD_PATH_BYTES])
{
    char name[32];
    snprintf(name, sizeof name, "result_%d.txt", i);
    return pod_path_join(out, name, path);
}

/* mlperf.json, and the logs under the names that a package of results gives them, and no others. */
static pod_status write_out(pod_record *q, const pod_mlperf_run run[], int n, const char *out)
{
    char path[POD_PATH_BYTES];
    int i = 0;
    for (; i < n; i++) {
        POD_TRY(path_of_log(out, i, path));
        POD_TRY(pod_file_write_atomic(path, run[i].log, strlen(run[i].log)));
    }
    do POD_TRY(path_of_log(out, i++, path));
    while (unlink(path) == 0);
    POD_TRY(pod_path_join(out, "mlperf.json", path));
    return pod_record_write_json(q, path);
}

pod_status pod_mlperf_report(const pod_config *c, pod_log *log, const pod_mlperf_run run[],
                             const pod_score *score)
{
    const char *out = pod_config_text(c, POD_OPT_OUT);
    pod_record q;
    pod_column column[N_COLUMNS];
    memcpy(column, columns, sizeof columns);
    column[N_COLUMNS - 1] = (pod_column){run->metric, "", false};
    POD_TRY(pod_record_open("minipod.mlperf", 2, column, N_COLUMNS, &q));
    note_setting(q.table, run, score->n);
    put_score(&q.json, run, score);
    pod_json_open_array(&q.json, "runs");
    for (int i = 0; i < score->n; i++) add_run(&q, &run[i]);
    note_score(q.table, run, score);
    pod_status s = pod_table_print(q.table, log->out);
    if (s == POD_OK && *out) s = write_out(&q, run, score->n, out);
    if (s == POD_OK) s = pod_record_write_csv(&q, pod_config_text(c, POD_OPT_CSV));
    if (s == POD_OK) s = pod_record_write_json(&q, pod_config_text(c, POD_OPT_JSON));
    pod_record_close(&q);
    return s;
}
