#include <inttypes.h>
#include <string.h>

#include "bench/fleet/fleet.h"
#include "kernels/base/arith.h"
#include "kernels/base/parse.h"
#include "runtime/core/words.h"
#include "runtime/fleet/jobs/mix.h"

static const double HOUR_S = 3600, DAY_S = 86400;
enum { WORD_BYTES = 80, MAX_PODS = 1024 };

/* ---- pods ------------------------------------------------------------------------------------ */

/* "4@tpu-v3", "tpu-v4", "2@pool:64" */
static pod_status parse_pods(const char *word, pod_fleet_kind *out)
{
    const char *at = strchr(word, '@');
    int64_t n = 1;
    if (at) {
        char number[WORD_BYTES];
        snprintf(number, sizeof number, "%.*s", (int)(at - word), word);
        POD_TRY(pod_parse_int("pods", number, 1, MAX_PODS, &n));
    }
    *out = (pod_fleet_kind){.n_pods = (int)n};
    return pod_topology_parse(at ? at + 1 : word, &out->topology);
}

static pod_status read_pods(pod_fleet_study *s)
{
    const char *text = pod_config_text(s->config, POD_OPT_PODS);
    while (*text) {
        char word[WORD_BYTES];
        pod_fleet_kind *k = &s->kind[s->n_kinds];
        POD_TRY(pod_word_take("pods", &text, word, sizeof word));
        if (s->n_kinds == POD_FLEET_KINDS)
            return pod_fail(POD_E_INVALID, "pods: more than %d kinds", POD_FLEET_KINDS);
        POD_TRY(parse_pods(word, k));
        for (int i = 0; i < s->n_kinds; i++)
            if (strcmp(s->kind[i].topology.name, k->topology.name) == 0)
                return pod_fail(POD_E_INVALID, "pods: %s stands twice; N@%s has several",
                                k->topology.name, k->topology.name);
        s->n_kinds++;
    }
    return s->n_kinds > 0 ? POD_OK : pod_fail(POD_E_INVALID, "pods: need one at least");
}

/* ---- policy ---------------------------------------------------------------------------------- */

/* Chips, or a class, which begins at another size in each kind of pods. */
static pod_status read_protection(pod_fleet_study *s)
{
    const char *text = pod_config_text(s->config, POD_OPT_PROTECT);
    s->protected_class = -1;
    if (strcmp(text, "none") == 0) return POD_OK;
    for (int class = 1; class < POD_FLEET_CLASSES; class ++) {
        if (strcmp(text, pod_fleet_class_name(class)) != 0) continue;
        s->protected_class = class;
        return POD_OK;
    }
    if (*text >= '0' && *text <= '9')
        return pod_parse_int("protect", text, 1, 1 << 24, &s->policy.protected_chips);
    return pod_fail(POD_E_INVALID,
                    "protect: '%.40s' is neither a number of chips nor medium, large or "
                    "extra-large",
                    text);
}

