#include "collectives/sched/order.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

enum { NONE = -1 };

/* All steps of all ranks, numbered through: step i of rank r is first[r] + i. */
typedef struct world {
    const pod_sched *const *all;
    int n_ranks;
    int32_t n_steps;
    int32_t *first;                      /* (n_ranks + 1) */
    const pod_step **step;               /* (n_steps) */
    int32_t *rank;                       /* (n_steps) */
    int32_t *partner;                    /* (n_steps) the other half of a message, or NONE */
    int32_t *n_waits;                    /* (n_steps) unfinished steps that it comes after */
    int32_t *round;                      /* (n_steps) of the latest of them; once done, its own */
    int32_t *dependent, *next_dependent; /* (n_steps), (2 n_steps): lists of edges by their tail;
                                            edge 2 i + j is the j-th `after` of step i */
} world;

static bool is_message(const pod_step *s)
{
    return s->kind == POD_STEP_SEND || s->kind == POD_STEP_RECV || s->kind == POD_STEP_RECV_REDUCE;
}

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
    w->partner = POD_ARENA_NEW(a, int32_t, total);
    w->n_waits = POD_ARENA_NEW(a, int32_t, total);
    w->round = POD_ARENA_NEW(a, int32_t, total);
    w->dependent = POD_ARENA_NEW(a, int32_t, total);
    w->next_dependent = POD_ARENA_NEW(a, int32_t, 2 * total);
    if (!w->step || !w->rank || !w->partner || !w->n_waits || !w->round || !w->dependent ||
        !w->next_dependent)
        return POD_E_NOMEM;
    for (int r = 0; r < n_ranks; r++) {
        int32_t n;
        const pod_step *steps = pod_sched_steps(all[r], &n);
        for (int32_t i = 0; i < n; i++) {
            w->step[w->first[r] + i] = &steps[i];
            w->rank[w->first[r] + i] = r;
        }
    }
    return POD_OK;
}

/* ---- messages ------------------------------------------------------------------------------ */

typedef struct half {
    int32_t from, to, tag;
    int32_t step;
} half;

static int by_name(const void *a, const void *b)
{
    const half *x = a;
    const half *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    if (x->tag != y->tag) return x->tag < y->tag ? -1 : 1;
    return 0;
}

static pod_status collect(const world *w, bool sends, half *list, int32_t *n_list)
{
    int32_t n = 0;
    for (int32_t i = 0; i < w->n_steps; i++) {
        const pod_step *s = w->step[i];
        if (!is_message(s) || (s->kind == POD_STEP_SEND) != sends) continue;
        if (s->peer < 0 || s->peer >= w->n_ranks) return blame(w, i, "there is no such peer");
        if (s->peer == w->rank[i]) return blame(w, i, "a message to itself");
        list[n++] =
            sends ? (half){w->rank[i], s->peer, s->tag, i} : (half){s->peer, w->rank[i], s->tag, i};
    }
    if (n) qsort(list, (size_t)n, sizeof *list, by_name);
    for (int32_t i = 1; i < n; i++)
        if (by_name(&list[i - 1], &list[i]) == 0)
            return blame(w, list[i].step, "a second message with this peer and tag");
    *n_list = n;
    return POD_OK;
}

