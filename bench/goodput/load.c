/* A run's folder, read: its job log, and of run.json what program goodput is made of. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/common/run_json.h"
#include "bench/goodput/goodput.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/file.h"

enum { RUN_VERSION = 1 };

const int pod_window_s[POD_N_WINDOWS] = {0, 900, 300, 60};

/* ---- run.json -------------------------------------------------------------------------------- */

/* NaN where it is null, or no positive number. */
static double number(const cJSON *at, const char *key)
{
    const double value = pod_run_json_number(at, key);
    return value > 0 ? value : (double)NAN;
}

static const char *text(const cJSON *at, const char *key)
{
    const char *value = cJSON_GetStringValue(pod_run_json_item(at, key));
    return value ? value : "";
}

static pod_status check_version(const cJSON *run, const char *path)
{
    if (number(run, "version") == RUN_VERSION) return POD_OK;
    return pod_fail(POD_E_FORMAT, "%s: want version %d, found %g", path, RUN_VERSION,
                    number(run, "version"));
}

/* Where its ranks had to share cores there are no more; else as many as the host has, or more on
 * several hosts. */
static int cores_of(const cJSON *run, int ranks)
{
    const double here = number(pod_run_json_item(run, "host"), "physical_cores");
    const double at_work = number(run, "cores_at_work");
    const double cores = at_work < ranks ? at_work : fmax(at_work, here);
    return cores <= INT32_MAX ? (int)cores : 0;
}

static pod_status take_terms(const cJSON *run, const pod_job_head *head, bool runs, pod_arena *a,
                             pod_program_terms *t)
{
    const char *mesh = text(run, "mesh");
    t->machine = pod_arena_text(a, "%s", text(run, "machine"));
    t->cores = cores_of(run, head->ranks);
    if (!t->machine) return POD_E_NOMEM;
    if (strcmp(mesh, head->mesh) != 0) {
        t->why =
            pod_arena_text(a, "run.json is of mesh %s, the last attempt of %s", mesh, head->mesh);
        return t->why ? POD_OK : POD_E_NOMEM;
    }
    t->model_flops = number(run, "model_flops_per_step");
    t->ideal_step_s = number(run, "ideal_step_s");
    t->step_s = number(run, "step_s");
    t->flop_per_s = t->model_flops / t->ideal_step_s;
    t->why = NULL;
    if (isfinite(t->ideal_step_s) && isfinite(t->step_s)) return POD_OK;
    if (!pod_run_json_is_running(run))
        t->why = isnan(t->step_s)
                     ? "run.json has no step"
                     : pod_arena_text(a, "the peak of machine %s is not known: minipod calibrate",
                                      t->machine);
    else if (runs)
        t->why = "run.json has no results yet: train writes them at the job's end";
    else
        t->why = "run.json has no results: the job did not come to its end";
    return t->why ? POD_OK : POD_E_NOMEM;
}

static pod_status read_terms(pod_arena *a, const char *dir, const pod_job_head *head, bool runs,
                             pod_program_terms *t)
{
    const double unknown = (double)NAN;
    char *content;
    cJSON *run;
    *t = (pod_program_terms){unknown, unknown, unknown, unknown, unknown, unknown, "", NULL, 0};
    const char *path = pod_arena_text(a, "%s/run.json", dir);
    if (!path) return POD_E_NOMEM;
    if (access(path, F_OK) != 0) {
        t->why = runs ? "there is no run.json yet: train writes it before the first step"
                      : "there is no run.json: the job did not come to its first step";
        return POD_OK;
    }
    POD_TRY(pod_run_json_read(a, dir, &content));
    POD_TRY(pod_run_json_parse(path, content, &run));
    pod_status status = check_version(run, path);
    if (status == POD_OK) status = take_terms(run, head, runs, a, t);
    cJSON_Delete(run);
    return status;
}

typedef struct ideal_work {
    const pod_program_terms *terms;
    int ranks; /* that its ideal step is of */
    double sum_s, last_s;
    bool has_terms, is_known; /* the terms are; and so is all that was added */
    pod_mesh_part *on;
    int n_meshes, attempt, at; /* the last attempt that was told of, and its mesh */
} ideal_work;

