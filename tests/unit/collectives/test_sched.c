/* Schedules as data: building, the verifier with planted faults, text. */
#include "tests/unit/collectives/hand_made.h"

static int32_t copy(pod_sched *s, pod_span dst, pod_span src, int64_t count, int32_t after)
{
    return pod_sched_add(s, (pod_step){.kind = POD_STEP_COPY,
                                       .after = {after, POD_NO_STEP},
                                       .src = src,
                                       .dst = dst,
                                       .count = count});
}

/* ---- building ------------------------------------------------------------------------------ */

static void test_add(void)
{
    bench b = bench_of(1, 0);
    pod_sched *s = b.s[0];
    POD_CHECK(pod_sched_send(s, 1, 0, main_at(0), 0, 17) == 17, "an empty send is added");
    POD_CHECK(pod_sched_recv(s, 1, 0, main_at(0), 0, POD_NO_STEP) == POD_NO_STEP, "empty recv");
    int32_t first = pod_sched_send(s, 1, 6, main_at(2), 3, POD_NO_STEP);
    int32_t second = pod_sched_recv_reduce(s, 1, 2, scratch_at(5), 4, first, POD_NO_STEP);
    POD_CHECK(first == 0 && second == 1, "steps %d %d", (int)first, (int)second);
    POD_CHECK(pod_sched_join(s, first, POD_NO_STEP) == first, "a join of one");
    POD_CHECK(pod_sched_join(s, POD_NO_STEP, second) == second, "a join of one");
    POD_CHECK(pod_sched_join(s, second, second) == second, "a join of the same");
    POD_CHECK(pod_sched_join(s, first, second) == 2, "a join of two");
    POD_CHECK_OK(pod_sched_finish(s));
    POD_CHECK(pod_sched_count(s) == COUNT, "count");
    POD_CHECK(pod_sched_scratch_count(s) == 9, "scratch %d", (int)pod_sched_scratch_count(s));
    POD_CHECK(pod_sched_n_tags(s) == 7, "tags %d", pod_sched_n_tags(s));
    int32_t n;
    const pod_step *steps = pod_sched_steps(s, &n);
    POD_CHECK(n == 3 && steps[1].kind == POD_STEP_RECV_REDUCE && steps[1].after[0] == 0, "steps");
    for (int i = 0; i < 1000; i++) pod_sched_send(s, 1, i, main_at(i % COUNT), 1, i);
    steps = pod_sched_steps(s, &n);
    POD_CHECK(n == 1003 && steps[1002].tag == 999 && steps[2].kind == POD_STEP_JOIN, "growth");
    pod_arena_destroy(b.arena);
}

static void test_add_is_sticky(void)
{
    bench b = bench_of(1, 0);
    pod_sched *s = b.s[0];
    POD_CHECK(pod_sched_send(s, 1, 0, main_at(0), 1, 0) == POD_NO_STEP, "waits for itself");
    POD_CHECK(pod_sched_send(s, 1, -3, main_at(0), 1, POD_NO_STEP) == POD_NO_STEP, "later add");
    int32_t n;
    pod_sched_steps(s, &n);
    POD_CHECK(n == 0, "%d steps after a failure", (int)n);
    pod_error_set("another error in between");
    POD_CHECK_FAILS(pod_sched_finish(s), POD_E_INVALID, "step 0 comes after 0, not an earlier");
    POD_CHECK_FAILS(pod_sched_verify(b.all, 1), POD_E_INVALID, "step 0 comes after 0");
    pod_arena_destroy(b.arena);

    b = bench_of(1, 0);
    pod_sched_send(b.s[0], 1, -3, main_at(0), 1, POD_NO_STEP);
    POD_CHECK_FAILS(pod_sched_finish(b.s[0]), POD_E_INVALID, "tag -3");
    pod_arena_destroy(b.arena);

    b = bench_of(1, 0);
    pod_sched_send(b.s[0], 1, 0, main_at(INT64_MAX - 1), 2, POD_NO_STEP);
    POD_CHECK_FAILS(pod_sched_finish(b.s[0]), POD_E_INVALID, "spans from 9223372036854775806");
    POD_CHECK_FAILS(pod_sched_create(b.arena, -1, &b.s[0]), POD_E_INVALID, "-1 elements");
    pod_arena_destroy(b.arena);
}

