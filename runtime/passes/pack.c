/* pack: adds a node that packs each weight that a kernel takes packed, straight from the float32
 * variable if only a cast lies in between. It packs once per step, not in every call of a kernel
 * that runs for several tiles of samples or in several micro-steps. */
#include "runtime/ops/op.h"
#include "runtime/passes/plan.h"
#include "runtime/passes/rewrite.h"

typedef struct packer {
    pod_plan *plan;
    pod_rewrite w;
    pod_packing *packing; /* by node */
    int32_t *n_readers;   /* by value: that do not pack it */
    pod_type *type;       /* of the node at hand */
    pod_shape *local;     /* likewise */
} packer;

/* The variable that the node's input is, maybe cast; id 0: it is none. */
static pod_value variable_of(const pod_graph *g, pod_value v)
{
    const pod_node *maker = pod_graph_maker(g, v);
    if (maker->op == pod_op_named.cast) {
        v = maker->in[0];
        maker = pod_graph_maker(g, v);
    }
    return maker->op->kind == POD_OP_VARIABLE ? v : (pod_value){0};
}

static pod_status ask(packer *p, int32_t index)
{
    const pod_graph *g = p->w.from;
    const pod_node *n = pod_graph_node(g, index);
    pod_packing *packing = &p->packing[index];
    if (!n->op->packing) return POD_OK;
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        const pod_value v = i < n->n_in ? n->in[i] : pod_node_out(n, i - n->n_in);
        p->type[i] = *pod_graph_type(g, v);
        p->local[i] = pod_type_local(&p->type[i], &p->plan->spread);
    }
    const pod_lower_args args = {.node = n,
                                 .in = p->type,
                                 .out = p->type + n->n_in,
                                 .in_local = p->local,
                                 .out_local = p->local + n->n_in,
                                 .mesh = &p->plan->spread,
                                 .target = p->plan->args->target,
                                 .arena = p->plan->arena};
    POD_TRY(n->op->packing(&args, packing));
    if (packing->bytes > 0 && !variable_of(g, n->in[packing->input]).id) packing->bytes = 0;
    return POD_OK;
}

static void count_readers(packer *p)
{
    const pod_graph *g = p->w.from;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        for (int j = 0; j < n->n_in; j++)
            p->n_readers[n->in[j].id] += p->packing[i].bytes == 0 || j != p->packing[i].input;
    }
    for (int i = 0; i < pod_graph_n_outputs(g); i++)
        p->n_readers[pod_graph_output(g, i)->value.id]++;
    for (int i = 0; i < pod_graph_n_variables(g); i++)
        p->n_readers[pod_graph_variable(g, i)->assigned.id]++;
}

/* A cast that all its readers have done without. */
static bool is_dead(const packer *p, const pod_node *n)
{
    return n->op == pod_op_named.cast && p->n_readers[n->first_out] == 0;
}

static pod_status add_packed(packer *p, int32_t index)
{
    const pod_node *n = pod_graph_node(p->w.from, index);
    const pod_packing *packing = &p->packing[index];
    const pod_value from = variable_of(p->w.from, n->in[packing->input]);
    const pod_type packed = pod_type_of(POD_U8, 1, (const int64_t[]){(int64_t)packing->bytes});
    pod_graph_set_phase(p->w.to, n->phase);
    int32_t at = pod_graph_append(p->w.to, packing->op, n->label, packing->attr,
                                  packing->attr_bytes, &p->w.mapped[from.id], 1, &packed, 1);
    if (at < 0) return pod_graph_finish(p->w.to);
    for (int j = 0; j < n->n_in; j++) p->w.in[j] = p->w.mapped[n->in[j].id];
    p->w.in[packing->input] = pod_node_out(pod_graph_node(p->w.to, at), 0);
    for (int k = 0; k < n->n_out; k++)
        p->w.out_type[k] = *pod_graph_type(p->w.from, pod_node_out(n, k));
    at = pod_graph_append(p->w.to, n->op, n->label, packing->attr, packing->attr_bytes, p->w.in,
                          n->n_in, p->w.out_type, n->n_out);
    for (int k = 0; at >= 0 && k < n->n_out; k++)
        p->w.mapped[n->first_out + k] = pod_node_out(pod_graph_node(p->w.to, at), k);
    return pod_graph_finish(p->w.to);
}

static pod_status start(pod_plan *plan, packer *p)
{
    const pod_graph *g = plan->graph;
    int most = 1;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        if (n->n_in + n->n_out > most) most = n->n_in + n->n_out;
    }
    *p = (packer){.plan = plan};
    p->packing = POD_ARENA_NEW(plan->arena, pod_packing, pod_graph_n_nodes(g));
    p->n_readers = POD_ARENA_NEW(plan->arena, int32_t, pod_graph_n_values(g) + 1);
    p->type = POD_ARENA_NEW(plan->arena, pod_type, most);
    p->local = POD_ARENA_NEW(plan->arena, pod_shape, most);
    if (!p->packing || !p->n_readers || !p->type || !p->local) return POD_E_NOMEM;
    return pod__rewrite_start(plan->arena, g, &p->w);
}

pod_status pod__pass_pack(pod_plan *plan)
{
    packer p;
    POD_TRY(start(plan, &p));
    const int32_t n_nodes = pod_graph_n_nodes(plan->graph);
    for (int32_t i = 0; i < n_nodes; i++) POD_TRY(ask(&p, i));
    count_readers(&p);
    for (int32_t i = 0; i < n_nodes; i++) {
        if (is_dead(&p, pod_graph_node(plan->graph, i))) continue;
        POD_TRY(p.packing[i].bytes > 0 ? add_packed(&p, i) : pod__rewrite_node(&p.w, i));
    }
    POD_TRY(pod__rewrite_end(&p.w));
    plan->graph = p.w.to;
    return POD_OK;
}
