/* Partition, bucket and order on graphs that networks of today do not make: sums that forward needs
 * whole, sums that variables become, variables that change places, an add of a sum and a whole
 * value; on several meshes, with numbers whose sums are exact in any order. */
#include <string.h>

#include "collectives/algo/rules.h"
#include "kernels/base/cpu.h"
#include "runtime/exec/exec.h"
#include "runtime/ops/ops.h"
#include "runtime/passes/passes.h"
#include "tests/harness/check.h"
#include "tests/harness/harness.h"

enum { N = 12, C = 3, STEPS = 3, MAX_RANKS = 12 };

static const char *const meshes[] = {"1x1", "2x1", "2x2", "3x1", "2x3x2"};

static pod_value col_sum(pod_graph *g, pod_value x)
{
    return pod_op_add1(g, pod_op_find("col_sum"), NULL, 0, &x, 1);
}

static pod_value variable(pod_graph *g, const char *name, pod_init_kind init)
{
    return pod_variable(g, name, (pod_shape){1, {C}}, (pod_init){.kind = init}, POD_ROLE_MOVING);
}

/* x (N, C); b = sum of rows of x; y = x + b; b2 = sum of rows of y; z = y + b2. sum = b;  after =
 * sum of rows of z, which nothing else reads;  total += b;  left, right = right, left. */
static pod_status build(pod_arena *a, bool with_update, pod_graph **out)
{
    pod_graph *g;
    POD_TRY(pod_graph_create(a, &g));
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 2, (int64_t[]){N, C}), 0);
    pod_value sum = variable(g, "sum", POD_INIT_ZERO), total = variable(g, "total", POD_INIT_ZERO);
    pod_value after = variable(g, "after", POD_INIT_ZERO);
    pod_value left = variable(g, "left", POD_INIT_ZERO), right = variable(g, "right", POD_INIT_ONE);
    pod_value b = col_sum(g, x), y = pod_bias_add(g, x, b);
    pod_value z = pod_bias_add(g, y, col_sum(g, y));
    pod_output(g, "y_sq", pod_sum_sq(g, y));
    pod_output(g, "z_sq", pod_sum_sq(g, z));
    if (with_update) {
        pod_assign(g, sum, b);
        pod_assign(g, after, col_sum(g, z));
        pod_assign(g, total, pod_add(g, b, total));
        pod_assign(g, left, right);
        pod_assign(g, right, left);
    }
    POD_TRY(pod_graph_finish(g));
    *out = g;
    return POD_OK;
}

static pod_status compile(pod_arena *a, const pod_graph *g, const char *mesh, int64_t bucket_bytes,
                          const pod_program **out)
{
    static const pod_target target = {.name = "test", .cpu = POD_CPU_REFERENCE_ONLY};
    pod_coll_rules *rules;
    pod_compile_args args = {.target = &target, .bucket_bytes = bucket_bytes, .guard_bytes = 64};
    POD_TRY(pod_mesh_parse(mesh, &args.mesh));
    POD_TRY(pod_coll_rules_parse(a, "allreduce:0-:ring", &rules));
    args.rules = rules;
    return pod_compile(g, N, &args, a, out);
}

static void fill(float x[N][C], int step)
{
    for (int i = 0; i < N; i++)
        for (int c = 0; c < C; c++) x[i][c] = (float)((i * 5 + c * 3 + step) % 4);
}

static void expect(float x[N][C], double b[C], double after[C], double squares[2])
{
    squares[0] = squares[1] = 0;
    for (int c = 0; c < C; c++) {
        double b2 = b[c] = after[c] = 0;
        for (int i = 0; i < N; i++) b[c] += (double)x[i][c];
        for (int i = 0; i < N; i++) b2 += (double)x[i][c] + b[c];
        for (int i = 0; i < N; i++) {
            double y = (double)x[i][c] + b[c];
            squares[0] += y * y;
            squares[1] += (y + b2) * (y + b2);
            after[c] += y + b2;
        }
    }
}

