/* minipod simulate: what a training step takes on a machine that need not be here. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "bench/job/study.h"
#include "bench/simulate/simulate.h"
#include "kernels/base/parse.h"
#include "runtime/core/file.h"
#include "runtime/exec/host_ops.h"
#include "runtime/machine/machine_net.h"

enum { TEXT_BYTES = 160, PATH_BYTES = 4096 };

typedef struct simulation {
    const pod_config *config;
    pod_planned planned;
    pod_simulated result;
    bool has_target; /* was asked for */
    pod_time_to_target target;
    pod_nearest nearest;
} simulation;

/* ---- the record ------------------------------------------------------------------------------ */

static bool is_pod(const simulation *x) { return pod_machine_is_virtual(&x->planned.machine); }

/* The row of chips; and, of a mesh of chips, the mesh with all cores of each: of three extents, since
 * one of fewer is of chips again. */
static void add_chips(pod_record *r, const simulation *x)
{
    const pod_mesh *m = &x->planned.setup.compile.mesh;
    const int of_chip = (int)x->planned.machine.cores_per_chip,
              used = pod_machine_cores_used(&x->planned.machine, m);
    if (!is_pod(x)) return;
    pod_json_int(&r->json, "cores_per_chip_used", used);
    if (of_chip == 0) return;
    pod_record_int(r, NULL, "chips", "", x->result.cores / used);
    if (used == of_chip) return;
    pod_record_note(r, "%d of %d cores of each, the others and their memory idle", used, of_chip);
    if (m->n_dims == POD_MESH_MAX_DIMS) return;
    pod_record_note(r, ": --mesh %d", of_chip);
    for (int d = 0; d < POD_MESH_MAX_DIMS - 1; d++)
        pod_record_note(r, "x%d", d < m->n_dims ? m->extent[d] : 1);
    pod_record_note(r, " takes all");
}

static void add_cores(pod_record *r, const simulation *x)
{
    const pod_simulated *s = &x->result;
    const int physical = s->ideal.physical_cores;
    const bool shares = s->cores > s->ideal.cores_at_work; /* on a host that has fewer */
    pod_record_int(r, "ranks", "cores", "", s->cores);
    if (shares)
        pod_record_note(r, "ranks share %d physical core%s, in turns", physical,
                        physical > 1 ? "s" : "");
    if (s->cores_simulated < s->cores)
        pod_record_note(r, "%s%d simulated, which stand for all", shares ? "; " : "",
                        s->cores_simulated);
    else if (!shares && !pod_config_is_set(x->config, POD_OPT_MESH))
        pod_record_note(r, "--mesh or --cores gives more");
    pod_json_bool(&r->json, "cores_shared", shares);
    pod_json_int(&r->json, "cores_simulated", s->cores_simulated);
    add_chips(r, x);
}

static void add_circumstances(pod_record *r, const simulation *x)
{
    const pod_setup *s = &x->planned.setup;
    const int64_t bucket = s->compile.bucket_bytes;
    pod_json_text(&r->json, "machine", x->planned.machine.name);
    pod_record_text(r, "model", "model", s->model);
    pod_record_note(r, "%s", pod_planned_source(&x->planned));
    pod_record_text(r, "clock", "clock", "virtual");
    pod_record_note(r, "%s", x->planned.machine.name);
    pod_record_text(r, "mesh", "mesh", POD_MESH_TEXT(&s->compile.mesh));
    pod_record_note(r, "o: does not wrap");
    add_cores(r, x);
    pod_record_text(r, "precision", "precision", s->precision_name);
    pod_record_int(r, "global_batch", "global batch", "samples", s->batch);
    pod_record_note(r, "%" PRId64 " a core", s->batch / x->result.cores);
    pod_record_text(r, "optimizer", "optimizer", s->optim->name);
    pod_record_note(r, s->compile.shard_update ? "each core updates its part"
                                               : "each core updates all weights");
    pod_record_int(r, "bucket_bytes", "bucket", "bytes", bucket); /* a pod's is not --help's */
    pod_record_note(
        r, "%s: gradients that are all-reduced together%s", POD_SIZE_TEXT(bucket),
        pod_config_is_set(x->config, POD_OPT_BUCKET) ? "" : "; by default, --bucket says it");
    pod_simulate_add_algorithms(r, x->result.program);
    pod_simulate_add_options(r, x->config);
}

