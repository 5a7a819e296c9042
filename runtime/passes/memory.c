/* memory: decides which bytes hold which value, and when.
 *
 * A value's slot is memory of the host (inputs) or of the store (variables, and the values assigned
 * to them if an op updates in place), or it is inside a bucket or inside another value (views,
 * in-place outputs), or it is a slot of its own in the slab. The latter are alive from the item
 * that first writes to them to the item that last reads them. The largest are placed first, each at
 * the lowest offset that is free of values alive at the same time. A value that is computed before
 * the micro-steps and read in them is alive until the last of them ends; a sum over them stays in
 * one slot. */
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/passes/plan.h"

enum { SLOT_ALIGN = 64 };

typedef struct memory {
    pod_plan *plan;
    int32_t *last_use; /* by value: the last item that reads it, or that makes it */
    int32_t slot_cap;
    const pod_op *accumulate;
} memory;

static size_t aligned(size_t bytes) { return (bytes + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN; }

static int32_t new_slot(memory *m, pod_slot slot)
{
    pod_plan *plan = m->plan;
    POD_ASSERT(plan->n_slots < m->slot_cap, "%d slots", plan->n_slots);
    slot.root = slot.shows = plan->n_slots;
    plan->slot[plan->n_slots] = slot;
    return plan->n_slots++;
}

/* A slot that is part of another's memory, from `offset` bytes behind its start. */
static int32_t part_slot(memory *m, int32_t of, size_t offset, size_t bytes, const pod_type *type)
{
    pod_slot slot = m->plan->slot[of];
    const int32_t root = slot.root;
    slot.offset += offset;
    slot.bytes = bytes;
    slot.type = *type;
    int32_t made = new_slot(m, slot);
    m->plan->slot[made].root = root;
    return made;
}

static void extend(memory *m, int32_t slot, int32_t first, int32_t last)
{
    pod_slot *root = &m->plan->slot[m->plan->slot[slot].root];
    if (first < root->first) root->first = first;
    if (last > root->last) root->last = last;
}

static bool is_repeated(const pod_plan *plan, int32_t item)
{
    return item >= plan->repeated_item.first && item < plan->repeated_item.end;
}

/* The item that reads v last, of all those that run when item i reads it. */
static int32_t last_read(const pod_plan *plan, pod_value v, int32_t i)
{
    const bool comes_in = pod_graph_value(plan->graph, v)->node < plan->repeated_node.first;
    return comes_in && is_repeated(plan, i) ? plan->repeated_item.end - 1 : i;
}

static void find_last_uses(memory *m)
{
    const pod_plan *plan = m->plan;
    for (int32_t i = 0; i < plan->n_items; i++) {
        const pod_value *read;
        int n = pod__item_reads(plan, &plan->item[i], &read);
        for (int j = 0; j < n; j++) m->last_use[read[j].id] = last_read(plan, read[j], i);
    }
    /* A variable that is copied into its place keeps its new value until the last of these copies,
     * which come behind the items, at most one a variable. */
    const int n_variables = pod_graph_n_variables(plan->graph);
    for (int v = 0; v < n_variables; v++) {
        pod_value assigned = pod_graph_variable(plan->graph, v)->assigned;
        if (assigned.id) m->last_use[assigned.id] = plan->n_items + n_variables;
    }
    for (int32_t i = pod_graph_n_nodes(plan->graph) - 1; i >= 0; i--) {
        const pod_node *n = pod_graph_node(plan->graph, i);
        if (n->op->kind == POD_OP_VIEW && m->last_use[n->first_out] > m->last_use[n->in[0].id])
            m->last_use[n->in[0].id] = m->last_use[n->first_out];
    }
}

static void place_leaves(memory *m)
{
    pod_plan *plan = m->plan;
    const pod_graph *g = plan->graph;
    for (int i = 0; i < pod_graph_n_inputs(g); i++) {
        pod_value v = pod_graph_input(g, i)->value;
        const pod_type *t = pod_graph_type(g, v);
        plan->slot_of_value[v.id] =
            new_slot(m, (pod_slot){.space = POD_SPACE_INPUT,
                                   .index = i,
                                   .bytes = pod_type_local_bytes(t, &plan->spread),
                                   .type = *t});
        pod_slot *slot = &plan->slot[plan->slot_of_value[v.id]];
        if (t->split[0] & plan->in_time) slot->advance = slot->bytes;
    }
    for (int i = 0; i < pod_graph_n_variables(g); i++) {
        pod_value v = pod_graph_variable(g, i)->value;
        const pod_type *t = pod_graph_type(g, v);
        plan->slot_of_value[v.id] =
            new_slot(m, (pod_slot){.space = POD_SPACE_STORE,
                                   .index = i,
                                   .bytes = pod_type_local_bytes(t, &plan->spread),
                                   .type = *t});
    }
    for (int b = 0; b < plan->n_buckets; b++) {
        pod_bucket *bucket = &plan->bucket[b];
        pod_type t = pod_type_of(bucket->dtype, 1, &bucket->count);
        bucket->slot =
            new_slot(m, (pod_slot){.space = POD_SPACE_WINDOW,
                                   .bytes = (size_t)bucket->count * pod_dtype_bytes(bucket->dtype),
                                   .first = plan->n_items,
                                   .type = t});
    }
}

static int32_t bucket_part(memory *m, pod_value v)
{
    pod_plan *plan = m->plan;
    const pod_type *t = pod_graph_type(plan->graph, v);
    return part_slot(m, plan->bucket[plan->bucket_of_value[v.id]].slot,
                     (size_t)plan->place_in_bucket[v.id] * pod_dtype_bytes(t->dtype),
                     pod_type_local_bytes(t, &plan->spread), t);
}

/* The slot of in[j], if output k may take it over: nothing reads it after this item, and where it
 * is a variable, the output is what it becomes. */
static int32_t slot_to_take(const memory *m, const pod_node *n, int k, int j, int32_t item)
{
    const pod_plan *plan = m->plan;
    const pod_graph *g = plan->graph;
    const int32_t from = plan->slot_of_value[n->in[j].id];
    const pod_slot *slot = &plan->slot[from];
    const pod_value out = pod_node_out(n, k);
    const size_t bytes = pod_type_local_bytes(pod_graph_type(g, out), &plan->spread);
    if (slot->bytes != bytes) return -1;
    for (int i = 0; i < n->n_in; i++) /* another input in the same memory would be overwritten */
        if (i != j && plan->slot[plan->slot_of_value[n->in[i].id]].root == slot->root) return -1;
    if (slot->space == POD_SPACE_STORE) {
        bool is_successor = pod_graph_find_assigned(g, out) == slot->index;
        return is_successor && n->phase == POD_PHASE_UPDATE && m->last_use[n->in[j].id] == item
                   ? from
                   : -1;
    }
    const pod_slot *root = &plan->slot[slot->root];
    if (root->space != POD_SPACE_STEP || root->bytes != bytes) return -1;
    if (is_repeated(plan, item) && root->first < plan->repeated_item.first) return -1;
    return root->last == item && pod_graph_find_assigned(g, out) < 0 ? from : -1;
}

static void place_output(memory *m, const pod_node *n, int k, int32_t item)
{
    pod_plan *plan = m->plan;
    const pod_value out = pod_node_out(n, k);
    const pod_type *t = pod_graph_type(plan->graph, out);
    const size_t bytes = pod_type_local_bytes(t, &plan->spread);
    int32_t last = m->last_use[out.id] > item ? m->last_use[out.id] : item;
    int32_t slot = -1;
    if (n->op == m->accumulate) {
        slot = plan->slot_of_value[n->in[0].id];
    } else if (plan->bucket_of_value[out.id] >= 0) {
        slot = bucket_part(m, out);
    } else {
        int j = plan->lowering[plan->item[item].index].in_place[k];
        int32_t taken = j >= 0 ? slot_to_take(m, n, k, j, item) : -1;
        if (taken >= 0)
            slot = part_slot(m, taken, 0, bytes, t);
        else
            slot = new_slot(m, (pod_slot){.space = POD_SPACE_STEP,
                                          .bytes = bytes,
                                          .first = item,
                                          .last = last,
                                          .type = *t});
    }
    plan->slot_of_value[out.id] = slot;
    extend(m, slot, item, last);
}

/* The results of collectives lie where their parts lay, wherever in the order their first reader
 * stands. */
static void place_results(memory *m)
{
    pod_plan *plan = m->plan;
    const pod_graph *g = plan->graph;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        for (int k = 0; n->op->kind == POD_OP_COLLECTIVE && k < n->n_out; k++) {
            pod_value out = pod_node_out(n, k);
            plan->slot_of_value[out.id] = bucket_part(m, out);
            extend(m, plan->slot_of_value[out.id], plan->n_items, m->last_use[out.id]);
        }
    }
}

