/* Swing's rounds: pairs that stay close on a torus.
 *
 * On a ring of 2^n a rank's peer in round s is delta(s) = (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, ...
 * further on, where its own number is even, and as far back, where it is odd: about two thirds as
 * far as with recursive doubling. On a torus the rounds take the dimensions in turn; one that is
 * done is passed over. From whichever dimension they start, and with delta or -delta, every pair
 * holds the same and everything comes together once, so that 2 per dimension run side by side and
 * keep all links of a rank busy. De Sensi et al., "Swing: short-cutting rings for higher bandwidth
 * allreduce", NSDI 2024. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/pairs/pairs.h"

const char *pod__swing_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    for (int d = 0; d < m->n_dims; d++) {
        const int extent = pod_group_extent(m, &args->group, d);
        if (extent & (extent - 1)) return "an extent of the group is no power of two";
    }
    return NULL;
}

/* Parts that may run side by side: 2 for each dimension along which the group is longer than 1; 1
 * for a rank alone. */
static int n_parts_of(const pod_mesh *m, const pod_group *g)
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

/* For much data: a reduce-scatter by halving and an all-gather the same way back. Every link of a
 * torus works: the buffer is cut into a part for each dimension and direction, and the parts run
 * side by side. 2 log2(size) rounds; a rank sends 2 (size - 1) / size of the buffer, no more than
 * in a ring; a link carries more than that, since peers are up to about a third of an extent apart,
 * but most of the data moves in the first rounds, between neighbours. */
pod_status pod__swing_build(const pod_mesh *m, int rank, const pod_coll_args *args, pod_sched *out)
{
    const int n_parts = n_parts_of(m, &args->group);
    int tag = 0;
    for (int part = 0; part < n_parts; part++) {
        pod__pairs pairs = pod__pairs_of(pod_block(args->count, n_parts, part), tag, POD_NO_STEP);
        pod__swing_pairs(m, &args->group, rank, part, &pairs);
        pod__pairs_reduce_scatter(&pairs, out);
        pod__pairs_allgather(&pairs, out);
        tag += 2 * pairs.n_rounds;
    }
    return POD_OK;
}

/* For little data: in each round a rank and its peer exchange and add all they have. log2(size)
 * messages deep, each of the whole buffer. */
pod_status pod__swing_latency_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                    pod_sched *out)
{
    pod__pairs pairs = pod__pairs_of((pod_range){0, args->count}, 0, POD_NO_STEP);
    pod__swing_pairs(m, &args->group, rank, 0, &pairs);
    pod__pairs_exchange(&pairs, out);
    return POD_OK;
}
