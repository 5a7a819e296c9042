/* bucket: joins the all-reduces of single values into few of many, in the order in which their
 * values are ready, so that a bucket can travel while backward continues. A value does not join a
 * bucket if it is needed before the bucket is ready, or if forward or backward waits for the
 * bucket, as for the sums of a batch norm, unless they wait for the value, too. Outputs have a
 * bucket of their own, because they are needed before the update. */
#include <stdlib.h>

#include "kernels/base/assert.h"
#include "runtime/passes/plan.h"

typedef struct reduction {
    int32_t node;
    int32_t ready;  /* the node after which it may start */
    int32_t wanted; /* the first node that reads the sum */
    pod_coll coll;
    uint8_t mask;
    pod_dtype dtype;
    bool is_output, is_repeated, is_urgent; /* urgent: forward or backward read the sum */
} reduction;

static int by_readiness(const void *a, const void *b)
{
    const reduction *x = a, *y = b;
    if (x->is_output != y->is_output) return x->is_output ? -1 : 1;
    if (x->is_repeated != y->is_repeated) return x->is_repeated ? -1 : 1;
    if (x->is_urgent != y->is_urgent) return x->is_urgent ? -1 : 1;
    if (x->mask != y->mask) return x->mask < y->mask ? -1 : 1;
    if (x->dtype != y->dtype) return x->dtype < y->dtype ? -1 : 1;
    if (x->ready != y->ready) return x->ready < y->ready ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* The last node that makes or reads the value, other than all-reduces: in place, the sum may
 * replace the core's own part only after that. */
static int32_t *last_uses(const pod_plan *plan)
{
    const pod_graph *g = plan->graph;
    int32_t *last = POD_ARENA_NEW(plan->arena, int32_t, pod_graph_n_values(g) + 1);
    if (!last) return NULL;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        for (int k = 0; k < n->n_out; k++) last[n->first_out + k] = i;
        if (n->op->kind == POD_OP_COLLECTIVE) continue;
        for (int j = 0; j < n->n_in; j++) last[n->in[j].id] = i;
    }
    for (int32_t i = pod_graph_n_nodes(g) - 1; i >= 0; i--) {
        const pod_node *n = pod_graph_node(g, i);
        if (n->op->kind == POD_OP_VIEW && last[n->first_out] > last[n->in[0].id])
            last[n->in[0].id] = last[n->first_out];
    }
    return last;
}

/* The first node that reads the value; n_nodes when none does. */
static int32_t *first_reads(const pod_plan *plan)
{
    const pod_graph *g = plan->graph;
    const int32_t n_nodes = pod_graph_n_nodes(g), n_values = pod_graph_n_values(g);
    int32_t *first = POD_ARENA_NEW(plan->arena, int32_t, n_values + 1);
    if (!first) return NULL;
    for (int32_t v = 0; v <= n_values; v++) first[v] = n_nodes;
    for (int32_t i = n_nodes - 1; i >= 0; i--) {
        const pod_node *n = pod_graph_node(g, i);
        for (int j = 0; j < n->n_in; j++) first[n->in[j].id] = i;
    }
    return first;
}

static bool is_read_by_host(const pod_graph *g, pod_value v)
{
    for (int i = 0; i < pod_graph_n_outputs(g); i++)
        if (pod_graph_output(g, i)->value.id == v.id) return true;
    return false;
}

/* Returns the sharding of the values of a collective. */
static const pod_shard *shard_of(const pod_graph *g, const pod_node *n, int i, pod_coll coll)
{
    return &pod_graph_type(g, coll == POD_ALLGATHER ? n->in[i] : pod_node_out(n, i))->shard;
}

static pod_coll coll_of(const pod_graph *g, const pod_node *n)
{
    if (pod_graph_type(g, n->in[0])->shard.per_core) return POD_ALLGATHER;
    return pod_graph_type(g, pod_node_out(n, 0))->shard.per_core ? POD_REDUCE_SCATTER
                                                                 : POD_ALLREDUCE;
}

static reduction reduction_of(const pod_plan *plan, int32_t index, const int32_t *last,
                              const int32_t *first)
{
    const pod_graph *g = plan->graph;
    const pod_node *n = pod_graph_node(g, index);
    const pod_type *t = pod_graph_type(g, n->in[0]);
    reduction r = {.node = index,
                   .wanted = pod_graph_n_nodes(g),
                   .is_repeated =
                       index >= plan->repeated_node.first && index < plan->repeated_node.end,
                   .coll = coll_of(g, n),
                   .mask = pod__mask_of_collective(g, n, 0),
                   .dtype = t->dtype};
    for (int i = 0; i < n->n_in; i++) {
        const pod_value out = pod_node_out(n, i);
        if (last[n->in[i].id] > r.ready) r.ready = last[n->in[i].id];
        if (first[out.id] < r.wanted) r.wanted = first[out.id];
        r.is_output = r.is_output || is_read_by_host(g, out);
    }
    r.is_urgent =
        r.wanted < pod_graph_n_nodes(g) && pod_graph_node(g, r.wanted)->phase < POD_PHASE_REDUCE;
    return r;
}

