#include "collectives/algo/torus/torus_rank.h"

#include "collectives/algo/ring/deal.h"
#include "collectives/net/engine.h"

enum { UP, DOWN, N_WAYS };
enum { FIRST_SUM, SECOND_SUM, SECOND_GATHER, FIRST_GATHER, N_STAGES }; /* of an order */
enum { NONE = -1 };

/* What may happen from a time on; of one time the step that the schedule has first. */
typedef struct entry {
    int64_t at_ps;
    int64_t key; /* ring, round, piece, way */
} entry;

typedef struct queue { /* by time and key */
    int first, n;
    entry at[POD__RANK_MAX_PIECES];
} queue;

/* One ring, one way: what is to leave, and what has come or is coming and is to be added. */
typedef struct stream {
    queue leaves, adds;
    int64_t comes_ps[POD__RANK_MAX_PIECES], added_ps[POD__RANK_MAX_PIECES];
    /* So many hops from its end a piece waits to be added, and was added last; NONE: it has not. */
    int waits_at[POD__RANK_MAX_PIECES], added_at[POD__RANK_MAX_PIECES];
} stream;

typedef struct ring { /* a stage of it */
    const pod__rank_ring *of;
    stream way[N_WAYS];
    bool gathers;
    int size, order, stage, n_of_run;
    int64_t held_ps, latency_ps, add_ps;
    /* Of sums: of its two ways; of the second's gathering, where strips are: blocks. */
    int n_to_come[POD__RANK_MAX_PIECES];
    int64_t done_ps[POD__RANK_MAX_PIECES]; /* of sums; NONE while they are not */
} ring;

typedef struct rank {
    const pod__rank_plan *plan;
    int64_t message_ps;
    ring ring[POD__RANK_ORDERS][N_STAGES];
    int64_t sender_ps, adder_ps, link_ps[POD_MESH_MAX_DIMS][N_WAYS]; /* free from then on */
    int64_t end_ps;
} rank;

/* Then its pieces are strips. */
static bool has_strips(const rank *k) { return k->plan->moves == POD__BOTH; }

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- what may happen next ------------------------------------------------------------------ */

static bool is_before(entry a, entry b)
{
    return a.at_ps < b.at_ps || (a.at_ps == b.at_ps && a.key < b.key);
}

static entry *place_in(queue *q, int i) { return &q->at[(q->first + i) % POD__RANK_MAX_PIECES]; }

static void put(queue *q, entry e)
{
    int i = q->n++;
    for (; i > 0 && is_before(e, *place_in(q, i - 1)); i--) *place_in(q, i) = *place_in(q, i - 1);
    *place_in(q, i) = e;
}

static entry take(queue *q)
{
    const entry e = *place_in(q, 0);
    q->first = (q->first + 1) % POD__RANK_MAX_PIECES;
    q->n--;
    return e;
}

/* How many hops a piece goes that way. */
static int reach(const ring *r, int piece, int way)
{
    return pod__ring_reach(&r->of->plan, 0, piece, r->gathers ? 1 - way : way);
}

/* As schedules have it (ring.c): hops are those still to go, in an all-gather those gone. */
static int64_t key_of(const rank *k, const ring *r, int way, int hops, int piece)
{
    const int up = reach(r, piece, UP);
    const int first = (r->gathers ? up >= r->size / 2 : up < r->size - r->size / 2) ? UP : DOWN;
    const int64_t strip = has_strips(k) ? piece : 0;
    const int64_t number = (strip * POD__RANK_ORDERS + r->order) * N_STAGES + r->stage;
    const int64_t round = number * POD__RANK_MAX_SIZE + (r->gathers ? hops : r->size - 1 - hops);
    return (round * POD__RANK_MAX_PIECES + piece) * N_WAYS + (way != first);
}

static int piece_of(entry e) { return (int)(e.key / N_WAYS % POD__RANK_MAX_PIECES); }

static int hops_of(const ring *r, entry e)
{
    const int round = (int)(e.key / N_WAYS / POD__RANK_MAX_PIECES % POD__RANK_MAX_SIZE);
    return r->gathers ? round : r->size - 1 - round;
}

static void put_piece(const rank *k, ring *r, queue *q, int way, int hops, int piece, int64_t at_ps)
{
    put(q, (entry){at_ps, key_of(k, r, way, hops, piece)});
}

/* ---- from ring to ring ---------------------------------------------------------------------- */

/* The last of n_from pieces that has some of the own one of n. */
static int last_within(int own, int n, int n_from) { return ((own + 1) * n_from + n - 1) / n - 1; }

/* A run of the first ring is the block of a place along the second: of so many hops up or down. */
static int run_at(const ring *second, int way, int hops)
{
    const int steps = way == UP || 2 * hops == second->size ? hops : -hops;
    return pod__deal_far_rank(second->size / 2, (second->size - 1) / 2, steps);
}

/* The piece of the first ring that one of the second waits for. */
static int awaited(const rank *k, const ring *r, int way, int hops, int piece)
{
    if (has_strips(k)) return piece;
    const int n = k->ring[r->order][FIRST_SUM].n_of_run;
    return run_at(r, way, hops) * n + last_within(piece, r->n_of_run, n);
}