static pod_status pair_messages(pod_arena *a, world *w)
{
    half *sends = POD_ARENA_NEW(a, half, w->n_steps);
    half *recvs = POD_ARENA_NEW(a, half, w->n_steps);
    if (!sends || !recvs) return POD_E_NOMEM;
    int32_t n_sends, n_recvs;
    POD_TRY(collect(w, true, sends, &n_sends));
    POD_TRY(collect(w, false, recvs, &n_recvs));
    for (int32_t i = 0; i < w->n_steps; i++) w->partner[i] = NONE;
    for (int32_t i = 0; i < n_sends || i < n_recvs; i++) {
        int order = i == n_sends ? 1 : i == n_recvs ? -1 : by_name(&sends[i], &recvs[i]);
        if (order < 0) return blame(w, sends[i].step, "no receive takes it");
        if (order > 0) return blame(w, recvs[i].step, "nobody sends it");
        int64_t sent = w->step[sends[i].step]->count;
        if (sent != w->step[recvs[i].step]->count) {
            char fault[64];
            snprintf(fault, sizeof fault, "%" PRId64 " elements are sent", sent);
            return blame(w, recvs[i].step, fault);
        }
        w->partner[sends[i].step] = recvs[i].step;
        w->partner[recvs[i].step] = sends[i].step;
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

/* May run: what it comes after is done, and its partner's as well. */
static bool is_ready(const world *w, int32_t i)
{
    return w->n_waits[i] == 0 && (w->partner[i] == NONE || w->n_waits[w->partner[i]] == 0);
}

/* Takes step i as done and puts what is ready through it at the end of the queue, a message once
 * and as its receive. */
static void finish_step(world *w, int32_t i, int32_t queue[], int32_t *n_queue)
{
    w->n_waits[i] = -1;
    for (int32_t e = w->dependent[i]; e != NONE; e = w->next_dependent[e]) {
        int32_t d = e / 2;
        if (w->round[d] < w->round[i]) w->round[d] = w->round[i];
        if (--w->n_waits[d] > 0 || !is_ready(w, d)) continue;
        queue[(*n_queue)++] = w->step[d]->kind == POD_STEP_SEND ? w->partner[d] : d;
    }
}

/* Follows causes from a step that cannot run until it comes back to one: that one is in a cycle. */
static pod_status blame_deadlock(const world *w)
{
    int32_t i = 0;
    while (is_done(w, i)) i++;
    for (int32_t hops = 0; hops < w->n_steps; hops++) {
        if (w->n_waits[i] == 0) i = w->partner[i];
        const int32_t *after = w->step[i]->after;
        int32_t first = w->first[w->rank[i]];
        i = first +
            (after[0] != POD_NO_STEP && !is_done(w, first + after[0]) ? after[0] : after[1]);
    }
    return blame(w, i, "deadlock: it waits, through other ranks, for itself");
}

/* Runs everything in a queue; queue holds the events in an order that works. */
static pod_status run_queue(world *w, int32_t queue[], int32_t *n_queue)
{
    int32_t n_done = 0;
    for (int32_t i = 0; i < w->n_steps; i++)
        if (is_ready(w, i) && w->step[i]->kind != POD_STEP_SEND) queue[(*n_queue)++] = i;
    for (int32_t q = 0; q < *n_queue; q++) {
        int32_t i = queue[q];
        int32_t partner = w->partner[i];
        if (partner != NONE) {
            int32_t later = w->round[i] > w->round[partner] ? w->round[i] : w->round[partner];
            w->round[i] = w->round[partner] = later + 1;
            finish_step(w, partner, queue, n_queue);
            n_done++;
        }
        finish_step(w, i, queue, n_queue);
        n_done++;
    }
    return n_done == w->n_steps ? POD_OK : blame_deadlock(w);
}

/* A counting sort by round, which keeps the order within a round. */
static pod_status sort_events(pod_arena *a, pod_arena *work, const world *w, const int32_t queue[],
                              int32_t n, pod_sched_order *out)
{
    int32_t n_rounds = 0;
    for (int32_t q = 0; q < n; q++)
        if (w->round[queue[q]] > n_rounds) n_rounds = w->round[queue[q]];
    int32_t *place = POD_ARENA_NEW(work, int32_t, n_rounds + 2);
    pod_sched_event *event = POD_ARENA_NEW(a, pod_sched_event, n);
    if (!place || !event) return POD_E_NOMEM;
    for (int32_t q = 0; q < n; q++) place[w->round[queue[q]] + 1]++;
    for (int32_t k = 0; k <= n_rounds; k++) place[k + 1] += place[k];
    for (int32_t q = 0; q < n; q++) {
        int32_t i = queue[q];
        int32_t partner = w->partner[i];
        int32_t send_step = partner == NONE ? POD_NO_STEP : partner - w->first[w->rank[partner]];
        event[place[w->round[i]]++] =
            (pod_sched_event){w->rank[i], i - w->first[w->rank[i]], send_step, w->round[i]};
    }
    *out = (pod_sched_order){event, n, n_rounds};
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
