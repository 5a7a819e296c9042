/* partition: turns a graph over the whole batch into the graph that every core runs on its shard.
 *
 * Inputs whose first dimension counts the samples of the batch are split over the whole mesh, and
 * infer carries the split through the graph. If an op does not take a sum or a varying value, an
 * all-reduce goes before it (and, for a varying value, the division that makes it a mean). Nodes
 * that nothing needs are dropped. Nodes that only lead to an assignment move behind backward, where
 * they wait for collectives in the order in which these can start. */
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/ops/ops.h"
#include "runtime/passes/plan.h"
#include "runtime/passes/rewrite.h"

typedef struct partition {
    const pod_graph *from;
    pod_graph *to;
    pod_rewrite w;        /* between the two */
    const pod_mesh *mesh; /* of cores, and of micro-steps */
    uint8_t mesh_mask;    /* dimensions longer than 1 */
    int64_t batch;
    bool *is_live;          /* by node of `from`: something needs it */
    bool *is_early;         /* it leads to backward or to an output, not just to an assignment */
    pod_value *reduced;     /* by value id of `to`; each may bring a copy, its sum and its mean */
    uint8_t group, in_time; /* dimensions: pod_plan */
} partition;

static void mark(const partition *p, pod_value v, bool *marked)
{
    marked[pod_graph_value(p->from, v)->node] = true;
}

/* Everything that marked nodes need is marked as well: one sweep back, for makers come first. */
static void spread_back(const partition *p, bool *marked)
{
    for (int32_t i = pod_graph_n_nodes(p->from) - 1; i >= 0; i--) {
        if (!marked[i]) continue;
        const pod_node *n = pod_graph_node(p->from, i);
        for (int j = 0; j < n->n_in; j++) mark(p, n->in[j], marked);
    }
}

static void find_live(partition *p)
{
    for (int i = 0; i < pod_graph_n_outputs(p->from); i++) {
        mark(p, pod_graph_output(p->from, i)->value, p->is_live);
        mark(p, pod_graph_output(p->from, i)->value, p->is_early);
    }
    for (int i = 0; i < pod_graph_n_variables(p->from); i++) {
        const pod_variable_info *v = pod_graph_variable(p->from, i);
        if (!v->assigned.id) continue;
        mark(p, v->assigned, p->is_live);
        mark(p, v->value, p->is_live); /* kept, even if no node reads it */
    }
    spread_back(p, p->is_live);
    for (int32_t i = 0; i < pod_graph_n_nodes(p->from); i++)
        if (p->is_live[i] && pod_graph_node(p->from, i)->phase == POD_PHASE_BACKWARD)
            p->is_early[i] = true;
    spread_back(p, p->is_early);
}

static pod_phase phase_of(const partition *p, int32_t node)
{
    pod_phase phase = pod_graph_node(p->from, node)->phase;
    return p->is_early[node] ? phase : POD_PHASE_UPDATE;
}

/* `part` all-reduced: `whole` says over what it still is a sum then, or varies. */
static pod_value add_allreduce(partition *p, pod_value part, const pod_type *whole)
{
    const char *label = pod_graph_maker(p->to, part)->label;
    const pod_phase phase = pod_graph_phase(p->to);
    /* its memory becomes the sum's, so it must be an instruction's own */
    if (pod_graph_maker(p->to, part)->op->kind != POD_OP_RUN)
        part = pod_op_add1(p->to, pod_op_named.copy, NULL, 0, &part, 1);
    if (!part.id) return part;
    pod_graph_set_phase(p->to, POD_PHASE_REDUCE);
    int32_t node =
        pod_graph_append(p->to, pod_op_named.allreduce, label, NULL, 0, &part, 1, whole, 1);
    pod_graph_set_phase(p->to, phase);
    return node < 0 ? (pod_value){0} : pod_node_out(pod_graph_node(p->to, node), 0);
}

/* The value every core agrees on: the sum of the parts, or the mean of what varies. What it takes
 * beside the collective itself belongs to the phase of whoever asks first. */
static pod_value reduced(partition *p, pod_value v)
{
    const pod_type type = *pod_graph_type(p->to, v);
    if (!type.sum && !type.vary) return v;
    if (p->reduced[v.id].id) return p->reduced[v.id];
    pod_type whole = type;
    whole.sum = whole.vary = 0;
    pod_value out = add_allreduce(p, v, &whole);
    if (out.id && type.vary)
        out = pod_scale(p->to, 1.0f / (float)pod_mask_size(p->mesh, type.vary), out);
    if (out.id) p->reduced[v.id] = out;
    return out;
}

/* Sums over a group's samples, or over a core's micro-steps, for all who read the value from here
 * on. */
