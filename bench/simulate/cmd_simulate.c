/* minipod simulate: what a training step takes on a machine that need not be here. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "bench/command.h"
#include "bench/common/json_file.h"
#include "bench/common/published.h"
#include "bench/common/table.h"
#include "bench/job/simulate_job.h"
#include "bench/simulate/convergence.h"
#include "bench/simulate/explain.h"
#include "bench/simulate/links.h"
#include "bench/simulate/options.h"
#include "bench/simulate/settings.h"
#include "bench/simulate/simulated.h"
#include "bench/simulate/validate.h"
#include "kernels/base/parse.h"
#include "runtime/core/file.h"
#include "runtime/core/machine_net.h"
#include "runtime/exec/host_ops.h"

enum { TEXT_BYTES = 160, PATH_BYTES = 4096 };

static const double MIB = 1048576;

typedef struct simulation {
    const pod_config *config;
    pod_planned planned;
    pod_simulated result;
    bool has_target; /* was asked for */
    pod_time_to_target target;
    pod_nearest nearest;
    const pod_explanation *explanation; /* NULL: was not asked for */
} simulation;

/* ---- the table ------------------------------------------------------------------------------- */

/* And, of a mesh of chips, the mesh with all cores of each: of three extents, since one of fewer is
 * of chips again. */
static void say_idle_cores(const pod_mesh *m, int used, int of_chip, char note[TEXT_BYTES])
{
    int n = snprintf(note, TEXT_BYTES, "%d of %d cores of each, the others and their memory idle",
                     used, of_chip);
    if (m->n_dims == POD_MESH_MAX_DIMS) return;
    n += snprintf(note + n, TEXT_BYTES - (size_t)n, ": --mesh %d", of_chip);
    for (int d = 0; d < POD_MESH_MAX_DIMS - 1; d++)
        n += snprintf(note + n, TEXT_BYTES - (size_t)n, "x%d", d < m->n_dims ? m->extent[d] : 1);
    snprintf(note + n, TEXT_BYTES - (size_t)n, " takes all");
}

static void add_chips(pod_table *t, const simulation *x)
{
    const pod_mesh *m = &x->planned.setup.compile.mesh;
    const int of_chip = (int)x->planned.machine.cores_per_chip,
              used = pod_machine_cores_used(&x->planned.machine, m);
    char note[TEXT_BYTES] = "";
    if (!pod_machine_is_virtual(&x->planned.machine) || of_chip == 0) return;
    if (used < of_chip) say_idle_cores(m, used, of_chip, note);
    pod_table_quantity(t, "chips", "", note, "%d", x->result.cores / used);
}

/* Of a host that has fewer, on which ranks wait for each other's turns. */
static bool shares_cores(const simulation *x)
{
    return x->result.cores > x->result.ideal.cores_at_work;
}

static void add_cores(pod_table *t, const simulation *x)
{
    char note[TEXT_BYTES] = "";
    int n = 0;
    if (shares_cores(x))
        n = snprintf(note, sizeof note, "ranks share %d physical core%s, in turns",
                     x->result.ideal.physical_cores, x->result.ideal.physical_cores > 1 ? "s" : "");
    if (x->result.cores_simulated < x->result.cores)
        snprintf(note + n, sizeof note - (size_t)n, "%s%d simulated, which stand for all",
                 n > 0 ? "; " : "", x->result.cores_simulated);
    else if (!pod_config_is_set(x->config, POD_OPT_MESH))
        snprintf(note, sizeof note, "--mesh or --cores gives more");
    pod_table_quantity(t, "cores", "", note, "%d", x->result.cores);
    add_chips(t, x);
}

