/* What each job does: its steps, and how it starts, saves and recovers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/fleet/fleet.h"
#include "bench/job/costs.h"
#include "kernels/base/arith.h"
#include "kernels/base/parse.h"
#include "runtime/study/job_model.h"

#define NS 1e9
static const double HOUR_S = 3600, MAX_COST_S = 1e6, MAX_RUN_S = 1e9;
static const pod_stamp SECOND = 1000000000;

/* ---- settings -------------------------------------------------------------------------------- */

/* The keys of simulate --job that are not of its own single job. */
static pod_status check_keys(const pod_job_keys *k)
{
    static const struct {
        pod_job_key key;
        const char *name, *instead;
    } others[] = {
        {POD_JOB_KEY_days, "days", "--jobs says how long jobs train"},
        {POD_JOB_KEY_step_s, "step", "--jobs has the column step_s"},
        {POD_JOB_KEY_seeds, "seeds", "--seed is one"},
        {POD_JOB_KEY_node, "node", "a host of the pod fails as a whole"},
        {POD_JOB_KEY_spares, "spares", "free hosts of a pod are its spares"},
        {POD_JOB_KEY_shape, "shape", "hosts fail at a constant rate"},
        {POD_JOB_KEY_start_day, "start", "hosts begin at different times of a trace"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (pod_job_keys_has(k, others[i].key))
            return pod_fail(POD_E_INVALID, "job: %s is no key of fleet: %s", others[i].name,
                            others[i].instead);
    return POD_OK;
}

/* A mean time without effect is refused: the user expects failures. */
static pod_status check_parts(const pod_fleet_study *s)
{
    bool has_links = false, has_switches = false;
    for (int i = 0; i < s->n_kinds; i++) {
        const pod_topology *t = &s->kind[i].topology;
        has_links |= pod_topology_host_links(t) > 0;
        has_switches |= t->kind == POD_TOPOLOGY_CUBES;
    }
    if (s->faults.link_mtbf_s > 0 && !has_links)
        return pod_fail(POD_E_INVALID, "link-mtbf: takes pods with links, of cubes or a torus or "
                                       "mesh, and --pods has none");
    if (s->faults.switch_mtbf_s > 0 && !has_switches)
        return pod_fail(POD_E_INVALID, "switch-mtbf: takes pods of cubes, such as tpu-v4, and "
                                       "--pods has none");
    return POD_OK;
}

/* The nodes of the cluster include those that never failed, which the trace may not have. */
static pod_status read_faults(pod_fleet_study *s, pod_arena *a)
{
    const pod_config *c = s->config;
    const char *path = pod_config_text(c, POD_OPT_FAULTS_FROM);
    const bool has_nodes = pod_job_keys_has(&s->keys, POD_JOB_KEY_trace_nodes);
    s->faults.mtbf_s = pod_config_double(c, POD_OPT_MTBF) * HOUR_S;
    s->faults.repair_s = s->keys.repair_h * HOUR_S;
    s->faults.link_mtbf_s = pod_config_double(c, POD_OPT_LINK_MTBF) * HOUR_S;
    s->faults.switch_mtbf_s = pod_config_double(c, POD_OPT_SWITCH_MTBF) * HOUR_S;
    POD_TRY(check_parts(s));
    if (!*path && has_nodes)
        return pod_fail(POD_E_INVALID, "job: trace-nodes: --faults-from is not given");
    if (!*path) return POD_OK;
    if (s->faults.mtbf_s > 0 || s->faults.link_mtbf_s > 0 ||
        pod_job_keys_has(&s->keys, POD_JOB_KEY_repair_h))
        return pod_fail(POD_E_INVALID, "faults-from: has its own failures and repairs; --mtbf, "
                                       "--link-mtbf and --job repair= must go");
    pod_fault_trace *t = POD_ARENA_NEW(a, pod_fault_trace, 1);
    if (!t) return POD_E_NOMEM;
    POD_TRY(pod_fault_trace_read(a, path, t));
    s->faults.trace = t;
    s->faults.n_nodes = has_nodes ? (int)s->keys.trace_nodes : t->n_nodes;
    if (s->faults.n_nodes < t->n_nodes)
        return pod_fail(POD_E_INVALID, "job: trace-nodes: %s has %d nodes with a fault, found %d",
                        path, t->n_nodes, s->faults.n_nodes);
    s->faults.mtbf_s = (double)t->end / NS * s->faults.n_nodes / t->n_faults;
    return POD_OK;
}

pod_status pod_fleet_read_behaviour(pod_fleet_study *s, pod_arena *a)
{
    const pod_config *c = s->config;
    const char *interval = pod_config_text(c, POD_OPT_INTERVAL);
    POD_TRY(pod_job_keys_parse(pod_config_text(c, POD_OPT_JOB), &s->keys));
    POD_TRY(check_keys(&s->keys));
    if (strcmp(interval, "auto") != 0)
        POD_TRY(pod_parse_double("interval", interval, 1e-3, 1e9, &s->interval_s));
    s->is_async = strcmp(pod_config_text(c, POD_OPT_CHECKPOINT), "async") == 0;
    return read_faults(s, a);
}

/* ---- a job ----------------------------------------------------------------------------------- */

const char *pod_fleet_name_of(const pod_fleet_study *s, const pod_fleet_entry *e,
                              char name[POD_FLEET_NAME_BYTES])
{
    if (e->line > 0)
        snprintf(name, POD_FLEET_NAME_BYTES, "%.400s:%d: job '%.80s'", s->jobs.file, e->line,
                 e->name);
    else
        snprintf(name, POD_FLEET_NAME_BYTES, "ask: the job");
    return name;
}

static pod_status bad(const pod_fleet_study *s, const pod_fleet_entry *e, const char *why)
{
    char name[POD_FLEET_NAME_BYTES], text[512];
    snprintf(text, sizeof text, "%s", why); /* which may be that of the last error */
    return pod_fail(POD_E_INVALID, "%s: %s", pod_fleet_name_of(s, e, name), text);
}

static pod_status set_saves(const pod_fleet_study *s, const pod_fleet_entry *e,
                            const pod_topology *t, double bytes, int n_nodes, double start_up_s,
                            pod_fleet_behaviour *b)
{
    const pod_job_costs c = pod_job_costs_of(&s->keys, bytes, n_nodes, s->is_async, start_up_s);
    pod_job_sim_plan *p = &b->plan;
    char name[POD_FLEET_NAME_BYTES];
    if (c.save_s > MAX_COST_S || c.write_s > MAX_COST_S || c.restore_s > MAX_COST_S)
        return pod_fail(POD_E_INVALID, "%s: a checkpoint of %.3g bytes takes more than %.0g s",
                        pod_fleet_name_of(s, e, name), bytes, MAX_COST_S);
    p->detect = pod_stamp_of(s->keys.detect_s);
    p->launch = pod_stamp_of(s->keys.launch_s);
    p->init = pod_stamp_of(c.init_s);
    p->build = pod_stamp_of(c.compile_s);
    p->save = pod_stamp_of(c.save_s);
    p->write = pod_stamp_of(c.write_s);
    p->restore = pod_stamp_of(c.restore_s);
    double interval_s = s->interval_s;
    const double mtbf_s = pod_fleet_host_mtbf_s(&s->faults, t);
    if (interval_s <= 0 && mtbf_s > 0)
        interval_s = fmax(pod_job_interval_best_s(c.save_s, mtbf_s / n_nodes), c.write_s);
    if (interval_s <= 0 || !isfinite(interval_s)) interval_s = 600;
    const double steps = round(interval_s * NS / (double)pod_max(p->step, 1));
    p->every = (int64_t)fmin(fmax(1, steps), (double)p->n_steps);
    return POD_OK;
}

static double bytes_of(const pod_fleet_study *s, const pod_fleet_entry *e, double known)
{
    if (pod_job_keys_has(&s->keys, POD_JOB_KEY_bytes)) return (double)s->keys.bytes;
    return e->bytes > 0 ? (double)e->bytes : known;
}

/* The lever that hides collectives shortens the steps of a job, and leaves their number. */
static pod_status of_model(const pod_fleet_study *s, const pod_fleet_entry *e,
                           const pod_topology *t, int n_cells, pod_fleet_behaviour *b)
{
    pod_fleet_step_key key = {.topology = t,
                              .n_cells = n_cells,
                              .shape = {{e->shape[0], e->shape[1], e->shape[2]}},
                              .model = e->model,
                              .batch = e->batch,
                              .overlaps = pod_config_bool(s->config, POD_OPT_OVERLAP)};
    pod_fleet_step base, step;
    pod_status status = pod_fleet_step_find(s->steps, &key, &base);
    key.overlaps |= s->hides;
    if (status == POD_OK) status = pod_fleet_step_find(s->steps, &key, &step);
    if (status == POD_E_INVALID) return bad(s, e, pod_error_text());
    POD_TRY(status);
    pod_job_sim_plan *p = &b->plan;
    p->n_steps =
        e->n_steps > 0 ? e->n_steps : pod_max(1, pod_job_steps((double)e->run / NS, base.step_s));
    p->step = pod_stamp_of(step.step_s);
    if ((double)p->n_steps * step.step_s > MAX_RUN_S)
        return bad(s, e, "its steps take more than 1e9 s");
    b->ideal_share = step.ideal_s / step.step_s;
    return set_saves(s, e, t, bytes_of(s, e, step.bytes), step.n_nodes, step.start_up_s, b);
}

/* A run whose steps are not known has steps of a second. */
static pod_status of_numbers(const pod_fleet_study *s, const pod_fleet_entry *e,
                             const pod_topology *t, int n_cells, pod_fleet_behaviour *b)
{
    pod_job_sim_plan *p = &b->plan;
    b->ideal_share = e->ideal_share;
    p->n_steps = e->n_steps > 0 ? e->n_steps : pod_max(1, e->run / SECOND);
    p->step = e->run / p->n_steps;
    if (s->hides && isfinite(e->ideal_share)) {
        p->step = (pod_stamp)llround((double)p->step * (1 + e->ideal_share) / 2);
        b->ideal_share = 2 * e->ideal_share / (1 + e->ideal_share);
    }
    return set_saves(s, e, t, bytes_of(s, e, (double)s->keys.bytes), n_cells, 0, b);
}

pod_status pod_fleet_behaviour_of(const pod_fleet_study *s, const pod_fleet_entry *e,
                                  const pod_topology *t, int n_cells, pod_fleet_behaviour *out)
{
    *out = (pod_fleet_behaviour){
        .plan = {.n_steps = 1, .every = 1, .step = e->run, .limit = POD_NEVER / 2},
        .ideal_share = e->ideal_share};
    if (!s->starts_and_saves) return POD_OK;
    return e->batch > 0 ? of_model(s, e, t, n_cells, out) : of_numbers(s, e, t, n_cells, out);
}
