#include "tests/harness/interp.h"

#include <stdlib.h>

#include "kernels/base/assert.h"
#include "tests/harness/harness.h"

enum { FRESH_BYTE = 0xff, ALIGN = 64, MAX_IN = 16, MAX_OPS = 128 };

typedef struct buffer {
    void *data;
    size_t bytes;
    bool borrowed; /* a view's: the data is its input's */
} buffer;

struct pod_interp {
    const pod_graph *graph;
    pod_arena *arena;
    pod_lowering *lowering; /* by node; run is NULL where there is no instruction */
    buffer *value;          /* by id */
    void *scratch;
    size_t scratch_bytes;
};

static const pod_op *ops_run[MAX_OPS];
static int n_ops_run;

bool pod_interp_has_run(const pod_op *op)
{
    for (int i = 0; i < n_ops_run; i++)
        if (ops_run[i] == op) return true;
    return false;
}

int pod_interp_n_ops_run(void) { return n_ops_run; }

static void note_run(const pod_op *op)
{
    if (pod_interp_has_run(op)) return;
    POD_ASSERT(n_ops_run < MAX_OPS, "%d ops", n_ops_run);
    ops_run[n_ops_run++] = op;
}

/* ---- create and destroy -------------------------------------------------------------------- */

static const pod_mesh one_core = {.n_dims = 2, .extent = {1, 1}};

static pod_status lower_node(pod_interp *it, int32_t index, uint32_t cpu)
{
    const pod_node *n = pod_graph_node(it->graph, index);
    const pod_target target = {.name = "test", .cpu = cpu};
    pod_type in[MAX_IN], out[POD_MAX_OUT];
    pod_shape in_local[MAX_IN], out_local[POD_MAX_OUT];
    POD_ASSERT(n->n_in <= MAX_IN && n->n_out <= POD_MAX_OUT, "%s: %d inputs", n->op->name, n->n_in);
    for (int i = 0; i < n->n_in; i++) {
        in[i] = *pod_graph_type(it->graph, n->in[i]);
        in_local[i] = pod_type_local(&in[i], &one_core);
    }
    for (int i = 0; i < n->n_out; i++) {
        out[i] = *pod_graph_type(it->graph, pod_node_out(n, i));
        out_local[i] = pod_type_local(&out[i], &one_core);
    }
    const pod_lower_args args = {.node = n,
                                 .in = in,
                                 .out = out,
                                 .in_local = in_local,
                                 .out_local = out_local,
                                 .mesh = &one_core,
                                 .target = &target,
                                 .arena = it->arena};
    POD_TRY(n->op->lower(&args, &it->lowering[index]));
    if (it->lowering[index].scratch_bytes > it->scratch_bytes)
        it->scratch_bytes = it->lowering[index].scratch_bytes;
    return POD_OK;
}

static void make_buffers(pod_interp *it, const pod_node *n)
{
    for (int k = 0; k < n->n_out; k++) {
        const pod_value v = pod_node_out(n, k);
        buffer *b = &it->value[v.id];
        b->bytes = pod_type_local_bytes(pod_graph_type(it->graph, v), &one_core);
        b->borrowed = n->op->kind == POD_OP_VIEW;
        b->data = b->borrowed ? it->value[n->in[0].id].data : pod_test_guard(b->bytes);
    }
}

pod_status pod_interp_create(const pod_graph *g, uint32_t cpu, pod_interp **out)
{
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    const int32_t n_nodes = pod_graph_n_nodes(g), n_values = pod_graph_n_values(g);
    pod_interp *it = POD_ARENA_NEW(a, pod_interp, 1);
    POD_ASSERT(it, "no memory");
    *it = (pod_interp){.graph = g,
                       .arena = a,
                       .lowering = POD_ARENA_NEW(a, pod_lowering, n_nodes),
                       .value = POD_ARENA_NEW(a, buffer, n_values + 1)};
    POD_ASSERT(it->lowering && it->value, "no memory");
    for (int32_t i = 0; i < n_nodes; i++) {
        const pod_node *n = pod_graph_node(g, i);
        make_buffers(it, n);
        pod_status s = n->op->kind == POD_OP_RUN ? lower_node(it, i, cpu) : POD_OK;
        if (s != POD_OK) {
            pod_interp_destroy(it);
            return s;
        }
    }
    it->scratch_bytes = (it->scratch_bytes + ALIGN - 1) / ALIGN * ALIGN;
    it->scratch = pod_test_guard(it->scratch_bytes);
    *out = it;
    return POD_OK;
}

void pod_interp_destroy(pod_interp *it)
{
    if (!it) return;
    for (int32_t id = 1; id <= pod_graph_n_values(it->graph); id++)
        if (!it->value[id].borrowed) pod_test_guard_free(it->value[id].data, it->value[id].bytes);
    pod_test_guard_free(it->scratch, it->scratch_bytes);
    pod_arena_destroy(it->arena);
}

void *pod_interp_data(pod_interp *it, pod_value v)
{
    POD_ASSERT(v.id > 0 && v.id <= pod_graph_n_values(it->graph), "value %d", (int)v.id);
    return it->value[v.id].data;
}

double pod_interp_get(pod_interp *it, pod_value v, int64_t i)
{
    return pod_test_get(pod_graph_type(it->graph, v)->dtype, pod_interp_data(it, v), i);
}

/* ---- run ----------------------------------------------------------------------------------- */

