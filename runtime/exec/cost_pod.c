/* Instructions on a core with a matrix unit, a vector unit and a memory, from what the machine's
 * file says they can do at best.
 *
 *   matrix   products, each side padded to that of the unit. One operand rests in it, the other
 *            streams through; no more than a side of rows are streamed for what rests, or loading
 *            it would take longer
 *   vector   everything else, depthwise convolutions among it, on values padded as they are stored
 *   memory   what joined instructions (exec/cost_join.h) read and write. A value is stored in tiles
 *            of sublanes x lanes, whole ones: its channels along the lanes, or its samples, as
 *            takes less memory. So images of 64 channels take twice their size with 64 samples a
 *            core, and no more than it with 128
 *
 * Attention and the loss over a vocabulary run in steps, with their scores in memory (pod_unfused), as
 * the compilers of 2020 had no kernel for them: BERT of MLPerf v0.7 is einsums and a softmax.
 *
 * The three work at the same time; before them comes an overhead. A machine may have a memory on
 * the chip that keeps what is read again soon. */
#include "runtime/exec/cost.h"
#include "runtime/exec/cost_join.h"

#include <math.h>

#include "kernels/base/assert.h"

typedef struct cost {
    const pod_machine *m;
    const pod_program *p;
    double *bytes;  /* by slot, as it is stored */
    double *padded; /* by slot: that, as a multiple of the elements' */
    const pod_joined *joined;
    int32_t n_joined;
    double *moved; /* by joined: bytes to and from memory */
    double *early; /* of these, what was in memory long before, and may be copied ahead of time */
} cost;

static double up(double x, double to)
{
    const double tiles = (double)(int64_t)((x + to - 1) / to);
    return (tiles < 1 ? 1 : tiles) * to;
}

/* ---- how values are stored ------------------------------------------------------------------- */

/* Elements that `count` of them, of this shape but for its first dimension, take when stored. */
static double stored_elements(const pod_machine *m, const pod_shape *shape, double count)
{
    const double lanes = (double)m->vector_lanes, sublanes = (double)m->vector_sublanes;
    if (shape->n_dims == 0) return count;
    if (shape->n_dims == 1) return up(count, lanes);
    double inner = 1; /* between samples and channels */
    for (int d = 1; d < shape->n_dims - 1; d++) inner *= (double)shape->dim[d];
    const double channels = (double)shape->dim[shape->n_dims - 1];
    const double samples = count / (inner * channels);
    const double columns = shape->n_dims > 2 ? (double)shape->dim[shape->n_dims - 2] : 1;
    double least = up(samples, lanes) * inner * up(channels, sublanes);
    const double by_samples = up(channels, lanes) * inner * up(samples, sublanes);
    const double by_columns =
        up(channels, lanes) * samples * (inner / columns) * up(columns, sublanes);
    if (by_samples < least) least = by_samples;
    if (by_columns < least) least = by_columns;
    return least;
}

/* Elements that the scores of an unfused op take, in tiles as well. */
static double stored_scores(const pod_machine *m, const pod_cost *of)
{
    return of->unfused.matrices * up(of->product.rows, (double)m->vector_sublanes) *
           up(of->product.cols, (double)m->vector_lanes);
}

static double score_bytes(const cost *c, const pod_instr *in)
{
    return in->cost.unfused.score_bytes * stored_scores(c->m, &in->cost);
}

/* The scores that forward leaves lie beside one of its outputs. */
static void add_scores(cost *c)
{
    for (int32_t i = 0; i < c->p->n_instrs; i++) {
        const pod_instr *in = &c->p->instr[i];
        const int k = in->cost.unfused.beside - in->n_in;
        if (in->cost.unfused.matrices > 0 && k >= 0) c->bytes[in->out[k]] += score_bytes(c, in);
    }
}

/* On one core nothing is split, so weights cannot be told from samples: it counts as one replica. */
static double replicas(const cost *c)
{
    const bool is_alone = pod_mesh_size(&c->p->mesh) == 1;
    return c->m->replicas_per_core > 0 && !is_alone ? (double)c->m->replicas_per_core : 1;
}

/* The replicas of a core share the samples; each has weights, gradients and states of its own. */
static double copies(const cost *c, int32_t slot)
{
    const pod_type *t = &c->p->slot[slot].type;
    unsigned split = 0;
    for (int d = 0; d < t->shape.n_dims; d++) split |= t->split[d];
    return split ? 1 : replicas(c);
}

