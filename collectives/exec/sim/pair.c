/* Who belongs to whom: the two halves of each message, those who come to a sync. */
#include <stdlib.h>

#include "collectives/exec/sim/plan.h"

static pod_status blame(const pod__sim_builder *b, int column, int32_t place, const char *fault)
{
    const pod_sched *s;
    char text[POD_STEP_TEXT_BYTES];
    int32_t n;
    POD_TRY(pod__sim_sched_of(b, b->work, column, &s));
    pod_step_print(&pod_sched_steps(s, &n)[place], text, sizeof text);
    return pod_fail(POD_E_INVALID, "schedule: rank %d step %d (%s): %s", b->rank[column],
                    (int)place, text, fault);
}

/* ---- messages ------------------------------------------------------------------------------- */

typedef struct receive {
    int32_t column, place;
} receive;

typedef struct receives { /* all receives, those of one sender's column together */
    int32_t *first;       /* (n_columns + 1) */
    receive *list;
} receives;

static pod_status count_receives(pod__sim_builder *b, int32_t n_from[])
{
    const int n_ranks = pod_mesh_size(&b->classes->mesh);
    for (int k = 0; k < b->plan->n_columns; k++)
        for (int32_t i = 0; i < b->plan->n_steps[k]; i++) {
            const pod__sim_source *s = &b->steps[k][i];
            if (s->kind != POD_STEP_SEND && !pod__sim_receives(s)) continue;
            if (s->peer < 0 || s->peer >= n_ranks) return blame(b, k, i, "there is no such peer");
            if (s->peer == b->rank[k]) return blame(b, k, i, "a message to itself");
            if (s->kind != POD_STEP_SEND) n_from[b->column_of[s->peer]]++;
        }
    return POD_OK;
}

static pod_status sort_receives(pod__sim_builder *b, receives *out)
{
    const int n_columns = b->plan->n_columns;
    int32_t *first = POD_ARENA_NEW(b->work, int32_t, n_columns + 1);
    if (!first) return POD_E_NOMEM;
    POD_TRY(count_receives(b, first));
    for (int k = 0; k < n_columns; k++) first[k + 1] += first[k];
    receive *list = POD_ARENA_NEW(b->work, receive, first[n_columns]);
    if (!list) return POD_E_NOMEM;
    for (int k = n_columns; k-- > 0;)
        for (int32_t i = b->plan->n_steps[k]; i-- > 0;)
            if (pod__sim_receives(&b->steps[k][i]))
                list[--first[b->column_of[b->steps[k][i].peer]]] = (receive){k, i};
    *out = (receives){first, list};
    return POD_OK;
}

/* The rank that lies from the first of the sender's column as the rank of this receive's column
 * from its peer. */
static int receiver_seen(const pod__sim_builder *b, int column, int peer)
{
    const pod_mesh *m = &b->classes->mesh;
    const int sender = b->rank[b->column_of[peer]];
    pod_coord c = b->coord[b->rank[column]];
    if (sender == peer) return b->rank[column];
    for (int d = 0; d < m->n_dims; d++) {
        const int extent = m->extent[d];
        c.at[d] = (c.at[d] + b->coord[sender].at[d] - b->coord[peer].at[d] + extent) % extent;
    }
    return pod_mesh_rank(m, c);
}

static uint32_t hash(int peer, int tag, uint32_t mask)
{
    const uint32_t h = (uint32_t)peer * 0x9e3779b1u ^ (uint32_t)tag * 0x85ebca77u;
    return (h ^ h >> 15) & mask;
}

/* The place of the message to `peer` under `tag` in a table of steps; empty when it is not
 * there. */
static int32_t *find_send(const pod__sim_source step[], int32_t *table, uint32_t mask, int peer,
                          int tag)
{
    uint32_t at = hash(peer, tag, mask);
    for (; table[at] != POD__SIM_NONE; at = (at + 1) & mask)
        if (step[table[at]].peer == peer && step[table[at]].tag == tag) break;
    return &table[at];
}

/* Enters what a column sends into a table of its own, small enough for the first caches, and looks
 * up what is received from it. */
