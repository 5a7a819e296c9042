#include "runtime/fleet/jobs/mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "runtime/core/file.h"
#include "runtime/fleet/jobs/csv.h"

enum { MAX_BYTES = 1 << 24, MAX_JOBS = 10000000, MAX_PRIORITY = 1000000 };

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct columns {
    int share, chips, hours; /* needed */
    int machine, model, phase, priority, spread, step, ideal, bytes, batch, min_chips;
} columns;

static const char *const known[] = {
    "share",  "chips",  "hours",   "machine",          "model", "phase",    "priority",
    "spread", "step_s", "ideal_s", "checkpoint_bytes", "batch", "min_chips"};
enum { N_KNOWN = sizeof known / sizeof known[0] };

static pod_status find_columns(const pod_csv *c, columns *k)
{
    POD_TRY(pod_csv_need(c, "share", &k->share));
    POD_TRY(pod_csv_need(c, "chips", &k->chips));
    POD_TRY(pod_csv_need(c, "hours", &k->hours));
    k->machine = pod_csv_column(c, "machine");
    k->model = pod_csv_column(c, "model");
    k->phase = pod_csv_column(c, "phase");
    k->priority = pod_csv_column(c, "priority");
    k->spread = pod_csv_column(c, "spread");
    k->step = pod_csv_column(c, "step_s");
    k->ideal = pod_csv_column(c, "ideal_s");
    k->bytes = pod_csv_column(c, "checkpoint_bytes");
    k->batch = pod_csv_column(c, "batch");
    k->min_chips = pod_csv_column(c, "min_chips");
    for (int i = 0; i < c->n_columns; i++) {
        bool is_known = false;
        for (int n = 0; n < N_KNOWN; n++) is_known |= strcmp(known[n], c->column[i]) == 0;
        if (!is_known)
            return pod_csv_bad(c, "there is no column '%.40s'; minipod fleet --help-all has them",
                               c->column[i]);
    }
    return POD_OK;
}

static pod_status read_row(const pod_csv *c, const columns *k, pod_mix_class *out)
{
    pod_mix_class r = {.step_s = 1, .ideal_s = (double)NAN, .line = c->line};
    int64_t priority = 0;
    POD_TRY(pod_csv_text(c, k->machine, &r.machine));
    POD_TRY(pod_csv_text(c, k->model, &r.model));
    POD_TRY(pod_csv_text(c, k->phase, &r.phase));
    POD_TRY(pod_csv_double(c, k->share, 0, 1, &r.share));
    POD_TRY(pod_csv_int(c, k->chips, 1, 1 << 24, &r.chips));
    POD_TRY(pod_csv_double(c, k->hours, 1e-3, 1e5, &r.hours));
    if (pod_csv_has(c, k->priority))
        POD_TRY(pod_csv_int(c, k->priority, -MAX_PRIORITY, MAX_PRIORITY, &priority));
    if (pod_csv_has(c, k->spread)) POD_TRY(pod_csv_double(c, k->spread, 0, 5, &r.spread));
    if (pod_csv_has(c, k->step)) POD_TRY(pod_csv_double(c, k->step, 1e-6, 3600, &r.step_s));
    if (pod_csv_has(c, k->ideal)) POD_TRY(pod_csv_double(c, k->ideal, 0, r.step_s, &r.ideal_s));
    if (pod_csv_has(c, k->bytes)) POD_TRY(pod_csv_int(c, k->bytes, 0, INT64_C(1) << 50, &r.bytes));
    if (pod_csv_has(c, k->min_chips))
        POD_TRY(pod_csv_int(c, k->min_chips, 1, r.chips, &r.min_chips));
    if (pod_csv_has(c, k->batch)) {
        POD_TRY(pod_csv_int(c, k->batch, 1, INT64_C(1) << 24, &r.batch));
        if (!*r.model) return pod_csv_bad(c, "a batch, and no model");
        if (pod_csv_has(c, k->step) || pod_csv_has(c, k->ideal))
            return pod_csv_bad(c, "a batch, from which step_s and ideal_s follow");
    }
    r.priority = (int)priority;
    *out = r;
    return POD_OK;
}

