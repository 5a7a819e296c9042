/* Moves along a ring, of which ring and torus algorithms are made.
 *
 * A ring runs through the members of a group in the order of their index. It works on one range of
 * MAIN, cut into a block for each member. `last[b]` is the step of this rank that block b has to
 * wait for: given, and kept up to date, so that one move follows another block by block.
 *
 * Reduce-scatter over three ranks, blocks a b c, a digit for each contribution. A block starts
 * behind the member that it ends at and goes once round:
 *
 *     rank 0   a0  b0  c0       a0   b0   c02      a012 b0   c02
 *     rank 1   a1  b1  c1       a01  b1   c1       a01  b012 c1
 *     rank 2   a2  b2  c2       a2   b12  c2       a2   b12  c012 */
#ifndef MINIPOD_COLLECTIVES_ALGO_RING_H
#define MINIPOD_COLLECTIVES_ALGO_RING_H

#include "collectives/algo/algo.h"

typedef struct pod__ring {
    const pod_mesh *mesh;
    pod_group group;
    int rank;        /* of the mesh */
    int size, index; /* of the group */
    int first_tag;   /* of the 2 (size - 1) that a reduce-scatter and an all-gather use */
    pod_range range;
    int32_t *last; /* (size) */
} pod__ring;

/* Every block may be touched after step `entry`. `last` lives in the schedule's arena; E_NOMEM. */
POD_MUST pod_status pod__ring_init(pod_sched *s, const pod_mesh *m, pod_group group, int rank,
                                   pod_range range, int first_tag, int32_t entry, pod__ring *out);

pod_range pod__ring_block(const pod__ring *r, int index);
int pod__ring_n_tags(const pod__ring *r);

/* Of one such move over `count` elements; reduces says which. */
double pod__ring_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                         bool reduces);

/* size - 1 rounds; afterwards last[index] is the step that completed this rank's own block. */
void pod__ring_reduce_scatter(pod__ring *r, pod_sched *s);
/* size - 1 rounds, from this rank's own block on; afterwards last[b] is the step after which block
 * b may be read (what only reads it need not wait for the sends). */
void pod__ring_allgather(pod__ring *r, pod_sched *s);

#endif
