/* tile: joins consecutive nodes that work sample by sample into one node that runs all of them on a
 * few samples before it continues with the next few (runtime/ops/tiled.h). A value is then read
 * from the core's cache instead of from memory, and a value that no other node reads is never in
 * memory at all:
 *
 *     bn_grad_apply  y, dz -> dy          for each tile
 *     conv2d_dx      dy, w -> dx             dy = bn_grad_apply(y, dz)   dy: a tile in the cache
 *     conv2d_dw      x, dy -> dw             dx = conv2d_dx(dy, w)
 *                                            dw += conv2d_dw(x, dy)
 *
 * A group grows until a node needs a sum over the samples that the group still computes, or until
 * one sample of all its values does not fit the tile any more, or until the phase ends. Nodes in
 * between that do not depend on the group go before it. A group is kept if it saves more traffic
 * than its weights, which each tile reads again, and its sums, which each tile adds to, cost. */
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/ops/tiled.h"
#include "runtime/passes/plan.h"
#include "runtime/passes/rewrite.h"

typedef struct group {
    pod_phase phase;
    int64_t samples;
    double sample_bytes; /* of all values with samples, one sample */
    double saved_bytes;  /* reads that come from the cache, writes that go no further */
    double again_bytes;  /* what each tile but the first moves again */
    int n_nodes;
    int32_t node[POD_TILED_STEPS];
    int n_values;
    pod_value value[POD_TILED_VALUES];
    char kind[POD_TILED_VALUES];
    bool is_made[POD_TILED_VALUES]; /* by one of its nodes */
} group;

typedef struct tile {
    const pod_plan *plan;
    pod_rewrite w;
    int32_t *n_readers; /* by value: nodes, and 1 more where something else needs it */
    group group;
} tile;

static const char *outputs_of(const pod_op *op) { return strchr(op->by_sample, '>') + 1; }

/* The kind of input or output i of the node. */
static char kind_of(const pod_node *n, int i)
{
    return i < n->n_in ? n->op->by_sample[i] : outputs_of(n->op)[i - n->n_in];
}

static pod_value value_of(const pod_node *n, int i)
{
    return i < n->n_in ? n->in[i] : pod_node_out(n, i - n->n_in);
}

static int find_value(const group *g, pod_value v)
{
    for (int i = 0; i < g->n_values; i++)
        if (g->value[i].id == v.id) return i;
    return -1;
}

static double bytes_of(const tile *t, pod_value v)
{
    const pod_type *type = pod_graph_type(t->w.from, v);
    return (double)pod_type_local_bytes(type, &t->plan->spread);
}

static int64_t samples_of(const tile *t, pod_value v)
{
    const pod_type *type = pod_graph_type(t->w.from, v);
    return pod_type_local(type, &t->plan->spread).dim[0];
}

static bool depends(const group *g, const pod_node *n)
{
    for (int j = 0; j < n->n_in; j++) {
        const int v = find_value(g, n->in[j]);
        if (v >= 0 && g->is_made[v]) return true;
    }
    return false;
}

/* ---- growing ---- */

static bool can_run_by_sample(const pod_node *n)
{
    if (!n->op->by_sample || n->op->kind != POD_OP_RUN || n->n_in > POD_TILED_IN) return false;
    return n->phase == POD_PHASE_FORWARD || n->phase == POD_PHASE_BACKWARD;
}

/* Returns the bytes per sample of the node's values that the group does not have yet. */
static double more_sample_bytes(const tile *t, const pod_node *n)
{
    double bytes = 0;
    for (int i = 0; i < n->n_in + n->n_out; i++)
        if (kind_of(n, i) == 's' && find_value(&t->group, value_of(n, i)) < 0)
            bytes += bytes_of(t, value_of(n, i)) / (double)samples_of(t, value_of(n, i));
    return bytes;
}