static pod_status pair_sender(pod__sim_builder *b, const receives *recv, int k, int32_t *table)
{
    pod__sim_source *step = b->steps[k];
    const int32_t n = b->plan->n_steps[k];
    uint32_t mask = 1;
    while (mask < 2 * (uint32_t)n) mask = 2 * mask + 1;
    for (uint32_t i = 0; i <= mask; i++) table[i] = POD__SIM_NONE;
    for (int32_t i = 0; i < n; i++) {
        if (step[i].kind != POD_STEP_SEND) continue;
        int32_t *place = find_send(step, table, mask, step[i].peer, step[i].tag);
        if (*place != POD__SIM_NONE)
            return blame(b, k, i, "a second message with this peer and tag");
        *place = i;
    }
    for (int32_t j = recv->first[k]; j < recv->first[k + 1]; j++) {
        const receive at = recv->list[j];
        pod__sim_source *s = &b->steps[at.column][at.place];
        const int32_t send =
            *find_send(step, table, mask, receiver_seen(b, at.column, s->peer), s->tag);
        if (send == POD__SIM_NONE) return blame(b, at.column, at.place, "nobody sends it");
        if (step[send].partner != POD__SIM_NONE)
            return blame(b, at.column, at.place, "a second message with this peer and tag");
        /* Ranks of a class may differ by an element, those of classes of one rank do not. */
        if (step[send].count != s->count && b->classes->n_alike == 1)
            return blame(b, at.column, at.place, "another number of elements is sent");
        step[send].partner = at.place;
        s->partner = send;
    }
    for (int32_t i = 0; i < n; i++)
        if (step[i].kind == POD_STEP_SEND && step[i].partner == POD__SIM_NONE)
            return blame(b, k, i, "no receive takes it");
    return POD_OK;
}

pod_status pod__sim_pair_messages(pod__sim_builder *b)
{
    receives recv = {0};
    POD_TRY(sort_receives(b, &recv));
    int32_t *table = POD_ARENA_NEW(b->work, int32_t, 4 * (int64_t)b->plan->n_places + 2);
    if (!table) return POD_E_NOMEM;
    for (int k = 0; k < b->plan->n_columns; k++) POD_TRY(pair_sender(b, &recv, k, table));
    return POD_OK;
}

/* ---- syncs ---------------------------------------------------------------------------------- */

typedef struct sync_step {
    int32_t leader, tag; /* the first of the ranks that share names them all */
    int32_t column, place;
    int n_shared;
} sync_step;

static int by_group(const void *a, const void *b)
{
    const sync_step *x = a;
    const sync_step *y = b;
    if (x->leader != y->leader) return x->leader < y->leader ? -1 : 1;
    if (x->tag != y->tag) return x->tag < y->tag ? -1 : 1;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static pod_status collect_syncs(pod__sim_builder *b, sync_step **out, int32_t *n_out)
{
    const pod__sim_plan *p = b->plan;
    int32_t n = 0;
    for (int k = 0; k < p->n_columns; k++)
        for (int32_t i = 0; i < p->n_steps[k]; i++) n += b->steps[k][i].kind == POD_STEP_SYNC;
    sync_step *list = POD_ARENA_NEW(b->work, sync_step, n);
    if (!list) return POD_E_NOMEM;
    *n_out = n;
    n = 0;
    for (int k = 0; k < p->n_columns && n < *n_out; k++)
        for (int32_t i = 0; i < p->n_steps[k]; i++) {
            if (b->steps[k][i].kind != POD_STEP_SYNC) continue;
            const pod__sim_sharers *sharers = &b->sharers[k];
            if (sharers->n == 0) return blame(b, k, i, "its rank shares nothing");
            if (b->classes->n_alike > 1)
                return blame(b, k, i, "ranks that share memory are not alike");
            list[n++] = (sync_step){sharers->first, b->steps[k][i].tag, k, i, sharers->n};
        }
    if (n) qsort(list, (size_t)n, sizeof *list, by_group);
    *out = list;
    return POD_OK;
}

pod_status pod__sim_group_syncs(pod__sim_builder *b)
{
    pod__sim_plan *p = b->plan;
    sync_step *list = NULL;
    int32_t n = 0;
    POD_TRY(collect_syncs(b, &list, &n));
    p->sync = POD_ARENA_NEW(b->out, pod__sim_sync, n);
    p->sync_member = POD_ARENA_NEW(b->out, struct pod__sim_member, n);
    if (!p->sync || !p->sync_member) return POD_E_NOMEM;
    for (int32_t i = 0; i < n; i++) {
        const bool is_first =
            i == 0 || list[i].leader != list[i - 1].leader || list[i].tag != list[i - 1].tag;
        if (is_first) p->sync[p->n_syncs++] = (pod__sim_sync){.first = i};
        p->sync[p->n_syncs - 1].n++;
        p->sync_member[i] = (struct pod__sim_member){list[i].place, list[i].column};
        b->steps[list[i].column][list[i].place].partner = p->n_syncs - 1;
    }
    for (int32_t g = 0; g < p->n_syncs; g++) {
        const sync_step *s = &list[p->sync[g].first];
        if (p->sync[g].n != s->n_shared)
            return blame(b, s->column, s->place, "not every sharing rank has one of this tag");
    }
    if (n > 0) p->n_most_known = b->n_steps;
    return POD_OK;
}
