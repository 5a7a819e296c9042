/* The page of `minipod report`: HTML with its plots in it. */
#include <stdlib.h>
#include <string.h>

#include "bench/common/plot.h"
#include "bench/common/run_json.h"
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

void pod_report_put_text(FILE *to, const char *text)
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
    pod_report_put_text(to, text ? text : ""); /* no memory for it */
    fprintf(to, "</%s>", tag);
}

typedef struct page {
    FILE *to;
    pod_arena *arena;
    const pod_report_run *run;
    int n;
} page;

static void put_heading(const page *p)
{
    fputs("<div><table>\n<tr><th></th>", p->to);
    for (int i = 0; i < p->n; i++) put_cell(p->to, "th", p->run[i].folder);
    fputs("</tr>\n", p->to);
}

/* ---- tables ---- */

static void put_results(const page *p)
{
    put_heading(p);
    for (int k = 0; pod_report_result_name(k); k++) {
        fputs("<tr>", p->to);
        put_cell(p->to, "th", pod_report_result_name(k));
        for (int i = 0; i < p->n; i++)
            put_cell(p->to, "td", pod_report_result(p->arena, &p->run[i], k));
        fputs("</tr>\n", p->to);
    }
    fputs("</table></div>\n", p->to);
}

static void put_cautions(const page *p)
{
    int n_put = 0;
    for (int i = 0; i < p->n; i++) {
        const cJSON *c, *cautions = pod_run_json_item(p->run[i].record, "cautions");
        cJSON_ArrayForEach(c, cautions)
        {
            if (!cJSON_IsString(c)) continue;
            fputs(n_put++ ? "<li>" : "<h2>Cautions</h2>\n<ul>\n<li>", p->to);
            pod_report_put_text(p->to, p->run[i].folder);
            fputs(": ", p->to);
            pod_report_put_text(p->to, c->valuestring);
            fputs("</li>\n", p->to);
        }
    }
    if (n_put > 0) fputs("</ul>\n", p->to);
}

static const cJSON *settings_of(const page *p, int i)
{
    return pod_run_json_item(p->run[i].record, "settings");
}

/* Of those that a run before it has not: a row stands where its name is met first. */
static bool is_row(const page *p, int i, const char *name)
{
    bool differs = false;
    if (strcmp(name, "out") == 0) return false; /* the heading has it */
    for (int k = 0; k < i; k++)
        if (pod_run_json_item(settings_of(p, k), name)) return false;
    const char *first = pod_report_setting(p->arena, p->run, name);
    for (int k = 1; k < p->n; k++)
        differs |= strcmp(pod_report_setting(p->arena, &p->run[k], name), first) != 0;
    return differs;
}

static void put_settings(const page *p)
{
    fputs("<h2>Settings that differ</h2>\n", p->to);
    put_heading(p);
    for (int i = 0; i < p->n; i++) {
        const cJSON *s, *settings = settings_of(p, i);
        cJSON_ArrayForEach(s, settings)
        {
            if (!s->string || !is_row(p, i, s->string)) continue;
            fputs("<tr>", p->to);
            put_cell(p->to, "th", s->string);
            for (int k = 0; k < p->n; k++)
                put_cell(p->to, "td", pod_report_setting(p->arena, &p->run[k], s->string));
            fputs("</tr>\n", p->to);
        }
    }
    fputs("</table></div>\n", p->to);
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

static pod_status put_plot(const page *p, pod_report_plot which, pod_log *log, bool *is_installed)
{
    char *script = NULL;
    size_t bytes;
    FILE *text = open_memstream(&script, &bytes);
    if (!text) return pod_fail(POD_E_NOMEM, "no memory for a plot's script");
    const bool has_any = pod_report_plot_script(p->run, p->n, which, text);
    fclose(text);
    const pod_status s = has_any ? put_drawing(p->to, script, which, log, is_installed) : POD_OK;
    free(script);
    return s;
}

static pod_status put_runs(const page *p, pod_log *log)
{
    bool is_installed = true;
    fprintf(p->to, "<p>minipod %s, clock wall, %d run%s.</p>\n", POD_VERSION, p->n,
            p->n == 1 ? "" : "s");
    put_results(p);
    put_cautions(p);
    if (p->n > 1) put_settings(p);
    for (pod_report_plot which = 0; which < POD_N_PLOTS && is_installed; which++)
        POD_TRY(put_plot(p, which, log, &is_installed));
    if (!is_installed) {
        fputs("<p>No plots: gnuplot was not installed.</p>\n", p->to);
        pod_log_say(log, POD_LOG_WARNING, "no plots: gnuplot is not installed (gnuplot-nox)");
    }
    return POD_OK;
}

pod_status pod_report_write(pod_arena *a, const pod_report_content *x, const char *path,
                            pod_log *log)
{
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    const page p = {.to = pod_file_stream(f), .arena = a, .run = x->run, .n = x->n_runs};
    fprintf(p.to, "%s<h1>minipod report</h1>\n", head);
    const pod_status s = p.n > 0 ? put_runs(&p, log) : POD_OK;
    if (s != POD_OK) {
        pod_file_abandon(f);
        return s;
    }
    for (int i = 0; i < x->n_fleets; i++) pod_report_fleet_put(&x->fleet[i], p.to);
    fputs("</body></html>\n", p.to);
    return pod_file_close(f);
}
