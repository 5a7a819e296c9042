/* minipod scale: a training step over a list of meshes, simulated or for real, and where scaling is
 * lost. */
#include <math.h>
#include <string.h>

#include "bench/common/plot.h"
#include "bench/simulate/simulate.h"
#include "runtime/core/file.h"

enum { PATH_BYTES = 4096, N_PARTS = 4 };

/* Of core 0's step; the last columns of the table. */
static const char *const parts[N_PARTS] = {"compute", "reduce", "update", "other"};

/* ---- the record ------------------------------------------------------------------------------- */

static const pod_column columns[] = {
    {"mesh", "", true},      {"cores", "", false},       {"batch", "", false},
    {"clock", "", true},     {"step", "ms", false},      {"samples", "1/s", false},
    {"speedup", "x", false}, {"efficiency", "%", false}, {"compute", "%", false},
    {"reduce", "%", false},  {"update", "%", false},     {"other", "%", false},
    {"price", "$", false}};

static double per_s(const pod_scale_point *p, const pod_scale_time *t)
{
    return (double)p->batch / t->step_s;
}

/* What a core does in a second, against the first mesh's. */
static double efficiency(const pod_scaling *s, int i, const pod_scale_time *t,
                         const pod_scale_time *first)
{
    const pod_scale_point *p = &s->point[i], *one = &s->point[0];
    return per_s(p, t) / p->cores / (per_s(one, first) / one->cores);
}

/* Of the step: what each part of it takes beyond what the first mesh's would for as many samples a
 * core. The parts sum to 100 % - efficiency. */
static void find_lost(const pod_scaling *s, int i, const pod_scale_time *t,
                      const pod_scale_time *first, double lost[N_PARTS])
{
    const double share = (double)s->point[i].batch / s->point[i].cores /
                         ((double)s->point[0].batch / s->point[0].cores);
    const double part_s[N_PARTS] = {t->compute_s, t->reduce_s, t->update_s, t->other_s};
    const double first_s[N_PARTS] = {first->compute_s, first->reduce_s, first->update_s,
                                     first->other_s};
    for (int k = 0; k < N_PARTS; k++) lost[k] = (part_s[k] - share * first_s[k]) / t->step_s;
}

/* Whether the table shows that a part of it gains. */
static bool add_row(pod_record *r, const pod_scaling *s, int i, bool real)
{
    const pod_scale_point *p = &s->point[i], *one = &s->point[0];
    const pod_scale_time *t = real ? &p->real : &p->simulated;
    const pod_scale_time *first = real ? &one->real : &one->simulated;
    pod_json *j = &r->json;
    double lost[N_PARTS];
    bool gains = false;
    pod_json_open_object(j, NULL);
    pod_cell_text(r, "mesh", p->mesh);
    pod_cell_int(r, "ranks", p->cores);
    pod_cell_int(r, "global_batch", p->batch);
    pod_json_text(j, "clock", real ? "wall" : "virtual");
    pod_cell_text(r, NULL, !real ? "virtual" : p->shares_cores ? "wall, cores shared" : "wall");
    pod_json_bool(j, "cores_shared", real && p->shares_cores);
    pod_cell_real(r, "step_s", 3, t->step_s);
    pod_cell_real(r, "samples_per_s", 1, per_s(p, t));
    pod_cell_real(r, "speedup", 3, per_s(p, t) / per_s(one, first));
    pod_cell_real(r, "efficiency", 2, efficiency(s, i, t, first));
    pod_json_open_object(j, "lost");
    find_lost(s, i, t, first, lost);
    for (int k = 0; k < N_PARTS; k++) {
        pod_cell_real(r, parts[k], 2, lost[k]);
        gains |= lost[k] < -0.5e-4;
    }
    pod_json_close(j);
    pod_cell_real(r, "price", 2, real ? (double)NAN : p->price);
    if (!real) pod_published_put(&p->nearest, j);
    if (p->explanation && !real) {
        pod_json_open_object(j, "explain");
        pod_explanation_json(p->explanation, j);
        pod_json_close(j);
    }
    pod_json_close(j);
    return gains;
}