static void add_steps(pod_record *r, const simulation *x)
{
    const pod_spread *steps = &x->result.steps;
    const bool waits = pod_step_share(&x->result.stats, POD_PHASE_INPUT) > 0;
    if (x->planned.noise > 0) {
        pod_record_real(r, NULL, "noise", "%", -6, x->planned.noise);
        pod_record_note(r, "of an instruction's time: log-normal, mean 1");
    }
    pod_json_double(&r->json, "noise", x->planned.noise);
    pod_json_int(&r->json, "steps_simulated", steps->n);
    pod_json_double(&r->json, "step_p99_s", steps->p99);
    if (steps->n > 1) {
        pod_record_int(r, NULL, "simulated steps", "", steps->n);
        pod_record_note(r, "the step is their median, shares are of all; mean %.3f ms",
                        steps->mean * 1e3);
    }
    pod_record_real(r, "step_s", "step", "ms", 3, x->result.step_s);
    pod_record_note(r, "until the last core has ended%s",
                    waits ? " and the next batch is there" : "");
    if (steps->n > 1) pod_record_real(r, NULL, "step p99", "ms", 3, steps->p99);
    pod_record_real(r, "samples_per_s", "samples/s", "1/s", 1,
                    (double)x->planned.setup.batch / x->result.step_s);
}

/* The wait for input is one of the phases, and shown where there is one. */
static void add_input(pod_record *r, const simulation *x)
{
    const pod_input_time *in = &x->result.input;
    const double share = pod_step_share(&x->result.stats, POD_PHASE_INPUT);
    const char *hidden = share > 0 ? "the step is input-bound" : "the step hides it";
    pod_json_double(&r->json, "input_s", in->seconds);
    if (in->seconds <= 0) return;
    pod_record_real(r, NULL, "input of a step", "ms", 3, in->seconds);
    if (in->make_s > 0)
        pod_record_note(r, "%d hosts at %g samples/s: %s", in->n_hosts, x->planned.input_rate,
                        hidden);
    else
        pod_record_note(r, "from hosts to chips: %s; how they make it is left out", hidden);
    if (share <= 0) return;
    pod_record_real(r, NULL, "  input", "%", 2, share);
    pod_record_note(r, "all cores wait for the batch");
}

/* Of the core whose step the table has. */
static void add_phases(pod_record *r, const simulation *x)
{
    const pod_step_stats *stats = &x->result.stats;
    const int core = x->planned.watched[0];
    pod_json_int(&r->json, "core", core);
    pod_json_double(&r->json, "core_step_s", stats->step.mean); /* of which the shares are */
    pod_json_double(&r->json, "allreduce_share", pod_simulated_allreduce_share(&x->result));
    pod_json_open_object(&r->json, "phase_share");
    for (pod_phase p = 0; p < POD_N_PHASES; p++) {
        char name[32];
        const double share = pod_step_share(stats, p);
        pod_json_double(&r->json, pod_phase_name(p), share);
        if (p < POD_PHASE_FORWARD) continue;
        snprintf(name, sizeof name, "  %s", pod_phase_name(p));
        pod_record_real(r, NULL, name, "%", 2, share);
        pod_record_note(r, "of core %d's step%s", core,
                        p == POD_PHASE_REDUCE ? ": all-reduce that was not hidden" : "");
    }
    pod_json_close(&r->json);
}

