#include "runtime/graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/hash.h"

typedef struct scope {
    const char *text; /* with those around it: "stage3/unit2" */
    const struct scope *outer;
} scope;

struct pod_graph {
    pod_arena *arena;
    pod_status status;
    const char *cause;  /* of the first failure */
    const scope *scope; /* the innermost one that is open; NULL: none */
    pod_phase phase;

    pod_node *node;
    int32_t n_nodes, node_cap;
    pod_value_info *value; /* value[0] is unused */
    int32_t n_values, value_cap;
    pod_named *input, *output;
    int32_t n_inputs, input_cap, n_outputs, output_cap;
    pod_variable_info *variable;
    int32_t n_variables, variable_cap;
    /* Open addressing by the hash of the name: 1 + the variable's index, 0: free. */
    int32_t *by_name, by_name_cap;
};

/* An array with room for `extra` more entries than n, in the arena; the old copy stays there too,
 * which doubling keeps below the size of the new one. NULL: no memory, recorded. */
static void *grown(pod_graph *g, void *array, int32_t n, int32_t extra, int32_t *cap, size_t each)
{
    if (n + extra <= *cap) return array;
    int32_t wanted = *cap ? *cap * 2 : 64;
    while (wanted < n + extra) wanted *= 2;
    void *bigger = pod_arena_get(g->arena, 16, each * (size_t)wanted);
    if (!bigger) {
        pod_graph_fail(g, POD_E_NOMEM, "graph: no memory for %d entries", (int)wanted);
        return NULL;
    }
    if (n) memcpy(bigger, array, each * (size_t)n);
    *cap = wanted;
    return bigger;
}

/* GROW(g, g->node, ...): false when there is no memory; the array is then as it was. */
#define GROW(g, array, n, extra, cap)                                                  \
    ((bigger = grown((g), (array), (n), (extra), &(cap), sizeof(array)[0])) != NULL && \
     ((array) = bigger, true))

pod_status pod_graph_create(pod_arena *a, pod_graph **out)
{
    pod_graph *g = POD_ARENA_NEW(a, pod_graph, 1);
    if (!g) return POD_E_NOMEM;
    g->arena = a;
    g->phase = POD_PHASE_FORWARD;
    void *bigger;
    if (!GROW(g, g->value, 0, 1, g->value_cap)) return POD_E_NOMEM;
    *out = g;
    return POD_OK;
}

pod_status pod_graph_finish(pod_graph *g)
{
    if (g->status == POD_OK) return POD_OK;
    pod_error_set(g->cause ? g->cause : "graph: out of memory");
    return g->status;
}

pod_value pod_graph_fail(pod_graph *g, pod_status s, const char *fmt, ...)
{
    if (g->status != POD_OK) return (pod_value){0};
    g->status = s;
    va_list args;
    va_start(args, fmt);
    const char *text = pod_arena_vtext(g->arena, fmt, args);
    va_end(args);
    if (text && g->scope)
        g->cause = pod_arena_text(g->arena, "in '%s': %s", g->scope->text, text);
    else
        g->cause = text;
    return (pod_value){0};
}

bool pod_graph_failed(const pod_graph *g) { return g->status != POD_OK; }

pod_arena *pod_graph_arena(pod_graph *g) { return g->arena; }

void pod_scope_begin(pod_graph *g, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = pod_arena_vtext(g->arena, fmt, args);
    va_end(args);
    if (text && g->scope) text = pod_arena_text(g->arena, "%s/%s", g->scope->text, text);
    scope *inner = text ? POD_ARENA_NEW(g->arena, scope, 1) : NULL;
    if (!inner) {
        pod_graph_fail(g, POD_E_NOMEM, "graph: no memory for a scope");
        return;
    }
    *inner = (scope){.text = text, .outer = g->scope};
    g->scope = inner;
}

void pod_scope_end(pod_graph *g)
{
    POD_ASSERT(g->scope || g->status != POD_OK, "no scope is open");
    if (g->scope) g->scope = g->scope->outer;
}

const char *pod_graph_scope(const pod_graph *g) { return g->scope ? g->scope->text : ""; }

void pod_graph_set_phase(pod_graph *g, pod_phase p) { g->phase = p; }