static const float *value_of(pod_store *s, const char *name)
{
    return pod_store_data(s, pod_store_find(s, name));
}

static void run_steps(const pod_program *p, const char *mesh, bool with_update, pod_store **store)
{
    const int n_ranks = pod_mesh_size(&p->mesh);
    double total[C] = {0};
    for (int step = 0; step < STEPS; step++) {
        float x[N][C];
        double b[C], after[C], want[2], got[2];
        const void *feeds[MAX_RANKS];
        fill(x, step);
        expect(x, b, after, want);
        for (int r = 0; r < n_ranks; r++) feeds[r] = x[r * (N / n_ranks)];
        pod_status s = pod_check_step(p, store, feeds, got);
        POD_CHECK(s == POD_OK, "on %s: %s", mesh, pod_error_text());
        if (s != POD_OK) return;
        POD_CHECK(got[0] == want[0] && got[1] == want[1], "on %s: %g and %g, want %g and %g", mesh,
                  got[0], got[1], want[0], want[1]);
        for (int c = 0; c < C; c++) total[c] += b[c];
        for (int r = 0; with_update && r < n_ranks; r++)
            for (int c = 0; c < C; c++) {
                const double left = (double)value_of(store[r], "left")[c];
                const double right = (double)value_of(store[r], "right")[c];
                POD_CHECK((double)value_of(store[r], "sum")[c] == b[c], "on %s: sum", mesh);
                POD_CHECK((double)value_of(store[r], "after")[c] == after[c], "on %s: after", mesh);
                POD_CHECK((double)value_of(store[r], "total")[c] == total[c], "on %s: total", mesh);
                POD_CHECK(left == (step + 1) % 2 && right == step % 2,
                          "on %s, step %d: left %g right %g", mesh, step, left, right);
            }
    }
}

static void test_meshes(bool with_update)
{
    for (size_t m = 0; m < sizeof meshes / sizeof meshes[0]; m++)
        for (int64_t bucket = 1; bucket <= 1 << 20; bucket <<= 20) {
            pod_arena *a = pod_test_arena();
            pod_graph *g;
            const pod_program *p = NULL;
            pod_store *store[MAX_RANKS] = {NULL};
            POD_CHECK_OK(build(a, with_update, &g));
            pod_status s = compile(a, g, meshes[m], bucket, &p);
            POD_CHECK(s == POD_OK, "on %s: %s", meshes[m], pod_error_text());
            const int n_ranks = s == POD_OK ? pod_mesh_size(&p->mesh) : 0;
            for (int r = 0; r < n_ranks; r++) POD_CHECK_OK(pod_store_create(p, r, 1, &store[r]));
            if (s == POD_OK) run_steps(p, meshes[m], with_update, store);
            for (int r = 0; r < n_ranks; r++) pod_store_destroy(store[r]);
        }
}

static void test_forward(void) { test_meshes(false); }
static void test_assigned(void) { test_meshes(true); }

/* Every collective that starts also ends within the step, and one that forward waits for carries
 * nothing that is made after it is wanted. */
static void test_ends(void)
{
    pod_arena *a = pod_test_arena();
    pod_graph *g;
    const pod_program *p;
    POD_CHECK_OK(build(a, true, &g));
    POD_CHECK_OK(compile(a, g, "2x2", 1 << 20, &p));
    int n_starts = 0, n_waits = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        n_starts += p->instr[i].kind == POD_I_COLL_START;
        n_waits += p->instr[i].kind == POD_I_COLL_WAIT;
    }
    POD_CHECK(n_starts == 4 && n_waits == 4, "%d starts, %d waits, want 4 of each", n_starts,
              n_waits);
}

