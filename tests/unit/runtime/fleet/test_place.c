/* Which cells a slice gets: hand-made cases, and against search by brute force. */
#include "runtime/fleet/place/place.h"

#include "kernels/base/rng.h"
#include "tests/harness/harness.h"

static pod_arena *arena;

static int open_arena(void) { return pod_arena_create(NULL, &arena) == POD_OK ? 0 : 1; }
static int close_arena(void)
{
    pod_arena_destroy(arena);
    return 0;
}

typedef struct site {
    pod_topology t;
    pod_occupancy o;
    pod_placer *p;
} site;

static site *open_site(const char *pod, int n_pods, const char *how)
{
    site *s = POD_ARENA_NEW(arena, site, 1);
    POD_CHECK_OK(pod_topology_parse(pod, &s->t));
    POD_CHECK_OK(pod_occupancy_create(arena, &s->t, n_pods, &s->o));
    POD_CHECK_OK(pod_placer_create(arena, pod_placement_find(how), &s->t, &s->p));
    return s;
}

static bool find(site *s, int n_cells, int cells[])
{
    return pod_placer_find(s->p, &s->o, (pod_slice){.n_cells = n_cells}, NULL, cells);
}

static void topologies(void)
{
    pod_topology t;
    POD_CHECK_OK(pod_topology_parse("tpu-v4", &t));
    CU_ASSERT_EQUAL(pod_topology_chips(&t), 4096);
    CU_ASSERT_EQUAL(t.n_cells, 1024);
    CU_ASSERT_EQUAL(t.group_cells, 16);
    POD_CHECK_OK(pod_topology_parse("tpu-v3", &t));
    CU_ASSERT_EQUAL(pod_topology_chips(&t), 1024);
    CU_ASSERT(t.wraps);
    POD_CHECK_OK(pod_topology_parse("nodes:64x8", &t));
    CU_ASSERT_EQUAL(pod_topology_chips(&t), 512);
    POD_CHECK_FAILS(pod_topology_parse("tpu-v9", &t), POD_E_INVALID, "did you mean tpu-v");
    POD_CHECK_FAILS(pod_topology_parse("torus:5x4", &t), POD_E_INVALID, "hosts of 2x2");
    POD_CHECK_FAILS(pod_topology_parse("torus:4", &t), POD_E_INVALID, "has 1 numbers, want 2 or 3");
    POD_CHECK_FAILS(pod_topology_parse("pool:1000000", &t), POD_E_INVALID, "is more than 65536");
    POD_CHECK_FAILS(pod_topology_parse("mesh:499999999999999996x2", &t), POD_E_INVALID,
                    "is more than 65536");
    POD_CHECK_FAILS(pod_topology_parse("nodes", &t), POD_E_INVALID, "no pod 'nodes'");
    POD_CHECK_FAILS(pod_topology_parse("pool:0", &t), POD_E_INVALID, "pods");
}

