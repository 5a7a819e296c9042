/* The trace of hand-made steps, read back with cJSON and judged as a viewer would. */
#include <cJSON.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "runtime/core/file.h"
#include "runtime/trace/trace.h"
#include "tests/harness/harness.h"
#include "tests/tools/trace_check.h"

static const pod_time us = 1000000;

/* Two collectives, A of 4096 bytes and B of 1024, started by instructions 1 and 2, waited for by 3
 * and 4. */
static const pod_slot slot[] = {{.bytes = 4096}, {.bytes = 1024}};
static pod_program_coll coll[] = {{.slot = 0}, {.slot = 1}};
static const pod_instr instr[] = {
    {.label = "conv1", .op = "conv2d", .impl = "gemm_1x1"},
    {.label = "a", .op = "allreduce", .impl = "ring", .kind = POD_I_COLL_START, .ticket = 0},
    {.label = "b", .op = "allreduce", .impl = "ring", .kind = POD_I_COLL_START, .ticket = 1},
    {.label = "say \"hi\"/\xff", .op = "allreduce", .impl = "ring", .kind = POD_I_COLL_WAIT},
    {.label = "b", .op = "allreduce", .impl = "tree", .kind = POD_I_COLL_WAIT, .ticket = 1},
};
static pod_program program = {
    .instr = instr, .n_instrs = 5, .coll = coll, .n_colls = 2, .slot = slot, .n_slots = 2};

static pod_event event(pod_lane lane, pod_phase phase, int32_t i, int64_t begin, int64_t end)
{
    return (pod_event){.begin = begin * us,
                       .end = end * us,
                       .step = 4,
                       .instr = i,
                       .phase = (uint8_t)phase,
                       .lane = (uint8_t)lane};
}

/* Rank 0 starts A at 30 and B at 40, waits for A from 50 on; rank 1 starts A at 200. Both are in
 * flight at once: B begins before A ends. */
static int make_step(pod_event *e, int rank, int64_t at)
{
    const int64_t late = rank == 0 ? 0 : 170;
    int n = 0;
    e[n++] = event(POD_LANE_COMPUTE, POD_PHASE_INPUT, -1, at, at + 10);
    e[n++] = event(POD_LANE_COMPUTE, POD_PHASE_FORWARD, 0, at + 10, at + 30 + late);
    e[n++] = event(POD_LANE_COMPUTE, POD_PHASE_REDUCE, 1, at + 30 + late, at + 40 + late);
    e[n++] = event(POD_LANE_COMPUTE, POD_PHASE_REDUCE, 2, at + 40 + late, at + 50 + late);
    e[n++] = event(POD_LANE_COMPUTE, POD_PHASE_REDUCE, 3, at + 50 + late, at + 260);
    e[n++] = event(POD_LANE_COMM, POD_PHASE_REDUCE, 3, at + 30 + late, at + 260);
    e[n++] = event(POD_LANE_COMPUTE, POD_PHASE_REDUCE, 4, at + 260, at + 265);
    e[n++] = event(POD_LANE_COMM, POD_PHASE_REDUCE, 4, at + 40 + late, at + 265);
    return n;
}

static const char *trace_path(void) { return pod_test_path("timeline.json"); }

static pod_trace *opened(const int rank[], int n_ranks, pod_time origin)
{
    POD_CHECK_OK(pod_mesh_parse("2x1", &program.mesh));
    for (int c = 0; c < 2; c++) coll[c].args.group = pod_group_all(&program.mesh);
    const pod_trace_plan plan = {.clock = "wall",
                                 .program = &program,
                                 .rank = rank,
                                 .n_ranks = n_ranks,
                                 .attempt = 2,
                                 .origin = origin};
    pod_trace *t = NULL;
    POD_CHECK_OK(pod_trace_open(trace_path(), &plan, &t));
    return t;
}

static pod_trace_counts judged(void)
{
    char why[256] = "";
    pod_trace_counts c;
    POD_CHECK(pod_trace_check(trace_path(), &c, why, sizeof why), "%s", why);
    return c;
}

static void end_json(void *root) { cJSON_Delete(root); }

static const cJSON *read_back(char **text)
{
    POD_NEED_OK(pod_file_read_text(pod_test_arena(), trace_path(), 1 << 20, text));
    cJSON *root = cJSON_Parse(*text);
    POD_CHECK(root != NULL, "not JSON: %s", *text);
    pod_test_at_end(end_json, root);
    return root;
}

/* The k-th event of this kind; NULL where there are fewer. */
static const cJSON *find(const cJSON *root, const char *ph, const char *name, int k)
{
    const cJSON *e;
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(root, "traceEvents"))
    {
        if (strcmp(cJSON_GetObjectItem(e, "ph")->valuestring, ph) == 0 &&
            strcmp(cJSON_GetObjectItem(e, "name")->valuestring, name) == 0 && k-- == 0)
            return e;
    }
    return NULL;
}

