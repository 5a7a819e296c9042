/* What ranks find out of each other while they wait. Votes: all see the same word at the same turn, `lag`
 * turns after it was handed out, whoever hands it out and however late he is. The roster: who answers is
 * there, who does not is missing; an answer counts for the call that asked for it and for no later one. */
#include <time.h>

#include "collectives/exec/watch/roster.h"
#include "collectives/exec/watch/vote.h"
#include "tests/harness/harness.h"
#include "tests/mpi/ranks.h"

static void nap_ms(int ms) { nanosleep(&(struct timespec){.tv_nsec = 1000000L * ms}, NULL); }

/* ---- votes ---- */

enum { TURNS = 40 };

static int log2_up(int n)
{
    int k = 0;
    while (1 << k < n) k++;
    return k;
}

static void test_no_turn(void)
{
    pod_vote *v = NULL;
    POD_CHECK_OK(pod_vote_open(comm, &v));
    pod_vote_close(v);
    pod_vote_close(NULL);
}

/* The word that rank r hands out in turn t: each rank and turn another one. */
typedef uint32_t words(int r, int turn);

static uint32_t largest(words *word, int turn)
{
    uint32_t most = 0;
    for (int r = 0; turn >= 0 && r < size; r++)
        if (word(r, turn) > most) most = word(r, turn);
    return most;
}

/* delay_ms(turn): what this rank does before it. */
static void check(const char *what, words *word, int (*delay_ms)(int turn))
{
    pod_vote *v = NULL;
    POD_CHECK_OK(pod_vote_open(comm, &v));
    if (!v) return;
    const int lag = log2_up(size);
    for (int t = 0; t < TURNS; t++) {
        if (delay_ms(t) > 0) nap_ms(delay_ms(t));
        const uint32_t got = pod_vote_turn(v, word(rank, t)), want = largest(word, t - lag);
        POD_CHECK(got == want, "%s: turn %d: %u, want %u", what, t, got, want);
    }
    pod_vote_close(v);
}

static uint32_t anything(int r, int turn)
{
    return (uint32_t)(turn + 1) * 2654435761u ^ (uint32_t)(r + 1) * 2246822519u;
}
/* Of turn t it is rank t modulo size alone, once; nobody in odd turns. */
static uint32_t by_one(int r, int turn)
{
    return turn % 2 == 0 && r == turn / 2 % size ? (uint32_t)turn + 1 : 0;
}
static uint32_t once(int r, int turn) { return r == size - 1 && turn == 7; }
static uint32_t from_then_on(int r, int turn) { return turn >= 5 + r; }

static int none(int turn) { return (void)turn, 0; }
static int one_late(int turn) { return rank == size / 2 && turn % 10 == 3 ? 30 : 0; }
static int all_skewed(int turn) { return (rank * 7 + turn * 3) % 5 == 0 ? 3 : 0; }
static int first_ahead(int turn) { return rank > 0 && turn == 1 ? 20 * rank : 0; }

static void test_words(void)
{
    static const struct {
        const char *what;
        words *word;
    } all[] = {
        {"anything", anything}, {"by one", by_one}, {"once", once}, {"from then on", from_then_on}};
    static int (*const delays[])(int turn) = {none, one_late, all_skewed, first_ahead};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (size_t d = 0; d < sizeof delays / sizeof delays[0]; d++)
            check(all[i].what, all[i].word, delays[d]);
}

/* Two at once do not hear each other. */
static void test_two(void)
{
    pod_vote *a = NULL, *b = NULL;
    POD_CHECK_OK(pod_vote_open(comm, &a));
    POD_CHECK_OK(pod_vote_open(comm, &b));
    for (int t = 0; a && b && t < TURNS; t++) {
        const uint32_t of_a = pod_vote_turn(a, once(rank, t)), of_b = pod_vote_turn(b, 9);
        const int lag = log2_up(size);
        POD_CHECK(of_a == largest(once, t - lag) && of_b == (t >= lag ? 9u : 0u),
                  "turn %d: %u and %u", t, of_a, of_b);
    }
    pod_vote_close(b);
    pod_vote_close(a);
}

