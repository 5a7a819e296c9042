#include "bench/simulate/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data/images/glyphs.h"
#include "runtime/data/images/image_samples.h"
#include "runtime/machine/machine_net.h"

/* ---- batches --------------------------------------------------------------------------------- */

/* Ids are copied; drawing what is masked takes less than that of images' pixels, and is left out. */
static double batch_of_text_s(const pod_machine *m, const pod_program *p)
{
    double bytes = 0;
    for (int i = 0; i < p->n_inputs; i++) bytes += (double)p->slot[p->input[i].value.id].bytes;
    return 2 * bytes * p->repeat.count / (1e9 * m->copy_memory_gb_per_s);
}

double pod_batch_s(const pod_machine *m, const char *data, const pod_program *p)
{
    if (pod_program_find_input(p, "images") < 0) return batch_of_text_s(m, p);
    const pod_slot *images = &p->slot[p->input[POD_FIELD_IMAGES].value.id];
    const pod_shape *shape = &images->type.shape;
    const double bytes = (double)images->bytes * p->repeat.count,
                 pixels = bytes / (double)shape->dim[shape->n_dims - 1];
    if (pod_glyphs_is_spec(data))
        return 1e-9 * (pixels * m->glyph_pixel_ns + bytes * m->glyph_byte_ns);
    const double n_images = (double)(shape->dim[0] * p->repeat.count);
    return 1e-9 * n_images * m->fetch_image_ns + 2 * bytes / (1e9 * m->copy_memory_gb_per_s);
}

/* Where there are not enough cores (compute_s counts turns already), all ranks and their threads
 * share the cores evenly. */
double pod_feeding_slows(const pod_feeding *f, double compute_s)
{
    if (f->n_threads == 0 || compute_s <= 0) return 1;
    if (f->ranks * (1 + f->n_threads) <= f->cores) return 1;
    const double turns = f->ranks > f->cores ? (double)f->ranks / f->cores : 1;
    const double share_s = (compute_s / turns + f->batch_s) * f->ranks / f->cores;
    return fmax(1, share_s / compute_s);
}

double pod_feeding_wait_s(const pod_feeding *f, double step_s)
{
    if (f->n_threads == 0) return f->batch_s;
    return fmax(0, f->batch_s / f->n_threads - step_s);
}

/* ---- the two sides --------------------------------------------------------------------------- */

static pod_status take(const pod_program *p, pod_arena *arena, pod_side *out)
{
    *out = (pod_side){.instr_s = POD_ARENA_NEW(arena, double, p->n_instrs)};
    return out->instr_s ? POD_OK : POD_E_NOMEM;
}

static void close_side(pod_side *s)
{
    s->other_s = s->step_s;
    for (int p = 0; p < POD_N_PHASES; p++) s->other_s -= s->phase_s[p];
}

pod_status pod_side_measured(const pod_timeline *tl, const pod_program *p, int skip,
                             pod_arena *arena, pod_side *out)
{
    int64_t n_rows;
    const pod_step_row *row = pod_timeline_rows(tl, &n_rows);
    pod_step_stats stats;
    const int64_t n = n_rows > skip ? n_rows - skip : n_rows, first = n_rows - n;
    POD_TRY(take(p, arena, out));
    POD_TRY(pod_step_stats_of(row + first, n, &stats));
    out->step_s = stats.step.median;
    for (int i = 0; i < POD_N_PHASES; i++) out->phase_s[i] = stats.phase[i].median;
    close_side(out);

    pod_event *event = POD_ARENA_NEW(arena, pod_event, pod_timeline_kept_room(tl));
    double *seconds = POD_ARENA_NEW(arena, double, p->n_instrs *n);
    if (!event || !seconds) return POD_E_NOMEM;
    const int64_t n_events = pod_timeline_copy_kept(tl, event);
    for (int64_t i = 0; i < n_events; i++) {
        const pod_event *e = &event[i];
        const int64_t at = e->step - row[first].step;
        if (e->lane == POD_LANE_COMPUTE && e->instr >= 0 && at >= 0)
            seconds[e->instr * n + at] += pod_time_seconds(e->end - e->begin);
    }
    for (int32_t i = 0; i < p->n_instrs; i++)
        out->instr_s[i] = pod_spread_of(seconds + i * n, n).median;
    return POD_OK;
}

static pod_status simulate(const pod_program *p, const pod_exec_sim_options *options,
                           pod_timeline *tl)
{
    pod_exec_sim *e;
    POD_TRY(pod_exec_sim_open(p, options, &e));
    const pod_exec_sim_watch watch = {.core = 0, .tl = tl};
    pod_status s = pod_exec_sim_step(e, 0, &watch, 1);
    pod_exec_sim_close(e);
    return s;
}

static void read_step(const pod_timeline *tl, const pod_event *event, int64_t n_events,
                      pod_side *out)
{
    int64_t n;
    const pod_step_row *row = pod_timeline_rows(tl, &n);
    out->step_s = pod_time_seconds(row->end - row->begin);
    for (int i = 0; i < POD_N_PHASES; i++) out->phase_s[i] = pod_time_seconds(row->phase[i]);
    for (int64_t i = 0; i < n_events; i++)
        if (event[i].lane == POD_LANE_COMPUTE)
            out->instr_s[event[i].instr] += pod_time_seconds(event[i].end - event[i].begin);
}

