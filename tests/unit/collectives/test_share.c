/* Schedules that share memory: meetings, what the verifier finds in them, sums, drawing. */
#include "collectives/exec/add_received.h"
#include "tests/unit/collectives/hand_made.h"

static pod_span sum_at(int64_t first) { return (pod_span){POD_BUF_SUM, first}; }

/* Every rank sums its share for all, between two meetings: what most faults below start from. */
static bench direct(int n_ranks)
{
    bench b = bench_of(n_ranks, n_ranks);
    for (int r = 0; r < n_ranks; r++) {
        int32_t met = pod_sched_sync(b.s[r], 0, POD_NO_STEP);
        met = pod_sched_reduce_all(b.s[r], main_at(2 * r), 2, met);
        pod_sched_sync(b.s[r], 1, met);
    }
    return b;
}

/* ---- meetings ------------------------------------------------------------------------------ */

static void test_lists(void)
{
    static const int swapped[2] = {1, 0}, beyond[2] = {0, 7}, twice[2] = {0, 0};
    bench b = bench_of(2, 2);
    expect(&b, NULL);
    b = bench_of(2, 0);
    pod_sched_share(b.s[0], all_ranks, 2);
    expect(&b, "rank 0 shares with rank 1, which does not share the same way");
    b = bench_of(2, 0);
    pod_sched_share(b.s[1], all_ranks, 2);
    expect(&b, "rank 1 shares with rank 0, which does not share with it");
    b = bench_of(2, 0);
    pod_sched_share(b.s[0], all_ranks, 2);
    pod_sched_share(b.s[1], swapped, 2);
    expect(&b, "rank 0 shares with rank 1, which does not share the same way");
    b = bench_of(2, 0);
    pod_sched_share(b.s[0], beyond, 2);
    expect(&b, "rank 0 shares with rank 7, which does not share the same way");
    b = bench_of(2, 0);
    pod_sched_share(b.s[0], twice, 2);
    expect(&b, "rank 0 shares with rank 0, which does not share the same way");
    b = bench_of(1, 0);
    pod_sched_sync(b.s[0], 3, POD_NO_STEP);
    expect(&b, "rank 0 step 0 (sync tag 3): the rank shares with none");
    b = bench_of(1, 0);
    pod_sched_reduce_all(b.s[0], main_at(0), 2, POD_NO_STEP);
    expect(&b, "rank 0 step 0 (reduce_all main[0..2) to main[0..2)): the rank shares with none");
    static const int many[257] = {0};
    b = bench_of(1, 0);
    pod_sched_share(b.s[0], many, 257);
    POD_CHECK_FAILS(pod_sched_verify(b.all, 1), POD_E_UNSUPPORTED, "257 ranks share memory, at mo");
    pod_arena_destroy(b.arena);
}

static void test_syncs(void)
{
    bench b = direct(3);
    pod_sched_sync(b.s[1], 2, POD_NO_STEP);
    expect(&b, "rank 1 step 3 (sync tag 2): rank 0 does not come");
    b = direct(3);
    pod_sched_sync(b.s[0], 2, POD_NO_STEP);
    pod_sched_sync(b.s[1], 2, POD_NO_STEP);
    expect(&b, "rank 0 step 3 (sync tag 2): rank 2 does not come");
    b = direct(3);
    pod_sched_sync(b.s[2], 0, POD_NO_STEP);
    expect(&b, "(sync tag 0): a second sync with this tag");
    b = bench_of(2, 2); /* in another order */
    for (int r = 0; r < 2; r++) pod_sched_sync(b.s[r], r, pod_sched_sync(b.s[r], 1 - r, -1));
    expect(&b, "deadlock: it waits, through other ranks, for itself");
    b = bench_of(3, 3); /* a message that its receiver waits for first */
    for (int r = 0; r < 3; r++) {
        int32_t met = POD_NO_STEP;
        if (r == 1) met = pod_sched_recv(b.s[1], 0, 0, main_at(0), 1, POD_NO_STEP);
        met = pod_sched_sync(b.s[r], 0, met);
        if (r == 0) pod_sched_send(b.s[0], 1, 0, main_at(0), 1, met);
    }
    expect(&b, "deadlock");
}

