#include "collectives/exec/sim/plan.h"

#include <inttypes.h>

#include "collectives/exec/sim/pages.h"

static pod__sim_step *step_at(const pod__sim_builder *b, int32_t i)
{
    return pod__sim_step_at(b->plan, pod__sim_place_of(b, i), b->column[i]);
}

static int32_t n_all(const pod__sim_builder *b) { return b->first[b->plan->n_columns]; }

/* ---- steps ---------------------------------------------------------------------------------- */

static pod_status count_steps(pod__sim_builder *b)
{
    pod__sim_plan *p = b->plan;
    int64_t total = 0;
    for (int k = 0; k < p->n_columns; k++) {
        b->first[k] = (int32_t)total;
        b->steps[k] = pod_sched_steps(b->sched[k], &p->n_steps[k]);
        total += p->n_steps[k];
        if (p->n_steps[k] > p->n_places) p->n_places = p->n_steps[k];
        if (total > INT32_MAX / 2)
            return pod_fail(POD_E_UNSUPPORTED, "schedule: more than %d steps in all",
                            INT32_MAX / 2);
    }
    b->first[p->n_columns] = (int32_t)total;
    p->n_most_known = p->n_places;
    p->step_bytes = (size_t)p->n_places * (size_t)p->n_columns * sizeof *p->step;
    p->step = pod__sim_take_pages(p->step_bytes);
    b->column = POD_ARENA_NEW(b->work, int32_t, total);
    b->partner = POD_ARENA_NEW(b->work, int32_t, total);
    b->implied = POD_ARENA_NEW(b->work, uint8_t, total);
    if (!p->step || !b->column || !b->partner || !b->implied)
        return pod_fail(POD_E_NOMEM, "no memory for %" PRId64 " steps", total);
    for (int k = 0; k < p->n_columns; k++)
        for (int32_t i = b->first[k]; i < b->first[k + 1]; i++) {
            b->column[i] = k;
            b->partner[i] = POD__SIM_NONE;
        }
    return POD_OK;
}

#define MAX_COST (INT64_C(1) << 52) /* a double counts so far: an hour, 4 PiB */

static int64_t cost_of(const pod_net *net, const pod_sched *s, const pod_step *step, pod_dtype t)
{
    const double count = (double)step->count;
    const double from = count * (double)pod_dtype_bytes(pod_sched_dtype(step->src.buf, t));
    const double to = count * (double)pod_dtype_bytes(pod_sched_dtype(step->dst.buf, t));
    int n_shared;
    pod_sched_shared(s, &n_shared);
    switch (step->kind) {
    case POD_STEP_SEND: return step->count * (int64_t)pod_dtype_bytes(t);
    case POD_STEP_RECV_REDUCE:
        return pod_ps(count * (double)pod_dtype_bytes(t) / net->reduce_bytes_per_s);
    case POD_STEP_DIVIDE:
    case POD_STEP_COPY: return pod_ps((from + to) / net->memory_bytes_per_s);
    case POD_STEP_REDUCE_FROM: return pod_ps((n_shared * from + to) / net->memory_bytes_per_s);
    case POD_STEP_REDUCE_ALL: return pod_ps(n_shared * (from + to) / net->memory_bytes_per_s);
    default: return 0;
    }
}

static bool is_root(const pod_step *s) { return s->after[0] < 0 && s->after[1] < 0; }

static void put_steps(const pod__sim_builder *b)
{
    for (int32_t i = 0; i < n_all(b); i++) {
        const pod_step *from = pod__sim_source_of(b, i);
        pod__sim_step *s = step_at(b, i);
        const int64_t cost = cost_of(&b->sim->net, b->sched[b->column[i]], from, b->dtype);
        s->kind = (uint8_t)from->kind;
        s->n_waits = (uint8_t)(is_root(from) + pod__sim_receives(from));
        s->cost = cost < MAX_COST ? cost : MAX_COST;
        s->peer = from->kind == POD_STEP_SYNC ? b->partner[i] : from->peer;
        if (from->kind != POD_STEP_SEND) continue;
        s->receive = pod__sim_place_of(b, b->partner[i]);
        b->plan->n_messages++;
        b->plan->message_bytes += (double)cost;
    }
}

/* ---- dependents ----------------------------------------------------------------------------- */

