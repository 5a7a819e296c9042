/* minipod's own file of jobs, a row each, in the order of their submission:
 *
 *     job         a name, each once
 *     submit_s    seconds, 0 or more
 *     chips       what it asks for, or
 *     shape       of its slice, such as 4x4x8, in any orientation
 *     steps, step_s   how many, and what one takes; or
 *     duration_s  training time, where its steps are not known; or
 *     steps or duration_s, model and batch: what a step takes is for the caller to find out
 *
 * and, where it has these columns and the row has a text in them:
 *
 *     machine     the pods that it goes to, by name; default: those it fits, the first named
 *     priority    a whole number, 0; higher is first
 *     estimate_s  its owner's estimate of its training time; default: exact
 *     ideal_s     of a step: what it would take at the peak, for program goodput
 *     min_chips   of an elastic job, which may run on a half, a quarter ... of its chips down to these
 *     checkpoint_bytes, model, phase, outcome
 *
 * The texts have no comma, quote or line break. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "runtime/fleet/jobs/csv.h"
#include "runtime/fleet/jobs/jobs.h"

enum { MAX_CHIPS = 1 << 24, MAX_PRIORITY = 1000000 };
#define MAX_SECONDS 1e9

typedef struct columns {
    int job, submit, chips, shape, steps, step, duration; /* -1: it has none */
    int machine, priority, estimate, ideal, bytes, model, phase, outcome, batch, min_chips;
} columns;

static const struct {
    const char *name;
    size_t at;
    bool is_needed;
} known[] = {
    {"job", offsetof(columns, job), true},
    {"submit_s", offsetof(columns, submit), true},
    {"chips", offsetof(columns, chips), false},
    {"shape", offsetof(columns, shape), false},
    {"steps", offsetof(columns, steps), false},
    {"step_s", offsetof(columns, step), false},
    {"duration_s", offsetof(columns, duration), false},
    {"machine", offsetof(columns, machine), false},
    {"priority", offsetof(columns, priority), false},
    {"estimate_s", offsetof(columns, estimate), false},
    {"ideal_s", offsetof(columns, ideal), false},
    {"checkpoint_bytes", offsetof(columns, bytes), false},
    {"model", offsetof(columns, model), false},
    {"phase", offsetof(columns, phase), false},
    {"outcome", offsetof(columns, outcome), false},
    {"batch", offsetof(columns, batch), false},
    {"min_chips", offsetof(columns, min_chips), false},
};

enum { N_KNOWN = sizeof known / sizeof known[0] };

/* A column that it does not know is a typing error more often than a remark. */
static pod_status find_columns(const pod_csv *c, columns *out)
{
    for (int i = 0; i < N_KNOWN; i++) {
        int *at = (int *)(void *)((char *)out + known[i].at);
        *at = pod_csv_column(c, known[i].name);
        if (*at < 0 && known[i].is_needed) POD_TRY(pod_csv_need(c, known[i].name, at));
    }
    for (int k = 0; k < c->n_columns; k++) {
        bool is_known = false;
        for (int i = 0; i < N_KNOWN; i++) is_known |= strcmp(known[i].name, c->column[k]) == 0;
        if (!is_known)
            return pod_csv_bad(c, "there is no column '%.40s'; minipod fleet --help-all has them",
                               c->column[k]);
    }
    if (out->chips < 0 && out->shape < 0) return pod_csv_need(c, "chips", &out->chips);
    if (out->duration < 0 && (out->steps < 0 || (out->step < 0 && out->batch < 0)))
        return pod_csv_bad(c, "want the column duration_s, or steps and one of step_s and batch");
    return POD_OK;
}

/* Its chips follow from its shape, if it has one. */
static pod_status read_size(const pod_csv *c, const columns *k, pod_fleet_entry *e)
{
    int64_t extent[3], chips = 1;
    int n;
    if (!pod_csv_has(c, k->shape)) {
        if (k->chips < 0)
            return pod_csv_bad(c, "job '%.80s' has neither chips nor a shape", e->name);
        return pod_csv_int(c, k->chips, 1, MAX_CHIPS, &e->chips);
    }
    if (pod_parse_dims("shape", c->field[k->shape], 3, extent, &n) != POD_OK)
        return pod_csv_bad(c, "shape '%.40s' of job '%.80s', want one such as 4x4x8",
                           c->field[k->shape], e->name);
    for (int i = 0; i < 3; i++) {
        const int64_t x = i < n ? extent[i] : 1;
        if (x > MAX_CHIPS || (chips *= x) > MAX_CHIPS)
            return pod_csv_bad(c, "shape %.40s has more than %d chips", c->field[k->shape],
                               MAX_CHIPS);
        e->shape[i] = (int)x;
    }
    e->chips = chips;
    if (pod_csv_has(c, k->chips)) {
        POD_TRY(pod_csv_int(c, k->chips, 1, MAX_CHIPS, &e->chips));
        if (e->chips != chips)
            return pod_csv_bad(c, "shape %.40s has %" PRId64 " chips, found chips %" PRId64,
                               c->field[k->shape], chips, e->chips);
    }
    if (pod_csv_has(c, k->min_chips))
        return pod_csv_bad(c, "job '%.80s' has a shape and min_chips: one of them must go",
                           e->name);
    return POD_OK;
}

