/* order: puts the instructions in a row. Nodes keep the graph's order. A bucket starts as soon as
 * its last value is ready, and the wait for it comes right before the first node that reads from
 * it, or at once if nothing is to run in between. Outputs are waited for and fetched before the
 * first node of the update, so that a loss that is not finite stops the step while the weights are
 * still valid. Nothing starts before the last micro-step has run. */
#include "kernels/base/assert.h"
#include "runtime/passes/plan.h"

typedef struct order {
    pod_plan *plan;
    bool *started, *waited; /* by bucket */
    bool fetched;
    int32_t at; /* the node that comes next */
} order;

static void add(order *o, pod_item_kind kind, int32_t index)
{
    o->plan->item[o->plan->n_items++] = (pod_item){kind, index};
}

static void start_ready(order *o, int32_t node)
{
    const bool is_early = node + 1 < o->plan->repeated_node.end;
    for (int b = 0; b < o->plan->n_buckets; b++) {
        const pod_bucket *bucket = &o->plan->bucket[b];
        if (o->started[b] || bucket->ready > node || (is_early && !bucket->is_repeated)) continue;
        o->started[b] = true;
        add(o, POD_ITEM_START, b);
        if (!o->plan->args->wait_at_once) continue;
        o->waited[b] = true;
        add(o, POD_ITEM_WAIT, b);
    }
}

static pod_status wait_for(order *o, pod_value v)
{
    int b = o->plan->bucket_of_value[v.id];
    if (b < 0 || o->waited[b]) return POD_OK;
    const pod_node *maker = pod_graph_maker(o->plan->graph, v);
    if (maker->op->kind != POD_OP_COLLECTIVE) return POD_OK; /* a core's own part, not yet summed */
    if (!o->started[b])
        return pod_fail(POD_E_UNSUPPORTED,
                        "order: the sum of '%s' is wanted before its parts were last read",
                        maker->label);
    o->waited[b] = true;
    add(o, POD_ITEM_WAIT, b);
    return POD_OK;
}

static pod_status fetch_outputs(order *o)
{
    if (o->fetched) return POD_OK;
    o->fetched = true;
    const pod_graph *g = o->plan->graph;
    for (int i = 0; i < pod_graph_n_outputs(g); i++) {
        const pod_named *output = pod_graph_output(g, i);
        if (pod_graph_maker(g, output->value)->op->kind != POD_OP_COLLECTIVE &&
            pod_graph_value(g, output->value)->node >= o->at)
            return pod_fail(POD_E_UNSUPPORTED, "order: output '%s' is made during the update",
                            output->name);
        POD_TRY(wait_for(o, output->value));
    }
    for (int i = 0; i < pod_graph_n_outputs(g); i++) add(o, POD_ITEM_FETCH, i);
    return POD_OK;
}

/* Ends with values that no node reads: the outputs, and the next values of variables, in order. */
static pod_status end_step(order *o)
{
    POD_TRY(fetch_outputs(o));
    for (int b = 0; b < o->plan->n_buckets; b++) {
        POD_ASSERT(o->started[b], "bucket %d has not started when the step ends", b);
        if (!o->waited[b]) add(o, POD_ITEM_WAIT, b);
    }
    return POD_OK;
}

pod_status pod__pass_order(pod_plan *plan)
{
    const pod_graph *g = plan->graph;
    const int32_t n_nodes = pod_graph_n_nodes(g);
    order o = {.plan = plan};
    o.started = POD_ARENA_NEW(plan->arena, bool, plan->n_buckets + 1);
    o.waited = POD_ARENA_NEW(plan->arena, bool, plan->n_buckets + 1);
    plan->item = POD_ARENA_NEW(plan->arena, pod_item,
                               n_nodes + 2 * plan->n_buckets + pod_graph_n_outputs(g));
    if (!o.started || !o.waited || !plan->item) return POD_E_NOMEM;
    for (int32_t i = 0; i < n_nodes; i++) {
        const pod_node *n = pod_graph_node(g, i);
        o.at = i;
        if (i == plan->repeated_node.first) plan->repeated_item.first = plan->n_items;
        if (n->phase == POD_PHASE_UPDATE && i >= plan->repeated_node.end)
            POD_TRY(fetch_outputs(&o));
        if (n->op->kind != POD_OP_COLLECTIVE)
            for (int j = 0; j < n->n_in; j++) POD_TRY(wait_for(&o, n->in[j]));
        if (n->op->kind == POD_OP_RUN) add(&o, POD_ITEM_NODE, i);
        if (i + 1 == plan->repeated_node.end) plan->repeated_item.end = plan->n_items;
        start_ready(&o, i);
    }
    o.at = n_nodes;
    return end_step(&o);
}

int pod__item_reads(const pod_plan *plan, const pod_item *item, const pod_value **value)
{
    switch (item->kind) {
    case POD_ITEM_NODE: {
        const pod_node *n = pod_graph_node(plan->graph, item->index);
        *value = n->in;
        return n->n_in;
    }
    case POD_ITEM_FETCH: *value = &pod_graph_output(plan->graph, item->index)->value; return 1;
    case POD_ITEM_START:
    case POD_ITEM_WAIT: break;
    }
    return 0;
}