static void run_node(pod_interp *it, int32_t index, const void *const in[], void *const out[])
{
    const pod_lowering *l = &it->lowering[index];
    if (it->scratch_bytes) memset(it->scratch, FRESH_BYTE, it->scratch_bytes);
    const pod_node *n = pod_graph_node(it->graph, index);
    note_run(n->op);
    pod_test_doing("%s '%s' by %s", n->op->name, n->label, l->impl);
    l->run(l->attr, in, out, l->scratch_bytes ? it->scratch : NULL);
}

void pod_interp_run(pod_interp *it, int32_t n_nodes)
{
    const int32_t end = n_nodes < 0 ? pod_graph_n_nodes(it->graph) : n_nodes;
    for (int32_t i = 0; i < end; i++) {
        const pod_node *n = pod_graph_node(it->graph, i);
        const void *in[MAX_IN];
        void *out[POD_MAX_OUT];
        if (n->op->kind != POD_OP_RUN) {
            note_run(n->op);
            continue;
        }
        for (int j = 0; j < n->n_in; j++) in[j] = it->value[n->in[j].id].data;
        for (int k = 0; k < n->n_out; k++) {
            const buffer *b = &it->value[n->first_out + k];
            memset(b->data, FRESH_BYTE, b->bytes);
            out[k] = b->data;
        }
        run_node(it, i, in, out);
    }
}

static void check_node_in_place(pod_interp *it, int32_t index)
{
    const pod_node *n = pod_graph_node(it->graph, index);
    const pod_lowering *l = &it->lowering[index];
    const void *in[MAX_IN];
    void *out[POD_MAX_OUT];
    for (int j = 0; j < n->n_in; j++) in[j] = it->value[n->in[j].id].data;
    for (int k = 0; k < n->n_out; k++) {
        const buffer *b = &it->value[n->first_out + k];
        const int8_t j = l->in_place[k];
        out[k] = pod_test_guard(b->bytes);
        if (j < 0) continue;
        POD_CHECK(it->value[n->in[j].id].bytes == b->bytes, "%s: output %d cannot be in place",
                  n->op->name, k);
        memcpy(out[k], in[j], b->bytes);
        in[j] = out[k];
    }
    run_node(it, index, in, out);
    for (int k = 0; k < n->n_out; k++) {
        const buffer *b = &it->value[n->first_out + k];
        POD_CHECK(memcmp(out[k], b->data, b->bytes) == 0, "%s '%s': output %d differs in place",
                  n->op->name, n->label, k);
        pod_test_guard_free(out[k], b->bytes);
    }
}

void pod_interp_check_in_place(pod_interp *it)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(it->graph); i++)
        if (it->lowering[i].run) check_node_in_place(it, i);
}

/* ---- the tests' own loss ------------------------------------------------------------------- */

typedef struct weigh_attr {
    int64_t count, dtype;
} weigh_attr;

static pod_status weigh_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    if (!pod_shape_equal(&in[0].shape, &in[1].shape) || in[1].dtype != POD_F32)
        return pod_fail(POD_E_SHAPE, "y and r do not fit");
    out[0] = pod_type_of(POD_F32, 0, NULL);
    return POD_OK;
}

static pod_status weigh_grad_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    out[0] = in[0];
    return POD_OK;
}

static void weigh_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    const weigh_attr *a = attr;
    double sum = 0;
    (void)scratch;
    for (int64_t i = 0; i < a->count; i++)
        sum += pod_test_get((pod_dtype)a->dtype, in[0], i) * pod_test_get(POD_F32, in[1], i);
    *(float *)out[0] = (float)sum;
}

static void weigh_grad_run(const void *attr, const void *const in[], void *const out[],
                           void *scratch)
{
    const weigh_attr *a = attr;
    const float *r = in[0], *d = in[1];
    float *dy = out[0];
    (void)scratch;
    for (int64_t i = 0; i < a->count; i++) dy[i] = r[i] * *d;
}

static pod_status lower_weigh(const pod_lower_args *args, pod_run_fn *run, pod_lowering *l)
{
    weigh_attr *attr = POD_ARENA_NEW(args->arena, weigh_attr, 1);
    if (!attr) return POD_E_NOMEM;
    attr->count = pod_shape_count(&args->in_local[0]);
    attr->dtype = (int64_t)args->in[0].dtype;
    *l = (pod_lowering){.run = run,
                        .attr = attr,
                        .attr_bytes = sizeof *attr,
                        .impl = "test",
                        .in_place = {-1, -1, -1, -1}};
    return POD_OK;
}

static pod_status weigh_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower_weigh(args, weigh_run, l);
}

static pod_status weigh_grad_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower_weigh(args, weigh_grad_run, l);
}

static const pod_op weigh_grad_op = {.name = "test_weigh_grad",
                                     .n_in = 2,
                                     .n_out = 1,
                                     .infer = weigh_grad_infer,
                                     .lower = weigh_grad_lower};

static void weigh_grad(pod_graph *g, const pod_node *n, const pod_value d_out[], const bool need[],
                       pod_value d_in[])
{
    if (need[0])
        d_in[0] =
            pod_op_add1(g, &weigh_grad_op, NULL, 0, (const pod_value[]){n->in[1], d_out[0]}, 2);
}

static const pod_op weigh_op = {.name = "test_weigh",
                                .n_in = 2,
                                .n_out = 1,
                                .infer = weigh_infer,
                                .grad = weigh_grad,
                                .lower = weigh_lower};

pod_value pod_test_weigh(pod_graph *g, pod_value y, pod_value r)
{
    return pod_op_add1(g, &weigh_op, NULL, 0, (const pod_value[]){y, r}, 2);
}
