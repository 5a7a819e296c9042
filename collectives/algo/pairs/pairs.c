#include "collectives/algo/pairs/pairs.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/base/assert.h"

pod__pairs pod__pairs_of(pod_range range, int first_tag, int32_t entry)
{
    return (pod__pairs){.range = range, .first_tag = first_tag, .last = entry};
}

void pod__pairs_add(pod__pairs *p, int peer, bool keeps_upper)
{
    POD_ASSERT(p->n_rounds < POD__PAIRS_MAX_ROUNDS, "round %d", p->n_rounds);
    p->peer[p->n_rounds] = peer;
    p->keeps_upper[p->n_rounds] = keeps_upper;
    p->sent[p->n_rounds++] = POD_NO_STEP;
}

/* ---- halving ------------------------------------------------------------------------------- */

/* One of the halves into which round `round` cuts what this rank and its peer hold. */
static pod_range half_of(const pod__pairs *p, int round, bool is_upper)
{
    const int size = 1 << p->n_rounds;
    int first = 0;
    for (int k = 0; k <= round; k++)
        if (k < round ? p->keeps_upper[k] : is_upper) first += size >> (k + 1);
    const pod_range low = pod_block(p->range.count, size, first);
    const pod_range high = pod_block(p->range.count, size, first + (size >> (round + 1)) - 1);
    return (pod_range){p->range.first + low.first, high.first + high.count - low.first};
}

static pod_span main_at(pod_range range) { return (pod_span){POD_BUF_MAIN, range.first}; }

void pod__pairs_reduce_scatter(pod__pairs *p, pod_sched *s)
{
    for (int k = 0; k < p->n_rounds; k++) {
        const int tag = p->first_tag + k;
        const pod_range kept = half_of(p, k, p->keeps_upper[k]);
        const pod_range given = half_of(p, k, !p->keeps_upper[k]);
        p->sent[k] = pod_sched_send(s, p->peer[k], tag, main_at(given), given.count, p->last);
        p->last = pod_sched_recv_reduce(s, p->peer[k], tag, main_at(kept), kept.count, p->last,
                                        POD_NO_STEP);
    }
}

void pod__pairs_allgather(pod__pairs *p, pod_sched *s)
{
    for (int k = p->n_rounds; k-- > 0;) {
        const int tag = p->first_tag + p->n_rounds + k;
        const pod_range held = half_of(p, k, p->keeps_upper[k]);
        const pod_range missing = half_of(p, k, !p->keeps_upper[k]);
        pod_sched_send(s, p->peer[k], tag, main_at(held), held.count, p->last);
        const int32_t came =
            pod_sched_recv(s, p->peer[k], tag, main_at(missing), missing.count, p->sent[k]);
        p->last = pod_sched_join(s, p->last, came);
    }
}

/* ---- exchange ------------------------------------------------------------------------------ */

void pod__pairs_exchange(pod__pairs *p, pod_sched *s)
{
    if (p->range.count == 0) return;
    pod_span now = {POD_BUF_MAIN, p->range.first}, next = {POD_BUF_SCRATCH, p->range.first};
    int32_t sent = POD_NO_STEP;
    for (int k = p->n_rounds; k-- > 0;) {
        const int tag = p->first_tag + k;
        /* The sum goes where the send of the round before came from. */
        const int32_t came = pod_sched_add(s, (pod_step){.kind = POD_STEP_RECV_REDUCE,
                                                         .peer = p->peer[k],
                                                         .tag = tag,
                                                         .after = {p->last, sent},
                                                         .src = now,
                                                         .dst = next,
                                                         .count = p->range.count});
        sent = pod_sched_send(s, p->peer[k], tag, now, p->range.count, p->last);
        p->last = came;
        const pod_span other = now;
        now = next;
        next = other;
    }
    if (now.buf == POD_BUF_MAIN) return;
    p->last = pod_sched_copy(s, now, next, p->range.count, pod_sched_join(s, p->last, sent));
}

/* ---- any number of members ----------------------------------------------------------------- */

int pod__log2_floor(int n)
{
    int log = 0;
    while (n >> (log + 1)) log++;
    return log;
}

static int index_of_place(const pod__fold *f, int place)
{
    return place < f->n_extra ? 2 * place + 1 : place + f->n_extra;
}

pod__fold pod__fold_of(const pod_mesh *m, const pod_group *g, int rank)
{
    const int size = pod_group_size(m, g), index = pod_group_index(m, g, rank);
    pod__fold f = {.mesh = m, .group = *g, .rank = rank, .n_rounds = pod__log2_floor(size)};
    f.n_extra = size - (1 << f.n_rounds);
    const bool is_folded = index < 2 * f.n_extra;
    f.place = !is_folded ? index - f.n_extra : index % 2 ? index / 2 : -1;
    f.partner = is_folded ? pod_group_member(m, g, rank, index ^ 1) : -1;
    return f;
}

