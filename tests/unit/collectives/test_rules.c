/* Rules that choose an algorithm: text, choice, refusals, explanation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algo/rules.h"
#include "tests/unit/collectives/coll_cases.h"

static pod_arena *arena;

static int open_arena(void) { return pod_arena_create(NULL, &arena) == POD_OK ? 0 : 1; }

static int close_arena(void)
{
    pod_arena_destroy(arena);
    return 0;
}

static pod_coll_rules *rules_of(const char *text)
{
    pod_coll_rules *r = NULL;
    POD_CHECK_OK(pod_coll_rules_parse(arena, text, &r));
    return r;
}

static void test_round_trip(void)
{
    static const struct {
        const char *text, *printed;
    } cases[] = {
        {POD_COLL_RULES_DEFAULT, POD_COLL_RULES_DEFAULT},
        {"ring", "allreduce:0-:ring"},
        {"allreduce:flat", "allreduce:0-:flat"},
        {"0-1000:tree", "allreduce:0-1000:tree"},
        {"allreduce:0-1.5K:tree;1536-2MB:ring;2m-:torus2d",
         "allreduce:0-1536:tree;1536-2M:ring;2M-:torus2d"},
        {"broadcast:tree;allgather:0-4G:ring;0-:ring;reduce_scatter:ring",
         "broadcast:0-:tree;allgather:0-4G:ring;0-:ring;reduce_scatter:0-:ring"},
        {"allreduce:64K-:ring;allreduce:64K-:flat", "allreduce:64K-:ring;64K-:flat"},
        {"torus2d@256K", "allreduce:0-:torus2d@256K"},
        {"0-1M:ring@1000;1M-:ring2@1.5m;allgather:ring@64K",
         "allreduce:0-1M:ring@1000;1M-:ring2@1536K;allgather:0-:ring@64K"},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        const char *printed = pod_coll_rules_print(arena, rules_of(cases[i].text));
        POD_CHECK(strcmp(printed, cases[i].printed) == 0, "'%s' prints '%s', want '%s'",
                  cases[i].text, printed, cases[i].printed);
        const char *again = pod_coll_rules_print(arena, rules_of(printed));
        POD_CHECK(strcmp(printed, again) == 0, "'%s' reads back as '%s'", printed, again);
    }
}

static void test_parse_refuses(void)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "'' is no algorithm of allreduce ("},
        {"star", "'star' is no algorithm of allreduce"},
        {"broadcast:ring", "'ring' is no algorithm of broadcast (direct, "},
        {"fold:ring", "'fold' is neither a collective"},
        {"allreduce:0-64K:tree;", "'' is no algorithm"},
        {"0-64K:", "'' is no algorithm"},
        {"64K:tree", "'64K' has no '-'"},
        {"64K-0:tree", "65536 to 0 is empty"},
        {"4-4:tree", "4 to 4 is empty"},
        {"0-x:tree", "upper end: 'x' is not a size"},
        {"1.0001-:tree", "lower end: '1.0001' is not a size"},
        {"allreduce:0-:tree:ring", "'ring' stands behind algorithm 'tree'"},
        {"allreduce:tree:ring", "range 'tree' has no '-'"},
        {"allreduce ring", "'allreduce ring' is no algorithm"},
        {"ring@", "chunk: '' is not a size"},
        {"ring@0", "a chunk of 0 bytes for 'ring'"},
        {"ring@4K@8K", "chunk: '4K@8K' is not a size"},
        {"@4K", "'' is no algorithm"},
        {"oneshot@1K", "oneshot moves no blocks in chunks, found '@1K' (those that do: "},
        {"0-64K:tree@2K;ring", "tree moves no blocks in chunks, found '@2K'"},
        {"alltoall:pairwise@4K", "pairwise moves no blocks in chunks, found '@4K'"},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        pod_coll_rules *r = NULL;
        POD_CHECK_FAILS(pod_coll_rules_parse(arena, cases[i].text, &r), POD_E_INVALID,
                        cases[i].part);
        POD_CHECK(!r, "'%s' left rules behind", cases[i].text);
    }
}

static void test_pick(void)
{
    static const struct {
        const char *rules, *mesh;
        int node_size;
        pod_coll coll;
        int64_t count; /* of float32 */
        const char *want;
    } cases[] = {
        {POD_COLL_RULES_DEFAULT, "2x2", 0, POD_ALLREDUCE, 0, "tree"},
        {POD_COLL_RULES_DEFAULT, "2x2", 0, POD_ALLREDUCE, 16383, "tree"},
        {POD_COLL_RULES_DEFAULT, "2x2", 0, POD_ALLREDUCE, 16384, "torus2d"},
        {POD_COLL_RULES_DEFAULT, "2x2", 0, POD_REDUCE_SCATTER, 16384, "ring2"},
        {POD_COLL_RULES_DEFAULT, "2x2", 0, POD_ALLGATHER, 16384, "ring2"},
        {POD_COLL_RULES_DEFAULT, "2x2", 0, POD_BROADCAST, 16384, "scatter_ring"},
        /* a rule that refuses: on to the next rule, then to the table */
        {POD_COLL_RULES_DEFAULT, "1x4", 0, POD_ALLREDUCE, 16384, "ring2"},
        {POD_COLL_RULES_DEFAULT, "1", 0, POD_ALLREDUCE, 16384, "ring"},
        {"torus2d;tree", "4", 0, POD_ALLREDUCE, 16384, "tree"},
        {"torus2d;flat", "2x2", 0, POD_ALLREDUCE, 16384, "torus2d"},
        /* no rule for the size, or for the collective */
        {"0-64K:tree", "2x2", 0, POD_ALLREDUCE, 1 << 20, "torus2d"},
        {"0-64K:tree", "4", 0, POD_ALLREDUCE, 1 << 20, "ring2"},
        {"0-64K:tree", "4o", 0, POD_ALLREDUCE, 1 << 20, "ring"},
        {"broadcast:tree", "2x2", 0, POD_ALLREDUCE, 1, "torus2d"},
        {"flat", "2x2", 0, POD_ALLREDUCE, 1, "flat"},
        /* where ranks share memory: all of them, or those of a node each */
        {POD_COLL_RULES_DEFAULT, "4", 4, POD_ALLREDUCE, 0, "oneshot"},
        {POD_COLL_RULES_DEFAULT, "4", 4, POD_ALLREDUCE, 2047, "oneshot"},
        {POD_COLL_RULES_DEFAULT, "4", 4, POD_ALLREDUCE, 2048, "direct"},
        {POD_COLL_RULES_DEFAULT, "2x2", 8, POD_ALLREDUCE, 1 << 20, "direct"},
        {POD_COLL_RULES_DEFAULT, "4x2", 4, POD_ALLREDUCE, 2048, "tree"},
        {POD_COLL_RULES_DEFAULT, "4x2", 4, POD_ALLREDUCE, 16384, "hierarchical"},
        {POD_COLL_RULES_DEFAULT, "3x2", 4, POD_ALLREDUCE, 16384, "torus2d"},
        {POD_COLL_RULES_DEFAULT, "1x8", 2, POD_ALLREDUCE, 16384, "hierarchical"},
        {POD_COLL_RULES_DEFAULT, "2x2x4", 2, POD_ALLREDUCE, 16384, "hierarchical"},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        pod_mesh m = coll_mesh(cases[i].mesh);
        pod_coll_args args = coll_args(&m, cases[i].coll, cases[i].count);
        args.node_size = cases[i].node_size;
        const pod_coll_algo *algo = pod_coll_pick(rules_of(cases[i].rules), &m, &args);
        POD_CHECK(algo->coll == cases[i].coll && strcmp(algo->name, cases[i].want) == 0,
                  "%s on %s, nodes of %d, %s of %d: %s, want %s", cases[i].rules, cases[i].mesh,
                  cases[i].node_size, pod_coll_name(cases[i].coll), (int)cases[i].count, algo->name,
                  cases[i].want);
    }
    /* A row of a mesh is a group of one dimension. */
    pod_mesh m = coll_mesh("4x4");
    pod_coll_args row = coll_args(&m, POD_ALLREDUCE, 1 << 20);
    row.group = (pod_group){.dims = 1};
    POD_CHECK(strcmp(pod_coll_pick(rules_of("torus2d"), &m, &row)->name, "ring2") == 0, "row");
    /* Bytes, not elements. */
    pod_coll_args bf16 = coll_args(&m, POD_ALLREDUCE, 16384);
    bf16.dtype = POD_BF16;
    POD_CHECK(strcmp(pod_coll_pick(rules_of(POD_COLL_RULES_DEFAULT), &m, &bf16)->name, "tree") == 0,
              "bf16");
}

