#include "bench/simulate/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROWS = POD_N_PUBLISHED, COMMAND_BYTES = 1024 };

typedef pod_published row;
static const row *const rows = pod_published_rows;

typedef struct outcome {
    double step_s, evaluation_s, seconds; /* of all steps and evaluations */
    double share, error;                  /* of 1 */
    char mesh[POD_MESH_TEXT_BYTES], machine[32];
    int cores;
    int64_t batch;
    char command[COMMAND_BYTES]; /* that simulates its step */
} outcome;

/* ---- a row ----------------------------------------------------------------------------------- */

static pod_status predict_in(const pod_config *c, const row *r, pod_arena *arena, outcome *out)
{
    pod_planned p;
    pod_simulated s;
    pod_status status;
    POD_TRY(pod_planned_of(c, arena, &p));
    POD_TRY_GOTO(status, pod_simulate(&p, arena, NULL, &s), done);
    const char *command = pod_simulate_command(c, arena);
    POD_TRY_GOTO(status, command ? POD_OK : POD_E_NOMEM, done);
    snprintf(out->command, sizeof out->command, "%s", command);
    POD_TRY_GOTO(status,
                 pod_simulate_evaluation(&p, pod_simulate_evaluated(&p), arena, &out->evaluation_s),
                 done);
    pod_mesh_print(&p.setup.compile.mesh, out->mesh, sizeof out->mesh);
    snprintf(out->machine, sizeof out->machine, "%.31s", p.machine.name);
    out->cores = s.cores;
    out->batch = p.setup.batch;
    out->step_s = s.step_s;
    out->share = pod_simulated_allreduce_share(&s);
    out->seconds = r->steps * s.step_s + r->evaluations * out->evaluation_s;
    out->error = out->seconds / r->seconds - 1;
done:
    pod_planned_end(&p);
    return status;
}

static pod_status predict(const row *r, outcome *out)
{
    pod_arena *arena;
    pod_config *c = NULL;
    pod_status status;
    POD_TRY(pod_arena_create(NULL, &arena));
    POD_TRY_GOTO(status, pod_published_config(r, &c), done);
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
        if (rows[i].kind != POD_ROW_PREDICTED) continue;
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
    {"preset", "", true},
};

static const char *const kind_names[] = {
    [POD_ROW_FITTED] = "fitted", [POD_ROW_PREDICTED] = "predicted"};

static void add_row(pod_record *t, const row *r, const outcome *o)
{
    pod_json_open_object(&t->json, NULL);
    pod_cell_text(t, "name", r->name);
    pod_cell_text(t, "machine", o->machine);
    pod_cell_text(t, "mesh", o->mesh);
    pod_cell_int(t, "ranks", o->cores);
    pod_cell_int(t, "global_batch", o->batch);
    pod_cell_real(t, "published_s", 2, r->seconds / r->steps);
    pod_cell_real(t, "predicted_s", 2, o->seconds / r->steps);
    pod_table_add(t->table, "%+.1f", 100 * o->error);
    pod_json_double(&t->json, "error", o->error);
    pod_cell_text(t, "row_is", kind_names[r->kind]);
    pod_cell_real(t, "step_s", 2, o->step_s);
    pod_cell_real(t, "evaluation_s", 3, pod_known(r->evaluations > 0, o->evaluation_s));
    pod_cell_real(t, "allreduce_share", 2, o->share);
    pod_cell_real(t, "allreduce_share_published", 2, pod_known(r->share > 0, r->share / 100));
    pod_cell_text(t, "preset", r->preset);
    pod_json_text(&t->json, "command", o->command);
    pod_json_close(&t->json);
}

typedef struct validation {
    outcome o[N_ROWS];
    int n_counted;
    double median, worst, share; /* errors, and how far shares are apart; of 1 */
    bool held;
} validation;

static void judge(validation *v)
{
    double error[N_ROWS];
    const int n = counted_errors(v->o, error);
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].share > 0) v->share = fmax(v->share, fabs(v->o[i].share - rows[i].share / 100));
    v->n_counted = n;
    v->median = n % 2 ? error[n / 2] : (error[n / 2 - 1] + error[n / 2]) / 2;
    v->worst = error[n - 1];
    v->held = v->median <= 0.05 && v->worst <= 0.10 && v->share <= 0.01;
}

static void add_verdict(pod_table *t, const validation *v)
{
    pod_table_footer(t);
    pod_table_note(t, "predicted rows, EfficientNet-B2's counted once by its worst: %d",
                   v->n_counted);
    pod_table_note(t, "error: median %.1f %% (5 allowed), worst %.1f %% (10 allowed)",
                   100 * v->median, 100 * v->worst);
    pod_table_note(t, "share of all-reduce: at most %.2f percentage points apart (1 allowed): %s",
                   100 * v->share, v->held ? "all hold" : "NOT all hold");
}

/* In picoseconds, so that it can be held against what the command prints. */
static void add_commands(pod_table *t, const validation *v)
{
    pod_table_note(t, "the step of each row, without evaluations, is that of");
    for (int i = 0; i < N_ROWS; i++)
        pod_table_note(t, "  %.9f ms: %s", 1e3 * v->o[i].step_s, v->o[i].command);
}

static void fill(pod_record *r, const validation *v)
{
    pod_json *j = &r->json;
    pod_table_note(r->table, "minipod %s simulate --validate, clock virtual", POD_VERSION);
    pod_table_note(r->table,
                   "published: seconds between evaluations / steps, one evaluation included; of "
                   "EfficientNet-B2 a step");
    pod_json_text(j, "clock", "virtual");
    pod_json_bool(j, "all_hold", v->held);
    pod_json_int(j, "rows_counted", v->n_counted);
    pod_json_double(j, "error_median", v->median);
    pod_json_double(j, "error_worst", v->worst);
    pod_json_double(j, "allreduce_share_apart", v->share);
    pod_json_open_array(j, "rows");
    for (int i = 0; i < N_ROWS; i++) add_row(r, &rows[i], &v->o[i]);
    add_verdict(r->table, v);
    add_commands(r->table, v);
}

static pod_status tell(const validation *v, const pod_call *call)
{
    pod_record r;
    POD_TRY(pod_record_open("minipod.simulate.validate", 2, POD_COLUMNS(columns), &r));
    fill(&r, v);
    return pod_record_finish(&r, call->config, call->log->out);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The rows have settings of their own: others would be of no row, or bend it. */
static pod_status check_options(const pod_config *c)
{
    for (int i = 0; i < POD_N_OPTS; i++) {
        const bool is_ours = i == POD_OPT_VALIDATE || i == POD_OPT_CSV || i == POD_OPT_JSON ||
                             strcmp(pod_options[i].group, "general") == 0;
        if (is_ours || !(pod_options[i].commands & POD_CMD_SIMULATE) ||
            !pod_config_is_set(c, (pod_opt)i))
            continue;
        return pod_fail(POD_E_INVALID,
                        "%s: --validate takes --csv and --json alone: its rows have settings of "
                        "their own",
                        pod_options[i].name);
    }
    return POD_OK;
}

pod_status pod_simulate_validate(pod_call *call, bool *held)
{
    validation v = {0};
    const pod_config *c = call->config;
    POD_TRY(check_options(c));
    for (int i = 0; i < N_ROWS; i++) POD_TRY(predict(&rows[i], &v.o[i]));
    judge(&v);
    POD_TRY(tell(&v, call));
    *held = v.held;
    return POD_OK;
}
