/* Who was waited for: hand-made steps of ranks that run one program of two collectives. The first
 * is of all ranks (instructions 1, its start, and 2, its wait), the second of rows of two (3 and
 * 4). */
#include "runtime/trace/flows.h"
#include "tests/harness/harness.h"

static const pod_time us = 1000000;

static const pod_instr instr[] = {
    {.kind = POD_I_RUN, .label = "conv"},
    {.kind = POD_I_COLL_START, .label = "all", .ticket = 0},
    {.kind = POD_I_COLL_WAIT, .label = "all", .ticket = 0},
    {.kind = POD_I_COLL_START, .label = "row", .ticket = 1},
    {.kind = POD_I_COLL_WAIT, .label = "row", .ticket = 1},
};
enum { ALL = 2, ROW = 4, MAX_EVENTS = 16 };

static pod_arena *arena;
static pod_program program;
static pod_program_coll coll[2];

typedef struct rank_step {
    pod_event event[MAX_EVENTS];
    int64_t n;
} rank_step;

static void make_program(const char *mesh)
{
    program = (pod_program){.instr = instr, .n_instrs = 5, .coll = coll, .n_colls = 2};
    arena = pod_test_arena();
    POD_CHECK_OK(pod_mesh_parse(mesh, &program.mesh));
    coll[0].args.group = pod_group_all(&program.mesh);
    coll[1].args.group = (pod_group){.dims = 1};
}

/* A collective that starts at `start` and is waited for from `wait` until `end`, microseconds; in
 * the order in which real and sim write. */
static void add(rank_step *r, int32_t which, int start, int wait, int end, bool as_sim)
{
    const pod_event flight = {
        .begin = start * us, .end = end * us, .instr = which, .lane = POD_LANE_COMM};
    const pod_event waits = {
        .begin = wait * us, .end = end * us, .instr = which, .lane = POD_LANE_COMPUTE};
    r->event[r->n++] = as_sim ? flight : waits;
    r->event[r->n++] = as_sim ? waits : flight;
}

static const pod_flow *find(const rank_step ranks[], int n_ranks, int least_us, int *n)
{
    static pod_trace_part part[4];
    const pod_flow *flow = NULL;
    for (int r = 0; r < n_ranks; r++)
        part[r] = (pod_trace_part){.rank = r, .event = ranks[r].event, .n = ranks[r].n};
    *n = -1;
    POD_CHECK_OK(pod_flows_find(arena, &program, part, n_ranks, least_us * us, &flow, n));
    return flow;
}

/* Rank 1 comes last, at 300: rank 0 waits since 100, rank 2 since 290, rank 3 only from 310 on. */
static void the_last_holds_up_those_before(void)
{
    make_program("2x2");
    for (int as_sim = 0; as_sim < 2; as_sim++) {
        rank_step r[4] = {{{{0}}, 0}};
        add(&r[0], ALL, 50, 100, 320, as_sim);
        add(&r[1], ALL, 300, 305, 321, as_sim);
        add(&r[2], ALL, 280, 290, 322, as_sim);
        add(&r[3], ALL, 10, 310, 330, as_sim);
        int n;
        const pod_flow *f = find(r, 4, 5, &n);
        CU_ASSERT_EQUAL(n, 2);
        if (n != 2) continue;
        CU_ASSERT(f[0].from == 1 && f[0].to == 0 && f[0].number == 1);
        CU_ASSERT_EQUAL(f[0].waited, 200 * us);
        CU_ASSERT(f[1].from == 1 && f[1].to == 2 && f[1].waited == 10 * us);
        CU_ASSERT_EQUAL(r[1].event[f[0].flight].begin, 300 * us);
        CU_ASSERT_EQUAL(r[1].event[f[0].flight].lane, POD_LANE_COMM);
        CU_ASSERT_EQUAL(r[0].event[f[0].wait].begin, 100 * us);
        CU_ASSERT_EQUAL(r[0].event[f[0].wait].lane, POD_LANE_COMPUTE);
        (void)find(r, 4, 20, &n); /* 10 us are not worth an arrow now */
        CU_ASSERT_EQUAL(n, 1);
    }
}

