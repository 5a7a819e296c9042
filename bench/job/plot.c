#include <math.h>
#include <stdlib.h>

#include "bench/common/plot.h"
#include "bench/job/study.h"

enum { N_CURVE = 200 };

/* gnuplot's own, without its yellow, which nobody sees on white. */
static int color_of(int i) { return i < 4 ? i + 1 : i + 2; }

static const char *name_of(const pod_job_point *x, char *text, size_t bytes)
{
    if (*x->mesh)
        snprintf(text, bytes, "%s, %d nodes", x->mesh, x->n_nodes);
    else
        snprintf(text, bytes, "%d nodes", x->n_nodes);
    return text;
}

static void print_runs(const pod_job_point *x, FILE *to)
{
    for (int i = 0; i < x->n_runs; i++)
        if (isfinite(x->run[i].runtime))
            fprintf(to, "%.9g %.6f %.6f\n", x->run[i].interval_s, 100 * x->run[i].runtime,
                    100 * x->run[i].runtime_95);
    fputs("e\n", to);
}

/* The closed form, between the runs too. */
static void print_curve(const pod_job_study *s, const pod_job_point *x, FILE *to)
{
    const double from = log(x->run[0].interval_s), until = log(x->run[x->n_runs - 1].interval_s);
    for (int i = 0; i < N_CURVE; i++) {
        const double interval_s = exp(from + (until - from) * i / (N_CURVE - 1));
        const int64_t every = llround(interval_s / x->step_s);
        fprintf(to, "%.9g %.6f\n", interval_s,
                100 * pod_job_study_expected(s, x, every > 1 ? every : 1));
    }
    fputs("e\n", to);
}

static void print_ranges(const pod_job_study *s, FILE *to)
{
    pod_plot_span x = pod_plot_span_start(), y = x;
    for (int i = 0; i < s->n_points; i++)
        for (int k = 0; k < s->point[i].n_runs; k++) {
            const pod_job_run *run = &s->point[i].run[k];
            const int64_t every = llround(run->interval_s / s->point[i].step_s);
            pod_plot_span_add(&x, run->interval_s);
            pod_plot_span_add(&y, 100 * (run->runtime - run->runtime_95));
            pod_plot_span_add(&y, 100 * (run->runtime + run->runtime_95));
            pod_plot_span_add(&y,
                              100 * pod_job_study_expected(s, &s->point[i], every > 1 ? every : 1));
        }
    pod_plot_range(to, 'x', true, x);
    pod_plot_range(to, 'y', false, y);
}

static void print_mark(double at, const char *name, int color, FILE *to)
{
    if (!isfinite(at) || at <= 0) return;
    fprintf(to,
            "set arrow from first %.9g, graph 0 to first %.9g, graph 1 nohead dashtype 2 linecolor "
            "%d\n"
            "set label '%s' at first %.9g, graph %.2f offset 0.4,0 textcolor linetype %d\n",
            at, at, color, name, at, 0.05 * color, color);
}

static void print_script(const void *study, FILE *to)
{
    const pod_job_study *s = study;
    char name[64];
    fprintf(to,
            "set terminal svg size 960,540 noenhanced\n"
            "set title 'runtime goodput of %g days of steps%s%s (virtual clock), %s checkpoints'\n"
            "set xlabel 'steps between checkpoints, s'\nset ylabel 'runtime goodput, %%'\n"
            "set logscale x\nset grid\nset key bottom right\n",
            s->keys.days, *s->machine ? " on " : "", s->machine,
            s->is_async ? "asynchronous" : "synchronous");
    if (s->n_points == 1) {
        print_mark(s->point[0].young_s, "Young", 2, to);
        print_mark(s->point[0].daly_s, "Daly", 3, to);
        print_mark(s->point[0].best_s, "expected best", 4, to);
    }
    print_ranges(s, to);
    fputs("plot ", to);
    for (int i = 0; i < s->n_points; i++) {
        name_of(&s->point[i], name, sizeof name);
        fprintf(to,
                "%s'-' using 1:2:3 with yerrorbars linecolor %d pointtype 7 title '%s', "
                "'-' with lines linecolor %d title '%s'",
                i ? ", " : "", color_of(i), name, color_of(i),
                s->n_points > 1 ? ""
                : s->is_exact   ? "closed form"
                                : "closed form, exponential");
    }
    fputc('\n', to);
    for (int i = 0; i < s->n_points; i++) {
        print_runs(&s->point[i], to);
        print_curve(s, &s->point[i], to);
    }
}

pod_status pod_job_plot(const pod_job_study *s, const char *path, pod_log *log)
{
    return pod_plot_print(print_script, s, path, log);
}
