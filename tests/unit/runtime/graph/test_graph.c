/* The builder: sticky failures with their scope, what is refused, reading back; and memory that
 * runs out at every single request of a graph's building and compiling. */
#include <stdio.h>
#include <string.h>

#include "runtime/ops/op.h"
#include "runtime/ops/ops.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

/* ---- the arena, failing on demand; names are the linker's (--wrap) ---- */

static long n_requests, fail_at; /* counted from 1; 0: never */
static bool fail_after;          /* the later ones too */

static bool is_due(void)
{
    n_requests++;
    const bool due = fail_at > 0 && (n_requests == fail_at || (fail_after && n_requests > fail_at));
    if (due) (void)pod_fail(POD_E_NOMEM, "injected at request %ld", n_requests);
    return due;
}

void *__real_pod_arena_get(pod_arena *a, size_t align, size_t bytes);
void *__wrap_pod_arena_get(pod_arena *a, size_t align, size_t bytes);
void *__wrap_pod_arena_get(pod_arena *a, size_t align, size_t bytes)
{
    return is_due() ? NULL : __real_pod_arena_get(a, align, bytes);
}

void *__real_pod_arena_copy(pod_arena *a, const void *src, size_t align, size_t bytes);
void *__wrap_pod_arena_copy(pod_arena *a, const void *src, size_t align, size_t bytes);
void *__wrap_pod_arena_copy(pod_arena *a, const void *src, size_t align, size_t bytes)
{
    return is_due() ? NULL : __real_pod_arena_copy(a, src, align, bytes);
}

char *__real_pod_arena_vtext(pod_arena *a, const char *fmt, va_list args) POD_PRINTF(2, 0);
char *__wrap_pod_arena_vtext(pod_arena *a, const char *fmt, va_list args) POD_PRINTF(2, 0);
char *__wrap_pod_arena_vtext(pod_arena *a, const char *fmt, va_list args)
{
    return is_due() ? NULL : __real_pod_arena_vtext(a, fmt, args);
}

char *__wrap_pod_arena_text(pod_arena *a, const char *fmt, ...) POD_PRINTF(2, 3);
char *__wrap_pod_arena_text(pod_arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = is_due() ? NULL : __real_pod_arena_vtext(a, fmt, args);
    va_end(args);
    return text;
}

/* ---- sticky failures ---- */

static pod_graph *new_graph(void)
{
    pod_graph *g = NULL;
    POD_CHECK_OK(pod_graph_create(pod_test_arena(), &g));
    return g;
}

static pod_value input(pod_graph *g, const char *name, int64_t rows, int64_t columns)
{
    return pod_input(g, name, pod_type_of(POD_F32, 2, (int64_t[]){rows, columns}), 0);
}

static void test_first_failure(void)
{
    pod_graph *g = new_graph();
    pod_value x = input(g, "x", 4, 6), y = input(g, "y", 4, 7);
    CU_ASSERT_FALSE(pod_graph_failed(g));
    pod_scope_begin(g, "stage%d", 3);
    pod_scope_begin(g, "unit2");
    CU_ASSERT_STRING_EQUAL(pod_graph_scope(g), "stage3/unit2");
    pod_value bad = pod_add(g, x, y);
    const int32_t n_nodes = pod_graph_n_nodes(g), n_values = pod_graph_n_values(g);
    pod_scope_end(g);

    /* Everything later passes the failure on and adds nothing. */
    pod_scope_begin(g, "later");
    CU_ASSERT(pod_graph_failed(g));
    CU_ASSERT_EQUAL(bad.id, 0);
    CU_ASSERT_EQUAL(pod_relu(g, bad).id, 0);
    CU_ASSERT_EQUAL(pod_relu(g, x).id, 0);
    CU_ASSERT_EQUAL(input(g, "z", 1, 1).id, 0);
    CU_ASSERT_EQUAL(pod_dense(g, x, 3, true).id, 0);
    CU_ASSERT_EQUAL(pod_cast(g, x, POD_BF16).id, 0);
    CU_ASSERT_EQUAL(pod_cast(g, bad, POD_F32).id, 0);
    CU_ASSERT_EQUAL(pod_mean_pool(g, bad).id, 0);
    CU_ASSERT_EQUAL(pod_fill(g, 1.0f).id, 0);
    CU_ASSERT_EQUAL(pod_graph_fail(g, POD_E_INVALID, "another").id, 0);
    pod_output(g, "loss", bad);
    pod_assign(g, bad, bad);
    pod_scope_end(g);
    pod_scope_end(g);
    CU_ASSERT_STRING_EQUAL(pod_graph_scope(g), "");
    CU_ASSERT_EQUAL(pod_graph_n_nodes(g), n_nodes);
    CU_ASSERT_EQUAL(pod_graph_n_values(g), n_values);
    CU_ASSERT_EQUAL(pod_graph_n_inputs(g), 2);
    CU_ASSERT_EQUAL(pod_graph_n_outputs(g), 0);
    CU_ASSERT_EQUAL(pod_graph_n_variables(g), 0);
    for (int i = 0; i < 2; i++) /* as often as it is asked */
        POD_CHECK_FAILS(pod_graph_finish(g), POD_E_SHAPE, "in 'stage3/unit2': add");
    CU_ASSERT_PTR_NULL(strchr(pod_error_text(), '\n'));
    CU_ASSERT_PTR_NULL(strstr(pod_error_text(), "another"));
}

