/* The tables of `minipod fleet`, and its record. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/common/record.h"
#include "bench/fleet/fleet.h"
#include "runtime/core/file.h"

#define N_COLUMNS(list) ((int)(sizeof(list) / sizeof((list)[0])))

typedef struct report {
    const pod_fleet_study *study;
    pod_fleet_segment segment[POD_FLEET_SEGMENTS + 1]; /* the first is of all jobs */
    int n_segments;
    pod_ledger ledger;
} report;

/* ---- factors --------------------------------------------------------------------------------- */

/* The terminal has what happened to jobs in a table of its own. */
enum { FIRST_CSV_ONLY = 9, N_CSV_ONLY = 6 };
static const pod_column factor_columns[] = {
    {"segment", "", true},           {"jobs", "", false},        {"asked", "chip-h", false},
    {"allocated", "chip-h", false},  {"scheduling", "%", false}, {"once started", "%", false},
    {"runtime", "%", false},         {"program", "%", false},    {"goodput", "%", false},
    {"productive", "chip-h", false}, {"started", "", false},     {"ended", "", false},
    {"failures", "", false},         {"evictions", "", false},   {"moves", "", false},
};

/* The fleet's row has capacity below scheduling, the others what their jobs asked for. */
static void add_factors(pod_record *r, const char *name, const pod_fleet_segment *g,
                        double capacity_h)
{
    const double scheduling = g->together_h / capacity_h, runtime = g->productive_h / g->together_h,
                 program = g->ideal_h / g->productive_h;
    pod_json_open_object(&r->json, NULL);
    pod_cell_text(r, "segment", name);
    pod_cell_int(r, "jobs", g->n_jobs);
    pod_cell_real(r, "asked_chip_h", 0, g->asked_h);
    pod_cell_real(r, "allocated_chip_h", 0, g->together_h);
    pod_cell_real(r, "scheduling_goodput", 2, scheduling);
    pod_cell_real(r, "scheduling_goodput_once_started", 2, pod_fleet_scheduling_once_started(g));
    pod_cell_real(r, "runtime_goodput", 2, runtime);
    pod_cell_real(r, "program_goodput", 2, program);
    pod_cell_real(r, "goodput", 2, scheduling * runtime * program);
    pod_cell_real(r, "productive_chip_h", 0, g->productive_h);
    pod_cell_int(r, "started", g->n_started);
    pod_cell_int(r, "ended", g->n_ended);
    pod_cell_int(r, "failures", g->n_failures);
    pod_cell_int(r, "evictions", g->n_evictions);
    pod_cell_int(r, "moves", g->n_moves);
    pod_json_close(&r->json);
}

static void note_pods(pod_table *t, const pod_fleet_study *s)
{
    for (int k = 0; k < s->n_kinds; k++)
        pod_table_note(t, "%d %s pod%s, %" PRId64 " chips each; %d jobs", s->kind[k].n_pods,
                       s->kind[k].topology.name, s->kind[k].n_pods > 1 ? "s" : "",
                       pod_topology_chips(&s->kind[k].topology), s->kind[k].n_jobs);
}

static void note_plan(pod_table *t, const pod_fleet_study *s)
{
    const pod_config *c = s->config;
    pod_table_note(t, "minipod %s fleet, clock virtual, %g days, seed %" PRIu64, POD_VERSION,
                   pod_config_double(c, POD_OPT_DAYS), s->seed);
    note_pods(t, s);
    pod_fleet_steps_note(s->steps, t);
    pod_table_note(t, "order %s, backfill %s, place %s, preemption %s, defragmentation %s",
                   pod_config_text(c, POD_OPT_ORDER), pod_config_text(c, POD_OPT_BACKFILL),
                   pod_config_text(c, POD_OPT_PLACE), s->policy.preempts ? "on" : "off",
                   s->policy.moves ? "on" : "off");
    if (s->warm_up > 0)
        pod_table_note(t, "figures leave out the first %g days, which warm the fleet up",
                       pod_config_double(c, POD_OPT_WARM_UP));
    if (s->n_late > 0)
        pod_table_note(t, "%" PRId64 " jobs are submitted later than that and not simulated",
                       s->n_late);
    if (s->jobs.n_skipped > 0)
        pod_table_note(t, "%d jobs of %s without chips or a run time are skipped",
                       s->jobs.n_skipped, s->jobs_path);
    if (!s->starts_and_saves)
        pod_table_note(t, "jobs of a trace are nothing but their run time; --job has them start "
                          "and save");
    pod_table_note(
        t, "scheduling: allocated / capacity of the fleet and of a week, / asked of others");
    pod_table_note(t, "once started: without the wait for the first start");
}

