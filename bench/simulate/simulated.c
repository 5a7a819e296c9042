#include "bench/simulate/simulate.h"

#include <math.h>

#include "collectives/exec/sim/sim.h"
#include "collectives/net/engine.h"
#include "runtime/machine/machine_net.h"

static double seconds_since(const pod_clock *c) { return pod_time_seconds(pod_clock_now(c)); }

bool pod_simulate_has_fault(const pod_planned *p, pod_fault_kind kind)
{
    for (int i = 0; i < p->n_faults; i++)
        if (p->fault[i].kind == kind) return true;
    return false;
}

static void add_bounds(pod_simulated *s)
{
    const pod_program *p = s->program;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const pod_instr_time *t = &s->time[i];
        const double n = s->slowness * pod_program_times(p, i);
        s->bound_s[POD_BOUND_OVERHEAD] += n * t->overhead_s;
        if (t->bound != POD_BOUND_OVERHEAD)
            s->bound_s[t->bound] += n * (t->seconds - t->overhead_s);
        else
            s->bound_s[POD_BOUND_MEMORY] += n * (t->seconds - t->overhead_s);
    }
}

/* Every fault is of a core of the mesh. */
static pod_status check_faults(const pod_planned *p, int n_cores)
{
    for (int i = 0; i < p->n_faults; i++)
        POD_TRY(pod_fault_check_rank(&p->fault[i], n_cores, "core"));
    return POD_OK;
}

/* slow[core], in the arena; NULL where all are alike. */
static pod_status slow_cores(const pod_planned *p, int n_cores, pod_arena *arena, double **slow)
{
    *slow = NULL;
    for (int i = 0; i < p->n_faults; i++) {
        const pod_fault *f = &p->fault[i];
        if (f->kind != POD_FAULT_SLOW) continue;
        if (!*slow) {
            *slow = POD_ARENA_NEW(arena, double, n_cores);
            if (!*slow) return POD_E_NOMEM;
            for (int c = 0; c < n_cores; c++) (*slow)[c] = 1;
        }
        (*slow)[f->rank] *= f->factor;
    }
    return POD_OK;
}

static pod_status failed_links(const pod_planned *p, int link[POD_MAX_FAULTS], int *n)
{
    const pod_mesh *m = &p->setup.compile.mesh;
    *n = 0;
    for (int i = 0; i < p->n_faults; i++) {
        const pod_fault *f = &p->fault[i];
        if (f->kind != POD_FAULT_LINK) continue;
        if (f->dim >= m->n_dims)
            return pod_fail(POD_E_INVALID, "fault: link along dimension %d, but the mesh has %d",
                            f->dim, m->n_dims);
        link[(*n)++] = pod_route_link(m, f->rank, (pod_hop){f->dim, 1});
    }
    return POD_OK;
}

/* A hop of a pod takes a picosecond at least, the clock's unit: in no time at all who is hops away
 * would have a say in each moment, no core would stand for others, and all were simulated. */
static const double LEAST_HOP_S = 1e-12;

static void scale_links(const pod_planned *p, pod_net *net)
{
    for (int d = 0; d < POD_MESH_MAX_DIMS; d++) {
        net->link_bytes_per_s[d] *= p->link_bandwidth;
        net->link_latency_s[d] *= p->link_latency;
        if (pod_machine_is_virtual(&p->machine))
            net->link_latency_s[d] = fmax(net->link_latency_s[d], LEAST_HOP_S);
    }
}

static pod_status create_timelines(const pod_planned *p, const pod_program *program,
                                   pod_exec_sim_watch watch[])
{
    for (int i = 0; i < p->n_watched; i++) {
        const pod_timeline_plan plan = {.rank = p->watched[i],
                                        .max_steps = p->n_steps,
                                        .max_events = 2 * pod_program_n_turns(program),
                                        .kept_steps = 1};
        watch[i].core = p->watched[i];
        POD_TRY(pod_timeline_create(&plan, &watch[i].tl));
    }
    return POD_OK;
}

/* A batch that is not ready when the last core has ended is waited for. */
static pod_time input_wait(const pod_simulated *s, pod_time took)
{
    const pod_time input = pod_ps(s->input.seconds);
    return input > took ? input - took : 0;
}