static pod_status read_policy(pod_fleet_study *s)
{
    const pod_config *c = s->config;
    pod_fleet_policy *p = &s->policy;
    p->order = (pod_order)pod_order_find(pod_config_text(c, POD_OPT_ORDER));
    p->backfill = (pod_backfill)pod_backfill_find(pod_config_text(c, POD_OPT_BACKFILL));
    p->placement = pod_placement_find(pod_config_text(c, POD_OPT_PLACE));
    p->preempts = pod_config_bool(c, POD_OPT_PREEMPT);
    p->grace = pod_stamp_of(pod_config_double(c, POD_OPT_GRACE) * HOUR_S);
    POD_TRY(read_protection(s));
    p->moves = pod_config_bool(c, POD_OPT_DEFRAG);
    p->moves_after = pod_stamp_of(pod_config_double(c, POD_OPT_DEFRAG_AFTER) * HOUR_S);
    p->move_margin = pod_config_double(c, POD_OPT_DEFRAG_MARGIN);
    p->resizes = pod_config_bool(c, POD_OPT_ELASTIC);
    if (p->resizes && p->backfill == POD_BACKFILL_conservative)
        return pod_fail(POD_E_INVALID, "elastic: does not go with --backfill conservative, whose "
                                       "reservations are of one size");
    p->spare_chips = pod_config_int(c, POD_OPT_SPARE);
    for (int i = 0; i < s->n_kinds; i++) {
        const pod_fleet_kind *k = &s->kind[i];
        const int64_t n_chips = pod_topology_chips(&k->topology) * k->n_pods;
        if (p->spare_chips >= n_chips)
            return pod_fail(POD_E_INVALID,
                            "spare: %" PRId64 " chips, but all pods of %s have %" PRId64,
                            p->spare_chips, k->topology.name, n_chips);
    }
    if (p->preempts && p->order != POD_ORDER_priority)
        return pod_fail(POD_E_INVALID, "preempt: takes --order priority, found %s",
                        pod_config_text(c, POD_OPT_ORDER));
    return POD_OK;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static pod_slice_shape shape_of(const pod_fleet_entry *e)
{
    return (pod_slice_shape){{e->shape[0], e->shape[1], e->shape[2]}};
}

/* The kind of pods that the job names; else the first that has room for it. */
static pod_status find_kind(const pod_fleet_study *s, pod_placer *const placer[],
                            const pod_fleet_entry *e, int *kind, int *n_cells)
{
    char name[POD_FLEET_NAME_BYTES];
    int64_t largest = 0;
    const bool is_named = !s->jobs.is_foreign && *e->group;
    bool is_known = false;
    for (int i = 0; i < s->n_kinds; i++) {
        const pod_topology *t = &s->kind[i].topology;
        if (is_named && strcmp(t->name, e->group) != 0) continue;
        is_known = true;
        largest = pod_max(largest, pod_topology_chips(t));
        const pod_slice_shape shape = shape_of(e);
        *n_cells = pod_slice_shape_is_known(&shape) ? pod_placer_cells_of(placer[i], &shape)
                                                    : pod_placer_cells_for(placer[i], e->chips);
        *kind = i;
        if (*n_cells > 0) return POD_OK;
    }
    if (!is_known)
        return pod_fail(POD_E_INVALID,
                        "%s goes to machine '%.40s', but --pods has none of that name",
                        pod_fleet_name_of(s, e, name), e->group);
    if (e->shape[0] > 0)
        return pod_fail(POD_E_INVALID, "%s asks for a slice of %dx%dx%d; %s%.40s has one",
                        pod_fleet_name_of(s, e, name), e->shape[0], e->shape[1], e->shape[2],
                        is_named ? "no pod of " : "no pod", is_named ? e->group : "");
    return pod_fail(POD_E_INVALID,
                    "%s asks for %" PRId64 " chips; the largest pod%s%.40s has %" PRId64
                    " and no such slice",
                    pod_fleet_name_of(s, e, name), e->chips, is_named ? " of " : "",
                    is_named ? e->group : "", largest);
}

/* A half, a quarter ... of the chips, as far as there are such slices; steps take as much longer, unless they
 * are simulated there. */
static pod_status list_sizes(const pod_fleet_study *s, const pod_fleet_kind *k,
                             const pod_placer *placer, const pod_fleet_entry *e, int n_cells,
                             pod_arena *a, pod_fleet_request *r)
{
    enum { MOST = 24 };
    if (!s->policy.resizes || !s->starts_and_saves) return POD_OK;
    pod_fleet_size *size = POD_ARENA_NEW(a, pod_fleet_size, MOST);
    if (!size) return POD_E_NOMEM;
    r->smaller = size;
    for (int64_t chips = e->chips / 2; chips >= e->min_chips && r->n_smaller < MOST; chips /= 2) {
        pod_fleet_behaviour b;
        const int n = pod_placer_cells_for(placer, chips);
        if (n == 0 || n >= n_cells) continue;
        POD_TRY(pod_fleet_behaviour_of(s, e, &k->topology, n, &b));
        if (e->batch == 0) b.plan.step = b.plan.step * e->chips / chips;
        b.plan.n_steps = r->plan.n_steps;
        b.plan.every = pod_min(pod_max(1, r->plan.every * r->plan.step / pod_max(1, b.plan.step)),
                               b.plan.n_steps);
        size[r->n_smaller++] = (pod_fleet_size){chips, b.plan};
        n_cells = n;
    }
    return POD_OK;
}

static pod_status add_job(pod_fleet_study *s, pod_placer *const placer[], const pod_fleet_entry *e,
                          pod_stamp origin, pod_arena *a)
{
    int k = 0, n_cells = 0;
    const double submit = (double)(e->submit - origin) / s->load;
    if (submit > (double)s->horizon) {
        s->n_late++;
        return POD_OK;
    }
    POD_TRY(find_kind(s, placer, e, &k, &n_cells));
    pod_fleet_kind *kind = &s->kind[k];
    pod_fleet_request r = {.name = e->name,
                           .submit = s->load == 1 ? e->submit - origin : (pod_stamp)submit,
                           .chips = e->chips,
                           .shape = shape_of(e),
                           .priority = e->priority,
                           .estimate = 1};
    pod_fleet_behaviour b;
    POD_TRY(pod_fleet_behaviour_of(s, e, &kind->topology, n_cells, &b));
    r.plan = b.plan;
    if (e->estimate > 0)
        r.estimate = (double)e->estimate /
                     (e->batch > 0 ? (double)b.plan.n_steps * (double)b.plan.step : (double)e->run);
    if (e->min_chips > 0) POD_TRY(list_sizes(s, kind, placer[k], e, n_cells, a, &r));
    kind->entry[kind->n_jobs] = e;
    kind->ideal_share[kind->n_jobs] = b.ideal_share;
    kind->request[kind->n_jobs++] = r;
    return POD_OK;
}

/* A trace begins with its first job; minipod's own file says when it does. */
static pod_stamp origin_of(const pod_fleet_study *s)
{
    return s->jobs.is_foreign ? s->jobs.entry[0].submit : 0;
}

static pod_status add_jobs(pod_fleet_study *s, pod_arena *a)
{
    pod_placer *placer[POD_FLEET_KINDS];
    for (int i = 0; i < s->n_kinds; i++) {
        pod_fleet_kind *k = &s->kind[i];
        POD_TRY(pod_placer_create(a, s->policy.placement, &k->topology, &placer[i]));
        k->request = POD_ARENA_NEW(a, pod_fleet_request, s->jobs.n);
        k->entry = POD_ARENA_NEW(a, const pod_fleet_entry *, s->jobs.n);
        k->ideal_share = POD_ARENA_NEW(a, double, s->jobs.n);
        if (!k->request || !k->entry || !k->ideal_share) return POD_E_NOMEM;
    }
    const pod_stamp origin = origin_of(s);
    for (int i = 0; i < s->jobs.n; i++) POD_TRY(add_job(s, placer, &s->jobs.entry[i], origin, a));
    return POD_OK;
}

static pod_status draw_mix(pod_fleet_study *s, pod_arena *a, const char *path)
{
    pod_mix mix;
    pod_mix_site site[POD_FLEET_KINDS];
    for (int i = 0; i < s->n_kinds; i++)
        site[i] = (pod_mix_site){s->kind[i].topology.name,
                                 pod_topology_chips(&s->kind[i].topology) * s->kind[i].n_pods};
    const pod_arrivals arrivals =
        (pod_arrivals)pod_arrivals_find(pod_config_text(s->config, POD_OPT_ARRIVALS));
    POD_TRY(pod_mix_read(a, path, &mix));
    POD_TRY(
        pod_mix_draw(a, &mix, site, s->n_kinds, arrivals, s->load, s->horizon, s->seed, &s->jobs));
    s->jobs_path = path;
    s->load = 1; /* it is in the arrivals */
    return POD_OK;
}

static pod_status find_jobs(pod_fleet_study *s, pod_arena *a)
{
    const char *mix = pod_config_text(s->config, POD_OPT_MIX);
    if (*mix && *s->jobs_path)
        return pod_fail(POD_E_INVALID, "mix: --jobs is given too, one of them must go");
    if (!*mix && !*s->jobs_path)
        return pod_fail(POD_E_INVALID, "jobs: which ones? --jobs FILE, FORMAT:FILE of a trace, or "
                                       "--mix FILE; --help-all shows the formats");
    return *mix ? draw_mix(s, a, mix) : pod_fleet_jobs_read(a, s->jobs_path, &s->jobs);
}

/* Puts one more job behind those that are submitted with it or before; a trace's instants are its own. */
static pod_status insert(pod_fleet_study *s, pod_arena *a, pod_fleet_entry asked)
{
    const pod_fleet_jobs *old = &s->jobs;
    pod_fleet_entry *entry = POD_ARENA_NEW(a, pod_fleet_entry, old->n + 1);
    int at = 0;
    if (!entry) return POD_E_NOMEM;
    asked.submit = origin_of(s) + (pod_stamp)((double)asked.submit * s->load);
    while (at < old->n && old->entry[at].submit <= asked.submit) at++;
    memcpy(entry, old->entry, (size_t)at * sizeof entry[0]);
    entry[at] = asked;
    memcpy(&entry[at + 1], &old->entry[at], (size_t)(old->n - at) * sizeof entry[0]);
    s->jobs.entry = entry;
    s->jobs.n++;
    return POD_OK;
}

pod_status pod_fleet_study_of(const pod_fleet_case *x, pod_arena *a, pod_fleet_study *out)
{
    const pod_config *c = x->config;
    *out = (pod_fleet_study){.config = c,
                             .steps = x->steps,
                             .jobs_path = pod_config_text(c, POD_OPT_JOBS),
                             .horizon = pod_stamp_of(pod_config_double(c, POD_OPT_DAYS) * DAY_S),
                             .warm_up = pod_stamp_of(pod_config_double(c, POD_OPT_WARM_UP) * DAY_S),
                             .seed = x->seed,
                             .load = pod_config_double(c, POD_OPT_LOAD)};
    if (out->warm_up >= out->horizon)
        return pod_fail(POD_E_INVALID, "warm-up: %g days, but --days is %g",
                        pod_config_double(c, POD_OPT_WARM_UP), pod_config_double(c, POD_OPT_DAYS));
    POD_TRY(read_pods(out));
    POD_TRY(read_policy(out));
    POD_TRY(pod_fleet_read_behaviour(out, a));
    pod_fleet_pull(out, x->levers);
    POD_TRY(find_jobs(out, a));
    if (x->asked) POD_TRY(insert(out, a, *x->asked));
    out->has_weeks = strcmp(pod_config_text(c, POD_OPT_SEGMENTS), "week") == 0;
    out->starts_and_saves = !out->jobs.is_foreign || *pod_config_text(c, POD_OPT_JOB) != '\0';
    return add_jobs(out, a);
}