/* The shares of each machine sum to 1, up to their rounding. */
static pod_status check_shares(const pod_mix *m)
{
    for (int i = 0; i < m->n; i++) {
        double sum = 0;
        for (int k = 0; k < m->n; k++)
            if (strcmp(m->row[k].machine, m->row[i].machine) == 0) sum += m->row[k].share;
        if (fabs(sum - 1) > 1e-6)
            return pod_fail(POD_E_FORMAT, "%s:%d: the shares of jobs%s%.40s sum to %g, want 1",
                            m->name, m->row[i].line, *m->row[i].machine ? " of " : "",
                            m->row[i].machine, sum);
    }
    return POD_OK;
}

pod_status pod_mix_parse(pod_arena *a, const char *name, char *text, pod_mix *out)
{
    pod_csv c;
    columns k;
    pod_mix m = {.name = name};
    pod_mix_class *row = NULL;
    POD_TRY(pod_csv_open(name, text, &c));
    POD_TRY(find_columns(&c, &k));
    for (;;) {
        bool more;
        POD_TRY(pod_csv_next(&c, &more));
        if (!more) break;
        row = POD_ARENA_GROW(a, row, m.n);
        if (!row) return POD_E_NOMEM;
        POD_TRY(read_row(&c, &k, &row[m.n++]));
    }
    if (m.n == 0) return pod_fail(POD_E_FORMAT, "%s: has no classes of jobs", name);
    m.row = row;
    POD_TRY(check_shares(&m));
    *out = m;
    return POD_OK;
}

pod_status pod_mix_read(pod_arena *a, const char *path, pod_mix *out)
{
    char *text;
    POD_TRY(pod_file_read_text(a, path, MAX_BYTES, &text));
    return pod_mix_parse(a, path, text, out);
}

/* ---- drawing --------------------------------------------------------------------------------- */

static double uniform(pod_rng *r) /* (0, 1) */
{
    return ((double)(pod_rng_u64(r) >> 11) + 0.5) * 0x1p-53;
}

static double normal(pod_rng *r) /* Box and Muller */
{
    const double two_pi = 6.283185307179586, length = sqrt(-2 * log(uniform(r)));
    return length * cos(two_pi * uniform(r));
}

static bool is_of(const pod_mix_class *c, const pod_mix_site *s, bool is_first)
{
    return *c->machine ? strcmp(c->machine, s->machine) == 0 : is_first;
}

static pod_status check_machines(const pod_mix *m, const pod_mix_site site[], int n_sites)
{
    for (int i = 0; i < m->n; i++) {
        bool found = false;
        for (int s = 0; s < n_sites; s++) found |= is_of(&m->row[i], &site[s], s == 0);
        if (!found)
            return pod_fail(POD_E_INVALID,
                            "%s:%d: jobs of machine '%.40s', but --pods has none of that name",
                            m->name, m->row[i].line, m->row[i].machine);
    }
    return POD_OK;
}

static const pod_mix_class *draw_class(const pod_mix *m, const pod_mix_site *s, bool is_first,
                                       pod_rng *r)
{
    const pod_mix_class *last = &m->row[0];
    double left = uniform(r);
    for (int i = 0; i < m->n; i++) {
        if (!is_of(&m->row[i], s, is_first) || m->row[i].share <= 0) continue;
        last = &m->row[i];
        left -= last->share;
        if (left < 0) break;
    }
    return last;
}

