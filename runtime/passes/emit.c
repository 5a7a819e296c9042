/* emit: turns the plan into a program, which needs neither graph nor plan any more. */
#include <string.h>

#include "collectives/algo/rules.h"
#include "kernels/base/assert.h"
#include "runtime/passes/plan.h"

typedef struct emit {
    pod_plan *plan;
    pod_instr *instr;
    int32_t n_instrs;
    pod_program *program;
} emit;

static const char *text(emit *e, const char *from)
{
    return pod_arena_text(e->plan->arena, "%s", from);
}

static pod_status copy_slots(emit *e, const pod_value value[], int n, const int32_t **out)
{
    int32_t *slots = POD_ARENA_NEW(e->plan->arena, int32_t, n);
    if (!slots) return POD_E_NOMEM;
    for (int i = 0; i < n; i++) {
        slots[i] = e->plan->slot_of_value[value[i].id];
        POD_ASSERT(slots[i] >= 0, "value %d has no slot", (int)value[i].id);
    }
    *out = slots;
    return POD_OK;
}

/* This core's part of the work: that on what it holds of the values; of a value that is dealt out
 * every core does an equal share. */
static pod_cost cost_of(const emit *e, const pod_node *n)
{
    const pod_graph *g = e->plan->graph;
    pod_type type[POD_MAX_VALUES];
    POD_ASSERT(n->n_in + n->n_out <= POD_MAX_VALUES, "'%s' has %d values", n->label,
               n->n_in + n->n_out);
    uint8_t mask = 0;
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        pod_value v = i < n->n_in ? n->in[i] : pod_node_out(n, i - n->n_in);
        type[i] = *pod_graph_type(g, v);
        type[i].shape = pod_type_local(&type[i], &e->plan->spread);
        mask |= type[i].shard.over;
    }
    pod_cost cost = pod_op_cost(n, type, type + n->n_in);
    double share = 1.0 / pod_mask_size(&e->plan->spread, mask);
    cost.matrix_flops *= share;
    cost.vector_ops *= share;
    cost.bytes_read *= share;
    cost.bytes_written *= share;
    return cost;
}

static int32_t dealt_slot(const emit *e, const pod_instr *instr)
{
    for (int i = 0; i < instr->n_in + instr->n_out; i++) {
        const int32_t slot = i < instr->n_in ? instr->in[i] : instr->out[i - instr->n_in];
        if (e->plan->slot[slot].type.shard.per_core > 0) return slot;
    }
    return -1;
}

static pod_status emit_node(emit *e, int32_t item)
{
    const pod_plan *plan = e->plan;
    const pod_node *n = pod_graph_node(plan->graph, plan->item[item].index);
    const pod_lowering *l = &plan->lowering[plan->item[item].index];
    pod_value out[POD_MAX_OUT];
    for (int k = 0; k < n->n_out; k++) out[k] = pod_node_out(n, k);
    pod_instr instr = {.kind = POD_I_RUN,
                       .phase = n->phase,
                       .label = text(e, n->label),
                       .op = n->op->name,
                       .impl = l->impl,
                       .run = l->run,
                       .attr = l->attr,
                       .attr_bytes = l->attr_bytes,
                       .n_in = n->n_in,
                       .n_out = n->n_out,
                       .scratch = plan->scratch_of_item[item],
                       .ticket = -1,
                       .cost = cost_of(e, n)};
    if (!instr.label) return POD_E_NOMEM;
    POD_TRY(pod__describe_work(plan, n, l, &instr));
    POD_TRY(copy_slots(e, n->in, n->n_in, &instr.in));
    POD_TRY(copy_slots(e, out, n->n_out, &instr.out));
    instr.part_of = dealt_slot(e, &instr);
    POD_ASSERT(instr.part_of < 0 || n->op->by_element, "'%s' cannot run on a part", n->label);
    e->instr[e->n_instrs++] = instr;
    return POD_OK;
}

static pod_status emit_collective(emit *e, const pod_item *item)
{
    const pod_plan *plan = e->plan;
    const pod_bucket *b = &plan->bucket[item->index];
    int32_t *slot = pod_arena_copy(plan->arena, &b->slot, _Alignof(int32_t), sizeof b->slot);
    const char *type = b->dtype == POD_F32 ? "" : pod_dtype_name(b->dtype);
    const char *what = b->is_output ? "outputs" : b->coll == POD_ALLGATHER ? "weights" : "bucket";
    const char *label =
        pod_arena_text(plan->arena, "%s %d%s%s", what, item->index, *type ? " " : "", type);
    if (!slot || !label) return POD_E_NOMEM;
    pod_instr instr = {.kind = item->kind == POD_ITEM_START ? POD_I_COLL_START : POD_I_COLL_WAIT,
                       .phase = POD_PHASE_REDUCE,
                       .label = label,
                       .op = pod_coll_name(b->coll),
                       .impl = e->program->coll[item->index].algo->name,
                       .scratch = -1,
                       .part_of = -1,
                       .ticket = item->index};
    if (instr.kind == POD_I_COLL_START) {
        instr.in = slot;
        instr.n_in = 1;
    } else {
        instr.out = slot;
        instr.n_out = 1;
    }
    e->instr[e->n_instrs++] = instr;
    return POD_OK;
}

