#include "bench/job/study.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/job/costs.h"
#include "bench/simulate/simulate.h"
#include "kernels/base/parse.h"
#include "runtime/core/words.h"

static const double HOUR_S = 3600, DAY_S = 86400, NS = 1e-9, MAX_COST_S = 1e7;

/* ---- what is asked for ----------------------------------------------------------------------- */

static pod_status check_options(const pod_config *c)
{
    static const pod_opt others[] = {POD_OPT_TO_TARGET, POD_OPT_EXPLAIN, POD_OPT_TRACE,
                                     POD_OPT_VALIDATE};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (pod_config_bool(c, others[i]))
            return pod_fail(POD_E_INVALID, "job: does not go with --%s",
                            pod_options[others[i]].name);
    return POD_OK;
}

static pod_status take_faults(const pod_config *c, pod_job_study *s)
{
    const bool is_simulated = !pod_job_keys_has(&s->keys, POD_JOB_KEY_step_s);
    pod_fault all[POD_MAX_FAULTS];
    int n;
    POD_TRY(pod_faults_parse(pod_config_text(c, POD_OPT_FAULT), all, &n));
    for (int i = 0; i < n; i++) {
        const bool is_of_every_step =
            all[i].kind == POD_FAULT_SLOW && all[i].from == 0 && all[i].until == 0;
        if ((is_of_every_step || all[i].kind == POD_FAULT_LINK) && is_simulated)
            continue; /* the step has it */
        if (all[i].kind == POD_FAULT_LINK)
            return pod_fail(POD_E_INVALID, "fault: a step that is given by step= has no links");
        if (all[i].kind == POD_FAULT_SLOW && all[i].factor * s->keys.days > 36500)
            return pod_fail(POD_E_INVALID, "fault: slow by a factor of %g makes %g days too long",
                            all[i].factor, s->keys.days);
        s->fault[s->n_faults++] = all[i];
    }
    return POD_OK;
}

static pod_status take_failures(const pod_config *c, pod_arena *arena, pod_job_study *s)
{
    const bool has_trace = pod_config_is_set(c, POD_OPT_FAULTS_FROM),
               has_mtbf = pod_config_is_set(c, POD_OPT_MTBF);
    if (has_trace == has_mtbf && (has_trace || s->n_faults == 0))
        return pod_fail(POD_E_INVALID,
                        "job: how do nodes fail? --mtbf HOURS of one, 0 for never, %s",
                        has_trace ? "or --faults-from TRACE, not both" : "or --faults-from TRACE");
    s->mtbf_h = pod_config_double(c, POD_OPT_MTBF);
    s->is_exact = !has_trace && s->keys.shape == 1 && s->n_faults == 0;
    if (!has_trace) return POD_OK;
    if (pod_job_keys_has(&s->keys, POD_JOB_KEY_repair_h) ||
        pod_job_keys_has(&s->keys, POD_JOB_KEY_shape))
        return pod_fail(POD_E_INVALID, "job: repair and shape are not for --faults-from, which has "
                                       "its own");
    s->trace_path = pod_config_text(c, POD_OPT_FAULTS_FROM);
    POD_TRY(pod_fault_trace_read(arena, s->trace_path, &s->trace));
    s->trace_nodes = pod_job_keys_has(&s->keys, POD_JOB_KEY_trace_nodes) ? (int)s->keys.trace_nodes
                                                                         : s->trace.n_nodes;
    if (s->trace_nodes < s->trace.n_nodes)
        return pod_fail(POD_E_INVALID, "job: trace-nodes: %s has %d nodes with a fault, found %d",
                        s->trace_path, s->trace.n_nodes, s->trace_nodes);
    s->mtbf_h = pod_stamp_seconds(s->trace.end) * s->trace_nodes / s->trace.n_faults / HOUR_S;
    const double start_ns = s->keys.start_day * DAY_S / NS;
    if (start_ns > (double)s->trace.end)
        return pod_fail(POD_E_INVALID, "job: start: %g days, but %s ends after %.2f",
                        s->keys.start_day, s->trace_path, pod_stamp_seconds(s->trace.end) / DAY_S);
    return POD_OK;
}

/* ---- what a step and a checkpoint take ------------------------------------------------------- */