/* ---- what the builder itself refuses ---- */

static void twice_a_variable(pod_graph *g)
{
    const pod_init he = {POD_INIT_HE, 1.0f};
    pod_scope_begin(g, "a");
    pod_weight(g, "w", (pod_shape){2, {3, 4}}, he, POD_ROLE_WEIGHT);
    pod_scope_end(g);
    pod_weight(g, "w", (pod_shape){2, {3, 4}}, he, POD_ROLE_WEIGHT);
    CU_ASSERT_FALSE(pod_graph_failed(g));
    pod_scope_begin(g, "a");
    pod_weight(g, "w", (pod_shape){1, {4}}, he, POD_ROLE_WEIGHT);
    pod_scope_end(g);
}

static void twice_an_input(pod_graph *g)
{
    input(g, "x", 1, 1);
    input(g, "x", 1, 1);
}

static void output_of_many(pod_graph *g)
{
    const int64_t dim[3] = {2, 3, 4};
    pod_output(g, "loss", pod_input(g, "x", pod_type_of(POD_F32, 3, dim), 0));
}

static void output_of_bytes(pod_graph *g)
{
    pod_output(g, "loss", pod_input(g, "x", pod_type_of(POD_I32, 0, NULL), POD_NO_BATCH));
}

static void other_assignment(pod_graph *g)
{
    pod_value v =
        pod_variable(g, "v", (pod_shape){2, {3, 4}}, (pod_init){POD_INIT_ZERO, 0}, POD_ROLE_MOVING);
    pod_assign(g, v, input(g, "x", 4, 3));
}

static void no_dimension(pod_graph *g) { input(g, "x", 4, 0); }

static void batch_behind(pod_graph *g)
{
    pod_input(g, "x", pod_type_of(POD_F32, 2, (int64_t[]){3, 4}), 1);
}

static void assigned_twice(pod_graph *g)
{
    pod_value v =
        pod_variable(g, "v", (pod_shape){1, {4}}, (pod_init){POD_INIT_ZERO, 0}, POD_ROLE_MOVING);
    pod_assign(g, v, v);
    pod_assign(g, v, v);
}

static void assigned_to_an_input(pod_graph *g)
{
    pod_value x = input(g, "x", 1, 1);
    pod_assign(g, x, x);
}

static void too_many_inputs(pod_graph *g)
{
    const pod_value x = input(g, "x", 1, 1), in[] = {x, x, x, x, x, x, x, x, x, x};
    pod_op_add1(g, pod_op_find("add"), NULL, 0, in, 10);
}

