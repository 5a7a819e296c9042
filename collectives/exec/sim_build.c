#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/exec/sim.h"

enum { CACHE_LINE_BYTES = 64, RANKS_TOGETHER = 8 };

typedef struct builder {
    pod_arena *out, *work;
    const pod_net *net;
    pod_dtype dtype;
    const pod_sched *const *all;
    const pod_step **steps; /* (n_ranks) of the schedules */
    int32_t *first;         /* (n_ranks + 1) of a rank's steps, which lie together to begin with */
    pod_sim_coll *coll;
} builder;

static const pod_step *source_of(const builder *b, int32_t i)
{
    const int rank = b->coll->step[i].rank;
    return &b->steps[rank][i - b->first[rank]];
}

static pod_status blame(const builder *b, int32_t i, const char *fault)
{
    char text[POD_STEP_TEXT_BYTES];
    const int rank = b->coll->step[i].rank;
    pod_step_print(source_of(b, i), text, sizeof text);
    return pod_fail(POD_E_INVALID, "schedule: rank %d step %d (%s): %s", rank,
                    (int)(i - b->first[rank]), text, fault);
}

/* ---- steps and what they cost --------------------------------------------------------------- */

#define MAX_COST ((INT64_C(1) << 56) - 1) /* what a step has room for */

static int64_t cost_of(const builder *b, const pod_sched *s, const pod_step *step)
{
    const double count = (double)step->count;
    const double from = count * (double)pod_dtype_bytes(pod_sched_dtype(step->src.buf, b->dtype));
    const double to = count * (double)pod_dtype_bytes(pod_sched_dtype(step->dst.buf, b->dtype));
    const double message = count * (double)pod_dtype_bytes(b->dtype);
    int n_shared;
    pod_sched_shared(s, &n_shared);
    switch (step->kind) {
    case POD_STEP_SEND: return step->count * (int64_t)pod_dtype_bytes(b->dtype);
    case POD_STEP_RECV_REDUCE: return pod_ps(pod_net_reduce_s(b->net, message));
    case POD_STEP_COPY: return pod_ps((from + to) / b->net->memory_bytes_per_s);
    case POD_STEP_REDUCE_FROM: return pod_ps((n_shared * from + to) / b->net->memory_bytes_per_s);
    case POD_STEP_REDUCE_ALL: return pod_ps(n_shared * (from + to) / b->net->memory_bytes_per_s);
    default: return 0;
    }
}

static pod_status number_steps(builder *b, int n_ranks)
{
    pod_sim_coll *c = b->coll;
    int64_t total = 0;
    for (int r = 0; r < n_ranks; r++) {
        int32_t n;
        b->steps[r] = pod_sched_steps(b->all[r], &n);
        b->first[r] = (int32_t)total;
        c->rank[r].n_steps = n;
        total += n;
        if (total > INT32_MAX / 2)
            return pod_fail(POD_E_UNSUPPORTED, "schedule: more than %d steps in all",
                            INT32_MAX / 2);
    }
    b->first[n_ranks] = c->n_steps = (int32_t)total;
    c->step = POD_ARENA_NEW(b->work, pod__sim_step, total + 1);
    if (!c->step) return POD_E_NOMEM;
    for (int r = 0; r < n_ranks; r++) {
        for (int32_t i = b->first[r]; i < b->first[r + 1]; i++) {
            const pod_step *step = &b->steps[r][i - b->first[r]];
            const int64_t cost = cost_of(b, b->all[r], step);
            c->step[i] = (pod__sim_step){
                .rank = r,
                .partner = POD__SIM_NONE,
                .kind = (unsigned)step->kind & 15u,
                .n_after = ((unsigned)(step->after[0] >= 0) + (step->after[1] >= 0)) & 3u,
                .cost = (uint64_t)(cost < MAX_COST ? cost : MAX_COST) & MAX_COST};
        }
    }
    return POD_OK;
}

