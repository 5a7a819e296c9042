/* Ways round failed links: every pair of cores, against distances that are found otherwise. */
#include <stdio.h>
#include <string.h>

#include "collectives/mesh/detour.h"
#include "kernels/base/rng.h"
#include "tests/unit/collectives/coll_cases.h"

enum { MAX_RANKS = 32, MAX_FAILED = 6, FAR = 1000 };

typedef struct example {
    pod_mesh mesh;
    int n_ranks, n_failed;
    int failed[MAX_FAILED];
    int n_hops[MAX_RANKS][MAX_RANKS]; /* FAR: no way leads there */
    char what[160];
} example;

static bool has_link(const pod_mesh *m, int link)
{
    const int rank = link % pod_mesh_size(m), side = link / pod_mesh_size(m);
    const int next = pod_mesh_neighbor(m, rank, side / 2, side % 2 ? -1 : 1);
    return next >= 0 && next != rank;
}

/* A link and the one that leads back are one cable. */
static int cable_of(const pod_mesh *m, int link)
{
    const int rank = link % pod_mesh_size(m), side = link / pod_mesh_size(m);
    if (side % 2 == 0) return link;
    const pod_hop up = {side / 2, 1};
    return pod_route_link(m, pod_mesh_neighbor(m, rank, side / 2, -1), up);
}

static bool has_failed(const example *e, int link)
{
    for (int i = 0; i < e->n_failed; i++)
        if (cable_of(&e->mesh, e->failed[i]) == cable_of(&e->mesh, link)) return true;
    return false;
}

/* Floyd and Warshall's. */
static void find_distances(example *e)
{
    for (int a = 0; a < e->n_ranks; a++)
        for (int b = 0; b < e->n_ranks; b++) e->n_hops[a][b] = a == b ? 0 : FAR;
    for (int link = 0; link < pod_route_n_links(&e->mesh); link++) {
        if (!has_link(&e->mesh, link) || has_failed(e, link)) continue;
        const int rank = link % e->n_ranks, side = link / e->n_ranks;
        const int next = pod_mesh_neighbor(&e->mesh, rank, side / 2, side % 2 ? -1 : 1);
        e->n_hops[rank][next] = 1;
    }
    for (int k = 0; k < e->n_ranks; k++)
        for (int a = 0; a < e->n_ranks; a++)
            for (int b = 0; b < e->n_ranks; b++)
                if (e->n_hops[a][k] + e->n_hops[k][b] < e->n_hops[a][b])
                    e->n_hops[a][b] = e->n_hops[a][k] + e->n_hops[k][b];
}

static bool meets(const example *e, int from, int to)
{
    const pod_coord end = pod_mesh_coord(&e->mesh, to);
    while (from != to) {
        const pod_coord at = pod_mesh_coord(&e->mesh, from);
        pod_hop hop = {0, 0};
        CU_ASSERT_TRUE_FATAL(pod_route_next(&e->mesh, &at, &end, &hop));
        if (has_failed(e, pod_route_link(&e->mesh, from, hop))) return true;
        from = pod_mesh_neighbor(&e->mesh, from, hop.dim, hop.dir);
    }
    return false;
}

static void check_way(const example *e, const pod_detours *d, int from, int to)
{
    const bool is_free = !meets(e, from, to);
    const pod_coord end = pod_mesh_coord(&e->mesh, to);
    int n = 0;
    POD_CHECK(pod_detours_meets(d, from, to) == !is_free, "%s: %d to %d", e->what, from, to);
    for (int rank = from; rank != to && n <= e->n_hops[from][to]; n++) {
        const pod_coord at = pod_mesh_coord(&e->mesh, rank);
        const pod_hop hop = pod_detours_next(d, rank, to);
        pod_hop as_ever = {0, 0};
        (void)pod_route_next(&e->mesh, &at, &end, &as_ever);
        POD_CHECK(!is_free || (hop.dim == as_ever.dim && hop.dir == as_ever.dir),
                  "%s: %d to %d leaves its way at %d, which is free", e->what, from, to, rank);
        POD_CHECK(!has_failed(e, pod_route_link(&e->mesh, rank, hop)),
                  "%s: %d to %d takes a failed link at %d", e->what, from, to, rank);
        rank = pod_mesh_neighbor(&e->mesh, rank, hop.dim, hop.dir);
        CU_ASSERT_TRUE_FATAL(rank >= 0);
    }
    POD_CHECK(n == e->n_hops[from][to], "%s: %d to %d takes %d hops, want %d", e->what, from, to, n,
              e->n_hops[from][to]);
}

static void check_cut(const example *e)
{
    int from = -1, to = -1;
    const char *at = strstr(pod_error_text(), "no way leads from core ");
    POD_CHECK(at && sscanf(at, "no way leads from core %d to core %d", &from, &to) == 2 &&
                  from >= 0 && to >= 0 && e->n_hops[from][to] == FAR,
              "%s: %s", e->what, pod_error_text());
}

/* Answers whether the mesh is cut. */
static bool check(example *e)
{
    pod_arena *a;
    pod_detours *d;
    bool is_cut = false;
    find_distances(e);
    for (int r = 0; r < e->n_ranks; r++) is_cut |= e->n_hops[0][r] == FAR;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    const pod_status status = pod_detours_create(a, &e->mesh, e->failed, e->n_failed, &d);
    POD_CHECK(status == (is_cut ? POD_E_INVALID : POD_OK), "%s: %s", e->what,
              pod_status_name(status));
    if (is_cut) check_cut(e);
    for (int to = 0; to < e->n_ranks && !is_cut; to++) {
        CU_ASSERT_FALSE(pod_detours_has(d, to));
        POD_CHECK_OK(pod_detours_prepare(d, to));
        POD_CHECK_OK(pod_detours_prepare(d, to));
        CU_ASSERT_TRUE(pod_detours_has(d, to));
        for (int from = 0; from < e->n_ranks; from++) check_way(e, d, from, to);
    }
    pod_arena_destroy(a);
    return is_cut;
}