/* When the own part of a piece may be added to; NONE while that is not known. */
static int64_t own_ps(const rank *k, const ring *r, int way, int hops, int piece)
{
    if (r->stage == FIRST_SUM) return 0;
    return k->ring[r->order][FIRST_SUM].done_ps[awaited(k, r, way, hops, piece)];
}

/* The next (by 1) or last (by -1) to be added, as ring.c has it; false past the ends. */
static bool step(const rank *k, const ring *r, int way, int by, int *hops, int *piece)
{
    const int n_pieces = r->of->plan.n_pieces;
    for (;;) {
        if (!has_strips(k)) *piece += by;
        if (has_strips(k) || *piece < 0 || *piece == n_pieces) {
            *hops -= by;
            if (!has_strips(k)) *piece = by > 0 ? 0 : n_pieces - 1;
        }
        if (*hops < 0 || *hops >= r->size) return false;
        if (*hops < reach(r, *piece, way)) return true;
    }
}

/* Puts up for adding what has come, if its own part is there and the last but one was added. */
static void try_add(const rank *k, ring *r, int way, int hops, int piece)
{
    stream *s = &r->way[way];
    if (s->waits_at[piece] != hops) return;
    const int64_t part_ps = own_ps(k, r, way, hops, piece);
    if (part_ps == NONE) return;
    int64_t at_ps = later(s->comes_ps[piece], part_ps);
    int last_hops = hops, last = piece;
    if (step(k, r, way, -1, &last_hops, &last) && step(k, r, way, -1, &last_hops, &last)) {
        if (s->added_at[last] == NONE || s->added_at[last] > last_hops) return;
        if (s->added_at[last] == last_hops) at_ps = later(at_ps, s->added_ps[last]);
    }
    put_piece(k, r, &s->adds, way, hops, piece, at_ps);
    s->waits_at[piece] = NONE;
}

/* What a piece of the own block begins with. */
static void set_out(rank *k, ring *r, int piece, int64_t at_ps)
{
    for (int way = 0; way < N_WAYS; way++) {
        const int far = reach(r, piece, way);
        if (far > 0) put_piece(k, r, &r->way[way].leaves, way, r->gathers ? 0 : far, piece, at_ps);
    }
}

/* A piece of the first ring is summed up: what of the second begins with it, or waits for it. */
static void release(rank *k, int order, int done, int64_t at_ps)
{
    ring *r = &k->ring[order][SECOND_SUM];
    const int begin = has_strips(k) ? done : 0;
    const int n = has_strips(k) ? 1 : r->of->plan.n_pieces;
    for (int i = 0; i < r->size * n * N_WAYS; i++) {
        const int way = i % N_WAYS, piece = begin + i / N_WAYS % n, hops = i / N_WAYS / n;
        const int far = reach(r, piece, way);
        if (hops > far || awaited(k, r, way, hops, piece) != done) continue;
        if (hops == far && far > 0) put_piece(k, r, &r->way[way].leaves, way, hops, piece, at_ps);
        try_add(k, r, way, hops, piece);
    }
}

/* A piece is summed up. */
static void complete(rank *k, ring *r, int piece, int64_t at_ps)
{
    ring *rings = k->ring[r->order];
    const int next = piece + k->plan->n_at_once;
    r->done_ps[piece] = at_ps;
    if (r->stage == SECOND_SUM) {
        if (has_strips(k)) set_out(k, &rings[SECOND_GATHER], piece, at_ps);
        return;
    }
    release(k, r->order, piece, at_ps);
    if (has_strips(k) && next < r->of->plan.n_pieces) set_out(k, r, next, at_ps);
}

/* A piece of the second ring is gathered: what of the first can set out. */
static void hand_on(rank *k, const ring *second, int way, int hops, int gathered, int64_t at_ps)
{
    ring *first = &k->ring[second->order][FIRST_GATHER];
    const int n = first->n_of_run, run = run_at(second, 1 - way, hops);
    for (int piece = run * n; piece < (run + 1) * n; piece++)
        if (last_within(piece % n, n, second->n_of_run) == gathered)
            set_out(k, first, piece, at_ps);
}

/* The same of strips, which wait for all blocks. */
static void hand_on_strip(rank *k, ring *second, int strip, int64_t at_ps)
{
    if (--second->n_to_come[strip] == 0)
        set_out(k, &k->ring[second->order][FIRST_GATHER], strip, at_ps);
}

/* ---- what happens -------------------------------------------------------------------------- */

