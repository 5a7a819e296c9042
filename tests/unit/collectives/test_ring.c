/* Rings, lines and the torus made of them: which way they go, what they load. */
#include <stdio.h>

#include "collectives/algo/ring/deal.h"
#include "collectives/algo/ring/path.h"
#include "collectives/mesh/route.h"
#include "collectives/sched/order.h"
#include "tests/unit/collectives/coll_cases.h"

static const struct {
    pod_coll coll;
    const char *name;
} family[] = {{POD_ALLREDUCE, "torus2d"},      {POD_ALLREDUCE, "bucket"},
              {POD_ALLREDUCE, "ring2"},        {POD_ALLREDUCE, "ring"},
              {POD_REDUCE_SCATTER, "torus2d"}, {POD_REDUCE_SCATTER, "ring2"},
              {POD_REDUCE_SCATTER, "ring"},    {POD_ALLGATHER, "torus2d"},
              {POD_ALLGATHER, "ring2"},        {POD_ALLGATHER, "ring"}};

/* Of which all extents are of chips. */
static pod_mesh mesh_of_chips(const char *text)
{
    pod_mesh m = coll_mesh(text);
    m.is_of_chips = true;
    return m;
}

/* ---- paths --------------------------------------------------------------------------------- */

static int n_hops(const pod_mesh *m, int from, int to)
{
    const pod_coord a = pod_mesh_coord(m, from), b = pod_mesh_coord(m, to);
    int n = 0;
    for (int d = 0; d < m->n_dims; d++) n += abs(pod_route_along(m, d, a.at[d], b.at[d], true));
    return n;
}

/* Position and index are inverse; how many hops the way round takes. */
static int walk(const pod__path *p, const char *what)
{
    int hops = 0;
    for (int i = 0; i < p->size; i++) {
        const int index = pod__path_index(p, i);
        POD_CHECK(index >= 0 && index < p->size && pod__path_position(p, index) == i,
                  "%s: position %d is member %d", what, i, index);
        const int next = pod__path_index(p, (i + 1) % p->size);
        hops += n_hops(p->mesh, pod_group_member(p->mesh, &p->group, 0, index),
                       pod_group_member(p->mesh, &p->group, 0, next));
    }
    return hops;
}

/* An even number of members in two or three dimensions makes a cycle of single hops even on an open
 * mesh; so does one dimension that wraps; a line turns at its end. */
static void test_paths(void)
{
    static const struct {
        const char *mesh;
        int hops;
    } cases[] = {{"1", 0},        {"2o", 2},        {"5", 5},         {"5o", 8},
                 {"2ox2o", 4},    {"3ox2o", 6},     {"2ox3o", 6},     {"4ox4o", 16},
                 {"5ox4o", 20},   {"8ox7o", 56},    {"3x3", 10},      {"3ox3o", 12},
                 {"2ox2ox2o", 8}, {"3ox4ox5o", 60}, {"3ox3ox2o", 18}, {"1x4ox3o", 12},
                 {"3x5x3", 47}};
    for (int i = 0; i < N_OF(cases); i++) {
        const pod_mesh m = coll_mesh(cases[i].mesh);
        const pod__path p = pod__path_of(&m, pod_group_all(&m));
        const int hops = walk(&p, cases[i].mesh);
        POD_CHECK(hops == cases[i].hops, "%s: %d hops, want %d", cases[i].mesh, hops,
                  cases[i].hops);
    }
    /* Peers 2 apart in x over a wrapped row: 2 hops each; within a tile of it a line. */
    const pod_mesh m = coll_mesh("8x2");
    const pod__path row = pod__path_of(&m, (pod_group){.dims = 1, .step = {2}});
    POD_CHECK(!row.is_line && walk(&row, "every other") == 8, "every other of a row");
    const pod__path tile = pod__path_of(&m, (pod_group){.dims = 1, .tile = {4}});
    POD_CHECK(tile.is_line && walk(&tile, "tile") == 6, "a tile of a row");
}

/* ---- who has what on the way ---------------------------------------------------------------- */

/* Over all members of a ring, each part that its rank has not left to others along the
 * dimensions of `done` is in one run of one block, and found there. */