/* A rank does not wait for those that are a turn behind: that is what the lag is for. The last one
 * begins its turn when all others have ended theirs; were they to wait for it, nobody would go on. */
static void test_no_barrier(void)
{
    pod_vote *v = NULL;
    POD_CHECK_OK(pod_vote_open(comm, &v));
    if (!v) return;
    (void)pod_vote_turn(v, 0);
    pod_comm_barrier(comm);
    const bool is_late = rank == size - 1;
    if (is_late) pod_comm_barrier(comm);
    (void)pod_vote_turn(v, 0);
    if (!is_late) pod_comm_barrier(comm);
    pod_vote_close(v);
}

/* ---- the roster ---- */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int n_answers(const pod__roster *r)
{
    int n = 0;
    for (int i = 0; i < size; i++) n += i != rank && pod__roster_has_answered(r, i);
    return n;
}

/* Until `n` others have answered, at most some seconds. */
static void listen_for(pod__roster *r, int n)
{
    for (int i = 0; i < 20000 && n_answers(r) < n; i++) {
        pod__roster_listen(r);
        nap_ms(1);
    }
    POD_CHECK(n_answers(r) == n, "%d answers, want %d", n_answers(r), n);
}

static pod__roster *begin(void)
{
    pod__roster *r = NULL;
    POD_CHECK_OK(pod__roster_create(comm, &r));
    pod_comm_barrier(comm);
    return r;
}

static void end(pod__roster *r)
{
    pod_comm_barrier(comm);
    pod__roster_listen(r); /* nothing is left for the next */
    pod_comm_barrier(comm);
    pod__roster_destroy(r);
}

/* Others hear of the call in their wait for the end, as ranks that wait listen. */
static void listen_once_called(pod__roster *r)
{
    for (int i = 0; i < 20000 && !pod__roster_is_ending(r); i++) {
        pod__roster_listen(r);
        nap_ms(1);
    }
    POD_CHECK(pod__roster_is_ending(r), "no call");
}

static void test_call(void)
{
    pod__roster *r = begin();
    POD_CHECK(!pod__roster_is_ending(r) && pod__roster_has_answered(r, rank), "begun already");
    if (rank == 0) {
        POD_CHECK(pod__roster_call(r, now_ns()) == POD__ROSTER_OPEN, "not open");
        listen_for(r, size - 1);
        POD_CHECK(pod__roster_call(r, now_ns() + INT64_C(1000000000)) == POD__ROSTER_OVER,
                  "not over");
    } else {
        listen_once_called(r);
        POD_CHECK(pod__roster_call(r, now_ns()) == POD__ROSTER_CALLED, "called itself");
    }
    end(r);
}

/* What came in answer to a call that was given up tells nothing of who is there at the next. */
static void test_old_answers(void)
{
    pod__roster *r = begin();
    for (int call = 0; call < 2; call++) {
        if (rank == 0) {
            POD_CHECK(pod__roster_call(r, now_ns()) == POD__ROSTER_OPEN, "call %d", call);
            POD_CHECK(n_answers(r) == 0, "call %d: %d have answered before they could", call,
                      n_answers(r));
            pod__roster_forget(r);
            listen_for(r, size - 1); /* they come late */
        } else {
            listen_once_called(r);
            pod__roster_forget(r);
        }
        pod_comm_barrier(comm);
    }
    end(r);
}

POD_TEST_SUITE_WITH("watch", open_comm, close_comm, {"no turn", test_no_turn},
                    {"words", test_words}, {"two at once", test_two},
                    {"no barrier", test_no_barrier}, {"a call", test_call},
                    {"answers to an earlier call", test_old_answers});
