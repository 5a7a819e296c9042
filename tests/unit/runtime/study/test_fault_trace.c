/* Traces of node faults: what is read, what is refused, and how a job's nodes replay one. */
#include "runtime/study/fault_trace.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/study/job_sim.h"
#include "tests/harness/harness.h"

#define START(node, at) \
    "{\"node_id\": \"" node "\", \"event_time\": " at ", \"event_type\": \"fault_start\"}"
#define END(node, at) \
    "{\"node_id\": \"" node "\", \"event_time\": " at ", \"event_type\": \"fault_end\"}"

static const pod_stamp day = (pod_stamp)86400 * 1000000000;

static void good(void)
{
    pod_fault_trace t = {0};
    /* Out of order, and the second fault of y does not end. */
    POD_CHECK_OK(pod_fault_trace_parse(pod_test_arena(), "t",
                                       "[" START("y", "2") "," START("x", "0.5") "," END(
                                           "x", "1") "," END("y", "3") "," START("y", "2.5") "]",
                                       &t));
    CU_ASSERT_EQUAL(t.n_nodes, 2);
    CU_ASSERT_EQUAL(t.n_faults, 3);
    CU_ASSERT_EQUAL(t.end, 3 * day);
    CU_ASSERT_EQUAL_FATAL(t.n_events, 6);
    const pod_node_event want[] = {{day / 2, 0, true},  {day, 0, false},
                                   {2 * day, 1, true},  {day * 5 / 2, 1, true},
                                   {3 * day, 1, false}, {3 * day, 1, false}};
    for (int i = 0; i < 6; i++) {
        CU_ASSERT_EQUAL(t.event[i].at, want[i].at);
        CU_ASSERT_EQUAL(t.event[i].node, want[i].node);
        CU_ASSERT_EQUAL(t.event[i].is_down, want[i].is_down);
    }
}

static void bad(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "t: is no JSON array of node faults"},
        {"[]", "with at least one"},
        {"{\"a\": 1}", "is no JSON array"},
        {"[" START("x", "1"), "is no JSON array"},
        {"[3]", "event 1 has no text 'node_id'"},
        {"[" START("x", "1") ", {\"node_id\": 4}]", "event 2 has no text 'node_id'"},
        {"[" START("x", "\"1\"") "]", "event 1 has no 'event_time' within 0 to 36525 days"},
        {"[" START("x", "-1") "]", "no 'event_time' within"},
        {"[" START("x", "1e9") "]", "no 'event_time' within"},
        {"[{\"node_id\": \"x\", \"event_time\": 1}]", "'event_type' is '', want fault_start or"},
        {"[{\"node_id\": \"x\", \"event_time\": 1, \"event_type\": \"up\"}]", "is 'up', want"},
        {"[" END("x", "1") "]", "event 1: a fault of node x ends that did not begin"},
        {"[" START("x", "2") "," END("x", "1") "]", "event 2: a fault of node x ends"},
        {"[" START("x", "0.04") "]", "ends 0.04 days after its beginning, want an hour"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pod_fault_trace t;
        POD_CHECK_FAILS(pod_fault_trace_parse(pod_test_arena(), "t", cases[i].text, &t),
                        POD_E_FORMAT, cases[i].says);
    }
}

/* A node is down from day 1 to 2 of a trace of 4 days, over and over: a job on all its nodes, from
 * half a day on, runs half a day, waits one, runs three, waits one. */