/* What each segment loses by each factor, in chip-hours; the most is where to look first. */
static void note_costliest(pod_record *r, const report *x)
{
    static const char *const factors[] = {"scheduling", "runtime", "program"};
    double most_h = 0;
    int segment = 0, factor = 0;
    for (int i = 1; i < x->n_segments; i++) {
        const pod_fleet_segment *g = &x->segment[i];
        const double lost_h[] = {g->asked_h - g->together_h, g->together_h - g->productive_h,
                                 g->productive_h - g->ideal_h};
        for (int f = 0; f < 3; f++) {
            if (!(lost_h[f] > most_h)) continue;
            most_h = lost_h[f];
            segment = i;
            factor = f;
        }
    }
    if (most_h <= 0) return;
    pod_table_footer(r->table);
    pod_table_note(
        r->table, "most is lost by the %s goodput of %s: %.0f chip-h of %.0f that all lost",
        factors[factor], x->segment[segment].name, most_h,
        x->segment[0].asked_h -
            (isfinite(x->segment[0].ideal_h) ? x->segment[0].ideal_h : x->segment[0].productive_h));
    pod_json_open_object(&r->json, "costliest");
    pod_json_text(&r->json, "segment", x->segment[segment].name);
    pod_json_text(&r->json, "factor", factors[factor]);
    pod_json_double(&r->json, "lost_chip_h", most_h);
    pod_json_close(&r->json);
}

