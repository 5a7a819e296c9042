/* Traces of other clusters. What they lack stays unknown: none has shapes, models or phases. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "runtime/fleet/jobs/csv.h"
#include "runtime/fleet/jobs/jobs.h"

enum { MAX_GPUS = 1 << 20 };
#define MAX_SECONDS 1e10

static pod_status name_line(pod__jobs_list *l, const char *format, int line, pod_fleet_entry *e)
{
    e->line = line;
    e->name = pod_arena_text(l->arena, "%s-%d", format, line);
    return e->name ? POD_OK : POD_E_NOMEM;
}

static const pod_fleet_entry nothing = {
    .name = "", .group = "", .model = "", .phase = "", .outcome = "", .ideal_share = (double)NAN};

/* ---- Philly ---------------------------------------------------------------------------------- */

/* Days from 1970-01-01 in the Gregorian calendar; years begin in March (Hinnant, "chrono-compatible
 * low-level date algorithms"). */
static int64_t days_of(int year, int month, int day)
{
    const int64_t y = month <= 2 ? year - 1 : year, era = y / 400, of_era = y - era * 400;
    const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static pod_status read_date(const pod_csv *c, int column, pod_stamp *out)
{
    int year, month, day, hour, minute, second, used = 0;
    const char *text = c->field[column];
    const int n = sscanf(text, "%4d-%2d-%2d %2d:%2d:%2d%n", &year, &month, &day, &hour, &minute,
                         &second, &used);
    const bool is_date = n == 6 && text[used] == '\0' && year >= 1970 && year < 2200 &&
                         month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour >= 0 &&
                         hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 61;
    if (!is_date)
        return pod_csv_bad(c, "%s '%.40s' is no time like 2017-10-01 08:30:00", c->column[column],
                           text);
    *out = (((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) *
           INT64_C(1000000000);
    return POD_OK;
}

/* Whole seconds, one at least, as the replays of this trace that were published have them. */
pod_status pod__jobs_read_philly(pod__jobs_list *l, const char *file, char *text)
{
    pod_csv c;
    int time, duration, gpus, cluster;
    bool more;
    POD_TRY(pod_csv_open(file, text, &c));
    POD_TRY(pod_csv_need(&c, "timestamp", &time));
    POD_TRY(pod_csv_need(&c, "duration", &duration));
    POD_TRY(pod_csv_need(&c, "num_gpus", &gpus));
    POD_TRY(pod_csv_need(&c, "cluster", &cluster));
    for (;;) {
        pod_fleet_entry e = nothing;
        double run_s;
        POD_TRY(pod_csv_next(&c, &more));
        if (!more) return POD_OK;
        POD_TRY(read_date(&c, time, &e.submit));
        POD_TRY(pod_csv_double(&c, duration, 0, MAX_SECONDS, &run_s));
        POD_TRY(pod_csv_int(&c, gpus, 0, MAX_GPUS, &e.chips));
        e.run = pod_stamp_of(fmax(1, floor(run_s)));
        e.group = c.field[cluster];
        POD_TRY(name_line(l, "philly", c.line, &e));
        if (e.chips == 0)
            l->n_skipped++;
        else
            POD_TRY(pod__jobs_add(l, &e));
    }
}

/* ---- openb ----------------------------------------------------------------------------------- */

/* Pods with GPUs; a share of a GPU counts as one. Those that run at the trace's end are cut there. */
pod_status pod__jobs_read_openb(pod__jobs_list *l, const char *file, char *text)
{
    pod_csv c;
    int name, gpus, created, deleted, phase;
    bool more;
    POD_TRY(pod_csv_open(file, text, &c));
    POD_TRY(pod_csv_need(&c, "name", &name));
    POD_TRY(pod_csv_need(&c, "num_gpu", &gpus));
    POD_TRY(pod_csv_need(&c, "creation_time", &created));
    POD_TRY(pod_csv_need(&c, "deletion_time", &deleted));
    phase = pod_csv_column(&c, "pod_phase"); /* Running: at the trace's end */
    for (;;) {
        pod_fleet_entry e = nothing;
        double from_s, until_s;
        POD_TRY(pod_csv_next(&c, &more));
        if (!more) return POD_OK;
        POD_TRY(pod_csv_int(&c, gpus, 0, MAX_GPUS, &e.chips));
        POD_TRY(pod_csv_double(&c, created, 0, MAX_SECONDS / 2, &from_s));
        POD_TRY(pod_csv_double(&c, deleted, 0, MAX_SECONDS / 2, &until_s));
        if (until_s < from_s)
            return pod_csv_bad(&c, "deletion_time %s is before creation_time %s", c.field[deleted],
                               c.field[created]);
        POD_TRY(pod_csv_text(&c, name, &e.name));
        if (!*e.name) return pod_csv_bad(&c, "a pod without a name");
        e.line = c.line;
        e.submit = pod_stamp_of(from_s);
        e.run = pod_stamp_of(until_s - from_s);
        POD_TRY(pod_csv_text(&c, phase, &e.outcome));
        if (e.chips == 0 || e.run == 0)
            l->n_skipped++;
        else
            POD_TRY(pod__jobs_add(l, &e));
    }
}

/* ---- SWF ------------------------------------------------------------------------------------- */

/* D. Feitelson's Parallel Workloads Archive, "The standard workload format" (version 2): numbers from
 * 1 in his description are from 0 here; -1 is unknown, ; begins a comment. */
enum {
    SWF_JOB,
    SWF_SUBMIT,
    SWF_RUN = 3,
    SWF_USED = 4,
    SWF_ASKED = 7,
    SWF_TIME = 8,
    SWF_STATUS = 10,
    SWF_FIELDS = 18
};

static const char *swf_outcome(double status)
{
    return status == 1 ? "completed" : status == 0 ? "failed" : status == 5 ? "cancelled" : "";
}

static pod_status read_swf_line(pod__jobs_list *l, const char *file, int number, char *line)
{
    double value[SWF_FIELDS];
    int n = 0;
    char what[320], *rest = NULL;
    snprintf(what, sizeof what, "%.280s:%d: field", file, number);
    for (char *word = strtok_r(line, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
        if (n < SWF_FIELDS && pod_parse_double(what, word, -1, 1e12, &value[n]) != POD_OK)
            return POD_E_FORMAT;
        n++;
    }
    if (n != SWF_FIELDS)
        return pod_fail(POD_E_FORMAT, "%s:%d: %d numbers, want the %d of SWF", file, number, n,
                        SWF_FIELDS);
    pod_fleet_entry e = nothing;
    const double chips = value[SWF_ASKED] > 0 ? value[SWF_ASKED] : value[SWF_USED];
    if (value[SWF_SUBMIT] < 0 || value[SWF_SUBMIT] > MAX_SECONDS / 2)
        return pod_fail(POD_E_FORMAT, "%s:%d: submit time %g, want 0 or more", file, number,
                        value[SWF_SUBMIT]);
    if (chips < 1 || chips > MAX_GPUS || value[SWF_RUN] <= 0 || value[SWF_RUN] > MAX_SECONDS / 2) {
        l->n_skipped++;
        return POD_OK;
    }
    POD_TRY(name_line(l, "swf", number, &e));
    e.submit = pod_stamp_of(value[SWF_SUBMIT]);
    e.run = pod_stamp_of(value[SWF_RUN]);
    e.chips = (int64_t)chips;
    e.outcome = swf_outcome(value[SWF_STATUS]);
    e.estimate = value[SWF_TIME] > 0 ? pod_stamp_of(fmin(value[SWF_TIME], 9e9)) : 0;
    return pod__jobs_add(l, &e);
}

pod_status pod__jobs_read_swf(pod__jobs_list *l, const char *file, char *text)
{
    int number = 0;
    for (char *line = text; line;) {
        char *end = strchr(line, '\n');
        if (end) *end++ = '\0';
        number++;
        line += strspn(line, " \t\r");
        if (*line != '\0' && *line != ';') POD_TRY(read_swf_line(l, file, number, line));
        line = end;
    }
    return POD_OK;
}
