#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/exec/sim/plan.h"

enum { LEFT_OUT_OF_OTHER = 1 << 2 };

/* Who is waited for; negative: nobody. */
static int32_t after_of(const pod__sim_source *s, int j)
{
    return s->left_out >> j & 1 ? POD_NO_STEP : s->after[j];
}

/* ---- steps ---------------------------------------------------------------------------------- */

pod_status pod__sim_sched_of(const pod__sim_builder *b, pod_arena *a, int column,
                             const pod_sched **out)
{
    const pod__sim_origin *from = b->origin;
    const int rank = b->rank[column];
    if (from->algo) return pod_coll_build(a, from->algo, &b->classes->mesh, rank, &from->args, out);
    *out = from->given[pod_sim_class_of(b->classes, rank)];
    return POD_OK;
}

/* Makes room for n steps in all. The memory stays for plans to come: fresh pages cost more time than
 * all that is done with them. */
static pod_status take_sources(pod_sim *sim, int64_t n)
{
    if (n <= sim->source_capacity) return POD_OK;
    if (n < 2 * sim->source_capacity) n = 2 * sim->source_capacity;
    pod__sim_source *larger = realloc(sim->source, (size_t)n * sizeof *larger);
    if (!larger) return pod_fail(POD_E_NOMEM, "no memory for %" PRId64 " steps", n);
    sim->source = larger;
    sim->source_capacity = n;
    return POD_OK;
}

/* Appends the steps of a column to those of the columns before. */
static pod_status keep_steps(pod__sim_builder *b, int column, const pod_sched *s)
{
    int n_shared;
    int32_t n;
    const pod_step *step = pod_sched_steps(s, &n);
    const int *shared = pod_sched_shared(s, &n_shared);
    if (n_shared > 0) b->sharers[column] = (pod__sim_sharers){shared[0], n_shared};
    POD_TRY(take_sources(b->sim, (int64_t)b->n_steps + n));
    pod__sim_source *kept = b->sim->source + b->n_steps;
    for (int32_t i = 0; i < n; i++)
        kept[i] = (pod__sim_source){.count = step[i].count,
                                    .peer = step[i].peer,
                                    .tag = step[i].tag,
                                    .after = {step[i].after[0], step[i].after[1]},
                                    .partner = POD__SIM_NONE,
                                    .kind = (uint8_t)step[i].kind,
                                    .src = (uint8_t)step[i].src.buf,
                                    .dst = (uint8_t)step[i].dst.buf};
    b->plan->n_steps[column] = n;
    b->n_steps += n;
    return POD_OK;
}

static pod_status take_steps(pod__sim_builder *b, pod_arena *scratch)
{
    pod__sim_plan *p = b->plan;
    for (int k = 0; k < p->n_columns; k++) {
        const pod_sched *s;
        if (b->rank[k] < 0) continue;
        POD_TRY(pod__sim_sched_of(b, scratch, k, &s));
        POD_TRY(keep_steps(b, k, s));
        pod_arena_reset(scratch);
        if (p->n_steps[k] > p->n_places) p->n_places = p->n_steps[k];
        if (b->n_steps > INT32_MAX / 2)
            return pod_fail(POD_E_UNSUPPORTED, "schedule: more than %d steps in all",
                            INT32_MAX / 2);
    }
    pod__sim_source *first = b->sim->source;
    for (int k = 0; k < p->n_columns; first += p->n_steps[k++]) b->steps[k] = first;
    return POD_OK;
}

static pod_status take_tables(pod__sim_builder *b)
{
    pod__sim_plan *p = b->plan;
    const size_t n = (size_t)p->n_places * (size_t)p->n_columns + 1;
    p->n_most_known = p->n_places;
    p->bytes = n * (sizeof *p->step + sizeof *p->rest);
    p->step = pod__sim_take_pages(p->bytes);
    if (!p->step) return pod_fail(POD_E_NOMEM, "no memory for %d steps", (int)b->n_steps);
    p->rest = (pod__sim_rest *)(p->step + n);
    return POD_OK;
}