/* Ranks beyond the cores add none of their speed. */
static double cores_at_work(const pod_program_terms *t, int ranks)
{
    return t->cores > 0 && t->cores < ranks ? t->cores : ranks;
}

/* Of a step of an attempt: as its log has it, or, of a log that does not, for as many FLOPs as the
 * last attempt's with the cores that its ranks had. */
static double ideal_step_of(const ideal_work *w, const pod_account_piece *p)
{
    if (p->ideal > 0) return 1e-12 * (double)p->ideal;
    return w->terms->ideal_step_s * cores_at_work(w->terms, w->ranks) /
           cores_at_work(w->terms, p->ranks);
}

/* Pieces come attempt by attempt. */
static pod_mesh_part *mesh_of(ideal_work *w, const pod_account_piece *p)
{
    if (w->n_meshes > 0 && p->attempt == w->attempt) return &w->on[w->at];
    w->attempt = p->attempt;
    w->at = 0;
    while (w->at < w->n_meshes && strcmp(w->on[w->at].mesh, p->mesh) != 0) w->at++;
    if (w->at == w->n_meshes) w->on[w->n_meshes++] = (pod_mesh_part){.mesh = p->mesh};
    w->on[w->at].sum.n_attempts++;
    w->on[w->at].sum.n_disruptions += p->was_disrupted;
    return &w->on[w->at];
}

static void add_piece(void *ctx, const pod_account_piece *p)
{
    ideal_work *w = ctx;
    pod_mesh_part *on = mesh_of(w, p);
    const pod_stamp took = p->end - p->begin;
    on->sum.wall += took;
    on->sum.by_span[p->span] += took;
    if (p->is_unsaved) on->sum.unsaved += took;
    if (p->span != POD_JOB_STEP || p->is_unsaved) return;
    w->is_known = w->is_known && (p->ideal > 0 || w->has_terms);
    w->last_s = ideal_step_of(w, p);
    w->sum_s += w->last_s;
    on->ideal_s += w->last_s;
}

/* Attempts that left no record, or whose ranks had no time, count with the last one's mesh. */
static void add_unseen(const pod_run_account *r, ideal_work *w)
{
    int n_attempts = r->sum.n_attempts, n_disruptions = r->sum.n_disruptions, last = 0;
    for (int i = 0; i < w->n_meshes; i++) {
        pod_account *const sum = &w->on[i].sum;
        n_attempts -= sum->n_attempts;
        n_disruptions -= sum->n_disruptions;
        sum->runs = r->sum.runs;
        sum->n_steps = r->sum.n_steps;
        sum->n_unsaved_steps = r->sum.n_unsaved_steps;
        if (strcmp(w->on[i].mesh, r->job.part[r->job.n_parts - 1].head.mesh) == 0) last = i;
    }
    if (w->n_meshes == 0) return;
    w->on[last].sum.n_attempts += n_attempts;
    w->on[last].sum.n_disruptions += n_disruptions;
}

/* Of the steps that are kept, and as each rank's log has them: what they took is of the same. */
static pod_status take_program(const pod_run_account *r, pod_mesh_part *on, int *n_meshes,
                               pod_program_terms *t)
{
    const double took_s = pod_stamp_seconds(pod_account_productive(&r->sum));
    ideal_work w = {.on = on,
                    .terms = t,
                    .ranks = r->job.part[r->job.n_parts - 1].head.ranks,
                    .has_terms = !t->why,
                    .is_known = true};
    POD_TRY(pod_account_walk(&r->job, r->now, add_piece, &w));
    add_unseen(r, &w);
    *n_meshes = w.n_meshes;
    if (!w.is_known || (t->why && !(w.sum_s > 0))) return POD_OK;
    if (t->why) t->ideal_step_s = w.last_s;
    t->why = NULL;
    t->ideal_s = w.sum_s;
    if (took_s > 0) t->goodput = t->ideal_s / took_s;
    return POD_OK;
}

/* ---- the folder ------------------------------------------------------------------------------ */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* "a, b, c, ...": what the folder has, the first few by name; "nothing". NULL: no memory. *run is a
 * folder in it that looks like a run, NULL for none. */