static pod_status draw_job(const pod_mix_class *c, const pod_mix_site *s, int at, double submit_s,
                           pod_rng *r, pod__jobs_list *l)
{
    const double factor = exp(c->spread * normal(r) - c->spread * c->spread / 2);
    const double steps = round(c->hours * 3600 * factor / c->step_s);
    pod_fleet_entry e = {.group = s->machine,
                         .model = c->model,
                         .phase = c->phase,
                         .outcome = "",
                         .line = c->line,
                         .submit = pod_stamp_of(submit_s),
                         .chips = c->chips,
                         .priority = c->priority,
                         .n_steps = (int64_t)fmin(fmax(steps, 1), 1e9 / c->step_s),
                         .ideal_share = c->ideal_s / c->step_s,
                         .bytes = c->bytes,
                         .min_chips = c->min_chips,
                         .batch = c->batch};
    e.run = e.n_steps * pod_stamp_of(c->step_s);
    if (c->batch > 0) e.n_steps = 0; /* they follow from `run` and the step */
    e.name = pod_arena_text(l->arena, "%s-%d", s->machine, at);
    return e.name ? pod__jobs_add(l, &e) : POD_E_NOMEM;
}

int pod_arrivals_find(const char *name)
{
    static const char *const names[] = {
#define POD_ARRIVALS(name, about) #name,
#include "runtime/fleet/jobs/arrivals.def"
    };
    for (int i = 0; i < POD_N_ARRIVALS; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

/* Instants of arrival, and how many jobs come at each. */
typedef struct arrivals {
    pod_arrivals kind;
    double mean_s; /* between jobs, over all */
    double now_s;
} arrivals;

static int next_arrival(arrivals *x, pod_rng *r)
{
    const double day_s = 86400, two_pi = 6.283185307179586, swing = 0.8, burst = 8;
    if (x->kind == POD_ARRIVALS_bursty) { /* geometric */
        x->now_s -= log(uniform(r)) * x->mean_s * burst;
        return 1 + (int)(log(uniform(r)) / log(1 - 1 / burst));
    }
    if (x->kind == POD_ARRIVALS_poisson) {
        x->now_s -= log(uniform(r)) * x->mean_s;
        return 1;
    }
    do /* thinning: most rates are below the highest */
        x->now_s -= log(uniform(r)) * x->mean_s / (1 + swing);
    while (uniform(r) * (1 + swing) > 1 - swing * cos(two_pi * x->now_s / day_s));
    return 1;
}

/* Each site draws for itself, so that more pods of one leave the jobs of the others as they are. */
static pod_status draw_site(const pod_mix *m, const pod_mix_site site[], int at, pod_arrivals kind,
                            double load, pod_stamp horizon, uint64_t seed, pod__jobs_list *l)
{
    const pod_mix_site *s = &site[at];
    double mean_chip_s = 0;
    int n = 0;
    for (int i = 0; i < m->n; i++)
        if (is_of(&m->row[i], s, at == 0))
            mean_chip_s += m->row[i].share * (double)m->row[i].chips * m->row[i].hours * 3600;
    if (mean_chip_s <= 0) return POD_OK;
    pod_rng r =
        pod_rng_at(seed, (pod_place){.stream = POD_STREAM_FLEET, .layer = 2, .step = (uint32_t)at});
    arrivals x = {.kind = kind, .mean_s = mean_chip_s / (load * (double)s->chips)};
    for (;;) {
        const int n_together = next_arrival(&x, &r);
        if (x.now_s * 1e9 > (double)horizon) return POD_OK;
        if (l->n > MAX_JOBS - n_together)
            return pod_fail(POD_E_INVALID, "%s: more than %d jobs at load %g", m->name, MAX_JOBS,
                            load);
        for (int i = 0; i < n_together; i++)
            POD_TRY(draw_job(draw_class(m, s, at == 0, &r), s, ++n, x.now_s, &r, l));
    }
}

pod_status pod_mix_draw(pod_arena *a, const pod_mix *m, const pod_mix_site site[], int n_sites,
                        pod_arrivals kind, double load, pod_stamp horizon, uint64_t seed,
                        pod_fleet_jobs *out)
{
    pod__jobs_list l = {.arena = a};
    POD_TRY(check_machines(m, site, n_sites));
    for (int s = 0; s < n_sites; s++) POD_TRY(draw_site(m, site, s, kind, load, horizon, seed, &l));
    POD_TRY(pod__jobs_sort(&l));
    *out = (pod_fleet_jobs){.file = m->name, .n = l.n, .entry = l.entry};
    return POD_OK;
}