/* Whether `late` is found to come after `early`, by its place, with a few looks; of one rank. */
static bool comes_after(const pod_step step[], int32_t late, int32_t early)
{
    enum { N_LOOKS = 16 };
    int32_t open[2 * N_LOOKS + 1] = {late}, n = 1;
    for (int look = 0; look < N_LOOKS && n > 0; look++) {
        const int32_t *after = step[open[--n]].after;
        if (after[0] == early || after[1] == early) return true;
        for (int j = 0; j < 2; j++)
            if (after[j] > early) open[n++] = after[j];
    }
    return false;
}

/* A receive that comes after a SEND to the same peer need not wait for it where the peer sends its
 * message after that one has come. Then most receives wait for their messages alone, and nothing is
 * kept of them:
 *
 *     SEND --> RECV (_REDUCE)       of the peer
 *      |          :
 *     RECV <-- SEND */
static void find_implied(const pod__sim_builder *b)
{
    for (int32_t i = 0; i < n_all(b); i++) {
        const pod_step *s = pod__sim_source_of(b, i);
        for (int j = 0; j < 2 && pod__sim_receives(s); j++) {
            if (s->after[j] < 0) continue;
            const int32_t sent = b->first[b->column[i]] + s->after[j];
            const pod_step *send = pod__sim_source_of(b, sent);
            if (send->kind != POD_STEP_SEND || send->peer != s->peer) continue;
            if (comes_after(b->steps[b->column[b->partner[i]]], pod__sim_place_of(b, b->partner[i]),
                            pod__sim_place_of(b, b->partner[sent])))
                b->implied[i] |= (uint8_t)(1 << j);
        }
    }
}

/* What a step waits for; negative: nothing. */
static int32_t after_of(const pod__sim_builder *b, int32_t i, int j)
{
    return b->implied[i] >> j & 1 ? POD_NO_STEP : pod__sim_source_of(b, i)->after[j];
}

static void count_waits(const pod__sim_builder *b)
{
    const pod__sim_plan *p = b->plan;
    for (int32_t i = 0; i < n_all(b); i++) {
        for (int j = 0; j < 2; j++) {
            const int32_t after = after_of(b, i, j);
            if (after < 0) continue;
            pod__sim_step *from = pod__sim_step_at(p, after, b->column[i]);
            from->n_dependents++;
            step_at(b, i)->n_waits++;
        }
    }
}

/* Room in the list for each that has several; they are filled in from its end. */
static pod_status list_dependents(pod__sim_builder *b)
{
    pod__sim_plan *p = b->plan;
    int32_t n = 0;
    count_waits(b);
    p->n_last = POD_ARENA_NEW(b->out, int32_t, p->n_columns);
    if (!p->n_last) return POD_E_NOMEM;
    for (int32_t i = 0; i < n_all(b); i++) {
        pod__sim_step *s = step_at(b, i);
        p->n_last[b->column[i]] += s->n_dependents == 0;
        if (s->n_dependents > 1) s->dependent = n += s->n_dependents;
    }
    p->dependent = POD_ARENA_NEW(b->out, int32_t, n);
    if (!p->dependent) return POD_E_NOMEM;
    for (int32_t i = n_all(b); i-- > 0;) {
        for (int j = 0; j < 2; j++) {
            const int32_t after = after_of(b, i, j);
            if (after < 0) continue;
            pod__sim_step *s = pod__sim_step_at(p, after, b->column[i]);
            if (s->n_dependents == 1)
                s->dependent = pod__sim_place_of(b, i);
            else
                p->dependent[--s->dependent] = pod__sim_place_of(b, i);
        }
    }
    return POD_OK;
}

static pod_status list_roots(pod__sim_builder *b)
{
    pod__sim_plan *p = b->plan;
    int32_t n = 0;
    for (int32_t i = 0; i < n_all(b); i++) n += is_root(pod__sim_source_of(b, i));
    p->root = POD_ARENA_NEW(b->out, int32_t, n);
    p->first_root = POD_ARENA_NEW(b->out, int32_t, p->n_columns + 1);
    if (!p->root || !p->first_root) return POD_E_NOMEM;
    n = 0;
    for (int k = 0; k < p->n_columns; k++) {
        p->first_root[k] = n;
        for (int32_t place = 0; place < p->n_steps[k]; place++)
            if (is_root(&b->steps[k][place])) p->root[n++] = place;
    }
    p->first_root[p->n_columns] = n;
    return POD_OK;
}

