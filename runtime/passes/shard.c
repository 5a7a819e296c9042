/* shard: each core updates its shard of the weights (Xu et al. 2020, arXiv 2004.13336).
 *
 * Gradients that only the update reads are joined into buckets, in the order of their updates, and
 * a bucket is sharded: its sums are scattered instead of all-reduced, each core runs the update on
 * its block of them, and the new weights are gathered. A block may hold shards of several weights,
 * and a weight may lie across blocks. A core keeps optimizer states only for its block.
 *
 *     parts of g --reduce_scatter--> g | w | states  --update--> w' | states' --allgather--> w'
 *
 * A norm is the sum of squares of a core's shard, rounded to float32, summed over the cores. R of
 * them cause at most R + 1 roundings, (R + 1) 2^-24 of the norm, besides those of the kernel, whose
 * blocks begin elsewhere; exact ones (the pass wire) cause none. All else is element by element. So
 * without norms, or with exact ones, the new weights have the bits of the unsharded update if the
 * sums of gradients have. For the norms of a bucket to travel as one, the nodes that lead to them
 * come before all nodes that read them, and if something reads the norms of all gradients, as clipping
 * does, they come before all else. A gradient that anything else reads is left as it was. */
#include "runtime/ops/op.h"
#include "runtime/passes/plan.h"
#include "runtime/passes/rewrite.h"

enum { NONE = -1 };

/* What leads to a norm that nodes of no group read; what leads to another norm; the rest. */
enum { OF_ALL, OF_NORMS, OF_REST };

typedef struct group { /* a gradient, and what the update makes of it */
    int32_t reduction; /* node */
    bool stays;        /* something else has a hand in it */
    pod_shard shard;
} group;

typedef struct shard {
    const pod_plan *plan;
    const pod_graph *from;
    pod_rewrite w; /* with room in w.in for as many values as there are */
    group *group;
    int n_groups;
    int32_t *group_of_value, *group_of_node; /* or NONE */
    uint8_t *stage;                          /* by node of a group: when it is added */
    bool *is_late;                           /* by node of no group: it reads what groups make */
    pod_value *part;                         /* by variable's value: this core's part of it */
    pod_value *made;                         /* of the collective at hand, by output */
} shard;

static bool is_scalar(const pod_graph *g, pod_value v)
{
    return pod_graph_type(g, v)->shape.n_dims == 0;
}

static bool makes_scalar(const pod_graph *g, const pod_node *n)
{
    for (int o = 0; o < n->n_out; o++)
        if (is_scalar(g, pod_node_out(n, o))) return true;
    return false;
}

static bool is_variable(const pod_graph *g, pod_value v)
{
    return pod_graph_maker(g, v)->op->kind == POD_OP_VARIABLE;
}

static bool is_state(const pod_graph *g, pod_value v)
{
    const int i = pod_graph_find_variable(g, v);
    return i >= 0 && pod_graph_variable(g, i)->role == POD_ROLE_STATE;
}

/* Whether the node reads scalars only, as the sum of all norms does: sharding leaves scalars whole. */
static bool reads_only_scalars(const pod_graph *g, const pod_node *n)
{
    if (n->op->kind != POD_OP_RUN || n->n_in == 0) return false;
    for (int j = 0; j < n->n_in; j++)
        if (!is_scalar(g, n->in[j])) return false;
    return true;
}

/* ---- which gradients, and what is made of them ---- */

static void find_groups(shard *s)
{
    const uint8_t all = s->plan->cores;
    for (int32_t i = 0; i < pod_graph_n_nodes(s->from); i++) {
        const pod_node *n = pod_graph_node(s->from, i);
        if (n->op->kind != POD_OP_COLLECTIVE) continue;
        const pod_type *t = pod_graph_type(s->from, n->in[0]);
        const uint8_t reduced = pod__mask_of_collective(s->from, n, 0);
        if (reduced != all || t->vary || t->shape.n_dims == 0) continue;
        s->group_of_value[n->first_out] = s->n_groups;
        s->group[s->n_groups++] = (group){.reduction = i};
    }
}

static void leave(shard *s, int32_t k)
{
    if (k != NONE) s->group[k].stays = true;
}

/* A node that reads a value of a group belongs to it, with the variables it reads; what forward or
 * backward reads is no gradient to deal out. */
