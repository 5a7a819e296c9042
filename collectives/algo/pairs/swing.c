#include "collectives/algo/pairs/swing.h"

#include <math.h>

const char *pod__swing_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    for (int d = 0; d < m->n_dims; d++) {
        const int extent = pod_group_extent(m, &args->group, d);
        if (extent & (extent - 1)) return "an extent of the group is no power of two";
    }
    return NULL;
}

int pod__swing_n_parts(const pod_mesh *m, const pod_group *g)
{
    int n_long = 0;
    for (int d = 0; d < m->n_dims; d++) n_long += pod_group_extent(m, g, d) > 1;
    return n_long ? 2 * n_long : 1;
}

/* 1, -1, 3, -5, 11, ... */
static int delta(int s) { return (1 - (s % 2 ? 1 : -1) * (1 << (s + 1))) / 3; }

typedef struct turn {
    int dim, s; /* it is the s-th round along dim */
} turn;

/* Which dimension a round of a part takes. */
static turn turn_of(const pod_mesh *m, const pod_group *g, int part, int round)
{
    int d = 0;
    for (int n_before = part / 2;; d++)
        if (pod_group_extent(m, g, d) > 1 && n_before-- == 0) break;
    int n_done[POD_MESH_MAX_DIMS] = {0};
    for (;; d = (d + 1) % m->n_dims) {
        if (1 << n_done[d] == pod_group_extent(m, g, d)) continue;
        if (round-- == 0) return (turn){d, n_done[d]};
        n_done[d]++;
    }
}

/* Of two that meet in round s, one is even. With those that they are still to meet, directly or
 * not, the even a meets all even numbers a + 2^(s+1) i and all odd ones a + delta(s) + 2^(s+1) i;
 * so what it keeps for them is told by bit s + 1 of a, and what the odd b keeps by that of b -
 * delta(s + 1). In the last round they are alone. */
static bool keeps_upper(int x, int s, int extent)
{
    if (2 << s == extent) return x % 2;
    return ((x % 2 ? x - delta(s + 1) : x) >> (s + 1) & 1) != 0;
}

static int modulo(int x, int extent) { return (x % extent + extent) % extent; }

/* Along a dimension of which the numbers are `x` for this part: the index of the peer. */
static int peer_of(const pod_mesh *m, const pod_group *g, int index, int part, turn t, int *x)
{
    int stride = 1;
    for (int d = 0; d < t.dim; d++) stride *= pod_group_extent(m, g, d);
    const int extent = pod_group_extent(m, g, t.dim);
    const int at = index / stride % extent;
    const int sign = part % 2 ? -1 : 1;
    *x = modulo(sign * at, extent);
    const int peer_x = *x % 2 ? *x - delta(t.s) : *x + delta(t.s);
    return index + (modulo(sign * peer_x, extent) - at) * stride;
}

void pod__swing_pairs(const pod_mesh *m, const pod_group *g, int rank, int part, pod__pairs *p)
{
    const int index = pod_group_index(m, g, rank);
    const int n_rounds = pod__log2_floor(pod_group_size(m, g));
    for (int k = 0; k < n_rounds; k++) {
        const turn t = turn_of(m, g, part, k);
        int x;
        const int peer = peer_of(m, g, index, part, t, &x);
        pod__pairs_add(p, pod_group_member(m, g, rank, peer),
                       keeps_upper(x, t.s, pod_group_extent(m, g, t.dim)));
    }
}

typedef struct round_reach {
    double seconds; /* of the slowest message, over links of its own or shared by n_sharing */
    int distance;   /* of the farthest */
} round_reach;

static round_reach slowest_of(const pod_net *net, const pod_mesh *m, const pod_group *g, int part,
                              int round, double bytes, int n_sharing)
{
    round_reach slowest = {0, 0};
    for (int i = 0; i < pod_group_size(m, g); i++) {
        int x;
        const int from = pod_group_member(m, g, 0, i);
        const int peer = peer_of(m, g, i, part, turn_of(m, g, part, round), &x);
        const int to = pod_group_member(m, g, 0, peer);
        const int distance = pod__distance(m, g, from, to);
        if (distance > slowest.distance) slowest.distance = distance;
        slowest.seconds = fmax(
            slowest.seconds, pod__waiting_message_s(net, m, from, to, bytes, distance, n_sharing));
    }
    return slowest;
}

/* Of one part every other link along the dimension carries (delta + 1) / 2 messages, upwards those
 * of the even numbers. Of two that mirror each other all links carry delta, the even numbers of the
 * one and the odd numbers of the other. Between two members a link carries both parts. Cores of a
 * chip that share its links carry as many times more, but between two members every other core goes
 * the other way. */
static int n_sharing_of(int n_parts, int distance, int extent, int n_on_chip)
{
    if (extent == 2) {
        const int n = (n_parts == 1 ? 1 : 2) * distance * n_on_chip;
        return n_on_chip > 1 ? (n + 1) / 2 : n;
    }
    return (n_parts == 1 ? (distance + 1) / 2 : distance) * n_on_chip;
}

double pod__swing_round_s(const pod_net *net, const pod_mesh *m, const pod_group *g, int n_parts,
                          int round, double bytes)
{
    int n_sharing[POD_MESH_MAX_DIMS] = {0}, farthest = 0;
    for (int part = 0; part < n_parts; part++) {
        const int distance = slowest_of(net, m, g, part, round, 0, 1).distance;
        farthest = part % 2 && farthest > distance ? farthest : distance;
        if (part % 2 == 0 && n_parts > 1) continue; /* with the one that mirrors it */
        const int dim = turn_of(m, g, part, round).dim;
        n_sharing[dim] += n_sharing_of(n_parts, farthest, pod_group_extent(m, g, dim),
                                       pod__n_on_chip(net, m, g, dim));
    }
    double slowest = 0;
    for (int part = 0; part < n_parts; part++) {
        const int n = n_sharing[turn_of(m, g, part, round).dim];
        slowest = fmax(slowest, slowest_of(net, m, g, part, round, bytes, n).seconds);
    }
    return slowest;
}