static const char *list_folder(pod_arena *a, const char *dir, const char **run)
{
    enum { MOST_NAMES = 4 };
    struct dirent **name;
    const char *all = "nothing";
    const int n = scandir(dir, &name, NULL, alphasort);
    int listed = 0;
    *run = NULL;
    for (int i = 0; i < n; i++) {
        const char *word = name[i]->d_name;
        if (all && strcmp(word, ".") != 0 && strcmp(word, "..") != 0) {
            const char *job = pod_arena_text(a, "%s/%s/job", dir, word);
            if (!*run && job && is_folder(job)) *run = pod_arena_text(a, "%s/%s", dir, word);
            if (listed++ < MOST_NAMES)
                all = listed == 1 ? pod_arena_text(a, "%.60s", word)
                                  : pod_arena_text(a, "%s, %.60s", all, word);
        }
        free(name[i]);
    }
    if (n >= 0) free(name);
    return all && listed > MOST_NAMES ? pod_arena_text(a, "%s, ...", all) : all;
}

/* That it is a run's at all. */
static pod_status check_folder(pod_arena *a, const char *dir)
{
    const char *run, *job = pod_arena_text(a, "%s/job", dir);
    if (!job) return POD_E_NOMEM;
    if (is_folder(job)) return POD_OK;
    if (access(dir, F_OK) != 0) return pod_fail(POD_E_IO, "%s: %s", dir, strerror(errno));
    if (!is_folder(dir)) return pod_fail(POD_E_FORMAT, "%s: is a file, want a run's folder", dir);
    const char *found = list_folder(a, dir, &run);
    if (!found) return POD_E_NOMEM;
    return pod_fail(
        POD_E_FORMAT,
        "%s: is no run's folder: want job/ with the logs that train --out leaves, found "
        "%s%s%s%s",
        dir, found, run ? "; did you mean " : "", run ? run : "", run ? "?" : "");
}

/* ---- the job --------------------------------------------------------------------------------- */

/* Rank 0 has the run's training log open as long as it trains. */
static bool is_running(pod_arena *a, const char *dir)
{
    const char *log = pod_arena_text(a, "%s/mllog.txt", dir);
    return log && pod_file_is_taken(log);
}

/* Once a rank of the last attempt has begun its log the checkpoints are this job's: before it does
 * so, train puts those of an older one aside. The first that can be read is the one that --resume
 * auto would take; 0: there is none. */
static int64_t find_kept(pod_arena *a, const char *dir)
{
    pod_checkpoint_list list;
    pod_checkpoint_info info;
    if (pod_checkpoint_find(dir, a, NULL, &list) != POD_OK) return 0;
    for (int i = 0; i < list.n; i++)
        if (pod_checkpoint_read_info(list.folder[i], a, &info) == POD_OK) return info.step;
    return 0;
}