static void place_view(memory *m, const pod_node *n)
{
    pod_plan *plan = m->plan;
    const pod_value out = pod_node_out(n, 0);
    const int32_t of = plan->slot_of_value[n->in[0].id];
    const int32_t made =
        part_slot(m, of, 0, plan->slot[of].bytes, pod_graph_type(plan->graph, out));
    plan->slot[made].shows = plan->slot[of].shows;
    plan->slot_of_value[out.id] = made;
}

/* Those of the nodes from *next on, before `end`. */
static void place_views(memory *m, int32_t *next, int32_t end)
{
    for (; *next < end; ++*next) {
        const pod_node *n = pod_graph_node(m->plan->graph, *next);
        if (n->op->kind == POD_OP_VIEW) place_view(m, n);
    }
}

static void place_values(memory *m)
{
    pod_plan *plan = m->plan;
    const pod_graph *g = plan->graph;
    int32_t next_node = 0;
    for (int32_t i = 0; i < plan->n_items; i++) {
        plan->scratch_of_item[i] = -1;
        const pod_item *item = &plan->item[i];
        if (item->kind == POD_ITEM_START || item->kind == POD_ITEM_WAIT)
            extend(m, plan->bucket[item->index].slot, i, i);
        if (item->kind != POD_ITEM_NODE) continue;
        place_views(m, &next_node, item->index);
        const pod_node *n = pod_graph_node(g, item->index);
        for (int k = 0; k < n->n_out; k++) place_output(m, n, k, i);
        size_t scratch = plan->lowering[item->index].scratch_bytes;
        if (scratch > 0)
            plan->scratch_of_item[i] = new_slot(m, (pod_slot){.space = POD_SPACE_STEP,
                                                              .bytes = scratch,
                                                              .first = i,
                                                              .last = i,
                                                              .type = {.dtype = POD_U8}});
    }
    place_views(m, &next_node, pod_graph_n_nodes(g)); /* outputs that are views */
}