static void find_bytes(cost *c)
{
    for (int32_t s = 0; s < c->p->n_slots; s++) {
        const pod_slot *slot = &c->p->slot[s];
        const double element = (double)pod_dtype_bytes(slot->type.dtype);
        const double count = slot->type.shard.per_core > 0
                                 ? (double)pod_program_part(c->p, s, 0).count
                                 : (double)slot->bytes / element;
        const double stored =
            slot->type.shard.per_core > 0 ? count : stored_elements(c->m, &slot->type.shape, count);
        c->bytes[s] = stored * element * copies(c, s);
        c->padded[s] = count > 0 ? stored / count : 1;
    }
    add_scores(c);
}

/* ---- the units ------------------------------------------------------------------------------- */

static double padded_product(double side, double depth, double streamed, double resting)
{
    return up(depth, side) * (streamed < side ? side : streamed) * up(resting, side);
}

static double matrix_s(const pod_machine *m, const pod_cost *of)
{
    const pod_product *p = &of->product;
    const pod_unfused *u = &of->unfused;
    const double side = (double)m->matrix_side;
    const double count = u->matrices > 0 ? u->matmuls * u->matrices : p->count;
    const double rows_stream = padded_product(side, p->depth, p->rows, p->cols),
                 cols_stream = padded_product(side, p->depth, p->cols, p->rows);
    const double least = count * (rows_stream < cols_stream ? rows_stream : cols_stream);
    return 2 * least / (1e9 * m->peak_bf16_gflop_per_s);
}

/* Returns the padding of its largest value. */
static double padding_of(const cost *c, const pod_instr *in)
{
    double most = 0, padding = 1;
    for (int k = 0; k < in->n_in + in->n_out; k++) {
        const int32_t s = k < in->n_in ? in->in[k] : in->out[k - in->n_in];
        const double elements = c->bytes[s] / (c->padded[s] > 0 ? c->padded[s] : 1);
        if (elements <= most) continue;
        most = elements;
        padding = c->padded[s];
    }
    return padding;
}

static double vector_s(const cost *c, const pod_instr *in)
{
    const pod_cost *of = &in->cost;
    const double rate = 1e9 * c->m->vector_gop_per_s * c->m->vector_share;
    if (of->unfused.matrices > 0) {
        const double scores = of->unfused.matrices * of->product.rows * of->product.cols;
        return of->unfused.vector_ops * (stored_scores(c->m, of) / scores) / rate;
    }
    double ops = of->vector_ops;
    if (of->product.count <= 0) ops += of->matrix_flops;
    return ops * padding_of(c, in) / rate;
}

/* ---- the memory ------------------------------------------------------------------------------ */

/* For chips with on-chip memory: the last use of a value, and the bytes moved since. A value that
 * is read before as many bytes as the memory holds have passed is still there; a value for which
 * this always holds need not go to the large memory at all. */
typedef struct last_use {
    double at;      /* bytes moved on the whole until then */
    int32_t writer; /* joined; -1: it came from memory, or is there already */
} last_use;

/* Bytes of the slot that group g reads or writes: of a whole value, what it updates of it. */
static double bytes_for(const cost *c, int32_t g, int32_t slot)
{
    const int32_t part = c->p->instr[c->joined[g].lead].part_of;
    return part >= 0 ? fmin(c->bytes[slot], c->bytes[part]) : c->bytes[slot];
}

static void touch(const cost *c, last_use *use, double *passed, int32_t g, int32_t slot,
                  int32_t writer)
{
    *passed += bytes_for(c, g, slot);
    use[slot].at = *passed;
    use[slot].writer = writer;
}

static void read_one(cost *c, last_use *use, double *passed, int32_t g, int32_t slot)
{
    const double capacity = c->m->on_chip_mib * 1024 * 1024, bytes = bytes_for(c, g, slot);
    const bool is_there = use[slot].at > 0 && *passed - use[slot].at + bytes <= capacity;
    int32_t writer = use[slot].writer;
    if (!is_there) {
        if (writer >= 0) c->moved[writer] += bytes_for(c, writer, slot);
        writer = -1;
        c->moved[g] += bytes;
        c->early[g] += bytes;
    }
    touch(c, use, passed, g, slot, writer);
}