static void add_circumstances(pod_table *t, const simulation *x)
{
    char mesh[POD_MESH_TEXT_BYTES], note[TEXT_BYTES];
    const pod_setup *s = &x->planned.setup;
    pod_table_quantity(t, "model", "", pod_planned_source(&x->planned), "%s", s->model);
    pod_table_quantity(t, "clock", "", x->planned.machine.name, "virtual");
    pod_table_quantity(t, "mesh", "", "o: does not wrap", "%s",
                       pod_mesh_print(&s->compile.mesh, mesh, sizeof mesh));
    add_cores(t, x);
    pod_table_quantity(t, "precision", "", "", "%s", s->precision_name);
    snprintf(note, sizeof note, "%" PRId64 " a core", s->batch / x->result.cores);
    pod_table_quantity(t, "global batch", "samples", note, "%" PRId64, s->batch);
    pod_table_quantity(t, "optimizer", "",
                       s->compile.shard_update ? "each core updates its part"
                                               : "each core updates all weights",
                       "%s", s->optim->name);
}

/* What is in force: a pod's is not what --help says of a run. */
static void add_bucket(pod_table *t, const simulation *x)
{
    char size[32], note[TEXT_BYTES];
    const int64_t bytes = x->planned.setup.compile.bucket_bytes;
    snprintf(note, sizeof note, "%s: gradients that are all-reduced together%s",
             pod_print_size(bytes, size, sizeof size),
             pod_config_is_set(x->config, POD_OPT_BUCKET) ? "" : "; by default, --bucket says it");
    pod_table_quantity(t, "bucket", "bytes", note, "%" PRId64, bytes);
}

static void add_noise(pod_table *t, const simulation *x)
{
    const double share = x->planned.noise;
    char note[TEXT_BYTES];
    snprintf(note, sizeof note, "the step is their median, shares are of all; mean %.3f ms",
             x->result.steps.mean * 1e3);
    if (share > 0)
        pod_table_quantity(t, "noise", "%", "of an instruction's time: log-normal, mean 1", "%g",
                           100 * share);
    if (x->result.steps.n > 1)
        pod_table_quantity(t, "simulated steps", "", note, "%" PRId64, x->result.steps.n);
}

/* The wait for input is one of the phases, and shown where there is one. */
static void add_input(pod_table *t, const simulation *x)
{
    const pod_input_time *in = &x->result.input;
    const double share = pod_step_share(&x->result.stats, POD_PHASE_INPUT);
    char note[TEXT_BYTES];
    if (in->seconds <= 0) return;
    if (in->make_s > 0)
        snprintf(note, sizeof note, "%d hosts at %g samples/s: %s", in->n_hosts,
                 x->planned.input_rate,
                 share > 0 ? "the step is input-bound" : "the step hides it");
    else
        snprintf(note, sizeof note, "from hosts to chips: %s; how they make it is left out",
                 share > 0 ? "the step is input-bound" : "the step hides it");
    pod_table_quantity(t, "input of a step", "ms", note, "%.3f", in->seconds * 1e3);
    if (share > 0)
        pod_table_quantity(t, "  input", "%", "all cores wait for the batch", "%.2f", 100 * share);
}

/* Of the core whose step the table has, and of all. */
static void say_exposed(const simulation *x, char note[TEXT_BYTES])
{
    const pod_by_core *all = &x->result.exposed;
    const int n = snprintf(note, TEXT_BYTES, "of core %d", x->planned.watched[0]);
    if (x->result.cores == 1) return;
    snprintf(note + n, TEXT_BYTES - (size_t)n,
             "; of all: mean %.3f, least %.3f (core %d), most %.3f (core %d)", all->mean_s * 1e3,
             all->least_s * 1e3, all->least_core, all->most_s * 1e3, all->most_core);
}

static void say_runs(const simulation *x, char note[TEXT_BYTES])
{
    int n = snprintf(note, TEXT_BYTES, "of what core %d runs", x->planned.watched[0]);
    if (x->result.slowness != 1)
        n += snprintf(note + n, TEXT_BYTES - (size_t)n, ", slowed %g times", x->result.slowness);
    if (x->planned.noise > 0) snprintf(note + n, TEXT_BYTES - (size_t)n, ", without the noise");
}