static void add_reductions(pod_record *r, const simulation *x)
{
    const pod_simulated *s = &x->result;
    const pod_by_core *all = &s->exposed;
    pod_record_real(r, "allreduce_exposed_s", "all-reduce exposed", "ms", 3,
                    s->stats.phase[POD_PHASE_REDUCE].mean);
    pod_record_note(r, "of core %d", x->planned.watched[0]);
    if (s->cores > 1)
        pod_record_note(r, "; of all: mean %.3f, least %.3f (core %d), most %.3f (core %d)",
                        all->mean_s * 1e3, all->least_s * 1e3, all->least_core, all->most_s * 1e3,
                        all->most_core);
    pod_json_double(&r->json, "weights_sum_s", s->weights_sum_s);
    if (s->weights_sum_s > 0)
        pod_record_note(r, "; %.3f of each for the sum of the loss's weights",
                        s->weights_sum_s * 1e3);
    pod_json_open_object(&r->json, "allreduce_exposed_of_all");
    pod_json_double(&r->json, "mean_s", all->mean_s);
    pod_json_double(&r->json, "least_s", all->least_s);
    pod_json_int(&r->json, "least_core", all->least_core);
    pod_json_double(&r->json, "most_s", all->most_s);
    pod_json_int(&r->json, "most_core", all->most_core);
    pod_json_close(&r->json);
    pod_record_real(r, "allreduce_in_flight_s", "all-reduce in flight", "ms", 3,
                    s->stats.comm.mean);
    pod_record_note(r, "of core %d, summed over collectives", x->planned.watched[0]);
    pod_record_int(r, "allreduce_bytes_per_step", "all-reduced", "bytes", s->program->reduce_bytes);
    pod_record_note(r, "a step and core");
}

static void add_bounds(pod_record *r, const simulation *x)
{
    pod_json_open_object(&r->json, "bound_s");
    for (pod_bound b = 0; b < POD_N_BOUNDS; b++) {
        char name[48];
        snprintf(name, sizeof name, "  bound by %s", pod_bound_name(b));
        pod_record_real(r, NULL, name, "ms", 3, x->result.bound_s[b]);
        pod_json_double(&r->json, pod_bound_name(b), x->result.bound_s[b]);
        pod_record_note(r, "of what core %d runs", x->planned.watched[0]);
        if (x->result.slowness != 1) pod_record_note(r, ", slowed %g times", x->result.slowness);
        if (x->planned.noise > 0) pod_record_note(r, ", without the noise");
    }
    pod_json_close(&r->json);
    pod_record_real(r, NULL, "memory", "MiB", 1, x->result.memory_bytes);
    pod_record_note(r, "a core: activations, buckets, weights, states and batches");
    pod_json_int(&r->json, "memory_bytes_per_core", (int64_t)x->result.memory_bytes);
}

/* The published time that is nearest, and in what the two differ. */
static void add_published(pod_record *r, const pod_nearest *n)
{
    pod_published_put(n, &r->json);
    if (!n->row) return;
    pod_record_real(r, NULL, "nearest published", "ms", 2, n->step_s);
    pod_record_note(r, "%s, evaluations included: %s", n->row->preset,
                    *n->differs ? "the nearest row of --validate"
                                : "a row of --validate, and this is its step");
    if (!*n->differs) return;
    pod_record_text(r, NULL, "  differs in", "");
    pod_record_note(r, "%s", n->differs);
}

static void add_goodput(pod_record *r, const simulation *x)
{
    const pod_ideal *ideal = &x->result.ideal;
    const double ideal_s = pod_ideal_step_s(ideal);
    pod_record_real(r, "model_flops_per_step", "model FLOPs", "GFLOP", 3, ideal->model_flops);
    pod_record_note(r, "a step, forward and backward, whole batch");
    if (isfinite(ideal_s)) {
        pod_record_real(r, NULL, "ideal step", "ms", 3, ideal_s);
        pod_record_note(r, "model FLOPs / (%.1f GFLOP/s of a core x %d)",
                        ideal->peak_flop_per_s * 1e-9, ideal->cores_at_work);
    }
    pod_json_double(&r->json, "ideal_step_s", ideal_s);
    pod_record_real(r, "program_goodput", "program goodput", "%", 2, ideal_s / x->result.step_s);
    pod_record_note(r, isfinite(ideal_s) ? "ideal step / step"
                                         : "the peak of this machine is not known");
}