static void add_head(pod_record *r, const pod_scaling *s, const pod_config *c)
{
    const char *model = pod_config_text(c, POD_OPT_MODEL);
    const char *scaling = pod_config_text(c, POD_OPT_SCALING);
    pod_table_note(r->table, "minipod %s scale, machine %s, %s, %s scaling", POD_VERSION,
                   s->machine, model, scaling);
    pod_table_note(r->table, "data: %s%s", s->images,
                   s->has_data && !pod_config_is_set(c, POD_OPT_DATA)
                       ? ", made, of the size it was published for; --data gives others"
                       : "");
    pod_simulate_note_options(r->table, c);
    pod_table_note(r->table,
                   "efficiency: samples/s of a core against the first mesh's; compute to other: "
                   "what of core 0's step each part loses");
    if (pod_config_double(c, POD_OPT_PRICE) > 0)
        pod_table_note(r->table, "price: of a million samples, simulated");
    pod_json_text(&r->json, "machine", s->machine);
    pod_json_text(&r->json, "model", model);
    pod_json_text(&r->json, "scaling", scaling);
    pod_json_text(&r->json, "data", s->has_data ? s->images : NULL);
    pod_simulate_put_options(c, &r->json);
}

static void fill(pod_record *r, const pod_scaling *s, const pod_config *c)
{
    bool has_gains = false;
    add_head(r, s, c);
    pod_json_open_array(&r->json, "rows");
    for (int i = 0; i < s->n; i++) {
        if (s->has_real) has_gains |= add_row(r, s, i, true);
        has_gains |= add_row(r, s, i, false);
    }
    pod_table_footer(r->table);
    for (int i = 0; i < s->n; i++) {
        const pod_nearest *n = &s->point[i].nearest;
        if (n->row)
            pod_table_note(r->table, "%s: nearest published %.2f ms, %s, evaluations included%s%s",
                           s->point[i].mesh, n->step_s * 1e3, n->row->preset,
                           *n->differs ? "; differs in " : "", n->differs);
    }
    if (has_gains)
        pod_table_note(r->table,
                       "below 0: a part takes less of the step than the first mesh's would for as "
                       "many samples a core, which is a gain");
}

static void print_explanations(const pod_scaling *s, FILE *to)
{
    for (int i = 0; i < s->n; i++)
        if (s->point[i].explained)
            fprintf(to, "\n# mesh %s, clock virtual, machine %s%s", s->point[i].mesh, s->machine,
                    s->point[i].explained);
}

static pod_status tell(const pod_scaling *s, const pod_config *c, FILE *to)
{
    pod_record r;
    POD_TRY(pod_record_open("minipod.scale", 2, POD_COLUMNS(columns), &r));
    fill(&r, s, c);
    POD_TRY(pod_record_finish(&r, c, to));
    print_explanations(s, to);
    return POD_OK;
}

/* ---- the plot -------------------------------------------------------------------------------- */

enum { RATE = 2, EFFICIENCY = 3 }; /* columns of a series */

static void print_series(const pod_scaling *s, bool real, FILE *to)
{
    for (int i = 0; i < s->n; i++) {
        const pod_scale_time *t = real ? &s->point[i].real : &s->point[i].simulated;
        const pod_scale_time *first = real ? &s->point[0].real : &s->point[0].simulated;
        fprintf(to, "%d %.6g %.6g\n", s->point[i].cores, per_s(&s->point[i], t),
                100 * efficiency(s, i, t, first));
    }
    fputs("e\n", to);
}

/* What the first mesh's cores do, times the cores. */
static void print_ideal(const pod_scaling *s, FILE *to)
{
    const pod_scale_point *one = &s->point[0];
    const pod_scale_time *first = s->has_real ? &one->real : &one->simulated;
    for (int i = 0; i < s->n; i++)
        fprintf(to, "%d %.6g 100\n", s->point[i].cores,
                per_s(one, first) / one->cores * s->point[i].cores);
    fputs("e\n", to);
}

static void print_ranges(const pod_scaling *s, FILE *to)
{
    pod_plot_span x = pod_plot_span_start(), y = x;
    const pod_scale_point *one = &s->point[0];
    for (int i = 0; i < s->n; i++) {
        const pod_scale_point *p = &s->point[i];
        pod_plot_span_add(&x, p->cores);
        pod_plot_span_add(&y, per_s(p, &p->simulated));
        if (s->has_real) pod_plot_span_add(&y, per_s(p, &p->real));
        pod_plot_span_add(&y, per_s(one, s->has_real ? &one->real : &one->simulated) / one->cores *
                                  p->cores);
    }
    pod_plot_range(to, 'x', true, x);
    pod_plot_range(to, 'y', true, y);
}

