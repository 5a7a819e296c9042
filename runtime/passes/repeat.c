/* repeat: sorts nodes into three stretches: which run once and which in every micro-step.
 *
 *     before    what no micro-step changes: casts of weights, the zeros that sums begin with
 *     repeated  what depends on the samples of a micro-step, and adding up what it made
 *     after     what needs the sums: reductions, the update
 *
 * Within a stretch the order stays. A sum that is needed before all its samples have been seen is
 * E_UNSUPPORTED. */
#include "runtime/ops/op.h"
#include "runtime/passes/plan.h"
#include "runtime/passes/rewrite.h"

typedef enum stretch { BEFORE, REPEATED, AFTER, N_STRETCHES } stretch;

typedef struct repeat {
    const pod_plan *plan;
    pod_rewrite w;
    stretch *of; /* by node */
} repeat;

static bool is_in_time(const repeat *r, pod_value v)
{
    const pod_type *t = pod_graph_type(r->w.from, v);
    unsigned mask = t->sum | t->vary;
    for (int d = 0; d < POD_MAX_DIMS; d++) mask |= t->split[d];
    return (mask & r->plan->in_time) != 0;
}

static bool any_in_time(const repeat *r, const pod_node *n)
{
    bool any = false;
    for (int j = 0; j < n->n_in; j++) any = any || is_in_time(r, n->in[j]);
    for (int k = 0; k < n->n_out; k++) any = any || is_in_time(r, pod_node_out(n, k));
    return any;
}

/* Returns whether the node reads a value that is complete only after all micro-steps. */
static bool reads_after(const repeat *r, const pod_node *n)
{
    for (int j = 0; j < n->n_in; j++) {
        const int32_t maker = pod_graph_value(r->w.from, n->in[j])->node;
        if (r->of[maker] == AFTER || (r->of[maker] == REPEATED && !is_in_time(r, n->in[j])))
            return true;
    }
    return false;
}

static pod_status place_node(repeat *r, int32_t index)
{
    const pod_node *n = pod_graph_node(r->w.from, index);
    const bool needs_all = reads_after(r, n);
    if (any_in_time(r, n)) {
        r->of[index] = REPEATED;
        if (!needs_all) return POD_OK;
        return pod_fail(POD_E_UNSUPPORTED,
                        "accumulate: %s '%s' needs a sum over the whole batch before all "
                        "micro-steps have run",
                        n->op->name, n->label);
    }
    const bool is_leaf = n->op->kind == POD_OP_INPUT || n->op->kind == POD_OP_VARIABLE;
    const bool is_late = n->phase == POD_PHASE_UPDATE || n->op->kind == POD_OP_COLLECTIVE;
    const bool is_zeros = n->op == pod_op_named.zeros;
    r->of[index] = needs_all || (is_late && !is_leaf && !is_zeros) ? AFTER : BEFORE;
    return POD_OK;
}

pod_status pod__pass_repeat(pod_plan *plan)
{
    if (!plan->in_time) return POD_OK;
    repeat r = {.plan = plan};
    const int32_t n_nodes = pod_graph_n_nodes(plan->graph);
    POD_TRY(pod__rewrite_start(plan->arena, plan->graph, &r.w));
    r.of = POD_ARENA_NEW(plan->arena, stretch, n_nodes);
    if (!r.of) return POD_E_NOMEM;
    for (int32_t i = 0; i < n_nodes; i++) POD_TRY(place_node(&r, i));
    int32_t n_of[N_STRETCHES] = {0};
    for (int s = BEFORE; s < N_STRETCHES; s++)
        for (int32_t i = 0; i < n_nodes; i++) {
            if (r.of[i] != (stretch)s) continue;
            POD_TRY(pod__rewrite_node(&r.w, i));
            n_of[s]++;
        }
    POD_TRY(pod__rewrite_end(&r.w));
    plan->graph = r.w.to;
    plan->repeated_node = (pod_stretch){n_of[BEFORE], n_of[BEFORE] + n_of[REPEATED]};
    return POD_OK;
}