static void test_out_of_memory(void)
{
    const pod_mesh m = coll_mesh("16x16");
    const pod_coll_args args = coll_args(&m, POD_ALLREDUCE, 1000);
    const pod_coll_algo *algo = pod_coll_find(POD_ALLREDUCE, "torus2d");
    int n_failed = 0;
    pod_status status = POD_E_NOMEM;
    for (int limit = 1; status != POD_OK && limit < 1000; limit++) {
        pod_test_budget left = {.n_left = limit};
        const pod_alloc from = pod_test_budget_alloc(&left);
        pod_arena *arena;
        POD_CHECK_OK(pod_arena_create(&from, &arena));
        const pod_sched *const *all = NULL;
        status = pod_coll_build_all(arena, algo, &m, &args, &all);
        POD_CHECK((status == POD_E_NOMEM && !all) || (status == POD_OK && all), "limit %d: %s",
                  limit, pod_status_name(status));
        n_failed += status != POD_OK;
        pod_arena_destroy(arena);
        POD_CHECK(left.n_alive == 0, "limit %d: %d blocks are left", limit, left.n_alive);
    }
    POD_CHECK(status == POD_OK && n_failed > 10, "%d failures", n_failed);
}

/* ---- planted faults ------------------------------------------------------------------------ */

/* Two ranks that swap halves; the start of most faults below. */
static bench swap(void)
{
    bench b = bench_of(2, 0);
    for (int r = 0; r < 2; r++) {
        pod_sched_send(b.s[r], 1 - r, 0, main_at(r ? 4 : 0), 4, POD_NO_STEP);
        pod_sched_recv(b.s[r], 1 - r, 0, main_at(r ? 0 : 4), 4, POD_NO_STEP);
    }
    return b;
}

static void test_verify_clean(void)
{
    bench b = swap();
    expect(&b, NULL);
    b = bench_of(3, 0); /* nobody does anything */
    expect(&b, NULL);
    b = bench_of(1, 0);
    int32_t saved = copy(b.s[0], scratch_at(0), main_at(0), 8, POD_NO_STEP);
    copy(b.s[0], main_at(0), scratch_at(4), 4, saved);
    copy(b.s[0], main_at(4), scratch_at(0), 4, saved);
    expect(&b, NULL);
}

static void test_verify_messages(void)
{
    bench b = swap();
    pod_sched_send(b.s[1], 0, 1, main_at(4), 2, POD_NO_STEP);
    expect(&b, "rank 1 step 2 (send main[4..6) to 0 tag 1): no receive takes it");
    b = swap();
    pod_sched_recv(b.s[0], 1, 7, scratch_at(0), 2, POD_NO_STEP);
    expect(&b, "rank 0 step 2 (recv scratch[0..2) from 1 tag 7): nobody sends it");
    b = swap();
    pod_sched_recv(b.s[0], 1, 0, scratch_at(0), 4, POD_NO_STEP);
    expect(&b, "rank 0 step 2 (recv scratch[0..4) from 1 tag 0): a second message");
    b = swap();
    pod_sched_send(b.s[0], 1, 1, main_at(0), 3, POD_NO_STEP);
    pod_sched_recv(b.s[1], 0, 1, scratch_at(0), 2, POD_NO_STEP);
    expect(&b, "rank 1 step 2 (recv scratch[0..2) from 0 tag 1): 3 elements are sent");
    b = swap();
    pod_sched_send(b.s[0], 2, 0, main_at(0), 3, POD_NO_STEP);
    expect(&b, "rank 0 step 2 (send main[0..3) to 2 tag 0): there is no such peer");
    b = swap();
    pod_sched_send(b.s[1], 1, 0, main_at(4), 3, POD_NO_STEP);
    expect(&b, "rank 1 step 2 (send main[4..7) to 1 tag 0): a message to itself");
}