#define MAX_COST (INT64_C(1) << 52) /* a double counts so far: an hour, 4 PiB */

static int64_t cost_of(const pod_net *net, int n_shared, const pod__sim_source *step, pod_dtype t)
{
    const double count = (double)step->count;
    const double from = count * (double)pod_dtype_bytes(pod_sched_dtype((pod_buf)step->src, t));
    const double to = count * (double)pod_dtype_bytes(pod_sched_dtype((pod_buf)step->dst, t));
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

static pod__sim_step *put_step(const pod__sim_builder *b, int k, int32_t place)
{
    const pod__sim_source *from = &b->steps[k][place];
    pod__sim_step *s = pod__sim_step_at(b->plan, place, k);
    pod__sim_rest *rest = pod__sim_rest_at(b->plan, place, k);
    s->is_send = from->kind == POD_STEP_SEND;
    rest->kind = (pod_step_kind)from->kind;
    rest->n_waits += pod__sim_receives(from);
    rest->peer = from->kind == POD_STEP_SYNC ? from->partner : from->peer;
    const int64_t cost = cost_of(&b->sim->net, b->sharers[k].n, from, b->origin->args.dtype);
    s->cost = cost < MAX_COST ? cost : MAX_COST;
    if (from->kind != POD_STEP_SEND) return s;
    put_place(&s->edge[0], from->partner);
    put_hop(b, b->rank[k], from->peer, s);
    b->plan->n_messages++;
    b->plan->message_bytes += (double)cost;
    return s;
}

/* ---- dependents ----------------------------------------------------------------------------- */

enum { MAX_EDGES = (1 << 25) - 1 };

static bool is_root(const pod__sim_source *s) { return s->after[0] < 0 && s->after[1] < 0; }

/* Whether `late` is found to come after `early`, by its place, with a few looks; of one rank. */
static bool comes_after(const pod__sim_source step[], int32_t late, int32_t early)
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
static void leave_out_implied(pod__sim_builder *b, int k)
{
    pod__sim_source *own = b->steps[k];
    for (int32_t i = 0; i < b->plan->n_steps[k]; i++) {
        pod__sim_source *s = &own[i];
        for (int j = 0; j < 2 && pod__sim_receives(s); j++) {
            if (s->after[j] < 0) continue;
            pod__sim_source *send = &own[s->after[j]];
            if (send->kind != POD_STEP_SEND || send->peer != s->peer) continue;
            if (!comes_after(b->steps[b->column_of[s->peer]], s->partner, send->partner)) continue;
            s->left_out |= (uint8_t)(1 << j);
            send->left_out |= LEFT_OUT_OF_OTHER;
        }
    }
}

/* A JOIN after which nothing comes, or one other JOIN alone, need not be there: into[place] is who
 * is told instead, or POD__SIM_NONE; of all others, themselves. n_told: how many each of these then
 * tells. */
static void merge_joins(const pod__sim_builder *b, int k, int32_t into[], int32_t n_told[],
                        int32_t last_told[])
{
    const pod__sim_source *step = b->steps[k];
    for (int32_t i = b->plan->n_steps[k]; i-- > 0;) {
        into[i] = i;
        if (step[i].kind == POD_STEP_JOIN && !is_root(&step[i])) {
            if (n_told[i] == 0) into[i] = POD__SIM_NONE;
            if (n_told[i] == 1 && step[last_told[i]].kind == POD_STEP_JOIN) into[i] = last_told[i];
        }
        for (int j = 0; j < 2 && into[i] != POD__SIM_NONE; j++) {
            const int32_t from = after_of(&b->steps[k][i], j);
            if (from < 0) continue;
            n_told[from]++;
            last_told[from] = into[i];
        }
    }
}

/* A SEND's receive is told first. */
static int n_near(const pod__sim_source *s)
{
    return POD__SIM_NEAR_EDGES - (s->kind == POD_STEP_SEND);
}

static pod__sim_edge *edge_at(const pod__sim_plan *p, pod__sim_step *s, int32_t number, int n_near)
{
    return number < n_near ? &s->edge[POD__SIM_NEAR_EDGES - n_near + number]
                           : &p->more[s->more + number - n_near];
}

/* Makes room for the column's lists of dependents, which begin at `at`, and returns their end. */
static pod_status make_lists(pod__sim_builder *b, int k, const int32_t n_told[], int32_t *at)
{
    pod__sim_plan *p = b->plan;
    int64_t n = *at;
    for (int32_t i = 0; i < p->n_steps[k]; i++) {
        if (n_told[i] > MAX_EDGES)
            return pod_fail(POD_E_UNSUPPORTED, "schedule: %d steps come after one", (int)n_told[i]);
        if (n_told[i] > n_near(&b->steps[k][i])) n += n_told[i] - n_near(&b->steps[k][i]);
    }
    if (n == *at) return POD_OK;
    pod__sim_edge *more = n > INT32_MAX ? NULL : realloc(p->more, (size_t)n * sizeof *more);
    if (!more) return pod_fail(POD_E_NOMEM, "no memory for %" PRId64 " dependents of steps", n);
    memset(more + *at, 0, (size_t)(n - *at) * sizeof *more);
    p->more = more;
    *at = (int32_t)n;
    return POD_OK;
}

/* Of column k; the lists begin at `at`. */
static void list_column(pod__sim_builder *b, int k, const int32_t into[], const int32_t n_told[],
                        int32_t at)
{
    pod__sim_plan *p = b->plan;
    pod__sim_step *own = pod__sim_step_at(p, 0, k);
    pod__sim_rest *rest = pod__sim_rest_at(p, 0, k);
    for (int32_t i = 0; i < p->n_steps[k]; i++) {
        rest[i].n_waits = is_root(&b->steps[k][i]);
        if (into[i] != i) continue;
        own[i].is_silent = n_told[i] == 0 && b->steps[k][i].left_out & LEFT_OUT_OF_OTHER;
        p->n_last[k] += n_told[i] == 0 && !own[i].is_silent;
        own[i].more = at;
        if (n_told[i] > n_near(&b->steps[k][i])) at += n_told[i] - n_near(&b->steps[k][i]);
    }
    for (int32_t i = 0; i < p->n_steps[k]; i++)
        for (int j = 0; j < 2 && into[i] != POD__SIM_NONE; j++) {
            const int32_t from = after_of(&b->steps[k][i], j);
            if (from < 0 || into[from] != from) continue;
            rest[into[i]].n_waits++;
            put_place(
                edge_at(p, &own[from], (int32_t)own[from].n_edges, n_near(&b->steps[k][from])),
                into[i]);
            own[from].n_edges = (own[from].n_edges + 1) & MAX_EDGES;
        }
}

static pod_status list_dependents(pod__sim_builder *b)
{
    pod__sim_plan *p = b->plan;
    int32_t *into = POD_ARENA_NEW(b->work, int32_t, p->n_places);
    int32_t *n_told = POD_ARENA_NEW(b->work, int32_t, p->n_places);
    int32_t *last_told = POD_ARENA_NEW(b->work, int32_t, p->n_places);
    p->n_last = POD_ARENA_NEW(b->out, int32_t, p->n_columns);
    if (!into || !n_told || !last_told || !p->n_last) return POD_E_NOMEM;
    for (int32_t k = 0, at = 0, begin; k < p->n_columns; k++) {
        memset(n_told, 0, (size_t)p->n_places * sizeof *n_told);
        merge_joins(b, k, into, n_told, last_told);
        begin = at;
        POD_TRY(make_lists(b, k, n_told, &at));
        list_column(b, k, into, n_told, begin);
    }
    return POD_OK;
}

static pod_status list_roots(pod__sim_builder *b)
{
    pod__sim_plan *p = b->plan;
    int32_t n = 0;
    for (int k = 0; k < p->n_columns; k++)
        for (int32_t place = 0; place < p->n_steps[k]; place++) n += is_root(&b->steps[k][place]);
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
static pod_status reroute(pod__sim_builder *b, int k, int peer, pod__sim_step *send)
{
    const pod_sim *sim = b->sim;
    const int first = k << sim->n_column_shift;
    for (int core = first; core < first + (1 << sim->n_column_shift); core++) {
        if (sim->rank[core] < 0) continue;
        const int to = pod__sim_peer_of(sim, peer, core);
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

static void put_edges(const pod__sim_builder *b, int k)
{
    const pod__sim_plan *p = b->plan;
    for (int32_t i = 0; i < p->n_steps[k]; i++) {
        pod__sim_step *s = pod__sim_step_at(p, i, k);
        const pod__sim_source *from = &b->steps[k][i];
        for (int32_t e = 0; e < (int32_t)s->n_edges; e++)
            put_edge(p, k, edge_at(p, s, e, n_near(from)));
        if (s->is_send) put_edge(p, b->column_of[from->peer], &s->edge[0]);
    }
    for (int32_t i = p->first_root[k]; i < p->first_root[k + 1]; i++) put_edge(p, k, &p->root[i]);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static pod_status begin_build(pod__sim_builder *b, const pod_sim *sim)
{
    const pod_sim_classes *c = b->classes;
    const int n_ranks = pod_mesh_size(&c->mesh);
    pod_coord *coord = POD_ARENA_NEW(b->work, pod_coord, n_ranks);
    b->steps = POD_ARENA_NEW(b->work, pod__sim_source *, sim->n_columns);
    b->sharers = POD_ARENA_NEW(b->work, pod__sim_sharers, sim->n_columns);
    b->plan = POD_ARENA_NEW(b->out, pod__sim_plan, 1);
    if (!coord || !b->steps || !b->sharers || !b->plan) return POD_E_NOMEM;
    b->plan->n_columns = sim->n_columns;
    b->plan->n_steps = POD_ARENA_NEW(b->out, int32_t, sim->n_columns);
    if (!b->plan->n_steps) return POD_E_NOMEM;
    for (int r = 0; r < n_ranks; r++) coord[r] = pod_mesh_coord(&c->mesh, r);
    b->coord = coord;
    return POD_OK;
}

static pod_status build(pod__sim_builder *b, const pod_sim *sim)
{
    const int n_columns = b->plan->n_columns;
    POD_TRY(take_tables(b));
    POD_TRY(pod__sim_pair_messages(b));
    POD_TRY(pod__sim_group_syncs(b));
    for (int k = 0; k < n_columns; k++) leave_out_implied(b, k);
    POD_TRY(list_dependents(b));
    POD_TRY(list_roots(b));
    for (int k = 0; k < n_columns; k++)
        for (int32_t i = 0; i < b->plan->n_steps[k]; i++) {
            pod__sim_step *s = put_step(b, k, i);
            if (sim->detours && s->is_send) POD_TRY(reroute(b, k, b->steps[k][i].peer, s));
        }
    number_words(b);
    for (int k = 0; k < n_columns; k++) put_edges(b, k);
    return POD_OK;
}

pod_status pod__sim_plan_build(pod_sim *sim, const pod__sim_origin *from, pod__sim_plan **out)
{
    pod__sim_builder b = {.out = sim->arena,
                          .sim = sim,
                          .classes = &sim->classes,
                          .column_of = sim->column_of,
                          .rank = sim->column_rank,
                          .origin = from};
    pod_arena *scratch;
    pod_status status;
    POD_TRY(pod_arena_create(NULL, &b.work));
    POD_TRY_GOTO(status, begin_build(&b, sim), done);
    POD_TRY_GOTO(status, pod_arena_create(NULL, &scratch), done);
    status = take_steps(&b, scratch);
    pod_arena_destroy(scratch);
    if (status == POD_OK) status = build(&b, sim);
done:
    pod_arena_destroy(b.work);
    if (status == POD_OK)
        *out = b.plan;
    else if (b.plan)
        pod__sim_plan_free(b.plan);
    return status;
}

void pod__sim_plan_free(pod__sim_plan *p)
{
    pod__sim_put_pages(p->step, p->bytes);
    free(p->more);
}
