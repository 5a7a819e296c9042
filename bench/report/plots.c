#include "bench/report/report.h"

#include <math.h>
#include <string.h>

#include "bench/common/plot.h"
#include "bench/goodput/goodput.h"
#include "runtime/graph/phase.h"

enum { NAME_BYTES = 512, MOST_PARTS = 64, PLOT_HEIGHT = 360, LINE_HEIGHT = 22, AXES_HEIGHT = 100 };

/* Okabe and Ito 2008: told apart by those who see colours otherwise. */
static const char *const colors[] = {"#0072b2", "#e69f00", "#009e73", "#d55e00",
                                     "#cc79a7", "#56b4e9", "#999999", "#b8a800"};

enum { N_COLORS = sizeof colors / sizeof colors[0] };

static void begin(FILE *to, int height)
{
    fprintf(to,
            "set terminal svg size 960,%d dynamic noenhanced font 'sans-serif,13'\n"
            "set grid linecolor rgb '#dddddd'\nset border 3\nset tics nomirror\n"
            "set key outside right top maxcols 1\n",
            height);
}

/* ---- curves ---- */

static const struct {
    const char *axes;
    bool is_metric;
} curves[] = {[POD_PLOT_BY_TIME] = {"set xlabel 'seconds, clock wall'\n", true},
              [POD_PLOT_BY_EPOCH] = {"set xlabel 'epochs'\n", true},
              [POD_PLOT_LOSS] = {"set xlabel 'steps'\nset ylabel 'loss of the training batch'\n"
                                 "set logscale y\n",
                                 false},
              [POD_PLOT_STEP] = {"set xlabel 'steps'\nset ylabel 'ms a step, clock wall'\n"
                                 "set yrange [0:*]\n",
                                 false}};

static const pod_report_curve *curve_of(const pod_report_run *r, pod_report_plot which)
{
    switch (which) {
    case POD_PLOT_BY_TIME: return &r->by_time;
    case POD_PLOT_BY_EPOCH: return &r->by_epoch;
    case POD_PLOT_LOSS: return &r->loss;
    default: return &r->step;
    }
}

/* A NaN is not drawn, nor a loss of 0 on its logarithmic axis. */
static bool can_draw(pod_report_plot which, double y)
{
    return which == POD_PLOT_LOSS ? y > 0 : !isnan(y);
}

static int count_drawn(const pod_report_curve *c, pod_report_plot which)
{
    int n = 0;
    for (int i = 0; i < c->n; i++) n += can_draw(which, c->y[i]);
    return n;
}

/* Lines of their own, so that the axis has room for them; of several runs mostly one. */
static void print_targets(const pod_report_run run[], int n, FILE *to)
{
    for (int i = 0; i < n; i++) {
        bool is_there = isnan(run[i].target);
        for (int k = 0; k < i; k++) is_there = is_there || run[k].target == run[i].target;
        if (!is_there)
            fprintf(to, ", %.9g with lines dashtype 2 linecolor rgb '#888888' notitle",
                    run[i].target);
    }
}

/* Both axes begin at 0, but those of metric and loss. */
static void print_ranges(const pod_report_run run[], int n, pod_report_plot which, FILE *to)
{
    pod_plot_span x = pod_plot_span_start(), y = x;
    pod_plot_span_add(&x, 0);
    if (which == POD_PLOT_STEP) pod_plot_span_add(&y, 0);
    for (int i = 0; i < n; i++) {
        const pod_report_curve *c = curve_of(&run[i], which);
        if (curves[which].is_metric) pod_plot_span_add(&y, run[i].target);
        for (int k = 0; k < c->n; k++) {
            if (!can_draw(which, c->y[k])) continue;
            pod_plot_span_add(&x, c->x[k]);
            pod_plot_span_add(&y, c->y[k]);
        }
    }
    pod_plot_range(to, 'x', false, x);
    if (curves[which].is_metric && y.high <= 1) /* a share, mostly */
        fprintf(to, "set yrange [%.6g:%.6g]\n", fmax(0, y.low - 0.01), fmin(1, y.high + 0.01));
    else
        pod_plot_range(to, 'y', which == POD_PLOT_LOSS, y);
}

/* What the runs measure, if all measure the same. */
static void print_metric(const pod_report_run run[], int n, FILE *to)
{
    char name[NAME_BYTES], text[NAME_BYTES];
    bool is_one = true;
    for (int i = 1; i < n; i++) is_one = is_one && strcmp(run[i].metric, run[0].metric) == 0;
    snprintf(text, sizeof text, "test %s", is_one ? run[0].metric : "metric");
    fprintf(to, "set ylabel %s\n", pod_plot_quote(text, name, sizeof name));
}

