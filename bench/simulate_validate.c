#include "bench/simulate_validate.h"

#include <math.h>
#include <stdlib.h>

#include "bench/common/table.h"
#include "bench/simulate_settings.h"
#include "bench/simulated.h"

typedef enum row_kind { FITTED, PREDICTED, APART } row_kind;

typedef struct row {
    const char *name;
    int group;
    row_kind kind;
    const char *settings;
    double steps, evaluations, seconds, share; /* share in % */
    const char *source;
} row;

static const row rows[] = {
#define POD_ROW(...) {__VA_ARGS__},
#include "bench/simulate_rows.def"
};
enum { N_ROWS = sizeof rows / sizeof rows[0], EVALUATED = 50000, COMMAND_BYTES = 1024 };

typedef struct outcome {
    double step_s, evaluation_s, seconds; /* of all steps and evaluations */
    double share, error;                  /* % */
    char mesh[POD_MESH_TEXT_BYTES], machine[32];
    int cores;
    int64_t batch;
    char command[COMMAND_BYTES]; /* that simulates its step */
} outcome;

/* ---- a row ----------------------------------------------------------------------------------- */

/* Gradients go in one bucket and nothing hides it, unless the command line says something else. */
static pod_status config_of(const pod_config *given, const row *r, pod_arena *a, pod_config **out)
{
    const char *bucket = pod_config_is_set(given, POD_OPT_BUCKET) ? "" : "bucket = 1G\n",
               *overlap = pod_config_is_set(given, POD_OPT_OVERLAP) ? "" : "overlap = off\n";
    const char *text = pod_arena_text(a, "%s[command line]\n%s%s%s", pod_config_print(given),
                                      bucket, overlap, r->settings);
    if (!text) return POD_E_NOMEM;
    return pod_config_parse(text, out);
}

static pod_status predict_in(const pod_config *c, const row *r, pod_arena *arena, outcome *out)
{
    pod_planned p;
    pod_simulated s;
    pod_status status;
    POD_TRY(pod_planned_of(c, arena, &p));
    POD_TRY_GOTO(status, pod_simulate(&p, arena, &s), done);
    const char *command = pod_simulate_command(c, arena);
    POD_TRY_GOTO(status, command ? POD_OK : POD_E_NOMEM, done);
    snprintf(out->command, sizeof out->command, "%s", command);
    POD_TRY_GOTO(status, pod_simulate_evaluation(&p, EVALUATED, arena, &out->evaluation_s), done);
    pod_mesh_print(&p.setup.mesh, out->mesh, sizeof out->mesh);
    snprintf(out->machine, sizeof out->machine, "%.31s", p.machine.name);
    out->cores = s.cores;
    out->batch = p.setup.batch;
    out->step_s = s.step_s;
    out->share = 100 * pod_simulated_allreduce_share(&s);
    out->seconds = r->steps * s.step_s + r->evaluations * out->evaluation_s;
    out->error = 100 * (out->seconds / r->seconds - 1);
done:
    pod_planned_end(&p);
    return status;
}