static void add_segments(pod_record *r, const report *x)
{
    const double capacity_h = pod_chip_hours(x->ledger.capacity);
    pod_json_open_array(&r->json, "segments");
    add_factors(r, "fleet", &x->segment[0], capacity_h);
    for (int i = 1; i < x->n_segments; i++)
        add_factors(r, x->segment[i].name, &x->segment[i],
                    x->study->n_weeks > 0 ? capacity_h * x->segment[i].share
                                          : x->segment[i].asked_h);
    pod_json_close(&r->json);
    note_costliest(r, x);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

static const pod_column ledger_columns[] = {
    {"chip-time", "", true}, {"chip-h", "", false}, {"share", "%", false}, {"note", "", true}};

static void add_entry(pod_table *t, const report *x, const char *name, pod_chip_ns ns,
                      const char *note)
{
    if (ns == 0) return;
    pod_table_add(t, "%s", name);
    pod_table_add(t, "%.1f", pod_chip_hours(ns));
    pod_table_add(t, "%.2f", 100 * (double)ns / (double)x->ledger.capacity);
    pod_table_add(t, "%s", note);
}

static void fill_ledger(pod_table *t, const report *x)
{
    for (int i = 0; i < POD_N_IDLE; i++)
        add_entry(t, x, pod_idle_name((pod_idle)i), x->ledger.idle[i], pod_idle_about((pod_idle)i));
    for (int k = 0; k < POD_N_JOB_SPANS; k++)
        add_entry(t, x, pod_job_span_name((pod_job_span)k), x->ledger.span[k], "");
    add_entry(t, x, "CAPACITY", x->ledger.capacity, "the sum, to the nanosecond");
}

/* ---- waits ----------------------------------------------------------------------------------- */

static const pod_column wait_columns[] = {
    {"segment", "", true}, {"started", "", false}, {"waiting", "", false}, {"mean", "h", false},
    {"p50", "h", false},   {"p90", "h", false},    {"p99", "h", false},    {"max", "h", false},
};

static const pod_column reason_columns[] = {
    {"segment", "", true},      {"failures", "", false}, {"evictions", "", false},
    {"moves", "", false},       {"order", "%", false},   {"busy", "%", false},
    {"fragmented", "%", false}, {"down", "%", false},    {"spare", "%", false},
};

static void fill_waits(pod_table *t, const report *x)
{
    pod_table_note(t, "waits before the first start, of jobs that started");
    for (int i = 0; i < x->n_segments; i++) {
        const pod_fleet_segment *g = &x->segment[i];
        pod_table_add(t, "%s", g->name);
        pod_table_add(t, "%" PRId64, g->n_started);
        pod_table_add(t, "%" PRId64, g->n_waiting);
        pod_table_number(t, g->mean_h);
        pod_table_number(t, g->p50_h);
        pod_table_number(t, g->p90_h);
        pod_table_number(t, g->p99_h);
        pod_table_number(t, g->max_h);
    }
}

static void fill_reasons(pod_table *t, const report *x)
{
    pod_table_note(t, "what happened to jobs, and what they waited for before their first start");
    for (int i = 0; i < x->n_segments; i++) {
        const pod_fleet_segment *g = &x->segment[i];
        double all_h = 0;
        for (int k = 0; k < POD_N_WAITS; k++) all_h += g->wait_h[k];
        pod_table_add(t, "%s", g->name);
        pod_table_add(t, "%" PRId64, g->n_failures);
        pod_table_add(t, "%" PRId64, g->n_evictions);
        pod_table_add(t, "%" PRId64, g->n_moves);
        for (int k = 0; k < POD_N_WAITS; k++) {
            if (all_h > 0)
                pod_table_add(t, "%.1f", 100 * g->wait_h[k] / all_h);
            else
                pod_table_add(t, "-");
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

enum { LEDGER, WAITS, REASONS, N_TABLES };

static const struct {
    const char *name; /* in JSON */
    const pod_column *column;
    int n_columns;
    void (*fill)(pod_table *t, const report *x);
} tables[N_TABLES] = {
    [LEDGER] = {"ledger", ledger_columns, N_COLUMNS(ledger_columns), fill_ledger},
    [WAITS] = {"waits", wait_columns, N_COLUMNS(wait_columns), fill_waits},
    [REASONS] = {"reasons", reason_columns, N_COLUMNS(reason_columns), fill_reasons},
};

static void fill_json(pod_record *r, const report *x, pod_table *const table[N_TABLES])
{
    const pod_fleet_study *s = x->study;
    pod_json *j = &r->json;
    pod_json_text(j, "clock", "virtual");
    pod_json_text(j, "pods", pod_config_text(s->config, POD_OPT_PODS));
    pod_json_text(j, "jobs", s->jobs_path);
    pod_json_double(j, "days", pod_config_double(s->config, POD_OPT_DAYS));
    pod_json_int(j, "seed", (int64_t)s->seed);
    pod_fleet_steps_json(s->steps, j);
    add_segments(r, x);
    for (int i = 0; i < N_TABLES; i++) pod_table_json(table[i], j, tables[i].name);
}

static pod_status print_all(const report *x, pod_log *log, pod_record *r,
                            pod_table *const table[N_TABLES])
{
    const pod_config *c = x->study->config;
    const char *folder = pod_config_text(c, POD_OPT_OUT);
    char path[POD_PATH_BYTES];
    note_plan(r->table, x->study);
    pod_table_csv_only(r->table, FIRST_CSV_ONLY, N_CSV_ONLY);
    for (int i = 0; i < N_TABLES; i++) tables[i].fill(table[i], x);
    fill_json(r, x, table);
    POD_TRY(pod_table_print(r->table, log->out));
    for (int i = 0; i < N_TABLES; i++) POD_TRY(pod_table_print(table[i], log->out));
    POD_TRY(pod_record_write_csv(r, pod_config_text(c, POD_OPT_CSV)));
    POD_TRY(pod_record_write_json(r, pod_config_text(c, POD_OPT_JSON)));
    if (!*folder) return POD_OK;
    POD_TRY(pod_path_join(folder, "fleet.json", path));
    return pod_record_write_json(r, path);
}

pod_status pod_fleet_report(const pod_fleet_study *s, pod_arena *a, pod_log *log)
{
    report x = {.study = s};
    pod_record r = {0};
    pod_table *table[N_TABLES] = {NULL};
    pod_status status;
    POD_TRY(pod_fleet_segments(s, a, x.segment, &x.n_segments));
    pod_fleet_ledger(s, &x.ledger);
    POD_TRY_GOTO(status, pod_record_open("minipod.fleet", 3, POD_COLUMNS(factor_columns), &r),
                 done);
    for (int i = 0; i < N_TABLES; i++)
        POD_TRY_GOTO(status, pod_table_create(tables[i].column, tables[i].n_columns, &table[i]),
                     done);
    status = print_all(&x, log, &r, table);
done:
    for (int i = 0; i < N_TABLES; i++) pod_table_destroy(table[i]);
    pod_record_close(&r);
    return status;
}