static void check_deal(const pod_mesh *m, const pod_group *g, int rank, uint32_t done, int dim,
                       const char *what)
{
    const int size = pod_group_size(m, g), extent = pod_group_extent(m, g, dim);
    const int own = pod_group_index(m, g, rank);
    const int64_t count = 2 * size + size / 2; /* parts of 2 and of 3 */
    const pod__deal d = pod__deal_of_members(m, g, rank, count, done, dim);
    int *n_found = calloc((size_t)size, sizeof *n_found), n_runs = 1, n_wrong = 0;
    for (int f = 0; f < d.n_free; f++) n_runs *= d.free[f].extent;
    for (int i = 0; i < extent * n_runs; i++) {
        const int index = i / n_runs, run = i % n_runs;
        const pod_range r = pod__deal_run(&d, index, run);
        for (int64_t e = r.first; e < r.first + r.count; e++) {
            const pod__deal_place at = pod__deal_find(&d, e);
            n_wrong += at.index != index || at.run != run;
        }
        for (int k = 0; k < size; k++) {
            const pod_range part = pod_block(count, size, k);
            n_found[k] += part.first == r.first && part.count == r.count;
        }
    }
    for (int k = 0; k < size; k++) {
        bool is_here = true;
        int stride = 1;
        for (int i = 0; i < m->n_dims; stride *= pod_group_extent(m, g, i++))
            if (done >> i & 1)
                is_here = is_here && own / stride % pod_group_extent(m, g, i) ==
                                         k / stride % pod_group_extent(m, g, i);
        n_wrong += n_found[k] != is_here;
    }
    POD_CHECK(n_wrong == 0, "%s: rank %d along %d after %u: %d wrong", what, rank, dim,
              (unsigned)done, n_wrong);
    free(n_found);
}

static void test_deals(void)
{
    static const struct {
        const char *mesh;
        pod_group group;
    } cases[] = {{"4x3", {.dims = 3}},     {"5ox2", {.dims = 3}},
                 {"2x4x5o", {.dims = 7}},  {"1x6x4", {.dims = 7}},
                 {"2ox6x3", {.dims = 6}},  {"7x5", {.dims = 3}},
                 {"2x3ox4o", {.dims = 7}}, {"8x6o", {.dims = 3, .step = {2}, .tile = {4, 3}}}};
    for (int i = 0; i < N_OF(cases); i++) {
        const pod_mesh m = coll_mesh(cases[i].mesh);
        for (int rank = 0; rank < pod_mesh_size(&m); rank++)
            for (uint32_t done = 0; done < 1u << m.n_dims; done++)
                for (int dim = 0; dim < m.n_dims; dim++)
                    if (!(done >> dim & 1))
                        check_deal(&m, &cases[i].group, rank, done, dim, cases[i].mesh);
    }
    /* On a circle of 6 from place 1, and on a line: the farthest first, the own one last. */
    static const int circle[] = {4, 3, 5, 2, 0, 1}, line[] = {5, 4, 3, 2, 0, 1};
    for (int is_line = 0; is_line < 2; is_line++) {
        const pod_mesh m = coll_mesh(is_line ? "2x6o" : "2x6");
        const pod_group all = pod_group_all(&m);
        const pod__deal d = pod__deal_of_members(&m, &all, 2, 12, 0, 0);
        for (int j = 0; j < 6; j++) {
            const int at = (is_line ? line : circle)[j], got = (int)pod__deal_run(&d, 0, j).first;
            POD_CHECK(got == 2 * at, "run %d is %d, want %d", j, got, 2 * at);
        }
    }
}

/* ---- results ------------------------------------------------------------------------------- */

/* In whole blocks, and in pieces of two elements and less. */
static void run_family(const pod_mesh *m, pod_group group)
{
    const int64_t size = pod_group_size(m, &group);
    const int64_t counts[] = {1, 5 * size + 3}, chunks[] = {0, 8};
    for (int f = 0; f < N_OF(family); f++) {
        const pod_coll_algo *algo = pod_coll_find(family[f].coll, family[f].name);
        for (int i = 0; i < 2; i++) {
            const pod_coll_args args = {.coll = family[f].coll,
                                        .dtype = POD_F32,
                                        .count = counts[i],
                                        .group = group,
                                        .chunk_bytes = chunks[i]};
            if (!algo->why_not(m, &args)) coll_check(m, algo, &args, true);
        }
    }
}