/* Who goes on to the table is told the first rule that refused, if one was for the size. */
static void test_apply(void)
{
    static const struct {
        const char *rules, *mesh;
        bool want;
        const char *refused; /* NULL: no rule is for the size */
    } cases[] = {
        {"torus2d", "2x2", true, NULL},
        {"torus2d;ring", "4", true, NULL},
        {"0-64K:direct;hierarchical;torus2d", "4", false, "hierarchical"},
        {"direct;torus2d", "4", false, "direct"},
        {"0-64K:tree", "4", false, NULL},
        {"broadcast:tree", "4", false, NULL},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        pod_mesh m = coll_mesh(cases[i].mesh);
        const pod_coll_args args = coll_args(&m, POD_ALLREDUCE, 1 << 20);
        pod_coll_refusal found = {NULL, NULL};
        const bool applies = pod_coll_rules_apply(rules_of(cases[i].rules), &m, &args, &found);
        const char *refused = found.algo ? found.algo->name : NULL;
        POD_CHECK(applies == cases[i].want, "%s on %s: %d", cases[i].rules, cases[i].mesh, applies);
        POD_CHECK(
            !refused == !cases[i].refused && (!refused || strcmp(refused, cases[i].refused) == 0),
            "%s on %s: %s refuses", cases[i].rules, cases[i].mesh, refused ? refused : "nobody");
        POD_CHECK(!refused == !found.reason, "%s: a refusal without a reason", cases[i].rules);
    }
}