static pod_status list_dependents(builder *b)
{
    pod_sim_coll *c = b->coll;
    int64_t n = 0;
    for (int32_t i = 0; i < c->n_steps; i++) {
        const pod_step *step = source_of(b, i);
        const int32_t first = b->first[c->step[i].rank];
        for (int j = 0; j < 2; j++)
            if (step->after[j] != POD_NO_STEP) c->step[first + step->after[j]].edge++;
        n += c->step[i].n_after;
    }
    c->dependent = POD_ARENA_NEW(b->work, int32_t, n);
    if (!c->dependent) return POD_E_NOMEM;
    /* Where a list ends, counted down to where it begins. */
    int32_t end = 0;
    for (int32_t i = 0; i < c->n_steps; i++) end = c->step[i].edge += end;
    c->step[c->n_steps].edge = end;
    for (int32_t i = c->n_steps; i-- > 0;) {
        const pod_step *step = source_of(b, i);
        const int32_t first = b->first[c->step[i].rank];
        for (int j = 0; j < 2; j++)
            if (step->after[j] != POD_NO_STEP)
                c->dependent[--c->step[first + step->after[j]].edge] = i;
    }
    return POD_OK;
}

/* ---- messages ------------------------------------------------------------------------------- */

typedef struct receives { /* all receives, those of one sender together */
    int32_t *first;       /* (n_ranks + 1) */
    int32_t *step;
} receives;

static bool receives_message(const pod__sim_step *s)
{
    return s->kind == POD_STEP_RECV || s->kind == POD_STEP_RECV_REDUCE;
}

static pod_status sort_receives(builder *b, receives *out)
{
    const pod_sim_coll *c = b->coll;
    int32_t *first = POD_ARENA_NEW(b->work, int32_t, c->n_ranks + 1);
    if (!first) return POD_E_NOMEM;
    for (int32_t i = 0; i < c->n_steps; i++) {
        if (!receives_message(&c->step[i]) && c->step[i].kind != POD_STEP_SEND) continue;
        const int peer = source_of(b, i)->peer;
        if (peer < 0 || peer >= c->n_ranks) return blame(b, i, "there is no such peer");
        if (peer == c->step[i].rank) return blame(b, i, "a message to itself");
        if (c->step[i].kind != POD_STEP_SEND) first[peer]++;
    }
    for (int r = 0; r < c->n_ranks; r++) first[r + 1] += first[r];
    int32_t *list = POD_ARENA_NEW(b->work, int32_t, first[c->n_ranks]);
    if (!list) return POD_E_NOMEM;
    for (int32_t i = c->n_steps; i-- > 0;)
        if (receives_message(&c->step[i])) list[--first[source_of(b, i)->peer]] = i;
    *out = (receives){first, list};
    return POD_OK;
}

static uint32_t hash(int peer, int tag, uint32_t mask)
{
    const uint32_t h = (uint32_t)peer * 0x9e3779b1u ^ (uint32_t)tag * 0x85ebca77u;
    return (h ^ h >> 15) & mask;
}

/* The place of the message to `peer` under `tag` in a table of steps; empty when it is not
 * there. */
static int32_t *find_send(const builder *b, int32_t *table, uint32_t mask, int peer, int tag)
{
    uint32_t at = hash(peer, tag, mask);
    for (; table[at] != POD__SIM_NONE; at = (at + 1) & mask) {
        const pod_step *other = source_of(b, table[at]);
        if (other->peer == peer && other->tag == tag) break;
    }
    return &table[at];
}

/* Enters what a rank sends into a table of its own, small enough for the first caches, and looks up
 * what the others receive from it. */