static void replay_goes_round(void)
{
    static const pod_node_event event[] = {{(pod_stamp)86400 * 1000000000, 0, true},
                                           {(pod_stamp)2 * 86400 * 1000000000, 0, false},
                                           {(pod_stamp)4 * 86400 * 1000000000, 1, true},
                                           {(pod_stamp)4 * 86400 * 1000000000, 1, false}};
    const pod_fault_trace t = {
        .n_nodes = 2, .n_faults = 2, .n_events = 4, .event = event, .end = 4 * day};
    pod_nodes *nodes = NULL;
    POD_CHECK_FAILS(pod_nodes_replay(&t, 1, 0, 1, 1, &nodes), POD_E_INVALID,
                    "2 nodes with a fault, found 1");
    POD_CHECK_FAILS(pod_nodes_replay(&t, 9, 0, 10, 8, &nodes), POD_E_INVALID,
                    "are 10 nodes, the trace has 9");
    POD_NEED_OK(pod_nodes_replay(&t, 3, day / 2, 3, 3, &nodes));
    pod_nodes_begin(nodes, 5, 0);
    CU_ASSERT_EQUAL(pod_nodes_take(nodes, 0, 99 * day), 0);
    static const struct {
        int down, up; /* half days */
    } want[] = {{1, 3}, {7, 7}, {9, 11}, {15, 15}, {17, 19}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const pod_stamp at = pod_nodes_watch(nodes, 99 * day);
        CU_ASSERT_EQUAL(at, want[i].down * day / 2);
        CU_ASSERT_EQUAL(pod_nodes_take(nodes, at, 99 * day), want[i].up * day / 2);
    }
    pod_nodes_destroy(nodes);
    /* Begins while the node is down; and at a time that is drawn. */
    nodes = NULL;
    POD_NEED_OK(pod_nodes_replay(&t, 2, day * 3 / 2, 2, 2, &nodes));
    pod_nodes_begin(nodes, 5, 0);
    CU_ASSERT_EQUAL(pod_nodes_take(nodes, 0, 99 * day), day / 2);
    pod_nodes_destroy(nodes);
}

/* One node of the trace among 100: most jobs on 10 of them never see it. */
static void replay_samples(void)
{
    static const pod_node_event event[] = {{(pod_stamp)86400 * 1000000000, 0, true},
                                           {(pod_stamp)4 * 86400 * 1000000000, 0, false}};
    const pod_fault_trace t = {
        .n_nodes = 1, .n_faults = 1, .n_events = 2, .event = event, .end = 4 * day};
    enum { N = 2000 };
    pod_nodes *nodes = NULL;
    int n_seen = 0, n_at_once = 0;
    POD_NEED_OK(pod_nodes_replay(&t, 100, -1, 10, 10, &nodes));
    for (uint32_t job = 0; job < N; job++) {
        pod_nodes_begin(nodes, 1, job);
        const bool at_once = pod_nodes_take(nodes, 0, 9 * day) == 0;
        n_at_once += at_once;
        n_seen += !at_once || pod_nodes_watch(nodes, 9 * day) < 9 * day;
    }
    /* A tenth sees it; of these three of four begin while it is down. Four standard deviations are
     * 54 and 47. */
    POD_CHECK(abs(n_seen - N / 10) < 54, "%d of %d jobs see the node", n_seen, N);
    POD_CHECK(abs(N - n_at_once - N * 3 / 40) < 47, "%d of %d begin at once", n_at_once, N);
    pod_nodes_destroy(nodes);
}

/* The figures that stand beside the file. */
static void a_cluster(void)
{
    const char *folder = pod_test_data("trace-infinitehbd");
    pod_arena *a = pod_test_arena();
    pod_fault_trace t = {0};
    if (!folder) {
        pod_test_skip("trace-infinitehbd", "the data set is not here");
        return;
    }
    POD_CHECK_OK(pod_fault_trace_read(a, pod_test_text("%s/fault_trace.json", folder), &t));
    CU_ASSERT_EQUAL(t.n_nodes, 231);
    CU_ASSERT_EQUAL(t.n_faults, 584);
    CU_ASSERT_DOUBLE_EQUAL((double)t.end / (double)day, 348.9798, 1e-9);
    int *open = POD_ARENA_NEW(a, int, t.n_nodes);
    pod_stamp down = 0, *since = POD_ARENA_NEW(a, pod_stamp, t.n_nodes);
    for (int i = 0; open && since && i < t.n_events; i++) {
        const pod_node_event *e = &t.event[i];
        if (e->is_down && open[e->node]++ == 0) since[e->node] = e->at;
        if (!e->is_down && --open[e->node] == 0) down += e->at - since[e->node];
    }
    CU_ASSERT_DOUBLE_EQUAL((double)down / (400 * (double)t.end), 0.0231, 0.00005);
}

POD_TEST_SUITE("fault trace", {"good", good}, {"bad", bad},
               {"replay goes round", replay_goes_round}, {"replay samples", replay_samples},
               {"a cluster", a_cluster});