/* The SYNCs of a tag stand side by side, in the order of the list, when the last has come. */
static void test_order(void)
{
    static const int reversed[3] = {2, 1, 0};
    bench b = bench_of(3, 0);
    int32_t got[3] = {POD_NO_STEP, POD_NO_STEP, POD_NO_STEP};
    pod_sched_send(b.s[0], 1, 0, main_at(0), 8, POD_NO_STEP);
    got[1] = pod_sched_recv(b.s[1], 0, 0, main_at(0), 8, POD_NO_STEP);
    for (int r = 0; r < 3; r++) {
        pod_sched_share(b.s[r], reversed, 3);
        int32_t met = pod_sched_sync(b.s[r], 0, got[r]);
        if (r == 2) pod_sched_reduce_from(b.s[r], main_at(0), scratch_at(0), 8, met);
    }
    static const pod_sched_event want[] = {{1, 0, 0, 1},
                                           {2, 0, POD_NO_STEP, 1},
                                           {1, 1, POD_NO_STEP, 1},
                                           {0, 1, POD_NO_STEP, 1},
                                           {2, 1, POD_NO_STEP, 2}};
    check_order(&b, 5, want, 2);
}

/* ---- races --------------------------------------------------------------------------------- */

static void test_spans(void)
{
    bench b = direct(2);
    pod_sched_reduce_from(b.s[1], main_at(6), scratch_at(0), 3, 1);
    expect(&b,
           "rank 1 step 3 (reduce_from main[6..9) to scratch[0..3) after 1): the buffer of rank "
           "0 has 8 elements");
    b = direct(2);
    pod_sched_reduce_all(b.s[0], scratch_at(0), 2, 0);
    expect(&b,
           "(reduce_all scratch[0..2) to scratch[0..2) after 0): the buffer of rank 1 has 0 el");
    b = direct(2);
    pod_sched_reduce_from(b.s[0], main_at(0), main_at(1), 2, 0);
    expect(&b, "(reduce_from main[0..2) to main[1..3) after 0): source and destination overlap");
    b = direct(2);
    pod_sched_reduce_from(b.s[0], main_at(0), sum_at(1), 2, 0);
    expect(&b, "(reduce_from main[0..2) to sum[1..3) after 0): sum is not shared");
    b = bench_of(2, 0);
    pod_sched_send(b.s[0], 1, 0, sum_at(0), 2, POD_NO_STEP);
    pod_sched_recv(b.s[1], 0, 0, main_at(0), 2, POD_NO_STEP);
    expect(&b, "rank 0 step 0 (send sum[0..2) to 1 tag 0): sum is no end of a message");
    b = bench_of(2, 0);
    pod_sched_send(b.s[0], 1, 0, main_at(0), 2, POD_NO_STEP);
    pod_sched_recv(b.s[1], 0, 0, sum_at(0), 2, POD_NO_STEP);
    expect(&b, "rank 1 step 0 (recv sum[0..2) from 0 tag 0): sum is no end of a message");
}

/* Ranks that meet, touch what a step of theirs touches, and meet again; rank 1 does so by
 * `mine`. */
static bench between_meetings(pod_step mine, bool meets_before, bool meets_after)
{
    bench b = bench_of(3, 3);
    for (int r = 0; r < 3; r++) {
        int32_t at = meets_before ? pod_sched_sync(b.s[r], 0, POD_NO_STEP) : POD_NO_STEP;
        mine.after[0] = at;
        mine.after[1] = POD_NO_STEP;
        if (r == 1) at = pod_sched_add(b.s[r], mine);
        if (meets_after) pod_sched_sync(b.s[r], 1, at);
    }
    return b;
}