static void test_verify_deadlock(void)
{
    /* Each sends only when it has received. */
    bench b = bench_of(2, 0);
    for (int r = 0; r < 2; r++) {
        int32_t got = pod_sched_recv(b.s[r], 1 - r, 0, main_at(r ? 0 : 4), 4, POD_NO_STEP);
        pod_sched_send(b.s[r], 1 - r, 0, main_at(r ? 4 : 0), 4, got);
    }
    expect(&b, "deadlock");
    /* Each receives only when its send is complete: works with buffered messages alone. */
    b = bench_of(2, 0);
    for (int r = 0; r < 2; r++) {
        int32_t sent = pod_sched_send(b.s[r], 1 - r, 0, main_at(r ? 4 : 0), 4, POD_NO_STEP);
        pod_sched_recv(b.s[r], 1 - r, 0, main_at(r ? 0 : 4), 4, sent);
    }
    expect(&b, "deadlock");
    /* Rank 3 waits for the cycle of 0, 1 and 2 but is not in it. */
    b = bench_of(4, 0);
    for (int r = 0; r < 3; r++) {
        int32_t got = pod_sched_recv(b.s[r], (r + 2) % 3, 0, main_at(0), 4, POD_NO_STEP);
        int32_t joined =
            pod_sched_join(b.s[r], got, copy(b.s[r], scratch_at(0), main_at(4), 1, POD_NO_STEP));
        pod_sched_send(b.s[r], (r + 1) % 3, 0, main_at(0), 4, joined);
        if (r == 0) pod_sched_send(b.s[r], 3, 0, main_at(0), 4, joined);
    }
    pod_sched_recv(b.s[3], 0, 0, main_at(0), 4, POD_NO_STEP);
    POD_CHECK_FAILS(pod_sched_verify(b.all, 4), POD_E_INVALID, "deadlock");
    POD_CHECK(!strstr(pod_error_text(), "rank 3"), "%s", pod_error_text());
    pod_arena_destroy(b.arena);
}

static void test_verify_spans(void)
{
    bench b = swap();
    copy(b.s[1], scratch_at(0), main_at(6), 3, POD_NO_STEP);
    expect(&b, "rank 1 step 2 (copy main[6..9) to scratch[0..3)): the buffer has 8 elements");
    b = swap();
    copy(b.s[0], scratch_at(0), scratch_at(2), 3, POD_NO_STEP);
    expect(&b, "rank 0 step 2 (copy scratch[2..5) to scratch[0..3)): source and destination");
}

static void test_verify_races(void)
{
    bench b = swap(); /* two writers */
    copy(b.s[0], main_at(4), main_at(0), 1, POD_NO_STEP);
    expect(&b, "rank 0 step 2 (copy main[0..1) to main[4..5)): races with step 1 (recv main[4..8)");
    b = swap(); /* a reader and a writer */
    copy(b.s[0], main_at(3), scratch_at(0), 1, POD_NO_STEP);
    expect(&b, "races with step 0 (send main[0..4) to 1 tag 0)");
    b = swap(); /* the same with an order */
    copy(b.s[0], main_at(3), scratch_at(0), 1, 0);
    expect(&b, NULL);
    b = swap(); /* two readers */
    copy(b.s[0], scratch_at(0), main_at(0), 4, POD_NO_STEP);
    expect(&b, NULL);
    b = swap(); /* ordered through a join and another step */
    int32_t both = pod_sched_join(b.s[0], 0, 1);
    int32_t copied = copy(b.s[0], scratch_at(0), main_at(4), 4, both);
    copy(b.s[0], main_at(0), scratch_at(0), 4, copied);
    expect(&b, NULL);
    b = bench_of(1, 0); /* the spans are the same, the buffers are not */
    copy(b.s[0], scratch_at(0), main_at(0), 4, POD_NO_STEP);
    copy(b.s[0], scratch_at(4), main_at(0), 4, POD_NO_STEP);
    expect(&b, NULL);
}