static void sizes(void)
{
    static const struct {
        const char *pod, *how;
        int64_t chips;
        int cells;
    } cases[] = {
        {"tpu-v4", "first", 1, 1},
        {"tpu-v4", "first", 20, 6}, /* no box of 5 hosts in 2x2x4: 1x2x3 */
        {"tpu-v4", "first", 64, 16},
        {"tpu-v4", "first", 65, 32},
        {"tpu-v4", "first", 4096, 1024},
        {"tpu-v4", "first", 4097, 0},
        {"tpu-v3", "first", 1024, 256},
        {"tpu-v3", "first", 68, 18}, /* 17 hosts are no box */
        {"tpu-v3", "buddy", 68, 32},
        {"tpu-v3", "first", 0, 0},
        {"pool:7", "first", 7, 7},
        {"pool:7", "first", 8, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const site *s = open_site(cases[i].pod, 1, cases[i].how);
        const int n = pod_placer_cells_for(s->p, cases[i].chips);
        POD_CHECK(n == cases[i].cells, "%s: %d cells for %d chips, want %d", cases[i].pod, n,
                  (int)cases[i].chips, cases[i].cells);
    }
}

static void boxes(void)
{
    pod_topology t;
    pod_box box[8];
    POD_CHECK_OK(pod_topology_parse("torus:32x32", &t));
    CU_ASSERT_EQUAL(pod_topology_boxes(&t, 16, box, 8), 5); /* 4x4, 8x2, 2x8, 16x1, 1x16 */
    CU_ASSERT_EQUAL(box[0].extent[0], 4);
    CU_ASSERT_EQUAL(box[4].extent[0] * box[4].extent[1], 16);
    CU_ASSERT_EQUAL(pod_topology_boxes(&t, 16, box, 2), 2);
    CU_ASSERT_EQUAL(box[0].extent[0], 4);
}

static void take(site *s, const int cells[], int n)
{
    for (int i = 0; i < n; i++) pod_occupancy_set(&s->o, cells[i], true);
}

/* Up to a node's GPUs in the fullest node that has them; more in whole ones, the rest where most are
 * free. */
static void nodes(void)
{
    site *s = open_site("nodes:4x8", 1, "best");
    int cells[32];
    CU_ASSERT_FATAL(find(s, 3, cells));
    CU_ASSERT_EQUAL(cells[0], 0);
    take(s, cells, 3); /* 5 8 8 8 free */
    CU_ASSERT_FATAL(find(s, 5, cells));
    CU_ASSERT_EQUAL(cells[0] / 8, 0);
    CU_ASSERT_FATAL(find(s, 6, cells));
    CU_ASSERT_EQUAL(cells[0] / 8, 1);
    CU_ASSERT_FATAL(find(s, 12, cells));
    CU_ASSERT_EQUAL(cells[0] / 8, 1);
    CU_ASSERT_EQUAL(cells[8] / 8, 2);
    CU_ASSERT(!find(s, 30, cells));
    CU_ASSERT_FATAL(find(s, 29, cells));
    CU_ASSERT_EQUAL(cells[24] / 8, 0);
}

/* Whole cubes from anywhere; a box within the cube of fewest free hosts. */
static void cubes(void)
{
    site *s = open_site("cubes:3", 1, "best");
    int cells[48];
    CU_ASSERT_FATAL(find(s, 4, cells));
    take(s, cells, 4);
    CU_ASSERT_FATAL(find(s, 32, cells));
    CU_ASSERT_EQUAL(cells[0] / 16, 1);
    CU_ASSERT_EQUAL(cells[16] / 16, 2);
    CU_ASSERT(!find(s, 48, cells));
    CU_ASSERT_FATAL(find(s, 8, cells));
    CU_ASSERT_EQUAL(cells[0] / 16, 0);
    take(s, cells, 8);
    CU_ASSERT_FATAL(find(s, 8, cells)); /* 4 left there are too few */
    CU_ASSERT_EQUAL(cells[0] / 16, 1);
}

static int find_cell(const site *s, int x, int y) { return y * s->t.extent[0] + x; }

static void grids(void)
{
    int cells[16];
    site *s = open_site("mesh:8x8", 1, "first"); /* 4x4 hosts */
    CU_ASSERT_FATAL(find(s, 4, cells));
    CU_ASSERT_EQUAL(cells[3], find_cell(s, 1, 1));
    take(s, (int[]){find_cell(s, 1, 1), find_cell(s, 2, 2)}, 2);
    CU_ASSERT(find(s, 4, cells)); /* 2x2 at (2, 0) */
    CU_ASSERT_EQUAL(cells[0], find_cell(s, 2, 0));
    CU_ASSERT(!find(s, 8, cells));
    /* Best fit goes into the corner beside what is taken. */
    s = open_site("mesh:8x8", 1, "best");
    take(s, (int[]){0, 1, 4, 5}, 4);
    CU_ASSERT(find(s, 4, cells));
    CU_ASSERT_EQUAL(cells[0], find_cell(s, 2, 0));
    /* A torus has boxes across its edge; buddies do not use them. */
    s = open_site("torus:8x8", 1, "first");
    for (int y = 0; y < 4; y++) take(s, (int[]){find_cell(s, 1, y), find_cell(s, 2, y)}, 2);
    CU_ASSERT_FATAL(find(s, 8, cells));
    CU_ASSERT_EQUAL(cells[0] % 4, 3);
    CU_ASSERT_EQUAL(cells[1] % 4, 0);
    s = open_site("torus:8x8", 1, "buddy");
    take(s, (int[]){0}, 1);
    CU_ASSERT_FATAL(find(s, 4, cells));
    CU_ASSERT_EQUAL(cells[0], find_cell(s, 2, 0));
}

/* A shape is one in any orientation: what is free is 1x4 hosts of a mesh of 4x4, and no 2x2. */
static void shapes(void)
{
    static const struct {
        const char *pod;
        pod_slice_shape shape;
        int cells;
    } cases[] = {
        {"tpu-v4", {{4, 4, 8}}, 32},  {"tpu-v4", {{8, 4, 4}}, 32},  {"tpu-v4", {{4, 4, 256}}, 1024},
        {"tpu-v4", {{4, 4, 260}}, 0}, {"tpu-v4", {{2, 2, 4}}, 4},   {"tpu-v4", {{4, 4, 1}}, 4},
        {"tpu-v4", {{1, 2, 2}}, 1},   {"tpu-v4", {{2, 2, 8}}, 0},   {"tpu-v4", {{1, 1, 4}}, 0},
        {"tpu-v4", {{3, 5, 1}}, 0},   {"tpu-v3", {{16, 8, 1}}, 32}, {"tpu-v3", {{64, 2, 1}}, 0},
        {"tpu-v3", {{32, 2, 1}}, 16}, {"tpu-v3", {{4, 4, 4}}, 0},   {"pool:64", {{4, 4, 1}}, 0},
    };
    char text[POD_SLICE_SHAPE_BYTES];
    int cells[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const site *s = open_site(cases[i].pod, 1, "first");
        const int n = pod_placer_cells_of(s->p, &cases[i].shape);
        POD_CHECK(n == cases[i].cells, "case %d: %d cells, want %d", (int)i, n, cases[i].cells);
    }
    site *s = open_site("mesh:8x8", 1, "first");
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 3; x++) pod_occupancy_set(&s->o, find_cell(s, x, y), true);
    const pod_slice line = {4, {{8, 2, 1}}}, square = {4, {{4, 4, 1}}};
    CU_ASSERT(!pod_placer_find(s->p, &s->o, square, NULL, cells));
    CU_ASSERT_FATAL(pod_placer_find(s->p, &s->o, line, NULL, cells));
    CU_ASSERT_EQUAL(cells[3], find_cell(s, 3, 3));
    pod_slice_shape got = pod_topology_shape_of(&s->t, cells, 4);
    CU_ASSERT_STRING_EQUAL(pod_slice_shape_print(&s->t, &got, text), "2x8");
    s = open_site("torus:8x8", 1, "first"); /* across the edge */
    got = pod_topology_shape_of(&s->t, (int[]){3, 0, 7, 4}, 4);
    CU_ASSERT_STRING_EQUAL(pod_slice_shape_print(&s->t, &got, text), "4x4");
    s = open_site("cubes:8", 1, "best");
    CU_ASSERT(pod_topology_shape_for(&s->t, 128, &got));
    CU_ASSERT_STRING_EQUAL(pod_slice_shape_print(&s->t, &got, text), "8x8x8");
    CU_ASSERT_FATAL(pod_placer_find(s->p, &s->o, (pod_slice){4, {{2, 2, 4}}}, NULL, cells));
    got = pod_topology_shape_of(&s->t, cells, 4);
    CU_ASSERT_STRING_EQUAL(pod_slice_shape_print(&s->t, &got, text), "2x2x4");
}

