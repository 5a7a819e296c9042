/* tiled: the steps of runtime/ops/tiled.h, one after the other for each tile of samples.
 *
 *     for each tile: for each step: run on that tile
 *
 * A value with samples that lives outside moves on by a tile's bytes; one that does not has room
 * for a tile in the scratch. A sum over samples is made by the first tile where it belongs, by the
 * others in the scratch, and added in float32: as many more roundings as there are tiles. */
#include "runtime/ops/tiled.h"

#include <stdio.h>
#include <string.h>

#include "kernels/base/hash.h"
#include "runtime/ops/op_common.h"

enum { ALIGN = 64, IMPL_BYTES = 64 * POD_TILED_STEPS };

typedef struct operand {
    enum { OPERAND_IN, OPERAND_OUT, OPERAND_SCRATCH } where;
    int32_t index;     /* of the node's inputs or outputs */
    size_t offset;     /* in the scratch; of a sum: where the tiles after the first make it */
    size_t advance;    /* bytes from tile to tile */
    int64_t sum_count; /* elements of a sum over samples, else 0 */
} operand;

typedef struct run_step {
    pod_run_fn *run;
    const void *attr;
    int n_in, n_out;
    operand operand[POD_TILED_IN + POD_MAX_OUT];
} run_step;

typedef struct run_plan {
    size_t scratch; /* where that of the step at hand begins */
    int n_steps;
    run_step step[POD_TILED_STEPS];
} run_plan;

typedef struct tiled_run_attr { /* hashed up to `plan`, which holds addresses */
    int64_t n_tiles, set;
    uint64_t hash; /* of the steps */
    const run_plan *plan;
} tiled_run_attr;

static const char *address(const operand *o, const void *const in[], void *const out[],
                           const char *scratch, int64_t tile)
{
    if (o->where == OPERAND_SCRATCH) return scratch + o->offset;
    if (o->sum_count > 0 && tile > 0) return scratch + o->offset;
    const char *base = o->where == OPERAND_IN ? in[o->index] : out[o->index];
    return base + (size_t)tile * o->advance;
}

static void add_sums(const tiled_run_attr *a, const run_step *s, void *const out[],
                     const char *scratch)
{
    for (int k = 0; k < s->n_out; k++) {
        const operand *o = &s->operand[s->n_in + k];
        if (o->sum_count == 0) continue;
        pod__pointwise_at((int32_t)a->set)
            ->add(o->sum_count, POD_F32, out[o->index], scratch + o->offset, out[o->index]);
    }
}

static void run_on_tile(const tiled_run_attr *a, const run_step *s, const void *const in[],
                        void *const out[], char *scratch, int64_t tile)
{
    const void *step_in[POD_TILED_IN];
    void *step_out[POD_MAX_OUT];
    for (int j = 0; j < s->n_in; j++) step_in[j] = address(&s->operand[j], in, out, scratch, tile);
    for (int k = 0; k < s->n_out; k++) {
        union {
            const char *from;
            void *to;
        } at = {.from = address(&s->operand[s->n_in + k], in, out, scratch, tile)};
        step_out[k] = at.to;
    }
    s->run(s->attr, step_in, step_out, scratch + a->plan->scratch);
    if (tile > 0) add_sums(a, s, out, scratch);
}

static void tiled_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    const tiled_run_attr *a = attr;
    for (int64_t tile = 0; tile < a->n_tiles; tile++)
        for (int i = 0; i < a->plan->n_steps; i++)
            run_on_tile(a, &a->plan->step[i], in, out, scratch, tile);
}

/* ---- lowering ---- */

typedef struct tiled_lowering {
    const pod_lower_args *args;
    const pod_tiled *tiled;
    pod_shape local[POD_TILED_VALUES]; /* of a tile */
    size_t bytes[POD_TILED_VALUES];    /* likewise */
    size_t offset[POD_TILED_VALUES];   /* of what is in the scratch */
    run_plan *plan;
    size_t used, step_scratch;
    uint64_t hash;
    char impl[IMPL_BYTES];
    const char **step_impl;
} tiled_lowering;