/* Rows meet apart: in the second collective rank 1 holds up rank 0, and 2 holds up 3, though rank 1
 * comes last of all. */
static void groups_know_nothing_of_each_other(void)
{
    make_program("2x2");
    rank_step r[4] = {{{{0}}, 0}};
    for (int i = 0; i < 4; i++) add(&r[i], ALL, 10, 10, 20, false);
    add(&r[0], ROW, 30, 40, 220, false);
    add(&r[1], ROW, 200, 210, 220, false);
    add(&r[2], ROW, 100, 110, 150, false);
    add(&r[3], ROW, 30, 40, 150, false);
    int n;
    const pod_flow *f = find(r, 4, 20, &n);
    CU_ASSERT_EQUAL(n, 2);
    if (n == 2) {
        CU_ASSERT(f[0].from == 1 && f[0].to == 0 && f[0].number == 2 && f[0].waited == 160 * us);
        CU_ASSERT(f[1].from == 2 && f[1].to == 3 && f[1].number == 2 && f[1].waited == 60 * us);
    }
}

/* Of those that come at once the first in rank; nobody waited for it for any time. */
static void equals(void)
{
    make_program("2x1");
    rank_step r[2] = {{{{0}}, 0}};
    add(&r[0], ALL, 100, 100, 150, false);
    add(&r[1], ALL, 100, 100, 150, false);
    int n;
    (void)find(r, 2, 1, &n);
    CU_ASSERT_EQUAL(n, 0);
    const pod_flow *f = find(r, 2, 0, &n);
    CU_ASSERT_EQUAL(n, 1);
    if (n == 1) CU_ASSERT(f[0].from == 0 && f[0].to == 1 && f[0].waited == 0);
}

/* A collective that runs in every micro-step: the k-th time of one rank meets the k-th of the
 * other. */
static void micro_steps(void)
{
    make_program("2x1");
    rank_step r[2] = {{{{0}}, 0}};
    for (int k = 0; k < 3; k++) {
        add(&r[0], ALL, 1000 * k, 1000 * k, 1000 * k + 500, false);
        add(&r[1], ALL, 1000 * k + 100 * k, 1000 * k + 100 * k, 1000 * k + 500, false);
    }
    int n;
    const pod_flow *f = find(r, 2, 20, &n);
    CU_ASSERT_EQUAL(n, 2);
    if (n == 2) {
        CU_ASSERT(f[0].number == 2 && f[0].waited == 100 * us);
        CU_ASSERT(f[1].number == 3 && f[1].waited == 200 * us);
    }
}

/* Events that found no room: what all ranks have is looked at, the rest is not. */
static void what_is_missing(void)
{
    make_program("2x1");
    rank_step r[2] = {{{{0}}, 0}};
    add(&r[0], ALL, 0, 0, 300, false);
    add(&r[1], ALL, 200, 200, 300, false);
    add(&r[0], ROW, 300, 300, 600, false);
    add(&r[1], ROW, 500, 500, 600, false);
    int n;
    (void)find(r, 2, 20, &n);
    CU_ASSERT_EQUAL(n, 2);
    r[1].n = 3; /* its second wait, no flight */
    (void)find(r, 2, 20, &n);
    CU_ASSERT_EQUAL(n, 1);
    r[1].n = 0;
    (void)find(r, 2, 20, &n);
    CU_ASSERT_EQUAL(n, 0);
    r[0].n = 0;
    (void)find(r, 2, 20, &n);
    CU_ASSERT_EQUAL(n, 0);
    (void)find(r, 1, 20, &n);
    CU_ASSERT_EQUAL(n, 0);
}

POD_TEST_SUITE("runtime.flows", {"the last holds up those before", the_last_holds_up_those_before},
               {"groups know nothing of each other", groups_know_nothing_of_each_other},
               {"equals", equals}, {"micro-steps", micro_steps},
               {"what is missing", what_is_missing});