static void test_open_meshes(void)
{
    static const char *const edge[3][2] = {{"o", ""}, {"", "o"}, {"o", "o"}};
    int n = 0;
    for (int x = 1; x <= 8; x++) {
        for (int y = 1; y <= 8; y++) {
            for (int e = 0; e < 3; e++) {
                if (n++ % POD_TEST_EVERY) continue;
                char text[16];
                snprintf(text, sizeof text, "%d%sx%d%s", x, edge[e][0], y, edge[e][1]);
                const pod_mesh m = coll_mesh(text);
                run_family(&m, pod_group_all(&m));
            }
        }
    }
}

/* Three orders, where no extent is the cores of a chip. */
static void test_meshes_of_chips(void)
{
    static const char *const meshes[] = {"2x2x2",  "3x2x4", "4x4x4",  "4ox3x2",   "3x4ox2o",
                                         "5x3x3o", "1x4x3", "4x1x3o", "3ox3ox3o", "2x5x3"};
    for (int i = 0; i < N_OF(meshes); i++) {
        const pod_mesh m = mesh_of_chips(meshes[i]);
        run_family(&m, pod_group_all(&m));
    }
    const pod_mesh m = mesh_of_chips("4x6x4");
    run_family(&m, (pod_group){.dims = 7, .step = {2, 0, 0}, .tile = {0, 3, 0}});
}

static void test_groups(void)
{
    static const struct {
        const char *mesh;
        pod_group group;
    } cases[] = {
        {"7o", {.dims = 1}},
        {"8ox2", {.dims = 1, .step = {2}}},
        {"8x6", {.dims = 3, .step = {2, 3}}},
        {"8x6o", {.dims = 3, .step = {2}, .tile = {4, 3}}},
        {"2x4x5o", {.dims = 7}},
        {"2x4ox5", {.dims = 3}},
        {"2x6x3o", {.dims = 6, .step = {0, 2}}},
        {"4x3x3", {.dims = 7, .tile = {2}}},
        {"3ox3ox3o", {.dims = 7}},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        const pod_mesh m = coll_mesh(cases[i].mesh);
        POD_CHECK_OK(pod_group_verify(&m, &cases[i].group));
        run_family(&m, cases[i].group);
    }
}

/* ---- load ---------------------------------------------------------------------------------- */

typedef struct load {
    int64_t *carried; /* (links) elements */
    int32_t *round;   /* (links) the last one in which a message passed */
    int n_twice;      /* times that two passed in one */
} load;

static void pass(const pod_mesh *m, int from, int to, int64_t count, int32_t round, load *l)
{
    pod_hop hop;
    const pod_coord end = pod_mesh_coord(m, to);
    for (int at = from; at != to; at = pod_mesh_neighbor(m, at, hop.dim, hop.dir)) {
        const pod_coord here = pod_mesh_coord(m, at);
        if (!pod_route_next(m, &here, &end, &hop)) return;
        const int link = pod_route_link(m, at, hop);
        l->carried[link] += count;
        l->n_twice += l->round[link] == round;
        l->round[link] = round;
    }
}

/* Over a wrapped mesh of chips of one extent torus2d loads every link of the machine alike, and
 * an all-reduce in whole blocks over two dimensions has never two messages that want a link in
 * the same round. */