static void test_races_across(void)
{
    const pod_step to_all = {
        .kind = POD_STEP_REDUCE_ALL, .src = main_at(2), .dst = main_at(2), .count = 3};
    const pod_step from_all = {
        .kind = POD_STEP_REDUCE_FROM, .src = main_at(2), .dst = main_at(2), .count = 3};
    bench b = direct(3);
    expect(&b, NULL);
    b = between_meetings(to_all, true, true);
    expect(&b, NULL);
    b = between_meetings(to_all, false, true); /* a meeting is missing */
    expect(&b,
           "rank 1 step 0 (reduce_all main[2..5) to main[2..5)): touches memory of rank 0, which "
           "may not have begun");
    b = between_meetings(to_all, true, false);
    expect(&b,
           "rank 1 step 1 (reduce_all main[2..5) to main[2..5) after 0): touches memory of rank "
           "0, which may be done");
    b = between_meetings(from_all, true, false);
    expect(&b, "touches memory of rank 0, which may be done");

    b = between_meetings(to_all, true, true); /* two writers */
    pod_sched_reduce_all(b.s[2], main_at(4), 2, 0);
    expect(&b,
           "rank 2 step 2 (reduce_all main[4..6) to main[4..6) after 0): races with rank 1 step 1 "
           "(reduce_all main[2..5)");
    b = between_meetings(from_all, true, true); /* a reader, and the owner writes */
    pod_sched_copy(b.s[0], main_at(0), main_at(4), 1, 0);
    expect(&b,
           "rank 1 step 1 (reduce_from main[2..5) to main[2..5) after 0): races with rank 0 step "
           "2 (copy main[0..1) to main[4..5) after 0)");
    b = between_meetings(from_all, true, true); /* the same with an order */
    pod_sched_copy(b.s[0], main_at(0), main_at(4), 1, 1);
    expect(&b, NULL);
    b = between_meetings(from_all, true, true); /* two readers */
    pod_sched_copy(b.s[0], main_at(4), scratch_at(0), 1, 0);
    expect(&b, NULL);
    b = between_meetings(from_all, true, true); /* the elements that rank 1 writes are its own */
    pod_sched_copy(b.s[0], main_at(2), scratch_at(0), 3, 0);
    expect(&b, NULL);
    b = between_meetings(to_all, true, true); /* rank 0 is written by rank 1 */
    pod_sched_copy(b.s[0], main_at(2), scratch_at(0), 3, 0);
    expect(&b,
           "rank 1 step 1 (reduce_all main[2..5) to main[2..5) after 0): races with rank 0 step 2");
}

/* Who reads SCRATCH of others must have met them, but need not meet them again. */
static void test_races_scratch(void)
{
    for (int fault = 0; fault < 3; fault++) {
        bench b = bench_of(2, 2);
        for (int r = 0; r < 2; r++) {
            int32_t at = POD_NO_STEP;
            at = pod_sched_copy(b.s[r], main_at(0), scratch_at(0), COUNT, at);
            if (fault != 1) at = pod_sched_sync(b.s[r], 0, fault == 2 ? POD_NO_STEP : at);
            pod_sched_reduce_from(b.s[r], scratch_at(0), main_at(0), COUNT, at);
        }
        expect(&b, fault ? "races with" : NULL);
    }
}

/* A message orders what comes before its send and after its receive; between the two ranks' other
 * steps it says nothing, and neither does one that goes through a rank outside. */