static void leave(rank *k, ring *r, int way)
{
    stream *s = &r->way[way];
    const entry e = take(&s->leaves);
    const int piece = piece_of(e), hops = hops_of(r, e);
    /* Two members have one link to each other, whichever way. */
    int64_t *link_ps = &k->link_ps[r->of->dim][r->size == 2 ? UP : way];
    k->sender_ps = pod_ps_add(later(e.at_ps, k->sender_ps), k->message_ps);
    *link_ps = pod_ps_add(later(k->sender_ps, *link_ps), r->held_ps);
    const int64_t comes_ps = pod_ps_add(*link_ps, r->latency_ps);
    k->end_ps = later(k->end_ps, comes_ps);
    if (r->gathers) {
        if (hops + 1 < reach(r, piece, way))
            put_piece(k, r, &s->leaves, way, hops + 1, piece, comes_ps);
        if (r->stage == SECOND_GATHER && has_strips(k))
            hand_on_strip(k, r, piece, comes_ps);
        else if (r->stage == SECOND_GATHER)
            hand_on(k, r, way, hops + 1, piece, comes_ps);
        return;
    }
    s->comes_ps[piece] = comes_ps;
    s->waits_at[piece] = hops - 1;
    try_add(k, r, way, hops - 1, piece);
}

static void add(rank *k, ring *r, int way)
{
    stream *s = &r->way[way];
    const entry e = take(&s->adds);
    const int piece = piece_of(e), hops = hops_of(r, e);
    k->adder_ps = pod_ps_add(later(e.at_ps, k->adder_ps), r->add_ps);
    s->added_at[piece] = hops;
    s->added_ps[piece] = k->adder_ps;
    int next_hops = hops, next = piece;
    if (step(k, r, way, 1, &next_hops, &next) && step(k, r, way, 1, &next_hops, &next))
        try_add(k, r, way, next_hops, next);
    k->end_ps = later(k->end_ps, k->adder_ps);
    if (hops > 0)
        put_piece(k, r, &s->leaves, way, hops, piece, k->adder_ps);
    else if (--r->n_to_come[piece] == 0)
        complete(k, r, piece, k->adder_ps);
}

/* The first of what may happen next; false when all is done. */
static bool happen(rank *k)
{
    enum { N_KINDS = 2, PER_RING = N_WAYS * N_KINDS, PER_ORDER = N_STAGES * PER_RING };
    entry first = {INT64_MAX, 0};
    int which = NONE;
    for (int i = 0; i < k->plan->n_orders * PER_ORDER; i++) {
        ring *r = &k->ring[i / PER_ORDER][i / PER_RING % N_STAGES];
        stream *s = &r->way[i / N_KINDS % N_WAYS];
        const bool is_add = i % N_KINDS;
        queue *q = is_add ? &s->adds : &s->leaves;
        if (q->n == 0) continue;
        const entry e = *place_in(q, 0);
        if (!is_before(e, first)) continue;
        first = e;
        which = i;
    }
    if (which == NONE) return false;
    (which % N_KINDS ? add : leave)(k, &k->ring[which / PER_ORDER][which / PER_RING % N_STAGES],
                                    which / N_KINDS % N_WAYS);
    return true;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void begin_ring(rank *k, const pod_net *net, int order, int stage)
{
    ring *r = &k->ring[order][stage];
    const bool is_first = stage == FIRST_SUM || stage == FIRST_GATHER;
    const pod__rank_ring *of = &k->plan->ring[order][is_first ? 0 : 1];
    const int n_pieces = of->plan.n_pieces;
    r->of = of;
    r->gathers = stage == SECOND_GATHER || stage == FIRST_GATHER;
    r->size = of->plan.path.size;
    r->order = order;
    r->stage = stage;
    r->n_of_run = n_pieces / of->plan.n_runs;
    r->held_ps = pod_ps(of->piece_bytes / net->link_bytes_per_s[of->dim]);
    r->latency_ps = pod_ps(net->link_latency_s[of->dim]);
    r->add_ps = pod_ps(pod_net_reduce_s(net, of->piece_bytes));
    for (int piece = 0; piece < n_pieces; piece++) {
        r->done_ps[piece] = NONE;
        r->n_to_come[piece] = r->gathers ? r->size - 1 : 0;
        for (int way = 0; way < N_WAYS; way++) {
            r->way[way].waits_at[piece] = r->way[way].added_at[piece] = NONE;
            if (!r->gathers) r->n_to_come[piece] += reach(r, piece, way) > 0;
        }
    }
}

/* What waits for nothing: the first ring's pieces, of strips a few, or, where nothing is added, the
 * second ring's and the first one's of the own block. */
static void begin(rank *k, int order)
{
    const pod__rank_plan *p = k->plan;
    ring *first = &k->ring[order][p->moves & POD__REDUCES ? FIRST_SUM : SECOND_GATHER];
    const int n_pieces = first->of->plan.n_pieces;
    for (int piece = 0; piece < n_pieces; piece++) {
        if (!has_strips(k) || piece < p->n_at_once) set_out(k, first, piece, 0);
        if (p->moves == POD__GATHERS) hand_on(k, first, UP, 0, piece, 0);
    }
}

double pod__rank_seconds(const pod_net *net, const pod__rank_plan *plan)
{
    rank k = {.plan = plan, .message_ps = pod_ps(net->message_s)};
    for (int i = 0; i < plan->n_orders; i++) {
        for (int stage = 0; stage < N_STAGES; stage++) begin_ring(&k, net, i, stage);
        begin(&k, i);
    }
    while (happen(&k)) continue;
    return pod_ps_seconds(k.end_ps);
}
