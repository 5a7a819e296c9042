#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#include "bench/common/table.h"
#include "bench/run.h"

enum { TEXT_BYTES = 160 };

static const pod_column columns[] = {
    {"quantity", "", true}, {"value", "", true}, {"unit", "", true}, {"note", "", true}};

static void row(pod_table *t, const char *quantity, const char *unit, const char *note,
                const char *fmt, ...) POD_PRINTF(5, 6);

static void row(pod_table *t, const char *quantity, const char *unit, const char *note,
                const char *fmt, ...)
{
    char value[TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(value, sizeof value, fmt, args);
    va_end(args);
    pod_table_add(t, "%s", quantity);
    pod_table_add(t, "%s", value);
    pod_table_add(t, "%s", unit);
    pod_table_add(t, "%s", note);
}

static void add_circumstances(pod_table *t, const pod_run *r)
{
    char mesh[POD_MESH_TEXT_BYTES], note[TEXT_BYTES] = "";
    const pod_setup *s = r->setup;
    if (r->ranks > r->physical_cores)
        snprintf(note, sizeof note, "ranks share cores: times are the operating system's too");
    row(t, "model", "", "", "%s", s->model);
    row(t, "data", "", s->data, "%s", r->result->data_name);
    row(t, "parameters", "", "trained", "%" PRId64, r->result->n_weights);
    row(t, "clock", "", r->machine->name, "wall");
    row(t, "mesh", "", "", "%s", pod_mesh_print(&s->mesh, mesh, sizeof mesh));
    row(t, "ranks", "", "", "%d", r->ranks);
    row(t, "physical cores", "", note, "%d", r->physical_cores);
    row(t, "precision", "", "", "%s", s->precision_name);
    if (s->accumulate > 1)
        snprintf(note, sizeof note, "a core's share in %d micro-steps of %" PRId64, s->accumulate,
                 s->batch / r->ranks / s->accumulate);
    row(t, "global batch", "samples", s->accumulate > 1 ? note : "", "%" PRId64, s->batch);
    row(t, "optimizer", "", s->optim->formula, "%s", s->optim->name);
    snprintf(note, sizeof note, "%s; %s",
             s->overlap ? "beside the step" : "each is waited for at once",
             s->shard_update ? "each core updates its part" : "each core updates all weights");
    row(t, "wire", "", note, "%s", pod_config_text(r->config, POD_OPT_WIRE));
}

static void add_outcome(pod_table *t, const pod_run *r)
{
    const pod_train_result *x = r->result;
    if (r->setup->target > 0)
        row(t, "target accuracy", "", x->reached ? "reached" : "not reached", "%.4f",
            r->setup->target);
    else
        row(t, "target accuracy", "", "none was set", "-");
    if (x->n_evals > 0) {
        char note[TEXT_BYTES];
        snprintf(note, sizeof note, "best %.4f; %" PRId64 " samples, %" PRId64 " evaluations",
                 x->best.accuracy, x->last.n_samples, x->n_evals);
        row(t, "accuracy", "", note, "%.4f", x->last.accuracy);
    }
    row(t, "epochs", "", "", "%.2f", pod_run_epochs(r));
    row(t, "steps", "", x->first_step ? "those before the resume included" : "", "%" PRId64,
        x->first_step + x->n_steps);
    if (x->reached)
        row(t, "time to target", "s", "from before the data are read, evaluations included", "%.2f",
            x->time_to_target_s);
    else
        row(t, "time to target", "s", "", "-");
    if (x->n_evals > 0) {
        char note[TEXT_BYTES];
        snprintf(note, sizeof note, "the best accuracy, %.4f, after %.2f epochs", x->best.accuracy,
                 pod_run_epochs_to_peak(r));
        row(t, "time to peak", "s", note, "%.2f", x->time_to_peak_s);
    }
    row(t, "run", "s", "", "%.2f", x->run_s);
    row(t, "weights", "", "hash, the same on all ranks", "%016" PRIx64, x->weights_hash);
}

static bool is_input_bound(const pod_train_result *x)
{
    const double input = x->phase_share[POD_PHASE_INPUT];
    for (int p = 0; p < POD_N_PHASES; p++)
        if (p != POD_PHASE_INPUT && x->phase_share[p] >= input) return false;
    return input > x->other_share;
}

static void add_steps(pod_table *t, const pod_run *r)
{
    const char *const notes[POD_N_PHASES] = {
        is_input_bound(r->result) ? "waiting for the batch, the largest share: try more "
                                    "--input-threads, or a --data-cache "
                                    "that takes the whole set"
                                  : "waiting for the batch",
        "", "", "all-reduce that was not hidden", "the optimizer's share"};
    const pod_train_result *x = r->result;
    char note[TEXT_BYTES];
    const pod_spread *step = &x->stats.step;
    row(t, "samples/s", "1/s", "training steps, without the first", "%.1f",
        pod_run_samples_per_s(r));
    row(t, "step median", "ms", "", "%.2f", step->median * 1e3);
    row(t, "step p99", "ms", "", "%.2f", step->p99 * 1e3);
    for (int p = 0; p < POD_N_PHASES; p++) {
        char name[32];
        snprintf(name, sizeof name, "  %s", pod_phase_name((pod_phase)p));
        row(t, name, "%", notes[p], "%.1f", 100 * x->phase_share[p]);
    }
    row(t, "  other", "%", "shares are means over ranks", "%.1f", 100 * x->other_share);
    row(t, "all-reduce exposed", "ms", "a step", "%.3f", x->exposed_s * 1e3);
    row(t, "all-reduce in flight", "ms", "a step, summed over collectives, rank 0", "%.3f",
        x->stats.comm.mean * 1e3);
    row(t, "all-reduced", "bytes", "a step and core", "%" PRId64, x->reduce_bytes);
    snprintf(note, sizeof note, "a core; whole it is %.3f", (double)x->whole_state_bytes / 1048576);
    row(t, "optimizer state", "MiB", note, "%.3f", (double)x->state_bytes / 1048576);
    row(t, "memory", "MiB", "a core: activations, buckets, weights and states", "%.1f",
        (double)x->memory_bytes / 1048576);
}

static void add_goodput(pod_table *t, const pod_run *r)
{
    char note[TEXT_BYTES];
    const pod_ideal ideal = pod_run_ideal(r);
    const pod_goodput g = pod_goodput_of(r->job, &ideal);
    row(t, "model FLOPs", "GFLOP", "a step, forward and backward, whole batch", "%.3f",
        ideal.model_flops * 1e-9);
    if (isfinite(g.program)) {
        int cores = ideal.ranks < ideal.physical_cores ? ideal.ranks : ideal.physical_cores;
        snprintf(note, sizeof note, "model FLOPs / (%.1f GFLOP/s of a core x %d)",
                 ideal.peak_flop_per_s * 1e-9, cores);
        row(t, "ideal step", "ms", note, "%.3f", g.ideal_step_s * 1e3);
        row(t, "program goodput", "%", "ideal step / median step", "%.2f", 100 * g.program);
    } else {
        row(t, "ideal step", "ms", r->machine->why_unknown, "-");
        row(t, "program goodput", "%", "the peak of this machine is not known", "-");
    }
    if (isfinite(g.runtime))
        row(t, "runtime goodput", "%", "kept steps / wall time of the job", "%.2f",
            100 * g.runtime);
}

pod_status pod_run_print_table(const pod_run *r, FILE *to, const char *csv)
{
    pod_table *t;
    POD_TRY(pod_table_create(columns, sizeof columns / sizeof columns[0], &t));
    pod_table_note(t, "minipod %s train, clock wall, machine %s", POD_VERSION, r->machine->name);
    add_circumstances(t, r);
    add_outcome(t, r);
    add_steps(t, r);
    add_goodput(t, r);
    pod_status s = pod_table_print(t, to);
    if (s == POD_OK && *csv) s = pod_table_write_csv(t, csv);
    pod_table_destroy(t);
    return s;
}