static pod_status predict(const pod_config *given, const row *r, outcome *out)
{
    pod_arena *arena;
    pod_config *c = NULL;
    pod_status status;
    POD_TRY(pod_arena_create(NULL, &arena));
    POD_TRY_GOTO(status, config_of(given, r, arena, &c), done);
    status = predict_in(c, r, arena, out);
done:
    pod_config_destroy(c);
    pod_arena_destroy(arena);
    return status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The worst of a group stands for it. */
static int counted_errors(const outcome o[], double error[N_ROWS])
{
    int n = 0, group = 0, at = 0;
    for (int i = 0; i < N_ROWS; i++) {
        if (rows[i].kind != PREDICTED) continue;
        const double size = fabs(o[i].error);
        if (rows[i].group == 0 || rows[i].group != group) {
            group = rows[i].group;
            at = n++;
            error[at] = size;
        } else if (size > error[at]) {
            error[at] = size;
        }
    }
    qsort(error, (size_t)n, sizeof error[0], by_size);
    return n;
}

static const pod_column columns[] = {
    {"model", "", true},
    {"machine", "", true},
    {"mesh", "", true},
    {"cores", "", false},
    {"batch", "", false},
    {"published", "ms", false},
    {"predicted", "ms", false},
    {"error", "%", false},
    {"row is", "", true},
    {"step", "ms", false},
    {"evaluation", "s", false},
    {"all-reduce", "%", false},
    {"all-reduce published", "%", false},
};

static void add_row(pod_table *t, const row *r, const outcome *o)
{
    static const char *const kind[] = {
        [FITTED] = "fitted", [PREDICTED] = "predicted", [APART] = "apart"};
    pod_table_add(t, "%s", r->name);
    pod_table_add(t, "%s", o->machine);
    pod_table_add(t, "%s", o->mesh);
    pod_table_add(t, "%d", o->cores);
    pod_table_add(t, "%lld", (long long)o->batch);
    pod_table_add(t, "%.2f", 1e3 * r->seconds / r->steps);
    pod_table_add(t, "%.2f", 1e3 * o->seconds / r->steps);
    pod_table_add(t, "%+.1f", o->error);
    pod_table_add(t, "%s", kind[r->kind]);
    pod_table_add(t, "%.2f", 1e3 * o->step_s);
    if (r->evaluations > 0)
        pod_table_add(t, "%.3f", o->evaluation_s);
    else
        pod_table_add(t, "-");
    pod_table_add(t, "%.2f", o->share);
    if (r->share > 0)
        pod_table_add(t, "%.2f", r->share);
    else
        pod_table_add(t, "-");
}

static bool judge(pod_table *t, const outcome o[])
{
    double error[N_ROWS], share = 0;
    const int n = counted_errors(o, error);
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].share > 0) share = fmax(share, fabs(o[i].share - rows[i].share));
    const double median = n % 2 ? error[n / 2] : (error[n / 2 - 1] + error[n / 2]) / 2;
    const bool held = median <= 5 && error[n - 1] <= 10 && share <= 1;
    pod_table_footer(t);
    pod_table_note(t, "predicted rows, EfficientNet-B2's counted once by its worst: %d", n);
    pod_table_note(t, "error: median %.1f %% (5 allowed), worst %.1f %% (10 allowed)", median,
                   error[n - 1]);
    pod_table_note(t, "share of all-reduce: at most %.2f percentage points apart (1 allowed): %s",
                   share, held ? "all hold" : "NOT all hold");
    return held;
}

/* In picoseconds, so that it can be held against what the command prints. */
static void add_commands(pod_table *t, const outcome o[])
{
    pod_table_note(t, "the step of each row, without evaluations, is that of");
    for (int i = 0; i < N_ROWS; i++)
        pod_table_note(t, "  %.9f ms: %s", 1e3 * o[i].step_s, o[i].command);
}

pod_status pod_simulate_validate(pod_call *call, bool *held)
{
    outcome o[N_ROWS];
    pod_table *t;
    const char *csv = pod_config_text(call->config, POD_OPT_CSV);
    for (int i = 0; i < N_ROWS; i++) POD_TRY(predict(call->config, &rows[i], &o[i]));
    POD_TRY(pod_table_create(columns, sizeof columns / sizeof columns[0], &t));
    pod_table_note(t, "minipod %s simulate --validate, clock virtual", POD_VERSION);
    pod_table_note(t, "published: seconds between evaluations / steps, one evaluation included; of "
                      "EfficientNet-B2 a step");
    pod_table_note(t, "apart: whole runs, whose number of steps varies; not counted");
    for (int i = 0; i < N_ROWS; i++) add_row(t, &rows[i], &o[i]);
    *held = judge(t, o);
    add_commands(t, o);
    pod_status s = pod_table_print(t, call->log->out);
    if (s == POD_OK && *csv) s = pod_table_write_csv(t, csv);
    pod_table_destroy(t);
    return s;
}