typedef struct placed {
    size_t offset, bytes;
    int32_t slot, first, last;
} placed;

static int largest_first(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

static int lowest_first(const void *a, const void *b)
{
    const placed *const *x = a, *const *y = b;
    return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

/* Gives every root slot of one space its offset; answers the size of the slab. */
static pod_status place_slab(memory *m, pod_space space, size_t *slab_bytes)
{
    pod_plan *plan = m->plan;
    placed *all = POD_ARENA_NEW(plan->arena, placed, plan->n_slots);
    const placed **alive = POD_ARENA_NEW(plan->arena, const placed *, plan->n_slots);
    if (!all || !alive) return POD_E_NOMEM;
    int n = 0;
    for (int32_t s = 0; s < plan->n_slots; s++) {
        const pod_slot *slot = &plan->slot[s];
        if (slot->space == space && slot->root == s)
            all[n++] = (placed){.bytes = aligned(slot->bytes + plan->args->guard_bytes),
                                .slot = s,
                                .first = slot->first,
                                .last = slot->last};
    }
    qsort(all, (size_t)n, sizeof all[0], largest_first);
    size_t end = 0;
    for (int i = 0; i < n; i++) {
        int n_alive = 0;
        for (int j = 0; j < i; j++)
            if (all[j].first <= all[i].last && all[i].first <= all[j].last)
                alive[n_alive++] = &all[j];
        qsort(alive, (size_t)n_alive, sizeof alive[0], lowest_first);
        size_t at = 0;
        for (int j = 0; j < n_alive && at + all[i].bytes > alive[j]->offset; j++)
            if (alive[j]->offset + alive[j]->bytes > at) at = alive[j]->offset + alive[j]->bytes;
        all[i].offset = at;
        if (at + all[i].bytes > end) end = at + all[i].bytes;
        plan->slot[all[i].slot].offset = at;
    }
    *slab_bytes = end;
    return POD_OK;
}

static void settle_parts(pod_plan *plan)
{
    for (int32_t s = 0; s < plan->n_slots; s++) {
        pod_slot *slot = &plan->slot[s];
        if (slot->root == s) continue;
        const pod_slot *root = &plan->slot[slot->root];
        slot->offset += root->offset;
        slot->first = root->first;
        slot->last = root->last;
    }
}

pod_status pod__pass_memory(pod_plan *plan)
{
    const int32_t n_values = pod_graph_n_values(plan->graph);
    memory m = {.plan = plan,
                .slot_cap = n_values + plan->n_items + plan->n_buckets,
                .accumulate = pod_op_named.accumulate};
    m.last_use = POD_ARENA_NEW(plan->arena, int32_t, n_values + 1);
    plan->slot = POD_ARENA_NEW(plan->arena, pod_slot, m.slot_cap);
    plan->slot_of_value = POD_ARENA_NEW(plan->arena, int32_t, n_values + 1);
    plan->scratch_of_item = POD_ARENA_NEW(plan->arena, int32_t, plan->n_items);
    if (!m.last_use || !plan->slot || !plan->slot_of_value || !plan->scratch_of_item)
        return POD_E_NOMEM;
    for (int32_t v = 0; v <= n_values; v++) plan->slot_of_value[v] = -1;
    find_last_uses(&m);
    place_leaves(&m);
    place_results(&m);
    place_values(&m);
    POD_TRY(place_slab(&m, POD_SPACE_STEP, &plan->step_bytes));
    POD_TRY(place_slab(&m, POD_SPACE_WINDOW, &plan->window_bytes));
    settle_parts(plan);
    return POD_OK;
}
