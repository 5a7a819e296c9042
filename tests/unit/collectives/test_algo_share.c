/* Algorithms over shared memory: whom they refuse, what they do in how many rounds. That they are
 * right is test_algo's. */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algo/algo.h"
#include "tests/harness/harness.h"

static pod_mesh mesh_of(const char *text)
{
    pod_mesh m = {0};
    POD_CHECK_OK(pod_mesh_parse(text, &m));
    return m;
}

static void test_refusals(void)
{
    static const struct {
        const char *name, *mesh;
        int node_size;
        pod_group group;    /* {0}: all */
        const char *reason; /* NULL: it applies */
    } cases[] = {
        {"direct", "4", 0, {0}, "no ranks share memory"},
        {"direct", "4", 1, {0}, "no ranks share memory"},
        {"direct", "4", 4, {0}, NULL},
        {"direct", "4", 64, {0}, NULL},
        {"direct", "4", 3, {0}, "the group spans more than one node"},
        {"direct", "4x4", 4, {.dims = 1}, NULL},
        {"direct", "4x4", 4, {.dims = 2}, "the group spans more than one node"},
        {"direct", "4x4", 8, {.dims = 2, .tile = {0, 2}}, NULL},
        {"direct", "257", 257, {0}, "the group has more ranks than one sum"},
        {"oneshot", "2x2", 2, {0}, "the group spans more than one node"},
        {"hierarchical", "4", 1, {0}, "no ranks share memory"},
        {"hierarchical", "4", 4, {0}, "there is only one node"},
        {"hierarchical", "4", 8, {0}, "there is only one node"},
        {"hierarchical", "8", 3, {0}, "nodes differ in how many ranks they have"},
        {"hierarchical", "4x4", 4, {.dims = 1}, "the group is not the whole mesh"},
        {"hierarchical", "4x3", 6, {0}, "nodes do not tile the mesh"},
        {"hierarchical", "4x3", 2, {0}, NULL},
        {"hierarchical", "4x3", 4, {0}, NULL},
        {"hierarchical", "2x4x3", 4, {0}, NULL},
        {"hierarchical", "2x512", 512, {0}, "a node has more ranks than one sum"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pod_mesh m = mesh_of(cases[i].mesh);
        pod_coll_args args = {.coll = POD_ALLREDUCE,
                              .dtype = POD_F32,
                              .count = 100,
                              .group = cases[i].group,
                              .node_size = cases[i].node_size};
        if (args.group.dims == 0) args.group = pod_group_all(&m);
        const char *reason = pod_coll_find(POD_ALLREDUCE, cases[i].name)->why_not(&m, &args);
        const bool is_right = cases[i].reason ? reason && strstr(reason, cases[i].reason) : !reason;
        POD_CHECK(is_right, "%s on %s, nodes of %d: '%s', want '%s'", cases[i].name, cases[i].mesh,
                  cases[i].node_size, reason ? reason : "applies",
                  cases[i].reason ? cases[i].reason : "applies");
    }
}

/* Two nodes of two: what the nodes have summed, and that in the end all have all. */
static void test_drawing(void)
{
    static const char *const begins = "elements  0     1     2     3\n"
                                      "start\n"
                                      "  rank 0   0     0     0     0\n"
                                      "  rank 1   1     1     1     1\n"
                                      "  rank 2   2     2     2     2\n"
                                      "  rank 3   3     3     3     3\n"
                                      "round 1\n"
                                      "  rank 0   0-1*  0-1*  0     0\n"
                                      "  rank 1   1     1     0-1*  0-1*\n"
                                      "  rank 2   2-3*  2-3*  2     2\n"
                                      "  rank 3   3     3     2-3*  2-3*\n";
    static const char *const ends = "round 4\n"
                                    "  rank 0   0-3   0-3   0-3*  0-3*\n"
                                    "  rank 1   0-3*  0-3*  0-3   0-3\n"
                                    "  rank 2   0-3   0-3   0-3*  0-3*\n"
                                    "  rank 3   0-3*  0-3*  0-3   0-3\n";
    const pod_mesh m = mesh_of("4");
    const pod_coll_args args = {.coll = POD_ALLREDUCE,
                                .dtype = POD_F32,
                                .count = 4,
                                .group = pod_group_all(&m),
                                .node_size = 2};
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    const pod_sched *const *all;
    POD_CHECK_OK(
        pod_coll_build_all(arena, pod_coll_find(POD_ALLREDUCE, "hierarchical"), &m, &args, &all));
    char *text;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    POD_CHECK_OK(pod_sched_draw(file, all, 4));
    fclose(file);
    const char *end = bytes > strlen(ends) ? text + bytes - strlen(ends) : text;
    POD_CHECK(strncmp(text, begins, strlen(begins)) == 0 && strcmp(end, ends) == 0,
              "printed\n%swant\n%s...\n%s", text, begins, ends);
    free(text);
    pod_arena_destroy(arena);
}

POD_TEST_SUITE("algo_share", {"refusals", test_refusals}, {"drawing", test_drawing});