/* Before a step, training sums the weights that its loss is a mean over: a double. */
static pod_status find_weights_sum(const pod_planned *p, const pod_net *net, pod_simulated *s)
{
    const pod_mesh *m = &s->program->mesh;
    pod_coll_args args = {.coll = POD_ALLREDUCE,
                          .dtype = POD_F32,
                          .count = sizeof(double) / sizeof(float),
                          .group = pod_group_all(m),
                          .node_size = p->setup.compile.node_size};
    pod_sim_report report;
    if (p->net.task->mean_over == POD_NO_FIELD || s->cores == 1) return POD_OK;
    const pod_coll_algo *algo = pod_coll_pick(p->setup.compile.rules, m, &args);
    POD_TRY(pod_sim_collective(net, m, algo, &args, NULL, NULL, &report));
    s->weights_sum_s = report.seconds;
    return POD_OK;
}

static void add_event(const pod_step_row *row, int rank, pod_phase phase, pod_time begin,
                      pod_time end, pod_event *out)
{
    *out = (pod_event){.begin = begin,
                       .end = end,
                       .step = row->step,
                       .rank = rank,
                       .instr = -1,
                       .phase = phase,
                       .lane = POD_LANE_COMPUTE};
}

/* Behind the step's own events: the sum of weights, which is of the next batch then, and the wait. */
static pod_status keep_events(const pod_planned *p, const pod_exec_sim_watch watch[],
                              pod_arena *arena, pod_simulated *s)
{
    s->trace = POD_ARENA_NEW(arena, pod_trace_part, p->n_watched);
    if (!s->trace) return POD_E_NOMEM;
    for (int i = 0; i < p->n_watched; i++) {
        pod_event *event = POD_ARENA_NEW(arena, pod_event, pod_timeline_kept_room(watch[i].tl) + 2);
        if (!event) return POD_E_NOMEM;
        int64_t n_rows, n = pod_timeline_copy_kept(watch[i].tl, event);
        const pod_step_row *row = pod_timeline_rows(watch[i].tl, &n_rows);
        row += n_rows - 1; /* the last of them */
        const pod_time summed = row->end + pod_ps(s->weights_sum_s);
        if (summed > row->end)
            add_event(row, watch[i].core, POD_PHASE_REDUCE, row->end, summed, &event[n++]);
        if (s->waited_until > 0)
            add_event(row, watch[i].core, POD_PHASE_INPUT, summed, s->waited_until, &event[n++]);
        s->trace[i] = (pod_trace_part){.rank = watch[i].core,
                                       .step = row->step,
                                       .begin = row->begin,
                                       .end = s->waited_until > 0 ? s->waited_until : summed,
                                       .event = event,
                                       .n = n};
    }
    s->n_traces = p->n_watched;
    return POD_OK;
}

static void keep_exposed(const pod_exec_sim *e, pod_simulated *s)
{
    pod_by_core *x = &s->exposed;
    *x = (pod_by_core){.least_s = HUGE_VAL, .most_s = -1};
    for (int c = 0; c < s->cores; c++) {
        const double seconds =
            s->weights_sum_s +
            pod_time_seconds(pod_exec_sim_phase(e, c, POD_PHASE_REDUCE)) / (double)s->steps.n;
        x->mean_s += seconds / s->cores;
        if (seconds < x->least_s) x->least_core = c;
        if (seconds > x->most_s) x->most_core = c;
        x->least_s = fmin(x->least_s, seconds);
        x->most_s = fmax(x->most_s, seconds);
    }
}

static pod_status keep_links(const pod_exec_sim *e, pod_arena *arena, pod_simulated *s)
{
    const pod_mesh *m = &s->program->mesh;
    const int n_links = pod_route_n_links(m);
    double *busy_s = POD_ARENA_NEW(arena, double, n_links);
    double *bytes = POD_ARENA_NEW(arena, double, n_links);
    if (!busy_s || !bytes) return POD_E_NOMEM;
    for (int l = 0; l < n_links; l++) {
        busy_s[l] = pod_exec_sim_link_busy_s(e, l) / (double)s->steps.n;
        bytes[l] = pod_exec_sim_link_bytes(e, l) / (double)s->steps.n;
    }
    s->link_busy_s = busy_s;
    s->link_bytes = bytes;
    s->use = pod_exec_sim_used(e);
    pod_route_link_print(m, s->use.busiest_link, s->busiest_link, sizeof s->busiest_link);
    return POD_OK;
}