static bool is_kept(const cost *c, int32_t slot)
{
    const pod_space space = c->p->slot[slot].space;
    return space == POD_SPACE_STORE || space == POD_SPACE_WINDOW;
}

/* A variable whose next value a collective brings: a compiler lets the collective write it. */
static bool is_written_by_collective(const cost *c, int32_t g)
{
    const pod_instr *in = &c->p->instr[c->joined[g].lead];
    return in->n_in == 1 && in->n_out == 1 && in->phase == POD_PHASE_UPDATE &&
           c->p->slot[in->in[0]].space == POD_SPACE_WINDOW &&
           c->p->slot[in->out[0]].space == POD_SPACE_STORE;
}

/* The passes over scores that do not fit on the chip. */
static void add_passes(cost *c, int32_t g)
{
    const pod_joined *j = &c->joined[g];
    const double capacity = c->m->on_chip_mib * 1024 * 1024;
    for (int32_t k = 0; k < j->work.n; k++) {
        const pod_instr *in = &c->p->instr[j->work.at[k]];
        const double bytes = score_bytes(c, in);
        if (bytes * in->cost.unfused.at_once > capacity)
            c->moved[g] += bytes * in->cost.unfused.passes;
    }
}

static pod_status find_moved(cost *c, pod_arena *arena)
{
    last_use *use = POD_ARENA_NEW(arena, last_use, c->p->n_slots);
    if (!use) return POD_E_NOMEM;
    for (int32_t s = 0; s < c->p->n_slots; s++) use[s].writer = -1;
    double passed = 0;
    for (int32_t g = 0; g < c->n_joined; g++) {
        const pod_joined *j = &c->joined[g];
        if (is_written_by_collective(c, g)) continue;
        add_passes(c, g);
        for (int32_t r = 0; r < j->reads.n; r++) read_one(c, use, &passed, g, j->reads.at[r]);
        for (int32_t w = 0; w < j->writes.n; w++) {
            const bool now = is_kept(c, j->writes.at[w]) || c->m->on_chip_mib == 0;
            if (now) c->moved[g] += bytes_for(c, g, j->writes.at[w]);
            touch(c, use, &passed, g, j->writes.at[w], now ? -1 : g);
        }
    }
    return POD_OK;
}

/* ---- all together ---------------------------------------------------------------------------- */

/* *ahead: bytes that were copied to the chip while units computed; those of g come off, and what
 * its own units leave time for is added, as far as the chip holds it. */
static pod_instr_time time_of(const cost *c, int32_t g, double *ahead)
{
    const pod_joined *j = &c->joined[g];
    const double rate = 1e9 * c->m->copy_memory_gb_per_s * c->m->memory_share;
    const double copied = fmin(*ahead, c->early[g]);
    pod_instr_time t = {.memory_s = (c->moved[g] - copied) / rate,
                        .overhead_s = 1e-6 * c->m->instr_overhead_us,
                        .bytes = c->moved[g],
                        .n_joined = j->work.n};
    for (int32_t k = 0; k < j->work.n; k++) {
        const pod_instr *in = &c->p->instr[j->work.at[k]];
        t.matrix_s += matrix_s(c->m, &in->cost);
        t.vector_s += vector_s(c, in);
        t.flops += in->cost.matrix_flops;
        t.vector_ops += in->cost.vector_ops;
    }
    const double spare_s = fmax(t.matrix_s, t.vector_s) - t.memory_s;
    *ahead = fmin(*ahead - copied + fmax(0, spare_s) * rate, c->m->on_chip_mib * 1024 * 1024);
    pod__cost_bound(&t);
    return t;
}

static pod_status join_all(cost *c, pod_arena *arena)
{
    c->bytes = POD_ARENA_NEW(arena, double, c->p->n_slots);
    c->padded = POD_ARENA_NEW(arena, double, c->p->n_slots);
    c->moved = POD_ARENA_NEW(arena, double, c->p->n_instrs);
    c->early = POD_ARENA_NEW(arena, double, c->p->n_instrs);
    if (!c->bytes || !c->padded || !c->moved || !c->early) return POD_E_NOMEM;
    find_bytes(c);
    POD_TRY(pod_join(c->p, c->bytes, arena, &c->joined, &c->n_joined));
    return POD_OK;
}