static void join(shard *s, int32_t node)
{
    const pod_node *n = pod_graph_node(s->from, node);
    int32_t k = NONE;
    if (n->phase != POD_PHASE_UPDATE) {
        for (int j = 0; j < n->n_in; j++) leave(s, s->group_of_value[n->in[j].id]);
        return;
    }
    if (reads_only_scalars(s->from, n)) return;
    for (int j = 0; j < n->n_in && k == NONE; j++) k = s->group_of_value[n->in[j].id];
    if (k == NONE) return;
    bool fits = n->op->by_element;
    for (int j = 0; j < n->n_in; j++) {
        int32_t *of = &s->group_of_value[n->in[j].id];
        if (*of == NONE && !is_scalar(s->from, n->in[j])) {
            if (is_variable(s->from, n->in[j]))
                *of = k;
            else
                fits = false;
        }
        if (*of != NONE && *of != k) {
            leave(s, *of);
            fits = false;
        }
    }
    for (int o = 0; o < n->n_out; o++) s->group_of_value[n->first_out + o] = k;
    s->group_of_node[node] = k;
    if (!fits) leave(s, k);
}

/* Norms of a weight itself are made of the variable, before the node that told whose it is. */
static void join_norms(shard *s, int32_t node)
{
    const pod_node *n = pod_graph_node(s->from, node);
    if (s->group_of_node[node] != NONE || n->phase != POD_PHASE_UPDATE || !n->op->by_element ||
        n->n_in != 1 || n->n_out != 1 || !is_scalar(s->from, pod_node_out(n, 0)))
        return;
    const int32_t k = s->group_of_value[n->in[0].id];
    s->group_of_node[node] = s->group_of_value[n->first_out] = k;
}

/* Lets a group stay whole if its values go to other nodes or variables than its own. */
static void verify_groups(shard *s)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(s->from); i++) {
        const pod_node *n = pod_graph_node(s->from, i);
        for (int j = 0; j < n->n_in; j++) {
            const int32_t k = s->group_of_value[n->in[j].id];
            if (k != s->group_of_node[i] && !is_variable(s->from, n->in[j]) &&
                !reads_only_scalars(s->from, n))
                leave(s, k);
        }
    }
    for (int i = 0; i < pod_graph_n_outputs(s->from); i++)
        leave(s, s->group_of_value[pod_graph_output(s->from, i)->value.id]);
    for (int i = 0; i < pod_graph_n_variables(s->from); i++) {
        const pod_variable_info *v = pod_graph_variable(s->from, i);
        const int32_t k = s->group_of_value[v->value.id];
        const int32_t of = v->assigned.id ? s->group_of_value[v->assigned.id] : NONE;
        const bool is_made =
            of != NONE && s->group_of_node[pod_graph_value(s->from, v->assigned)->node] == of;
        if (k == of && (k == NONE || is_made)) continue;
        leave(s, k);
        leave(s, of);
    }
}

static int32_t group_of(const shard *s, int32_t node)
{
    const int32_t k = s->group_of_node[node];
    return k != NONE && !s->group[k].stays ? k : NONE;
}

static int32_t maker_of(const shard *s, pod_value v) { return pod_graph_value(s->from, v)->node; }

/* Marks nodes of no group that read what a group makes, or what these make. */
static void find_late(shard *s)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(s->from); i++) {
        const pod_node *n = pod_graph_node(s->from, i);
        if (group_of(s, i) != NONE || n->op->kind == POD_OP_COLLECTIVE) continue;
        for (int j = 0; j < n->n_in; j++) {
            const int32_t maker = maker_of(s, n->in[j]);
            s->is_late[i] |= group_of(s, maker) != NONE || s->is_late[maker];
        }
    }
}

static void hasten(shard *s, pod_value v, uint8_t stage)
{
    uint8_t *of = &s->stage[maker_of(s, v)];
    if (*of > stage) *of = stage;
}

