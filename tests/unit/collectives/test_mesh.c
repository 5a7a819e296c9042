/* Meshes and groups: text, coordinates, neighbours, members. */
#include <stdio.h>
#include <string.h>

#include "collectives/mesh/group.h"
#include "collectives/mesh/mesh.h"
#include "collectives/mesh/route.h"
#include "tests/unit/collectives/coll_cases.h"

static void test_parse(void)
{
    static const struct {
        const char *text;
        int n_dims, size;
        int extent[3];
        bool wraps[3], is_forced[3];
    } cases[] = {
        {"1", 1, 1, {1}, {true}, {false}},
        {"7", 1, 7, {7}, {true}, {false}},
        {"2x2", 2, 4, {2, 2}, {true, true}, {false, false}},
        {"1x4", 2, 4, {1, 4}, {true, true}, {false, false}},
        {"2x16x32", 3, 1024, {2, 16, 32}, {true, true, true}, {false, false, false}},
        {"2x128ox32", 3, 8192, {2, 128, 32}, {true, false, true}, {false, true, false}},
        {"4wx3o", 2, 12, {4, 3}, {true, false}, {true, true}},
        {"2147483647", 1, 2147483647, {2147483647}, {true}, {false}},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        pod_mesh m = coll_mesh(cases[i].text);
        POD_CHECK(m.n_dims == cases[i].n_dims && pod_mesh_size(&m) == cases[i].size,
                  "%s: %d dimensions, size %d", cases[i].text, m.n_dims, pod_mesh_size(&m));
        for (int d = 0; d < cases[i].n_dims; d++)
            POD_CHECK(m.extent[d] == cases[i].extent[d] && m.wraps[d] == cases[i].wraps[d] &&
                          m.is_forced[d] == cases[i].is_forced[d],
                      "%s: dimension %d is %d, wraps %d, forced %d", cases[i].text, d, m.extent[d],
                      m.wraps[d], m.is_forced[d]);
        char text[POD_MESH_TEXT_BYTES];
        pod_mesh_print(&m, text, sizeof text);
        POD_CHECK(strcmp(text, cases[i].text) == 0, "%s prints as %s", cases[i].text, text);
    }
}

static void test_parse_refuses(void)
{
    static const char *const texts[] = {
        "",
        "x",
        "0",
        "2x",
        "x2",
        "2x0",
        "-2",
        "2x-2",
        "2X2",
        "2 x2",
        "2x2x2x2",
        "2ow",
        "2wo",
        "2o2",
        "99999999999999999999",
        "65536x65536",
        "2x2 ",
        "o",
        "2*2",
        "2xo",
    };
    for (int i = 0; i < N_OF(texts); i++) {
        pod_mesh m = {.n_dims = -5};
        POD_CHECK_FAILS(pod_mesh_parse(texts[i], &m), POD_E_INVALID, "is not 1 to 3 extents");
        POD_CHECK(m.n_dims == -5, "'%s' left something behind", texts[i]);
    }
}

static void test_coordinates(void)
{
    pod_mesh m = coll_mesh("2x3x4");
    int n_seen = 0;
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 2; x++) {
                pod_coord at = pod_mesh_coord(&m, n_seen);
                POD_CHECK(at.at[0] == x && at.at[1] == y && at.at[2] == z,
                          "rank %d at %d %d %d, want %d %d %d", n_seen, at.at[0], at.at[1],
                          at.at[2], x, y, z);
                POD_CHECK(pod_mesh_rank(&m, at) == n_seen, "rank %d", n_seen);
                n_seen++;
            }
}

static void test_neighbors(void)
{
    static const struct {
        const char *mesh;
        int rank, dim, dir, want;
    } cases[] = {
        {"4x3", 0, 0, 1, 1},   {"4x3", 0, 0, -1, 3},  {"4x3", 3, 0, 1, 0},   {"4x3", 5, 1, 1, 9},
        {"4x3", 9, 1, 1, 1},   {"4x3", 1, 1, -1, 9},  {"4ox3", 3, 0, 1, -1}, {"4ox3", 0, 0, -1, -1},
        {"4ox3", 1, 0, -1, 0}, {"4ox3", 0, 1, -1, 8}, {"1x3", 2, 0, 1, 2},   {"1ox3", 2, 0, 1, -1},
        {"2x1x2", 1, 2, 1, 3}, {"2x1x2", 3, 2, 1, 1},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        pod_mesh m = coll_mesh(cases[i].mesh);
        int got = pod_mesh_neighbor(&m, cases[i].rank, cases[i].dim, cases[i].dir);
        POD_CHECK(got == cases[i].want, "%s: rank %d dim %d dir %d: %d, want %d", cases[i].mesh,
                  cases[i].rank, cases[i].dim, cases[i].dir, got, cases[i].want);
    }
}