static int find_reductions(const pod_plan *plan, const int32_t *last, const int32_t *first,
                           reduction *out)
{
    const pod_graph *g = plan->graph;
    int n = 0;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        if (pod_graph_node(g, i)->op->kind == POD_OP_COLLECTIVE)
            out[n++] = reduction_of(plan, i, last, first);
    }
    return n;
}

static int64_t count_of(const pod_plan *plan, pod_value v)
{
    pod_shape local = pod_type_local(pod_graph_type(plan->graph, v), &plan->spread);
    return pod_shape_count(&local);
}

/* Values in a bucket begin at multiples of 64 bytes, as kernels like them. */
static int64_t padded(int64_t count, pod_dtype t)
{
    const int64_t line = 64 / (int64_t)pod_dtype_bytes(t);
    return (count + line - 1) / line * line;
}

static void place_value(pod_plan *plan, const pod_bucket *b, pod_value v, int64_t first)
{
    plan->bucket_of_value[v.id] = (int32_t)(b - plan->bucket);
    plan->place_in_bucket[v.id] = first;
}

/* A sum over micro-steps begins, as zeros, in the memory where it ends. */
static void place(pod_plan *plan, const pod_bucket *b, const pod_node *n, int i, int64_t first)
{
    const pod_node *maker = pod_graph_maker(plan->graph, n->in[i]);
    place_value(plan, b, n->in[i], first);
    place_value(plan, b, pod_node_out(n, i), first);
    if (maker->op == pod_op_named.accumulate) place_value(plan, b, maker->in[0], first);
}

/* Values that are dealt out lie as they are dealt. */
static void add_to_bucket(pod_plan *plan, pod_bucket *b, const reduction *r)
{
    const pod_node *n = pod_graph_node(plan->graph, r->node);
    for (int i = 0; i < n->n_in; i++) {
        if (r->coll == POD_ALLREDUCE) {
            place(plan, b, n, i, b->count);
            b->count += padded(count_of(plan, n->in[i]), r->dtype);
        } else {
            const pod_shard *s = shard_of(plan->graph, n, i, r->coll);
            place(plan, b, n, i, s->first);
            b->count = s->per_core * pod_mask_size(&plan->spread, s->over);
        }
    }
    if (r->ready > b->ready) b->ready = r->ready;
}

pod_status pod__pass_bucket(pod_plan *plan)
{
    const pod_graph *g = plan->graph;
    const int32_t n_values = pod_graph_n_values(g), n_nodes = pod_graph_n_nodes(g);
    int32_t *last = last_uses(plan), *first = first_reads(plan);
    reduction *all = POD_ARENA_NEW(plan->arena, reduction, n_nodes);
    plan->bucket = POD_ARENA_NEW(plan->arena, pod_bucket, n_nodes);
    plan->bucket_of_value = POD_ARENA_NEW(plan->arena, int32_t, n_values + 1);
    plan->place_in_bucket = POD_ARENA_NEW(plan->arena, int64_t, n_values + 1);
    if (!last || !first || !all || !plan->bucket || !plan->bucket_of_value ||
        !plan->place_in_bucket)
        return POD_E_NOMEM;
    for (int32_t v = 0; v <= n_values; v++) plan->bucket_of_value[v] = -1;

    int n = find_reductions(plan, last, first, all);
    qsort(all, (size_t)n, sizeof all[0], by_readiness);
    pod_bucket *open = NULL;
    int32_t wanted = 0; /* the open bucket */
    bool is_urgent = false;
    for (int i = 0; i < n; i++) {
        bool fits =
            open && open->coll == POD_ALLREDUCE && all[i].coll == POD_ALLREDUCE &&
            open->mask == all[i].mask && open->dtype == all[i].dtype &&
            open->is_output == all[i].is_output && open->is_repeated == all[i].is_repeated &&
            is_urgent == all[i].is_urgent &&
            open->count * (int64_t)pod_dtype_bytes(open->dtype) < plan->args->bucket_bytes &&
            all[i].ready < wanted;
        if (!fits) {
            open = &plan->bucket[plan->n_buckets++];
            *open = (pod_bucket){.mask = all[i].mask,
                                 .dtype = all[i].dtype,
                                 .coll = all[i].coll,
                                 .is_output = all[i].is_output,
                                 .is_repeated = all[i].is_repeated};
            wanted = n_nodes;
            is_urgent = all[i].is_urgent;
        }
        if (all[i].wanted < wanted) wanted = all[i].wanted;
        add_to_bucket(plan, open, &all[i]);
    }
    return POD_OK;
}
