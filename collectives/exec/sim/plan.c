#include <inttypes.h>
#include <stdlib.h>

#include "collectives/exec/sim/plan.h"

enum { LEFT_OUT_OF_OTHER = 1 << 2 };

/* Who is waited for; negative: nobody. */
static int32_t after_of(const pod__sim_builder *b, int32_t i, int j)
{
    return b->left_out[i] >> j & 1 ? POD_NO_STEP : pod__sim_source_of(b, i)->after[j];
}

static pod__sim_step *step_at(const pod__sim_builder *b, int32_t i)
{
    return pod__sim_step_at(b->plan, pod__sim_place_of(b, i), b->column[i]);
}

static pod__sim_rest *rest_at(const pod__sim_builder *b, int32_t i)
{
    return pod__sim_rest_at(b->plan, pod__sim_place_of(b, i), b->column[i]);
}

/* ---- steps ---------------------------------------------------------------------------------- */

static pod_status count_steps(pod__sim_builder *b)
{
    pod__sim_plan *p = b->plan;
    int64_t total = 0;
    for (int k = 0; k < p->n_columns; k++) {
        b->first[k] = (int32_t)total;
        if (!b->sched[k]) continue;
        b->steps[k] = pod_sched_steps(b->sched[k], &p->n_steps[k]);
        total += p->n_steps[k];
        if (p->n_steps[k] > p->n_places) p->n_places = p->n_steps[k];
        if (total > INT32_MAX / 2)
            return pod_fail(POD_E_UNSUPPORTED, "schedule: more than %d steps in all",
                            INT32_MAX / 2);
    }
    b->first[p->n_columns] = (int32_t)total;
    p->n_most_known = p->n_places;
    const size_t n_all = (size_t)p->n_places * (size_t)p->n_columns;
    p->step_bytes = (n_all + 1) * sizeof *p->step;
    p->step = pod__sim_take_pages(p->step_bytes);
    p->rest = calloc(n_all + 1, sizeof *p->rest);
    b->column = POD_ARENA_NEW(b->work, int32_t, total);
    b->partner = POD_ARENA_NEW(b->work, int32_t, total);
    if (!p->step || !p->rest)
        return pod_fail(POD_E_NOMEM, "no memory for %" PRId64 " steps", total);
    b->left_out = POD_ARENA_NEW(b->work, uint8_t, total);
    if (!b->column || !b->partner || !b->left_out) return POD_E_NOMEM;
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

/* The first hop of a message, and whether it is the last one. */
static void put_hop(const pod__sim_builder *b, int from, int to, pod__sim_step *out)
{
    pod_coord at = b->coord[from];
    const pod_mesh *m = &b->classes->mesh;
    pod_hop hop, next;
    if (!pod_route_next(m, &at, &b->coord[to], &hop)) return;
    at.at[hop.dim] = (at.at[hop.dim] + hop.dir + m->extent[hop.dim]) % m->extent[hop.dim];
    out->dim = (unsigned)hop.dim & 3u;
    out->is_down = hop.dir < 0;
    out->is_near = !pod_route_next(m, &at, &b->coord[to], &next);
}

static void put_place(pod__sim_edge *e, int32_t place)
{
    e->place = (uint64_t)place & ((1u << POD__SIM_PLACE_BITS) - 1);
}

static pod__sim_step *put_step(const pod__sim_builder *b, int32_t i)
{
    const pod_step *from = pod__sim_source_of(b, i);
    pod__sim_step *s = step_at(b, i);
    pod__sim_rest *rest = rest_at(b, i);
    s->is_send = from->kind == POD_STEP_SEND;
    rest->kind = from->kind;
    rest->n_waits += pod__sim_receives(from);
    rest->peer = from->kind == POD_STEP_SYNC ? b->partner[i] : from->peer;
    const int64_t cost = cost_of(&b->sim->net, b->sched[b->column[i]], from, b->dtype);
    s->cost = cost < MAX_COST ? cost : MAX_COST;
    if (from->kind != POD_STEP_SEND) return s;
    put_place(&s->edge[0], pod__sim_place_of(b, b->partner[i]));
    put_hop(b, b->rank[b->column[i]], from->peer, s);
    b->plan->n_messages++;
    b->plan->message_bytes += (double)cost;
    return s;
}

/* ---- dependents ----------------------------------------------------------------------------- */

enum { MAX_EDGES = (1 << 25) - 1 };

static bool is_root(const pod_step *s) { return s->after[0] < 0 && s->after[1] < 0; }

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

/* Where a receive comes after a SEND to the same peer, who sends its message after that has come,
 * then the message itself tells it:
 *
 *     SEND --> RECV (_REDUCE)       of the peer
 *      |          :
 *     RECV <-- SEND */
static void leave_out_implied(pod__sim_builder *b)
{
    for (int32_t i = 0; i < b->first[b->plan->n_columns]; i++) {
        const pod_step *s = pod__sim_source_of(b, i);
        for (int j = 0; j < 2 && pod__sim_receives(s); j++) {
            if (s->after[j] < 0) continue;
            const int32_t sent = b->first[b->column[i]] + s->after[j];
            const pod_step *send = pod__sim_source_of(b, sent);
            if (send->kind != POD_STEP_SEND || send->peer != s->peer) continue;
            const int32_t there = b->column[b->partner[i]];
            if (!comes_after(b->steps[there], pod__sim_place_of(b, b->partner[i]),
                             pod__sim_place_of(b, b->partner[sent])))
                continue;
            b->left_out[i] |= (uint8_t)(1 << j);
            b->left_out[sent] |= LEFT_OUT_OF_OTHER;
        }
    }
}

/* A JOIN after which nothing comes, or one other JOIN alone, need not be there: into[place] is who
 * is told instead, or POD__SIM_NONE; of all others, themselves. n_told: how many each of these then
 * tells. */
static void merge_joins(const pod__sim_builder *b, int k, int32_t into[], int32_t n_told[],
                        int32_t last_told[])
{
    const pod_step *step = b->steps[k];
    for (int32_t i = b->plan->n_steps[k]; i-- > 0;) {
        into[i] = i;
        if (step[i].kind == POD_STEP_JOIN && !is_root(&step[i])) {
            if (n_told[i] == 0) into[i] = POD__SIM_NONE;
            if (n_told[i] == 1 && step[last_told[i]].kind == POD_STEP_JOIN) into[i] = last_told[i];
        }
        for (int j = 0; j < 2 && into[i] != POD__SIM_NONE; j++) {
            const int32_t from = after_of(b, b->first[k] + i, j);
            if (from < 0) continue;
            n_told[from]++;
            last_told[from] = into[i];
        }
    }
}

/* A SEND's receive is told first. */
static int n_near(const pod_step *s) { return POD__SIM_NEAR_EDGES - (s->kind == POD_STEP_SEND); }

static pod__sim_edge *edge_at(const pod__sim_plan *p, pod__sim_step *s, int32_t number, int n_near)
{
    return number < n_near ? &s->edge[POD__SIM_NEAR_EDGES - n_near + number]
                           : &p->more[s->more + number - n_near];
}

/* Of column k; the lists begin at `at`. */
static int32_t list_column(pod__sim_builder *b, int k, const int32_t into[], const int32_t n_told[],
                           int32_t at)
{
    pod__sim_plan *p = b->plan;
    pod__sim_step *own = pod__sim_step_at(p, 0, k);
    pod__sim_rest *rest = pod__sim_rest_at(p, 0, k);
    for (int32_t i = 0; i < p->n_steps[k]; i++) {
        rest[i].n_waits = is_root(&b->steps[k][i]);
        if (into[i] != i) continue;
        own[i].is_silent = n_told[i] == 0 && b->left_out[b->first[k] + i] & LEFT_OUT_OF_OTHER;
        p->n_last[k] += n_told[i] == 0 && !own[i].is_silent;
        own[i].more = at;
        if (n_told[i] > n_near(&b->steps[k][i])) at += n_told[i] - n_near(&b->steps[k][i]);
    }
    for (int32_t i = 0; i < p->n_steps[k]; i++)
        for (int j = 0; j < 2 && into[i] != POD__SIM_NONE; j++) {
            const int32_t from = after_of(b, b->first[k] + i, j);
            if (from < 0 || into[from] != from) continue;
            rest[into[i]].n_waits++;
            put_place(
                edge_at(p, &own[from], (int32_t)own[from].n_edges, n_near(&b->steps[k][from])),
                into[i]);
            own[from].n_edges = (own[from].n_edges + 1) & MAX_EDGES;
        }
    return at;
}

static pod_status list_dependents(pod__sim_builder *b)
{
    pod__sim_plan *p = b->plan;
    int32_t *into = POD_ARENA_NEW(b->work, int32_t, b->first[p->n_columns]);
    int32_t *n_told = POD_ARENA_NEW(b->work, int32_t, b->first[p->n_columns]);
    int32_t *last_told = POD_ARENA_NEW(b->work, int32_t, p->n_places);
    if (!into || !n_told || !last_told) return POD_E_NOMEM;
    int32_t n_listed = 0;
    for (int k = 0; k < p->n_columns; k++) {
        merge_joins(b, k, into + b->first[k], n_told + b->first[k], last_told);
        for (int32_t i = b->first[k]; i < b->first[k + 1]; i++) {
            if (n_told[i] > MAX_EDGES)
                return pod_fail(POD_E_UNSUPPORTED, "schedule: %d steps come after one",
                                (int)n_told[i]);
            if (n_told[i] > n_near(pod__sim_source_of(b, i)))
                n_listed += n_told[i] - n_near(pod__sim_source_of(b, i));
        }
    }
    p->more = POD_ARENA_NEW(b->out, pod__sim_edge, n_listed);
    p->n_last = POD_ARENA_NEW(b->out, int32_t, p->n_columns);
    if (!p->more || !p->n_last) return POD_E_NOMEM;
    int32_t at = 0;
    for (int k = 0; k < p->n_columns; k++)
        at = list_column(b, k, into + b->first[k], n_told + b->first[k], at);
    return POD_OK;
}

static pod_status list_roots(pod__sim_builder *b)
{
    pod__sim_plan *p = b->plan;
    int32_t n = 0;
    for (int32_t i = 0; i < b->first[p->n_columns]; i++) {
        n += is_root(pod__sim_source_of(b, i));
    }
    p->root = POD_ARENA_NEW(b->out, pod__sim_edge, n);
    p->first_root = POD_ARENA_NEW(b->out, int32_t, p->n_columns + 1);
    if (!p->root || !p->first_root) return POD_E_NOMEM;
    n = 0;
    for (int k = 0; k < p->n_columns; k++) {
        p->first_root[k] = n;
        for (int32_t place = 0; place < p->n_steps[k]; place++)
            if (is_root(&b->steps[k][place])) put_place(&p->root[n++], place);
    }
    p->first_root[p->n_columns] = n;
    return POD_OK;
}

/* ---- failed links --------------------------------------------------------------------------- */

/* Messages of a column that meet a failed link are counted, and their ways made ready. */
static pod_status reroute(pod__sim_builder *b, int32_t i, pod__sim_step *send)
{
    const pod_sim *sim = b->sim;
    const int first = b->column[i] << sim->n_column_shift;
    for (int core = first; core < first + (1 << sim->n_column_shift); core++) {
        if (sim->rank[core] < 0) continue;
        const int to = pod__sim_peer_of(sim, rest_at(b, i)->peer, core);
        if (!pod_detours_meets(sim->detours, sim->rank[core], to)) continue;
        POD_TRY(pod_detours_prepare(sim->detours, to));
        send->is_rerouted = 1;
        b->plan->n_rerouted++;
    }
    return POD_OK;
}

/* ---- what a run keeps ----------------------------------------------------------------------- */

/* A step that waits for one thing is told once, and then there is nothing to be kept of it; but of
 * a message that goes on from its first hop, when its tail comes. */
static bool is_kept(const pod__sim_step *s, const pod__sim_rest *rest)
{
    return rest->n_waits > 1 || (s->is_send && (!s->is_near || s->is_rerouted));
}

enum { WORDS_OF_LINE = 8 };

static void number_words(pod__sim_builder *b)
{
    pod__sim_plan *p = b->plan;
    for (int k = 0; k < p->n_columns; k++) {
        int32_t n = 0;
        for (int32_t place = 0; place < p->n_steps[k]; place++) {
            pod__sim_rest *rest = pod__sim_rest_at(p, place, k);
            if (!is_kept(pod__sim_step_at(p, place, k), rest)) continue;
            rest->word = n;
            n += pod__sim_is_wide(rest->n_waits) ? 2 : 1;
        }
        if (n > p->n_words) p->n_words = n;
    }
    /* An odd number of cache lines: the words of one step are not all of one set of a cache. */
    const int32_t n_lines = (p->n_words + WORDS_OF_LINE - 1) / WORDS_OF_LINE;
    p->n_words = (n_lines | 1) * WORDS_OF_LINE;
}

static unsigned then_of(pod_step_kind kind)
{
    switch (kind) {
    case POD_STEP_SEND: return POD__SIM_SEND;
    case POD_STEP_RECV:
    case POD_STEP_JOIN: return POD__SIM_KNOWN;
    case POD_STEP_SYNC: return POD__SIM_SYNC;
    default: return POD__SIM_WORK;
    }
}

/* What is asked of who is told, beside its place. */
static void put_edge(const pod__sim_plan *p, int column, pod__sim_edge *e)
{
    const pod__sim_rest *to = pod__sim_rest_at(p, (int32_t)e->place, column);
    const int32_t n_waits = to->n_waits < POD__SIM_MANY_WAITS ? to->n_waits : POD__SIM_MANY_WAITS;
    e->word = (uint64_t)to->word & ((2u << POD__SIM_PLACE_BITS) - 1);
    e->n_waits = (unsigned)n_waits & POD__SIM_MANY_WAITS;
    e->then = then_of(to->kind) & 3u;
}

static void put_edges(const pod__sim_builder *b)
{
    const pod__sim_plan *p = b->plan;
    for (int32_t i = 0; i < b->first[p->n_columns]; i++) {
        pod__sim_step *s = step_at(b, i);
        for (int32_t e = 0; e < (int32_t)s->n_edges; e++)
            put_edge(p, b->column[i], edge_at(p, s, e, n_near(pod__sim_source_of(b, i))));
        if (s->is_send) put_edge(p, b->column[b->partner[i]], &s->edge[0]);
    }
    for (int k = 0; k < p->n_columns; k++)
        for (int32_t i = p->first_root[k]; i < p->first_root[k + 1]; i++)
            put_edge(p, k, &p->root[i]);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static pod_status begin_build(pod__sim_builder *b, const pod_sim *sim)
{
    const pod_sim_classes *c = b->classes;
    const int n_ranks = pod_mesh_size(&c->mesh);
    pod_coord *coord = POD_ARENA_NEW(b->work, pod_coord, n_ranks);
    b->steps = POD_ARENA_NEW(b->work, const pod_step *, sim->n_columns);
    b->first = POD_ARENA_NEW(b->work, int32_t, sim->n_columns + 1);
    b->plan = POD_ARENA_NEW(b->out, pod__sim_plan, 1);
    if (!coord || !b->steps || !b->first || !b->plan) return POD_E_NOMEM;
    b->plan->n_columns = sim->n_columns;
    b->plan->n_steps = POD_ARENA_NEW(b->out, int32_t, sim->n_columns);
    if (!b->plan->n_steps) return POD_E_NOMEM;
    for (int r = 0; r < n_ranks; r++) coord[r] = pod_mesh_coord(&c->mesh, r);
    b->coord = coord;
    return POD_OK;
}

static pod_status build(pod__sim_builder *b, const pod_sim *sim)
{
    POD_TRY(begin_build(b, sim));
    POD_TRY(count_steps(b));
    POD_TRY(pod__sim_pair_messages(b));
    POD_TRY(pod__sim_group_syncs(b));
    leave_out_implied(b);
    POD_TRY(list_dependents(b));
    POD_TRY(list_roots(b));
    for (int32_t i = 0; i < b->first[b->plan->n_columns]; i++) {
        pod__sim_step *s = put_step(b, i);
        if (sim->detours && s->is_send) POD_TRY(reroute(b, i, s));
    }
    number_words(b);
    put_edges(b);
    return POD_OK;
}

pod_status pod__sim_plan_build(pod_arena *a, const pod_sim *sim, const pod_sched *const sched[],
                               pod_dtype t, pod__sim_plan **out)
{
    pod__sim_builder b = {.out = a,
                          .sim = sim,
                          .classes = &sim->classes,
                          .column_of = sim->column_of,
                          .rank = sim->column_rank,
                          .sched = sched,
                          .dtype = t};
    POD_TRY(pod_arena_create(NULL, &b.work));
    const pod_status status = build(&b, sim);
    pod_arena_destroy(b.work);
    if (status == POD_OK)
        *out = b.plan;
    else if (b.plan)
        pod__sim_plan_free(b.plan);
    return status;
}

void pod__sim_plan_free(pod__sim_plan *p)
{
    pod__sim_put_pages(p->step, p->step_bytes);
    free(p->rest);
}