/* Of several the largest is told of, whatever comes first, and how many there are. */
static void test_missed(void)
{
    const pod_mesh m = coll_mesh("4");
    const int64_t count[] = {8, 1 << 20, 64, 1 << 10};
    pod_coll_args args[4];
    for (int i = 0; i < 4; i++) args[i] = coll_args(&m, POD_ALLREDUCE, count[i]);
    static const struct {
        const char *rules, *want; /* NULL: nothing */
    } cases[] = {
        {"ring", NULL},
        {"0-2K:ring", "algo: no rule is for allreduce of 4194304 bytes, which goes by "},
        {"0-2K:ring", " (the largest of 2 that go by no rule)"},
        {"1M-:ring;0-32:ring", "of 4096 bytes, which"},
        {"direct", "algo: direct refuses ("},
        {"direct", "): allreduce of 4194304 bytes goes by "},
        {"direct", " (the largest of 4 that go by no rule)"},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        const char *text = pod_coll_rules_missed(arena, rules_of(cases[i].rules), &m, args, 4);
        POD_CHECK(!text == !cases[i].want && (!text || strstr(text, cases[i].want)), "%s: '%s'",
                  cases[i].rules, text ? text : "");
    }
    const char *one = pod_coll_rules_missed(arena, rules_of("direct"), &m, args, 1);
    POD_CHECK(one && !strstr(one, "largest"), "'%s'", one ? one : "");
}

static void check_explained(const char *rules, const pod_mesh *m, const pod_coll_args *args,
                            const char *want)
{
    char *text;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    pod_coll_explain(file, rules_of(rules), m, args);
    fclose(file);
    POD_CHECK(strncmp(text, want, strlen(want)) == 0, "printed\n%swant\n%s", text, want);
    free(text);
}