static void find_stages(shard *s)
{
    const int32_t n_nodes = pod_graph_n_nodes(s->from);
    for (int32_t i = 0; i < n_nodes; i++) s->stage[i] = OF_REST;
    for (int32_t i = n_nodes - 1; i >= 0; i--) {
        const pod_node *n = pod_graph_node(s->from, i);
        const bool is_grouped = group_of(s, i) != NONE;
        if (is_grouped && s->stage[i] == OF_REST && makes_scalar(s->from, n))
            s->stage[i] = OF_NORMS;
        for (int j = 0; j < n->n_in; j++)
            if (is_grouped)
                hasten(s, n->in[j], s->stage[i]);
            else if (s->is_late[i])
                hasten(s, n->in[j], OF_ALL);
    }
}

/* Buckets: groups that follow one another with shards of one block length. */
static int next_group(const shard *s, int k)
{
    while (k < s->n_groups && s->group[k].stays) k++;
    return k;
}

static int64_t count_of(const shard *s, int k)
{
    const pod_node *n = pod_graph_node(s->from, s->group[k].reduction);
    return pod_shape_count(&pod_graph_type(s->from, n->in[0])->shape);
}

/* The groups from `begin` on that make a bucket get their shards; answers the one after. */
static int fill_bucket(shard *s, int begin)
{
    const pod_compile_args *args = s->plan->args;
    const int64_t full = args->bucket_bytes / (int64_t)pod_dtype_bytes(args->wire);
    const uint8_t all = s->plan->cores;
    const int n_cores = pod_mesh_size(&args->mesh);
    int64_t count = 0;
    int end = begin;
    for (; end < s->n_groups && (count == 0 || count < full); end = next_group(s, end + 1)) {
        s->group[end].shard = (pod_shard){.first = count, .over = all};
        count += pod_shard_padded(count_of(s, end));
    }
    for (int k = begin; k < end; k = next_group(s, k + 1))
        s->group[k].shard.per_core = pod_shard_padded((count + n_cores - 1) / n_cores);
    return end;
}

/* ---- the new graph ---- */

/* A node of no group; an optimizer's state of one that is dealt out becomes this core's part. */
static pod_status add_node(shard *s, int32_t index)
{
    const pod_node *n = pod_graph_node(s->from, index);
    for (int j = 0; j < n->n_in; j++) s->w.in[j] = s->w.mapped[n->in[j].id];
    for (int o = 0; o < n->n_out; o++) {
        const pod_value v = pod_node_out(n, o);
        const int32_t k = s->group_of_value[v.id];
        s->w.out_type[o] = *pod_graph_type(s->from, v);
        if (k != NONE && !s->group[k].stays && is_state(s->from, v))
            s->w.out_type[o].shard = s->group[k].shard;
    }
    return pod__rewrite_append(&s->w, n, &s->w.mapped[n->first_out]);
}

/* Adds a collective of the values in s->w.in, with its results in s->made. */
static pod_status add_collective(shard *s, const char *op, const char *label, int n_values,
                                 const int64_t *per_core)
{
    const pod_node n = {.op = pod_op_find(op),
                        .label = label,
                        .attr = per_core,
                        .attr_bytes = per_core ? sizeof *per_core : 0,
                        .phase = POD_PHASE_REDUCE,
                        .n_in = n_values,
                        .n_out = n_values};
    return pod__rewrite_infer(&s->w, &n, s->made);
}

static pod_status scatter(shard *s, int begin, int end)
{
    int n = 0;
    const pod_node *first = pod_graph_node(s->from, s->group[begin].reduction);
    for (int k = begin; k < end; k = next_group(s, k + 1))
        s->w.in[n++] = s->w.mapped[pod_graph_node(s->from, s->group[k].reduction)->in[0].id];
    POD_TRY(add_collective(s, "reduce_scatter", first->label, n, &s->group[begin].shard.per_core));
    n = 0;
    for (int k = begin; k < end; k = next_group(s, k + 1))
        s->w.mapped[pod_graph_node(s->from, s->group[k].reduction)->first_out] = s->made[n++];
    return POD_OK;
}