static pod_status fill(cost *c, pod_arena *arena, pod_instr_time time[])
{
    POD_TRY(join_all(c, arena));
    POD_TRY(find_moved(c, arena));
    for (int32_t i = 0; i < c->p->n_instrs; i++) time[i] = (pod_instr_time){0};
    double ahead = 0;
    for (int32_t g = 0; g < c->n_joined; g++) time[c->joined[g].lead] = time_of(c, g, &ahead);
    return POD_OK;
}

static pod_status check(const pod_machine *m)
{
    const struct {
        const char *key;
        double value;
    } needed[] = {
        {"peak_bf16_gflop_per_s", m->peak_bf16_gflop_per_s},
        {"copy_memory_gb_per_s", m->copy_memory_gb_per_s},
        {"vector_gop_per_s", m->vector_gop_per_s},
        {"matrix_side", (double)m->matrix_side},
        {"vector_lanes", (double)m->vector_lanes},
        {"vector_sublanes", (double)m->vector_sublanes},
        {"vector_share", m->vector_share},
        {"memory_share", m->memory_share},
    };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!(needed[i].value > 0))
            return pod_fail(POD_E_INVALID,
                            "machine %s: its file has no %s, which a simulation needs", m->name,
                            needed[i].key);
    return POD_OK;
}

pod_status pod__cost_pod(const pod_machine *m, const pod_program *p, pod_instr_time time[])
{
    pod_arena *arena;
    POD_TRY(check(m));
    POD_TRY(pod_arena_create(NULL, &arena));
    cost c = {.m = m, .p = p};
    const pod_status s = fill(&c, arena, time);
    pod_arena_destroy(arena);
    POD_TRY(s);
    return POD_OK;
}

/* ---- what a core has to hold ----------------------------------------------------------------- */

/* From the instruction that makes a value to the last that reads it, both included. */
static pod_status most_alive(const cost *c, pod_arena *arena, double *out)
{
    const int32_t n_instrs = c->p->n_instrs;
    int32_t *last = POD_ARENA_NEW(arena, int32_t, c->p->n_slots);
    double *change = POD_ARENA_NEW(arena, double, n_instrs + 1);
    if (!last || !change) return POD_E_NOMEM;
    for (int32_t g = 0; g < c->n_joined; g++)
        for (int32_t r = 0; r < c->joined[g].reads.n; r++)
            last[c->joined[g].reads.at[r]] = c->joined[g].lead;
    for (int32_t i = 0; i < n_instrs; i++)
        if (c->p->instr[i].kind == POD_I_FETCH) last[c->p->instr[i].in[0]] = i;
    for (int32_t g = 0; g < c->n_joined; g++)
        for (int32_t w = 0; w < c->joined[g].writes.n; w++) {
            const int32_t s = c->joined[g].writes.at[w], lead = c->joined[g].lead;
            if (c->p->slot[s].space != POD_SPACE_STEP) continue;
            change[lead] += c->bytes[s];
            change[(last[s] > lead ? last[s] : lead) + 1] -= c->bytes[s];
        }
    double alive = 0;
    *out = 0;
    for (int32_t i = 0; i <= n_instrs; i++) {
        alive += change[i];
        if (alive > *out) *out = alive;
    }
    return POD_OK;
}

static pod_status hold(cost *c, pod_arena *arena, double *bytes)
{
    double step = 0, input = 0;
    POD_TRY(join_all(c, arena));
    POD_TRY(most_alive(c, arena, &step));
    for (int i = 0; i < c->p->n_inputs; i++) input += c->bytes[c->p->input[i].value.id];
    *bytes = step + input + replicas(c) * (double)(c->p->window_bytes + c->p->store_bytes);
    return POD_OK;
}

pod_status pod_cost_memory(const pod_machine *m, const pod_program *p, size_t *bytes)
{
    pod_arena *arena;
    double all = 0;
    POD_TRY(check(m));
    POD_TRY(pod_arena_create(NULL, &arena));
    cost c = {.m = m, .p = p};
    const pod_status s = hold(&c, arena, &all);
    pod_arena_destroy(arena);
    POD_TRY(s);
    *bytes = (size_t)all;
    return POD_OK;
}
