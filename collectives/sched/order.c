#include "collectives/sched/order.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

/* All steps of all ranks, numbered through: step i of rank r is first[r] + i. */
typedef struct world {
    const pod_sched *const *all;
    int n_ranks;
    int32_t n_steps;
    int32_t *first;        /* (n_ranks + 1) */
    const pod_step **step; /* (n_steps) */
    int32_t *rank;         /* (n_steps) */
    int32_t *next;         /* (n_steps) of those that complete together: in a circle */
    int32_t *head;         /* (n_steps) the one of them that stands for all */
    int32_t *n_waits;      /* (n_steps) unfinished steps that it comes after */
    int32_t *n_missing;    /* (n_steps) of a head: how many of its circle wait */
    int32_t *round;        /* (n_steps) of the latest of them; once done, its own */
    int32_t *dependent, *next_dependent; /* (n_steps), (2 n_steps): lists of edges by their tail;
                                            edge 2 i + j is the j-th `after` of step i */
} world;

static pod_status blame(const world *w, int32_t i, const char *fault)
{
    char text[POD_STEP_TEXT_BYTES];
    pod_step_print(w->step[i], text, sizeof text);
    return pod_fail(POD_E_INVALID, "schedule: rank %d step %d (%s): %s", (int)w->rank[i],
                    (int)(i - w->first[w->rank[i]]), text, fault);
}

static pod_status number_steps(pod_arena *a, const pod_sched *const all[], int n_ranks, world *w)
{
    *w = (world){.all = all, .n_ranks = n_ranks, .first = POD_ARENA_NEW(a, int32_t, n_ranks + 1)};
    if (!w->first) return POD_E_NOMEM;
    int64_t total = 0;
    for (int r = 0; r < n_ranks; r++) {
        int32_t n;
        pod_sched_steps(all[r], &n);
        w->first[r] = (int32_t)total;
        total += n;
        if (total > INT32_MAX / 2)
            return pod_fail(POD_E_UNSUPPORTED, "schedule: %" PRId64 " steps in all, at most %d",
                            total, INT32_MAX / 2);
    }
    w->first[n_ranks] = w->n_steps = (int32_t)total;
    w->step = POD_ARENA_NEW(a, const pod_step *, total);
    w->rank = POD_ARENA_NEW(a, int32_t, total);
    w->next = POD_ARENA_NEW(a, int32_t, total);
    w->head = POD_ARENA_NEW(a, int32_t, total);
    w->n_missing = POD_ARENA_NEW(a, int32_t, total);
    w->n_waits = POD_ARENA_NEW(a, int32_t, total);
    w->round = POD_ARENA_NEW(a, int32_t, total);
    w->dependent = POD_ARENA_NEW(a, int32_t, total);
    w->next_dependent = POD_ARENA_NEW(a, int32_t, 2 * total);
    if (!w->step || !w->rank || !w->next || !w->head || !w->n_missing || !w->n_waits || !w->round ||
        !w->dependent || !w->next_dependent)
        return POD_E_NOMEM;
    for (int r = 0; r < n_ranks; r++) {
        int32_t n;
        const pod_step *steps = pod_sched_steps(all[r], &n);
        for (int32_t i = 0; i < n; i++) {
            w->step[w->first[r] + i] = &steps[i];
            w->rank[w->first[r] + i] = r;
            w->next[w->first[r] + i] = w->head[w->first[r] + i] = w->first[r] + i;
        }
    }
    return POD_OK;
}

/* ---- what completes together --------------------------------------------------------------- */

/* The sends by their names: in slot[hash & mask] or behind it, as step + 1. */
typedef struct send_table {
    int32_t *slot;
    uint32_t mask;
} send_table;

/* Where the send of this name is, or would be. */
static int32_t *slot_of(const world *w, const send_table *t, int from, int to, int tag)
{
    uint64_t hash = (uint64_t)from * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (uint64_t)to) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (uint64_t)tag) * 0x9e3779b97f4a7c15u;
    for (uint32_t k = (uint32_t)(hash >> 32);; k++) {
        int32_t *slot = &t->slot[k & t->mask];
        if (*slot == 0) return slot;
        const pod_step *s = w->step[*slot - 1];
        if (w->rank[*slot - 1] == from && s->peer == to && s->tag == tag) return slot;
    }
}