static const char *const meshes[] = {"2",    "3",    "5",   "4o",    "2x2",    "4x4",
                                     "3x5o", "5ox3", "6x1", "2x3x4", "2ox4x3", "3ox2x4o"};
enum { N_MESHES = sizeof meshes / sizeof meshes[0] };

static example begin(const char *mesh)
{
    example e = {.mesh = coll_mesh(mesh)};
    e.n_ranks = pod_mesh_size(&e.mesh);
    return e;
}

static void test_one_link(void)
{
    for (int k = 0; k < N_MESHES; k++) {
        example e = begin(meshes[k]);
        e.n_failed = 1;
        for (int link = 0; link < pod_route_n_links(&e.mesh); link++) {
            if (!has_link(&e.mesh, link)) continue;
            e.failed[0] = link;
            snprintf(e.what, sizeof e.what, "mesh %s without link %d", meshes[k], link);
            check(&e);
        }
    }
}

static void test_some_links(void)
{
    pod_rng rng = pod_rng_at(7, (pod_place){POD_STREAM_TEST, 0, 0, 0});
    int n_cut = 0, n_whole = 0;
    for (int k = 0; k < 40 * N_MESHES; k++) {
        example e = begin(meshes[k % N_MESHES]);
        const int n = 2 + (int)pod_rng_below(&rng, MAX_FAILED - 1);
        snprintf(e.what, sizeof e.what, "mesh %s without", meshes[k % N_MESHES]);
        while (e.n_failed < n) {
            const int link = (int)pod_rng_below(&rng, (uint64_t)pod_route_n_links(&e.mesh));
            if (!has_link(&e.mesh, link)) continue;
            e.failed[e.n_failed++] = link;
            snprintf(e.what + strlen(e.what), sizeof e.what - strlen(e.what), " %d", link);
        }
        const bool is_cut = check(&e);
        n_cut += is_cut;
        n_whole += !is_cut;
    }
    POD_CHECK(n_cut > 50 && n_whole > 50, "%d meshes are cut, %d whole", n_cut, n_whole);
}

static void test_by_hand(void)
{
    static const struct {
        const char *mesh;
        int rank;
        pod_hop failed;
        int from, to;
        const char *want;
    } rows[] = {
        {"4", 0, {0, 1}, 0, 1, "3 2 1"},         /* the other way round */
        {"4", 0, {0, 1}, 1, 0, "2 3 0"},         /* both ways fail */
        {"2", 0, {0, 1}, 0, 1, "1"},             /* two cables join them */
        {"4ox3o", 0, {0, 1}, 0, 1, "4 5 1"},     /* a block round */
        {"4ox3o", 1, {0, 1}, 0, 3, "1 5 6 7 3"}, /* round, and then x first */
        {"4ox3o", 1, {0, 1}, 0, 7, "1 5 6 7"},   /* no longer than it was */
        {"4ox3o", 4, {0, 1}, 4, 5, "8 9 5"},     /* up before down */
    };
    for (int i = 0; i < N_OF(rows); i++) {
        const example e = begin(rows[i].mesh);
        const int link = pod_route_link(&e.mesh, rows[i].rank, rows[i].failed);
        char got[64] = "";
        pod_arena *a;
        pod_detours *d;
        POD_CHECK_OK(pod_arena_create(NULL, &a));
        POD_CHECK_OK(pod_detours_create(a, &e.mesh, &link, 1, &d));
        POD_CHECK_OK(pod_detours_prepare(d, rows[i].to));
        for (int rank = rows[i].from, n = 0; rank != rows[i].to && n < 8; n++) {
            const pod_hop hop = pod_detours_next(d, rank, rows[i].to);
            rank = pod_mesh_neighbor(&e.mesh, rank, hop.dim, hop.dir);
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", got[0] ? " " : "", rank);
        }
        POD_CHECK(strcmp(got, rows[i].want) == 0, "%s: %d to %d over %s, want %s", rows[i].mesh,
                  rows[i].from, rows[i].to, got, rows[i].want);
        pod_arena_destroy(a);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *mesh;
        int rank;
        pod_hop hop;
        const char *says;
    } rows[] = {{"4o", 3, {0, 1}, "mesh 4o has no link dimension 0 up from 3"},
                {"4ox1", 2, {1, -1}, "mesh 4ox1 has no link dimension 1 down from 2,0"},
                {"4o", 1, {0, 1}, "no way leads from core 0 to core 2"}};
    for (int i = 0; i < N_OF(rows); i++) {
        const example e = begin(rows[i].mesh);
        const int link = pod_route_link(&e.mesh, rows[i].rank, rows[i].hop);
        pod_arena *a;
        pod_detours *d;
        POD_CHECK_OK(pod_arena_create(NULL, &a));
        POD_CHECK_FAILS(pod_detours_create(a, &e.mesh, &link, 1, &d), POD_E_INVALID, rows[i].says);
        pod_arena_destroy(a);
    }
}

POD_TEST_SUITE("detour", {"one link", test_one_link}, {"some links", test_some_links},
               {"by hand", test_by_hand}, {"what is refused", test_refused});
