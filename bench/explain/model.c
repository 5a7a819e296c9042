/* explain model: the layers in the order in which they run. A layer is what stands in one scope of
 * the model's graph; its multiply-adds are those of matrix products and convolutions, of one image,
 * from the graph as the model built it. */
#include <inttypes.h>
#include <string.h>

#include "bench/explain/explain.h"
#include "runtime/ops/op.h"

enum { OPS_TEXT = 64, SHAPE_TEXT = 64 };

typedef struct layer {
    const char *label;
    char ops[OPS_TEXT], shape[SHAPE_TEXT]; /* of the last op's first output */
    int64_t parameters;
    double multiply_adds;
} layer;

typedef struct layers {
    layer *at;
    int n;
} layers;

static bool is_trained(pod_role role)
{
    return role == POD_ROLE_WEIGHT || role == POD_ROLE_NORM || role == POD_ROLE_BIAS;
}

/* Of trained variables directly within a scope; of all where scope is NULL. */
static int64_t n_parameters(const pod_graph *g, const char *scope)
{
    int64_t n = 0;
    for (int i = 0; i < pod_graph_n_variables(g); i++) {
        const pod_variable_info *v = pod_graph_variable(g, i);
        const char *slash = strrchr(v->name, '/');
        const size_t length = slash ? (size_t)(slash - v->name) : 0;
        if (!is_trained(v->role)) continue;
        if (!scope || (strlen(scope) == length && strncmp(scope, v->name, length) == 0))
            n += pod_shape_count(&pod_graph_type(g, v->value)->shape);
    }
    return n;
}

static double multiply_adds(const pod_graph *g, const pod_node *n, int64_t batch)
{
    return pod_op_cost_in(g, n).matrix_flops / 2 / (double)batch;
}

static bool was_seen(const layers *l, const char *label)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->at[i].label, label) == 0) return true;
    return false;
}

static void add_node(const pod_graph *g, const pod_node *n, int64_t batch, layers *l)
{
    layer *last = l->n > 0 ? &l->at[l->n - 1] : NULL;
    if (!last || strcmp(last->label, n->label) != 0) {
        const bool again = was_seen(l, n->label);
        last = &l->at[l->n++];
        *last = (layer){.label = n->label, .parameters = again ? 0 : n_parameters(g, n->label)};
    }
    const size_t used = strlen(last->ops);
    if (n->op != pod_op_named.cast) /* of a weight to the travelling type: no layer's work */
        snprintf(last->ops + used, sizeof last->ops - used, "%s%s", used ? " " : "", n->op->name);
    pod_shape image = pod_graph_type(g, pod_node_out(n, 0))->shape;
    if (image.n_dims > 0) image.n_dims--; /* a loss has none */
    memmove(image.dim, image.dim + 1, sizeof image.dim[0] * (size_t)image.n_dims);
    pod_shape_print(&image, last->shape, sizeof last->shape);
    last->multiply_adds += multiply_adds(g, n, batch);
}

static const pod_column layer_columns[] = {
    {"layer", "", true},          {"ops", "", true},
    {"output", "", true},         {"parameters", "", false},
    {"multiply-adds", "", false},
};
static const pod_column stage_columns[] = {
    {"stage", "", true},
    {"parameters", "", false},
    {"multiply-adds", "", false},
    {"share", "%", false},
};

static pod_status print_layers(const pod_planned *r, const layers *l)
{
    pod_table *t;
    POD_TRY(pod_table_create(POD_COLUMNS(layer_columns), &t));
    pod_table_note(t, "%s: %s", r->net.name, pod_network_about(&r->choice));
    if (r->choice.language)
        pod_table_note(t, "sequences of %" PRId64 " tokens, a vocabulary of %" PRId32 " (%s)",
                       r->setup.seq_len, r->data.n_tokens, pod_planned_source(r));
    else
        pod_table_note(t, "images %" PRId64 "x%" PRId64 "x%" PRId64 ", %d classes (%s)",
                       r->data.height, r->data.width, r->data.channels, r->data.n_classes,
                       pod_planned_source(r));
    pod_table_note(t, "multiply-adds of one sample, forward, in matmuls and convolutions");
    for (const layer *x = l->at; x < l->at + l->n; x++)
        pod_table_row(t, "%s\t%s\t%s\t%" PRId64 "\t%.0f", x->label, x->ops, x->shape, x->parameters,
                      x->multiply_adds);
    return pod_table_finish(t, stdout, "");
}

/* Layers whose labels begin alike, up to the first slash, and follow each other. */
static pod_status print_stages(const layers *l, double total)
{
    pod_table *t;
    POD_TRY(pod_table_create(POD_COLUMNS(stage_columns), &t));
    for (int i = 0; i < l->n;) {
        const size_t length = strcspn(l->at[i].label, "/");
        int64_t parameters = 0;
        double macs = 0;
        int k = i;
        for (; k < l->n && strcspn(l->at[k].label, "/") == length &&
               strncmp(l->at[k].label, l->at[i].label, length) == 0;
             k++) {
            parameters += l->at[k].parameters;
            macs += l->at[k].multiply_adds;
        }
        pod_table_row(t, "%.*s\t%" PRId64 "\t%.0f\t%.1f", (int)length, l->at[i].label, parameters,
                      macs, total > 0 ? 100 * macs / total : 0);
        i = k;
    }
    return pod_table_finish(t, stdout, "");
}

/* Whether a node is of the network: not what the task does with its input, its loss and its sums,
 * unless it multiplies matrices. */
static bool is_layer(const pod_graph *g, const pod_node *n)
{
    if (n->op->kind == POD_OP_INPUT || n->op->kind == POD_OP_VARIABLE) return false;
    if (pod_op_cost_in(g, n).matrix_flops > 0) return true;
    return n->op != pod_op_named.normalize &&
           pod_graph_type(g, pod_node_out(n, 0))->shape.n_dims > 0;
}

static void print_models(void)
{
    int n;
    const pod_model *m = pod_models(&n);
    printf("\n# models:");
    for (int i = 0; i < n; i++) printf(" %s", m[i].name);
    const pod_language *l = pod_languages(&n);
    for (int i = 0; i < n; i++) printf(" %s", l[i].name);
    putchar('\n');
}

pod_status pod_explain_model(pod_explain *e)
{
    pod_planned *r = &e->planned;
    pod_graph *g = NULL;
    POD_TRY(pod_explain_plan(e));
    POD_TRY(pod_network_graph(&r->net, &r->setup, &r->data, false, e->arena, &g));
    layers l = {.at = POD_ARENA_NEW(e->arena, layer, pod_graph_n_nodes(g))};
    if (!l.at) return POD_E_NOMEM;
    double total = 0;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        if (!is_layer(g, n)) continue;
        add_node(g, n, r->setup.batch, &l);
        total += multiply_adds(g, n, r->setup.batch);
    }
    POD_TRY(print_layers(r, &l));
    putchar('\n');
    POD_TRY(print_stages(&l, total));
    printf("\nparameters     %" PRId64 "\nmultiply-adds  %.0f\n", n_parameters(g, NULL), total);
    print_models();
    return POD_OK;
}