/* A weight is whole on every core; what the update reads is this core's part. */
static pod_status part_of(shard *s, pod_value v, const pod_shard *dealt, pod_value *out)
{
    if (!is_variable(s->from, v) || is_state(s->from, v)) {
        *out = s->w.mapped[v.id];
        return POD_OK;
    }
    if (!s->part[v.id].id) {
        const pod_type type = *pod_graph_type(s->from, v);
        pod_type part = type;
        part.shard = *dealt;
        const char *label = pod_graph_maker(s->from, v)->label;
        pod_graph_set_phase(s->w.to, POD_PHASE_UPDATE);
        const int32_t at = pod_graph_append(s->w.to, pod_op_named.shard, label, dealt,
                                            sizeof *dealt, &s->w.mapped[v.id], 1, &part, 1);
        if (at < 0) return pod_graph_finish(s->w.to);
        s->part[v.id] = pod_node_out(pod_graph_node(s->w.to, at), 0);
    }
    *out = s->part[v.id];
    return POD_OK;
}

static pod_status add_group_node(shard *s, int32_t index)
{
    const pod_node *n = pod_graph_node(s->from, index);
    const pod_shard *dealt = &s->group[group_of(s, index)].shard;
    for (int j = 0; j < n->n_in; j++)
        if (is_scalar(s->from, n->in[j]))
            s->w.in[j] = s->w.mapped[n->in[j].id];
        else
            POD_TRY(part_of(s, n->in[j], dealt, &s->w.in[j]));
    return pod__rewrite_infer(&s->w, n, &s->w.mapped[n->first_out]);
}

/* Nodes of the groups, in their order. */
static pod_status add_group_nodes(shard *s, int begin, int end, int stage)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(s->from); i++) {
        const int32_t k = group_of(s, i);
        if (k >= begin && k < end && s->stage[i] == stage) POD_TRY(add_group_node(s, i));
    }
    return POD_OK;
}

static pod_status reduce_norms(shard *s, int begin, int end, int stage)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(s->from); i++) {
        const pod_node *n = pod_graph_node(s->from, i);
        const int32_t k = group_of(s, i);
        for (int o = 0; o < n->n_out && k >= begin && k < end && s->stage[i] == stage; o++) {
            if (!is_scalar(s->from, pod_node_out(n, o))) continue;
            s->w.in[0] = s->w.mapped[n->first_out + o];
            POD_TRY(add_collective(s, "allreduce", n->label, 1, NULL));
            s->w.mapped[n->first_out + o] = s->made[0];
        }
    }
    return POD_OK;
}

/* The group of a variable that is gathered; NONE: it is not. */
static int32_t gathered_in(const shard *s, const pod_variable_info *v)
{
    if (!v->assigned.id || v->role == POD_ROLE_STATE) return NONE;
    return group_of(s, pod_graph_value(s->from, v->assigned)->node);
}

/* Returns whether it is the n-th of its group; values of one group lie at one offset of a
 * bucket. */
static bool is_nth_gathered(const shard *s, int variable, int begin, int end, int nth)
{
    const int32_t k = gathered_in(s, pod_graph_variable(s->from, variable));
    if (k < begin || k >= end) return false;
    for (int i = 0; i < variable; i++) nth -= gathered_in(s, pod_graph_variable(s->from, i)) == k;
    return nth == 0;
}

/* One of each group at a time: weights, then what is kept beside them. */
static pod_status gather_nth(shard *s, int begin, int end, int nth, int *n)
{
    const pod_graph *g = s->from;
    const pod_node *first = pod_graph_node(g, s->group[begin].reduction);
    *n = 0;
    for (int i = 0; i < pod_graph_n_variables(g); i++)
        if (is_nth_gathered(s, i, begin, end, nth))
            s->w.in[(*n)++] = s->w.mapped[pod_graph_variable(g, i)->assigned.id];
    if (*n == 0) return POD_OK;
    POD_TRY(add_collective(s, "allgather", first->label, *n, NULL));
    int out = 0;
    for (int i = 0; i < pod_graph_n_variables(g); i++)
        if (is_nth_gathered(s, i, begin, end, nth))
            s->w.assigned[pod_graph_variable(g, i)->assigned.id] = s->made[out++];
    return POD_OK;
}

static pod_status gather(shard *s, int begin, int end)
{
    int n = 1;
    for (int nth = 0; n > 0; nth++) POD_TRY(gather_nth(s, begin, end, nth, &n));
    return POD_OK;
}

