#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/common/quota.h"
#include "bench/common/table.h"
#include "bench/train/run.h"
#include "kernels/base/cpu.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/file.h"
#include "runtime/core/places.h"
#include "runtime/data/glyphs.h"

enum { TEXT_BYTES = POD_RUN_NOTE_BYTES + POD_PATH_BYTES };

/* "cosine; --momentum 0.9 --weight-decay 1e-4": what else the optimizer reads. */
static void note_hparams(const pod_run *r, char note[TEXT_BYTES])
{
    int n;
    const pod_option *options = pod_options(&n);
    size_t used = (size_t)snprintf(note, TEXT_BYTES, "%s;", pod_lr_print(r->setup->lr.kind));
    for (const pod_optim_default *d = r->setup->optim->own; d->value && used < TEXT_BYTES; d++)
        if (d->option != POD_OPT_LR)
            used +=
                (size_t)snprintf(note + used, TEXT_BYTES - used, " --%s %s",
                                 options[d->option].name, pod_optim_value(r->config, d->option));
}

void pod_run_note_cores(const pod_run *r, char note[POD_RUN_NOTE_BYTES])
{
    const int n = r->cores.at_work;
    static const char why[] = "times are the operating system's too";
    note[0] = '\0';
    if (pod_quota_note(n, note, TEXT_BYTES) || r->ranks <= n) return;
    if (n < r->cores.physical)
        snprintf(note, TEXT_BYTES, "ranks may run on %d of them, and share %s: %s", n,
                 n == 1 ? "it" : "those", why);
    else
        snprintf(note, TEXT_BYTES, "ranks share %d core%s: %s", n, n == 1 ? "" : "s", why);
}

static void add_circumstances(pod_table *t, const pod_run *r)
{
    char mesh[POD_MESH_TEXT_BYTES], note[TEXT_BYTES];
    const pod_setup *s = r->setup;
    pod_run_note_cores(r, note);
    pod_table_quantity(t, "model", "", "", "%s", s->model);
    pod_table_quantity(t, "data", "", s->data, "%s", r->result->data_name);
    pod_table_quantity(t, "parameters", "", "trained", "%" PRId64, r->result->n_weights);
    pod_table_quantity(t, "clock", "", r->machine->name, "wall");
    pod_table_quantity(t, "mesh", "", "", "%s",
                       pod_mesh_print(&s->compile.mesh, mesh, sizeof mesh));
    pod_table_quantity(t, "ranks", "", "", "%d", r->ranks);
    pod_table_quantity(t, "physical cores", "", note, "%d", r->cores.physical);
    pod_table_quantity(t, "precision", "", "", "%s", s->precision_name);
    if (s->compile.accumulate > 1)
        snprintf(note, sizeof note, "a core's share in %d micro-steps of %" PRId64,
                 s->compile.accumulate, s->batch / r->ranks / s->compile.accumulate);
    pod_table_quantity(t, "global batch", "samples", s->compile.accumulate > 1 ? note : "",
                       "%" PRId64, s->batch);
    pod_table_quantity(t, "optimizer", "", s->optim->formula, "%s", s->optim->name);
    note_hparams(r, note);
    pod_table_quantity(t, "learning rate", "", note, "%g", s->lr.base);
    snprintf(note, sizeof note, "%s; %s",
             s->compile.wait_at_once ? "each is waited for at once" : "beside the step",
             s->compile.shard_update ? "each core updates its part"
                                     : "each core updates all weights");
    pod_table_quantity(t, "wire", "", note, "%s", pod_config_text(r->config, POD_OPT_WIRE));
}

/* Of target and accuracies: as many decimals as tell them apart. */
static int places_of(const pod_run *r)
{
    const double target = r->setup->target;
    const int last = pod_places_apart(r->result->last.accuracy, target);
    const int best = pod_places_apart(r->result->best.accuracy, target);
    return last > best ? last : best;
}