/* Of a job whose step is not known yet: its steps, or its training time. */
static pod_status read_simulated(const pod_csv *c, const columns *k, pod_fleet_entry *e)
{
    double run_s;
    if (!pod_csv_has(c, k->model))
        return pod_csv_bad(c, "job '%.80s' has a batch and no model", e->name);
    if (pod_csv_has(c, k->step) || pod_csv_has(c, k->ideal))
        return pod_csv_bad(c, "job '%.80s' has a batch, from which step_s and ideal_s follow",
                           e->name);
    POD_TRY(pod_csv_int(c, k->batch, 1, INT64_C(1) << 24, &e->batch));
    if (pod_csv_has(c, k->steps))
        return pod_csv_int(c, k->steps, 1, INT64_C(1000000000000), &e->n_steps);
    if (!pod_csv_has(c, k->duration))
        return pod_csv_bad(c, "job '%.80s' has neither steps nor duration_s", e->name);
    POD_TRY(pod_csv_double(c, k->duration, 1e-9, MAX_SECONDS, &run_s));
    e->run = pod_stamp_of(run_s);
    return POD_OK;
}

static pod_status read_run(const pod_csv *c, const columns *k, pod_fleet_entry *e)
{
    if (pod_csv_has(c, k->batch)) return read_simulated(c, k, e);
    double step_s, run_s;
    const bool has_steps = pod_csv_has(c, k->steps) && pod_csv_has(c, k->step);
    if (!has_steps && !pod_csv_has(c, k->duration))
        return pod_csv_bad(c, "job '%.80s' has neither steps and step_s nor duration_s", e->name);
    if (!has_steps) {
        POD_TRY(pod_csv_double(c, k->duration, 1e-9, MAX_SECONDS, &run_s));
        e->run = pod_stamp_of(run_s);
        return POD_OK;
    }
    POD_TRY(pod_csv_int(c, k->steps, 1, INT64_C(1000000000000), &e->n_steps));
    POD_TRY(pod_csv_double(c, k->step, 1e-9, MAX_SECONDS, &step_s));
    if ((double)e->n_steps * step_s > MAX_SECONDS)
        return pod_csv_bad(c, "job '%.80s' trains for %g s, more than %g", e->name,
                           (double)e->n_steps * step_s, MAX_SECONDS);
    e->run = e->n_steps * pod_stamp_of(step_s);
    if (!pod_csv_has(c, k->ideal)) return POD_OK;
    double ideal_s;
    POD_TRY(pod_csv_double(c, k->ideal, 0, step_s, &ideal_s));
    e->ideal_share = ideal_s / step_s;
    return POD_OK;
}

static pod_status read_rest(const pod_csv *c, const columns *k, pod_fleet_entry *e)
{
    if (pod_csv_has(c, k->priority)) {
        int64_t priority;
        POD_TRY(pod_csv_int(c, k->priority, -MAX_PRIORITY, MAX_PRIORITY, &priority));
        e->priority = (int)priority;
    }
    if (pod_csv_has(c, k->estimate)) {
        double estimate_s;
        POD_TRY(pod_csv_double(c, k->estimate, 1e-9, MAX_SECONDS, &estimate_s));
        e->estimate = pod_stamp_of(estimate_s);
    }
    if (pod_csv_has(c, k->min_chips))
        POD_TRY(pod_csv_int(c, k->min_chips, 1, e->chips, &e->min_chips));
    if (pod_csv_has(c, k->bytes)) POD_TRY(pod_csv_int(c, k->bytes, 0, INT64_C(1) << 50, &e->bytes));
    if (k->machine >= 0) e->group = c->field[k->machine];
    POD_TRY(pod_csv_text(c, k->model, &e->model));
    POD_TRY(pod_csv_text(c, k->phase, &e->phase));
    return pod_csv_text(c, k->outcome, &e->outcome);
}

pod_status pod__jobs_read_csv(pod__jobs_list *l, const char *file, char *text)
{
    pod_csv c;
    columns k;
    bool more;
    POD_TRY(pod_csv_open(file, text, &c));
    POD_TRY(find_columns(&c, &k));
    for (pod_stamp last = 0;;) {
        pod_fleet_entry e = {.group = "", .ideal_share = (double)NAN};
        double submit_s;
        POD_TRY(pod_csv_next(&c, &more));
        if (!more) return POD_OK;
        POD_TRY(pod_csv_text(&c, k.job, &e.name));
        e.line = c.line;
        if (!*e.name) return pod_csv_bad(&c, "a job without a name");
        POD_TRY(pod_csv_double(&c, k.submit, 0, MAX_SECONDS, &submit_s));
        POD_TRY(read_size(&c, &k, &e));
        e.submit = pod_stamp_of(submit_s);
        if (e.submit < last)
            return pod_csv_bad(&c, "submit_s %s goes back: jobs stand in the order of submission",
                               c.field[k.submit]);
        last = e.submit;
        POD_TRY(read_run(&c, &k, &e));
        POD_TRY(read_rest(&c, &k, &e));
        POD_TRY(pod__jobs_add(l, &e));
    }
}