/* MFP leaves the largest box whole: of a mesh with one free row apart it takes that. */
static void maximal_free_partition(void)
{
    int cells[16];
    site *s = open_site("mesh:8x8", 1, "mfp");
    for (int x = 0; x < 4; x++) take(s, (int[]){find_cell(s, x, 1)}, 1);
    CU_ASSERT_FATAL(find(s, 2, cells));
    CU_ASSERT_EQUAL(cells[0] / 4, 0);
    site *f = open_site("mesh:8x8", 1, "first");
    take(f, (int[]){0, 1, 2, 3, 4, 5, 6, 7}, 8);
    CU_ASSERT_FATAL(find(f, 8, cells));
}

/* ---- against brute force: what is found is free, of one pod, a box; and found iff there is one --- */

static bool is_box(const site *s, const int cells[], int n)
{
    const int *e = s->t.extent;
    const int pod = cells[0] / s->t.n_cells;
    int seen[3][64] = {{0}}, extent[3] = {0}, volume = 1;
    for (int i = 0; i < n; i++) {
        const int c = cells[i] % s->t.n_cells;
        const int at[3] = {c % e[0], c / e[0] % e[1], c / e[0] / e[1]};
        if (cells[i] / s->t.n_cells != pod) return false;
        for (int d = 0; d < 3; d++) seen[d][at[d]] = 1;
    }
    for (int d = 0; d < 3; d++) {
        int n_runs = 0;
        for (int i = 0; i < e[d]; i++) {
            extent[d] += seen[d][i];
            n_runs += seen[d][i] && !seen[d][(i + e[d] - 1) % e[d]];
        }
        if (n_runs > 1) return false;
        volume *= extent[d];
    }
    return volume == n;
}