static size_t aligned(size_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

static void measure_values(tiled_lowering *t)
{
    for (int v = 0; v < t->tiled->n_values; v++) {
        const pod_tiled_value *value = &t->tiled->value[v];
        t->local[v] = pod_type_local(&value->type, t->args->mesh);
        if (value->kind == 's') t->local[v].dim[0] /= t->tiled->n_tiles;
        t->bytes[v] = (size_t)pod_shape_count(&t->local[v]) * pod_dtype_bytes(value->type.dtype);
        const bool is_inner = value->in < 0 && value->out < 0;
        if (!is_inner && value->kind != '+') continue;
        t->offset[v] = t->used;
        t->used += aligned(t->bytes[v]);
    }
}

static operand operand_of(const tiled_lowering *t, int32_t v)
{
    const pod_tiled_value *value = &t->tiled->value[v];
    operand o = {.where = OPERAND_SCRATCH, .offset = t->offset[v]};
    if (value->in >= 0)
        o.where = OPERAND_IN, o.index = value->in;
    else if (value->out >= 0)
        o.where = OPERAND_OUT, o.index = value->out;
    if (value->kind == 's') o.advance = t->bytes[v];
    if (value->kind == '+') o.sum_count = pod_shape_count(&t->local[v]);
    return o;
}

static void note_impl(tiled_lowering *t, const char *op, const char *impl)
{
    const size_t used = strlen(t->impl);
    snprintf(t->impl + used, sizeof t->impl - used, "%s%s:%s", used ? "+" : "", op, impl);
}

/* A later step must not read what an output has taken the memory of. */
static bool is_read_after(const pod_tiled *tiled, int step, int32_t v)
{
    for (int i = step + 1; i < tiled->n_steps; i++)
        for (int j = 0; j < tiled->step[i].node.n_in; j++)
            if (tiled->step[i].value[j] == v) return true;
    return false;
}

static void note_in_place(const tiled_lowering *t, int step, const pod_lowering *of_step,
                          pod_lowering *l)
{
    const pod_tiled_step *s = &t->tiled->step[step];
    for (int k = 0; k < s->node.n_out; k++) {
        const pod_tiled_value *out = &t->tiled->value[s->value[s->node.n_in + k]];
        if (of_step->in_place[k] < 0 || out->out < 0) continue;
        const int32_t v = s->value[of_step->in_place[k]];
        if (t->tiled->value[v].in >= 0 && !is_read_after(t->tiled, step, v))
            l->in_place[out->out] = (int8_t)t->tiled->value[v].in;
    }
}

static pod_status lower_step(tiled_lowering *t, int step, pod_lowering *l)
{
    const pod_tiled_step *s = &t->tiled->step[step];
    const int n = s->node.n_in + s->node.n_out;
    pod_type type[POD_TILED_IN + POD_MAX_OUT];
    pod_shape local[POD_TILED_IN + POD_MAX_OUT];
    run_step *run = &t->plan->step[step];
    for (int i = 0; i < n; i++) {
        type[i] = t->tiled->value[s->value[i]].type;
        local[i] = t->local[s->value[i]];
        run->operand[i] = operand_of(t, s->value[i]);
    }
    pod_lower_args args = *t->args;
    args.node = &s->node;
    args.in = type;
    args.out = type + s->node.n_in;
    args.in_local = local;
    args.out_local = local + s->node.n_in;
    pod_lowering own = {.impl = ""};
    memset(own.in_place, -1, sizeof own.in_place);
    POD_TRY(s->node.op->lower(&args, &own));
    run->run = own.run;
    run->attr = own.attr;
    run->n_in = s->node.n_in;
    run->n_out = s->node.n_out;
    if (own.scratch_bytes > t->step_scratch) t->step_scratch = own.scratch_bytes;
    t->hash = pod_hash_bytes(pod_hash_text(t->hash, s->node.op->name), own.attr, own.attr_bytes);
    t->hash = pod_hash_bytes(t->hash, s->value, sizeof s->value[0] * (size_t)n);
    t->step_impl[step] = own.impl;
    note_impl(t, s->node.op->name, own.impl);
    note_in_place(t, step, &own, l);
    return POD_OK;
}

static pod_status tiled_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod_tiled *tiled = ((const pod_tiled_attr *)args->node->attr)->tiled;
    tiled_lowering *t = POD_ARENA_NEW(args->arena, tiled_lowering, 1);
    tiled_run_attr *attr = POD_ARENA_NEW(args->arena, tiled_run_attr, 1);
    run_plan *plan = POD_ARENA_NEW(args->arena, run_plan, 1);
    if (!t || !attr || !plan) return POD_E_NOMEM;
    t->step_impl = POD_ARENA_NEW(args->arena, const char *, tiled->n_steps);
    if (!t->step_impl) return POD_E_NOMEM;
    t->args = args;
    t->tiled = tiled;
    t->plan = plan;
    t->hash = POD_HASH_START;
    memset(l->in_place, -1, sizeof l->in_place);
    measure_values(t);
    for (int i = 0; i < tiled->n_steps; i++) POD_TRY(lower_step(t, i, l));
    plan->n_steps = tiled->n_steps;
    plan->scratch = t->used;
    *attr = (tiled_run_attr){.n_tiles = tiled->n_tiles,
                             .set = pod__pointwise_pick(args->target->cpu),
                             .hash = t->hash,
                             .plan = plan};
    l->run = tiled_run;
    l->attr = attr;
    l->attr_bytes = offsetof(tiled_run_attr, plan);
    l->scratch_bytes = t->used + t->step_scratch;
    l->step_impl = t->step_impl;
    l->impl = pod_arena_text(args->arena, "%s", t->impl);
    return l->impl ? POD_OK : POD_E_NOMEM;
}

