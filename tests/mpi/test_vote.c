/* Votes: all ranks see the same word at the same turn, `lag` turns after it was handed out, whoever
 * hands it out and however late he is. */
#include <time.h>

#include "collectives/exec/watch/vote.h"
#include "tests/harness/harness.h"
#include "tests/mpi/ranks.h"

enum { TURNS = 40 };

static void nap_ms(int ms) { nanosleep(&(struct timespec){.tv_nsec = 1000000L * ms}, NULL); }

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

POD_TEST_SUITE_WITH("vote", open_comm, close_comm, {"no turn", test_no_turn}, {"words", test_words},
                    {"two at once", test_two}, {"no barrier", test_no_barrier});