static bool has_box(const site *s, int n)
{
    const int *e = s->t.extent;
    for (int pod = 0; pod < s->o.n_pods; pod++)
        for (int c = 0; c < s->t.n_cells; c++)
            for (int z = 1; z <= e[2]; z++)
                for (int y = 1; y <= e[1]; y++)
                    for (int x = 1; x <= e[0]; x++) {
                        bool is_free = x * y * z == n;
                        const int at[3] = {c % e[0], c / e[0] % e[1], c / e[0] / e[1]};
                        for (int i = 0; i < n && is_free; i++) {
                            const int u = at[0] + i % x, v = at[1] + i / x % y,
                                      w = at[2] + i / x / y;
                            is_free = (s->t.wraps || (u < e[0] && v < e[1] && w < e[2])) &&
                                      !s->o.taken[pod * s->t.n_cells +
                                                  (w % e[2] * e[1] + v % e[1]) * e[0] + u % e[0]];
                        }
                        if (is_free) return true;
                    }
    return false;
}

static void against_brute_force(void)
{
    static const char *const pods[] = {"torus:12x8", "mesh:8x10", "torus:6x8x3"};
    static const char *const how[] = {"first", "best", "mfp"};
    pod_rng r = pod_rng_at(7, (pod_place){.stream = POD_STREAM_TEST});
    for (int i = 0; i < 900; i++) {
        site *s = open_site(pods[i % 3], 1 + i % 2, how[i / 3 % 3]);
        const int n_all = pod_occupancy_cells(&s->o);
        const uint64_t share = 1 + pod_rng_below(&r, 9);
        int cells[128];
        for (int c = 0; c < n_all; c++)
            if (pod_rng_below(&r, 10) < share) pod_occupancy_set(&s->o, c, true);
        const int n = pod_placer_cells_for(
            s->p, 4 * (1 + (int64_t)pod_rng_below(&r, (uint64_t)s->t.n_cells)));
        const bool found = find(s, n, cells);
        POD_CHECK(found == has_box(s, n), "%s %s, case %d: %d cells %sfound", pods[i % 3],
                  how[i / 3 % 3], i, n, found ? "" : "not ");
        bool is_free = true;
        for (int k = 0; found && k < n; k++) is_free = is_free && !s->o.taken[cells[k]];
        POD_CHECK(!found || (is_free && is_box(s, cells, n)), "case %d: no free box of %d", i, n);
    }
}

POD_TEST_SUITE_WITH("runtime.fleet_place", open_arena, close_arena, {"topologies", topologies},
                    {"sizes", sizes}, {"boxes", boxes}, {"nodes", nodes}, {"cubes", cubes},
                    {"grids", grids}, {"shapes", shapes},
                    {"maximal free partition", maximal_free_partition},
                    {"against brute force", against_brute_force});