void pod__fold_pairs(const pod__fold *f, pod__pairs *p)
{
    for (int bit = 1; bit < 1 << f->n_rounds; bit *= 2) {
        const int peer = index_of_place(f, f->place ^ bit);
        pod__pairs_add(p, pod_group_member(f->mesh, &f->group, f->rank, peer), f->place & bit);
    }
}

static const pod_span whole = {POD_BUF_MAIN, 0};

int32_t pod__fold_in(const pod__fold *f, pod_sched *s, int64_t count, int tag)
{
    if (f->partner < 0) return POD_NO_STEP;
    if (f->place < 0) return pod_sched_send(s, f->partner, tag, whole, count, POD_NO_STEP);
    return pod_sched_recv_reduce(s, f->partner, tag, whole, count, POD_NO_STEP, POD_NO_STEP);
}

void pod__fold_out(const pod__fold *f, pod_sched *s, int64_t count, int tag, int32_t after)
{
    if (f->partner < 0) return;
    if (f->place < 0)
        pod_sched_recv(s, f->partner, tag, whole, count, after);
    else
        pod_sched_send(s, f->partner, tag, whole, count, after);
}

/* ---- blocks in the members' order ---------------------------------------------------------- */

const char *pod__power_of_two_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    const int size = pod_group_size(m, &args->group);
    return size & (size - 1) ? "the number of ranks in the group is no power of two" : NULL;
}

void pod__far_pairs(const pod_mesh *m, const pod_group *g, int rank, pod__pairs *p)
{
    const int index = pod_group_index(m, g, rank);
    for (int bit = pod_group_size(m, g) / 2; bit > 0; bit /= 2)
        pod__pairs_add(p, pod_group_member(m, g, rank, index ^ bit), index & bit);
}

double pod__far_pairs_s(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                        bool reduces)
{
    const int size = pod_group_size(m, &args->group);
    const double bytes =
        (double)(args->count * (int64_t)pod_dtype_bytes(args->dtype)) / (double)size;
    const pod__fold all = pod__fold_of(m, &args->group, 0);
    double seconds = 0;
    for (int bit = 1; bit < size; bit *= 2)
        seconds += pod__fold_round_s(&all, net, bit, bit * bytes) +
                   (reduces ? pod_net_reduce_s(net, bit * bytes) : 0);
    return seconds;
}

/* ---- closed forms -------------------------------------------------------------------------- */

int pod__n_on_chip(const pod_net *net, const pod_mesh *m, const pod_group *g, int dim)
{
    const bool is_shared = net->is_chip_shared && m->n_dims == POD_MESH_MAX_DIMS && dim > 0;
    return is_shared ? pod_group_extent(m, g, 0) : 1;
}

typedef struct reach { /* along the dimension where it is farthest */
    int distance, dim;
    bool is_halfway; /* round a ring, and neighbours go opposite ways */
} reach;

static reach reach_of(const pod_mesh *m, const pod_group *g, int from, int to)
{
    int a = pod_group_index(m, g, from), b = pod_group_index(m, g, to);
    reach farthest = {0};
    for (int d = 0; d < m->n_dims; d++) {
        const int extent = pod_group_extent(m, g, d);
        const int step = g->step[d] ? g->step[d] : 1;
        const bool is_ring = m->wraps[d] && extent * step == m->extent[d];
        int distance = abs(a % extent - b % extent);
        if (is_ring && extent - distance < distance) distance = extent - distance;
        if (distance > farthest.distance)
            farthest = (reach){distance, d, is_ring && 2 * distance == extent && step % 2};
        a /= extent;
        b /= extent;
    }
    return farthest;
}

int pod__distance(const pod_mesh *m, const pod_group *g, int from, int to)
{
    return reach_of(m, g, from, to).distance;
}

double pod__waiting_message_s(const pod_net *net, const pod_mesh *m, int from, int to, double bytes,
                              int distance, int n)
{
    const double alone = pod_net_message_s(net, m, from, to, bytes);
    const double no_bytes = pod_net_message_s(net, m, from, to, 0);
    const int between = (distance + n - 1) / n;
    const double hops_s = (no_bytes - net->message_s) * between / distance;
    return alone + (n - 1) * fmax(0, alone - no_bytes - hops_s);
}

