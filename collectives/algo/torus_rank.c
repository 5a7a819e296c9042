#include "collectives/algo/torus_rank.h"

#include "collectives/algo/deal.h"
#include "collectives/net/engine.h"

enum { UP, DOWN, N_WAYS };
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

typedef struct ring {
    const pod__rank_ring *of;
    stream way[N_WAYS];
    int size, number, n_of_run;
    int64_t held_ps, latency_ps, add_ps;
    int n_to_come[POD__RANK_MAX_PIECES];   /* of a reduce-scatter: of its two ways */
    int64_t done_ps[POD__RANK_MAX_PIECES]; /* the same; NONE while it is not */
} ring;

typedef struct rank {
    int64_t message_ps;
    bool gathers;
    ring ring[POD__RANK_ORDERS][POD__RANK_RINGS];
    int64_t sender_ps, adder_ps, link_ps[POD_MESH_MAX_DIMS][N_WAYS]; /* free from then on */
    int64_t end_ps;
} rank;

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
static int reach(const rank *k, const ring *r, int piece, int way)
{
    return pod__ring_reach(&r->of->plan, 0, piece, k->gathers ? 1 - way : way);
}

/* As schedules have it (ring.c): hops are those still to go, in an all-gather those gone. */
static int64_t key_of(const rank *k, const ring *r, int way, int hops, int piece)
{
    const int up = reach(k, r, piece, UP);
    const int first = (k->gathers ? up >= r->size / 2 : up < r->size - r->size / 2) ? UP : DOWN;
    const int64_t round =
        (int64_t)r->number * POD__RANK_MAX_SIZE + (k->gathers ? hops : r->size - 1 - hops);
    return (round * POD__RANK_MAX_PIECES + piece) * N_WAYS + (way != first);
}

static int piece_of(entry e) { return (int)(e.key / N_WAYS % POD__RANK_MAX_PIECES); }

