/* Where the time of a run went, as it went by: ranks by category, stacked. */
#include <inttypes.h>
#include <stdlib.h>

#include "bench/common/plot.h"
#include "bench/goodput/goodput.h"

enum { N_PARTS = 200, PATH_BYTES = 4096 };

static const char *const colors[POD_N_JOB_SPANS] = {
    [POD_JOB_INIT] = "#9e9e9e",       [POD_JOB_PREP] = "#bdbdbd",
    [POD_JOB_BUILD] = "#757575",      [POD_JOB_STEP] = "#43a047",
    [POD_JOB_INPUT_WAIT] = "#fdd835", [POD_JOB_EVAL] = "#1e88e5",
    [POD_JOB_SAVE] = "#8e24aa",       [POD_JOB_RESTORE] = "#ce93d8",
    [POD_JOB_LOST_STEP] = "#e53935",  [POD_JOB_RECOVERY] = "#fb8c00",
    [POD_JOB_SHUTDOWN] = "#a1887f",   [POD_JOB_OTHER] = "#e0e0e0"};

const char *pod_goodput_color(pod_job_span s) { return colors[s]; }

/* Productive time lies at the bottom, the other categories on it as the table has them. */
static int list_spans(const pod_run_account *r, pod_job_span list[POD_N_JOB_SPANS])
{
    int n = 0;
    list[n++] = POD_JOB_STEP;
    for (pod_job_span s = 0; s < POD_N_JOB_SPANS; s++)
        if (s != POD_JOB_STEP && r->sum.by_span[s] > 0) list[n++] = s;
    return n;
}

/* Boxes from 0 up to the top of a category: those drawn later cover the lower part. */
static void print_tops(const pod_run_account *r, const pod_account x[], const pod_job_span list[],
                       int upto, FILE *to)
{
    for (int i = 0; i < N_PARTS; i++) {
        pod_stamp sum = 0;
        const double width_s = pod_stamp_seconds(x[i].end - x[i].begin);
        for (int k = 0; k <= upto; k++) sum += x[i].by_span[list[k]];
        fprintf(to, "%.9g %.6g %.9g\n", pod_stamp_seconds(x[i].begin - r->sum.begin) + width_s / 2,
                width_s > 0 ? pod_stamp_seconds(sum) / width_s : 0, width_s);
    }
    fputs("e\n", to);
}

typedef struct drawing {
    const pod_run_account *run;
    pod_account part[N_PARTS];
} drawing;

static void print_script(const void *what, FILE *to)
{
    const drawing *d = what;
    const pod_run_account *r = d->run;
    const pod_account *x = d->part;
    char title[PATH_BYTES + 8];
    pod_job_span list[POD_N_JOB_SPANS];
    const int n = list_spans(r, list);
    fprintf(to,
            "set terminal svg size 1080,480 noenhanced\nset title %s\n"
            "set xlabel 'seconds of the job, clock wall'\nset ylabel 'ranks'\n"
            "set yrange [0:*]\nset xrange [0:%.9g]\nset key outside right\n"
            "set style fill solid noborder\nplot",
            pod_plot_quote(r->name, title, sizeof title),
            r->sum.end > r->sum.begin ? pod_stamp_seconds(r->sum.end - r->sum.begin) : 1);
    for (int k = n - 1; k >= 0; k--)
        fprintf(to, "%s '-' with boxes linecolor rgb '%s' title '%s'", k < n - 1 ? "," : "",
                colors[list[k]], pod_job_span_name(list[k]));
    fputc('\n', to);
    for (int k = n - 1; k >= 0; k--) print_tops(r, x, list, k, to);
}

pod_status pod_goodput_plot(const pod_run_account *r, const char *path, pod_log *log)
{
    drawing d = {.run = r};
    POD_TRY(pod_account_cut(&r->job, r->now, r->sum.begin, r->sum.end, d.part, N_PARTS));
    return pod_plot_print(print_script, &d, path, log);
}