static void check_links_of_torus(pod_coll coll, const char *mesh, int64_t a_rank,
                                 int64_t chunk_bytes)
{
    enum { MAX_LINKS = 6 * 64 };
    const pod_mesh m = mesh_of_chips(mesh);
    const int n_ranks = pod_mesh_size(&m), n_links = pod_route_n_links(&m);
    pod_coll_args args = coll_args(&m, coll, a_rank * n_ranks);
    args.chunk_bytes = chunk_bytes;
    COLL_BUILT b = coll_build("torus2d", &m, &args);
    pod_sched_order order;
    POD_CHECK_OK(pod_sched_order_build(b.arena, b.all, n_ranks, &order));
    CU_ASSERT_TRUE_FATAL(n_links == 2 * m.n_dims * n_ranks && n_links <= MAX_LINKS);
    int64_t carried[MAX_LINKS] = {0};
    int32_t round[MAX_LINKS] = {0};
    load l = {carried, round, 0};
    for (int32_t i = 0; i < order.n_events; i++) {
        const pod_sched_event *e = &order.event[i];
        int32_t n;
        const pod_step *s = &pod_sched_steps(b.all[e->rank], &n)[e->step];
        if (e->send_step != POD_NO_STEP) pass(&m, s->peer, e->rank, s->count, e->round, &l);
    }
    /* (n - 1) / n of the buffer leave each rank, in an all-reduce twice, over all its links. */
    const int64_t moves = coll == POD_ALLREDUCE ? 2 : 1;
    for (int k = 0; k < n_links; k++)
        POD_CHECK(2 * m.n_dims * carried[k] == moves * a_rank * (n_ranks - 1),
                  "%s on %s: link %d carries %d", pod_coll_name(coll), mesh, k, (int)carried[k]);
    POD_CHECK(chunk_bytes || coll != POD_ALLREDUCE || m.n_dims > 2 || l.n_twice == 0,
              "%d times two at once", l.n_twice);
}

static void test_links_of_torus(void)
{
    check_links_of_torus(POD_ALLREDUCE, "4x4", 28, 0);
    check_links_of_torus(POD_ALLREDUCE, "4x4", 28, 112);     /* strips */
    check_links_of_torus(POD_REDUCE_SCATTER, "4x4", 28, 28); /* two pieces of the last run */
    check_links_of_torus(POD_ALLGATHER, "4x4", 28, 28);
    check_links_of_torus(POD_ALLREDUCE, "4x4x4", 6, 0); /* three orders */
    check_links_of_torus(POD_ALLREDUCE, "4x4x4", 6, 64);
}

static int32_t n_steps_of(const char *algo, const pod_mesh *m, const pod_coll_args *args)
{
    pod_arena *arena;
    const pod_sched *s;
    int32_t n = 0;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    POD_CHECK_OK(pod_coll_build(arena, pod_coll_find(args->coll, algo), m, 3, args, &s));
    pod_sched_steps(s, &n);
    pod_arena_destroy(arena);
    return n;
}

/* Steps of one rank, as ring.h has it: what a schedule of a whole machine costs to hold. */
static void test_steps(void)
{
    static const struct {
        pod_coll coll;
        const char *name, *mesh;
        int64_t count, chunk_bytes;
        int32_t n_steps; /* joins among them */
    } cases[] = {
        {POD_ALLREDUCE, "ring", "8", 4096, 0, 4 * 7},
        {POD_ALLREDUCE, "ring2", "8", 4096, 0, 4 * 7},
        {POD_ALLREDUCE, "ring", "8", 4096, 512, 4 * 7 * 4},
        {POD_ALLREDUCE, "ring2", "8", 4096, 512, 4 * 7 * 4},
        {POD_ALLREDUCE, "bucket", "4x4", 4096, 0, 4 * 6 + 3},
        {POD_ALLREDUCE, "torus2d", "4x4", 4096, 0, 8 * 6 + 2 * 3},
        {POD_ALLREDUCE, "torus2d", "4x4", 4096, 512, 4 * (8 * 6 + 2 * 3)},
        {POD_REDUCE_SCATTER, "torus2d", "4x4", 4096, 0, 4 * 15},
        {POD_ALLGATHER, "torus2d", "4x4", 4096, 0, 4 * 15},
        {POD_REDUCE_SCATTER, "torus2d", "2x4x4", 4096, 0, 4 * 15 + 2 * 16},
        {POD_ALLGATHER, "torus2d", "2x4x4", 4096, 0, 4 * 15 + 2 * 16 + 15},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        const pod_mesh m = coll_mesh(cases[i].mesh);
        pod_coll_args args = coll_args(&m, cases[i].coll, cases[i].count);
        args.chunk_bytes = cases[i].chunk_bytes;
        const int32_t n = n_steps_of(cases[i].name, &m, &args);
        POD_CHECK(n == cases[i].n_steps, "%s %s on %s: %d steps, want %d", pod_coll_name(args.coll),
                  cases[i].name, cases[i].mesh, (int)n, (int)cases[i].n_steps);
    }
}