static bool may_join(const tile *t, const pod_node *n)
{
    const group *g = &t->group;
    if (g->n_nodes == POD_TILED_STEPS || g->n_values + n->n_in + n->n_out > POD_TILED_VALUES)
        return false;
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        const pod_value v = value_of(n, i);
        const int known = find_value(g, v);
        if (kind_of(n, i) == 's' && g->n_nodes > 0 && samples_of(t, v) != g->samples) return false;
        if (known >= 0 && g->kind[known] != kind_of(n, i)) return false;
        if (known >= 0 && i < n->n_in && g->is_made[known] && g->kind[known] != 's') return false;
    }
    return g->n_nodes == 0 ||
           g->sample_bytes + more_sample_bytes(t, n) <= (double)t->plan->args->tile_bytes;
}

static void join(tile *t, int32_t index)
{
    group *g = &t->group;
    const pod_node *n = pod_graph_node(t->w.from, index);
    g->phase = n->phase;
    g->sample_bytes += more_sample_bytes(t, n);
    g->node[g->n_nodes++] = index;
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        const pod_value v = value_of(n, i);
        const char kind = kind_of(n, i);
        if (kind == 's') g->samples = samples_of(t, v);
        if (find_value(g, v) >= 0) {
            if (kind == 's') g->saved_bytes += bytes_of(t, v);
            continue;
        }
        if (kind != 's') g->again_bytes += (kind == '+' ? 3 : 1) * bytes_of(t, v);
        g->value[g->n_values] = v;
        g->kind[g->n_values] = kind;
        g->is_made[g->n_values++] = i >= n->n_in;
    }
}

/* ---- what becomes of a group ---- */

/* The fewest tiles that fit, of equal size. */
static int64_t tiles_of(const tile *t)
{
    const group *g = &t->group;
    for (int64_t n = 1; n < g->samples; n++)
        if (g->samples % n == 0 &&
            g->sample_bytes * (double)(g->samples / n) <= (double)t->plan->args->tile_bytes)
            return n;
    return g->samples;
}

static bool is_worth_it(const group *g, int64_t n_tiles)
{
    return g->n_nodes > 1 && n_tiles > 1 && g->saved_bytes > (double)(n_tiles - 1) * g->again_bytes;
}

static bool is_read_outside(const tile *t, pod_value v)
{
    int32_t n_inside = 0;
    for (int i = 0; i < t->group.n_nodes; i++) {
        const pod_node *n = pod_graph_node(t->w.from, t->group.node[i]);
        for (int j = 0; j < n->n_in; j++) n_inside += n->in[j].id == v.id;
    }
    return t->n_readers[v.id] > n_inside;
}

/* The node's inputs and outputs, and for each value which of them it is. False: too many. */
static bool name_values(const tile *t, pod_tiled *tiled, pod_value in[], int *n_in, pod_value out[],
                        int *n_out)
{
    *n_in = *n_out = 0;
    tiled->n_values = t->group.n_values;
    for (int v = 0; v < t->group.n_values; v++) {
        const pod_value value = t->group.value[v];
        pod_tiled_value *made = &tiled->value[v];
        *made = (pod_tiled_value){.type = *pod_graph_type(t->w.from, value),
                                  .kind = t->group.kind[v],
                                  .in = -1,
                                  .out = -1};
        if (!t->group.is_made[v]) {
            if (*n_in == POD_TILED_IN) return false;
            in[made->in = (*n_in)++] = value;
        } else if (made->kind == '+' || is_read_outside(t, value)) {
            if (*n_out == POD_MAX_OUT) return false;
            out[made->out = (*n_out)++] = value;
        }
    }
    return true;
}