static pod_status run_steps(const pod_planned *p, pod_exec_sim *e, const pod_exec_sim_watch watch[],
                            pod_arena *arena, pod_log *log, pod_simulated *s)
{
    pod_step_row *row = POD_ARENA_NEW(arena, pod_step_row, p->n_steps);
    double *took_s = POD_ARENA_NEW(arena, double, p->n_steps);
    if (!row || !took_s) return POD_E_NOMEM;
    if (log) pod_progress_begin(log, "simulated", "steps", 0, p->n_steps);
    for (int64_t k = 0; k < p->n_steps; k++) {
        if (log) pod_progress_at(log, k, "%s", "");
        const pod_time begun = pod_exec_sim_now(e);
        POD_TRY(pod_exec_sim_step(e, k, watch, p->n_watched));
        const pod_time sum = pod_ps(s->weights_sum_s), took = pod_exec_sim_now(e) - begun + sum,
                       wait = input_wait(s, took);
        int64_t n;
        row[k] = pod_timeline_rows(watch[0].tl, &n)[k];
        row[k].end += sum + wait;
        row[k].phase[POD_PHASE_REDUCE] += sum;
        row[k].phase[POD_PHASE_INPUT] += wait;
        took_s[k] = pod_time_seconds(took + wait);
        s->waited_until = wait > 0 ? begun + took + wait : 0;
    }
    if (log) pod_progress_end(log);
    s->steps = pod_spread_of(took_s, p->n_steps);
    s->step_s = s->steps.median;
    return pod_step_stats_of(row, p->n_steps, &s->stats);
}

static pod_status run(const pod_planned *p, pod_arena *arena, pod_log *log, pod_simulated *s)
{
    pod_exec_sim *e = NULL;
    pod_exec_sim_watch watch[POD_MAX_WATCHED] = {{0}};
    pod_status status;
    double *slow;
    int failed[POD_MAX_FAULTS];
    POD_TRY(check_faults(p, s->cores));
    POD_TRY(pod_simulate_input(p, &s->input));
    POD_TRY(slow_cores(p, s->cores, arena, &slow));
    s->slowness = slow ? slow[p->watched[0]] : 1;
    add_bounds(s);
    pod_exec_sim_options options = {.time = s->time,
                                    .slow = slow,
                                    .failed = failed,
                                    .noise = {p->noise, p->setup.seed},
                                    .overtakes = pod_machine_is_virtual(&p->machine),
                                    .every_core = p->every_core,
                                    .checks_room = true};
    POD_TRY(failed_links(p, failed, &options.n_failed));
    POD_TRY(pod_machine_net(&p->machine, &s->program->mesh, &options.net));
    scale_links(p, &options.net);
    POD_TRY(find_weights_sum(p, &options.net, s));
    s->is_chip_shared = options.net.is_chip_shared;
    POD_TRY_GOTO(status, create_timelines(p, s->program, watch), done);
    const pod_clock planning = pod_clock_start();
    POD_TRY_GOTO(status, pod_exec_sim_open(s->program, &options, &e), done);
    s->plan_wall_s = seconds_since(&planning);
    const pod_clock running = pod_clock_start();
    POD_TRY_GOTO(status, run_steps(p, e, watch, arena, log, s), done);
    s->run_wall_s = seconds_since(&running);
    s->cores_simulated = pod_exec_sim_n_simulated(e);
    POD_TRY_GOTO(status, keep_events(p, watch, arena, s), done);
    POD_TRY_GOTO(status, keep_links(e, arena, s), done);
    keep_exposed(e, s);
done:
    pod_exec_sim_close(e);
    for (int i = 0; i < p->n_watched; i++) pod_timeline_destroy(watch[i].tl);
    return status;
}

/* Refuses what the machine's memory does not hold. */
static pod_status find_memory(const pod_planned *p, pod_simulated *s)
{
    const double gib = 1 << 30, limit = p->machine.memory_gib * gib;
    pod_fit largest;
    POD_TRY(pod_fit_bytes(p, s->program, &s->memory_bytes));
    if (limit <= 0 || s->memory_bytes <= limit) return POD_OK;
    POD_TRY(pod_fit_largest(p, limit, &largest));
    return pod_fail(POD_E_INVALID,
                    "batch: %lld needs %.1f GiB of a core, %s has %g; the largest that fits is "
                    "%lld%s",
                    (long long)p->setup.batch, s->memory_bytes / gib, p->machine.name,
                    p->machine.memory_gib, (long long)largest.batch,
                    s->cores == 1 ? " on 1 core; --mesh gives more" : "");
}