/* The drawing of group.h, and others: ranks with the same letter meet. */
static void test_group_members(void)
{
    static const struct {
        const char *mesh, *letters;
        pod_group group;
    } cases[] = {
        {"8x2", "ababcdcdefefghgh", {.dims = 1, .step = {2}, .tile = {4}}},
        {"4x2", "aaaabbbb", {.dims = 1}},
        {"4x2", "abcdabcd", {.dims = 2}},
        {"4x2", "aaaaaaaa", {.dims = 3}},
        {"4x2", "abcdefgh", {.dims = 0}},
        {"4x4", "aabbaabbccddccdd", {.dims = 3, .tile = {2, 2}}},
        {"4x2", "abababab", {.dims = 3, .step = {2, 1}}},
        {"2x2x2", "abababab", {.dims = 6}},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        pod_mesh m = coll_mesh(cases[i].mesh);
        const pod_group *g = &cases[i].group;
        POD_CHECK_OK(pod_group_verify(&m, g));
        int size = pod_group_size(&m, g);
        for (int rank = 0; rank < pod_mesh_size(&m); rank++) {
            char want[32] = "";
            char got[32] = "";
            for (int r = 0; r < pod_mesh_size(&m); r++)
                if (cases[i].letters[r] == cases[i].letters[rank]) {
                    size_t used = strlen(want);
                    snprintf(want + used, sizeof want - used, "%x", r);
                }
            for (int k = 0; k < size; k++) {
                int member = pod_group_member(&m, g, rank, k);
                size_t used = strlen(got);
                snprintf(got + used, sizeof got - used, "%x", member);
                POD_CHECK(pod_group_index(&m, g, member) == k, "%s: index of %d is %d, want %d",
                          cases[i].letters, member, pod_group_index(&m, g, member), k);
            }
            POD_CHECK(strcmp(want, got) == 0, "%s %s: rank %d meets %s, want %s", cases[i].mesh,
                      cases[i].letters, rank, got, want);
        }
    }
}

static void test_group_faults(void)
{
    pod_mesh m = coll_mesh("8x6");
    const pod_group no_dim = {.dims = 4};
    const pod_group tile = {.dims = 2, .tile = {0, 4}};
    const pod_group step = {.dims = 1, .step = {3}};
    const pod_group step_in_tile = {.dims = 1, .step = {4}, .tile = {2}};
    const pod_group negative = {.dims = 1, .step = {-1}};
    const pod_group elsewhere = {.dims = 1, .step = {1, 5}, .tile = {0, 5}};
    POD_CHECK_FAILS(pod_group_verify(&m, &no_dim), POD_E_INVALID, "dimensions 0x4");
    POD_CHECK_FAILS(pod_group_verify(&m, &tile), POD_E_INVALID, "tile of 4 does not divide");
    POD_CHECK_FAILS(pod_group_verify(&m, &step), POD_E_INVALID, "step of 3 does not divide");
    POD_CHECK_FAILS(pod_group_verify(&m, &step_in_tile), POD_E_INVALID, "step of 4");
    POD_CHECK_FAILS(pod_group_verify(&m, &negative), POD_E_INVALID, "step of -1");
    POD_CHECK_OK(pod_group_verify(&m, &elsewhere));
}

