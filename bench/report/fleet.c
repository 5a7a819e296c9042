/* The part of a fleet in `minipod report`: the tables of fleet.json, and the picture beside it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/run_json.h"
#include "bench/report/report.h"
#include "runtime/core/file.h"

enum { MAX_BYTES = 1 << 26 };

static bool has_file(const char *folder, const char *name, char path[POD_PATH_BYTES])
{
    return pod_path_join(folder, name, path) == POD_OK && access(path, R_OK) == 0;
}

bool pod_report_is_fleet(const char *folder)
{
    char path[POD_PATH_BYTES];
    return has_file(folder, "fleet.json", path);
}

static pod_status fail_format(const char *path)
{
    return pod_fail(POD_E_FORMAT, "%s: is no record of minipod fleet", path);
}

pod_status pod_report_fleet_parse(const char *path, const char *text, cJSON **out)
{
    cJSON *record = cJSON_Parse(text);
    const cJSON *schema = pod_run_json_item(record, "schema");
    const bool is_one = cJSON_IsString(schema) &&
                        strcmp(schema->valuestring, "minipod.fleet") == 0 &&
                        cJSON_IsArray(pod_run_json_item(record, "segments"));
    if (is_one) {
        *out = record;
        return POD_OK;
    }
    cJSON_Delete(record);
    return fail_format(path);
}

pod_status pod_report_fleet_read(pod_arena *a, const char *folder, pod_report_fleet *out)
{
    char path[POD_PATH_BYTES], *text;
    pod_report_fleet f = {.folder = folder};
    POD_TRY(pod_path_join(folder, "fleet.json", path));
    POD_TRY(pod_file_read_text(a, path, MAX_BYTES, &text));
    POD_TRY(pod_report_fleet_parse(path, text, &f.record));
    if (has_file(folder, "occupancy.svg", path) &&
        pod_file_read_text(a, path, MAX_BYTES, &text) == POD_OK)
        f.picture = strstr(text, "<svg");
    *out = f;
    return POD_OK;
}

/* ---- the page -------------------------------------------------------------------------------- */

static void put_value(FILE *to, const cJSON *value, bool is_share)
{
    fputs("<td>", to);
    if (cJSON_IsString(value))
        pod_report_put_text(to, value->valuestring);
    else if (!cJSON_IsNumber(value))
        fputc('-', to);
    else if (is_share)
        fprintf(to, "%.2f %%", 100 * value->valuedouble);
    else
        fprintf(to, value->valuedouble == floor(value->valuedouble) ? "%.0f" : "%.2f",
                value->valuedouble);
    fputs("</td>", to);
}

/* "once_started_pct" is shown as "once started pct". */
static void put_key(FILE *to, const char *key)
{
    char text[64];
    snprintf(text, sizeof text, "%s", key);
    for (char *c = text; *c; c++)
        if (*c == '_') *c = ' ';
    fputs("<th>", to);
    pod_report_put_text(to, text);
    fputs("</th>", to);
}

/* A row an object; the columns are those of the first. Goodputs are shares of 1. */
static void put_table(FILE *to, const cJSON *record, const char *key, const char *title)
{
    const cJSON *row, *x, *rows = pod_run_json_item(record, key);
    if (!cJSON_IsArray(rows) || !rows->child) return;
    fprintf(to, "<h3>%s</h3>\n<div><table>\n<tr>", title);
    cJSON_ArrayForEach(x, rows->child) if (x->string) put_key(to, x->string);
    fputs("</tr>\n", to);
    cJSON_ArrayForEach(row, rows)
    {
        fputs("<tr>", to);
        cJSON_ArrayForEach(x, row) put_value(to, x, x->string && strstr(x->string, "goodput"));
        fputs("</tr>\n", to);
    }
    fputs("</table></div>\n", to);
}

static void put_fact(FILE *to, const cJSON *record, const char *key, const char *before)
{
    const cJSON *x = pod_run_json_item(record, key);
    fputs(before, to);
    if (cJSON_IsString(x)) pod_report_put_text(to, x->valuestring);
    if (cJSON_IsNumber(x)) fprintf(to, "%g", x->valuedouble);
}

void pod_report_fleet_put(const pod_report_fleet *f, FILE *to)
{
    fputs("<h2>Fleet ", to);
    pod_report_put_text(to, f->folder);
    fputs("</h2>\n<p>Clock virtual; ", to);
    put_fact(to, f->record, "pods", "pods ");
    put_fact(to, f->record, "jobs", ", jobs ");
    put_fact(to, f->record, "days", ", days ");
    put_fact(to, f->record, "seed", ", seed ");
    fputs(".</p>\n", to);
    if (f->picture) fprintf(to, "<div>%s</div>\n", f->picture);
    put_table(to, f->record, "segments", "Goodput");
    put_table(to, f->record, "ledger", "Where chip-time went");
    put_table(to, f->record, "waits", "Waits before the first start");
    put_table(to, f->record, "reasons", "What happened to jobs, and what they waited for");
    put_table(to, f->record, "steps", "Simulated steps");
}