static pod_status enter_sends(pod_arena *a, const world *w, send_table *t)
{
    uint32_t n_slots = 1;
    for (int32_t i = 0, n = 0; i < w->n_steps; i++)
        if (w->step[i]->kind == POD_STEP_SEND)
            for (n++; n_slots < 2 * (uint32_t)n;) n_slots *= 2;
    *t = (send_table){POD_ARENA_NEW(a, int32_t, n_slots), n_slots - 1};
    if (!t->slot) return POD_E_NOMEM;
    for (int32_t i = 0; i < w->n_steps; i++) {
        const pod_step *s = w->step[i];
        if (!pod_step_is_message(s)) continue;
        if (s->peer < 0 || s->peer >= w->n_ranks) return blame(w, i, "there is no such peer");
        if (s->peer == w->rank[i]) return blame(w, i, "a message to itself");
        if (s->kind != POD_STEP_SEND) continue;
        int32_t *slot = slot_of(w, t, w->rank[i], s->peer, s->tag);
        if (*slot) return blame(w, i, "a second message with this peer and tag");
        *slot = i + 1;
    }
    return POD_OK;
}

static pod_status pair_messages(pod_arena *a, world *w)
{
    send_table sends;
    POD_TRY(enter_sends(a, w, &sends));
    for (int32_t i = 0; i < w->n_steps; i++) {
        const pod_step *s = w->step[i];
        if (!pod_step_is_message(s) || s->kind == POD_STEP_SEND) continue;
        const int32_t send = *slot_of(w, &sends, s->peer, w->rank[i], s->tag) - 1;
        if (send == NONE) return blame(w, i, "nobody sends it");
        if (w->head[send] != send) return blame(w, i, "a second message with this peer and tag");
        if (w->step[send]->count != s->count) {
            char fault[64];
            snprintf(fault, sizeof fault, "%" PRId64 " elements are sent", w->step[send]->count);
            return blame(w, i, fault);
        }
        w->next[send] = w->head[send] = i;
        w->next[i] = send;
    }
    for (int32_t i = 0; i < w->n_steps; i++)
        if (w->step[i]->kind == POD_STEP_SEND && w->head[i] == i)
            return blame(w, i, "no receive takes it");
    return POD_OK;
}

static bool is_same_list(const pod_sched *x, const pod_sched *y)
{
    int n_x, n_y;
    const int *list_x = pod_sched_shared(x, &n_x);
    const int *list_y = pod_sched_shared(y, &n_y);
    return n_x == n_y && memcmp(list_x, list_y, (size_t)n_x * sizeof *list_x) == 0;
}

/* All that share name the same ranks; place[r] becomes where rank r stands among its own. */
static pod_status check_lists(const world *w, int32_t place[])
{
    for (int r = 0; r < w->n_ranks; r++) place[r] = NONE;
    for (int r = 0; r < w->n_ranks; r++) {
        int n;
        const int *list = pod_sched_shared(w->all[r], &n);
        for (int k = 0; k < n && list[0] == r; k++) {
            int q = list[k];
            if (q < 0 || q >= w->n_ranks || place[q] != NONE || !is_same_list(w->all[r], w->all[q]))
                return pod_fail(POD_E_INVALID,
                                "schedule: rank %d shares with rank %d, which does not share the "
                                "same way",
                                r, q);
            place[q] = k;
        }
    }
    for (int r = 0; r < w->n_ranks; r++) {
        int n;
        const int *list = pod_sched_shared(w->all[r], &n);
        if (n > 0 && place[r] == NONE)
            return pod_fail(POD_E_INVALID,
                            "schedule: rank %d shares with rank %d, which does not share with it",
                            r, list[0]);
    }
    return POD_OK;
}

typedef struct meeting_part {   /* a SYNC */
    int32_t leader, tag, place; /* leader: the first of the ranks that share */
    int32_t step;
} meeting_part;