static void add_target(pod_record *r, const simulation *x)
{
    const pod_time_to_target *g = &x->target;
    if (!x->has_target) return;
    if (isfinite(g->epochs)) {
        pod_record_real(r, "epochs", "epochs to target", "", 0, g->epochs);
        pod_record_note(r, "up to an evaluation, every four");
    } else {
        pod_record_int(r, "samples", "samples to target", "", (int64_t)g->samples);
        pod_record_note(r,
                        "up to an evaluation, from the checkpoint that MLPerf's BERT starts from");
    }
    pod_record_real(r, "time_to_target_s", "time to target", "s", 2, g->seconds);
    pod_record_note(r, "%.0f steps, %.0f evaluations of %.3f s; start-up apart", g->steps,
                    g->evaluations, g->evaluation_s);
    const double unknown = (double)NAN;
    pod_record_real(r, "start_up_s", "start-up", "s", 2,
                    g->is_start_up_known ? g->start_up_s : unknown);
    if (g->is_start_up_known) {
        pod_record_note(r, "%s; MLPerf's clock leaves out up to %d s of it",
                        x->planned.start_up_s >= 0 ? "--start-up"
                                                   : "of the whole machine, by its file",
                        (int)POD_START_UP_LEFT_OUT_S);
        pod_record_real(r, NULL, "from start to target", "s", 2, g->from_start_s);
        pod_record_note(r, "start-up, steps and evaluations");
    } else {
        pod_record_note(r, "not known: --start-up says it");
    }
    pod_json_double(&r->json, "from_start_s", g->is_start_up_known ? g->from_start_s : unknown);
}

/* Of the training, where it is known how long that is. */
static void add_price(pod_record *r, const simulation *x)
{
    const double million_s = 1e6 * x->result.step_s / (double)x->planned.setup.batch;
    const double seconds = x->has_target ? x->target.from_start_s : million_s;
    const double price = pod_simulated_price(x->config, &x->planned, seconds);
    pod_json_double(&r->json, "price", price);
    if (!isfinite(price)) return;
    pod_record_real(r, NULL, "price", "$", 2, price);
    pod_record_note(r, !x->has_target                ? "of a million samples"
                       : x->target.is_start_up_known ? "from start to target"
                                                     : "to target, without start-up");
    pod_record_note(r, ", at %g a chip and hour", pod_config_double(x->config, POD_OPT_PRICE));
}

/* Without messages no link is the busiest. */
static void add_links(pod_record *r, const simulation *x)
{
    const pod_simulated *s = &x->result;
    const int64_t rerouted = s->use.n_rerouted / s->steps.n;
    const bool has_messages = s->use.n_messages > 0;
    const double busy =
        has_messages ? s->use.busiest_s / (s->steps.mean * (double)s->steps.n) : (double)NAN;
    if (s->use.n_rerouted > 0) {
        pod_record_int(r, NULL, "rerouted", "messages", rerouted);
        pod_record_note(r, "a step, round links that have failed");
    }
    pod_json_int(&r->json, "rerouted_messages_per_step", rerouted);
    if (has_messages) {
        pod_record_real(r, NULL, "busiest link", "%", 2, busy);
        pod_record_note(r, "of the step, %s", s->busiest_link);
    }
    pod_json_text(&r->json, "busiest_link", has_messages ? s->busiest_link : NULL);
    pod_json_double(&r->json, "busiest_link_share", busy);
    pod_record_real(r, NULL, "simulated", "events/s", -3, (double)s->use.n_events / s->run_wall_s);
    pod_record_note(
        r, "%" PRId64 " events in %.3f s; compiled in %.3f s, collectives planned in %.3f s",
        s->use.n_events, s->run_wall_s, s->compile_wall_s, s->plan_wall_s);
    pod_json_int(&r->json, "events", s->use.n_events);
    pod_json_double(&r->json, "plan_wall_s", s->plan_wall_s);
    pod_json_double(&r->json, "run_wall_s", s->run_wall_s);
}

/* Each once, joined by commas, as far as there is room. */
static void add_name(char names[TEXT_BYTES], const char *name)
{
    char whole[TEXT_BYTES + 2], wanted[80];
    snprintf(whole, sizeof whole, ", %s,", names);
    snprintf(wanted, sizeof wanted, " %.70s,", name);
    const size_t used = strlen(names);
    if (!strstr(whole, wanted))
        snprintf(names + used, TEXT_BYTES - used, "%s%s", used ? ", " : "", name);
}