static void add_times(pod_table *t, const pod_run *r)
{
    const pod_train_result *x = r->result;
    char note[TEXT_BYTES], since[64] = "";
    if (x->is_branch)
        snprintf(since, sizeof since, "since the resume at step %" PRId64 ", another job's",
                 x->first_step);
    if (x->reached)
        pod_table_quantity(t, "time to target", "s",
                           x->is_branch ? since
                                        : "from before the data are read, evaluations included",
                           "%.2f", x->time_to_target_s);
    else
        pod_table_quantity(t, "time to target", "s", "", "-");
    if (x->evals.n > 0) {
        snprintf(note, sizeof note, "the best accuracy, %.*f, after %.2f epochs%s%s", places_of(r),
                 x->best.accuracy, pod_run_epochs_to_peak(r), x->is_branch ? "; " : "", since);
        pod_table_quantity(t, "time to peak", "s", note, "%.2f", x->time_to_peak_s);
    }
}

/* An epoch's samples that fill no batch, where they are more than a percent. */
static void note_dropped(const pod_run *r, char note[TEXT_BYTES])
{
    const int64_t all = r->result->n_train, batch = r->setup->batch;
    if (all > 0 && 100 * (all % batch) > all)
        snprintf(note, TEXT_BYTES,
                 "each drops %" PRId64 " of %" PRId64 " samples, which fill no batch of %" PRId64,
                 all % batch, all, batch);
}

/* Where the weights of the best evaluation are, if the run ends with others. */
static void note_best(const pod_run *r, char note[TEXT_BYTES])
{
    const pod_train_result *x = r->result;
    const char *out = pod_config_text(r->config, POD_OPT_OUT);
    const size_t used = strlen(note);
    if (!(x->best.accuracy > x->last.accuracy)) return;
    if (*out && pod_checkpoint_best(out) == x->evals.row[x->peak].n_done)
        snprintf(note + used, TEXT_BYTES - used, "; the best weights: --resume %s/checkpoint/best",
                 out);
    else
        snprintf(note + used, TEXT_BYTES - used, "; --keep-best keeps the weights of the best");
}

static void add_outcome(pod_table *t, const pod_run *r)
{
    const pod_train_result *x = r->result;
    const int places = places_of(r);
    if (r->setup->target > 0)
        pod_table_quantity(t, "target accuracy", "", x->reached ? "reached" : "not reached", "%.*f",
                           places, r->setup->target);
    else
        pod_table_quantity(t, "target accuracy", "", "none was set", "-");
    if (x->evals.n > 0) {
        char note[TEXT_BYTES];
        snprintf(note, sizeof note, "best %.*f; %" PRId64 " samples, %" PRId64 " evaluation%s",
                 places, x->best.accuracy, x->last.n_samples, x->evals.n,
                 x->evals.n == 1 ? "" : "s");
        note_best(r, note);
        pod_table_quantity(t, "accuracy", "", note, "%.*f", places, x->last.accuracy);
    }
    char dropped[TEXT_BYTES] = "";
    note_dropped(r, dropped);
    pod_table_quantity(t, "epochs", "", dropped, "%.2f", pod_run_epochs(r));
    pod_table_quantity(t, "steps", "",
                       x->stopped      ? "stopped on request; --resume resumes it"
                       : x->first_step ? "those before the resume included"
                                       : "",
                       "%" PRId64, x->first_step + x->n_steps);
    add_times(t, r);
    pod_table_quantity(t, "run", "s", "", "%.2f", x->run_s);
    pod_table_quantity(t, "weights", "",
                       r->status == POD_OK ? "hash, the same on all ranks" : "hash, of rank 0",
                       "%016" PRIx64, x->weights_hash);
}

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
    const bool reads = !pod_glyphs_is_spec(r->setup->data) && r->result->memory.data == 0;
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

static void add_memory(pod_table *t, const pod_rank_memory *m)
{
    const double mib = 1048576;
    char note[TEXT_BYTES];
    snprintf(note, sizeof note,
             "a rank: step and buckets %.1f, weights and states %.1f, batches %.1f, data %.1f",
             (double)(m->step + m->window) / mib, (double)m->store / mib, (double)m->batches / mib,
             (double)m->data / mib);
    pod_table_quantity(t, "memory", "MiB", note, "%.1f", (double)pod_rank_memory_total(m) / mib);
}

