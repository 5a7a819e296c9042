/* wire: sums travel in another type than float32, in which they are computed and read.
 *
 * A core's summand is converted as soon as it is computed, into the memory that is all-reduced. The
 * sum is converted back before its first reader, or before the update if the host reads it. bf16 is
 * for gradients only: sums that backward computes and only the update reads. With binned, whose
 * sums do not depend on their order, all sums are converted, also the loss and moving statistics.
 *
 * A norm, the sum that an op of the update computes over its input, would be rounded for each
 * core's shard, so its bits would depend on the sharding. With binned another op takes its place,
 * which sums in the type of the messages, keeps all digits, and rounds once
 * (kernels/base/wide_sum.h):
 *
 *     sum_sq --f32 (parts)--> to_wire --> all-reduce --> from_wire --f32-->
 *     sum_sq_wide --------binned (8)----> all-reduce --> from_wide --f32-->
 *
 * The same op runs without the all-reduce if weights are whole on every core, and gives the same
 * bits. */
#include <string.h>

#include "runtime/ops/op.h"
#include "runtime/passes/plan.h"
#include "runtime/passes/rewrite.h"

typedef struct wire {
    pod_rewrite w;
    pod_dtype type;
    /* By value of the old graph: */
    bool *read_early;  /* something other than the update reads it */
    bool *travels;     /* it is all-reduced, and not as it is */
    pod_value *packed; /* as it travels, the parts and then the sum */
    bool *is_wide;     /* what is packed is all digits of it */
} wire;

/* Returns the form of an update op whose scalars are wide sums, or NULL. */
static const pod_op *wide_form(const wire *w, const pod_node *n)
{
    if (w->type != POD_BINNED || n->phase != POD_PHASE_UPDATE) return NULL;
    if (n->op == pod_op_named.sum_sq) return pod_op_named.sum_sq_wide;
    if (n->op == pod_op_named.adam_norms) return pod_op_named.adam_norms_wide;
    return NULL;
}

static void find_early_reads(wire *w)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(w->w.from); i++) {
        const pod_node *n = pod_graph_node(w->w.from, i);
        if (n->phase == POD_PHASE_UPDATE || n->op->kind == POD_OP_COLLECTIVE) continue;
        for (int j = 0; j < n->n_in; j++) w->read_early[n->in[j].id] = true;
    }
    for (int i = 0; i < pod_graph_n_outputs(w->w.from); i++)
        w->read_early[pod_graph_output(w->w.from, i)->value.id] = true;
}

/* Whoever made the value, where passes have copied it or added it up in between. */
static const pod_node *true_maker(const pod_graph *g, pod_value v)
{
    const pod_node *n = pod_graph_maker(g, v);
    while (n->op == pod_op_named.copy || n->op == pod_op_named.accumulate)
        n = pod_graph_maker(g, n->in[n->op == pod_op_named.accumulate ? 1 : 0]);
    return n;
}

static bool is_gradient(const wire *w, pod_value part, pod_value sum)
{
    const pod_type *t = pod_graph_type(w->w.from, part);
    return t->sum && !t->vary && !w->read_early[sum.id] &&
           true_maker(w->w.from, part)->phase == POD_PHASE_BACKWARD;
}

/* All values of a collective have one type; it takes the wire's when all may. */
static bool may_travel(const wire *w, const pod_node *n)
{
    bool may = true;
    for (int i = 0; i < n->n_in; i++) {
        const pod_type *t = pod_graph_type(w->w.from, n->in[i]);
        const bool is_sum = t->sum || t->vary;
        may =
            may && (w->type == POD_BINNED ? is_sum : is_gradient(w, n->in[i], pod_node_out(n, i)));
    }
    return may;
}

static void find_travellers(wire *w)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(w->w.from); i++) {
        const pod_node *n = pod_graph_node(w->w.from, i);
        if (n->op->kind != POD_OP_COLLECTIVE || !may_travel(w, n)) continue;
        for (int j = 0; j < n->n_in; j++) w->travels[n->in[j].id] = true;
    }
}

/* Into a value of the dtype, of the shape of v. */
static pod_value convert(wire *w, const char *op, pod_value v, pod_value x, pod_dtype to)
{
    const int32_t attr = (int32_t)to;
    const char *label = pod_graph_maker(w->w.from, v)->label;
    pod_type type = *pod_graph_type(w->w.to, x);
    type.dtype = to;
    type.shape = pod_graph_type(w->w.from, v)->shape;
    const int32_t at =
        pod_graph_append(w->w.to, pod_op_find(op), label, &attr, sizeof attr, &x, 1, &type, 1);
    return at < 0 ? (pod_value){0} : pod_node_out(pod_graph_node(w->w.to, at), 0);
}

