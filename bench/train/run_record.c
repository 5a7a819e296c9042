/* What a run found: the table, and run.json. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/common/json_option.h"
#include "bench/common/record.h"
#include "bench/common/target.h"
#include "bench/train/run.h"
#include "kernels/base/cpu.h"
#include "kernels/gemm/blas.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/places.h"
#include "runtime/data/dataset.h"

static const double unknown = (double)NAN, mib = 1 << 20;

/* Of a run that failed before it had one, all zeros. */
static const pod_program *program_of(const pod_run *r)
{
    static const pod_program none;
    return r->result->program ? r->result->program : &none;
}

pod_ideal pod_run_ideal(const pod_run *r)
{
    return (pod_ideal){
        .model_flops = program_of(r)->model_flops,
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

void pod_run_note_cores(const pod_run *r, char note[POD_RUN_NOTE_BYTES])
{
    const int n = r->cores.at_work;
    static const char why[] = "times are the operating system's too";
    note[0] = '\0';
    if (pod_quota_note(n, note, POD_RUN_NOTE_BYTES) || r->ranks <= n) return;
    if (n < r->cores.physical)
        snprintf(note, POD_RUN_NOTE_BYTES, "ranks may run on %d of them, and share %s: %s", n,
                 n == 1 ? "it" : "those", why);
    else
        snprintf(note, POD_RUN_NOTE_BYTES, "ranks share %d core%s: %s", n, n == 1 ? "" : "s", why);
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

/* Of steps, where any were measured. */
static double measured(const pod_run *r, double value)
{
    return r->result->stats.step.n > 0 ? value : unknown;
}

/* ---- what ran ---- */

/* "cosine; --momentum 0.9 --weight-decay 1e-4": what else the optimizer reads. */
static void note_hparams(pod_record *q, const pod_run *r)
{
    pod_record_note(q, "%s;", pod_lr_print(r->setup->lr.kind));
    for (const pod_optim_default *d = r->setup->optim->own; d->value; d++)
        if (d->option != POD_OPT_LR)
            pod_record_note(q, " --%s %s", pod_options[d->option].name,
                            pod_optim_value(r->config, d->option));
    if (r->setup->hparams.clip_norm > 0)
        pod_record_note(q, " --clip-norm %s", pod_config_text(r->config, POD_OPT_CLIP_NORM));
}

static void add_circumstances(pod_record *q, const pod_run *r)
{
    char mesh[POD_MESH_TEXT_BYTES], note[POD_RUN_NOTE_BYTES], date[32];
    const pod_setup *s = r->setup;
    pod_json *j = &q->json;
    pod_json_text(j, "date", date_text(r->date, date));
    pod_json_text(j, "state", state_of(r));
    pod_json_text(j, "status", r->is_running ? NULL : pod_status_name(r->status));
    pod_json_text(j, "failure", *r->failure ? r->failure : NULL);
    pod_record_text(q, "model", "model", s->model);
    pod_json_text(j, "task", r->task->name);
    pod_json_text(j, "metric", r->task->metric[s->target_metric].name);
    pod_record_text(q, "data_name", "data", r->result->data_name);
    pod_record_note(q, "%s", s->data);
    pod_json_text(j, "data", s->data);
    pod_record_int(q, "parameters", "parameters", "", r->result->n_weights);
    pod_record_note(q, "trained");
    pod_record_text(q, "clock", "clock", "wall");
    pod_record_note(q, "%s", r->machine->name);
    pod_json_text(j, "machine", r->machine->name);
    pod_record_text(q, "mesh", "mesh", pod_mesh_print(&s->compile.mesh, mesh, sizeof mesh));
    pod_record_int(q, "ranks", "ranks", "", r->ranks);
    pod_run_note_cores(r, note);
    pod_record_int(q, NULL, "physical cores", "", r->cores.physical);
    pod_record_note(q, "%s", note);
    pod_json_int(j, "cores_at_work", r->cores.at_work);
    pod_record_text(q, "precision", "precision", s->precision_name);
    pod_record_int(q, "global_batch", "global batch", "samples", s->batch);
    if (s->compile.accumulate > 1)
        pod_record_note(q, "a core's share in %d micro-steps of %" PRId64, s->compile.accumulate,
                        s->batch / r->ranks / s->compile.accumulate);
    pod_json_int(j, "accumulate", s->compile.accumulate);
    pod_record_text(q, "optimizer", "optimizer", s->optim->name);
    pod_record_note(q, "%s", s->optim->formula);
    pod_record_real(q, NULL, "learning rate", "", -6, s->lr.base);
    note_hparams(q, r);
    pod_record_text(q, NULL, "wire", pod_config_text(r->config, POD_OPT_WIRE));
    pod_record_note(
        q, "%s; %s", s->compile.wait_at_once ? "each is waited for at once" : "beside the step",
        s->compile.shard_update ? "each core updates its part" : "each core updates all weights");
    pod_json_int(j, "seed", (int64_t)s->seed);
}

/* ---- what came of it ---- */

/* Of target and metrics: as many decimals as tell them apart. */
static int places_of(const pod_run *r)
{
    const double target = r->setup->target;
    const int m = r->setup->target_metric;
    const int last = pod_places_apart(r->result->last.metric[m], target);
    const int best = pod_places_apart(r->result->best.metric[m], target);
    return last > best ? last : best;
}

/* Where the weights of the best evaluation are, if the run ends with others. */
static void note_best(pod_record *q, const pod_run *r)
{
    const pod_train_result *x = r->result;
    const char *out = pod_config_text(r->config, POD_OPT_OUT);
    const int m = r->setup->target_metric;
    if (!pod_metric_is_better(&r->task->metric[m], x->best.metric[m], x->last.metric[m])) return;
    if (*out && pod_checkpoint_best(out) == x->evals.row[x->peak].n_done)
        pod_record_note(q, "; the best weights: --resume %s/checkpoint/best", out);
    else
        pod_record_note(q, "; --keep-best keeps the weights of the best");
}

enum { KEY_BYTES = 64 };

/* The metric of the target, with the best of its evaluations, before the others. */
static void add_metrics(pod_record *q, const pod_run *r)
{
    const pod_train_result *x = r->result;
    const pod_metric *metric = r->task->metric;
    const int places = places_of(r), m = r->setup->target_metric;
    const bool has_target = r->setup->target > 0, has_evals = x->evals.n > 0;
    char key[KEY_BYTES];
    snprintf(key, sizeof key, "target %s", metric[m].name);
    pod_record_real(q, "target", key, "", places, has_target ? r->setup->target : unknown);
    pod_record_note(q, "%s", !has_target ? "none was set" : x->reached ? "reached" : "not reached");
    snprintf(key, sizeof key, "eval_%s", metric[m].name);
    pod_record_real(q, key, metric[m].name, "", places, has_evals ? x->last.metric[m] : unknown);
    if (has_evals) {
        pod_record_note(q, "best %.*f; %" PRId64 " samples, %" PRId64 " evaluation%s", places,
                        x->best.metric[m], x->last.n_samples, x->evals.n,
                        x->evals.n == 1 ? "" : "s");
        note_best(q, r);
    }
    if (x->searched) {
        snprintf(key, sizeof key, "%s_signature", metric[0].name);
        pod_record_text(q, key, "  signature", x->searched);
    }
    for (int i = 0; i < r->task->n_metrics; i++) {
        if (i == m) continue;
        snprintf(key, sizeof key, "eval_%s", metric[i].name);
        pod_record_real(q, key, metric[i].name, "", 4, has_evals ? x->last.metric[i] : unknown);
    }
    snprintf(key, sizeof key, "best_eval_%s", metric[m].name);
    pod_json_double(&q->json, key, has_evals ? x->best.metric[m] : unknown);
    pod_json_double(&q->json, "eval_loss", has_evals ? x->last.loss : unknown);
}

static void add_times(pod_record *q, const pod_run *r)
{
    const pod_train_result *x = r->result;
    const bool has_evals = x->evals.n > 0;
    char since[64] = "";
    if (x->is_branch)
        snprintf(since, sizeof since, "since the resume at step %" PRId64 ", another job's",
                 x->first_step);
    pod_record_real(q, "time_to_target_s", "time to target", "s", 2,
                    x->reached ? x->time_to_target_s : unknown);
    if (x->reached)
        pod_record_note(
            q, "%s", x->is_branch ? since : "from before the data are read, evaluations included");
    pod_record_real(q, "time_to_peak_s", "time to peak", "s", 2,
                    has_evals ? x->time_to_peak_s : unknown);
    if (has_evals)
        pod_record_note(q, "the best %s, %.*f, after %.2f epochs%s%s",
                        r->task->metric[r->setup->target_metric].name, places_of(r),
                        x->best.metric[r->setup->target_metric], pod_run_epochs_to_peak(r),
                        x->is_branch ? "; " : "", since);
    pod_json_double(&q->json, "epochs_to_peak", pod_run_epochs_to_peak(r));
    pod_record_real(q, "run_s", "run", "s", 2, r->is_running ? unknown : x->run_s);
}

static void add_hash(pod_record *q, const char *key, const char *name, uint64_t hash)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    if (name)
        pod_record_text(q, key, name, hash ? text : NULL);
    else
        pod_json_text(&q->json, key, hash ? text : NULL);
}

static void add_outcome(pod_record *q, const pod_run *r)
{
    const pod_train_result *x = r->result;
    const int64_t all = x->n_train, batch = r->setup->batch;
    add_metrics(q, r);
    pod_record_real(q, "epochs", "epochs", "", 2, pod_run_epochs(r));
    if (all > 0 && 100 * (all % batch) > all)
        pod_record_note(
            q, "each drops %" PRId64 " of %" PRId64 " samples, which fill no batch of %" PRId64,
            all % batch, all, batch);
    pod_record_int(q, "steps", "steps", "", x->first_step + x->n_steps);
    pod_record_note(q, "%s",
                    x->stopped      ? "stopped on request; --resume resumes it"
                    : x->first_step ? "those before the resume included"
                                    : "");
    pod_json_bool(&q->json, "stopped", x->stopped);
    add_times(q, r);
    add_hash(q, "weights_hash", "weights", x->weights_hash);
    pod_record_note(q, "hash, %s", r->status == POD_OK ? "the same on all ranks" : "of rank 0");
    add_hash(q, "program_fingerprint", NULL, program_of(r)->fingerprint);
}

/* ---- where the time went ---- */

static bool is_input_bound(const pod_train_result *x)
{
    const double input = x->phase_share[POD_PHASE_INPUT];
    for (int p = 0; p < POD_N_PHASES; p++)
        if (p != POD_PHASE_INPUT && x->phase_share[p] >= input) return false;
    return input > x->other_share;
}

/* Threads that make batches want cores, which a binding may keep from them; a cache helps where
 * pixels are read from a file again and again. */
static const char *input_note(const pod_run *r, char *note, size_t bytes)
{
    pod_cpu_set own;
    pod_cpu_allowed(&own);
    const int n = pod_cpu_set_cores(&own);
    const bool is_bound = r->setup->input_threads >= n && n < pod_cpu_physical_cores();
    const bool reads = !pod_dataset_is_synthetic(r->setup->data) && r->result->memory.data == 0;
    if (!is_input_bound(r->result)) return "waiting for the batch";
    int at = snprintf(note, bytes, "waiting for the batch, the largest share: ");
    if (is_bound)
        at += snprintf(note + at, bytes - (size_t)at,
                       "each rank may run on %d core%s: mpirun --bind-to none, then ", n,
                       n > 1 ? "s" : "");
    snprintf(note + at, bytes - (size_t)at, "try more --input-threads%s",
             reads ? ", or a --data-cache that takes the whole set" : "");
    return note;
}

static void add_memory(pod_record *q, const pod_run *r)
{
    const pod_rank_memory *m = &r->result->memory;
    const pod_program *p = program_of(r);
    pod_json *j = &q->json;
    pod_record_real(q, NULL, "optimizer state", "MiB", 3, (double)p->state_bytes);
    pod_record_note(q, "a core; whole it is %.3f", (double)p->whole_state_bytes / mib);
    pod_json_int(j, "optimizer_state_bytes", (int64_t)p->state_bytes);
    pod_json_int(j, "optimizer_state_bytes_unsharded", (int64_t)p->whole_state_bytes);
    pod_record_real(q, NULL, "memory", "MiB", 1, (double)pod_rank_memory_total(m));
    pod_record_note(q,
                    "a rank: step and buckets %.1f, weights and states %.1f, batches %.1f, data "
                    "%.1f",
                    (double)(m->step + m->window) / mib, (double)m->store / mib,
                    (double)m->batches / mib, (double)(m->data + m->samples) / mib);
    if (m->search > 0) pod_record_note(q, ", search %.1f", (double)m->search / mib);
    pod_json_int(j, "memory_bytes_per_core", (int64_t)pod_rank_memory_total(m));
}

/* Of texts: tokens that are no padding, and how much is. */
static void add_tokens(pod_record *q, const pod_run *r)
{
    const double per_sample = r->result->tokens_per_sample, room = (double)r->result->text_room;
    const double padding = per_sample > 0 ? 1 - per_sample / room : unknown;
    pod_record_real(q, "tokens_per_s", "tokens/s", "1/s", 1,
                    measured(r, pod_run_samples_per_s(r) * per_sample));
    pod_record_note(q, "without padding, which is %.1f %% of %.0f a sequence", 100 * padding, room);
    pod_json_double(&q->json, "padding_share", padding);
}

static void add_steps(pod_record *q, const pod_run *r)
{
    char input[2 * POD_RUN_NOTE_BYTES];
    const pod_train_result *x = r->result;
    const pod_spread *step = &x->stats.step;
    const char *const notes[POD_N_PHASES] = {input_note(r, input, sizeof input), "", "",
                                             r->task->mean_over == POD_NO_FIELD
                                                 ? "all-reduce that was not hidden"
                                                 : "all-reduce that was not hidden, and the sum of "
                                                   "the loss's weights",
                                             "the optimizer's share"};
    pod_record_real(q, "samples_per_s", "samples/s", "1/s", 1, pod_run_samples_per_s(r));
    pod_record_note(q, x->n_steps == 1 ? "of the only step" : "training steps, without the first");
    if (r->task->n_texts > 0) add_tokens(q, r);
    pod_record_real(q, "step_s", "step median", "ms", 2, measured(r, step->median));
    pod_record_real(q, NULL, "step p99", "ms", 2, step->p99);
    for (int p = 0; p < POD_N_PHASES; p++) {
        char name[32];
        snprintf(name, sizeof name, "  %s", pod_phase_name((pod_phase)p));
        pod_record_real(q, NULL, name, "%", 1, x->phase_share[p]);
        pod_record_note(q, "%s", notes[p]);
    }
    pod_record_real(q, NULL, "  other", "%", 1, x->other_share);
    pod_record_note(q, "shares are means over ranks");
    pod_json_double(&q->json, "allreduce_share", measured(r, x->phase_share[POD_PHASE_REDUCE]));
    pod_json_double(&q->json, "optimizer_share", measured(r, x->phase_share[POD_PHASE_UPDATE]));
    pod_record_real(q, "allreduce_exposed_s", "all-reduce exposed", "ms", 3,
                    measured(r, x->exposed_s));
    pod_record_note(q, "a step, mean over ranks");
    pod_record_real(q, NULL, "all-reduce in flight", "ms", 3, x->stats.comm.mean);
    pod_record_note(q, "a step, summed over collectives, rank 0");
    pod_record_int(q, "allreduce_bytes_per_step", "all-reduced", "bytes",
                   program_of(r)->reduce_bytes);
    pod_record_note(q, "a step and core");
    add_memory(q, r);
}

/* A row where it says something, and the key in any case. */
static void add_count(pod_record *q, const char *key, const char *name, int64_t n, bool is_shown,
                      const char *note)
{
    if (!is_shown) {
        pod_json_int(&q->json, key, n);
        return;
    }
    pod_record_int(q, key, name, "", n);
    pod_record_note(q, "%s", note);
}

static void add_goodput(pod_record *q, const pod_run *r)
{
    const pod_account *a = r->account;
    const pod_ideal ideal = pod_run_ideal(r);
    const pod_goodput g = pod_goodput_of(a, &ideal);
    pod_record_real(q, "model_flops_per_step", "model FLOPs", "GFLOP", 3, ideal.model_flops);
    pod_record_note(q, "a step, forward and backward, whole batch");
    pod_record_real(q, "ideal_step_s", "ideal step", "ms", 3, g.ideal_step_s);
    if (isfinite(g.program))
        pod_record_note(q, "model FLOPs / (%.1f GFLOP/s of a core x %d)",
                        ideal.peak_flop_per_s * 1e-9, ideal.cores_at_work);
    else
        pod_record_note(q, "%s", r->machine->why_unknown);
    pod_record_real(q, "program_goodput", "program goodput", "%", 2, g.program);
    pod_record_note(q, isfinite(g.program) ? "ideal step / median step"
                                           : "the peak of this machine is not known");
    pod_record_real(q, "runtime_goodput", "runtime goodput", "%", 2, g.runtime);
    pod_record_note(q, "kept steps / wall time of the job");
    add_count(q, "attempts", "attempts", r->is_running ? r->result->attempt : a->n_attempts,
              a->n_attempts > 1, "minipod goodput tells where their time went");
    add_count(q, "lost_steps", "steps lost", a->n_lost_steps, a->n_lost_steps > 0,
              "done, and kept by no checkpoint that was gone on from");
    add_count(q, "dropped_records", "records dropped", r->result->n_dropped,
              r->result->n_dropped > 0,
              "all ranks' timelines had no room for them; a trace lacks them");
}

/* ---- what run.json alone has ---- */

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
        for (int k = 0; k < r->task->n_metrics; k++)
            pod_json_double(j, r->task->metric[k].name, t->evals.row[i].metric[k]);
        pod_json_double(j, "loss", t->evals.row[i].loss);
        pod_json_double(j, "time_s", t->evals.row[i].at_s);
        pod_json_close(j);
    }
    pod_json_close(j);
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
    pod_json_open_object(j, "arguments");
    for (int i = 0; i < POD_N_OPTS; i++)
        if (pod_config_source(r->config, (pod_opt)i) == POD_FROM_COMMAND_LINE)
            pod_json_option(j, &pod_options[i], pod_config_value(r->config, (pod_opt)i));
    pod_json_close(j);
}