/* The types that the values had before they were joined. */
static pod_status tiled_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)in, (void)n_in;
    const pod_tiled *tiled = ((const pod_tiled_attr *)n->attr)->tiled;
    for (int v = 0; v < tiled->n_values; v++)
        if (tiled->value[v].out >= 0) out[tiled->value[v].out] = tiled->value[v].type;
    return POD_OK;
}

/* The part of the samples that `in` holds of those that the steps know. */
static double part_of_samples(const pod_tiled *tiled, const pod_type in[])
{
    for (int v = 0; v < tiled->n_values; v++) {
        const pod_tiled_value *value = &tiled->value[v];
        if (value->kind != 's' || value->in < 0) continue;
        return (double)in[value->in].shape.dim[0] / (double)value->type.shape.dim[0];
    }
    return 1;
}

/* The steps' work; what is read and written is what lives outside. */
static void tiled_cost(const pod_node *n, const pod_type in[], const pod_type out[], pod_cost *cost)
{
    const pod_tiled *tiled = ((const pod_tiled_attr *)n->attr)->tiled;
    const double part = part_of_samples(tiled, in);
    pod__cost_of(n, in, out, 0, cost);
    for (int i = 0; i < tiled->n_steps; i++) {
        const pod_tiled_step *s = &tiled->step[i];
        pod_type type[POD_TILED_IN + POD_MAX_OUT];
        for (int j = 0; j < s->node.n_in + s->node.n_out; j++)
            type[j] = tiled->value[s->value[j]].type;
        const pod_cost own = pod_op_cost(&s->node, type, type + s->node.n_in);
        cost->matrix_flops += part * own.matrix_flops;
        cost->vector_ops += part * own.vector_ops;
    }
}

const pod_op pod__op_tiled = {.name = "tiled",
                              .n_in = 1,
                              .n_more = POD_TILED_IN - 1,
                              .n_out = POD_MAX_OUT, /* at most */
                              .infer = tiled_infer,
                              .cost = tiled_cost,
                              .lower = tiled_lower};