static void print_panel(const pod_scaling *s, const char *label, int column, FILE *to)
{
    fprintf(to, "set ylabel '%s'\nplot '-' using 1:%d with lines dt 2 lc 'grey50' title 'ideal'",
            label, column);
    fprintf(to, ", '-' using 1:%d with linespoints pt 7 ps 0.7 title 'virtual clock'", column);
    if (s->has_real)
        fprintf(to, ", '-' using 1:%d with linespoints pt 5 ps 0.7 title 'wall clock'", column);
    fputc('\n', to);
    print_ideal(s, to);
    print_series(s, false, to);
    if (s->has_real) print_series(s, true, to);
}

typedef struct drawing {
    const pod_scaling *scaling;
    const pod_config *config;
} drawing;

static void print_script(const void *what, FILE *to)
{
    const drawing *d = what;
    fprintf(to,
            "set terminal svg size 960,420 noenhanced\n"
            "set multiplot layout 1,2 title '%s on %s, %s scaling'\n"
            "set xlabel 'cores'\nset logscale x 2\nset grid\nset key bottom\nset logscale y\n",
            pod_config_text(d->config, POD_OPT_MODEL), d->scaling->machine,
            pod_config_text(d->config, POD_OPT_SCALING));
    print_ranges(d->scaling, to);
    print_panel(d->scaling, "samples/s", RATE, to);
    fputs("unset logscale y\nset yrange [0:110<*]\n", to);
    print_panel(d->scaling, "scaling efficiency, %", EFFICIENCY, to);
    fputs("unset multiplot\n", to);
}

static pod_status draw(const pod_scaling *s, const pod_config *c, pod_log *log)
{
    const char *folder = pod_config_text(c, POD_OPT_OUT);
    const drawing what = {s, c};
    char path[PATH_BYTES];
    if (!*folder) return POD_OK;
    snprintf(path, sizeof path, "%s/scale.svg", folder);
    (void)remove(path); /* an earlier one's, which stands for nothing where none can be drawn */
    return pod_plot_print(print_script, &what, path, log);
}

/* ---- the command ----------------------------------------------------------------------------- */

static pod_status measure(pod_call *call, bool real, pod_scaling *s)
{
    pod_progress_begin(call->log, real ? "training" : "simulating", "meshes", 0, s->n);
    for (int i = 0; i < s->n; i++) {
        POD_TRY(pod_scale_simulate(call->config, s, i));
        if (real) POD_TRY(pod_scale_train(call->config, s, i));
        pod_progress_at(call->log, i + 1, "%s", s->point[i].mesh);
    }
    pod_progress_end(call->log);
    return POD_OK;
}

static pod_status scale(pod_call *call, pod_scaling *s)
{
    const pod_config *c = call->config;
    const char *on = pod_config_text(c, POD_OPT_ON), *folder = pod_config_text(c, POD_OPT_OUT);
    const bool real = strcmp(on, "host") == 0;
    if (!real && strcmp(on, "sim") != 0 && strcmp(on, "auto") != 0)
        return pod_fail(POD_E_INVALID, "on: scale takes sim, or host, found '%s'", on);
    POD_TRY(pod_scale_list(c, real, s));
    if (*folder) POD_TRY(pod_dir_make(folder));
    POD_TRY(measure(call, real, s));
    if (*s->warning) pod_log_say(call->log, POD_LOG_WARNING, "%s", s->warning);
    POD_TRY(tell(s, c, call->log->out));
    return draw(s, c, call->log);
}

pod_status pod_cmd_scale(pod_call *call, int *exit_code)
{
    (void)exit_code;
    pod_scaling s = {.arena = call->arena};
    pod_config *settled;
    POD_TRY(pod_published_settle(call->config, true, &settled));
    pod_call with = *call;
    with.config = settled;
    const pod_status status = scale(&with, &s);
    pod_config_destroy(settled);
    return status;
}