/* A value is overwritten while a view of it is still to be read. */
static void test_stale_view(void)
{
    pod_arena *a = pod_test_arena();
    pod_graph *g;
    const pod_program *p;
    POD_CHECK_OK(pod_graph_create(a, &g));
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 2, (int64_t[]){N, C}), 0);
    pod_value v = pod_scale(g, 2.0f, x);
    pod_value view = pod_reshape(g, v, (pod_shape){3, {N, 1, C}});
    pod_value u = pod_scale(g, 3.0f, v);
    pod_output(g, "view_sq", pod_sum_sq(g, view));
    pod_output(g, "u_sq", pod_sum_sq(g, u));
    POD_CHECK_OK(compile(a, g, "1x1", 1, &p));
    float data[N][C];
    const void *feeds[] = {data};
    double outputs[2];
    pod_store *store;
    fill(data, 0);
    POD_CHECK_OK(pod_store_create(p, 0, 1, &store));
    POD_CHECK_OK(pod_check_step(p, &store, feeds, outputs));

    const int32_t from = p->instr[0].out[0], to = p->instr[1].out[0];
    pod_program bad = *p;
    pod_slot *slots = pod_arena_copy(a, p->slot, 16, sizeof *slots * (size_t)p->n_slots);
    if (slots) {
        slots[to].root = slots[from].root;
        slots[to].offset = slots[from].offset;
        bad.slot = slots;
        POD_CHECK_FAILS(pod_check_step(&bad, &store, feeds, outputs), POD_E_MISMATCH,
                        "reads what something else has overwritten");
    }
    pod_store_destroy(store);
}

/* What a kernel is told beside its operands tells programs apart too. */
static void test_attributes(void)
{
    pod_arena *a = pod_test_arena();
    uint64_t fingerprint[2] = {0};
    for (int i = 0; i < 2; i++) {
        pod_graph *g;
        const pod_program *p = NULL;
        POD_CHECK_OK(pod_graph_create(a, &g));
        pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 2, (int64_t[]){N, C}), 0);
        pod_output(g, "sq", pod_sum_sq(g, pod_scale(g, i ? 2.0f : 3.0f, x)));
        POD_CHECK_OK(compile(a, g, "2x1", 1, &p));
        if (p) fingerprint[i] = p->fingerprint;
    }
    POD_CHECK(fingerprint[0] != fingerprint[1], "other factors, same fingerprint");
}

/* An input is split when its first dimension is the batch, not when its extent happens to be. */
static void test_batch_is_an_axis(void)
{
    pod_arena *a = pod_test_arena();
    pod_graph *g;
    const pod_program *p = NULL;
    POD_CHECK_OK(pod_graph_create(a, &g));
    const pod_type type = pod_type_of(POD_F32, 2, (int64_t[]){N, C});
    pod_output(g, "x_sq", pod_sum_sq(g, pod_input(g, "x", type, 0)));
    pod_output(g, "table_sq", pod_sum_sq(g, pod_input(g, "table", type, POD_NO_BATCH)));
    POD_CHECK_OK(compile(a, g, "2x1", 1, &p));
    for (int i = 0; p && i < p->n_inputs; i++) {
        const size_t whole = N * C * sizeof(float), got = p->slot[p->input[i].value.id].bytes;
        const bool is_table = strcmp(p->input[i].name, "table") == 0;
        POD_CHECK(got == (is_table ? whole : whole / 2), "%s has %zu bytes of %zu",
                  p->input[i].name, got, whole);
    }
    POD_CHECK_OK(pod_graph_create(a, &g));
    const pod_type longer = pod_type_of(POD_F32, 2, (int64_t[]){2 * N, C});
    pod_output(g, "x_sq", pod_sum_sq(g, pod_input(g, "x", longer, 0)));
    POD_CHECK_FAILS(compile(a, g, "2x1", 1, &p), POD_E_INVALID, "input 'x' has");
}

POD_TEST_SUITE("partition", {"sums that forward needs whole", test_forward},
               {"what variables become", test_assigned},
               {"collectives end within the step", test_ends},
               {"a stale view is found", test_stale_view},
               {"attributes tell programs apart", test_attributes},
               {"the batch is an axis", test_batch_is_an_axis});