static double number(const cJSON *e, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(e, key);
    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

/* When it begins, in nanoseconds as a viewer makes them. */
static int64_t cut(const cJSON *e) { return (int64_t)(number(e, "ts") * 1000); }

static const char *text_in(const cJSON *e, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(e, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static void write_two_ranks(void)
{
    static const int ranks[] = {0, 1};
    pod_event own[2][16];
    pod_trace *t = opened(ranks, 2, 0);
    for (int64_t step = 4; step < 6; step++) {
        pod_trace_part part[2];
        for (int r = 0; r < 2; r++) {
            const int64_t at = 1000 * step;
            part[r] = (pod_trace_part){.rank = r,
                                       .step = step,
                                       .begin = at * us,
                                       .end = (at + 300) * us + 1,
                                       .event = own[r],
                                       .n = make_step(own[r], r, at)};
        }
        POD_CHECK_OK(pod_trace_put_step(t, part));
    }
    POD_CHECK_OK(pod_trace_close(t));
}

static void slices(void)
{
    write_two_ranks();
    const pod_trace_counts c = judged();
    CU_ASSERT_EQUAL(c.ranks, 2);
    CU_ASSERT_EQUAL(c.slices, 2 * 2 * (8 + 1));
    CU_ASSERT_EQUAL(c.steps, 4);
    char *text;
    const cJSON *root = read_back(&text);
    const cJSON *step = find(root, "X", "step 5", 0), *conv = find(root, "X", "conv1", 0);
    const cJSON *wait = find(root, "X", "WAIT_FOR_DATA", 0);
    CU_ASSERT(step && wait && conv);
    POD_CHECK(strstr(text, "\"ts\": 4000.0000005, \"pid\": 1"), "%s", text);
    POD_CHECK(strstr(text, "\"dur\": 300.000001"), "%s", text); /* all digits */
    const cJSON *args = cJSON_GetObjectItem(conv, "args");
    CU_ASSERT_STRING_EQUAL(text_in(conv, "cat"), "forward");
    CU_ASSERT_STRING_EQUAL(text_in(args, "op"), "conv2d");
    CU_ASSERT_STRING_EQUAL(text_in(args, "kernel"), "gemm_1x1");
    CU_ASSERT_EQUAL(number(args, "step"), 5);
    CU_ASSERT_PTR_NULL(cJSON_GetObjectItem(cJSON_GetObjectItem(wait, "args"), "op"));
    /* In the compute lane, in flight: the same label, with bytes and number. */
    const cJSON *flight = find(root, "X", "say \"hi\"/\xef\xbf\xbd", 1);
    CU_ASSERT_EQUAL(number(cJSON_GetObjectItem(flight, "args"), "bytes"), 4096);
    CU_ASSERT_EQUAL(number(cJSON_GetObjectItem(flight, "args"), "number"), 1);
    /* B overlaps A: another row of the lane. */
    const cJSON *other = find(root, "X", "b", 2);
    CU_ASSERT(number(other, "tid") == number(flight, "tid") + 1);
    CU_ASSERT_STRING_EQUAL(
        text_in(cJSON_GetObjectItem(find(root, "M", "process_labels", 0), "args"), "labels"),
        "attempt 2");
}

/* Rank 1 comes 170 us late to A and B; rank 0 was waiting for A since 50, and for B from 260 on
 * only. */
static void arrows(void)
{
    write_two_ranks();
    CU_ASSERT_EQUAL(judged().arrows, 2);
    char *text;
    const cJSON *root = read_back(&text);
    const cJSON *tail = find(root, "s", "allreduce ring #1", 0);
    const cJSON *head = find(root, "f", "allreduce ring #1", 0);
    CU_ASSERT_PTR_NULL(find(root, "s", "allreduce tree #2", 0));
    CU_ASSERT(tail && head);
    if (tail && head) {
        CU_ASSERT(number(tail, "pid") == 1 && cut(tail) == 4200000);
        CU_ASSERT(number(head, "pid") == 0 && cut(head) == 4259000);
        CU_ASSERT_EQUAL(number(tail, "id"), number(head, "id"));
        CU_ASSERT_STRING_EQUAL(text_in(head, "bp"), "e");
    }
}

/* Of rank 0, step 5: A from 30 to 260, B from 40 to 265. */
static void counters(void)
{
    static const int64_t at[] = {4030, 4040, 4260, 4265}, bytes[] = {4096, 5120, 1024, 0};
    write_two_ranks();
    CU_ASSERT_EQUAL(judged().counters, 2 * 2 * 4);
    char *text;
    const cJSON *root = read_back(&text);
    for (int k = 0; k < 4; k++) {
        const cJSON *c = find(root, "C", "bytes in flight", k);
        CU_ASSERT_EQUAL(number(c, "pid"), 0);
        CU_ASSERT_EQUAL(cut(c), 1000 * at[k]);
        CU_ASSERT_EQUAL(number(cJSON_GetObjectItem(c, "args"), "bytes"), bytes[k]);
    }
}

static void deeds(void)
{
    static const int ranks[] = {3};
    const pod_event own[] = {
        {.begin = -5 * us,
         .end = 7 * us,
         .step = 12,
         .lane = POD_LANE_DATA,
         .thread = 2,
         .instr = -1,
         .deed = POD_DEED_BATCH},
        {.begin = 2 * us,
         .end = 3 * us,
         .step = 11,
         .lane = POD_LANE_FILE,
         .instr = -1,
         .deed = POD_DEED_SAVE_COPY},
        {.begin = 4 * us,
         .end = 4 * us,
         .step = 9,
         .lane = POD_LANE_STEPS,
         .instr = -1,
         .deed = POD_DEED_FAULT},
    };
    pod_trace *t = opened(ranks, 1, -5 * us);
    pod_trace_put_beside(t, 0, own, 3);
    POD_CHECK_OK(pod_trace_close(t));
    const pod_trace_counts c = judged();
    CU_ASSERT(c.ranks == 1 && c.slices == 2 && c.data == 1 && c.file == 1 && c.instants == 1);
    char *text;
    const cJSON *root = read_back(&text);
    const cJSON *batch = find(root, "X", "batch 12", 0);
    CU_ASSERT(cut(batch) == 0 && number(batch, "dur") == 12); /* the origin is -5 us */
    CU_ASSERT_EQUAL(number(batch, "pid"), 3);
    CU_ASSERT_EQUAL(cut(find(root, "i", "fault 9", 0)), 9000);
    CU_ASSERT_PTR_NOT_NULL(find(root, "X", "save: copy 11", 0));
}

/* Slices without a gap between them, at times that a double does not hold: in whole nanoseconds as
 * of a host's clock, and in picoseconds as of the simulator's. Each begins where the viewer's ends,
 * or behind it. */
static void no_gaps(void)
{
    enum { N = 5000 };
    static pod_event own[N];
    static const pod_time lengths[] = {345000, 1000, 999, 123457, 7000, 2000001};
    static const int ranks[] = {1};
    pod_time at = 8000000000;
    for (int i = 0; i < N; i++) {
        const pod_time length = lengths[i % 6];
        own[i] = event(POD_LANE_COMPUTE, POD_PHASE_FORWARD, 0, 0, 0);
        own[i].begin = at;
        own[i].end = at += i < N / 2 ? length / 1000 * 1000 : length;
    }
    pod_trace *t = opened(ranks, 1, 0);
    const pod_trace_part part = {.rank = 1, .begin = own[0].begin, .end = at, .event = own, .n = N};
    POD_CHECK_OK(pod_trace_put_step(t, &part));
    POD_CHECK_OK(pod_trace_close(t));
    CU_ASSERT_EQUAL(judged().slices, N + 1);
}

/* On a machine without our kernels: what bounds an instruction, and not what is joined to another. */
static void simulated_work(void)
{
    static const int ranks[] = {0};
    pod_trace_work work[5] = {{"memory", 2e9, 3, 4096, 2}};
    const pod_trace_plan plan = {.clock = "virtual, machine x",
                                 .program = &program,
                                 .rank = ranks,
                                 .n_ranks = 1,
                                 .work = work};
    pod_event own[16];
    const pod_trace_part part = {.end = 300 * us, .event = own, .n = make_step(own, 0, 0)};
    for (int n_joined = 2; n_joined >= 0; n_joined -= 2) {
        pod_trace *t = NULL;
        char *text;
        work[0].n_joined = n_joined;
        POD_CHECK_OK(pod_mesh_parse("1x1", &program.mesh));
        POD_CHECK_OK(pod_trace_open(trace_path(), &plan, &t));
        POD_CHECK_OK(pod_trace_put_step(t, &part));
        POD_CHECK_OK(pod_trace_close(t));
        CU_ASSERT_EQUAL(judged().slices, 8 + (n_joined > 0));
        const cJSON *root = read_back(&text);
        const cJSON *conv = cJSON_GetObjectItem(find(root, "X", "conv1", 0), "args");
        const cJSON *start = cJSON_GetObjectItem(find(root, "X", "a", 0), "args");
        CU_ASSERT_EQUAL(conv != NULL, n_joined > 0);
        CU_ASSERT_STRING_EQUAL(text_in(start, "kernel"), "ring");
        if (conv) {
            CU_ASSERT_STRING_EQUAL(text_in(conv, "bound_by"), "memory");
            CU_ASSERT_EQUAL(number(conv, "flops"), 2e9);
            CU_ASSERT_EQUAL(number(conv, "memory_bytes"), 4096);
            CU_ASSERT_EQUAL(number(conv, "joined"), 2);
            CU_ASSERT_PTR_NULL(cJSON_GetObjectItem(conv, "kernel"));
        }
    }
}

static void no_events(void)
{
    static const int ranks[] = {0};
    POD_CHECK_OK(pod_trace_close(opened(ranks, 1, 0)));
    CU_ASSERT(judged().slices == 0);
    const pod_trace_plan plan = {.clock = "wall", .program = &program, .rank = ranks, .n_ranks = 1};
    pod_trace *t = NULL;
    POD_CHECK_FAILS(pod_trace_open("/nowhere/t", &plan, &t), POD_E_IO, "/nowhere/t");
    (void)remove(trace_path());
    pod_trace_abandon(opened(ranks, 1, 0));
    FILE *left = fopen(trace_path(), "r");
    CU_ASSERT_PTR_NULL(left);
    if (left) fclose(left);
    pod_trace_abandon(NULL);
}

/* What the judge lets pass is worth something only if it lets not everything pass. */
static void the_judge_judges(void)
{
#define TRACE(events) \
    "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"clock\":\"wall\"},\"traceEvents\":[" events "]}"
#define NAMED                                                      \
    "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":1}," \
    "{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":0,\"tid\":1},"
#define SLICE(ts, dur) \
    "{\"name\":\"x\",\"ph\":\"X\",\"pid\":0,\"tid\":1,\"ts\": " ts ", \"dur\": " dur "}"
#define END(ph, ts) \
    ",{\"name\":\"y\",\"ph\":\"" ph "\",\"bp\":\"e\",\"id\":1,\"pid\":0,\"tid\":1,\"ts\": " ts "}"
    static const struct {
        const char *text, *part; /* part of why not; NULL: it passes */
    } cases[] = {
        {TRACE(NAMED SLICE("1.0000005", "2.000000")), NULL},
        {TRACE(NAMED SLICE("1.0000005", "2.000000") "," SLICE("3.0000005", "1.000000")), NULL},
        {TRACE(NAMED SLICE("1.0000005", "2.000000") END("s", "1.0000005") END("f", "2.9999995")),
         NULL},
        {"[]", "no traceEvents"},
        {"{", "no JSON"},
        {TRACE(SLICE("1.0000005", "2.000000")), "no name"},
        {TRACE(NAMED SLICE("1.0", "2.000000")), "places"},
        {TRACE(NAMED SLICE("-1.0000005", "2.000000")), "places"},
        {TRACE(NAMED SLICE("1.0000005", "2.000000") "," SLICE("2.9999995", "1.000000")), "within"},
        {TRACE(NAMED SLICE("1.0000005", "2.000000") END("s", "1.0000005")), "1 ends"},
        {TRACE(NAMED SLICE("1.0000005", "2.000000") END("s", "2.0000005") END("f", "1.0000005")),
         "back in time"},
        {TRACE(NAMED SLICE("1.0000005", "2.000000") END("s", "1.0000005") END("f", "3.0000005")),
         "in no slice"},
        {TRACE(NAMED SLICE("1.0000005", "2.000000") END("s", "0.5000005") END("f", "2.0000005")),
         "in no slice"},
        {TRACE(NAMED SLICE("1.0000005", "2.000000") ",{\"name\":\"x\",\"ph\":\"i\",\"pid\":1,"
                                                    "\"tid\":1,\"ts\": 1.0000005}"),
         "share the row"},
        {TRACE("{\"name\":\"n\",\"ph\":\"C\",\"pid\":0,\"tid\":1,\"ts\": "
               "1.0000005,\"args\":{\"bytes\":8}}"),
         "in flight at the end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char why[256] = "";
        pod_trace_counts c;
        POD_CHECK_OK(pod_file_write_atomic(trace_path(), cases[i].text, strlen(cases[i].text)));
        const bool passes = pod_trace_check(trace_path(), &c, why, sizeof why);
        POD_CHECK(cases[i].part ? !passes && strstr(why, cases[i].part) : passes,
                  "case %d: '%s', want '%s'", (int)i, why, cases[i].part ? cases[i].part : "");
    }
}

POD_TEST_SUITE("runtime.trace", {"slices", slices}, {"arrows", arrows}, {"counters", counters},
               {"deeds", deeds}, {"no gaps", no_gaps}, {"simulated work", simulated_work},
               {"no events", no_events}, {"the judge judges", the_judge_judges});