static pod_status emit_fetch(emit *e, int output)
{
    const pod_named *named = pod_graph_output(e->plan->graph, output);
    pod_instr instr = {.kind = POD_I_FETCH,
                       .phase = POD_PHASE_REDUCE,
                       .label = text(e, named->name),
                       .op = "fetch",
                       .impl = "",
                       .n_in = 1,
                       .scratch = -1,
                       .part_of = -1,
                       .ticket = output};
    if (!instr.label) return POD_E_NOMEM;
    POD_TRY(copy_slots(e, &named->value, 1, &instr.in));
    e->instr[e->n_instrs++] = instr;
    return POD_OK;
}

static void run_assign(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    size_t bytes;
    memcpy(&bytes, attr, sizeof bytes);
    memcpy(out[0], in[0], bytes);
}

enum { AT_THE_END = -1 };

/* When the variable's new value is copied: gathered weights as soon as their bucket has
 * been waited for, which is behind all that reads the old ones; others at the end. */
static int32_t time_of_copy(const pod_plan *plan, const pod_variable_info *v)
{
    const int32_t b = plan->bucket_of_value[v->assigned.id];
    return b >= 0 && plan->bucket[b].coll == POD_ALLGATHER ? b : AT_THE_END;
}

/* Variables whose new value could not be made in place are copied. */
static pod_status emit_assignments(emit *e, int32_t when)
{
    const pod_graph *g = e->plan->graph;
    for (int i = 0; i < pod_graph_n_variables(g); i++) {
        const pod_variable_info *v = pod_graph_variable(g, i);
        if (!v->assigned.id || time_of_copy(e->plan, v) != when) continue;
        const pod_slot *from = &e->plan->slot[e->plan->slot_of_value[v->assigned.id]];
        const pod_slot *to = &e->plan->slot[e->plan->slot_of_value[v->value.id]];
        if (from->root == to->root) continue;
        size_t *bytes = pod_arena_copy(e->plan->arena, &to->bytes, _Alignof(size_t), sizeof *bytes);
        pod_instr instr = {.kind = POD_I_RUN,
                           .phase = POD_PHASE_UPDATE,
                           .label = text(e, v->name),
                           .op = "assign",
                           .impl = "copy",
                           .run = run_assign,
                           .attr = bytes,
                           .attr_bytes = sizeof *bytes,
                           .n_in = 1,
                           .n_out = 1,
                           .scratch = -1,
                           .part_of = -1,
                           .ticket = -1};
        if (!bytes || !instr.label) return POD_E_NOMEM;
        POD_TRY(copy_slots(e, &v->assigned, 1, &instr.in));
        POD_TRY(copy_slots(e, &v->value, 1, &instr.out));
        e->instr[e->n_instrs++] = instr;
    }
    return POD_OK;
}

static pod_status pick_collectives(emit *e)
{
    const pod_plan *plan = e->plan;
    pod_program_coll *coll = POD_ARENA_NEW(plan->arena, pod_program_coll, plan->n_buckets);
    if (!coll) return POD_E_NOMEM;
    for (int b = 0; b < plan->n_buckets; b++) {
        coll[b].args = (pod_coll_args){.coll = plan->bucket[b].coll,
                                       .dtype = plan->bucket[b].dtype,
                                       .count = plan->bucket[b].count,
                                       .group = pod__group_of(plan, plan->bucket[b].mask),
                                       .node_size = plan->args->node_size};
        coll[b].algo = pod_coll_pick(plan->args->rules, &plan->args->mesh, &coll[b].args);
        coll[b].slot = plan->bucket[b].slot;
        const int64_t bytes = (int64_t)plan->slot[plan->bucket[b].slot].bytes;
        const int64_t n_times = plan->bucket[b].is_repeated ? plan->args->accumulate : 1;
        e->program->reduce_bytes +=
            n_times * (plan->bucket[b].coll == POD_ALLREDUCE ? bytes : bytes / 2);
    }
    e->program->coll = coll;
    e->program->n_colls = plan->n_buckets;
    return POD_OK;
}

/* Returns the bytes of optimizer state that a core keeps. */
static size_t state_bytes(const pod_program *p, const pod_program_variable *variable, int core)
{
    size_t bytes = 0;
    for (int i = 0; i < p->n_variables; i++)
        if (variable[i].role == POD_ROLE_STATE)
            bytes += (size_t)pod_type_part(&variable[i].type, core).count * sizeof(float);
    return bytes;
}