static void reduce_some(partition *p, const pod_node *n)
{
    for (int j = 0; j < n->n_in; j++) {
        pod_value *v = &p->w.mapped[n->in[j].id];
        pod_type sum = *pod_graph_type(p->to, *v);
        const unsigned over = (n->op->of_group >> j & 1u ? p->group : 0u) |
                              (n->op->of_step >> j & 1u ? p->in_time : 0u);
        if ((sum.sum & over) == 0) continue;
        sum.sum = (uint8_t)(sum.sum & ~over);
        *v = add_allreduce(p, *v, &sum);
        if (!v->id) return;
    }
}

static pod_status split_batch(const partition *p, const pod_node *input, pod_type *type)
{
    if (!pod__has_batch(input)) return POD_OK;
    if (type->shape.dim[0] != p->batch)
        return pod_fail(POD_E_INVALID, "input '%s' has %lld samples, the batch %lld", input->label,
                        (long long)type->shape.dim[0], (long long)p->batch);
    type->split[0] = p->mesh_mask;
    return POD_OK;
}

/* The node's inputs in the new graph, reduced where it does not take parts, and their types. */
static pod_status map_inputs(partition *p, const pod_node *n, bool takes_parts)
{
    for (int j = 0; j < n->n_in; j++) {
        pod_value *in = &p->w.in[j];
        *in = p->w.mapped[n->in[j].id];
        if (!takes_parts) *in = reduced(p, *in);
        if (!in->id) return pod_graph_finish(p->to);
        p->w.in_type[j] = *pod_graph_type(p->to, *in);
    }
    return POD_OK;
}

/* An op that takes parts may still refuse a mixture of them: then it gets whole values. */
static pod_status infer_node(partition *p, const pod_node *n)
{
    reduce_some(p, n);
    POD_TRY(map_inputs(p, n, n->op->takes_parts));
    if (n->op->kind == POD_OP_INPUT || n->op->kind == POD_OP_VARIABLE) {
        p->w.out_type[0] = *pod_graph_type(p->from, pod_node_out(n, 0));
        return n->op->kind == POD_OP_INPUT ? split_batch(p, n, &p->w.out_type[0]) : POD_OK;
    }
    pod_status s = pod_op_infer(n, p->w.in_type, p->w.out_type);
    if (s == POD_E_UNSUPPORTED && n->op->takes_parts) {
        POD_TRY(map_inputs(p, n, false));
        s = pod_op_infer(n, p->w.in_type, p->w.out_type);
    }
    return s;
}

static pod_status copy_node(partition *p, int32_t index)
{
    pod_node n = *pod_graph_node(p->from, index);
    n.phase = phase_of(p, index);
    pod_graph_set_phase(p->to, n.phase);
    POD_TRY(infer_node(p, &n));
    return pod__rewrite_append(&p->w, &n, &p->w.mapped[n.first_out]);
}

/* Outputs are reduced before the update begins. */
static void reduce_outputs(partition *p)
{
    pod_graph_set_phase(p->to, POD_PHASE_REDUCE);
    for (int i = 0; i < pod_graph_n_outputs(p->from); i++) {
        pod_value v = p->w.mapped[pod_graph_output(p->from, i)->value.id];
        if (v.id) (void)reduced(p, v); /* a failure stays in the graph */
    }
}

/* A group's sums lie in the memory of their collective, and what updates read of them is summed
 * over the groups from a copy: all of it before the first update, so that few collectives do it. */
static void reduce_sums_of_groups(partition *p)
{
    pod_graph_set_phase(p->to, POD_PHASE_UPDATE);
    for (int32_t i = 0; i < pod_graph_n_nodes(p->from); i++) {
        const pod_node *n = pod_graph_node(p->from, i);
        if (!p->is_live[i] || n->op->takes_parts || phase_of(p, i) != POD_PHASE_UPDATE) continue;
        for (int j = 0; j < n->n_in; j++) {
            const pod_value v = p->w.mapped[n->in[j].id];
            if (v.id && pod_graph_maker(p->to, v)->op->kind == POD_OP_COLLECTIVE)
                (void)reduced(p, v); /* a failure stays in the graph */
        }
    }
}

/* A node and the last one before the update that makes or reads what it needs. */
typedef struct turn {
    int32_t ready, node;
} turn;