static bool print_curves(const pod_report_run run[], int n, pod_report_plot which, FILE *to)
{
    char name[NAME_BYTES];
    int n_drawn = 0;
    for (int i = 0; i < n; i++) n_drawn += count_drawn(curve_of(&run[i], which), which);
    if (n_drawn == 0) return false;
    begin(to, PLOT_HEIGHT);
    fprintf(to, "set xrange [0:*]\n%sset offsets 0, 0, %s\n", curves[which].axes,
            curves[which].is_metric ? "0.01, 0.01" : "0, 0");
    if (curves[which].is_metric) print_metric(run, n, to);
    print_ranges(run, n, which, to);
    fputs("plot", to);
    n_drawn = 0;
    for (int i = 0; i < n; i++) {
        if (count_drawn(curve_of(&run[i], which), which) == 0) continue;
        fprintf(to, "%s '-' with %s linecolor rgb '%s' dashtype %d title %s", n_drawn++ ? "," : "",
                curves[which].is_metric ? "linespoints pointtype 7 pointsize 0.4" : "lines",
                colors[i % N_COLORS], i / N_COLORS % 4 + 1,
                pod_plot_quote(run[i].folder, name, sizeof name));
    }
    if (curves[which].is_metric) print_targets(run, n, to);
    fputc('\n', to);
    for (int i = 0; i < n; i++) {
        const pod_report_curve *c = curve_of(&run[i], which);
        for (int k = 0; k < c->n; k++)
            if (can_draw(which, c->y[k])) fprintf(to, "%.9g %.9g\n", c->x[k], c->y[k]);
        if (count_drawn(c, which) > 0) fputs("e\n", to);
    }
    return true;
}

/* ---- stacks ---- */

typedef struct stacks {
    const pod_report_run *run;
    int n;
    bool is_phases;
    const char *part[MOST_PARTS]; /* as the files name it */
    const char *title[MOST_PARTS], *color[MOST_PARTS];
    int n_parts;
} stacks;

static const pod_report_part *parts_of(const stacks *s, int run, int *n)
{
    const pod_report_run *r = &s->run[run];
    *n = s->is_phases ? r->n_phases : r->n_categories;
    return s->is_phases ? r->phase : r->category;
}

static bool is_met(const stacks *s, const char *name)
{
    for (int i = 0; i < s->n; i++) {
        int n;
        const pod_report_part *part = parts_of(s, i, &n);
        for (int k = 0; k < n; k++)
            if (strcmp(part[k].name, name) == 0) return true;
    }
    return false;
}

static void list_part(stacks *s, const char *name, const char *title, const char *color)
{
    if (s->n_parts == MOST_PARTS || !is_met(s, name)) return;
    s->part[s->n_parts] = name;
    s->title[s->n_parts] = title;
    s->color[s->n_parts++] = color;
}

/* As `minipod goodput` has them: productive time first, the others in the order of their table. */
static void list_categories(stacks *s)
{
    list_part(s, pod_job_span_name(POD_JOB_STEP), pod_job_span_name(POD_JOB_STEP),
              pod_goodput_color(POD_JOB_STEP));
    for (pod_job_span p = 0; p < POD_N_JOB_SPANS; p++)
        if (p != POD_JOB_STEP)
            list_part(s, pod_job_span_name(p), pod_job_span_name(p), pod_goodput_color(p));
}

static void list_phases(stacks *s)
{
    for (pod_phase p = 0; p < POD_N_PHASES; p++)
        list_part(s, pod_phase_name(p), pod_phase_name(p), colors[(int)p % N_COLORS]);
    list_part(s, "other", "other", "#e0e0e0");
}

/* Where the part lies in the bar of a run: from what is listed before it. */
static void print_boxes(const stacks *s, int which, FILE *to)
{
    const double half = 0.36;
    for (int i = 0; i < s->n; i++) {
        double low = 0, share = 0;
        int n;
        const pod_report_part *part = parts_of(s, i, &n);
        for (int at = 0; at <= which; at++)
            for (int k = 0; k < n; k++)
                if (strcmp(part[k].name, s->part[at]) == 0) {
                    low += at < which ? part[k].share : 0;
                    share = at == which ? part[k].share : 0;
                }
        fprintf(to, "%.6g %d %.6g %.6g %.6g %.6g\n", 100 * (low + share / 2), i, 100 * low,
                100 * (low + share), i - half, i + half);
    }
    fputs("e\n", to);
}

/* A label of an axis is a format: each % of it is doubled. */
static void print_label(const char *text, FILE *to)
{
    char quoted[NAME_BYTES];
    for (const char *p = pod_plot_quote(text, quoted, sizeof quoted); *p; p++) {
        if (*p == '%') fputc('%', to);
        fputc(*p, to);
    }
}

static bool print_stacks(const pod_report_run run[], int n, bool is_phases, FILE *to)
{
    char name[NAME_BYTES];
    stacks s = {.run = run, .n = n, .is_phases = is_phases};
    if (is_phases)
        list_phases(&s);
    else
        list_categories(&s);
    if (s.n_parts == 0) return false;
    begin(to, AXES_HEIGHT + LINE_HEIGHT * (2 * n > s.n_parts ? 2 * n : s.n_parts));
    fprintf(to,
            "set xlabel '%%'\nset xrange [0:100]\nset yrange [%g:-0.6]\nset style fill solid\n"
            "set ytics (",
            n - 0.4);
    for (int i = 0; i < n; i++) {
        if (i > 0) fputs(", ", to);
        print_label(run[i].folder, to);
        fprintf(to, " %d", i);
    }
    fputs(")\nplot", to);
    for (int i = 0; i < s.n_parts; i++)
        fprintf(to, "%s '-' with boxxyerror linecolor rgb '%s' title %s", i ? "," : "", s.color[i],
                pod_plot_quote(s.title[i], name, sizeof name));
    fputc('\n', to);
    for (int i = 0; i < s.n_parts; i++) print_boxes(&s, i, to);
    return true;
}

bool pod_report_plot_script(const pod_report_run run[], int n, pod_report_plot which, FILE *to)
{
    return which < POD_PLOT_PHASES ? print_curves(run, n, which, to)
                                   : print_stacks(run, n, which == POD_PLOT_PHASES, to);
}