static pod_status add_other_nodes(shard *s, bool late)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(s->from); i++) {
        const pod_node *n = pod_graph_node(s->from, i);
        const bool is_reduction = n->op->kind == POD_OP_COLLECTIVE;
        const int32_t k = is_reduction ? s->group_of_value[n->first_out] : NONE;
        if (group_of(s, i) != NONE || (k != NONE && !s->group[k].stays)) continue;
        if (s->is_late[i] == late) POD_TRY(add_node(s, i));
    }
    return POD_OK;
}

/* The end of the bucket that begins with this group. */
static int end_of_bucket(const shard *s, int begin)
{
    int end = begin;
    while (end < s->n_groups &&
           (end == begin || s->group[end].shard.first > s->group[begin].shard.first))
        end = next_group(s, end + 1);
    return end;
}

static bool has_late_nodes(const shard *s)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(s->from); i++)
        if (s->is_late[i]) return true;
    return false;
}

/* Bucket by bucket; where all norms are wanted first, those of all buckets come first. */
static pod_status add_nodes(shard *s)
{
    const bool is_two = has_late_nodes(s);
    POD_TRY(add_other_nodes(s, false));
    for (int begin = next_group(s, 0), end; is_two && begin < s->n_groups; begin = end) {
        end = end_of_bucket(s, begin);
        POD_TRY(scatter(s, begin, end));
        POD_TRY(add_group_nodes(s, begin, end, OF_ALL));
        POD_TRY(reduce_norms(s, begin, end, OF_ALL));
    }
    if (is_two) POD_TRY(add_other_nodes(s, true));
    for (int begin = next_group(s, 0), end; begin < s->n_groups; begin = end) {
        end = end_of_bucket(s, begin);
        if (!is_two) POD_TRY(scatter(s, begin, end));
        POD_TRY(add_group_nodes(s, begin, end, OF_NORMS));
        POD_TRY(reduce_norms(s, begin, end, OF_NORMS));
        POD_TRY(add_group_nodes(s, begin, end, OF_REST));
        POD_TRY(gather(s, begin, end));
    }
    return pod__rewrite_end(&s->w);
}

static pod_status take_memory(shard *s)
{
    pod_arena *a = s->plan->arena;
    const int32_t n_nodes = pod_graph_n_nodes(s->from), n_values = pod_graph_n_values(s->from);
    POD_TRY(pod__rewrite_start(a, s->from, &s->w));
    s->group = POD_ARENA_NEW(a, group, n_nodes);
    s->group_of_value = POD_ARENA_NEW(a, int32_t, n_values + 1);
    s->group_of_node = POD_ARENA_NEW(a, int32_t, n_nodes);
    s->stage = POD_ARENA_NEW(a, uint8_t, n_nodes);
    s->is_late = POD_ARENA_NEW(a, bool, n_nodes);
    s->part = POD_ARENA_NEW(a, pod_value, n_values + 1);
    s->made = POD_ARENA_NEW(a, pod_value, n_values + 1);
    s->w.in = POD_ARENA_NEW(a, pod_value, n_values + 1);
    s->w.in_type = POD_ARENA_NEW(a, pod_type, n_values + 1);
    s->w.out_type = POD_ARENA_NEW(a, pod_type, n_values + 1);
    if (!s->group || !s->group_of_value || !s->group_of_node || !s->stage || !s->is_late ||
        !s->part || !s->made || !s->w.in || !s->w.in_type || !s->w.out_type)
        return POD_E_NOMEM;
    for (int32_t v = 0; v <= n_values; v++) s->group_of_value[v] = NONE;
    for (int32_t i = 0; i < n_nodes; i++) s->group_of_node[i] = NONE;
    return POD_OK;
}

pod_status pod__pass_shard(pod_plan *plan)
{
    shard s = {.plan = plan, .from = plan->graph};
    if (!plan->args->shard_update || plan->cores == 0) return POD_OK;
    POD_TRY(take_memory(&s));
    find_groups(&s);
    for (int32_t i = 0; i < pod_graph_n_nodes(s.from); i++) join(&s, i);
    for (int32_t i = 0; i < pod_graph_n_nodes(s.from); i++) join_norms(&s, i);
    verify_groups(&s);
    find_late(&s);
    find_stages(&s);
    for (int k = next_group(&s, 0); k < s.n_groups;) k = fill_bucket(&s, k);
    POD_TRY(add_nodes(&s));
    plan->graph = s.w.to;
    return POD_OK;
}