/* The ranks that a message passes, its end among them. */
static void test_routes(void)
{
    static const struct {
        const char *mesh;
        int from, to;
        const char *want;
    } rows[] = {
        {"5", 0, 2, "1 2"},           {"5", 0, 3, "4 3"}, {"5o", 0, 3, "1 2 3"},
        {"4", 0, 2, "1 2"}, /* halfway: even places go up */
        {"4", 1, 3, "0 3"},           {"4", 3, 1, "2 1"}, {"2", 0, 1, "1"},
        {"3x4", 0, 10, "1 10"}, /* x first, then y */
        {"3ox4o", 0, 10, "1 4 7 10"}, {"3x4", 7, 7, ""},  {"2ox3x3", 0, 17, "1 5 17"},
    };
    for (int i = 0; i < N_OF(rows); i++) {
        const pod_mesh m = coll_mesh(rows[i].mesh);
        char got[64] = "";
        int rank = rows[i].from;
        for (int n = 0; n < 8; n++) {
            const pod_coord at = pod_mesh_coord(&m, rank), to = pod_mesh_coord(&m, rows[i].to);
            pod_hop hop;
            if (!pod_route_next(&m, &at, &to, &hop)) break;
            rank = pod_mesh_neighbor(&m, rank, hop.dim, hop.dir);
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", got[0] ? " " : "", rank);
        }
        POD_CHECK(strcmp(got, rows[i].want) == 0, "%s: %d to %d over %s, want %s", rows[i].mesh,
                  rows[i].from, rows[i].to, got, rows[i].want);
    }
}

static void test_links(void)
{
    const pod_mesh m = coll_mesh("3x4");
    char text[POD_LINK_TEXT_BYTES];
    CU_ASSERT_EQUAL(pod_route_n_links(&m), 48);
    const int link = pod_route_link(&m, 7, (pod_hop){1, -1});
    CU_ASSERT_EQUAL(link, 3 * 12 + 7);
    CU_ASSERT_STRING_EQUAL(pod_route_link_print(&m, link, text, sizeof text),
                           "dimension 1 down from 1,2");
    CU_ASSERT_STRING_EQUAL(pod_route_link_print(&m, 0, text, sizeof text),
                           "dimension 0 up from 0,0");
}

/* Neighbours in rank up to 16, then tiles; chips of two cores as the MLPerf code lays them out. */
static void test_group_tiles(void)
{
    static const struct {
        const char *mesh;
        int size, tile[POD_MESH_MAX_DIMS];
    } cases[] = {
        {"2x2", 1, {1, 1}},         {"2x2", 2, {2, 1}},         {"2x2", 4, {2, 2}},
        {"4x2", 8, {4, 2}},         {"4x4", 2, {2, 1}},         {"4x4", 8, {4, 2}},
        {"64", 32, {32}},           {"3x5", 3, {3, 1}},         {"2x8x16", 16, {2, 8, 1}},
        {"2x16x16", 32, {2, 4, 4}}, {"2x32x64", 64, {2, 8, 4}}, {"2x128x32", 128, {2, 8, 8}},
        {"16x16", 32, {8, 4}},      {"32x2", 32, {16, 2}},      {"32x2", 64, {32, 2}}};
    for (int i = 0; i < N_OF(cases); i++) {
        const pod_mesh m = coll_mesh(cases[i].mesh);
        pod_group g;
        POD_CHECK_OK(pod_group_tiles(&m, cases[i].size, &g));
        POD_CHECK_OK(pod_group_verify(&m, &g));
        CU_ASSERT_EQUAL(pod_group_size(&m, &g), cases[i].size);
        for (int d = 0; d < m.n_dims; d++)
            POD_CHECK(pod_group_extent(&m, &g, d) == cases[i].tile[d], "%d of %s: %d along %d",
                      cases[i].size, cases[i].mesh, pod_group_extent(&m, &g, d), d);
    }
    const pod_mesh m = coll_mesh("6x4");
    pod_group g;
    POD_CHECK_FAILS(pod_group_tiles(&m, 4, &g), POD_E_INVALID,
                    "groups of 4 cores do not tile the mesh 6x4; sizes that do: 1 2 3 6 12 24");
    POD_CHECK_FAILS(pod_group_tiles(&m, 48, &g), POD_E_INVALID, "groups of 48 cores do not tile");
}

POD_TEST_SUITE("mesh", {"parse and print", test_parse}, {"parse refuses", test_parse_refuses},
               {"coordinates", test_coordinates}, {"neighbours", test_neighbors},
               {"members of groups", test_group_members},
               {"groups that do not fit", test_group_faults},
               {"groups by their size", test_group_tiles}, {"routes", test_routes},
               {"links", test_links});
