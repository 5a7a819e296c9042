/* Who belongs to whom: the two halves of each message, those who come to a sync. */
#include <stdlib.h>

#include "collectives/exec/sim/plan.h"

static pod_status blame(const pod__sim_builder *b, int32_t i, const char *fault)
{
    char text[POD_STEP_TEXT_BYTES];
    const int rank = b->rank[b->column[i]];
    pod_step_print(pod__sim_source_of(b, i), text, sizeof text);
    return pod_fail(POD_E_INVALID, "schedule: rank %d step %d (%s): %s", rank,
                    (int)pod__sim_place_of(b, i), text, fault);
}

/* ---- messages ------------------------------------------------------------------------------- */

typedef struct receives { /* all receives, those of one sender's class together */
    int32_t *first;       /* (n_columns + 1) */
    int32_t *step;
} receives;

static pod_status sort_receives(pod__sim_builder *b, receives *out)
{
    const int n_columns = b->plan->n_columns, n_ranks = pod_mesh_size(&b->classes->mesh);
    const int32_t n = b->first[n_columns];
    int32_t *first = POD_ARENA_NEW(b->work, int32_t, n_columns + 1);
    if (!first) return POD_E_NOMEM;
    for (int32_t i = 0; i < n; i++) {
        const pod_step *s = pod__sim_source_of(b, i);
        if (!pod_step_is_message(s)) continue;
        if (s->peer < 0 || s->peer >= n_ranks) return blame(b, i, "there is no such peer");
        if (s->peer == b->rank[b->column[i]]) return blame(b, i, "a message to itself");
        if (s->kind != POD_STEP_SEND) first[b->column_of[s->peer]]++;
    }
    for (int k = 0; k < n_columns; k++) first[k + 1] += first[k];
    int32_t *list = POD_ARENA_NEW(b->work, int32_t, first[n_columns]);
    if (!list) return POD_E_NOMEM;
    for (int32_t i = n; i-- > 0;)
        if (pod__sim_receives(pod__sim_source_of(b, i)))
            list[--first[b->column_of[pod__sim_source_of(b, i)->peer]]] = i;
    *out = (receives){first, list};
    return POD_OK;
}

/* The rank that lies from the first of the sender's class as this receive's rank from its peer. */
static int receiver_seen(const pod__sim_builder *b, int32_t recv)
{
    const pod_mesh *m = &b->classes->mesh;
    const int peer = pod__sim_source_of(b, recv)->peer, sender = b->rank[b->column_of[peer]];
    pod_coord c = b->coord[b->rank[b->column[recv]]];
    if (sender == peer) return pod_mesh_rank(m, c);
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
static int32_t *find_send(const pod__sim_builder *b, int32_t *table, uint32_t mask, int peer,
                          int tag)
{
    uint32_t at = hash(peer, tag, mask);
    for (; table[at] != POD__SIM_NONE; at = (at + 1) & mask) {
        const pod_step *other = pod__sim_source_of(b, table[at]);
        if (other->peer == peer && other->tag == tag) break;
    }
    return &table[at];
}

/* Enters what a class sends into a table of its own, small enough for the first caches, and looks
 * up what is received from it. */
static pod_status pair_sender(pod__sim_builder *b, const receives *recv, int k, int32_t *table)
{
    const int32_t begin = b->first[k], end = b->first[k + 1];
    uint32_t mask = 1;
    while (mask < 2 * (uint32_t)(end - begin)) mask = 2 * mask + 1;
    for (uint32_t i = 0; i <= mask; i++) table[i] = POD__SIM_NONE;
    for (int32_t i = begin; i < end; i++) {
        const pod_step *s = pod__sim_source_of(b, i);
        if (s->kind != POD_STEP_SEND) continue;
        int32_t *place = find_send(b, table, mask, s->peer, s->tag);
        if (*place != POD__SIM_NONE) return blame(b, i, "a second message with this peer and tag");
        *place = i;
    }
    for (int32_t j = recv->first[k]; j < recv->first[k + 1]; j++) {
        const int32_t i = recv->step[j];
        const pod_step *s = pod__sim_source_of(b, i);
        const int32_t send = *find_send(b, table, mask, receiver_seen(b, i), s->tag);
        if (send == POD__SIM_NONE) return blame(b, i, "nobody sends it");
        if (b->partner[send] != POD__SIM_NONE)
            return blame(b, i, "a second message with this peer and tag");
        /* Ranks of a class may differ by an element, those of classes of one rank do not. */
        if (pod__sim_source_of(b, send)->count != s->count && b->classes->n_alike == 1)
            return blame(b, i, "another number of elements is sent");
        b->partner[send] = i;
        b->partner[i] = send;
    }
    for (int32_t i = begin; i < end; i++)
        if (pod__sim_source_of(b, i)->kind == POD_STEP_SEND && b->partner[i] == POD__SIM_NONE)
            return blame(b, i, "no receive takes it");
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
    int32_t leader, tag, step; /* the first of the ranks that share names them all */
    int n_shared;
} sync_step;

static int by_group(const void *a, const void *b)
{
    const sync_step *x = a;
    const sync_step *y = b;
    if (x->leader != y->leader) return x->leader < y->leader ? -1 : 1;
    if (x->tag != y->tag) return x->tag < y->tag ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

static pod_status collect_syncs(pod__sim_builder *b, sync_step **out, int32_t *n_out)
{
    const int32_t n_steps = b->first[b->plan->n_columns];
    int32_t n = 0;
    for (int32_t i = 0; i < n_steps; i++) n += pod__sim_source_of(b, i)->kind == POD_STEP_SYNC;
    sync_step *list = POD_ARENA_NEW(b->work, sync_step, n);
    if (!list) return POD_E_NOMEM;
    n = 0;
    for (int32_t i = 0; i < n_steps; i++) {
        if (pod__sim_source_of(b, i)->kind != POD_STEP_SYNC) continue;
        int n_shared;
        const int *shared = pod_sched_shared(b->sched[b->column[i]], &n_shared);
        if (n_shared == 0) return blame(b, i, "its rank shares nothing");
        if (b->classes->n_alike > 1) return blame(b, i, "ranks that share memory are not alike");
        list[n++] = (sync_step){shared[0], pod__sim_source_of(b, i)->tag, i, n_shared};
    }
    if (n) qsort(list, (size_t)n, sizeof *list, by_group);
    *out = list;
    *n_out = n;
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
    for (int32_t k = 0; k < n; k++) {
        const int32_t i = list[k].step;
        const bool is_first =
            k == 0 || list[k].leader != list[k - 1].leader || list[k].tag != list[k - 1].tag;
        if (is_first) p->sync[p->n_syncs++] = (pod__sim_sync){.first = k};
        p->sync[p->n_syncs - 1].n++;
        p->sync_member[k] = (struct pod__sim_member){pod__sim_place_of(b, i), b->column[i]};
        b->partner[i] = p->n_syncs - 1;
    }
    for (int32_t g = 0; g < p->n_syncs; g++) {
        const sync_step *s = &list[p->sync[g].first];
        if (p->sync[g].n != s->n_shared)
            return blame(b, s->step, "not every sharing rank has one of this tag");
    }
    if (n > 0) p->n_most_known = b->first[p->n_columns];
    return POD_OK;
}
