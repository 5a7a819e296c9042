/* Schedules by hand, of a few ranks over COUNT elements. */
#ifndef MINIPOD_TESTS_UNIT_COLLECTIVES_HAND_MADE_H
#define MINIPOD_TESTS_UNIT_COLLECTIVES_HAND_MADE_H

#include <stdio.h>

#include "collectives/sched/order.h"
#include "tests/unit/collectives/coll_cases.h"

enum { MAX_RANKS = 4, COUNT = 8 };

static const int all_ranks[MAX_RANKS] = {0, 1, 2, 3};

/* They live in an arena of their own. */
typedef struct bench {
    pod_arena *arena;
    pod_sched *s[MAX_RANKS];
    const pod_sched *all[MAX_RANKS];
    int n_ranks;
} bench;

/* The first n_shared share memory. */
static bench bench_of(int n_ranks, int n_shared)
{
    bench b = {.n_ranks = n_ranks};
    POD_CHECK_OK(pod_arena_create(NULL, &b.arena));
    for (int r = 0; r < n_ranks; r++) {
        POD_CHECK_OK(pod_sched_create(b.arena, COUNT, &b.s[r]));
        if (r < n_shared) pod_sched_share(b.s[r], all_ranks, n_shared);
        b.all[r] = b.s[r];
    }
    return b;
}

static pod_span main_at(int64_t first) { return (pod_span){POD_BUF_MAIN, first}; }
static pod_span scratch_at(int64_t first) { return (pod_span){POD_BUF_SCRATCH, first}; }

/* Verifies and ends it: success when part is NULL, else E_INVALID with that text. */
static void expect(bench *b, const char *part)
{
    if (part)
        POD_CHECK_FAILS(pod_sched_verify(b->all, b->n_ranks), POD_E_INVALID, part);
    else
        POD_CHECK_OK(pod_sched_verify(b->all, b->n_ranks));
    pod_arena_destroy(b->arena);
}

/* The events in which it is run, and in how many rounds. */
static void check_order(bench *b, int n_events, const pod_sched_event want[], int n_rounds)
{
    pod_sched_order order = {0};
    POD_CHECK_OK(pod_sched_order_build(b->arena, b->all, b->n_ranks, &order));
    POD_CHECK(order.n_events == n_events && order.n_rounds == n_rounds, "%d events, %d rounds",
              (int)order.n_events, (int)order.n_rounds);
    for (int i = 0; i < n_events && i < order.n_events; i++)
        POD_CHECK(memcmp(&order.event[i], &want[i], sizeof want[i]) == 0,
                  "event %d: rank %d step %d send %d round %d", i, (int)order.event[i].rank,
                  (int)order.event[i].step, (int)order.event[i].send_step,
                  (int)order.event[i].round);
    pod_arena_destroy(b->arena);
}

/* What is printed of a rank, or with -1 the drawing of all; ends it. */
static void check_text(bench *b, int rank, const char *want)
{
    char *text;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    if (rank < 0)
        POD_CHECK_OK(pod_sched_draw(file, b->all, b->n_ranks));
    else
        pod_sched_print(file, rank, b->s[rank]);
    fclose(file);
    POD_CHECK(strcmp(text, want) == 0, "printed\n%swant\n%s", text, want);
    free(text);
    pod_arena_destroy(b->arena);
}

#endif