static int by_meeting(const void *a, const void *b)
{
    const meeting_part *x = a;
    const meeting_part *y = b;
    if (x->leader != y->leader) return x->leader < y->leader ? -1 : 1;
    if (x->tag != y->tag) return x->tag < y->tag ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static pod_status collect_syncs(const world *w, const int32_t place[], meeting_part *list,
                                int32_t *n_list)
{
    int32_t n = 0;
    for (int32_t i = 0; i < w->n_steps; i++) {
        const pod_step *s = w->step[i];
        if (!pod_step_is_shared(s)) continue;
        int n_shared;
        const int *shared = pod_sched_shared(w->all[w->rank[i]], &n_shared);
        if (n_shared == 0) return blame(w, i, "the rank shares with none");
        if (s->kind == POD_STEP_SYNC)
            list[n++] = (meeting_part){shared[0], s->tag, place[w->rank[i]], i};
    }
    if (n) qsort(list, (size_t)n, sizeof *list, by_meeting);
    for (int32_t i = 1; i < n; i++)
        if (by_meeting(&list[i - 1], &list[i]) == 0)
            return blame(w, list[i].step, "a second sync with this tag");
    *n_list = n;
    return POD_OK;
}

static pod_status gather_syncs(pod_arena *a, world *w)
{
    int32_t *place = POD_ARENA_NEW(a, int32_t, w->n_ranks);
    int32_t n_list = 0;
    for (int32_t i = 0; i < w->n_steps; i++) n_list += w->step[i]->kind == POD_STEP_SYNC;
    meeting_part *list = POD_ARENA_NEW(a, meeting_part, n_list);
    if (!place || !list) return POD_E_NOMEM;
    POD_TRY(check_lists(w, place));
    POD_TRY(collect_syncs(w, place, list, &n_list));
    for (int32_t first = 0, n = 0; first < n_list; first += n) {
        const int *shared = pod_sched_shared(w->all[list[first].leader], &n);
        for (int32_t k = 0; k < n; k++) {
            const meeting_part *m = &list[first + k];
            if (first + k == n_list || m->leader != list[first].leader ||
                m->tag != list[first].tag || m->place != k) {
                char fault[64];
                snprintf(fault, sizeof fault, "rank %d does not come", shared[k]);
                return blame(w, list[first].step, fault);
            }
            w->head[m->step] = list[first].step;
        }
        for (int32_t k = 0; k < n; k++)
            w->next[list[first + k].step] = list[first + (k + 1) % n].step;
    }
    return POD_OK;
}

/* ---- order --------------------------------------------------------------------------------- */

static void link_steps(world *w)
{
    for (int32_t i = 0; i < w->n_steps; i++) w->dependent[i] = NONE;
    for (int32_t i = 0; i < w->n_steps; i++) {
        for (int32_t j = 0; j < 2; j++) {
            int32_t after = w->step[i]->after[j];
            if (after == POD_NO_STEP) continue;
            int32_t tail = w->first[w->rank[i]] + after;
            w->next_dependent[2 * i + j] = w->dependent[tail];
            w->dependent[tail] = 2 * i + j;
            w->n_waits[i]++;
        }
    }
}

static bool is_done(const world *w, int32_t i) { return w->n_waits[i] < 0; }

/* Whether the step is one rank's part of a move from rank to rank. */
static bool is_move(const pod_step *s)
{
    return pod_step_is_message(s) || s->kind == POD_STEP_REDUCE_FROM ||
           s->kind == POD_STEP_REDUCE_ALL;
}

/* Takes step i as done and puts what may begin through it at the end of the queue, by its head. */
static void finish_step(world *w, int32_t i, int32_t queue[], int32_t *n_queue)
{
    w->n_waits[i] = -1;
    for (int32_t e = w->dependent[i]; e != NONE; e = w->next_dependent[e]) {
        int32_t d = e / 2;
        if (w->round[d] < w->round[i]) w->round[d] = w->round[i];
        if (--w->n_waits[d] == 0 && --w->n_missing[w->head[d]] == 0)
            queue[(*n_queue)++] = w->head[d];
    }
}

/* Follows causes from a step that cannot run until it comes back to one: that one is in a cycle. */
static pod_status blame_deadlock(const world *w)
{
    int32_t i = 0;
    while (is_done(w, i)) i++;
    for (int32_t hops = 0; hops < w->n_steps; hops++) {
        while (w->n_waits[i] == 0) i = w->next[i];
        const int32_t *after = w->step[i]->after;
        int32_t first = w->first[w->rank[i]];
        i = first +
            (after[0] != POD_NO_STEP && !is_done(w, first + after[0]) ? after[0] : after[1]);
    }
    return blame(w, i, "deadlock: it waits, through other ranks, for itself");
}

/* Runs everything in a queue; queue holds the heads in an order that works. */
static pod_status run_queue(world *w, int32_t queue[], int32_t *n_queue)
{
    int32_t n_done = 0;
    for (int32_t i = 0; i < w->n_steps; i++) w->n_missing[w->head[i]] += w->n_waits[i] > 0;
    for (int32_t i = 0; i < w->n_steps; i++)
        if (w->head[i] == i && w->n_missing[i] == 0) queue[(*n_queue)++] = i;
    for (int32_t q = 0; q < *n_queue; q++) {
        const int32_t head = queue[q];
        int32_t round = w->round[head];
        for (int32_t i = w->next[head]; i != head; i = w->next[i])
            if (w->round[i] > round) round = w->round[i];
        round += is_move(w->step[head]);
        int32_t i = head;
        do {
            i = w->next[i];
            w->round[i] = round;
            finish_step(w, i, queue, n_queue);
            n_done++;
        } while (i != head);
    }
    return n_done == w->n_steps ? POD_OK : blame_deadlock(w);
}

/* A step's number in its own rank. */
static int32_t number_of(const world *w, int32_t i) { return i - w->first[w->rank[i]]; }

static int32_t n_events_of(const world *w, int32_t head)
{
    int32_t n = 1;
    for (int32_t i = w->next[head]; i != head; i = w->next[i]) n++;
    return pod_step_is_message(w->step[head]) ? 1 : n;
}

/* A counting sort by round, which keeps the order within a round. */
static pod_status sort_events(pod_arena *a, pod_arena *work, const world *w, const int32_t queue[],
                              int32_t n, pod_sched_order *out)
{
    int32_t n_rounds = 0;
    for (int32_t q = 0; q < n; q++)
        if (w->round[queue[q]] > n_rounds) n_rounds = w->round[queue[q]];
    int32_t *place = POD_ARENA_NEW(work, int32_t, n_rounds + 2);
    pod_sched_event *event = POD_ARENA_NEW(a, pod_sched_event, w->n_steps);
    if (!place || !event) return POD_E_NOMEM;
    for (int32_t q = 0; q < n; q++) place[w->round[queue[q]] + 1] += n_events_of(w, queue[q]);
    for (int32_t k = 0; k <= n_rounds; k++) place[k + 1] += place[k];
    for (int32_t q = 0; q < n; q++) {
        const int32_t head = queue[q];
        const bool is_pair = pod_step_is_message(w->step[head]);
        int32_t i = head;
        do {
            event[place[w->round[i]]++] =
                (pod_sched_event){w->rank[i], number_of(w, i),
                                  is_pair ? number_of(w, w->next[i]) : POD_NO_STEP, w->round[i]};
            i = w->next[i];
        } while (i != head && !is_pair);
    }
    *out = (pod_sched_order){event, place[n_rounds], n_rounds};
    return POD_OK;
}

pod_status pod_sched_order_build(pod_arena *a, const pod_sched *const all[], int n_ranks,
                                 pod_sched_order *out)
{
    pod_arena *work;
    POD_TRY(pod_arena_create(NULL, &work));
    world w;
    pod_status status;
    POD_TRY_GOTO(status, number_steps(work, all, n_ranks, &w), done);
    POD_TRY_GOTO(status, pair_messages(work, &w), done);
    POD_TRY_GOTO(status, gather_syncs(work, &w), done);
    link_steps(&w);
    int32_t *queue = POD_ARENA_NEW(work, int32_t, w.n_steps);
    int32_t n_queue = 0;
    status = queue ? POD_OK : POD_E_NOMEM;
    if (status != POD_OK) goto done;
    POD_TRY_GOTO(status, run_queue(&w, queue, &n_queue), done);
    POD_TRY_GOTO(status, sort_events(a, work, &w, queue, n_queue, out), done);
done:
    pod_arena_destroy(work);
    return status;
}