/* The published time that is nearest, and in what the two differ. */
static void add_published(pod_table *t, const pod_nearest *n, pod_arena *arena)
{
    if (!n->row) return;
    const char *note = pod_arena_text(arena, "%s, evaluations included: %s", n->row->preset,
                                      *n->differs ? "the nearest row of --validate"
                                                  : "a row of --validate, and this is its step");
    pod_table_quantity(t, "nearest published", "ms", note ? note : "", "%.2f", n->step_s * 1e3);
    if (*n->differs) pod_table_quantity(t, "  differs in", "", n->differs, "%s", "");
}

static void add_step(pod_table *t, const simulation *x)
{
    const pod_simulated *s = &x->result;
    const int core = x->planned.watched[0];
    char note[TEXT_BYTES];
    add_noise(t, x);
    pod_table_quantity(t, "step", "ms",
                       pod_step_share(&s->stats, POD_PHASE_INPUT) > 0
                           ? "until the last core has ended and the next batch is there"
                           : "until the last core has ended",
                       "%.3f", s->step_s * 1e3);
    if (s->steps.n > 1) pod_table_quantity(t, "step p99", "ms", "", "%.3f", s->steps.p99 * 1e3);
    pod_table_quantity(t, "samples/s", "1/s", "", "%.1f",
                       (double)x->planned.setup.batch / s->step_s);
    add_input(t, x);
    for (pod_phase p = POD_PHASE_FORWARD; p < POD_N_PHASES; p++) {
        char name[32];
        snprintf(name, sizeof name, "  %s", pod_phase_name(p));
        snprintf(note, sizeof note, "of core %d's step%s", core,
                 p == POD_PHASE_REDUCE ? ": all-reduce that was not hidden" : "");
        pod_table_quantity(t, name, "%", note, "%.2f", 100 * pod_step_share(&s->stats, p));
    }
    say_exposed(x, note);
    pod_table_quantity(t, "all-reduce exposed", "ms", note, "%.3f",
                       s->stats.phase[POD_PHASE_REDUCE].mean * 1e3);
    snprintf(note, sizeof note, "of core %d, summed over collectives", core);
    pod_table_quantity(t, "all-reduce in flight", "ms", note, "%.3f", s->stats.comm.mean * 1e3);
    pod_table_quantity(t, "all-reduced", "bytes", "a step and core", "%" PRId64,
                       s->program->reduce_bytes);
    for (pod_bound b = 0; b < POD_N_BOUNDS; b++) {
        char name[48];
        snprintf(name, sizeof name, "  bound by %s", pod_bound_name(b));
        say_runs(x, note);
        pod_table_quantity(t, name, "ms", note, "%.3f", s->bound_s[b] * 1e3);
    }
    pod_table_quantity(t, "memory", "MiB",
                       "a core: activations, buckets, weights, states and batches", "%.1f",
                       s->memory_bytes / MIB);
}

static void add_goodput(pod_table *t, const simulation *x)
{
    const pod_simulated *s = &x->result;
    char note[TEXT_BYTES];
    const double ideal_s = pod_ideal_step_s(&s->ideal);
    pod_table_quantity(t, "model FLOPs", "GFLOP", "a step, forward and backward, whole batch",
                       "%.3f", s->ideal.model_flops * 1e-9);
    if (!isfinite(ideal_s)) {
        pod_table_quantity(t, "program goodput", "%", "the peak of this machine is not known", "-");
        return;
    }
    snprintf(note, sizeof note, "model FLOPs / (%.1f GFLOP/s of a core x %d)",
             s->ideal.peak_flop_per_s * 1e-9, s->ideal.cores_at_work);
    pod_table_quantity(t, "ideal step", "ms", note, "%.3f", ideal_s * 1e3);
    pod_table_quantity(t, "program goodput", "%", "ideal step / step", "%.2f",
                       100 * ideal_s / s->step_s);
}

