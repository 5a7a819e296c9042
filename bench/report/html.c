/* The page of `minipod report`: HTML with its plots in it. */
#include <stdlib.h>
#include <string.h>

#include "bench/common/plot.h"
#include "bench/report/report.h"
#include "runtime/core/file.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>minipod report</title>\n<style>\n"
    "body { font: 15px/1.5 sans-serif; color: #222; background: #fff; max-width: 1000px;"
    " margin: 2em auto; padding: 0 1em }\n"
    "h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }\n"
    "div { overflow-x: auto }\n"
    "table { border-collapse: collapse; font-variant-numeric: tabular-nums }\n"
    "th, td { padding: 0.2em 0.9em 0.2em 0; border-bottom: 1px solid #ddd; text-align: right }\n"
    "th:first-child { text-align: left; font-weight: normal; color: #555 }\n"
    "svg { width: 100%; height: auto }\n"
    "</style></head><body>\n";

/* ---- text ---- */

static void put_text(FILE *to, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&': fputs("&amp;", to); break;
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '"': fputs("&quot;", to); break;
        default: fputc(*text, to);
        }
    }
}

static void put_cell(FILE *to, const char *tag, const char *text)
{
    fprintf(to, "<%s>", tag);
    put_text(to, text);
    fprintf(to, "</%s>", tag);
}

static void put_heading(FILE *to, const pod_report_run run[], int n)
{
    fputs("<div><table>\n<tr><th></th>", to);
    for (int i = 0; i < n; i++) put_cell(to, "th", run[i].folder);
    fputs("</tr>\n", to);
}

/* ---- tables ---- */

static void put_results(FILE *to, const pod_report_run run[], int n)
{
    put_heading(to, run, n);
    for (int k = 0; k < run->n_results; k++) {
        fputs("<tr>", to);
        put_cell(to, "th", run->result[k].name);
        for (int i = 0; i < n; i++) put_cell(to, "td", run[i].result[k].text);
        fputs("</tr>\n", to);
    }
    fputs("</table></div>\n", to);
}

static void put_cautions(FILE *to, const pod_report_run run[], int n)
{
    int n_put = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < run[i].n_cautions; k++) {
            fputs(n_put++ ? "<li>" : "<h2>Cautions</h2>\n<ul>\n<li>", to);
            put_text(to, run[i].folder);
            fputs(": ", to);
            put_text(to, run[i].caution[k]);
            fputs("</li>\n", to);
        }
    if (n_put > 0) fputs("</ul>\n", to);
}

static const char *setting_of(const pod_report_run *r, const char *name)
{
    for (int i = 0; i < r->n_settings; i++)
        if (strcmp(r->setting[i].name, name) == 0) return r->setting[i].text;
    return "-"; /* of a minipod that did not know it */
}

/* Of those that a run before it has not: a row stands where its name is met first. */
static bool is_row(const pod_report_run run[], int n, int i, const char *name)
{
    bool differs = false;
    if (strcmp(name, "out") == 0) return false; /* the heading has it */
    for (int k = 0; k < i; k++)
        for (int j = 0; j < run[k].n_settings; j++)
            if (strcmp(run[k].setting[j].name, name) == 0) return false;
    for (int k = 1; k < n; k++)
        differs = differs || strcmp(setting_of(&run[k], name), setting_of(run, name)) != 0;
    return differs;
}

static void put_setting(FILE *to, const pod_report_run run[], int n, const char *name)
{
    fputs("<tr>", to);
    put_cell(to, "th", name);
    for (int i = 0; i < n; i++) put_cell(to, "td", setting_of(&run[i], name));
    fputs("</tr>\n", to);
}

static void put_settings(FILE *to, const pod_report_run run[], int n)
{
    fputs("<h2>Settings that differ</h2>\n", to);
    put_heading(to, run, n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < run[i].n_settings; k++)
            if (is_row(run, n, i, run[i].setting[k].name))
                put_setting(to, run, n, run[i].setting[k].name);
    fputs("</table></div>\n", to);
}

/* ---- plots ---- */

static const struct {
    const char *title, *note;
} plots[POD_N_PLOTS] = {
    [POD_PLOT_BY_TIME] = {"Accuracy by time",
                          "On the test split; time begins before the data are read. Dashed: the"
                          " target."},
    [POD_PLOT_BY_EPOCH] = {"Accuracy by epoch", "On the test split."},
    [POD_PLOT_LOSS] = {"Training loss", "Means of some steps each."},
    [POD_PLOT_STEP] = {"Step time", "Medians of some steps each, rank 0."},
    [POD_PLOT_PHASES] = {"Where a step goes",
                         "reduce: all-reduce that was not hidden. Means over ranks."},
    [POD_PLOT_CATEGORIES] = {"Where the time of all ranks went",
                             "All attempts of each job, as minipod goodput has them."}};

/* A drawing within a page begins with its <svg>; one that fails costs no page. */
static pod_status put_drawing(FILE *to, const char *script, pod_report_plot which, pod_log *log,
                              bool *is_installed)
{
    char *svg = NULL;
    size_t bytes;
    FILE *drawn = open_memstream(&svg, &bytes);
    if (!drawn) return pod_fail(POD_E_NOMEM, "no memory for a plot");
    const pod_status s = pod_plot_draw(script, drawn, is_installed);
    fclose(drawn);
    const char *begin = s == POD_OK && svg ? strstr(svg, "<svg") : NULL;
    if (begin)
        fprintf(to, "<h2>%s</h2>\n<p>%s</p>\n<div>%s</div>\n", plots[which].title,
                plots[which].note, begin);
    else if (s != POD_OK)
        pod_log_say(log, POD_LOG_WARNING, "no plot of '%s': %s", plots[which].title,
                    pod_error_text());
    free(svg);
    return POD_OK;
}

static pod_status put_plot(FILE *to, const pod_report_run run[], int n, pod_report_plot which,
                           pod_log *log, bool *is_installed)
{
    char *script = NULL;
    size_t bytes;
    FILE *text = open_memstream(&script, &bytes);
    if (!text) return pod_fail(POD_E_NOMEM, "no memory for a plot's script");
    const bool has_any = pod_report_plot_script(run, n, which, text);
    fclose(text);
    const pod_status s = has_any ? put_drawing(to, script, which, log, is_installed) : POD_OK;
    free(script);
    return s;
}

static pod_status put_page(FILE *to, const pod_report_run run[], int n, pod_log *log)
{
    bool is_installed = true;
    fputs(head, to);
    fprintf(to, "<h1>minipod report</h1>\n<p>minipod %s, clock wall, %d run%s.</p>\n", POD_VERSION,
            n, n == 1 ? "" : "s");
    put_results(to, run, n);
    put_cautions(to, run, n);
    if (n > 1) put_settings(to, run, n);
    for (pod_report_plot p = 0; p < POD_N_PLOTS && is_installed; p++)
        POD_TRY(put_plot(to, run, n, p, log, &is_installed));
    if (!is_installed) {
        fputs("<p>No plots: gnuplot was not installed.</p>\n", to);
        pod_log_say(log, POD_LOG_WARNING, "no plots: gnuplot is not installed (gnuplot-nox)");
    }
    fputs("</body></html>\n", to);
    return POD_OK;
}

pod_status pod_report_write(const pod_report_run run[], int n, const char *path, pod_log *log)
{
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    const pod_status s = put_page(pod_file_stream(f), run, n, log);
    if (s == POD_OK) return pod_file_close(f);
    pod_file_abandon(f);
    return s;
}