static void add_steps(pod_table *t, const pod_run *r)
{
    char input[TEXT_BYTES];
    const char *const notes[POD_N_PHASES] = {input_note(r, input, sizeof input), "", "",
                                             "all-reduce that was not hidden",
                                             "the optimizer's share"};
    const pod_train_result *x = r->result;
    char note[TEXT_BYTES];
    const pod_spread *step = &x->stats.step;
    pod_table_quantity(t, "samples/s", "1/s",
                       x->n_steps == 1 ? "of the only step" : "training steps, without the first",
                       "%.1f", pod_run_samples_per_s(r));
    pod_table_quantity(t, "step median", "ms", "", "%.2f", step->median * 1e3);
    pod_table_quantity(t, "step p99", "ms", "", "%.2f", step->p99 * 1e3);
    for (int p = 0; p < POD_N_PHASES; p++) {
        char name[32];
        snprintf(name, sizeof name, "  %s", pod_phase_name((pod_phase)p));
        pod_table_quantity(t, name, "%", notes[p], "%.1f", 100 * x->phase_share[p]);
    }
    pod_table_quantity(t, "  other", "%", "shares are means over ranks", "%.1f",
                       100 * x->other_share);
    pod_table_quantity(t, "all-reduce exposed", "ms", "a step, mean over ranks", "%.3f",
                       x->exposed_s * 1e3);
    pod_table_quantity(t, "all-reduce in flight", "ms", "a step, summed over collectives, rank 0",
                       "%.3f", x->stats.comm.mean * 1e3);
    pod_table_quantity(t, "all-reduced", "bytes", "a step and core", "%" PRId64, x->reduce_bytes);
    snprintf(note, sizeof note, "a core; whole it is %.3f", (double)x->whole_state_bytes / 1048576);
    pod_table_quantity(t, "optimizer state", "MiB", note, "%.3f", (double)x->state_bytes / 1048576);
    add_memory(t, &x->memory);
}

static void add_goodput(pod_table *t, const pod_run *r)
{
    char note[TEXT_BYTES];
    const pod_ideal ideal = pod_run_ideal(r);
    const pod_goodput g = pod_goodput_of(r->account, &ideal);
    pod_table_quantity(t, "model FLOPs", "GFLOP", "a step, forward and backward, whole batch",
                       "%.3f", ideal.model_flops * 1e-9);
    if (isfinite(g.program)) {
        snprintf(note, sizeof note, "model FLOPs / (%.1f GFLOP/s of a core x %d)",
                 ideal.peak_flop_per_s * 1e-9, ideal.cores_at_work);
        pod_table_quantity(t, "ideal step", "ms", note, "%.3f", g.ideal_step_s * 1e3);
        pod_table_quantity(t, "program goodput", "%", "ideal step / median step", "%.2f",
                           100 * g.program);
    } else {
        pod_table_quantity(t, "ideal step", "ms", r->machine->why_unknown, "-");
        pod_table_quantity(t, "program goodput", "%", "the peak of this machine is not known", "-");
    }
    if (isfinite(g.runtime))
        pod_table_quantity(t, "runtime goodput", "%", "kept steps / wall time of the job", "%.2f",
                           100 * g.runtime);
    if (r->account->n_attempts > 1)
        pod_table_quantity(t, "attempts", "", "minipod goodput tells where their time went", "%d",
                           r->account->n_attempts);
    if (r->account->n_lost_steps > 0)
        pod_table_quantity(t, "steps lost", "",
                           "done, and kept by no checkpoint that was gone on from", "%" PRId64,
                           r->account->n_lost_steps);
}

pod_status pod_run_print_table(const pod_run *r, FILE *to, const char *csv)
{
    pod_table *t;
    POD_TRY(pod_table_create(pod_quantity_columns, POD_QUANTITY_COLUMNS, &t));
    pod_table_note(t, "minipod %s train, clock wall, machine %s", POD_VERSION, r->machine->name);
    add_circumstances(t, r);
    add_outcome(t, r);
    add_steps(t, r);
    add_goodput(t, r);
    if (r->result->n_dropped > 0)
        pod_table_quantity(t, "records dropped", "",
                           "all ranks' timelines had no room for them; a trace lacks them",
                           "%" PRId64, r->result->n_dropped);
    pod_status s = pod_table_print(t, to);
    if (s == POD_OK && *csv) s = pod_table_write_csv(t, csv);
    pod_table_destroy(t);
    return s;
}