double pod__shared_message_s(const pod_net *net, const pod_mesh *m, const pod_group *g, int from,
                             int to, double bytes, int most)
{
    if (from == to) return 0;
    const reach r = reach_of(m, g, from, to);
    const int n = (r.distance < most ? r.distance : most) * pod__n_on_chip(net, m, g, r.dim);
    return pod__waiting_message_s(net, m, from, to, bytes, r.distance,
                                  r.is_halfway ? (n + 1) / 2 : n);
}

static double round_message_s(const pod__fold *f, const pod_net *net, int place, int bit,
                              double bytes)
{
    const int from = index_of_place(f, place), to = index_of_place(f, place ^ bit);
    return pod__shared_message_s(net, f->mesh, &f->group,
                                 pod_group_member(f->mesh, &f->group, f->rank, from),
                                 pod_group_member(f->mesh, &f->group, f->rank, to), bytes, bit);
}

double pod__fold_round_s(const pod__fold *f, const pod_net *net, int bit, double bytes)
{
    double slowest = 0;
    for (int place = 0; place < 1 << f->n_rounds; place++)
        slowest = fmax(slowest, round_message_s(f, net, place, bit, bytes));
    return slowest;
}

/* From one member to another, by their indices. */
static double handed_on_s(const pod__fold *f, const pod_net *net, int from, int to, double bytes)
{
    return pod_net_message_s(net, f->mesh, pod_group_member(f->mesh, &f->group, f->rank, from),
                             pod_group_member(f->mesh, &f->group, f->rank, to), bytes);
}

/* Each round as long as its longest message. */
static double exchange_in_turn_s(const pod__fold *f, const pod_net *net, double bytes)
{
    double seconds = pod__fold_ends_s(f, net, bytes);
    for (int bit = 1; bit < 1 << f->n_rounds; bit *= 2)
        seconds += pod__fold_round_s(f, net, bit, bytes) + pod_net_reduce_s(net, bytes);
    return seconds;
}

/* Until a message has left. */
static double leaving_s(const pod_net *net, double message_s, double no_bytes_s)
{
    return net->message_s + message_s - no_bytes_s;
}

double pod__fold_exchange_s(const pod__fold *f, const pod_net *net, double bytes)
{
    enum { MAX_FOLLOWED = 4096 };
    const int n = 1 << f->n_rounds;
    const double add_s = pod_net_reduce_s(net, bytes);
    const double copy_s = pod__exchange_copy_s(f->n_rounds, net, bytes);
    if (n > MAX_FOLLOWED) return exchange_in_turn_s(f, net, bytes) + copy_s;
    double has_s[MAX_FOLLOWED], left_s[MAX_FOLLOWED] = {0}, next_s[MAX_FOLLOWED], end_s = 0;
    for (int p = 0; p < n; p++)
        has_s[p] = p < f->n_extra ? handed_on_s(f, net, 2 * p, 2 * p + 1, bytes) + add_s : 0;
    for (int bit = n / 2; bit > 0; bit /= 2) {
        for (int p = 0; p < n; p++) {
            const double came_s = has_s[p ^ bit] + round_message_s(f, net, p ^ bit, bit, bytes);
            next_s[p] = fmax(fmax(has_s[p], came_s), left_s[p]) + add_s;
        }
        for (int p = 0; p < n; p++) {
            left_s[p] = has_s[p] + leaving_s(net, round_message_s(f, net, p, bit, bytes),
                                             round_message_s(f, net, p, bit, 0));
            has_s[p] = next_s[p];
        }
    }
    for (int p = 0; p < n; p++) {
        const double out_s = p < f->n_extra ? handed_on_s(f, net, 2 * p + 1, 2 * p, bytes) : 0;
        if (f->n_rounds % 2) has_s[p] = fmax(has_s[p], left_s[p]) + copy_s;
        end_s = fmax(end_s, fmax(has_s[p] + out_s, left_s[p]));
    }
    return end_s;
}

double pod__fold_ends_s(const pod__fold *f, const pod_net *net, double bytes)
{
    double slowest = 0;
    for (int extra = 0; extra < f->n_extra; extra++) {
        const int from = pod_group_member(f->mesh, &f->group, f->rank, 2 * extra);
        const int to = pod_group_member(f->mesh, &f->group, f->rank, 2 * extra + 1);
        const double seconds = pod_net_message_s(net, f->mesh, from, to, bytes);
        if (seconds > slowest) slowest = seconds;
    }
    return f->n_extra ? 2 * slowest + pod_net_reduce_s(net, bytes) : 0;
}

double pod__exchange_copy_s(int n_rounds, const pod_net *net, double bytes)
{
    return n_rounds % 2 ? 2 * bytes / net->memory_bytes_per_s : 0;
}