/* Ops of a host that calibrate has no probe for are cheaper here than they are. */
static void note_unprobed(pod_table *t, const simulation *x)
{
    char names[TEXT_BYTES] = "";
    const pod_program *p = x->result.program;
    if (is_pod(x)) return;
    for (int32_t i = 0; i < p->n_instrs; i++)
        for (int32_t k = 0; k < p->instr[i].n_works; k++)
            if (!pod_work_is_probed(&x->planned.machine, &p->instr[i].work[k]))
                add_name(names, p->instr[i].work[k].op);
    if (*names)
        pod_table_note(
            t, "no probe has timed %s: priced by FLOPs at the peak, or bytes through memory",
            names);
}

static void fill(pod_record *r, const simulation *x)
{
    pod_table_note(r->table, "minipod %s simulate, clock virtual, machine %s", POD_VERSION,
                   x->planned.machine.name);
    note_unprobed(r->table, x);
    add_circumstances(r, x);
    add_steps(r, x);
    add_input(r, x);
    add_phases(r, x);
    add_reductions(r, x);
    add_bounds(r, x);
    add_published(r, &x->nearest);
    add_goodput(r, x);
    add_target(r, x);
    add_price(r, x);
    add_links(r, x);
}

/* What is explained follows the table in print, and is rows of it in the CSV. */
static pod_status explain(simulation *x, pod_arena *arena, pod_log *log, pod_record *r)
{
    const pod_explanation *e;
    if (!pod_config_bool(x->config, POD_OPT_EXPLAIN)) return POD_OK;
    POD_TRY(pod_simulate_explain(&x->planned, &x->result, arena, log, &e));
    POD_TRY(pod_explanation_print(e, &x->planned, &x->result, log->out));
    pod_explanation_rows(e, r->table);
    pod_json_open_object(&r->json, "explain");
    pod_explanation_json(e, &r->json);
    pod_json_close(&r->json);
    return POD_OK;
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* A pod has none of our kernels. NULL on a host; E_NOMEM. */
static pod_status traced_work(const simulation *x, pod_arena *arena, const pod_trace_work **out)
{
    const pod_program *p = x->result.program;
    *out = NULL;
    if (!pod_machine_is_virtual(&x->planned.machine)) return POD_OK;
    pod_trace_work *work = POD_ARENA_NEW(arena, pod_trace_work, p->n_instrs);
    if (!work) return POD_E_NOMEM;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const pod_instr_time *t = &x->result.time[i];
        work[i] = (pod_trace_work){.bound = pod_bound_name(t->bound),
                                   .flops = t->flops,
                                   .vector_ops = t->vector_ops,
                                   .bytes = t->bytes,
                                   .n_joined = t->n_joined};
    }
    *out = work;
    return POD_OK;
}

static pod_status write_trace(const simulation *x, pod_arena *arena, const char *folder)
{
    const pod_trace_work *work;
    POD_TRY(traced_work(x, arena, &work));
    char path[PATH_BYTES], clock[TEXT_BYTES];
    snprintf(path, sizeof path, "%s/timeline.json", folder);
    snprintf(clock, sizeof clock, "virtual, machine %s", x->planned.machine.name);
    const pod_trace_plan plan = {.clock = clock,
                                 .program = x->result.program,
                                 .rank = x->planned.watched,
                                 .n_ranks = x->result.n_traces,
                                 .work = work};
    pod_trace *trace;
    POD_TRY(pod_trace_open(path, &plan, &trace));
    const pod_status s = pod_trace_put_step(trace, x->result.trace);
    if (s == POD_OK) return pod_trace_close(trace);
    pod_trace_abandon(trace);
    return s;
}

static void warn_of_algo(const simulation *x, pod_arena *arena, pod_log *log)
{
    const char *text = pod_network_algo_missed(&x->planned.setup, x->result.program, arena);
    if (text) pod_log_say(log, POD_LOG_WARNING, "%s", text);
}

