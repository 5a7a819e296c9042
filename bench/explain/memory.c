/* explain memory: what a core needs for a training step, what of it is alive where most is, and the
 * largest batch that fits --memory. Each batch asked about is compiled; nothing is run. */
#include <inttypes.h>

#include "bench/common/planned.h"
#include "bench/explain/explain.h"
#include "kernels/base/parse.h"
#include "runtime/program/footprint.h"

enum { N_SHOWN = 10 };

static const double MIB = 1048576;

/* ---- one program ----------------------------------------------------------------------------- */

static const pod_column columns[] = {
    {"memory", "", true}, {"bytes", "", false}, {"size", "MiB", false}, {"note", "", true}};
static const pod_column alive_columns[] = {{"alive at the peak", "", true},
                                           {"op", "", true},
                                           {"use", "", true},
                                           {"size", "MiB", false},
                                           {"share", "%", false}};

static void row(pod_table *t, const char *what, double bytes, const char *note)
{
    pod_table_row(t, "%s\t%.0f\t%.1f\t%s", what, bytes, bytes / MIB, note);
}

/* A pod holds what its compiler leaves of the program; the other rows are of that as it is here. */
static pod_status add_totals(const pod_planned *r, const pod_program *p, const pod_footprint *f,
                             pod_table *t)
{
    if (pod_machine_is_virtual(&r->machine)) {
        double bytes;
        POD_TRY(pod_fit_bytes(r, p, &bytes));
        row(t, "total", bytes, "as simulated: joined and padded, what is fed included");
        row(t, "not joined", (double)f->total_bytes, "nor padded; what follows is of this");
    } else {
        const pod_rank_memory m = pod_planned_rank_memory(r, p, r->setup.batch);
        row(t, "total", (double)pod_rank_memory_total(&m), "of a rank: its memory_bytes_per_core");
        row(t, "  data", (double)m.data, "pixels, as --data-cache keeps them, in each rank");
        if (m.samples > 0)
            row(t, "  samples", (double)m.samples, "which sentences are the samples of an epoch");
        row(t, "  batches", (double)m.batches, "made ahead, for training and evaluation");
        if (m.search > 0)
            row(t, "  search", (double)m.search, "keys, values and logits of its hypotheses");
        if (m.step > p->step_bytes)
            row(t, "  search programs", (double)(m.step - p->step_bytes),
                "what its programs need beyond the step below");
    }
    return POD_OK;
}

static pod_status print_rows(const pod_planned *r, const pod_program *p, const pod_footprint *f)
{
    pod_table *t;
    char note[96], micro_steps[48] = "";
    POD_TRY(pod_table_create(POD_COLUMNS(columns), &t));
    if (p->repeat.count > 1)
        snprintf(micro_steps, sizeof micro_steps, " in %d micro-steps", (int)p->repeat.count);
    pod_table_note(t, "a training step of %s on one core of mesh %s, batch %" PRId64 "%s",
                   r->net.name, POD_MESH_TEXT(&p->mesh), r->setup.batch, micro_steps);
    pod_status s = add_totals(r, p, f, t);
    const pod_instr *at = &p->instr[f->peak];
    snprintf(note, sizeof note, "%.1f %% alive at %s '%s', %s",
             100 * (double)f->alive_bytes / (double)p->step_bytes, at->op, at->label,
             pod_phase_name(at->phase));
    row(t, "  step", (double)p->step_bytes, note);
    for (int u = 0; u < POD_N_USES; u++) {
        char name[48];
        snprintf(name, sizeof name, "    %s", pod_use_name((pod_use)u));
        row(t, name, (double)f->use_bytes[u], "");
    }
    row(t, "  buckets", (double)p->window_bytes, "shared with the ranks of a node");
    row(t, "  weights", (double)(p->store_bytes - p->state_bytes), "and moving statistics");
    row(t, "  optimizer state", (double)p->state_bytes, "");
    if (pod_machine_is_virtual(&r->machine))
        row(t, "fed", pod_planned_fed_bytes(r), "batches ahead of the step's");
    row(t, "moved", f->moved_bytes, "read and written in a step");
    row(t, "reduced", (double)p->reduce_bytes, "by collectives in a step");
    pod_table_footer(t);
    if (r->setup.compile.recompute)
        pod_table_note(t, "%d instructions of forward run again in backward", (int)p->n_recomputed);
    if (s == POD_OK) return pod_table_finish(t, stdout, "");
    pod_table_destroy(t);
    return s;
}

static pod_status print_alive(const pod_program *p, const pod_footprint *f)
{
    pod_table *t;
    POD_TRY(pod_table_create(POD_COLUMNS(alive_columns), &t));
    for (int32_t i = 0; i < f->n_alive && i < N_SHOWN; i++) {
        const pod_alive *a = &f->alive[i];
        pod_table_row(t, "%s\t%s\t%s\t%.1f\t%.1f", p->instr[a->maker].label, p->instr[a->maker].op,
                      pod_use_name(a->use), (double)a->bytes / MIB,
                      100 * (double)a->bytes / (double)f->alive_bytes);
    }
    putchar('\n');
    return pod_table_finish(t, stdout, "");
}

/* ---- the largest batch ----------------------------------------------------------------------- */

static pod_status find_fit(const pod_planned *r, double limit, pod_fit *out)
{
    if (limit == 0) return POD_OK;
    POD_TRY(pod_fit_largest(r, limit, out));
    if (out->batch > 0) return POD_OK;
    return pod_fail(POD_E_INVALID, "memory: %s is too little for a batch of %" PRId64,
                    POD_SIZE_TEXT((int64_t)limit), out->unit);
}

static void print_fit(const pod_planned *r, double limit, const pod_fit *f)
{
    if (f->batch == 0) return;
    printf("\nlargest batch in %.1f MiB a core: %" PRId64 " (%" PRId64
           " a core), with %.1f MiB, what is fed included\n",
           limit / MIB, f->batch, f->batch / pod_mesh_size(&r->setup.compile.mesh), f->bytes / MIB);
}

pod_status pod_explain_memory(pod_explain *e)
{
    const pod_planned *p = &e->planned;
    pod_footprint f;
    pod_fit largest = {0};
    const double limit = (double)pod_config_size(e->config, POD_OPT_MEMORY);
    POD_TRY(pod_explain_compile(e));
    POD_TRY(pod_footprint_of(e->program, e->arena, &f));
    POD_TRY(find_fit(p, limit, &largest));
    POD_TRY(print_rows(p, e->program, &f));
    POD_TRY(print_alive(e->program, &f));
    print_fit(p, limit, &largest);
    return POD_OK;
}