static void add_target(pod_table *t, const simulation *x)
{
    const pod_time_to_target *g = &x->target;
    char note[TEXT_BYTES];
    if (!x->has_target) return;
    pod_table_quantity(t, "epochs to target", "", "up to an evaluation, every four", "%.0f",
                       g->epochs);
    snprintf(note, sizeof note, "%.0f steps, %.0f evaluations of %.3f s; start-up apart", g->steps,
             g->evaluations, g->evaluation_s);
    pod_table_quantity(t, "time to target", "s", note, "%.2f", g->seconds);
    if (!g->is_start_up_known) {
        pod_table_quantity(t, "start-up", "s", "not known: --start-up says it", "-");
        return;
    }
    snprintf(note, sizeof note, "%s; MLPerf's clock leaves out up to %d s of it",
             x->planned.start_up_s >= 0 ? "--start-up" : "of the whole machine, by its file",
             (int)POD_START_UP_LEFT_OUT_S);
    pod_table_quantity(t, "start-up", "s", note, "%.2f", g->start_up_s);
    pod_table_quantity(t, "from start to target", "s", "start-up, steps and evaluations", "%.2f",
                       g->from_start_s);
}

static void add_links(pod_table *t, const simulation *x)
{
    const pod_simulated *s = &x->result;
    char note[TEXT_BYTES];
    if (s->use.n_rerouted > 0)
        pod_table_quantity(t, "rerouted", "messages", "a step, round links that have failed",
                           "%" PRId64, s->use.n_rerouted / s->steps.n);
    if (s->use.n_messages > 0) {
        snprintf(note, sizeof note, "of the step, %s", s->busiest_link);
        pod_table_quantity(t, "busiest link", "%", note, "%.2f",
                           100 * s->use.busiest_s / (s->steps.mean * (double)s->steps.n));
    }
    snprintf(note, sizeof note,
             "%" PRId64 " events in %.3f s; compiled in %.3f s, collectives planned in %.3f s",
             s->use.n_events, s->run_wall_s, s->compile_wall_s, s->plan_wall_s);
    pod_table_quantity(t, "simulated", "events/s", note, "%.3g",
                       (double)s->use.n_events / s->run_wall_s);
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
    const pod_machine *m = &x->planned.machine;
    const pod_program *p = x->result.program;
    if (pod_machine_is_virtual(m)) return;
    for (int32_t i = 0; i < p->n_instrs; i++)
        for (int32_t k = 0; k < p->instr[i].n_works; k++)
            if (!pod_work_is_probed(m, &p->instr[i].work[k]))
                add_name(names, p->instr[i].work[k].op);
    if (*names)
        pod_table_note(
            t, "no probe has timed %s: priced by FLOPs at the peak, or bytes through memory",
            names);
}

static void fill_table(pod_table *t, const simulation *x, pod_arena *arena)
{
    pod_table_note(t, "minipod %s simulate, clock virtual, machine %s", POD_VERSION,
                   x->planned.machine.name);
    note_unprobed(t, x);
    add_circumstances(t, x);
    add_bucket(t, x);
    pod_simulate_add_algorithms(t, x->result.program);
    pod_simulate_add_options(t, x->config);
    add_step(t, x);
    add_published(t, &x->nearest, arena);
    add_goodput(t, x);
    add_target(t, x);
    add_links(t, x);
}

