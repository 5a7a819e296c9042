/* A run's folder, read: its job log, and of run.json what program goodput is made of. */
#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "bench/goodput.h"
#include "runtime/core/file.h"

enum { RUN_VERSION = 1, MAX_JSON_BYTES = 1 << 26, HOST_BYTES = 256 };

const int pod_window_s[POD_N_WINDOWS] = {0, 900, 300, 60};

/* ---- run.json -------------------------------------------------------------------------------- */

/* NaN where it is null, or no positive number. */
static double number(const cJSON *at, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(at, key);
    const double value = cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
    return isfinite(value) && value > 0 ? value : (double)NAN;
}

static const char *text(const cJSON *at, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(at, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static pod_status check_schema(const cJSON *run, const char *path)
{
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(run, "version");
    if (!cJSON_IsObject(run)) return pod_fail(POD_E_FORMAT, "%s: is no JSON object", path);
    if (strcmp(text(run, "schema"), "minipod.run") != 0 || !cJSON_IsNumber(version) ||
        version->valueint != RUN_VERSION)
        return pod_fail(POD_E_FORMAT, "%s: want schema minipod.run, version %d, found '%.40s', %g",
                        path, RUN_VERSION, text(run, "schema"),
                        cJSON_IsNumber(version) ? version->valuedouble : (double)NAN);
    return POD_OK;
}

static pod_status take_terms(const cJSON *run, const pod_job_head *head, pod_arena *a,
                             pod_program_terms *t)
{
    const char *mesh = text(run, "mesh");
    const double cores = number(cJSON_GetObjectItemCaseSensitive(run, "host"), "physical_cores");
    t->machine = pod_arena_text(a, "%s", text(run, "machine"));
    t->physical_cores = cores <= INT32_MAX ? (int)cores : 0;
    t->why = "";
    if (!t->machine) return POD_E_NOMEM;
    if (strcmp(mesh, head->mesh) != 0)
        t->why =
            pod_arena_text(a, "run.json is of mesh %s, the last attempt of %s", mesh, head->mesh);
    if (!t->why) return POD_E_NOMEM;
    if (*t->why) return POD_OK;
    t->model_flops = number(run, "model_flops_per_step");
    t->ideal_step_s = number(run, "ideal_step_s");
    t->step_s = number(run, "step_s");
    t->flop_per_s = t->model_flops / t->ideal_step_s;
    t->goodput = t->ideal_step_s / t->step_s;
    if (isfinite(t->goodput))
        t->why = NULL;
    else if (isnan(t->step_s))
        t->why = "run.json has no step";
    else
        t->why =
            pod_arena_text(a, "the peak of machine %s is not known: minipod calibrate", t->machine);
    return !isfinite(t->goodput) && !t->why ? POD_E_NOMEM : POD_OK;
}

static pod_status read_terms(pod_arena *a, const char *dir, const pod_job_head *head,
                             pod_program_terms *t)
{
    const double unknown = (double)NAN;
    char *content;
    *t = (pod_program_terms){unknown, unknown, unknown, unknown, unknown, "", NULL, 0};
    const char *path = pod_arena_text(a, "%s/run.json", dir);
    if (!path) return POD_E_NOMEM;
    if (access(path, F_OK) != 0) {
        t->why = "there is no run.json: the job did not come to its end";
        return POD_OK;
    }
    POD_TRY(pod_file_read_text(a, path, MAX_JSON_BYTES, &content));
    cJSON *run = cJSON_Parse(content);
    pod_status status = check_schema(run, path);
    if (status == POD_OK) status = take_terms(run, head, a, t);
    cJSON_Delete(run);
    return status;
}

/* ---- the job --------------------------------------------------------------------------------- */

/* Whether a process of the last attempt that told of no end is alive on this host. */
static bool is_running(const pod_job *j)
{
    char here[HOST_BYTES] = "";
    if (gethostname(here, sizeof here - 1) != 0) return false;
    for (int i = j->n_parts - 1; i >= 0; i--) {
        const pod_job_part *p = &j->part[i];
        if (p->head.attempt != j->part[j->n_parts - 1].head.attempt) break;
        if (p->end != POD_JOB_END_NONE || strcmp(p->head.host, here) != 0) continue;
        if (p->head.pid <= 0 || p->head.pid > INT32_MAX) continue;
        if (kill((pid_t)p->head.pid, 0) == 0 || errno == EPERM) return true;
    }
    return false;
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
    return pod_intervals_fill(&r->job, r->now, r->window, POD_N_WINDOWS);
}

static pod_status name_it(pod_arena *a, const char *dir, pod_run_account *r)
{
    size_t length = strlen(dir);
    while (length > 1 && dir[length - 1] == '/') length--;
    r->name = pod_arena_text(a, "%.*s", (int)length, dir);
    if (!r->name) return POD_E_NOMEM;
    const char *slash = strrchr(r->name, '/');
    r->job_name = slash && slash[1] ? slash + 1 : r->name;
    return POD_OK;
}

static pod_status schedule_it(pod_arena *a, const pod_fleet *fleet, pod_run_account *r)
{
    r->scheduled = fleet ? pod_fleet_find(fleet, r->job_name) : NULL;
    if (!fleet)
        r->why_not_scheduled = "a job alone does not know its capacity; --jobs FILE tells";
    else if (!r->scheduled)
        r->why_not_scheduled = pod_arena_text(a, "%s has no job '%s'", fleet->path, r->job_name);
    return r->scheduled || r->why_not_scheduled ? POD_OK : POD_E_NOMEM;
}

static int64_t count_redone(const pod_job *j)
{
    int64_t n = 0, reached = 0;
    for (int i = 0; i < j->n_parts;) {
        const int attempt = j->part[i].head.attempt;
        int64_t from = INT64_MAX, to = 0;
        for (; i < j->n_parts && j->part[i].head.attempt == attempt; i++) {
            const pod_job_part *p = &j->part[i];
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
    for (char *p = line; p && *p != '\0'; p++)
        if (iscntrl((unsigned char)*p)) *p = ' ';
    return line;
}

pod_status pod_run_account_read(pod_arena *a, const char *dir, const pod_fleet *fleet,
                                pod_run_account *out)
{
    pod_run_account r = {0};
    const pod_clock clock = pod_clock_start();
    POD_TRY(name_it(a, dir, &r));
    POD_TRY(pod_job_read(a, r.name, &r.job));
    r.now = is_running(&r.job) ? clock.stamp : 0;
    POD_TRY(pod_account_of(&r.job, r.now, &r.sum));
    const pod_job_head *head = &r.job.part[r.job.n_parts - 1].head;
    r.model = line_of(a, head->model);
    r.mesh = line_of(a, head->mesh);
    if (!r.model || !r.mesh) return POD_E_NOMEM;
    r.n_redone_steps = count_redone(&r.job);
    POD_TRY(read_terms(a, r.name, head, &r.program));
    POD_TRY(schedule_it(a, fleet, &r));
    POD_TRY(pod_stragglers_of(a, &r.job, &r.pace));
    POD_TRY(pod_deviation_of(&r.job, &r.deviation));
    POD_TRY(read_windows(&r));
    POD_TRY(pod_advise(a, &r.job, &r.sum, &r.pace, r.advice, &r.n_advice));
    *out = r;
    return POD_OK;
}
