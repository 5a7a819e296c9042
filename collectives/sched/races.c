/* Races: two steps that touch the same element, one of them writing, without an order between them.
 *
 * They are looked for in teams: the ranks that share memory, or one rank that does not. What is
 * ordered only through ranks outside the team counts as not ordered; that spares the square of all
 * steps. */
#include "collectives/sched/races.h"

#include <stdlib.h>
#include <string.h>

typedef struct access {
    int by, rank; /* place in the team of who touches; whose memory it is */
    pod_buf buf;
    int64_t first, end;
    int32_t step; /* of the team */
    bool writes;
} access;

static bool overlap(const access *a, const access *b)
{
    return a->rank == b->rank && a->buf == b->buf && a->first < b->end && b->first < a->end;
}

/* The ranks whose steps are looked at together; their steps are numbered through. */
typedef struct team {
    int n;
    const int *rank; /* (n) */
    int32_t *first;  /* (n + 1) steps of the ranks before */
    const int32_t *event;
    int32_t n_events; /* of the order, in which one of the team has a part */
} team;

typedef struct world {
    const pod_sched *const *all;
    int n_ranks;
    const pod_sched_order *order;
    int *own;         /* (n_ranks) each rank's number, as the list of those that do not share */
    int *leader;      /* (n_ranks) the first rank of its team */
    int *place;       /* (n_ranks) in its team */
    int32_t *event;   /* (at most 2 order->n_events) by team */
    int32_t *n_until; /* (n_ranks + 2) events of the teams that lower ranks lead */
} world;

static const int *ranks_with(const world *w, int rank, int *n)
{
    const int *shared = pod_sched_shared(w->all[rank], n);
    if (*n > 0) return shared;
    *n = 1;
    return &w->own[rank];
}

/* The one or two teams that have a part in an event. */
static int teams_of(const world *w, const pod_sched_event *e, int out[2])
{
    int32_t n;
    out[0] = w->leader[e->rank];
    if (e->send_step == POD_NO_STEP) return 1;
    out[1] = w->leader[pod_sched_steps(w->all[e->rank], &n)[e->step].peer];
    return out[0] == out[1] ? 1 : 2;
}

static pod_status sort_by_team(pod_arena *a, world *w)
{
    w->own = POD_ARENA_NEW(a, int, w->n_ranks);
    w->leader = POD_ARENA_NEW(a, int, w->n_ranks);
    w->place = POD_ARENA_NEW(a, int, w->n_ranks);
    w->event = POD_ARENA_NEW(a, int32_t, 2 * (size_t)w->order->n_events);
    w->n_until = POD_ARENA_NEW(a, int32_t, w->n_ranks + 2);
    if (!w->own || !w->leader || !w->place || !w->event || !w->n_until) return POD_E_NOMEM;
    for (int r = 0; r < w->n_ranks; r++) {
        w->own[r] = r;
        int n;
        const int *rank = ranks_with(w, r, &n);
        w->leader[r] = rank[0];
        while (rank[w->place[r]] != r) w->place[r]++;
    }
    /* A counting sort: n_until[t + 2] counts, then n_until[t + 1] runs through team t. */
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < w->order->n_events; i++) {
            int t[2];
            const int n = teams_of(w, &w->order->event[i], t);
            for (int k = 0; k < n; k++) {
                if (pass == 0)
                    w->n_until[t[k] + 2]++;
                else
                    w->event[w->n_until[t[k] + 1]++] = i;
            }
        }
        for (int r = 0; pass == 0 && r < w->n_ranks; r++) w->n_until[r + 2] += w->n_until[r + 1];
    }
    return POD_OK;
}

/* ---- order within a team ------------------------------------------------------------------- */

static size_t words_of(int32_t n) { return ((size_t)n + 63) / 64; }

/* Row i of before (n, words): bit j says that step i comes after step j. */
static uint64_t *row_of(const team *t, uint64_t *before, int32_t i)
{
    return before + (size_t)i * words_of(t->first[t->n]);
}

static bool comes_after(const team *t, uint64_t *before, int32_t later, int32_t earlier)
{
    return (row_of(t, before, later)[earlier / 64] >> (earlier % 64) & 1) != 0;
}