static pod_status pair_sender(builder *b, const receives *recv, int rank, int32_t *table)
{
    pod_sim_coll *c = b->coll;
    const int32_t begin = b->first[rank], end = b->first[rank + 1];
    uint32_t mask = 1;
    while (mask < 2 * (uint32_t)(end - begin)) mask = 2 * mask + 1;
    for (uint32_t i = 0; i <= mask; i++) table[i] = POD__SIM_NONE;
    for (int32_t i = begin; i < end; i++) {
        if (c->step[i].kind != POD_STEP_SEND) continue;
        const pod_step *s = source_of(b, i);
        int32_t *place = find_send(b, table, mask, s->peer, s->tag);
        if (*place != POD__SIM_NONE) return blame(b, i, "a second message with this peer and tag");
        *place = i;
    }
    for (int32_t k = recv->first[rank]; k < recv->first[rank + 1]; k++) {
        const int32_t i = recv->step[k];
        const pod_step *s = source_of(b, i);
        const int32_t send = *find_send(b, table, mask, c->step[i].rank, s->tag);
        if (send == POD__SIM_NONE) return blame(b, i, "nobody sends it");
        if (c->step[send].partner != POD__SIM_NONE)
            return blame(b, i, "a second message with this peer and tag");
        if (source_of(b, send)->count != s->count)
            return blame(b, i, "another number of elements is sent");
        c->step[send].partner = i;
        c->step[i].partner = send;
    }
    for (int32_t i = begin; i < end; i++)
        if (c->step[i].kind == POD_STEP_SEND && c->step[i].partner == POD__SIM_NONE)
            return blame(b, i, "no receive takes it");
    return POD_OK;
}