static int by_readiness(const void *a, const void *b)
{
    const turn *x = a, *y = b;
    if (x->ready != y->ready) return x->ready < y->ready ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* The nodes of the phase, makers first: in the graph's order, those of the update in the order in
 * which what they need is ready. Answers how many. */
static int32_t nodes_of_phase(const partition *p, int phase, int32_t *ready, turn *out)
{
    int32_t n_nodes = 0;
    for (int32_t i = 0; i < pod_graph_n_nodes(p->from); i++) {
        if (!p->is_live[i] || (int)phase_of(p, i) != phase) continue;
        const pod_node *n = pod_graph_node(p->from, i);
        turn t = {.node = i};
        for (int j = 0; j < n->n_in && phase == POD_PHASE_UPDATE; j++)
            if (ready[n->in[j].id] > t.ready) t.ready = ready[n->in[j].id];
        out[n_nodes++] = t;
        if (n->n_in == 0) continue; /* an input or a variable is there from the beginning */
        for (int k = 0; k < n->n_out; k++)
            ready[n->first_out + k] = phase == POD_PHASE_UPDATE ? t.ready : i;
        for (int j = 0; j < n->n_in && phase != POD_PHASE_UPDATE; j++)
            if (ready[n->in[j].id] > 0) ready[n->in[j].id] = i;
    }
    if (phase == POD_PHASE_UPDATE) qsort(out, (size_t)n_nodes, sizeof *out, by_readiness);
    return n_nodes;
}

static pod_status copy_nodes(partition *p, pod_arena *arena)
{
    int32_t *ready = POD_ARENA_NEW(arena, int32_t, pod_graph_n_values(p->from) + 1);
    turn *turns = POD_ARENA_NEW(arena, turn, pod_graph_n_nodes(p->from));
    if (!ready || !turns) return POD_E_NOMEM;
    for (int phase = 0; phase < POD_N_PHASES; phase++) {
        if (phase == POD_PHASE_UPDATE) {
            reduce_outputs(p);
            reduce_sums_of_groups(p);
        }
        const int32_t n = nodes_of_phase(p, phase, ready, turns);
        for (int32_t i = 0; i < n; i++) POD_TRY(copy_node(p, turns[i].node));
    }
    return pod_graph_finish(p->to);
}

/* The next value of a variable, whole and in memory of its own: by the time it is assigned, the
 * memory of another variable may hold that variable's next value. */
static pod_value assigned_value(partition *p, pod_value v)
{
    pod_value whole = reduced(p, p->w.mapped[v.id]);
    if (!whole.id) return whole;
    const pod_op_kind kind = pod_graph_maker(p->to, whole)->op->kind;
    if (kind == POD_OP_RUN || kind == POD_OP_COLLECTIVE) return whole;
    return pod_op_add1(p->to, pod_op_named.copy, NULL, 0, &whole, 1);
}

/* Outputs are whole on every core. */
static pod_status map_output(partition *p, const pod_named *output)
{
    pod_value *v = &p->w.mapped[output->value.id];
    *v = reduced(p, *v);
    if (v->id && (pod_graph_type(p->to, *v)->split[0] & p->in_time))
        return pod_fail(POD_E_UNSUPPORTED,
                        "accumulate: rows of '%s' are read at the end of a step, those of its "
                        "micro-steps are gone by then",
                        output->name);
    return pod_graph_finish(p->to);
}

static pod_status copy_names(partition *p)
{
    pod_graph_set_phase(p->to, POD_PHASE_UPDATE);
    for (int i = 0; i < pod_graph_n_variables(p->from); i++) {
        const pod_variable_info *v = pod_graph_variable(p->from, i);
        if (p->w.mapped[v->value.id].id && v->assigned.id)
            p->w.assigned[v->assigned.id] = assigned_value(p, v->assigned);
    }
    for (int i = 0; i < pod_graph_n_outputs(p->from); i++)
        POD_TRY(map_output(p, pod_graph_output(p->from, i)));
    return pod__rewrite_end(&p->w);
}

pod_status pod__pass_partition(pod_plan *plan)
{
    const pod_graph *g = plan->fused;
    const int64_t batch = plan->batch;
    const pod_mesh *mesh = &plan->spread;
    const int n_cores = pod_mesh_size(&plan->args->mesh);
    if (batch % n_cores != 0)
        return pod_fail(POD_E_INVALID, "batch: %lld is not divisible by the %d cores of the mesh",
                        (long long)batch, n_cores);
    if (batch % pod_mesh_size(mesh) != 0)
        return pod_fail(POD_E_INVALID,
                        "batch: %lld is not divisible by the %d cores of the mesh times %d "
                        "micro-steps",
                        (long long)batch, n_cores, pod_mesh_size(mesh) / n_cores);
    partition p = {.from = g,
                   .mesh = mesh,
                   .mesh_mask = pod_mask_all(mesh),
                   .batch = batch,
                   .group = plan->group,
                   .in_time = plan->in_time};
    const int32_t n_nodes = pod_graph_n_nodes(g), n_values = pod_graph_n_values(g);
    p.is_live = POD_ARENA_NEW(plan->arena, bool, n_nodes);
    p.is_early = POD_ARENA_NEW(plan->arena, bool, n_nodes);
    p.reduced = POD_ARENA_NEW(plan->arena, pod_value, 6 * n_values + 1);
    if (!p.is_live || !p.is_early || !p.reduced) return POD_E_NOMEM;
    POD_TRY(pod__rewrite_start(plan->arena, g, &p.w));
    p.to = p.w.to;
    find_live(&p);
    POD_TRY(copy_nodes(&p, plan->arena));
    POD_TRY(copy_names(&p));
    plan->graph = p.to;
    return POD_OK;
}