static void put_after(const team *t, uint64_t *before, int32_t later, int32_t earlier)
{
    uint64_t *to = row_of(t, before, later);
    const uint64_t *from = row_of(t, before, earlier);
    for (size_t k = 0; k < words_of(t->first[t->n]); k++) to[k] |= from[k];
    to[earlier / 64] |= UINT64_C(1) << (earlier % 64);
}

/* Puts a step after those it names; answers its number in the team. */
static int32_t follow_names(const world *w, const team *t, uint64_t *before, int rank, int32_t i)
{
    int32_t n;
    const pod_step *s = &pod_sched_steps(w->all[rank], &n)[i];
    const int32_t first = t->first[w->place[rank]];
    for (int j = 0; j < 2; j++)
        if (s->after[j] != POD_NO_STEP) put_after(t, before, first + i, first + s->after[j]);
    return first + i;
}

/* All SYNCs of a tag come after what any of them comes after. */
static void meet(const world *w, const team *t, uint64_t *before, const int32_t event[])
{
    const pod_sched_event *e = w->order->event;
    const int32_t met = follow_names(w, t, before, e[event[0]].rank, e[event[0]].step);
    for (int k = 1; k < t->n; k++) {
        const pod_sched_event *other = &e[event[k]];
        put_after(t, before, met, follow_names(w, t, before, other->rank, other->step));
    }
    for (int k = 1; k < t->n; k++) put_after(t, before, t->first[k] + e[event[k]].step, met);
}

/* A message that the team both sends and receives orders the two; it is not relied on that the
 * sender learns of the receiver. */
static void close_order(const world *w, const team *t, uint64_t *before)
{
    const int32_t n = t->first[t->n];
    memset(before, 0, (size_t)n * words_of(n) * sizeof *before);
    for (int32_t k = 0; k < t->n_events; k++) {
        const pod_sched_event *e = &w->order->event[t->event[k]];
        int32_t n_steps;
        const pod_step *s = &pod_sched_steps(w->all[e->rank], &n_steps)[e->step];
        if (s->kind == POD_STEP_SYNC) {
            meet(w, t, before, &t->event[k]);
            k += t->n - 1;
            continue;
        }
        int32_t sent = POD_NO_STEP;
        if (e->send_step != POD_NO_STEP && w->leader[s->peer] == t->rank[0])
            sent = follow_names(w, t, before, s->peer, e->send_step);
        if (w->leader[e->rank] != t->rank[0]) continue;
        const int32_t received = follow_names(w, t, before, e->rank, e->step);
        if (sent != POD_NO_STEP) put_after(t, before, received, sent);
    }
}

/* ---- races --------------------------------------------------------------------------------- */

/* What a step of the team's k-th rank touches, on whichever rank; answers how many. */
static int32_t accesses_of(const team *t, int k, const pod_step *s, int32_t number, access *out)
{
    int32_t n = 0;
    for (int i = 0; i < t->n; i++) {
        const bool reads_here = pod__step_reads(s) && (i == k || pod__step_sums(s));
        const bool writes_here = pod__step_writes(s) && (i == k || s->kind == POD_STEP_REDUCE_ALL);
        const pod_span src = s->src, dst = s->dst;
        if (reads_here)
            out[n++] =
                (access){k, t->rank[i], src.buf, src.first, src.first + s->count, number, false};
        if (writes_here)
            out[n++] =
                (access){k, t->rank[i], dst.buf, dst.first, dst.first + s->count, number, true};
    }
    return n;
}

static int by_place(const void *x, const void *y)
{
    const access *a = x;
    const access *b = y;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->buf != b->buf) return a->buf < b->buf ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->step < b->step ? -1 : a->step > b->step;
}

static pod_status blame_race(const world *w, const team *t, const access *a, const access *b)
{
    if (a->step > b->step) return blame_race(w, t, b, a);
    int32_t n;
    const int32_t i = a->step - t->first[a->by];
    const pod_step *s = &pod_sched_steps(w->all[t->rank[a->by]], &n)[i];
    char whose[32] = "";
    if (a->by != b->by) snprintf(whose, sizeof whose, "rank %d ", t->rank[a->by]);
    char other[POD_STEP_TEXT_BYTES];
    char fault[POD_STEP_TEXT_BYTES + 96];
    snprintf(fault, sizeof fault, "races with %sstep %d (%s)", whose, (int)i,
             pod_step_print(s, other, sizeof other));
    return pod__sched_blame(w->all, t->rank[b->by], b->step - t->first[b->by], fault);
}