static pod_status nodes_of(const pod_job_study *s, const pod_planned *p, pod_job_point *x)
{
    int64_t cores = s->keys.node;
    if (cores == 0) cores = p->machine.chips_per_host * p->machine.cores_per_chip;
    if (cores == 0 && pod_machine_is_virtual(&p->machine))
        return pod_fail(POD_E_INVALID,
                        "job: how many cores has a node of %s? --job node=8, or chips_per_host "
                        "in its file",
                        p->machine.name);
    if (cores == 0 || cores > x->cores) cores = x->cores;
    if (x->cores % cores != 0)
        return pod_fail(POD_E_INVALID, "job: %d cores are no whole number of nodes with %" PRId64,
                        x->cores, cores);
    x->n_nodes = (int)(x->cores / cores);
    return POD_OK;
}

static pod_status simulate_point(const pod_config *c, pod_job_study *s, pod_job_point *x)
{
    pod_arena *arena;
    pod_planned p = {0};
    pod_simulated r;
    pod_status status;
    POD_TRY(pod_arena_create(NULL, &arena));
    POD_TRY_GOTO(status, pod_planned_of(c, arena, &p), done);
    POD_TRY_GOTO(status, pod_simulate(&p, arena, NULL, &r), done);
    pod_mesh_print(&p.setup.compile.mesh, x->mesh, sizeof x->mesh);
    x->cores = r.cores;
    x->batch = p.setup.batch;
    x->step_s = r.steps.mean;
    x->ideal_step_s = pod_ideal_step_s(&r.ideal);
    x->bytes =
        (double)(r.program->store_bytes - r.program->state_bytes + r.program->whole_state_bytes);
    memcpy(s->machine, p.machine.name, sizeof s->machine);
    x->start_up_s = p.start_up_s >= 0 ? p.start_up_s : p.machine.start_up_s;
    POD_TRY_GOTO(status, nodes_of(s, &p, x), done);
done:
    pod_planned_end(&p);
    pod_arena_destroy(arena);
    return status;
}

static pod_status check_point(const pod_job_study *s, const pod_job_point *x)
{
    for (int i = 0; i < s->n_faults; i++)
        if (x->cores > 0) POD_TRY(pod_fault_check_rank(&s->fault[i], x->cores, "core"));
    if (x->save_s > MAX_COST_S || x->write_s > MAX_COST_S || x->restore_s > MAX_COST_S)
        return pod_fail(POD_E_INVALID, "job: a checkpoint of %.3g bytes takes more than %.0g s",
                        x->bytes, MAX_COST_S);
    if (x->step_s < 1e-6)
        return pod_fail(POD_E_INVALID, "job: a step takes %g s, want a microsecond at least",
                        x->step_s);
    return POD_OK;
}

static pod_status finish_point(const pod_job_study *s, pod_job_point *x)
{
    const pod_job_keys *k = &s->keys;
    if (pod_job_keys_has(k, POD_JOB_KEY_bytes)) x->bytes = (double)k->bytes;
    const pod_job_costs costs =
        pod_job_costs_of(k, x->bytes, x->n_nodes, s->is_async, x->start_up_s);
    x->save_s = costs.save_s;
    x->write_s = costs.write_s;
    x->restore_s = costs.restore_s;
    x->init_s = costs.init_s;
    x->compile_s = costs.compile_s;
    x->n_steps = pod_job_steps(k->days * DAY_S, x->step_s);
    x->mtbf_s = s->mtbf_h * HOUR_S / x->n_nodes;
    x->young_s = pod_job_interval_young_s(x->save_s, x->mtbf_s);
    x->daly_s = pod_job_interval_daly_s(x->save_s, x->mtbf_s);
    x->best_s = fmax(pod_job_interval_best_s(x->save_s, x->mtbf_s), x->write_s);
    return check_point(s, x);
}

/* ---- the points ------------------------------------------------------------------------------ */

static pod_job_point *add_point(pod_job_study *s)
{
    pod_job_point *x = &s->point[s->n_points++];
    *x = (pod_job_point){.ideal_step_s = (double)NAN};
    return x;
}

static pod_status point_of_given_step(const pod_config *c, const pod_job_study *s, int64_t n_nodes,
                                      pod_job_point *x)
{
    if (n_nodes * s->keys.node > INT32_MAX)
        return pod_fail(POD_E_INVALID,
                        "nodes: %" PRId64 " of %" PRId64 " cores are more than %d cores", n_nodes,
                        s->keys.node, INT32_MAX);
    x->n_nodes = (int)n_nodes;
    x->cores = (int)(n_nodes * s->keys.node);
    x->step_s = s->keys.step_s;
    x->start_up_s = fmax(0, pod_config_double(c, POD_OPT_START_UP));
    return finish_point(s, x);
}