static void put_settings(const pod_run *r, pod_json *j)
{
    pod_json_open_object(j, "settings");
    for (int i = 0; i < POD_N_OPTS; i++)
        if (pod_options[i].commands & POD_CMD_TRAIN && !pod_options[i].only_typed)
            pod_json_option(j, &pod_options[i], pod_optim_value(r->config, (pod_opt)i));
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
    for (int32_t i = 0; i < p->n_instrs; i++) {
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

static void put_phases(const pod_run *r, pod_json *j)
{
    const pod_train_result *t = r->result;
    pod_json_open_object(j, "phase_share");
    for (int p = 0; p < POD_N_PHASES; p++)
        pod_json_double(j, pod_phase_name((pod_phase)p), measured(r, t->phase_share[p]));
    pod_json_double(j, "other", measured(r, t->other_share));
    pod_json_close(j);
}

pod_status pod_run_record(const pod_run *r, pod_record *out)
{
    POD_TRY(pod_record_open("minipod.run", 3, pod_quantity_columns, POD_QUANTITY_COLUMNS, out));
    pod_table_note(out->table, "minipod %s train, clock wall, machine %s", POD_VERSION,
                   r->machine->name);
    add_circumstances(out, r);
    add_outcome(out, r);
    add_steps(out, r);
    add_goodput(out, r);
    put_evaluations(r, &out->json);
    put_spread(&out->json, "step_spread_s", &r->result->stats.step);
    put_phases(r, &out->json);
    put_cautions(r, &out->json);
    put_arguments(r, &out->json);
    put_settings(r, &out->json);
    put_host(r, &out->json);
    put_picks(program_of(r), &out->json);
    return POD_OK;
}
