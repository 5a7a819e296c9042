/* recompute: drops cheap values of forward that backward reads, and recomputes them just before
 * backward first reads them (Chen et al. 2016, arXiv 1604.06174, for elementwise operations only).
 *
 *     x kept, y = relu(bn_apply(x)) kept   becomes   x kept, y; y' = relu(bn_apply(x)) in backward
 *
 * A value is recomputed if all its inputs are there anyway: leaves, values that backward reads
 * itself, and values that can be recomputed in turn. So nothing more is kept. A value that depends
 * on no sample, such as a cast of weights, stays, since its size does not grow with the batch. The
 * same kernels run on the same operands, so results keep their bits, unless tile then cuts the
 * samples elsewhere and sums over them round in another order. */
#include "runtime/ops/op.h"
#include "runtime/passes/plan.h"
#include "runtime/passes/rewrite.h"

typedef struct recompute {
    pod_plan *plan;
    pod_rewrite w;
    bool *of_samples; /* by value: an input that is fed leads here */
    bool *is_kept;    /* by value: backward reads it */
    bool *is_late;    /* by value: alive behind backward in any case */
    bool *can;        /* by node: may run again */
    bool *has_run;    /* by node: again */
} recompute;

static void find_samples(recompute *r)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(r->w.from); i++) {
        const pod_node *n = pod_graph_node(r->w.from, i);
        bool any = n->op->kind == POD_OP_INPUT;
        for (int j = 0; j < n->n_in; j++) any = any || r->of_samples[n->in[j].id];
        for (int k = 0; k < n->n_out; k++) r->of_samples[n->first_out + k] = any;
    }
}

static void find_readers(recompute *r)
{
    const pod_graph *g = r->w.from;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        for (int j = 0; j < n->n_in; j++) {
            if (n->phase == POD_PHASE_BACKWARD) r->is_kept[n->in[j].id] = true;
            if (n->phase > POD_PHASE_BACKWARD) r->is_late[n->in[j].id] = true;
        }
    }
    for (int i = 0; i < pod_graph_n_outputs(g); i++)
        r->is_late[pod_graph_output(g, i)->value.id] = true;
    for (int i = 0; i < pod_graph_n_variables(g); i++)
        r->is_late[pod_graph_variable(g, i)->assigned.id] = true;
}

/* Returns whether backward may read v although nothing keeps it for that. */
static bool is_there(const recompute *r, pod_value v)
{
    const int32_t maker = pod_graph_value(r->w.from, v)->node;
    const pod_op_kind kind = pod_graph_node(r->w.from, maker)->op->kind;
    return kind == POD_OP_INPUT || kind == POD_OP_VARIABLE || r->is_kept[v.id] ||
           r->is_late[v.id] || r->can[maker];
}

static bool can_run_again(const recompute *r, const pod_node *n)
{
    if (n->phase != POD_PHASE_FORWARD) return false;
    if (n->op->kind == POD_OP_VIEW) return r->can[pod_graph_value(r->w.from, n->in[0])->node];
    if (!n->op->is_cheap) return false;
    for (int k = 0; k < n->n_out; k++)
        if (r->is_late[n->first_out + k] || !r->of_samples[n->first_out + k]) return false;
    for (int j = 0; j < n->n_in; j++)
        if (!is_there(r, n->in[j])) return false;
    return true;
}

/* Node `index` of backward's own: what it reads is what was made again. */
static pod_status run_again(recompute *r, int32_t index)
{
    const pod_node *n = pod_graph_node(r->w.from, index);
    for (int j = 0; j < n->n_in; j++) {
        const int32_t maker = pod_graph_value(r->w.from, n->in[j])->node;
        if (!r->can[maker] || r->has_run[maker]) continue;
        r->has_run[maker] = true;
        POD_TRY(run_again(r, maker));
        POD_TRY(pod__rewrite_node_in(&r->w, maker, POD_PHASE_BACKWARD));
        if (pod_graph_node(r->w.from, maker)->op->kind == POD_OP_RUN) r->plan->n_recomputed++;
    }
    return POD_OK;
}

/* Phase by phase, as they run: behind the first node of backward nothing of forward reads. */
static pod_status add_nodes(recompute *r)
{
    for (int phase = 0; phase < POD_N_PHASES; phase++)
        for (int32_t i = 0; i < pod_graph_n_nodes(r->w.from); i++) {
            const pod_node *n = pod_graph_node(r->w.from, i);
            if ((int)n->phase != phase) continue;
            if (phase == POD_PHASE_BACKWARD) POD_TRY(run_again(r, i));
            POD_TRY(pod__rewrite_node(&r->w, i));
        }
    return POD_OK;
}

pod_status pod__pass_recompute(pod_plan *plan)
{
    if (!plan->recompute) return POD_OK;
    recompute r = {.plan = plan};
    const int32_t n_nodes = pod_graph_n_nodes(plan->fused);
    const int32_t n_values = pod_graph_n_values(plan->fused);
    POD_TRY(pod__rewrite_start(plan->arena, plan->fused, &r.w));
    r.of_samples = POD_ARENA_NEW(plan->arena, bool, n_values + 1);
    r.is_kept = POD_ARENA_NEW(plan->arena, bool, n_values + 1);
    r.is_late = POD_ARENA_NEW(plan->arena, bool, n_values + 1);
    r.can = POD_ARENA_NEW(plan->arena, bool, n_nodes);
    r.has_run = POD_ARENA_NEW(plan->arena, bool, n_nodes);
    if (!r.of_samples || !r.is_kept || !r.is_late || !r.can || !r.has_run) return POD_E_NOMEM;
    find_samples(&r);
    find_readers(&r);
    for (int32_t i = 0; i < n_nodes; i++) r.can[i] = can_run_again(&r, pod_graph_node(r.w.from, i));
    POD_TRY(add_nodes(&r));
    POD_TRY(pod__rewrite_end(&r.w));
    plan->fused = r.w.to;
    return POD_OK;
}