pod_phase pod_graph_phase(const pod_graph *g) { return g->phase; }

int32_t pod_graph_append(pod_graph *g, const pod_op *op, const char *label, const void *attr,
                         size_t attr_bytes, const pod_value in[], int n_in, const pod_type out[],
                         int n_out)
{
    if (g->status != POD_OK) return -1;
    for (int i = 0; i < n_in; i++)
        POD_ASSERT(in[i].id > 0 && in[i].id <= g->n_values, "value %d of %d", in[i].id,
                   g->n_values);
    void *bigger;
    if (!GROW(g, g->node, g->n_nodes, 1, g->node_cap) ||
        !GROW(g, g->value, g->n_values + 1, n_out, g->value_cap))
        return -1;
    pod_node n = {.op = op,
                  .phase = g->phase,
                  .n_in = n_in,
                  .n_out = n_out,
                  .attr_bytes = attr_bytes,
                  .first_out = g->n_values + 1};
    n.label = pod_arena_text(g->arena, "%s", label);
    n.in = pod_arena_copy(g->arena, in, _Alignof(pod_value), sizeof in[0] * (size_t)n_in);
    n.attr = attr_bytes ? pod_arena_copy(g->arena, attr, 16, attr_bytes) : NULL;
    if (!n.label || !n.in || (attr_bytes && !n.attr)) {
        pod_graph_fail(g, POD_E_NOMEM, "graph: no memory for node '%s'", label);
        return -1;
    }
    for (int i = 0; i < n_out; i++)
        g->value[++g->n_values] = (pod_value_info){.type = out[i], .node = g->n_nodes, .out = i};
    g->node[g->n_nodes] = n;
    return g->n_nodes++;
}

static const char *copied_name(pod_graph *g, const char *name)
{
    const char *copy = pod_arena_text(g->arena, "%s", name);
    if (!copy) pod_graph_fail(g, POD_E_NOMEM, "graph: no memory for the name '%s'", name);
    return copy;
}

void pod_graph_add_input(pod_graph *g, const char *name, pod_value value)
{
    void *bigger;
    if (g->status != POD_OK || !GROW(g, g->input, g->n_inputs, 1, g->input_cap)) return;
    const char *copy = copied_name(g, name);
    if (copy) g->input[g->n_inputs++] = (pod_named){copy, value};
}

void pod_output(pod_graph *g, const char *name, pod_value value)
{
    if (g->status != POD_OK) return;
    const pod_type *t = pod_graph_type(g, value);
    if (t->dtype != POD_F32 || (pod_shape_count(&t->shape) != 1 && t->shape.n_dims != 2)) {
        char got[96];
        pod_graph_fail(g, POD_E_SHAPE, "output '%s' is %s %s, need a float32 scalar or rows", name,
                       pod_dtype_name(t->dtype), pod_shape_print(&t->shape, got, sizeof got));
        return;
    }
    void *bigger;
    if (!GROW(g, g->output, g->n_outputs, 1, g->output_cap)) return;
    const char *copy = copied_name(g, name);
    if (copy) g->output[g->n_outputs++] = (pod_named){copy, value};
}

/* Returns the entry of `name` in by_name, or the free entry that it would take. */
static int32_t *entry_of(const pod_graph *g, const char *name)
{
    const uint64_t mask = (uint64_t)g->by_name_cap - 1;
    uint64_t at = pod_hash_text(POD_HASH_START, name) & mask;
    while (g->by_name[at] && strcmp(g->variable[g->by_name[at] - 1].name, name) != 0)
        at = (at + 1) & mask;
    return &g->by_name[at];
}

/* At most half of by_name is taken, so that every search ends. False: no memory, recorded. */
static bool grow_by_name(pod_graph *g)
{
    if (2 * (g->n_variables + 1) <= g->by_name_cap) return true;
    const int32_t cap = g->by_name_cap ? g->by_name_cap * 2 : 128;
    int32_t *bigger = POD_ARENA_NEW(g->arena, int32_t, cap); /* zeros */
    if (!bigger) {
        pod_graph_fail(g, POD_E_NOMEM, "graph: no memory for %d names", (int)cap);
        return false;
    }
    g->by_name = bigger;
    g->by_name_cap = cap;
    for (int32_t i = 0; i < g->n_variables; i++) *entry_of(g, g->variable[i].name) = i + 1;
    return true;
}