/* v in float32, for whoever comes next. */
static pod_value readable(wire *w, pod_value v)
{
    pod_value *mapped = &w->w.mapped[v.id];
    if (!mapped->id && w->packed[v.id].id)
        *mapped =
            convert(w, w->is_wide[v.id] ? "from_wide" : "from_wire", v, w->packed[v.id], POD_F32);
    return *mapped;
}

static void pack(wire *w, pod_value v, pod_value made)
{
    w->packed[v.id] = convert(w, "to_wire", v, made, w->type);
}

static pod_status add_collective(wire *w, int32_t index)
{
    const pod_node *n = pod_graph_node(w->w.from, index);
    if (!w->travels[n->in[0].id]) return pod__rewrite_node(&w->w, index);
    for (int j = 0; j < n->n_in; j++) {
        w->w.in[j] = w->packed[n->in[j].id];
        w->w.out_type[j] = *pod_graph_type(w->w.from, pod_node_out(n, j));
        w->w.out_type[j].dtype = w->type;
        w->w.out_type[j].shape = pod_graph_type(w->w.to, w->w.in[j])->shape;
        w->is_wide[n->first_out + j] = w->is_wide[n->in[j].id];
    }
    return pod__rewrite_append(&w->w, n, &w->packed[n->first_out]);
}

static pod_status add_with_wide_sums(wire *w, const pod_op *op, const pod_node *n)
{
    pod_node wide = *n;
    pod_value out[POD_MAX_OUT];
    wide.op = op;
    for (int j = 0; j < n->n_in; j++) w->w.in[j] = w->w.mapped[n->in[j].id];
    POD_TRY(pod__rewrite_infer(&w->w, &wide, out));
    for (int k = 0; k < n->n_out; k++) {
        const pod_value v = pod_node_out(n, k);
        w->is_wide[v.id] = w->w.out_type[k].dtype == POD_BINNED;
        (w->is_wide[v.id] ? w->packed : w->w.mapped)[v.id] = out[k];
    }
    return POD_OK;
}

static pod_status add_node(wire *w, int32_t index)
{
    const pod_node *n = pod_graph_node(w->w.from, index);
    for (int j = 0; j < n->n_in; j++)
        if (!readable(w, n->in[j]).id) return pod_graph_finish(w->w.to);
    const pod_op *wide = wide_form(w, n);
    if (wide) return add_with_wide_sums(w, wide, n);
    if (n->op == pod_op_named.copy && w->travels[n->first_out]) {
        pack(w, pod_node_out(n, 0), w->w.mapped[n->in[0].id]); /* memory of its own, too */
        return pod_graph_finish(w->w.to);
    }
    POD_TRY(pod__rewrite_node(&w->w, index));
    for (int k = 0; k < n->n_out; k++) {
        const pod_value v = pod_node_out(n, k);
        if (w->travels[v.id]) pack(w, v, w->w.mapped[v.id]);
    }
    return pod_graph_finish(w->w.to);
}

static void read_outputs(wire *w)
{
    pod_graph_set_phase(w->w.to, POD_PHASE_REDUCE);
    for (int i = 0; i < pod_graph_n_outputs(w->w.from); i++)
        (void)readable(w, pod_graph_output(w->w.from, i)->value); /* a failure stays in the graph */
}

static pod_status add_nodes(wire *w)
{
    const pod_graph *g = w->w.from;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        if (n->phase == POD_PHASE_UPDATE) read_outputs(w);
        pod_graph_set_phase(w->w.to, n->phase);
        POD_TRY(n->op->kind == POD_OP_COLLECTIVE ? add_collective(w, i) : add_node(w, i));
    }
    read_outputs(w);
    pod_graph_set_phase(w->w.to, POD_PHASE_UPDATE);
    for (int i = 0; i < pod_graph_n_variables(g); i++)
        (void)readable(w, pod_graph_variable(g, i)->assigned); /* a failure stays in the graph */
    return pod__rewrite_end(&w->w);
}

pod_status pod__pass_wire(pod_plan *plan)
{
    if (plan->args->wire == POD_F32) return POD_OK;
    wire w = {.type = plan->args->wire};
    const int32_t n_values = pod_graph_n_values(plan->graph);
    POD_TRY(pod__rewrite_start(plan->arena, plan->graph, &w.w));
    w.read_early = POD_ARENA_NEW(plan->arena, bool, n_values + 1);
    w.travels = POD_ARENA_NEW(plan->arena, bool, n_values + 1);
    w.packed = POD_ARENA_NEW(plan->arena, pod_value, n_values + 1);
    w.is_wide = POD_ARENA_NEW(plan->arena, bool, n_values + 1);
    if (!w.read_early || !w.travels || !w.packed || !w.is_wide) return POD_E_NOMEM;
    find_early_reads(&w);
    find_travellers(&w);
    POD_TRY(add_nodes(&w));
    plan->graph = w.w.to;
    return POD_OK;
}