/* Answers the options' arrays in the arena. */
static pod_status cost(const pod_machine *m, const pod_program *p, const pod_feeding *f,
                       pod_arena *arena, pod_exec_sim_options *out)
{
    const int n_cores = pod_mesh_size(&p->mesh);
    pod_instr_time *time = POD_ARENA_NEW(arena, pod_instr_time, p->n_instrs);
    double *slow = POD_ARENA_NEW(arena, double, n_cores), compute_s = 0;
    if (!time || !slow) return POD_E_NOMEM;
    *out = (pod_exec_sim_options){.time = time, .slow = slow};
    POD_TRY(pod_cost_program(m, p, time));
    POD_TRY(pod_machine_net(m, &p->mesh, &out->net));
    for (int32_t i = 0; i < p->n_instrs; i++)
        compute_s += pod_program_times(p, i) * time[i].seconds;
    for (int c = 0; c < n_cores; c++) slow[c] = pod_feeding_slows(f, compute_s);
    return POD_OK;
}

/* A core that threads share stops for a whole turn now and then. Most times that an instruction
 * runs it meets none, and its median is what it takes alone: the rest is the step's `other`. */
static void move_turns_to_other(const pod_program *p, double slows, pod_side *out)
{
    for (int32_t i = 0; i < p->n_instrs; i++) {
        if (p->instr[i].kind != POD_I_RUN) continue;
        const double own_s = out->instr_s[i] / slows;
        out->phase_s[p->instr[i].phase] -= out->instr_s[i] - own_s;
        out->instr_s[i] = own_s;
    }
}

pod_status pod_side_predicted(const pod_machine *m, const pod_program *p, const pod_feeding *f,
                              pod_arena *arena, pod_side *out)
{
    pod_exec_sim_options options;
    const pod_timeline_plan plan = {
        .max_steps = 1, .max_events = pod_program_n_turns(p) + p->n_colls + 1, .kept_steps = 1};
    pod_timeline *tl;
    POD_TRY(take(p, arena, out));
    POD_TRY(cost(m, p, f, arena, &options));
    POD_TRY(pod_timeline_create(&plan, &tl));
    pod_event *event = POD_ARENA_NEW(arena, pod_event, pod_timeline_kept_room(tl));
    pod_status s = event ? simulate(p, &options, tl) : POD_E_NOMEM;
    if (s == POD_OK) read_step(tl, event, pod_timeline_copy_kept(tl, event), out);
    pod_timeline_destroy(tl);
    if (s != POD_OK) return s;
    out->phase_s[POD_PHASE_INPUT] = pod_feeding_wait_s(f, out->step_s);
    out->step_s += out->phase_s[POD_PHASE_INPUT];
    move_turns_to_other(p, options.slow[0], out);
    close_side(out);
    return POD_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

const pod_column pod_predict_columns[] = {
    {"part", "", true},          {"instr", "", false},      {"op", "", true},
    {"label", "", true},         {"measured", "ms", false}, {"predicted", "ms", false},
    {"difference", "ms", false}, {"ratio", "", false}};
const int pod_n_predict_columns = sizeof pod_predict_columns / sizeof pod_predict_columns[0];

/* As the table has it, with so many digits behind the point, and no -0.000. */
static double rounded(double value, int digits)
{
    const double scale = pow(10, digits), x = round(scale * value) / scale;
    return x == 0 ? 0 : x;
}

static void add_times(pod_table *t, double measured_s, double predicted_s)
{
    pod_table_row(t, "%.4f\t%.4f\t%+.4f", rounded(1e3 * measured_s, 4),
                  rounded(1e3 * predicted_s, 4), rounded(1e3 * (predicted_s - measured_s), 4));
    if (measured_s > 0)
        pod_table_add(t, "%.3f", rounded(predicted_s / measured_s, 3));
    else
        pod_table_add(t, "-");
}

static void add_part(pod_table *t, const char *name, double measured_s, double predicted_s)
{
    pod_table_row(t, "%s\t-\t-\t-", name);
    add_times(t, measured_s, predicted_s);
}

typedef struct miss {
    int32_t instr;
    double off_s;
} miss;

static int largest_first(const void *a, const void *b)
{
    const miss *x = a, *y = b;
    if (x->off_s != y->off_s) return x->off_s < y->off_s ? 1 : -1;
    return (x->instr > y->instr) - (x->instr < y->instr);
}

static void add_instr(pod_table *t, const pod_program *p, int32_t i, const pod_side *measured,
                      const pod_side *predicted)
{
    const pod_instr *in = &p->instr[i];
    pod_table_add(t, "%s", pod_phase_name(in->phase));
    pod_table_add(t, "%d", (int)i);
    if (in->n_works > 1)
        pod_table_add(t, "%s:%s..%s", in->op, in->work[0].op, in->work[in->n_works - 1].op);
    else
        pod_table_add(t, "%s:%s", in->op, in->impl[0] ? in->impl : "-");
    pod_table_add(t, "%s", in->label);
    add_times(t, measured->instr_s[i], predicted->instr_s[i]);
}

pod_status pod_predict_table(const pod_program *p, const pod_side *measured,
                             const pod_side *predicted, int most, pod_arena *arena, pod_table *t)
{
    miss *misses = POD_ARENA_NEW(arena, miss, p->n_instrs);
    if (!misses) return POD_E_NOMEM;
    for (int32_t i = 0; i < p->n_instrs; i++)
        misses[i] = (miss){i, fabs(predicted->instr_s[i] - measured->instr_s[i])};
    qsort(misses, (size_t)p->n_instrs, sizeof *misses, largest_first);
    add_part(t, "step", measured->step_s, predicted->step_s);
    for (pod_phase i = POD_PHASE_INPUT; i < POD_N_PHASES; i++)
        add_part(t, pod_phase_name(i), measured->phase_s[i], predicted->phase_s[i]);
    add_part(t, "other", measured->other_s, predicted->other_s);
    for (int i = 0; i < most && i < p->n_instrs; i++)
        add_instr(t, p, misses[i].instr, measured, predicted);
    return POD_OK;
}