static pod_status read_windows(pod_run_account *r)
{
    const pod_stamp second = 1000000000;
    for (int i = 0; i < POD_N_WINDOWS; i++) {
        const pod_stamp begin =
            pod_window_s[i] ? r->sum.end - pod_window_s[i] * second : r->sum.begin;
        r->window[i].end = r->sum.end;
        r->window[i].begin = begin < r->sum.begin ? r->sum.end : begin;
    }
    return pod_account_fill(&r->job, r->now, r->window, POD_N_WINDOWS);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The folder has its own name, whatever leads to it: `.`, a link. */
static pod_status name_it(pod_arena *a, const char *dir, pod_run_account *r)
{
    size_t length = strlen(dir);
    while (length > 1 && dir[length - 1] == '/') length--;
    r->name = pod_arena_text(a, "%.*s", (int)length, dir);
    if (!r->name) return POD_E_NOMEM;
    char *whole = realpath(dir, NULL);
    r->job_name = pod_arena_text(a, "%s", last_part(whole ? whole : r->name));
    free(whole);
    return r->job_name ? POD_OK : POD_E_NOMEM;
}

static int64_t count_redone(const pod_job *j)
{
    int64_t n = 0, reached = 0;
    for (int first = 0, end; first < j->n_parts; first = end) {
        int64_t from = INT64_MAX, to = 0;
        end = pod_job_attempt_end(j, first);
        for (const pod_job_part *p = j->part + first; p < j->part + end; p++) {
            if (p->n_steps == 0) continue;
            if (p->first_step < from) from = p->first_step;
            if (p->step[p->n_steps - 1].step > to) to = p->step[p->n_steps - 1].step;
        }
        const int64_t again = to < reached ? to : reached;
        if (again > from) n += again - from;
        if (to > reached) reached = to;
    }
    return n;
}

/* A text of a log, which may hold anything, as part of a line. */
static const char *line_of(pod_arena *a, const char *text)
{
    char *line = pod_arena_text(a, "%s", text);
    if (line) pod_line_flatten(line);
    return line;
}

static pod_status take_work(pod_arena *a, pod_run_account *r)
{
    pod_mesh_part *on = POD_ARENA_NEW(a, pod_mesh_part, r->job.n_parts);
    if (!on) return POD_E_NOMEM;
    POD_TRY(take_program(r, on, &r->n_meshes, &r->program));
    for (int i = 0; i < r->n_meshes; i++) {
        on[i].mesh = line_of(a, on[i].mesh);
        if (!on[i].mesh) return POD_E_NOMEM;
    }
    r->on = on;
    return POD_OK;
}

pod_status pod_run_account_read(pod_arena *a, const char *dir, pod_run_account *out)
{
    pod_run_account r = {0};
    const pod_clock clock = pod_clock_start();
    POD_TRY(name_it(a, dir, &r));
    POD_TRY(check_folder(a, r.name));
    POD_TRY(pod_job_read(a, r.name, &r.job));
    r.job.kept = find_kept(a, r.name);
    r.now = is_running(a, r.name) ? clock.stamp : 0;
    POD_TRY(pod_account_of(&r.job, r.now, &r.sum));
    const pod_job_head *head = &r.job.part[r.job.n_parts - 1].head;
    r.model = line_of(a, head->model);
    r.mesh = line_of(a, head->mesh);
    if (!r.model || !r.mesh) return POD_E_NOMEM;
    r.n_redone_steps = count_redone(&r.job);
    POD_TRY(read_terms(a, r.name, head, r.sum.runs, &r.program));
    POD_TRY(take_work(a, &r));
    POD_TRY(pod_stragglers_of(a, &r.job, &r.pace));
    POD_TRY(pod_deviation_of(&r.job, &r.deviation));
    r.saves = pod_saves_of(&r.job);
    POD_TRY(read_windows(&r));
    POD_TRY(pod_advise(a, &r.job, &r.sum, &r.pace, r.advice, &r.n_advice));
    *out = r;
    return POD_OK;
}

/* ---- what a scheduler knows of it ---- */

/* What ranks had for certain: not what lies between two attempts, when they may have been taken
 * away. */
static double used_s(const pod_job *j)
{
    double sum_s = 0;
    for (const pod_job_part *p = j->part; p < j->part + j->n_parts; p++)
        sum_s += pod_stamp_seconds(p->last - p->head.begin);
    return sum_s;
}

pod_status pod_run_account_schedule(pod_arena *a, const pod_fleet *fleet, pod_run_account *r)
{
    r->scheduled = fleet ? pod_fleet_find(fleet, r->job_name) : NULL;
    if (!fleet)
        r->why_not_scheduled = "a job alone does not know its capacity; --jobs FILE tells";
    else if (!r->scheduled)
        r->why_not_scheduled = pod_arena_text(a, "%s has no job '%s'", fleet->path, r->job_name);
    if (!r->scheduled) return r->why_not_scheduled ? POD_OK : POD_E_NOMEM;
    const pod_fleet_run run = {.name = r->name,
                               .ranks = r->sum.n_ranks,
                               .begin_s = pod_stamp_seconds(r->sum.begin),
                               .end_s = pod_stamp_seconds(r->sum.end),
                               .used_s = used_s(&r->job),
                               .runs = r->sum.runs};
    return pod_fleet_check(fleet, r->scheduled, &run);
}