/* Names longer than any buffer and as deep as they like are kept whole. */
static void test_deep_scopes(void)
{
    enum { DEEP = 40 };
    pod_graph *g = new_graph();
    const pod_init zero = {POD_INIT_ZERO, 0};
    for (int i = 0; i < DEEP; i++) pod_scope_begin(g, "a_scope_with_a_long_name_%d", i);
    for (int i = 0; i < 2; i++) {
        pod_scope_begin(g, "%d", i);
        pod_variable(g, "v", (pod_shape){1, {1}}, zero, POD_ROLE_MOVING);
        pod_scope_end(g);
    }
    for (int i = 0; i < DEEP; i++) pod_scope_end(g);
    CU_ASSERT_STRING_EQUAL(pod_graph_scope(g), "");
    POD_CHECK_OK(pod_graph_finish(g));
    CU_ASSERT_EQUAL(pod_graph_n_variables(g), 2);
    const char *name = pod_graph_variable(g, 1)->name;
    CU_ASSERT_PTR_NOT_NULL(strstr(name, "a_scope_with_a_long_name_39/1/v"));
    CU_ASSERT_EQUAL(strncmp(name, "a_scope_with_a_long_name_0/", 27), 0);
}

/* Each name once, whatever their number; found by value, as variable and as what one becomes. */
static void test_many_variables(void)
{
    enum { N = 5000 };
    pod_graph *g = new_graph();
    const pod_init zero = {POD_INIT_ZERO, 0};
    char name[16];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "v%d", i);
        pod_variable(g, name, (pod_shape){1, {1}}, zero, POD_ROLE_MOVING);
    }
    POD_CHECK_OK(pod_graph_finish(g));
    for (int i = 0; i < N; i++) { /* each becomes the next; the last what the first does */
        const pod_value next = pod_graph_variable(g, i < N - 1 ? i + 1 : 1)->value;
        pod_assign(g, pod_graph_variable(g, i)->value, next);
    }
    for (int i = 0; i < N; i++) {
        const pod_value v = pod_graph_variable(g, i)->value;
        CU_ASSERT_EQUAL(pod_graph_find_variable(g, v), i);
        CU_ASSERT_EQUAL(pod_graph_find_assigned(g, v), i - 1);
    }
    pod_variable(g, "v4321", (pod_shape){1, {1}}, zero, POD_ROLE_MOVING);
    POD_CHECK_FAILS(pod_graph_finish(g), POD_E_INVALID, "variable 'v4321' exists already");
}

static void test_refusals(void)
{
    static const struct {
        void (*build)(pod_graph *g);
        pod_status status;
        const char *part;
    } rows[] = {
        {twice_a_variable, POD_E_INVALID, "in 'a': variable 'a/w' exists already"},
        {twice_an_input, POD_E_INVALID, "input 'x' exists already"},
        {output_of_many, POD_E_SHAPE,
         "output 'loss' is f32 (2, 3, 4), need a float32 scalar or rows"},
        {output_of_bytes, POD_E_SHAPE, "output 'loss' is i32 (), need a float32 scalar or rows"},
        {other_assignment, POD_E_SHAPE, "variable 'v' is f32 (3, 4), cannot become f32 (4, 3)"},
        {no_dimension, POD_E_SHAPE, "input 'x' is f32 (4, 0), need positive dimensions"},
        {batch_behind, POD_E_INVALID, "input 'x': the batch is dimension 1 of 2, need the first"},
        {assigned_twice, POD_E_INVALID, "variable 'v' is assigned twice"},
        {assigned_to_an_input, POD_E_INVALID, "is no variable"},
        {too_many_inputs, POD_E_INVALID, "add: 10 inputs, need 2 to 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_graph *g = new_graph();
        rows[i].build(g);
        POD_CHECK_FAILS(pod_graph_finish(g), rows[i].status, rows[i].part);
    }
}

/* ---- reading back ---- */

static void test_reading(void)
{
    pod_graph *g = new_graph();
    char name[8] = "x";
    pod_value x = input(g, name, 4, 6);
    name[0] = '?'; /* names are copied */
    pod_scope_begin(g, "fc");
    pod_value y = pod_dense(g, x, 5, true);
    pod_scope_end(g);
    pod_graph_set_phase(g, POD_PHASE_UPDATE);
    pod_value z = pod_relu(g, y);
    POD_CHECK_OK(pod_graph_finish(g));
    CU_ASSERT_STRING_EQUAL(pod_graph_input(g, 0)->name, "x");
    CU_ASSERT_EQUAL(pod_graph_n_variables(g), 2);
    CU_ASSERT_STRING_EQUAL(pod_graph_variable(g, 0)->name, "fc/w");
    CU_ASSERT_STRING_EQUAL(pod_graph_variable(g, 1)->name, "fc/b");
    CU_ASSERT_EQUAL(pod_graph_find_variable(g, pod_graph_variable(g, 1)->value), 1);
    CU_ASSERT_EQUAL(pod_graph_find_variable(g, y), -1);
    CU_ASSERT_EQUAL(pod_graph_type(g, z)->shape.dim[1], 5);
    CU_ASSERT_EQUAL(pod_graph_maker(g, z)->phase, POD_PHASE_UPDATE);
    CU_ASSERT_EQUAL(pod_graph_maker(g, y)->phase, POD_PHASE_FORWARD);
    CU_ASSERT_STRING_EQUAL(pod_graph_maker(g, y)->label, "fc");
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        for (int k = 0; k < n->n_in; k++)
            POD_CHECK(n->in[k].id > 0 && n->in[k].id < n->first_out, "node %d reads what is later",
                      (int)i);
        for (int k = 0; k < n->n_out; k++)
            CU_ASSERT_EQUAL(pod_graph_value(g, pod_node_out(n, k))->node, i);
    }
}