/* Into how many strips an all-reduce is cut by choice: each has as many steps. */
static void test_strips(void)
{
    static const struct {
        const char *mesh;
        bool is_of_chips;
        int64_t bytes;
        int n_strips;
    } cases[] = {
        {"2x2", false, 1 << 20, 1},  /* first blocks of 256 KiB: balance gains nothing */
        {"4x4", false, 1 << 20, 2},  /* of 128 KiB: halves load links alike */
        {"4x4", false, 64 << 10, 1}, /* of 8 KiB: not worth it */
        {"2x2", false, 16 << 20, 8}, /* of 4 MiB in 512 KiB */
        {"4x4x4", true, 48 << 20, 8},
        {"8x4x4", true, 64 << 20, 24}, /* of 5.6 MiB in 256 KiB: extents differ */
    };
    for (int i = 0; i < N_OF(cases); i++) {
        pod_mesh m = coll_mesh(cases[i].mesh);
        m.is_of_chips = cases[i].is_of_chips;
        const pod_coll_args args = coll_args(&m, POD_ALLREDUCE, cases[i].bytes / 4);
        const pod_coll_args few = coll_args(&m, POD_ALLREDUCE, 1 << 10);
        const int32_t n = n_steps_of("torus2d", &m, &args);
        const int32_t a_strip = n_steps_of("torus2d", &m, &few);
        POD_CHECK(n == cases[i].n_strips * a_strip, "%s: %d steps, %d a strip", cases[i].mesh,
                  (int)n, (int)a_strip);
    }
}

/* Steps that may receive and add at once, each of which needs memory for what it receives: no more
 * however many strips there are. */
static void test_receives_at_once(void)
{
    enum { MAX_STEPS = 8192, N_AT_ONCE = 4, N_ORDERS = 2, N_RINGS = 2, N_WAYS = 2, N_OF_RING = 2 };
    static bool is_before[MAX_STEPS];
    const pod_mesh m = coll_mesh("4x4");
    pod_coll_args args = coll_args(&m, POD_ALLREDUCE, 1 << 22);
    args.chunk_bytes = 64 << 10;
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    const pod_sched *s;
    POD_CHECK_OK(pod_coll_build(arena, pod_coll_find(POD_ALLREDUCE, "torus2d"), &m, 5, &args, &s));
    int32_t n, holder[MAX_STEPS], n_places = 0;
    const pod_step *step = pod_sched_steps(s, &n);
    CU_ASSERT_TRUE_FATAL(n > 1000 && n <= MAX_STEPS);
    for (int32_t i = 0; i < n; i++) {
        if (step[i].kind != POD_STEP_RECV_REDUCE) continue;
        for (int32_t j = 0; j < n; j++) is_before[j] = j == i;
        for (int32_t j = i; j >= 0; j--)
            for (int k = 0; k < 2 && is_before[j]; k++)
                if (step[j].after[k] != POD_NO_STEP) is_before[step[j].after[k]] = true;
        int32_t p = 0;
        while (p < n_places && !is_before[holder[p]]) p++;
        n_places += p == n_places;
        holder[p] = i;
    }
    POD_CHECK(n_places <= N_AT_ONCE * N_ORDERS * N_RINGS * N_WAYS * N_OF_RING, "%d places",
              (int)n_places);
    pod_arena_destroy(arena);
}

POD_TEST_SUITE("ring", {"paths", test_paths}, {"deals", test_deals},
               {"open meshes", test_open_meshes}, {"meshes of chips", test_meshes_of_chips},
               {"groups", test_groups}, {"links of a torus", test_links_of_torus},
               {"steps", test_steps}, {"strips", test_strips},
               {"receives at once", test_receives_at_once});