/* What is explained follows the table in print, and is rows of it in the CSV. */
static pod_status print_table(simulation *x, pod_arena *arena, const pod_config *c, pod_log *log)
{
    const char *csv = pod_config_text(c, POD_OPT_CSV);
    pod_table *t;
    pod_status status;
    POD_TRY(pod_table_create(pod_quantity_columns, POD_QUANTITY_COLUMNS, &t));
    fill_table(t, x, arena);
    POD_TRY_GOTO(status, pod_table_print(t, log->out), done);
    if (pod_config_bool(c, POD_OPT_EXPLAIN)) {
        POD_TRY_GOTO(status,
                     pod_simulate_explain(&x->planned, &x->result, arena, log, &x->explanation),
                     done);
        POD_TRY_GOTO(
            status, pod_explanation_print(x->explanation, &x->planned, &x->result, log->out), done);
        pod_explanation_rows(x->explanation, t);
    }
    if (*csv) POD_TRY_GOTO(status, pod_table_write_csv(t, csv), done);
done:
    pod_table_destroy(t);
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_target(const pod_time_to_target *g, pod_json *j)
{
    const double unknown = (double)NAN;
    pod_json_double(j, "epochs", g->epochs);
    pod_json_double(j, "time_to_target_s", g->seconds);
    pod_json_double(j, "start_up_s", g->is_start_up_known ? g->start_up_s : unknown);
    pod_json_double(j, "from_start_s", g->is_start_up_known ? g->from_start_s : unknown);
}

/* Without messages no link is the busiest. */
static void put_links(const pod_simulated *s, pod_json *j)
{
    const bool has_messages = s->use.n_messages > 0;
    pod_json_text(j, "busiest_link", has_messages ? s->busiest_link : NULL);
    pod_json_double(j, "busiest_link_share",
                    has_messages ? s->use.busiest_s / (s->steps.mean * (double)s->steps.n)
                                 : (double)NAN);
    pod_json_int(j, "rerouted_messages_per_step", s->use.n_rerouted / s->steps.n);
    pod_json_int(j, "cores_simulated", s->cores_simulated);
}

static void put(const void *simulated, pod_json *j)
{
    const simulation *x = simulated;
    char mesh[POD_MESH_TEXT_BYTES];
    const pod_setup *s = &x->planned.setup;
    const pod_simulated *r = &x->result;
    const double ideal_s = pod_ideal_step_s(&r->ideal);
    pod_json_open_object(j, NULL);
    pod_json_text(j, "schema", "minipod.simulate");
    pod_json_int(j, "version", 1);
    pod_json_text(j, "minipod", POD_VERSION);
    pod_json_text(j, "git", POD_GIT_ID);
    pod_json_text(j, "clock", "virtual");
    pod_json_text(j, "machine", x->planned.machine.name);
    pod_json_text(j, "model", s->model);
    pod_json_text(j, "mesh", pod_mesh_print(&s->compile.mesh, mesh, sizeof mesh));
    pod_json_int(j, "ranks", r->cores);
    pod_json_bool(j, "cores_shared", shares_cores(x));
    if (pod_machine_is_virtual(&x->planned.machine))
        pod_json_int(j, "cores_per_chip_used",
                     pod_machine_cores_used(&x->planned.machine, &s->compile.mesh));
    pod_json_int(j, "global_batch", s->batch);
    pod_json_text(j, "precision", s->precision_name);
    pod_json_text(j, "optimizer", s->optim->name);
    pod_json_int(j, "bucket_bytes", s->compile.bucket_bytes);
    pod_json_double(j, "step_s", r->step_s);
    pod_json_double(j, "step_p99_s", r->steps.p99);
    pod_published_put(&x->nearest, j);
    pod_json_int(j, "steps_simulated", r->steps.n);
    pod_json_double(j, "noise", x->planned.noise);
    pod_json_double(j, "input_s", r->input.seconds);
    pod_json_double(j, "samples_per_s", (double)s->batch / r->step_s);
    pod_json_int(j, "core", x->planned.watched[0]);
    pod_json_double(j, "core_step_s", r->stats.step.mean); /* of which the shares are */
    pod_json_double(j, "allreduce_share", pod_simulated_allreduce_share(r));
    pod_json_double(j, "allreduce_exposed_s", r->stats.phase[POD_PHASE_REDUCE].mean);
    pod_json_open_object(j, "allreduce_exposed_of_all");
    pod_json_double(j, "mean_s", r->exposed.mean_s);
    pod_json_double(j, "least_s", r->exposed.least_s);
    pod_json_int(j, "least_core", r->exposed.least_core);
    pod_json_double(j, "most_s", r->exposed.most_s);
    pod_json_int(j, "most_core", r->exposed.most_core);
    pod_json_close(j);
    pod_json_double(j, "allreduce_in_flight_s", r->stats.comm.mean);
    pod_json_int(j, "allreduce_bytes_per_step", r->program->reduce_bytes);
    pod_json_int(j, "memory_bytes_per_core", (int64_t)r->memory_bytes);
    pod_json_double(j, "program_goodput", ideal_s / r->step_s);
    pod_json_double(j, "ideal_step_s", ideal_s);
    pod_json_double(j, "model_flops_per_step", r->ideal.model_flops);
    pod_json_open_object(j, "phase_share");
    for (int p = 0; p < POD_N_PHASES; p++)
        pod_json_double(j, pod_phase_name((pod_phase)p), pod_step_share(&r->stats, (pod_phase)p));
    pod_json_close(j);
    pod_json_open_object(j, "bound_s");
    for (pod_bound b = 0; b < POD_N_BOUNDS; b++)
        pod_json_double(j, pod_bound_name(b), r->bound_s[b]);
    pod_json_close(j);
    if (x->has_target) put_target(&x->target, j);
    put_links(r, j);
    pod_simulate_put_algorithms(r->program, j);
    pod_simulate_put_options(x->config, j);
    if (x->explanation) {
        pod_json_open_object(j, "explain");
        pod_explanation_json(x->explanation, j);
        pod_json_close(j);
    }
    pod_json_int(j, "events", r->use.n_events);
    pod_json_double(j, "plan_wall_s", r->plan_wall_s);
    pod_json_double(j, "run_wall_s", r->run_wall_s);
    pod_json_close(j);
}

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

static pod_status write_json(const simulation *x, const char *path)
{
    return pod_json_file_write(path, 3, put, x);
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

static pod_status write_folder(const simulation *x, const pod_config *c, pod_arena *arena,
                               pod_log *log)
{
    const char *folder = pod_config_text(c, POD_OPT_OUT);
    char path[PATH_BYTES];
    if (!*folder) return POD_OK;
    clear_folder(folder);
    snprintf(path, sizeof path, "%s/simulate.json", folder);
    POD_TRY(write_json(x, path));
    POD_TRY(pod_simulate_write_links(&x->planned, &x->result, folder, log));
    if (pod_config_bool(c, POD_OPT_TRACE)) POD_TRY(write_trace(x, arena, folder));
    return POD_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static pod_status simulate_step(pod_call *call)
{
    const pod_config *c = call->config;
    POD_TRY(pod_simulate_options_check(c));
    const char *json = pod_config_text(c, POD_OPT_JSON), *folder = pod_config_text(c, POD_OPT_OUT);
    simulation x = {.config = c};
    pod_arena *arena;
    pod_status status;
    if (pod_config_bool(c, POD_OPT_TRACE) && !*pod_config_text(c, POD_OPT_OUT))
        return pod_fail(POD_E_INVALID, "trace: timeline.json goes into --out, which is not given");
    POD_TRY(pod_arena_create(NULL, &arena));
    POD_TRY_GOTO(status, pod_planned_of(c, arena, &x.planned), done);
    POD_TRY_GOTO(status, pod_simulate_options_suit(c, &x.planned), done);
    if (*folder) POD_TRY_GOTO(status, pod_dir_make(folder), done);
    POD_TRY_GOTO(status, pod_simulate(&x.planned, arena, call->log, &x.result), done);
    POD_TRY_GOTO(status, pod_simulate_options_used(&x.planned, &x.result), done);
    warn_of_algo(&x, arena, call->log);
    POD_TRY_GOTO(status, pod_published_nearest(c, &x.planned, arena, &x.nearest), done);
    x.has_target = pod_config_bool(c, POD_OPT_TO_TARGET);
    if (x.has_target)
        POD_TRY_GOTO(status, pod_simulate_to_target(&x.planned, &x.result, arena, &x.target), done);
    POD_TRY_GOTO(status, print_table(&x, arena, c, call->log), done);
    if (*json) POD_TRY_GOTO(status, write_json(&x, json), done);
    POD_TRY_GOTO(status, write_folder(&x, c, arena, call->log), done);
done:
    pod_planned_end(&x.planned);
    pod_arena_destroy(arena);
    return status;
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
