/* The plots of `minipod report`, as scripts for gnuplot. */
#include "bench/report_plots.h"

#include <math.h>
#include <string.h>

#include "bench/plot.h"

enum { NAME_BYTES = 512, MOST_PARTS = 64, PLOT_HEIGHT = 360, BAR_HEIGHT = 34 };

/* Okabe and Ito 2008: told apart by those who see colours otherwise. */
static const char *const colors[] = {"#0072b2", "#e69f00", "#009e73", "#d55e00",
                                     "#cc79a7", "#56b4e9", "#999999", "#b8a800"};

static const char *color(int i) { return colors[i % (int)(sizeof colors / sizeof colors[0])]; }

static void begin(FILE *to, int height)
{
    fprintf(to,
            "set terminal svg size 960,%d dynamic noenhanced font 'sans-serif,13'\n"
            "set grid linecolor rgb '#dddddd'\nset border 3\nset tics nomirror\n"
            "set key outside right top\n",
            height);
}

/* ---- curves ---- */

static const pod_report_curve *curve_of(const pod_report_run *r, pod_report_plot which)
{
    switch (which) {
    case POD_PLOT_BY_TIME: return &r->by_time;
    case POD_PLOT_BY_EPOCH: return &r->by_epoch;
    case POD_PLOT_LOSS: return &r->loss;
    default: return &r->step;
    }
}

static const struct {
    const char *axes;
    bool has_target;
} axes[POD_N_CURVES] = {
    [POD_PLOT_BY_TIME] = {"set xlabel 'seconds, clock wall'\nset ylabel 'test accuracy'\n", true},
    [POD_PLOT_BY_EPOCH] = {"set xlabel 'epochs'\nset ylabel 'test accuracy'\n", true},
    [POD_PLOT_LOSS] = {"set xlabel 'steps'\nset ylabel 'loss of the training batch'\n"
                       "set logscale y\n",
                       false},
    [POD_PLOT_STEP] = {"set xlabel 'steps'\nset ylabel 'ms a step, clock wall'\n"
                       "set yrange [0:*]\n",
                       false}};

static bool has_points(const pod_report_run run[], int n, pod_report_plot which)
{
    for (int i = 0; i < n; i++)
        if (curve_of(&run[i], which)->n > 0) return true;
    return false;
}

bool pod_report_plot_curves(const pod_report_run run[], int n, pod_report_plot which, FILE *to)
{
    char name[NAME_BYTES];
    const char *separator = "plot";
    if (!has_points(run, n, which)) return false;
    begin(to, PLOT_HEIGHT);
    fputs(axes[which].axes, to);
    for (int i = 0; axes[which].has_target && i < n; i++)
        if (!isnan(run[i].target))
            fprintf(to,
                    "set arrow from graph 0, first %.9g to graph 1, first %.9g nohead dashtype 2"
                    " linecolor rgb '#888888'\n",
                    run[i].target, run[i].target);
    for (int i = 0; i < n; i++) {
        if (curve_of(&run[i], which)->n == 0) continue;
        fprintf(to, "%s '-' with %s linecolor rgb '%s' title %s", separator,
                axes[which].has_target ? "linespoints pointtype 7 pointsize 0.4" : "lines",
                color(i), pod_plot_quote(run[i].folder, name, sizeof name));
        separator = ",";
    }
    fputc('\n', to);
    for (int i = 0; i < n; i++) {
        const pod_report_curve *c = curve_of(&run[i], which);
        for (int k = 0; k < c->n; k++)
            if (!isnan(c->y[k])) fprintf(to, "%.9g %.9g\n", c->x[k], c->y[k]);
        if (c->n > 0) fputs("e\n", to);
    }
    return true;
}

/* ---- stacks: a bar a run ---- */

typedef struct stacks {
    const pod_report_run *run;
    int n;
    bool is_phases;
    const char *part[MOST_PARTS]; /* of any of them, in the order in which they are met */
    int n_parts;
} stacks;

static const pod_report_part *parts_of(const stacks *s, int run, int *n)
{
    const pod_report_run *r = &s->run[run];
    *n = s->is_phases ? r->n_phases : r->n_categories;
    return s->is_phases ? r->phase : r->category;
}

static void list_parts(stacks *s)
{
    for (int i = 0; i < s->n; i++) {
        int n, at;
        const pod_report_part *part = parts_of(s, i, &n);
        for (int k = 0; k < n; k++) {
            for (at = 0; at < s->n_parts && strcmp(s->part[at], part[k].name) != 0;) at++;
            if (at == s->n_parts && at < MOST_PARTS) s->part[s->n_parts++] = part[k].name;
        }
    }
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

bool pod_report_plot_stacks(const pod_report_run run[], int n, bool is_phases, FILE *to)
{
    char name[NAME_BYTES];
    stacks s = {.run = run, .n = n, .is_phases = is_phases};
    list_parts(&s);
    if (s.n_parts == 0) return false;
    begin(to, 120 + BAR_HEIGHT * (n > s.n_parts / 2 ? n : s.n_parts / 2));
    fprintf(to,
            "set xlabel '%%'\nset xrange [0:100]\nset yrange [%g:-0.6]\nset style fill solid\n"
            "set ytics (",
            n - 0.4);
    for (int i = 0; i < n; i++)
        fprintf(to, "%s%s %d", i ? ", " : "", pod_plot_quote(run[i].folder, name, sizeof name), i);
    fputs(")\nplot", to);
    for (int i = 0; i < s.n_parts; i++)
        fprintf(to, "%s '-' with boxxyerror linecolor rgb '%s' title %s", i ? "," : "", color(i),
                pod_plot_quote(s.part[i], name, sizeof name));
    fputc('\n', to);
    for (int i = 0; i < s.n_parts; i++) print_boxes(&s, i, to);
    return true;
}