static pod_status add_tiled(tile *t, pod_tiled *tiled, const pod_value in[], int n_in,
                            const pod_value out[], int n_out)
{
    const group *g = &t->group;
    tiled->n_tiles = tiles_of(t);
    tiled->n_steps = g->n_nodes;
    for (int i = 0; i < g->n_nodes; i++) {
        const pod_node *n = pod_graph_node(t->w.from, g->node[i]);
        tiled->step[i].node = *n;
        for (int j = 0; j < n->n_in + n->n_out; j++)
            tiled->step[i].value[j] = find_value(g, value_of(n, j));
    }
    pod_value mapped[POD_TILED_IN];
    pod_type type[POD_MAX_OUT];
    for (int j = 0; j < n_in; j++) mapped[j] = t->w.mapped[in[j].id];
    for (int k = 0; k < n_out; k++) type[k] = *pod_graph_type(t->w.from, out[k]);
    const pod_tiled_attr attr = {tiled};
    pod_graph_set_phase(t->w.to, g->phase);
    const int32_t at = pod_graph_append(t->w.to, pod_op_named.tiled, tiled->step[0].node.label,
                                        &attr, sizeof attr, mapped, n_in, type, n_out);
    for (int k = 0; at >= 0 && k < n_out; k++)
        t->w.mapped[out[k].id] = pod_node_out(pod_graph_node(t->w.to, at), k);
    return pod_graph_finish(t->w.to);
}

static pod_status close_group(tile *t)
{
    group *g = &t->group;
    pod_tiled *tiled = NULL;
    pod_value in[POD_TILED_IN], out[POD_MAX_OUT];
    int n_in = 0, n_out = 0;
    if (is_worth_it(g, tiles_of(t))) {
        tiled = POD_ARENA_NEW(t->plan->arena, pod_tiled, 1);
        if (!tiled) return POD_E_NOMEM;
        if (!name_values(t, tiled, in, &n_in, out, &n_out)) tiled = NULL;
    }
    if (tiled)
        POD_TRY(add_tiled(t, tiled, in, n_in, out, n_out));
    else
        for (int i = 0; i < g->n_nodes; i++) POD_TRY(pod__rewrite_node(&t->w, g->node[i]));
    *g = (group){0};
    return POD_OK;
}

static pod_status take_node(tile *t, int32_t index)
{
    const pod_node *n = pod_graph_node(t->w.from, index);
    const bool by_sample = can_run_by_sample(n);
    if (t->group.n_nodes > 0 && n->phase != t->group.phase) POD_TRY(close_group(t));
    if (!by_sample && !depends(&t->group, n)) return pod__rewrite_node(&t->w, index);
    if (!by_sample || !may_join(t, n)) POD_TRY(close_group(t));
    if (!by_sample) return pod__rewrite_node(&t->w, index);
    join(t, index);
    return POD_OK;
}

static pod_status count_readers(tile *t)
{
    const pod_graph *g = t->w.from;
    t->n_readers = POD_ARENA_NEW(t->plan->arena, int32_t, pod_graph_n_values(g) + 1);
    if (!t->n_readers) return POD_E_NOMEM;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        for (int j = 0; j < n->n_in; j++) t->n_readers[n->in[j].id]++;
    }
    for (int i = 0; i < pod_graph_n_outputs(g); i++)
        t->n_readers[pod_graph_output(g, i)->value.id]++;
    for (int i = 0; i < pod_graph_n_variables(g); i++)
        t->n_readers[pod_graph_variable(g, i)->assigned.id]++;
    return POD_OK;
}

pod_status pod__pass_tile(pod_plan *plan)
{
    if (plan->args->tile_bytes == 0) return POD_OK;
    tile *t = POD_ARENA_NEW(plan->arena, tile, 1);
    if (!t) return POD_E_NOMEM;
    t->plan = plan;
    POD_TRY(pod__rewrite_start(plan->arena, plan->graph, &t->w));
    POD_TRY(count_readers(t));
    for (int32_t i = 0; i < pod_graph_n_nodes(plan->graph); i++) POD_TRY(take_node(t, i));
    POD_TRY(close_group(t));
    POD_TRY(pod__rewrite_end(&t->w));
    plan->graph = t->w.to;
    return POD_OK;
}
