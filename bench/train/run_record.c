#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/common/json_option.h"
#include "bench/train/run.h"
#include "kernels/gemm/blas.h"
#include "runtime/core/file.h"
#include "runtime/core/json.h"

enum { RUN_VERSION = 1 };

static const double unknown = (double)NAN;

pod_ideal pod_run_ideal(const pod_run *r)
{
    return (pod_ideal){
        .model_flops = r->result->model_flops,
        .peak_flop_per_s = pod_machine_peak_flop_per_s(
            r->machine, r->setup->bf16_products ? POD_BF16 : r->setup->precision),
        .ranks = r->ranks,
        .physical_cores = r->cores.physical,
        .cores_at_work = r->cores.at_work,
        .median_step_s = r->result->stats.step.median,
    };
}

double pod_run_samples_per_s(const pod_run *r)
{
    double mean = r->result->stats.step.mean;
    return mean > 0 ? (double)r->setup->batch / mean : unknown;
}

static double epochs_after(const pod_run *r, int64_t n_done)
{
    const pod_schedule *s = &r->result->schedule;
    return s->steps_per_epoch == 0 ? 0 : pod_schedule_epochs(s, n_done);
}

double pod_run_epochs(const pod_run *r)
{
    return epochs_after(r, r->result->first_step + r->result->n_steps);
}

double pod_run_epochs_to_peak(const pod_run *r)
{
    const pod_train_result *t = r->result;
    return t->evals.n ? t->evals.row[t->peak].epochs : unknown;
}

/* What a reader of the results has to know beside them: the notes of the run's table that say
 * so. */
static void put_cautions(const pod_run *r, pod_json *j)
{
    char note[POD_RUN_NOTE_BYTES];
    const pod_train_result *t = r->result;
    pod_json_open_array(j, "cautions");
    pod_run_note_cores(r, note);
    if (*note) pod_json_text(j, NULL, note);
    if (*r->failure) pod_json_text(j, NULL, r->failure);
    if (t->stopped) pod_json_text(j, NULL, "stopped on request before its end");
    if (t->is_branch) {
        snprintf(note, sizeof note, "times are since the resume at step %" PRId64 ", another job's",
                 t->first_step);
        pod_json_text(j, NULL, note);
    }
    if (r->machine->why_unknown[0]) pod_json_text(j, NULL, r->machine->why_unknown);
    if (r->account->n_lost_steps > 0) {
        snprintf(note, sizeof note, "%" PRId64 " steps were lost between %d attempts",
                 r->account->n_lost_steps, r->account->n_attempts);
        pod_json_text(j, NULL, note);
    }
    pod_json_close(j);
}

/* What was typed; the rest of the settings came from files, the environment and defaults. */
static void put_arguments(const pod_run *r, pod_json *j)
{
    int n;
    const pod_option *options = pod_options(&n);
    pod_json_open_object(j, "arguments");
    for (int i = 0; i < n; i++)
        if (pod_config_source(r->config, (pod_opt)i) == POD_FROM_COMMAND_LINE)
            pod_json_option(j, &options[i], pod_config_value(r->config, (pod_opt)i));
    pod_json_close(j);
}

static void put_settings(const pod_run *r, pod_json *j)
{
    int n;
    const pod_option *options = pod_options(&n);
    pod_json_open_object(j, "settings");
    for (int i = 0; i < n; i++)
        if (options[i].commands & POD_CMD_TRAIN && !options[i].only_typed)
            pod_json_option(j, &options[i], pod_optim_value(r->config, (pod_opt)i));
    pod_json_close(j);
}

/* Where it ran; the machine file it was held against may be of another host. */
static void put_host(const pod_run *r, pod_json *j)
{
    pod_machine here;
    pod_machine_describe_host(&here);
    pod_json_open_object(j, "host");
    pod_json_text(j, "hostname", here.hostname);
    pod_json_text(j, "cpu_model", here.cpu_model);
    pod_json_text(j, "cpu_features", here.cpu_features);
    pod_json_int(j, "physical_cores", here.physical_cores);
    pod_json_text(j, "mpi", r->mpi);
    pod_json_text(j, "blas", pod_blas_config());
    pod_json_text(j, "compiler", __VERSION__);
    pod_json_close(j);
}