/* ---- order --------------------------------------------------------------------------------- */

static void test_order(void)
{
    bench b = bench_of(3, 0); /* 0 to 1 to 2, a copy at the end */
    pod_sched_send(b.s[0], 1, 0, main_at(0), 8, POD_NO_STEP);
    int32_t got = pod_sched_recv(b.s[1], 0, 0, main_at(0), 8, POD_NO_STEP);
    pod_sched_send(b.s[1], 2, 0, main_at(0), 8, got);
    got = pod_sched_recv(b.s[2], 1, 0, main_at(0), 8, POD_NO_STEP);
    copy(b.s[2], scratch_at(0), main_at(0), 8, got);
    static const pod_sched_event want[] = {{1, 0, 0, 1}, {2, 0, 1, 2}, {2, 1, POD_NO_STEP, 2}};
    check_order(&b, 3, want, 2);
}

/* ---- text ---------------------------------------------------------------------------------- */

static void test_print(void)
{
    bench b = bench_of(2, 0);
    int32_t sent = pod_sched_send(b.s[0], 1, 3, main_at(0), 4, POD_NO_STEP);
    int32_t got = pod_sched_recv_reduce(b.s[0], 1, 0, main_at(4), 4, POD_NO_STEP, POD_NO_STEP);
    int32_t both = pod_sched_join(b.s[0], sent, got);
    copy(b.s[0], scratch_at(2), main_at(0), 2, both);
    pod_sched_add(
        b.s[0],
        (pod_step){POD_STEP_RECV_REDUCE, 1, 1, {POD_NO_STEP, both}, scratch_at(0), main_at(1), 1});
    check_text(&b, 0,
               "rank 0: 5 steps over 8 elements, scratch 4\n"
               "    0  send main[0..4) to 1 tag 3\n"
               "    1  recv_reduce main[4..8) from 1 tag 0\n"
               "    2  join after 0, 1\n"
               "    3  copy main[0..2) to scratch[2..4) after 2\n"
               "    4  recv_reduce main[1..2) from 1 tag 1 plus scratch[0..1) after 2\n");
}

/* A contribution counted twice shows. */
static void test_draw_shows_faults(void)
{
    bench b = bench_of(2, 0);
    int32_t got = pod_sched_recv_reduce(b.s[0], 1, 0, main_at(0), 4, POD_NO_STEP, POD_NO_STEP);
    pod_sched_recv_reduce(b.s[0], 1, 1, main_at(0), 2, got, POD_NO_STEP);
    for (int tag = 0; tag < 2; tag++)
        pod_sched_send(b.s[1], 0, tag, main_at(0), 4 - 2 * tag, POD_NO_STEP);
    check_text(&b, -1,
               "elements  0..1    2..3    4..7\n"
               "start\n"
               "  rank 0   0       0       0\n"
               "  rank 1   1       1       1\n"
               "round 1\n"
               "  rank 0   0-1*    0-1*    0\n"
               "  rank 1   1       1       1\n"
               "round 2\n"
               "  rank 0   0,1x2*  0-1     0\n"
               "  rank 1   1       1       1\n");

    b = bench_of(1, 0);
    POD_CHECK_OK(pod_sched_create(b.arena, 1025, &b.s[0]));
    b.all[0] = b.s[0];
    POD_CHECK_FAILS(pod_sched_draw(stdout, b.all, 1), POD_E_UNSUPPORTED, "1025 elements");
    pod_arena_destroy(b.arena);
}

POD_TEST_SUITE("sched", {"add", test_add}, {"add is sticky", test_add_is_sticky},
               {"out of memory", test_out_of_memory}, {"verify clean", test_verify_clean},
               {"verify messages", test_verify_messages}, {"verify deadlock", test_verify_deadlock},
               {"verify spans", test_verify_spans}, {"verify races", test_verify_races},
               {"order", test_order}, {"print", test_print},
               {"draw shows faults", test_draw_shows_faults});
