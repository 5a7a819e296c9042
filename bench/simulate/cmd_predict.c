/* minipod predict: a run as `minipod train` would have it, some steps of it, beside its simulation
 * under the machine file of this host: what is predicted and what it took, by phase and for the
 * instructions that are missed by most. */
#include <inttypes.h>
#include <string.h>

#include "bench/simulate/simulate.h"
#include "runtime/exec/cost.h"

enum { N_STEPS = 40, N_WARM_UP = 5, N_WORST = 12 };

typedef struct prediction {
    pod_call *call;
    pod_setup setup;
    pod_network network;
    pod_network_choice choice;
    pod_machine machine;
    pod_target target;
    pod_cores cores;
    pod_job_log log;
    pod_mllog *mllog;
    pod_train_result result;
} prediction;

/* ---- the run --------------------------------------------------------------------------------- */

static pod_status load_machine(prediction *j)
{
    POD_TRY(pod_target_machine(j->call->comm, j->call->config, &j->machine));
    /* What the file lacks is refused before anything is run. */
    return pod_cost_program(&j->machine, &(pod_program){0}, NULL);
}

static pod_status read_settings(prediction *j)
{
    const pod_config *c = j->call->config;
    POD_TRY(pod_setup_from(c, pod_comm_size(j->call->comm), pod_comm_node_size(j->call->comm),
                           j->call->arena, &j->setup));
    if (j->setup.steps == 0 && pod_config_is_set(c, POD_OPT_STEPS))
        return pod_fail(POD_E_INVALID, "steps: predict measures some, found 0");
    if (j->setup.steps == 0) j->setup.steps = N_STEPS;
    j->setup.eval_every = 0;
    return pod_network_choose(&j->setup, &j->choice, &j->network);
}

static pod_status set_up(prediction *j)
{
    pod_comm *comm = j->call->comm;
    POD_TRY(pod_comm_agree(comm, read_settings(j)));
    POD_TRY(load_machine(j));
    j->cores = pod_comm_cores(comm);
    if (j->cores.at_work < pod_comm_size(comm)) j->machine.physical_cores = j->cores.at_work;
    POD_TRY(pod_comm_agree(comm, pod_target_from(j->call->config, &j->machine, &j->target)));
    return pod_comm_agree(comm,
                          pod_mllog_open(NULL, pod_comm_rank(comm), &j->call->clock, &j->mllog));
}

static pod_status run(prediction *j)
{
    static const pod_guard_plan nothing_kept = {.out = "", .resume = "", .saver = {.keep_last = 1}};
    const pod_train_args args = {.setup = &j->setup,
                                 .network = &j->network,
                                 .target = &j->target,
                                 .comm = j->call->comm,
                                 .clock = j->call->clock,
                                 .log = j->call->log,
                                 .job = &j->log,
                                 .mllog = j->mllog,
                                 .guard = &nothing_kept,
                                 .machine = j->machine.name,
                                 .kept_steps = j->setup.steps};
    pod_job_end(&j->log, POD_JOB_INIT, pod_clock_stamp(&j->call->clock));
    return pod_train(&args, &j->result);
}

/* ---- what is told ---------------------------------------------------------------------------- */

static pod_feeding feeding_of(const prediction *j)
{
    const int ranks = pod_comm_size(j->call->comm);
    return (pod_feeding){.batch_s = pod_batch_s(&j->machine, j->setup.data, j->result.program),
                         .n_threads = j->setup.prefetch > 0 ? j->setup.input_threads : 0,
                         .ranks = ranks,
                         .cores = j->cores.here};
}

static int64_t n_measured(const prediction *j)
{
    return j->result.n_steps > N_WARM_UP ? j->result.n_steps - N_WARM_UP : j->result.n_steps;
}

static void add_notes(const prediction *j, const pod_side *measured, const pod_side *predicted,
                      pod_table *t)
{
    const int ranks = pod_comm_size(j->call->comm), cores = j->cores.at_work;
    pod_table_note(t, "minipod predict %s, model %s, mesh %s, global batch %" PRId64, POD_VERSION,
                   j->setup.model, POD_MESH_TEXT(&j->setup.compile.mesh), j->setup.batch);
    pod_table_note(t,
                   "measured: clock wall, rank 0, medians of %" PRId64
                   " steps; predicted: clock virtual, machine %s",
                   n_measured(j), j->machine.name);
    pod_table_note(t, "%d rank%s, %d core%s%s", ranks, ranks == 1 ? "" : "s", cores,
                   cores == 1 ? "" : "s",
                   ranks > cores ? ": ranks outnumber cores, so that the operating system's "
                                   "turns are measured, which no machine file foretells"
                                 : "");
    pod_table_note(t, "other: what the medians of the phases leave of the median step, so that a "
                      "measured one may be below 0");
    if (predicted->other_s > 1e-9)
        pod_table_note(t, "threads that make batches share the ranks' cores: other");
    pod_table_note(t, "samples/s: measured %.1f, predicted %.1f, ratio %.3f",
                   (double)j->setup.batch / measured->step_s,
                   (double)j->setup.batch / predicted->step_s,
                   measured->step_s / predicted->step_s);
}