/* Another rank's memory is there from its first step on; MAIN, until its last. */
static pod_status check_reach(const world *w, const team *t, uint64_t *before, const access *a)
{
    const int owner = w->place[a->rank];
    if (a->by == owner) return POD_OK;
    bool has_begun = false, is_waited_for = a->buf != POD_BUF_MAIN;
    for (int32_t i = t->first[owner]; i < t->first[owner + 1]; i++) {
        has_begun = has_begun || comes_after(t, before, a->step, i);
        is_waited_for = is_waited_for || comes_after(t, before, i, a->step);
    }
    if (has_begun && is_waited_for) return POD_OK;
    char fault[80];
    snprintf(fault, sizeof fault, "touches memory of rank %d, which may %s", a->rank,
             has_begun ? "be done" : "not have begun");
    return pod__sched_blame(w->all, t->rank[a->by], a->step - t->first[a->by], fault);
}

static pod_status check_team(const world *w, const team *t, access *list, uint64_t *before)
{
    close_order(w, t, before);
    int32_t n_list = 0;
    for (int k = 0; k < t->n; k++) {
        int32_t n;
        const pod_step *steps = pod_sched_steps(w->all[t->rank[k]], &n);
        for (int32_t i = 0; i < n; i++)
            n_list += accesses_of(t, k, &steps[i], t->first[k] + i, &list[n_list]);
    }
    if (n_list) qsort(list, (size_t)n_list, sizeof *list, by_place);
    for (int32_t i = 0; i < n_list; i++) {
        for (int32_t j = i + 1; j < n_list && overlap(&list[i], &list[j]); j++) {
            const int32_t a = list[i].step, b = list[j].step;
            if (a == b || !(list[i].writes || list[j].writes) || comes_after(t, before, a, b) ||
                comes_after(t, before, b, a))
                continue;
            return blame_race(w, t, &list[i], &list[j]);
        }
    }
    for (int32_t i = 0; i < n_list && t->n > 1; i++) POD_TRY(check_reach(w, t, before, &list[i]));
    return POD_OK;
}

/* Steps of a team, and how much they can touch. */
static void measure(const world *w, team *t, size_t *n_accesses)
{
    *n_accesses = 0;
    for (int k = 0; k < t->n; k++) {
        int32_t n;
        const pod_step *steps = pod_sched_steps(w->all[t->rank[k]], &n);
        t->first[k + 1] = t->first[k] + n;
        for (int32_t i = 0; i < n; i++)
            *n_accesses += pod__step_sums(&steps[i]) ? 2 * (size_t)t->n : 2;
    }
}

static team team_of(const world *w, int leader, int32_t *first)
{
    team t = {.first = first, .event = &w->event[w->n_until[leader]]};
    t.rank = ranks_with(w, leader, &t.n);
    t.n_events = w->n_until[leader + 1] - w->n_until[leader];
    return t;
}

pod_status pod__sched_check_races(pod_arena *work, const pod_sched *const all[], int n_ranks,
                                  const pod_sched_order *order)
{
    world w = {.all = all, .n_ranks = n_ranks, .order = order};
    POD_TRY(sort_by_team(work, &w));
    int32_t *first = POD_ARENA_NEW(work, int32_t, n_ranks + 1);
    if (!first) return POD_E_NOMEM;
    size_t most_accesses = 0, most_words = 0;
    for (int r = 0; r < n_ranks; r++) {
        if (w.leader[r] != r) continue;
        team t = team_of(&w, r, first);
        size_t n_accesses;
        measure(&w, &t, &n_accesses);
        const size_t n_words = (size_t)first[t.n] * words_of(first[t.n]);
        if (n_accesses > most_accesses) most_accesses = n_accesses;
        if (n_words > most_words) most_words = n_words;
    }
    access *list = POD_ARENA_NEW(work, access, most_accesses);
    uint64_t *before = POD_ARENA_NEW(work, uint64_t, most_words);
    if (!list || !before) return POD_E_NOMEM;
    for (int r = 0; r < n_ranks; r++) {
        if (w.leader[r] != r) continue;
        team t = team_of(&w, r, first);
        size_t n_accesses;
        measure(&w, &t, &n_accesses);
        POD_TRY(check_team(&w, &t, list, before));
    }
    return POD_OK;
}