static void test_explain(void)
{
    pod_mesh m = coll_mesh("1x4");
    pod_coll_args args = coll_args(&m, POD_ALLREDUCE, 1 << 18);
    check_explained("direct;64K-:hierarchical;0-64K:tree;flat", &m, &args,
                    "allreduce of 1M over 4 ranks\n"
                    "  direct (rule 0-) refuses: no ranks share memory\n"
                    "  hierarchical (rule 64K-) refuses: no ranks share memory\n"
                    "  flat (rule 0-): the specification: sums in rank order\n");
    args.node_size = 2;
    check_explained("direct;hierarchical", &m, &args,
                    "allreduce of 1M over 4 ranks\n"
                    "  direct (rule 0-) refuses: the group spans more than one node\n"
                    "  hierarchical (rule 0-): much data on several nodes\n");
    args.node_size = 3;
    check_explained("hierarchical;flat", &m, &args,
                    "allreduce of 1M over 4 ranks\n"
                    "  hierarchical (rule 0-) refuses: nodes differ in how many ranks they have\n");
    args.node_size = 4;
    check_explained("hierarchical;ring", &m, &args,
                    "allreduce of 1M over 4 ranks\n"
                    "  hierarchical (rule 0-) refuses: there is only one node\n");
    check_explained("0-64K:ring", &m, &args,
                    "allreduce of 1M over 4 ranks\n"
                    "  direct (no rule): much data within a node\n");
}

/* What pod_coll_pick rests on: the last algorithm of every collective refuses nothing, and those of
 * one collective stand together. */
static void test_table(void)
{
    int n;
    const pod_coll_algo *algos = pod_coll_algos(&n);
    bool is_there[POD_N_COLLS] = {false};
    for (int i = 0; i < n; i++) {
        pod_coll coll = algos[i].coll;
        bool is_last = i == n - 1 || algos[i + 1].coll != coll;
        POD_CHECK(pod_coll_find(coll, algos[i].name) == &algos[i], "%s is not found or there twice",
                  algos[i].name);
        POD_CHECK(!is_there[coll], "%s: those of one collective do not stand together",
                  algos[i].name);
        is_there[coll] = is_last;
        for (int k = 0; is_last && k < 4; k++) {
            static const char *const meshes[] = {"1", "1x4", "2x2", "2x3x4"};
            pod_mesh m = coll_mesh(meshes[k]);
            const pod_coll_args args = coll_args(&m, coll, k);
            POD_CHECK(!algos[i].why_not(&m, &args), "%s %s refuses", pod_coll_name(coll),
                      algos[i].name);
        }
    }
    for (int c = 0; c < POD_N_COLLS; c++)
        POD_CHECK(is_there[c], "no %s", pod_coll_name((pod_coll)c));
    POD_CHECK(!pod_coll_find(POD_BROADCAST, "flat"), "an algorithm of another collective");
}

/* A rule's chunk goes to the arguments; without one they stay; one that refuses leaves nothing. */
static void test_chunk(void)
{
    static const struct {
        const char *rules, *mesh;
        int64_t want; /* chunk_bytes, where 77 went in */
    } cases[] = {
        {"ring@256K", "4", 262144},      {"ring", "4", 77},
        {"torus2d@256K;tree", "4", 77},  {"torus2d@256K;ring@4K", "4", 4096},
        {"torus2d@8", "2x2", 8},         {"0-1K:ring@8;1K-:ring@16", "4", 16},
        {"allgather:ring@8", "2x2", 77},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        pod_mesh m = coll_mesh(cases[i].mesh);
        pod_coll_args args = coll_args(&m, POD_ALLREDUCE, 4096);
        args.chunk_bytes = 77;
        (void)pod_coll_pick(rules_of(cases[i].rules), &m, &args);
        POD_CHECK(args.chunk_bytes == cases[i].want, "%s on %s: %d, want %d", cases[i].rules,
                  cases[i].mesh, (int)args.chunk_bytes, (int)cases[i].want);
    }
}

static int32_t steps_of(const pod_coll_algo *algo, const pod_mesh *m, const pod_coll_args *args)
{
    const pod_sched *s;
    int32_t n = 0;
    POD_CHECK_OK(pod_coll_build(arena, algo, m, 0, args, &s));
    (void)pod_sched_steps(s, &n);
    return n;
}