static void test_races_messages(void)
{
    for (int variant = 0; variant < 3; variant++) {
        const bool is_outside = variant == 2;
        bench b = bench_of(3, 2);
        int32_t met[2], at;
        for (int r = 0; r < 2; r++) met[r] = pod_sched_sync(b.s[r], 0, POD_NO_STEP);
        at = pod_sched_reduce_from(b.s[0], main_at(0), main_at(0), 4, met[0]);
        pod_sched_send(b.s[0], is_outside ? 2 : 1, 0, main_at(0), 4, variant == 1 ? met[0] : at);
        if (is_outside)
            pod_sched_send(b.s[2], 1, 0, main_at(0), 4,
                           pod_sched_recv(b.s[2], 0, 0, main_at(0), 4, POD_NO_STEP));
        at = pod_sched_recv(b.s[1], is_outside ? 2 : 0, 0, main_at(4), 4, POD_NO_STEP);
        at = pod_sched_copy(b.s[1], main_at(4), main_at(0), 4, at);
        for (int r = 0; r < 2; r++) pod_sched_sync(b.s[r], 1, r ? at : 1);
        expect(&b, variant == 0   ? NULL
                   : variant == 1 ? "races with"
                                  : "rank 1 step 2 (copy main[4..8) to main[0..4) after 1): races "
                                    "with rank 0 step 1 (reduce_from main[0..4) to main[0..4)");
    }
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* Element i of rank r: whole numbers that a bf16 holds, whose sum over three ranks it does not. */
static double value_of(int r, int64_t i) { return (double)(128 + r + i); }

static void fill(pod_dtype t, int r, void *data)
{
    for (int64_t i = 0; i < COUNT; i++) pod_test_put(t, data, i, value_of(r, i));
}

/* 3 i + 387: in [256, 512) bf16 holds even numbers, ties to a multiple of 4. */
static double sum_of(pod_dtype t, int64_t i)
{
    static const double rounded[COUNT] = {388, 390, 392, 396, 400, 402, 404, 408};
    return t == POD_BF16 ? rounded[i] : (double)(387 + 3 * i);
}

static void test_reduce(void)
{
    static const pod_dtype types[] = {POD_F32, POD_BF16};
    for (size_t k = 0; k < 2; k++) {
        float data[3][COUNT]; /* large enough for either type */
        void *buf[3] = {data[0], data[1], data[2]};
        double want[COUNT];
        bench b = bench_of(3, 3);
        for (int r = 0; r < 3; r++) {
            fill(types[k], r, buf[r]);
            int32_t met = pod_sched_sync(b.s[r], 0, POD_NO_STEP);
            if (r < 2) met = pod_sched_reduce_all(b.s[r], main_at(3 * r), 3, met);
            if (r == 2) met = pod_sched_reduce_from(b.s[r], main_at(6), scratch_at(1), 2, met);
            if (r == 2) pod_sched_copy(b.s[r], scratch_at(1), main_at(6), 2, met);
        }
        POD_CHECK_OK(pod_sched_run_local(b.all, 3, types[k], buf));
        for (int r = 0; r < 3; r++) {
            for (int64_t i = 0; i < COUNT; i++)
                want[i] = r == 2 || i < 6 ? sum_of(types[k], i) : value_of(r, i);
            pod_test_compare(pod_dtype_name(types[k]), COUNT, types[k], buf[r], want, NULL);
        }
        pod_arena_destroy(b.arena);
    }
}

/* Every pair of types, longer than the parts in which it is done. */
static void test_add_received(void)
{
    enum { LONG = 3001 };
    static float received[LONG], own[LONG], dst[LONG]; /* large enough for either type */
    const pod_span spans[][2] = {
        {main_at(0), main_at(0)}, {main_at(0), sum_at(0)}, {sum_at(0), main_at(0)}};
    const pod_combine *combine = pod_combine_pick(pod_cpu_features());
    for (size_t k = 0; k < sizeof spans / sizeof spans[0]; k++) {
        const pod_step step = {
            .kind = POD_STEP_RECV_REDUCE, .src = spans[k][0], .dst = spans[k][1]};
        const pod_dtype t_own = pod_sched_dtype(step.src.buf, POD_BF16);
        const pod_dtype t_dst = pod_sched_dtype(step.dst.buf, POD_BF16);
        double want[LONG];
        for (int64_t i = 0; i < LONG; i++) { /* a bf16 holds whole numbers below 256 */
            pod_test_put(POD_BF16, received, i, (double)(i % 131));
            pod_test_put(t_own, own, i, (double)(i % 97));
            want[i] = (double)(i % 131 + i % 97);
        }
        pod__add_received(combine, POD_SUM, &step, POD_BF16, LONG, received, own, dst);
        pod_test_compare("add_received", LONG, t_dst, dst, want, NULL);
    }
}

/* Sums on the way are float32: rounded once, where they would be off if they were rounded each
 * time. 256 + 1 + 1 = 258, but to bf16 256 + 1 = 256. */
static void test_sum_buffer(void)
{
    static const pod_dtype types[] = {POD_F32, POD_BF16};
    static const double initial[3] = {256, 1, 1};
    for (size_t k = 0; k < 2; k++) {
        float data[3][COUNT];
        void *buf[3] = {data[0], data[1], data[2]};
        bench b = bench_of(3, 0);
        for (int r = 0; r < 3; r++)
            for (int64_t i = 0; i < COUNT; i++) pod_test_put(types[k], buf[r], i, initial[r]);
        pod_step add = {POD_STEP_RECV_REDUCE, 1, 0, {-1, -1}, main_at(0), sum_at(0), COUNT};
        int32_t got = pod_sched_add(b.s[0], add);
        add = (pod_step){POD_STEP_RECV_REDUCE, 2, 0, {got, -1}, sum_at(0), main_at(0), 4};
        pod_sched_add(b.s[0], add);
        add = (pod_step){POD_STEP_RECV_REDUCE, 2, 1, {got, -1}, sum_at(4), sum_at(4), 4};
        got = pod_sched_add(b.s[0], add);
        pod_sched_copy(b.s[0], sum_at(4), main_at(4), 4, got);
        pod_sched_send(b.s[1], 0, 0, main_at(0), COUNT, POD_NO_STEP);
        for (int tag = 0; tag < 2; tag++)
            pod_sched_send(b.s[2], 0, tag, main_at(4 * tag), 4, POD_NO_STEP);
        POD_CHECK_OK(pod_sched_verify(b.all, 3));
        POD_CHECK_OK(pod_sched_run_local(b.all, 3, types[k], buf));
        static const double want[COUNT] = {258, 258, 258, 258, 258, 258, 258, 258};
        pod_test_compare(pod_dtype_name(types[k]), COUNT, types[k], buf[0], want, NULL);
        pod_arena_destroy(b.arena);
    }
}

/* ---- text ---------------------------------------------------------------------------------- */

static void test_print(void)
{
    bench b = direct(2);
    pod_sched_reduce_from(b.s[1], main_at(0), scratch_at(0), 3, 2);
    pod_sched_copy(b.s[1], scratch_at(0), sum_at(1), 2, 3);
    check_text(&b, 1,
               "rank 1: 5 steps over 8 elements, scratch 3, sum 3, shared by 0 1\n"
               "    0  sync tag 0\n"
               "    1  reduce_all main[2..4) to main[2..4) after 0\n"
               "    2  sync tag 1 after 1\n"
               "    3  reduce_from main[0..3) to scratch[0..3) after 2\n"
               "    4  copy scratch[0..2) to sum[1..3) after 3\n");
}

static void test_draw(void)
{
    bench b = direct(3);
    check_text(&b, -1,
               "elements  0..5  6..7\n"
               "start\n"
               "  rank 0   0     0\n"
               "  rank 1   1     1\n"
               "  rank 2   2     2\n"
               "round 1\n"
               "  rank 0   0-2*  0\n"
               "  rank 1   0-2*  1\n"
               "  rank 2   0-2*  2\n");

    b = bench_of(2, 2); /* through SCRATCH and SUM, on rank 0 alone */
    for (int r = 0; r < 2; r++) {
        int32_t kept = pod_sched_copy(b.s[r], main_at(0), scratch_at(0), COUNT, POD_NO_STEP);
        int32_t met = pod_sched_sync(b.s[r], 0, kept);
        if (r == 1) continue;
        met = pod_sched_reduce_from(b.s[r], scratch_at(0), main_at(0), COUNT, met);
        met = pod_sched_copy(b.s[r], main_at(0), sum_at(0), COUNT, met);
        pod_sched_copy(b.s[r], sum_at(0), main_at(0), 2, met);
    }
    check_text(&b, -1,
               "elements  0..7\n"
               "start\n"
               "  rank 0   0\n"
               "  rank 1   1\n"
               "round 1\n"
               "  rank 0   0-1*\n"
               "  rank 1   1\n");
}

POD_TEST_SUITE("share", {"lists", test_lists}, {"syncs", test_syncs}, {"order", test_order},
               {"spans", test_spans}, {"races across ranks", test_races_across},
               {"races of scratch", test_races_scratch},
               {"races and messages", test_races_messages}, {"reduce", test_reduce},
               {"add_received", test_add_received}, {"sum buffer", test_sum_buffer},
               {"print", test_print}, {"draw", test_draw});