/* ---- out of memory ---- */

typedef struct purse { /* an allocator that counts what is out, and fails at the n-th request */
    long n_out, n_gets, fail_at;
} purse;

static void *purse_get(void *ctx, size_t align, size_t bytes)
{
    purse *p = ctx;
    if (++p->n_gets == p->fail_at) return NULL;
    p->n_out++;
    return pod_alloc_default.get(pod_alloc_default.ctx, align, bytes);
}

static void purse_put(void *ctx, void *memory)
{
    purse *p = ctx;
    p->n_out--;
    pod_alloc_default.put(pod_alloc_default.ctx, memory);
}

static const pod_test_plan plan = {.net = &pod_test_nets[POD_TEST_BN_RESIDUAL],
                                   .precision = POD_BF16,
                                   .mesh = "2x2",
                                   .bucket_bytes = 700};

/* Builds and compiles; true when that went well, else the failure is want of memory, said so. */
static bool compiles(purse *p, const char *how, long at)
{
    const pod_alloc alloc = {purse_get, purse_put, p};
    const pod_program *program = NULL;
    pod_arena *a;
    pod_error_set("");
    pod_status s = pod_arena_create(&alloc, &a);
    if (s == POD_OK) {
        s = pod_test_compile(a, &plan, &program);
        POD_CHECK((s == POD_OK) == (program != NULL), "%s %ld: %s, and a program %p", how, at,
                  pod_status_name(s), (const void *)program);
        pod_arena_destroy(a);
    }
    POD_CHECK(s == POD_OK || (s == POD_E_NOMEM && *pod_error_text()), "%s %ld: %s '%s'", how, at,
              pod_status_name(s), pod_error_text());
    POD_CHECK(p->n_out == 0, "%s %ld: %ld blocks leak", how, at, p->n_out);
    return s == POD_OK;
}

/* The blocks of the arena, one after the other. */
static void test_blocks(void)
{
    long at = 1;
    for (; at < 1000; at++) {
        purse p = {.fail_at = at};
        if (compiles(&p, "block", at)) break;
    }
    POD_CHECK(at > 3 && at < 1000, "%ld blocks", at);
}

/* Every request of the arena: only that one, or that one and all behind it. */
static void test_requests(void)
{
    enum { FEWEST = 500 };
    purse p = {0};
    n_requests = fail_at = 0;
    POD_CHECK(compiles(&p, "all", 0), "does not compile: %s", pod_error_text());
    const long all = n_requests;
    POD_CHECK(all > FEWEST, "%ld requests", all);
    for (int after = 0; after < 2; after++)
        for (long at = 1; at <= all; at++) {
            n_requests = 0;
            fail_at = at;
            fail_after = after;
            POD_CHECK(!compiles(&p, after ? "from request" : "request", at),
                      "request %ld failed unseen", at);
        }
    fail_at = 0;
}

POD_TEST_SUITE("graph", {"the first failure stays", test_first_failure},
               {"refusals", test_refusals}, {"reading back", test_reading},
               {"scopes as deep as they like", test_deep_scopes},
               {"thousands of variables", test_many_variables},
               {"no memory for a block", test_blocks}, {"no memory for a request", test_requests});