/* What the table says of chunks is what a chunk changes: on some mesh the steps, or on none. */
static void test_takes_chunk(void)
{
    static const struct {
        const char *mesh;
        int node_size;
    } cases[] = {{"5", 1}, {"5", 5}, {"4x4", 1}, {"4x4", 4}, {"2x3x4", 1}, {"8", 1}};
    int n;
    const pod_coll_algo *algos = pod_coll_algos(&n);
    for (int i = 0; i < n; i++) {
        bool is_cut = false;
        for (int k = 0; k < N_OF(cases); k++) {
            const pod_mesh m = coll_mesh(cases[k].mesh);
            pod_coll_args args = coll_args(&m, algos[i].coll, 240 * 64);
            args.node_size = cases[k].node_size;
            if (algos[i].why_not(&m, &args)) continue;
            const int32_t whole = steps_of(&algos[i], &m, &args);
            args.chunk_bytes = 64;
            is_cut |= steps_of(&algos[i], &m, &args) != whole;
        }
        POD_CHECK(is_cut == algos[i].takes_chunk, "%s %s: cut %d, its table says %d",
                  pod_coll_name(algos[i].coll), algos[i].name, is_cut, algos[i].takes_chunk);
    }
}

/* ---- files --------------------------------------------------------------------------------- */

static const char *file_of(const char *text, size_t bytes)
{
    static char path[] = "rules.tmp";
    FILE *file = fopen(path, "w");
    POD_CHECK(file && fwrite(text, 1, bytes, file) == bytes, "%s", path);
    if (file) fclose(file);
    return path;
}

static void test_file(void)
{
    static const char text[] = "# measured on some host\n"
                               "\n"
                               "allreduce:0-64K:tree\r\n"
                               "  64K-1M:ring@16K;1M-:bucket   # and why\n"
                               "allgather:ring";
    pod_coll_rules *r = NULL;
    POD_CHECK_OK(pod_coll_rules_read(arena, file_of(text, strlen(text)), &r));
    const char *printed = r ? pod_coll_rules_print(arena, r) : "";
    POD_CHECK(strcmp(printed, "allreduce:0-64K:tree;64K-1M:ring@16K;1M-:bucket;"
                              "allgather:0-:ring") == 0,
              "'%s'", printed);
    pod_coll_rules *loaded = NULL;
    POD_CHECK_OK(pod_coll_rules_load(arena, "@rules.tmp", &loaded));
    POD_CHECK(loaded && strcmp(pod_coll_rules_print(arena, loaded), printed) == 0, "loaded");
    POD_CHECK_OK(pod_coll_rules_load(arena, "tree", &loaded));
}

static void test_file_refuses(void)
{
    static const struct {
        const char *text;
        size_t bytes;
        const char *part;
    } cases[] = {
        {"", 0, "rules.tmp: there is no rule in it"},
        {"# only\n\n", 8, "rules.tmp: there is no rule in it"},
        {"tree\n\n0-1K:star\n", 16, "rules.tmp:3: rules: 'star' is no algorithm"},
        {"tree;\n", 6, "rules.tmp:1: rules: '' is no algorithm"},
        {"tree\0ring", 9, "a byte 0"},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        pod_coll_rules *r = NULL;
        POD_CHECK_FAILS(pod_coll_rules_read(arena, file_of(cases[i].text, cases[i].bytes), &r),
                        POD_E_INVALID, cases[i].part);
        POD_CHECK(!r, "case %d left rules behind", (int)i);
    }
    const size_t bytes = POD_COLL_RULES_FILE_BYTES + 1;
    char *blank = malloc(bytes);
    memset(blank, ' ', bytes);
    pod_coll_rules *r = NULL;
    POD_CHECK_FAILS(pod_coll_rules_read(arena, file_of(blank, bytes), &r), POD_E_INVALID,
                    "more than 65536 bytes");
    POD_CHECK_FAILS(pod_coll_rules_read(arena, file_of(blank, bytes - 1), &r), POD_E_INVALID,
                    "no rule in it");
    free(blank);
    remove("rules.tmp");
    POD_CHECK_FAILS(pod_coll_rules_load(arena, "@rules.tmp", &r), POD_E_IO, "rules.tmp: No such");
    POD_CHECK_FAILS(pod_coll_rules_load(arena, "@/", &r), POD_E_IO, "/: ");
}

POD_TEST_SUITE_WITH("rules", open_arena, close_arena, {"round trip", test_round_trip},
                    {"parse refuses", test_parse_refuses}, {"pick", test_pick},
                    {"apply", test_apply}, {"missed", test_missed}, {"explain", test_explain},
                    {"chunk", test_chunk}, {"takes chunk", test_takes_chunk}, {"file", test_file},
                    {"file refuses", test_file_refuses}, {"table", test_table});