static bool is_beside_a_step(const pod_option *of, pod_opt o)
{
    switch (o) {
    case POD_OPT_SEED:
    case POD_OPT_FAULT:
    case POD_OPT_WATCHDOG:
    case POD_OPT_START_UP:
    case POD_OPT_CHECKPOINT:
    case POD_OPT_CSV:
    case POD_OPT_JSON:
    case POD_OPT_OUT: return true;
    default: return strcmp(of->group, "job") == 0 || strcmp(of->group, "general") == 0;
    }
}

/* What says how a step is simulated may stand in a file or in the environment for others; typed, it
 * is meant. */
static pod_status check_beside_a_step(const pod_config *c)
{
    for (int o = 0; o < POD_N_OPTS; o++)
        if (pod_config_source(c, (pod_opt)o) == POD_FROM_COMMAND_LINE &&
            !is_beside_a_step(&pod_options[o], (pod_opt)o))
            return pod_fail(POD_E_INVALID,
                            "%s: has no effect: --job step= gives the step, and none is simulated",
                            pod_options[o].name);
    return POD_OK;
}

static pod_status list_given_steps(const pod_config *c, pod_job_study *s)
{
    enum { MAX_NODES = 1000000 };
    const char *at = pod_config_text(c, POD_OPT_NODES);
    POD_TRY(check_beside_a_step(c));
    if (!*at)
        return pod_fail(POD_E_INVALID, "job: step= has no mesh: on how many nodes? --nodes 64");
    if (!pod_job_keys_has(&s->keys, POD_JOB_KEY_bytes) &&
        !pod_job_keys_has(&s->keys, POD_JOB_KEY_save_s))
        return pod_fail(POD_E_INVALID,
                        "job: step= has no program: bytes= of a checkpoint, or save=");
    while (*at) {
        char word[32];
        int64_t n;
        POD_TRY(pod_word_take("nodes", &at, word, sizeof word));
        POD_TRY(pod_parse_int("nodes", word, 1, MAX_NODES, &n));
        if (s->n_points == POD_JOB_MAX_POINTS)
            return pod_fail(POD_E_INVALID, "nodes: more than %d", POD_JOB_MAX_POINTS);
        POD_TRY(point_of_given_step(c, s, n, add_point(s)));
    }
    return POD_OK;
}

static pod_status list_meshes(const pod_config *c, pod_arena *arena, pod_job_study *s)
{
    pod_scaling meshes = {0};
    POD_TRY(pod_simulate_options_of_step(c));
    if (pod_config_is_set(c, POD_OPT_NODES))
        return pod_fail(POD_E_INVALID,
                        "nodes: the mesh has its own; --nodes goes with --job step=");
    if (!pod_config_is_set(c, POD_OPT_MESHES)) {
        pod_job_point *x = add_point(s);
        POD_TRY(simulate_point(c, s, x));
        return finish_point(s, x);
    }
    POD_TRY(pod_scale_list(c, false, &meshes));
    for (int i = 0; i < meshes.n; i++) {
        pod_config *own;
        pod_job_point *x = add_point(s);
        POD_TRY(pod_scale_config(c, &meshes.point[i], arena, &own));
        pod_status status = simulate_point(own, s, x);
        if (status == POD_OK) status = finish_point(s, x);
        pod_config_destroy(own);
        if (status != POD_OK)
            return pod_fail(status, "mesh %s: %s", meshes.point[i].mesh, pod_error_text());
    }
    return POD_OK;
}

pod_status pod_job_points_list(const pod_config *c, pod_arena *arena, pod_job_study *s)
{
    POD_TRY(check_options(c));
    POD_TRY(pod_job_keys_parse(pod_config_text(c, POD_OPT_JOB), &s->keys));
    POD_TRY(take_faults(c, s));
    POD_TRY(take_failures(c, arena, s));
    s->model = pod_config_text(c, POD_OPT_MODEL);
    s->is_async = strcmp(pod_config_text(c, POD_OPT_CHECKPOINT), "async") == 0;
    s->watchdog_s = pod_config_double(c, POD_OPT_WATCHDOG);
    return pod_job_keys_has(&s->keys, POD_JOB_KEY_step_s) ? list_given_steps(c, s)
                                                          : list_meshes(c, arena, s);
}