/* ---- failed links --------------------------------------------------------------------------- */

/* Messages of a column that meet a failed link are counted, and their ways made ready. */
static pod_status reroute(pod__sim_builder *b, int32_t i)
{
    const pod_sim *sim = b->sim;
    pod__sim_step *send = step_at(b, i);
    for (int n = 0; n < sim->classes.n_alike; n++) {
        const int core = pod_sim_class_member(&sim->classes, b->column[i], n);
        const int to = pod__sim_peer_of(sim, send->peer, core);
        if (!pod_detours_meets(sim->detours, core, to)) continue;
        POD_TRY(pod_detours_prepare(sim->detours, to));
        send->is_rerouted = true;
        b->plan->n_rerouted++;
    }
    return POD_OK;
}

static pod_status reroute_all(pod__sim_builder *b)
{
    for (int32_t i = 0; i < n_all(b) && b->sim->detours; i++)
        if (step_at(b, i)->kind == POD_STEP_SEND) POD_TRY(reroute(b, i));
    return POD_OK;
}

/* ---- what a run keeps ----------------------------------------------------------------------- */

static bool is_one_hop(const pod_sim *sim, int from, int to)
{
    pod_hop hop;
    const pod_mesh *m = &sim->classes.mesh;
    return pod_route_next(m, &sim->coord[from], &sim->coord[to], &hop) &&
           pod_mesh_neighbor(m, from, hop.dim, hop.dir) == to;
}

enum { STATES_OF_LINE = 64 / sizeof(pod__sim_state) };

/* A step that waits for one thing is complete when that is, and then there is nothing to be kept of
 * it; but of a message that goes on from its first hop, when its tail comes. */
static void number_states(pod__sim_builder *b)
{
    pod__sim_plan *p = b->plan;
    for (int k = 0; k < p->n_columns; k++) {
        const int rank = pod_sim_class_rank(&b->sim->classes, k);
        int32_t n = 0;
        for (int32_t place = 0; place < p->n_steps[k]; place++) {
            pod__sim_step *s = pod__sim_step_at(p, place, k);
            const bool goes_on =
                s->kind == POD_STEP_SEND && (s->is_rerouted || !is_one_hop(b->sim, rank, s->peer));
            s->state = s->n_waits > 1 || goes_on ? n++ : POD__SIM_NONE;
        }
        if (n > p->n_states) p->n_states = n;
    }
    /* An odd number of cache lines: what all cores have of one step does not fall into one set of a
     * cache. */
    p->n_states = ((p->n_states + STATES_OF_LINE - 1) / STATES_OF_LINE | 1) * STATES_OF_LINE;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static pod_status build(pod__sim_builder *b)
{
    const int n_columns = b->sim->classes.n_classes;
    b->steps = POD_ARENA_NEW(b->work, const pod_step *, n_columns);
    b->first = POD_ARENA_NEW(b->work, int32_t, n_columns + 1);
    b->plan = POD_ARENA_NEW(b->out, pod__sim_plan, 1);
    if (!b->steps || !b->first || !b->plan) return POD_E_NOMEM;
    b->plan->n_columns = n_columns;
    b->plan->n_steps = POD_ARENA_NEW(b->out, int32_t, n_columns);
    if (!b->plan->n_steps) return POD_E_NOMEM;
    POD_TRY(count_steps(b));
    POD_TRY(pod__sim_pair_messages(b));
    POD_TRY(pod__sim_group_syncs(b));
    put_steps(b);
    find_implied(b);
    POD_TRY(list_dependents(b));
    POD_TRY(list_roots(b));
    POD_TRY(reroute_all(b));
    number_states(b);
    return POD_OK;
}

pod_status pod__sim_plan_build(const pod_sim *sim, const pod_sched *const sched[], pod_dtype t,
                               pod__sim_plan **out)
{
    pod__sim_builder b = {.out = sim->arena, .sim = sim, .sched = sched, .dtype = t};
    POD_TRY(pod_arena_create(NULL, &b.work));
    const pod_status status = build(&b);
    pod_arena_destroy(b.work);
    if (status == POD_OK)
        *out = b.plan;
    else if (b.plan)
        pod__sim_plan_free(b.plan);
    return status;
}

void pod__sim_plan_free(pod__sim_plan *p) { pod__sim_put_pages(p->step, p->step_bytes); }