/* Each op with the kernel or algorithm that was picked for it, and how often. */
static void put_picks(const pod_program *p, pod_json *j)
{
    pod_json_open_array(j, "picks");
    for (int32_t i = 0; p && i < p->n_instrs; i++) {
        const pod_instr *a = &p->instr[i];
        if (a->kind == POD_I_COLL_WAIT || a->kind == POD_I_FETCH) continue;
        int n_same = 0;
        bool is_first = true;
        for (int32_t k = 0; k < p->n_instrs; k++) {
            const pod_instr *b = &p->instr[k];
            bool same =
                b->kind == a->kind && strcmp(a->op, b->op) == 0 && strcmp(a->impl, b->impl) == 0;
            n_same += same;
            if (same && k < i) is_first = false;
        }
        if (!is_first) continue;
        pod_json_open_object(j, NULL);
        pod_json_text(j, "op", a->op);
        pod_json_text(j, "kernel", a->impl);
        pod_json_int(j, "instructions", n_same);
        pod_json_close(j);
    }
    pod_json_close(j);
}

/* 0: not known yet. */
static void put_hash(pod_json *j, const char *key, uint64_t hash)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    pod_json_text(j, key, hash ? text : NULL);
}

static void put_spread(pod_json *j, const char *key, const pod_spread *s)
{
    pod_json_open_object(j, key);
    pod_json_int(j, "n", s->n);
    pod_json_double(j, "min", s->min);
    pod_json_double(j, "median", s->median);
    pod_json_double(j, "mean", s->mean);
    pod_json_double(j, "p99", s->p99);
    pod_json_double(j, "max", s->max);
    pod_json_close(j);
}

static void put_evaluations(const pod_run *r, pod_json *j)
{
    const pod_train_result *t = r->result;
    pod_json_open_array(j, "evaluations");
    for (int64_t i = 0; i < t->evals.n; i++) {
        pod_json_open_object(j, NULL);
        pod_json_int(j, "steps", t->evals.row[i].n_done);
        pod_json_double(j, "epochs", t->evals.row[i].epochs);
        pod_json_double(j, "accuracy", t->evals.row[i].accuracy);
        pod_json_double(j, "loss", t->evals.row[i].loss);
        pod_json_double(j, "time_s", t->evals.row[i].at_s);
        pod_json_close(j);
    }
    pod_json_close(j);
}

/* Of steps, where any were measured. */
static double measured(const pod_run *r, double value)
{
    return r->result->stats.step.n > 0 ? value : unknown;
}