pod_status pod_simulate(const pod_planned *p, pod_arena *arena, pod_log *log, pod_simulated *out)
{
    const pod_clock clock = pod_clock_start();
    pod_simulated s = {.cores = pod_mesh_size(&p->setup.compile.mesh)};
    POD_TRY(pod_network_compile(&p->net, &p->setup, &p->data, true, &p->target, arena, &s.program));
    s.compile_wall_s = seconds_since(&clock);
    pod_instr_time *time = POD_ARENA_NEW(arena, pod_instr_time, s.program->n_instrs);
    if (!time) return POD_E_NOMEM;
    POD_TRY(pod_cost_program(&p->machine, s.program, time));
    s.time = time;
    POD_TRY(find_memory(p, &s));
    POD_TRY(run(p, arena, log, &s));
    /* A pod's matrix unit takes float32 as bf16, and its time is counted so. */
    const bool in_bf16 = p->setup.bf16_products || p->setup.precision == POD_BF16 ||
                         pod_machine_is_virtual(&p->machine);
    const int cores =
        pod_machine_is_virtual(&p->machine) ? s.cores : (int)p->machine.physical_cores;
    s.ideal = (pod_ideal){
        .model_flops = s.program->model_flops,
        .peak_flop_per_s = pod_machine_peak_flop_per_s(&p->machine, in_bf16 ? POD_BF16 : POD_F32),
        .ranks = s.cores,
        .physical_cores = cores,
        .cores_at_work = s.cores < cores ? s.cores : cores,
        .median_step_s = s.step_s};
    *out = s;
    return POD_OK;
}

double pod_simulated_price(const pod_config *c, const pod_planned *p, double seconds)
{
    const double price = pod_config_double(c, POD_OPT_PRICE);
    const pod_mesh *m = &p->setup.compile.mesh;
    const int used = pod_machine_cores_used(&p->machine, m);
    const double chips = (double)pod_mesh_size(m) / (used > 0 ? used : 1);
    return price > 0 ? price * chips * seconds / 3600 : (double)NAN;
}

double pod_simulated_allreduce_share(const pod_simulated *s)
{
    return pod_step_share(&s->stats, POD_PHASE_REDUCE);
}

pod_status pod_simulate_evaluation(const pod_planned *p, int64_t n_samples, pod_arena *arena,
                                   double *seconds)
{
    const pod_program *program;
    const pod_setup eval = pod_setup_evaluation(&p->setup, n_samples);
    POD_TRY(pod_network_compile(&p->net, &eval, &p->data, false, &p->target, arena, &program));
    pod_instr_time *time = POD_ARENA_NEW(arena, pod_instr_time, program->n_instrs);
    if (!time) return POD_E_NOMEM;
    POD_TRY(pod_cost_program(&p->machine, program, time));
    double batch_s = 0;
    for (int32_t i = 0; i < program->n_instrs; i++) batch_s += time[i].seconds;
    const double n_batches = (double)n_samples / (double)eval.batch;
    const double n_inputs = (double)n_samples / (double)p->setup.batch;
    pod_input_time input;
    POD_TRY(pod_simulate_input(p, &input));
    *seconds =
        p->machine.evaluation_start_s + fmax(ceil(n_batches) * batch_s, n_inputs * input.seconds);
    return POD_OK;
}

/* ---- input ---- */

static int min(int a, int b) { return a < b ? a : b; }

/* Cores of a host; a machine that is here is one host. 0: not known. */
static int cores_of_host(const pod_planned *p, int n_cores)
{
    const pod_machine *m = &p->machine;
    if (!pod_machine_is_virtual(m)) return n_cores;
    return min(n_cores, (int)(m->chips_per_host * m->cores_per_chip));
}

static double bytes_of_sample(const pod_dataset_info *d)
{
    return (double)d->height * (double)d->width * (double)d->channels + sizeof(int32_t);
}

pod_status pod_simulate_input(const pod_planned *p, pod_input_time *out)
{
    const pod_machine *m = &p->machine;
    const int n_cores = pod_mesh_size(&p->setup.compile.mesh), of_host = cores_of_host(p, n_cores);
    const double local = (double)p->setup.batch / n_cores;
    pod_input_time t = {.n_hosts = of_host > 0 ? (n_cores + of_host - 1) / of_host : 0};
    if (p->input_rate > 0 && of_host == 0)
        return pod_fail(POD_E_INVALID,
                        "machine %s: its file has no chips_per_host, which --input-rate needs",
                        m->name);
    if (p->input_rate > 0) t.make_s = local * of_host / p->input_rate;
    if (m->feed_gb_per_s > 0)
        t.feed_s = local * (double)(m->cores_per_chip > 0 ? m->cores_per_chip : 1) *
                   bytes_of_sample(&p->data) / (1e9 * m->feed_gb_per_s);
    t.seconds = t.make_s > t.feed_s ? t.make_s : t.feed_s;
    if (pod_ps(t.seconds) == POD_PS_NEVER)
        return pod_fail(POD_E_INVALID,
                        "input-rate: %g samples/s make a batch in more than the 53 days that the "
                        "clock counts",
                        p->input_rate);
    *out = t;
    return POD_OK;
}