static void put_side(pod_json *j, const char *key, const char *clock, const prediction *p,
                     const pod_side *side)
{
    pod_json_open_object(j, key);
    pod_json_text(j, "clock", clock);
    pod_json_double(j, "step_s", side->step_s);
    pod_json_double(j, "samples_per_s", (double)p->setup.batch / side->step_s);
    pod_json_open_object(j, "phase_s");
    for (pod_phase i = POD_PHASE_INPUT; i < POD_N_PHASES; i++)
        pod_json_double(j, pod_phase_name(i), side->phase_s[i]);
    pod_json_double(j, "other", side->other_s);
    pod_json_close(j);
    pod_json_close(j);
}

static void put_instr(pod_json *j, const pod_instr *in, int32_t i, const pod_side *measured,
                      const pod_side *predicted)
{
    pod_json_open_object(j, NULL);
    pod_json_int(j, "instr", i);
    pod_json_text(j, "phase", pod_phase_name(in->phase));
    pod_json_text(j, "op", in->op);
    pod_json_text(j, "kernel", in->impl);
    pod_json_int(j, "works", in->n_works);
    pod_json_text(j, "label", in->label);
    pod_json_double(j, "measured_s", measured->instr_s[i]);
    pod_json_double(j, "predicted_s", predicted->instr_s[i]);
    pod_json_close(j);
}

static void put(pod_json *j, const prediction *p, const pod_side *measured,
                const pod_side *predicted)
{
    const pod_program *program = p->result.program;
    pod_json_text(j, "machine", p->machine.name);
    pod_json_text(j, "model", p->setup.model);
    pod_json_text(j, "mesh", POD_MESH_TEXT(&p->setup.compile.mesh));
    pod_json_int(j, "ranks", pod_comm_size(p->call->comm));
    pod_json_int(j, "physical_cores", p->cores.physical);
    pod_json_int(j, "cores_at_work", p->cores.at_work);
    pod_json_int(j, "global_batch", p->setup.batch);
    pod_json_int(j, "steps_measured", n_measured(p));
    put_side(j, "measured", "wall", p, measured);
    put_side(j, "predicted", "virtual", p, predicted);
    pod_json_open_array(j, "instructions");
    for (int32_t i = 0; i < program->n_instrs; i++)
        put_instr(j, &program->instr[i], i, measured, predicted);
    pod_json_close(j);
}

/* With so many instructions, to `to` or, with all of them, as the files. */
static pod_status tell(const prediction *j, const pod_side *measured, const pod_side *predicted,
                       int most, FILE *to)
{
    pod_record r;
    POD_TRY(pod_record_open("minipod.predict", 2, pod_predict_columns, pod_n_predict_columns, &r));
    add_notes(j, measured, predicted, r.table);
    pod_status s =
        pod_predict_table(j->result.program, measured, predicted, most, j->call->arena, r.table);
    if (s == POD_OK && !to) put(&r.json, j, measured, predicted);
    if (s == POD_OK && !to) return pod_record_finish(&r, j->call->config, NULL);
    if (s == POD_OK) s = pod_table_print(r.table, to);
    pod_record_close(&r);
    return s;
}

/* Rank 0's. */
static pod_status compare(const prediction *j)
{
    pod_side measured, predicted;
    const pod_feeding f = feeding_of(j);
    POD_TRY(pod_side_measured(j->result.timeline, j->result.program, N_WARM_UP, j->call->arena,
                              &measured));
    POD_TRY(pod_side_predicted(&j->machine, j->result.program, &f, j->call->arena, &predicted));
    POD_TRY(tell(j, &measured, &predicted, N_WORST, j->call->log->out));
    return tell(j, &measured, &predicted, j->result.program->n_instrs, NULL);
}

static void release(prediction *j)
{
    if (j->mllog) pod_mllog_abandon(j->mllog);
    pod_timeline_destroy(j->result.timeline);
    pod_arena_destroy(j->result.arena);
}

pod_status pod_cmd_predict(pod_call *call, int *exit_code)
{
    prediction j = {.call = call, .log = pod_job_start(call->clock.stamp)};
    pod_job_begin(&j.log, POD_JOB_INIT, call->clock.stamp);
    pod_status s = set_up(&j);
    if (s == POD_OK) s = run(&j);
    if (j.result.began && s != POD_OK) *exit_code = POD_EXIT_FAILED;
    if (s == POD_OK)
        s = pod_comm_agree(call->comm, pod_comm_rank(call->comm) == 0 ? compare(&j) : POD_OK);
    release(&j);
    return s;
}