static bool holds(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* What an earlier simulation left and this one may not write; of a training, which has a
 * timeline.json too, nothing goes. */
static void clear_folder(const char *folder)
{
    static const char *const may_be_left_out[] = {"links.svg", "timeline.json"};
    char path[PATH_BYTES];
    if (!holds(folder, "simulate.json") || holds(folder, "run.json")) return;
    for (size_t i = 0; i < sizeof may_be_left_out / sizeof may_be_left_out[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, may_be_left_out[i]);
        (void)remove(path);
    }
}

static pod_status write_folder(const simulation *x, pod_record *r, pod_arena *arena, pod_log *log)
{
    const char *folder = pod_config_text(x->config, POD_OPT_OUT);
    char path[PATH_BYTES];
    if (!*folder) return POD_OK;
    clear_folder(folder);
    snprintf(path, sizeof path, "%s/simulate.json", folder);
    POD_TRY(pod_record_write_json(r, path));
    POD_TRY(pod_simulate_write_links(&x->planned, &x->result, folder, log));
    if (pod_config_bool(x->config, POD_OPT_TRACE)) POD_TRY(write_trace(x, arena, folder));
    return POD_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* All that the record tells of. */
static pod_status find_all(pod_call *call, simulation *x)
{
    const pod_config *c = x->config;
    const char *folder = pod_config_text(c, POD_OPT_OUT);
    POD_TRY(pod_planned_of(c, call->arena, &x->planned));
    POD_TRY(pod_simulate_options_suit(c, &x->planned));
    if (*folder) POD_TRY(pod_dir_make(folder));
    POD_TRY(pod_simulate(&x->planned, call->arena, call->log, &x->result));
    POD_TRY(pod_simulate_options_used(&x->planned, &x->result));
    warn_of_algo(x, call->arena, call->log);
    POD_TRY(pod_published_nearest(c, &x->planned, call->arena, &x->nearest));
    x->has_target = pod_config_bool(c, POD_OPT_TO_TARGET);
    if (!x->has_target) return POD_OK;
    return pod_simulate_to_target(&x->planned, &x->result, call->arena, &x->target);
}

static pod_status tell(pod_call *call, simulation *x)
{
    pod_record r;
    POD_TRY(pod_record_open("minipod.simulate", 3, POD_COLUMNS(pod_quantity_columns), &r));
    fill(&r, x);
    pod_status s = pod_table_print(r.table, call->log->out);
    if (s == POD_OK) s = explain(x, call->arena, call->log, &r);
    if (s == POD_OK) s = write_folder(x, &r, call->arena, call->log);
    if (s == POD_OK) return pod_record_finish(&r, x->config, NULL);
    pod_record_close(&r);
    return s;
}

static pod_status simulate_step(pod_call *call)
{
    const pod_config *c = call->config;
    simulation x = {.config = c};
    POD_TRY(pod_simulate_options_check(c));
    if (pod_config_bool(c, POD_OPT_TRACE) && !*pod_config_text(c, POD_OPT_OUT))
        return pod_fail(POD_E_INVALID, "trace: timeline.json goes into --out, which is not given");
    pod_status s = find_all(call, &x);
    if (s == POD_OK) s = tell(call, &x);
    pod_planned_end(&x.planned);
    return s;
}

pod_status pod_cmd_simulate(pod_call *call, int *exit_code)
{
    if (strcmp(pod_config_text(call->config, POD_OPT_PRESET), "list") == 0) {
        pod_published_list(call->log->out);
        return POD_OK;
    }
    if (pod_config_bool(call->config, POD_OPT_VALIDATE)) {
        bool held = false;
        POD_TRY(pod_simulate_validate(call, &held));
        *exit_code = held ? POD_EXIT_OK : POD_EXIT_FAILED;
        return POD_OK;
    }
    const bool is_job = *pod_config_text(call->config, POD_OPT_JOB) != '\0';
    const bool has_list = strchr(pod_config_text(call->config, POD_OPT_CORES), ',') != NULL;
    pod_config *settled;
    POD_TRY(pod_published_settle(call->config, is_job && has_list, &settled));
    pod_call with = *call;
    with.config = settled;
    const pod_status s = is_job ? pod_simulate_job(&with) : simulate_step(&with);
    pod_config_destroy(settled);
    return s;
}