static void put_results(const pod_run *r, pod_json *j)
{
    const pod_train_result *t = r->result;
    const pod_ideal ideal = pod_run_ideal(r);
    const pod_goodput goodput = pod_goodput_of(r->account, &ideal);
    pod_json_double(j, "step_s", measured(r, t->stats.step.median));
    pod_json_double(j, "samples_per_s", pod_run_samples_per_s(r));
    pod_json_double(j, "allreduce_share", measured(r, t->phase_share[POD_PHASE_REDUCE]));
    pod_json_double(j, "allreduce_exposed_s", measured(r, t->exposed_s));
    pod_json_int(j, "allreduce_bytes_per_step", t->reduce_bytes);
    pod_json_int(j, "memory_bytes_per_core", (int64_t)pod_rank_memory_total(&t->memory));
    pod_json_double(j, "optimizer_share", measured(r, t->phase_share[POD_PHASE_UPDATE]));
    pod_json_int(j, "optimizer_state_bytes", (int64_t)t->state_bytes);
    pod_json_int(j, "optimizer_state_bytes_unsharded", (int64_t)t->whole_state_bytes);
    pod_json_double(j, "program_goodput", goodput.program);
    pod_json_double(j, "ideal_step_s", goodput.ideal_step_s);
    pod_json_double(j, "model_flops_per_step", t->model_flops);
    pod_json_int(j, "cores_at_work", ideal.cores_at_work);
    pod_json_double(j, "runtime_goodput", goodput.runtime);
    pod_json_int(j, "attempts", r->is_running ? t->attempt : r->account->n_attempts);
    pod_json_int(j, "lost_steps", r->account->n_lost_steps);
    pod_json_int(j, "dropped_records", t->n_dropped);
    pod_json_bool(j, "stopped", t->stopped);
    pod_json_double(j, "eval_accuracy", t->evals.n ? t->last.accuracy : unknown);
    pod_json_double(j, "best_eval_accuracy", t->evals.n ? t->best.accuracy : unknown);
    pod_json_double(j, "eval_loss", t->evals.n ? t->last.loss : unknown);
    pod_json_double(j, "target", r->setup->target > 0 ? r->setup->target : unknown);
    pod_json_double(j, "epochs", pod_run_epochs(r));
    pod_json_int(j, "steps", t->first_step + t->n_steps);
    pod_json_double(j, "time_to_target_s", t->reached ? t->time_to_target_s : unknown);
    pod_json_double(j, "epochs_to_peak", pod_run_epochs_to_peak(r));
    pod_json_double(j, "time_to_peak_s", t->evals.n ? t->time_to_peak_s : unknown);
    pod_json_double(j, "run_s", r->is_running ? unknown : t->run_s);
    put_hash(j, "weights_hash", t->weights_hash);
    put_hash(j, "program_fingerprint", t->fingerprint);
    put_evaluations(r, j);
    put_spread(j, "step_spread_s", &t->stats.step);
    pod_json_open_object(j, "phase_share");
    for (int p = 0; p < POD_N_PHASES; p++)
        pod_json_double(j, pod_phase_name((pod_phase)p), measured(r, t->phase_share[p]));
    pod_json_double(j, "other", measured(r, t->other_share));
    pod_json_close(j);
}

/* ISO 8601, UTC. */
static const char *date_text(time_t date, char text[32])
{
    struct tm utc;
    return gmtime_r(&date, &utc) && strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc) ? text : NULL;
}

/* Of a run that is killed `running` stays: whoever reads it looks whether a process is there. */
static const char *state_of(const pod_run *r)
{
    if (r->is_running) return "running";
    if (r->status != POD_OK) return "failed";
    return r->result->stopped ? "stopped" : "ended";
}

static void put_run(const pod_run *r, pod_json *j)
{
    char mesh[POD_MESH_TEXT_BYTES], date[32];
    pod_json_open_object(j, NULL);
    pod_json_text(j, "schema", "minipod.run");
    pod_json_int(j, "version", RUN_VERSION);
    pod_json_text(j, "minipod", POD_VERSION);
    pod_json_text(j, "git", POD_GIT_ID);
    pod_json_text(j, "date", date_text(r->date, date));
    pod_json_text(j, "state", state_of(r));
    pod_json_text(j, "status", r->is_running ? NULL : pod_status_name(r->status));
    pod_json_text(j, "failure", *r->failure ? r->failure : NULL);
    pod_json_text(j, "clock", "wall");
    pod_json_text(j, "machine", r->machine->name);
    pod_json_text(j, "model", r->setup->model);
    pod_json_text(j, "data", r->setup->data);
    pod_json_text(j, "data_name", r->result->data_name);
    pod_json_text(j, "mesh", pod_mesh_print(&r->setup->compile.mesh, mesh, sizeof mesh));
    pod_json_int(j, "ranks", r->ranks);
    pod_json_int(j, "global_batch", r->setup->batch);
    pod_json_int(j, "accumulate", r->setup->compile.accumulate);
    pod_json_text(j, "precision", r->setup->precision_name);
    pod_json_text(j, "optimizer", r->setup->optim->name);
    pod_json_int(j, "seed", (int64_t)r->setup->seed);
    pod_json_int(j, "parameters", r->result->n_weights);
    put_results(r, j);
    put_cautions(r, j);
    put_arguments(r, j);
    put_settings(r, j);
    put_host(r, j);
    put_picks(r->result->program, j);
    pod_json_close(j);
}

pod_status pod_run_write_json(const pod_run *r, const char *path)
{
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    pod_json j = pod_json_start(pod_file_stream(f), 3);
    put_run(r, &j);
    return pod_file_close(f);
}