static pod_status copy_names(emit *e)
{
    const pod_graph *g = e->plan->graph;
    pod_program *p = e->program;
    p->n_inputs = pod_graph_n_inputs(g);
    p->n_outputs = pod_graph_n_outputs(g);
    p->n_variables = pod_graph_n_variables(g);
    pod_named *input = POD_ARENA_NEW(e->plan->arena, pod_named, p->n_inputs);
    const char **output = POD_ARENA_NEW(e->plan->arena, const char *, p->n_outputs);
    pod_program_variable *variable =
        POD_ARENA_NEW(e->plan->arena, pod_program_variable, p->n_variables);
    if (!input || !output || !variable) return POD_E_NOMEM;
    for (int i = 0; i < p->n_inputs; i++) {
        const pod_named *from = pod_graph_input(g, i);
        input[i] = (pod_named){text(e, from->name), {e->plan->slot_of_value[from->value.id]}};
        if (!input[i].name) return POD_E_NOMEM;
    }
    for (int i = 0; i < p->n_outputs; i++)
        if (!(output[i] = text(e, pod_graph_output(g, i)->name))) return POD_E_NOMEM;
    for (int i = 0; i < p->n_variables; i++) {
        const pod_variable_info *from = pod_graph_variable(g, i);
        const pod_type *type = pod_graph_type(g, from->value);
        variable[i] = (pod_program_variable){text(e, from->name), *type, from->init, from->role};
        if (!variable[i].name) return POD_E_NOMEM;
        if (from->role == POD_ROLE_STATE)
            p->whole_state_bytes += pod_type_local_bytes(type, &p->mesh);
        else
            p->store_bytes += pod_type_local_bytes(type, &p->mesh);
    }
    for (int core = 0; core < pod_mesh_size(&p->mesh); core++) {
        const size_t bytes = state_bytes(p, variable, core);
        if (bytes > p->state_bytes) p->state_bytes = bytes;
    }
    p->store_bytes += p->state_bytes;
    p->input = input;
    p->output = output;
    p->variable = variable;
    return POD_OK;
}

static double model_flops(const pod_graph *g)
{
    double flops = 0;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++)
        flops += pod_op_cost_in(g, pod_graph_node(g, i)).matrix_flops;
    return flops;
}

/* Lives of slots were found by items. */
static void count_lives_by_instr(const emit *e, const int32_t *instr_of_item)
{
    const int32_t n_items = e->plan->n_items;
    for (int32_t s = 0; s < e->plan->n_slots; s++) {
        pod_slot *slot = &e->plan->slot[s];
        slot->first = slot->first < n_items ? instr_of_item[slot->first] : e->n_instrs;
        slot->last = slot->last < n_items ? instr_of_item[slot->last] : e->n_instrs;
    }
}

static pod_status emit_items(emit *e)
{
    int32_t *instr_of_item = POD_ARENA_NEW(e->plan->arena, int32_t, e->plan->n_items);
    if (!instr_of_item) return POD_E_NOMEM;
    for (int32_t i = 0; i < e->plan->n_items; i++) {
        const pod_item *item = &e->plan->item[i];
        instr_of_item[i] = e->n_instrs;
        switch (item->kind) {
        case POD_ITEM_NODE: POD_TRY(emit_node(e, i)); break;
        case POD_ITEM_START: POD_TRY(emit_collective(e, item)); break;
        case POD_ITEM_WAIT:
            POD_TRY(emit_collective(e, item));
            POD_TRY(emit_assignments(e, item->index));
            break;
        case POD_ITEM_FETCH: POD_TRY(emit_fetch(e, item->index)); break;
        }
    }
    POD_TRY(emit_assignments(e, AT_THE_END));
    count_lives_by_instr(e, instr_of_item);
    const pod_stretch *repeated = &e->plan->repeated_item;
    e->program->repeat = (pod_repeat){.count = 1};
    if (repeated->first < repeated->end)
        e->program->repeat = (pod_repeat){.first = instr_of_item[repeated->first],
                                          .end = instr_of_item[repeated->end - 1] + 1,
                                          .count = e->plan->args->accumulate};
    return POD_OK;
}

pod_status pod__pass_emit(pod_plan *plan)
{
    emit e = {.plan = plan};
    e.program = POD_ARENA_NEW(plan->arena, pod_program, 1);
    e.instr =
        POD_ARENA_NEW(plan->arena, pod_instr, plan->n_items + pod_graph_n_variables(plan->graph));
    if (!e.program || !e.instr) return POD_E_NOMEM;
    e.program->mesh = plan->args->mesh;
    e.program->target = text(&e, plan->args->target->name);
    if (!e.program->target) return POD_E_NOMEM;
    POD_TRY(pick_collectives(&e));
    POD_TRY(emit_items(&e));
    POD_TRY(copy_names(&e));
    e.program->instr = e.instr;
    e.program->fusion = plan->fusion;
    e.program->n_fusions = plan->n_fusions;
    e.program->n_recomputed = plan->n_recomputed;
    e.program->n_instrs = e.n_instrs;
    e.program->slot = plan->slot;
    e.program->n_slots = plan->n_slots;
    e.program->step_bytes = plan->step_bytes;
    e.program->window_bytes = plan->window_bytes;
    e.program->guard_bytes = plan->args->guard_bytes;
    e.program->model_flops = model_flops(plan->built);
    e.program->fingerprint = pod_program_fingerprint(e.program);
    plan->program = e.program;
    return POD_OK;
}