static pod_status pair_messages(builder *b)
{
    const pod_sim_coll *c = b->coll;
    receives recv = {0};
    POD_TRY(sort_receives(b, &recv));
    int32_t most = 0;
    for (int r = 0; r < c->n_ranks; r++) {
        const int32_t n = b->first[r + 1] - b->first[r];
        if (n > most) most = n;
    }
    int32_t *table = POD_ARENA_NEW(b->work, int32_t, 4 * (int64_t)most + 2);
    if (!table) return POD_E_NOMEM;
    for (int r = 0; r < c->n_ranks; r++) POD_TRY(pair_sender(b, &recv, r, table));
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

static pod_status collect_syncs(builder *b, sync_step **out, int32_t *n_out)
{
    const pod_sim_coll *c = b->coll;
    int32_t n = 0;
    for (int32_t i = 0; i < c->n_steps; i++) n += c->step[i].kind == POD_STEP_SYNC;
    sync_step *list = POD_ARENA_NEW(b->work, sync_step, n);
    if (!list) return POD_E_NOMEM;
    n = 0;
    for (int32_t i = 0; i < c->n_steps; i++) {
        if (c->step[i].kind != POD_STEP_SYNC) continue;
        int n_shared;
        const int *shared = pod_sched_shared(b->all[c->step[i].rank], &n_shared);
        if (n_shared == 0) return blame(b, i, "its rank shares nothing");
        list[n++] = (sync_step){shared[0], source_of(b, i)->tag, i, n_shared};
    }
    if (n) qsort(list, (size_t)n, sizeof *list, by_group);
    *out = list;
    *n_out = n;
    return POD_OK;
}

static pod_status group_syncs(builder *b)
{
    pod_sim_coll *c = b->coll;
    sync_step *list = NULL;
    int32_t n = 0;
    POD_TRY(collect_syncs(b, &list, &n));
    c->sync = POD_ARENA_NEW(b->out, pod__sim_sync, n);
    c->sync_member = POD_ARENA_NEW(b->out, int32_t, n);
    if (!c->sync || !c->sync_member) return POD_E_NOMEM;
    for (int32_t k = 0; k < n; k++) {
        const bool is_first =
            k == 0 || list[k].leader != list[k - 1].leader || list[k].tag != list[k - 1].tag;
        if (is_first) c->sync[c->n_syncs++] = (pod__sim_sync){.first = k};
        c->sync[c->n_syncs - 1].n++;
        c->sync_member[k] = list[k].step;
        c->step[list[k].step].partner = c->n_syncs - 1;
    }
    for (int32_t g = 0; g < c->n_syncs; g++) {
        const sync_step *s = &list[c->sync[g].first];
        if (c->sync[g].n != s->n_shared)
            return blame(b, s->step, "not every sharing rank has one of this tag");
    }
    return POD_OK;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* number[i] becomes the place of step i when a few ranks at a time take turns, step by step. */
static pod_status renumber(const builder *b, int32_t **out)
{
    const pod_sim_coll *c = b->coll;
    int32_t *number = POD_ARENA_NEW(b->work, int32_t, c->n_steps);
    if (!number) return POD_E_NOMEM;
    int32_t next = 0;
    for (int first = 0; first < c->n_ranks; first += RANKS_TOGETHER) {
        const int end = first + RANKS_TOGETHER < c->n_ranks ? first + RANKS_TOGETHER : c->n_ranks;
        const int32_t before = next, n = b->first[end] - b->first[first];
        for (int32_t k = 0; next < before + n; k++)
            for (int r = first; r < end; r++)
                if (k < c->rank[r].n_steps) number[b->first[r] + k] = next++;
    }
    *out = number;
    return POD_OK;
}

static pod_status list_roots(builder *b, const int32_t number[])
{
    pod_sim_coll *c = b->coll;
    int32_t n = 0;
    for (int32_t i = 0; i < c->n_steps; i++) n += c->step[i].n_after == 0;
    c->root = POD_ARENA_NEW(b->out, int32_t, n);
    if (!c->root) return POD_E_NOMEM;
    n = 0;
    for (int r = 0; r < c->n_ranks; r++) {
        c->rank[r].root = n;
        for (int32_t i = b->first[r]; i < b->first[r + 1]; i++)
            if (c->step[i].n_after == 0) c->root[n++] = number[i];
    }
    c->rank[c->n_ranks].root = n;
    return POD_OK;
}

/* Moves the steps, and what they name, to where they are to lie. */
static pod_status interleave(builder *b)
{
    pod_sim_coll *c = b->coll;
    int32_t *number = NULL;
    POD_TRY(renumber(b, &number));
    POD_TRY(list_roots(b, number));
    const int32_t n = c->n_steps, n_edges = c->step[n].edge;
    pod__sim_step *step =
        pod_arena_get_array(b->out, CACHE_LINE_BYTES, sizeof *step, (size_t)n + 1);
    int32_t *dependent = POD_ARENA_NEW(b->out, int32_t, n_edges);
    int32_t *old = POD_ARENA_NEW(b->work, int32_t, n);
    if (!step || !dependent || !old) return POD_E_NOMEM;
    for (int32_t i = 0; i < n; i++) old[number[i]] = i;
    int32_t end = 0;
    for (int32_t k = 0; k < n; k++) {
        const pod__sim_step *from = &c->step[old[k]];
        step[k] = *from;
        step[k].edge = end;
        for (int32_t e = from[0].edge; e < from[1].edge; e++)
            dependent[end++] = number[c->dependent[e]];
        if (from->kind != POD_STEP_SYNC && from->partner != POD__SIM_NONE)
            step[k].partner = number[from->partner];
    }
    step[n].edge = end;
    for (int32_t g = 0; g < c->n_syncs; g++)
        for (int32_t k = c->sync[g].first; k < c->sync[g].first + c->sync[g].n; k++)
            c->sync_member[k] = number[c->sync_member[k]];
    c->step = step;
    c->dependent = dependent;
    return POD_OK;
}

pod_status pod__sim_coll_build(pod_arena *a, const pod_net *net, const pod_mesh *m,
                               const pod_sched *const all[], pod_dtype t, pod_sim_coll **out)
{
    const int n_ranks = pod_mesh_size(m);
    pod_arena *work;
    POD_TRY(pod_arena_create(NULL, &work));
    builder b = {.out = a, .work = work, .net = net, .dtype = t, .all = all};
    b.steps = POD_ARENA_NEW(work, const pod_step *, n_ranks);
    b.first = POD_ARENA_NEW(work, int32_t, n_ranks + 1);
    b.coll = POD_ARENA_NEW(a, pod_sim_coll, 1);
    pod_status status = POD_E_NOMEM;
    if (!b.steps || !b.first || !b.coll) goto done;
    b.coll->n_ranks = n_ranks;
    b.coll->rank = POD_ARENA_NEW(a, pod__sim_rank, n_ranks + 1);
    if (!b.coll->rank) goto done;
    POD_TRY_GOTO(status, number_steps(&b, n_ranks), done);
    POD_TRY_GOTO(status, list_dependents(&b), done);
    POD_TRY_GOTO(status, pair_messages(&b), done);
    POD_TRY_GOTO(status, group_syncs(&b), done);
    POD_TRY_GOTO(status, interleave(&b), done);
    *out = b.coll;
done:
    pod_arena_destroy(work);
    return status;
}