static int hops_of(const rank *k, const ring *r, entry e)
{
    const int round = (int)(e.key / N_WAYS / POD__RANK_MAX_PIECES % POD__RANK_MAX_SIZE);
    return k->gathers ? round : r->size - 1 - round;
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

/* When the own part of a piece may be added to; NONE while that is not known. */
static int64_t own_ps(const ring rings[], const ring *r, int way, int hops, int piece)
{
    const ring *first = &rings[0];
    if (r == first) return 0;
    return first->done_ps[run_at(r, way, hops) * first->n_of_run +
                          last_within(piece, r->n_of_run, first->n_of_run)];
}

/* The next (by 1) or last (by -1) to be added, as ring.c has it; false past the ends. */
static bool step(const rank *k, const ring *r, int way, int by, int *hops, int *piece)
{
    const int n_pieces = r->of->plan.n_pieces;
    for (;;) {
        *piece += by;
        if (*piece < 0 || *piece == n_pieces) {
            *hops -= by;
            *piece = by > 0 ? 0 : n_pieces - 1;
        }
        if (*hops < 0 || *hops >= r->size) return false;
        if (*hops < reach(k, r, *piece, way)) return true;
    }
}

/* Puts up for adding what has come, if its own part is there and the last but one was added. */
static void try_add(const rank *k, const ring rings[], ring *r, int way, int hops, int piece)
{
    stream *s = &r->way[way];
    if (s->waits_at[piece] != hops) return;
    const int64_t part_ps = own_ps(rings, r, way, hops, piece);
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

/* A piece of the first ring is summed up: what of the second begins with it, or waits for it. */
static void release(rank *k, ring rings[], int done, int64_t at_ps)
{
    ring *r = &rings[1];
    const int n = rings[0].n_of_run;
    for (int i = 0; i < r->size * r->n_of_run * N_WAYS; i++) {
        const int way = i % N_WAYS, piece = i / N_WAYS % r->n_of_run;
        const int hops = i / N_WAYS / r->n_of_run, far = reach(k, r, piece, way);
        stream *s = &r->way[way];
        if (hops > far || run_at(r, way, hops) != done / n ||
            last_within(piece, r->n_of_run, n) != done % n)
            continue;
        if (hops == far && far > 0) put_piece(k, r, &s->leaves, way, hops, piece, at_ps);
        try_add(k, rings, r, way, hops, piece);
    }
}

/* A piece of the second ring is gathered: what of the first can set out. */
static void hand_on(rank *k, ring rings[], int way, int hops, int gathered, int64_t at_ps)
{
    ring *first = &rings[0];
    const int n = first->n_of_run, run = run_at(&rings[1], 1 - way, hops);
    for (int piece = run * n; piece < (run + 1) * n; piece++) {
        if (last_within(piece % n, n, rings[1].n_of_run) != gathered) continue;
        for (int to = 0; to < N_WAYS; to++)
            if (reach(k, first, piece, to) > 0)
                put_piece(k, first, &first->way[to].leaves, to, 0, piece, at_ps);
    }
}

/* ---- what happens -------------------------------------------------------------------------- */

static void leave(rank *k, ring rings[], ring *r, int way)
{
    stream *s = &r->way[way];
    const entry e = take(&s->leaves);
    const int piece = piece_of(e), hops = hops_of(k, r, e);
    /* Two members have one link to each other, whichever way. */
    int64_t *link_ps = &k->link_ps[r->of->dim][r->size == 2 ? UP : way];
    k->sender_ps = pod_ps_add(later(e.at_ps, k->sender_ps), k->message_ps);
    *link_ps = pod_ps_add(later(k->sender_ps, *link_ps), r->held_ps);
    const int64_t comes_ps = pod_ps_add(*link_ps, r->latency_ps);
    k->end_ps = later(k->end_ps, comes_ps);
    if (k->gathers) {
        if (hops + 1 < reach(k, r, piece, way))
            put_piece(k, r, &s->leaves, way, hops + 1, piece, comes_ps);
        if (r != rings) hand_on(k, rings, way, hops + 1, piece, comes_ps);
        return;
    }
    s->comes_ps[piece] = comes_ps;
    s->waits_at[piece] = hops - 1;
    try_add(k, rings, r, way, hops - 1, piece);
}

static void add(rank *k, ring rings[], ring *r, int way)
{
    stream *s = &r->way[way];
    const entry e = take(&s->adds);
    const int piece = piece_of(e), hops = hops_of(k, r, e);
    k->adder_ps = pod_ps_add(later(e.at_ps, k->adder_ps), r->add_ps);
    s->added_at[piece] = hops;
    s->added_ps[piece] = k->adder_ps;
    int next_hops = hops, next = piece;
    if (step(k, r, way, 1, &next_hops, &next) && step(k, r, way, 1, &next_hops, &next))
        try_add(k, rings, r, way, next_hops, next);
    k->end_ps = later(k->end_ps, k->adder_ps);
    if (hops > 0) {
        put_piece(k, r, &s->leaves, way, hops, piece, k->adder_ps);
    } else if (--r->n_to_come[piece] == 0) {
        r->done_ps[piece] = k->adder_ps;
        if (r == rings) release(k, rings, piece, k->adder_ps);
    }
}

/* The first of what may happen next; false when all is done. */
static bool happen(rank *k, int n_orders)
{
    enum { N_KINDS = 2, PER_RING = N_WAYS * N_KINDS, PER_ORDER = POD__RANK_RINGS * PER_RING };
    entry first = {INT64_MAX, 0};
    int which = NONE;
    for (int i = 0; i < n_orders * PER_ORDER; i++) {
        ring *r = &k->ring[i / PER_ORDER][i / PER_RING % POD__RANK_RINGS];
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
    ring *rings = k->ring[which / PER_ORDER];
    (which % N_KINDS ? add : leave)(k, rings, &rings[which / PER_RING % POD__RANK_RINGS],
                                    which / N_KINDS % N_WAYS);
    return true;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void begin_ring(rank *k, const pod_net *net, const pod__rank_ring *of, int number, ring *r)
{
    const int n_pieces = of->plan.n_pieces;
    r->of = of;
    r->size = of->plan.path.size;
    r->number = number;
    r->n_of_run = n_pieces / of->plan.n_runs;
    r->held_ps = pod_ps(of->piece_bytes / net->link_bytes_per_s[of->dim]);
    r->latency_ps = pod_ps(net->link_latency_s[of->dim]);
    r->add_ps = pod_ps(pod_net_reduce_s(net, of->piece_bytes));
    for (int way = 0; way < N_WAYS; way++) {
        stream *s = &r->way[way];
        s->leaves.first = s->leaves.n = s->adds.first = s->adds.n = 0;
    }
    for (int piece = 0; piece < n_pieces; piece++) {
        r->done_ps[piece] = NONE;
        r->n_to_come[piece] = 0;
        for (int way = 0; way < N_WAYS; way++) {
            r->way[way].waits_at[piece] = r->way[way].added_at[piece] = NONE;
            r->n_to_come[piece] += reach(k, r, piece, way) > 0;
        }
    }
}

/* What waits for nothing: in a reduce-scatter the first ring's pieces, in an all-gather the second
 * ring's and the first one's of the own block. */
static void begin(rank *k, ring rings[])
{
    ring *first = &rings[k->gathers ? 1 : 0];
    for (int piece = 0; piece < first->of->plan.n_pieces; piece++) {
        for (int way = 0; way < N_WAYS; way++) {
            const int far = reach(k, first, piece, way);
            queue *q = &first->way[way].leaves;
            if (far > 0) put_piece(k, first, q, way, k->gathers ? 0 : far, piece, 0);
        }
        if (k->gathers) hand_on(k, rings, UP, 0, piece, 0);
    }
}

double pod__rank_seconds(const pod_net *net, pod__rank_ring of[][POD__RANK_RINGS], int n_orders,
                         bool gathers)
{
    rank k;
    k.message_ps = pod_ps(net->message_s);
    k.gathers = gathers;
    k.sender_ps = k.adder_ps = k.end_ps = 0;
    for (int i = 0; i < POD_MESH_MAX_DIMS * N_WAYS; i++) k.link_ps[i / N_WAYS][i % N_WAYS] = 0;
    for (int i = 0; i < n_orders; i++) {
        for (int stage = 0; stage < POD__RANK_RINGS; stage++)
            begin_ring(&k, net, &of[i][stage],
                       i * POD__RANK_RINGS + (gathers ? POD__RANK_RINGS - 1 - stage : stage),
                       &k.ring[i][stage]);
        begin(&k, k.ring[i]);
    }
    while (happen(&k, n_orders)) continue;
    return pod_ps_seconds(k.end_ps);
}
