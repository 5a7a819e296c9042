/* The page of `minipod report`: HTML with its plots in it. */
#include <stdlib.h>
#include <string.h>

#include "bench/plot.h"
#include "bench/report_plots.h"
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

static const char *setting_of(const pod_report_run *r, const char *name)
{
    for (int i = 0; i < r->n_settings; i++)
        if (strcmp(r->setting[i].name, name) == 0) return r->setting[i].text;
    return "-"; /* of a minipod that did not know it */
}

static bool differs(const pod_report_run run[], int n, const char *name)
{
    for (int i = 1; i < n; i++)
        if (strcmp(setting_of(&run[i], name), setting_of(run, name)) != 0) return true;
    return false;
}

static void put_settings(FILE *to, const pod_report_run run[], int n)
{
    fputs("<h2>Settings that differ</h2>\n", to);
    put_heading(to, run, n);
    for (int k = 0; k < run->n_settings; k++) {
        if (!differs(run, n, run->setting[k].name)) continue;
        fputs("<tr>", to);
        put_cell(to, "th", run->setting[k].name);
        for (int i = 0; i < n; i++) put_cell(to, "td", setting_of(&run[i], run->setting[k].name));
        fputs("</tr>\n", to);
    }
    fputs("</table></div>\n", to);
}

/* ---- plots ---- */

typedef enum plot { CURVES, PHASES, CATEGORIES } plot;

static const struct {
    plot kind;
    pod_report_plot curves;
    const char *title, *note;
} plots[] = {{CURVES, POD_PLOT_BY_TIME, "Accuracy by time",
              "On the test split; time begins before the data are read. Dashed: the target."},
             {CURVES, POD_PLOT_BY_EPOCH, "Accuracy by epoch", ""},
             {CURVES, POD_PLOT_LOSS, "Training loss", "Means of some steps each."},
             {CURVES, POD_PLOT_STEP, "Step time", "Medians of some steps each, rank 0."},
             {PHASES, POD_N_CURVES, "Where a step goes",
              "reduce: all-reduce that was not hidden. Means over ranks."},
             {CATEGORIES, POD_N_CURVES, "Where the time of all ranks went",
              "All attempts of each job; names are those of ml-goodput-measurement."}};

enum { N_PLOTS = sizeof plots / sizeof plots[0] };

static bool write_script(const pod_report_run run[], int n, int which, FILE *to)
{
    if (plots[which].kind == CURVES) return pod_report_plot_curves(run, n, plots[which].curves, to);
    return pod_report_plot_stacks(run, n, plots[which].kind == PHASES, to);
}

/* A drawing within a page begins with its <svg>. */
static pod_status put_drawing(FILE *to, const char *script, bool *is_installed)
{
    char *svg = NULL;
    size_t bytes;
    FILE *drawn = open_memstream(&svg, &bytes);
    if (!drawn) return pod_fail(POD_E_NOMEM, "no memory for a plot");
    const pod_status s = pod_plot_draw(script, drawn, is_installed);
    fclose(drawn);
    const char *begin = svg ? strstr(svg, "<svg") : NULL;
    if (s == POD_OK && begin) fputs(begin, to);
    free(svg);
    return s;
}

static pod_status put_plot(FILE *to, const pod_report_run run[], int n, int which,
                           bool *is_installed)
{
    char *script = NULL;
    size_t bytes;
    FILE *text = open_memstream(&script, &bytes);
    if (!text) return pod_fail(POD_E_NOMEM, "no memory for a plot's script");
    const bool has_any = write_script(run, n, which, text);
    pod_status s = POD_OK;
    fclose(text);
    if (has_any) {
        fprintf(to, "<h2>%s</h2>\n<p>%s</p>\n<div>", plots[which].title, plots[which].note);
        s = put_drawing(to, script, is_installed);
        fputs("</div>\n", to);
    }
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
    if (n > 1) put_settings(to, run, n);
    for (int i = 0; i < N_PLOTS && is_installed; i++)
        POD_TRY(put_plot(to, run, n, i, &is_installed));
    if (!is_installed)
        pod_log_say(log, POD_LOG_WARNING, "no plots: gnuplot is not installed (gnuplot-nox)");
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