void pod_graph_add_variable(pod_graph *g, const pod_variable_info *v)
{
    void *bigger;
    if (g->status != POD_OK || !grow_by_name(g) ||
        !GROW(g, g->variable, g->n_variables, 1, g->variable_cap))
        return;
    int32_t *entry = entry_of(g, v->name);
    if (*entry) {
        pod_graph_fail(g, POD_E_INVALID, "variable '%s' exists already", v->name);
        return;
    }
    pod_variable_info copy = *v;
    copy.name = copied_name(g, v->name);
    if (!copy.name) return;
    g->variable[g->n_variables++] = copy;
    *entry = g->n_variables;
    g->value[v->value.id].variable = g->n_variables;
}

void pod_assign(pod_graph *g, pod_value variable, pod_value value)
{
    if (g->status != POD_OK) return;
    int i = pod_graph_find_variable(g, variable);
    if (i < 0) {
        pod_graph_fail(g, POD_E_INVALID, "assign: value %d is no variable", (int)variable.id);
        return;
    }
    pod_variable_info *v = &g->variable[i];
    if (v->assigned.id) {
        pod_graph_fail(g, POD_E_INVALID, "variable '%s' is assigned twice", v->name);
        return;
    }
    const pod_type *to = pod_graph_type(g, variable), *from = pod_graph_type(g, value);
    if (to->dtype != from->dtype || !pod_shape_equal(&to->shape, &from->shape)) {
        char want[96], got[96];
        pod_graph_fail(g, POD_E_SHAPE, "variable '%s' is %s %s, cannot become %s %s", v->name,
                       pod_dtype_name(to->dtype), pod_shape_print(&to->shape, want, sizeof want),
                       pod_dtype_name(from->dtype), pod_shape_print(&from->shape, got, sizeof got));
        return;
    }
    v->assigned = value;
    int32_t *becomes = &g->value[value.id].becomes;
    if (!*becomes || *becomes > i + 1) *becomes = i + 1;
}

int32_t pod_graph_n_nodes(const pod_graph *g) { return g->n_nodes; }

const pod_node *pod_graph_node(const pod_graph *g, int32_t index)
{
    POD_ASSERT(index >= 0 && index < g->n_nodes, "node %d of %d", (int)index, (int)g->n_nodes);
    return &g->node[index];
}

int32_t pod_graph_n_values(const pod_graph *g) { return g->n_values; }

const pod_value_info *pod_graph_value(const pod_graph *g, pod_value v)
{
    POD_ASSERT(v.id > 0 && v.id <= g->n_values, "value %d of %d", (int)v.id, (int)g->n_values);
    return &g->value[v.id];
}

const pod_type *pod_graph_type(const pod_graph *g, pod_value v)
{
    return &pod_graph_value(g, v)->type;
}

const pod_node *pod_graph_maker(const pod_graph *g, pod_value v)
{
    return &g->node[pod_graph_value(g, v)->node];
}

int pod_graph_n_inputs(const pod_graph *g) { return g->n_inputs; }

const pod_named *pod_graph_input(const pod_graph *g, int i)
{
    POD_ASSERT(i >= 0 && i < g->n_inputs, "input %d of %d", i, g->n_inputs);
    return &g->input[i];
}

int pod_graph_n_outputs(const pod_graph *g) { return g->n_outputs; }

const pod_named *pod_graph_output(const pod_graph *g, int i)
{
    POD_ASSERT(i >= 0 && i < g->n_outputs, "output %d of %d", i, g->n_outputs);
    return &g->output[i];
}

int pod_graph_n_variables(const pod_graph *g) { return g->n_variables; }

const pod_variable_info *pod_graph_variable(const pod_graph *g, int i)
{
    POD_ASSERT(i >= 0 && i < g->n_variables, "variable %d of %d", i, g->n_variables);
    return &g->variable[i];
}

int pod_graph_find_variable(const pod_graph *g, pod_value v) { return g->value[v.id].variable - 1; }

int pod_graph_find_assigned(const pod_graph *g, pod_value v) { return g->value[v.id].becomes - 1; }
