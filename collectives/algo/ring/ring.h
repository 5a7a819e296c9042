/* Reduce-scatter and all-gather along a ring or line of ranks, for the ring and torus algorithms.
 *
 * A ring works on a range of MAIN, with a block for each member (deal.h). In a reduce-scatter the
 * contributions to a block reach its member in both directions: those of `up` other members travel
 * upwards, hop by hop, and those of the remaining size - 1 - up members downwards. A one-way ring
 * has up = size - 1 for all blocks. In a two-way ring up is half of size - 1, so that all links
 * work and blocks make half as many hops; if size is even, up alternates between size / 2 and one
 * fewer from piece to piece (pod__ring_reach). On a line, up is the number of members below the
 * block's member. An all-gather is the reverse. In each direction a member sends at most size - 1
 * blocks.
 *
 * A one-way reduce-scatter over three ranks: its start, and the state after each of its two rounds.
 * b02 is the sum of block b over ranks 0 and 2:
 *
 *     rank 0   a0  b0  c0       a0   b02  c0       a012 b02  c0
 *     rank 1   a1  b1  c1       a1   b1   c01      a1   b012 c01
 *     rank 2   a2  b2  c2       a12  b2   c2       a12  b2   c012
 *
 * Blocks are sent in pieces, and a piece is passed on when it has arrived, independently of the
 * rest of its block. For each piece, `last` has the step of this rank that the next operation on it
 * must wait for. Each function updates it, so one operation follows another piece by piece. A
 * reduce-scatter and an all-gather together take 4 (size - 1) n_pieces steps of a rank, or a few
 * more on a line. */
#ifndef MINIPOD_COLLECTIVES_ALGO_RING_RING_H
#define MINIPOD_COLLECTIVES_ALGO_RING_RING_H

#include "collectives/algo/algo.h"
#include "collectives/algo/ring/deal.h"
#include "collectives/algo/ring/path.h"

typedef enum pod__moves { POD__REDUCES = 1, POD__GATHERS = 2, POD__BOTH = 3 } pod__moves;

pod__moves pod__moves_of(pod_coll coll);

typedef struct pod__ring_plan { /* a value, the same on all members */
    pod__path path;
    bool both_ways;
    int n_runs, n_pieces; /* per block; each run of a block has equally many pieces */
    int turn; /* two-way, even size: 0: even pieces go one hop farther up than down, odd pieces one
                             farther down; 1: the reverse */
} pod__ring_plan;

/* The last two RECV_REDUCE steps in each direction, the earlier first. The next one waits for the
 * earlier of them. So at most two are in flight: enough to receive one while the other is added,
 * and executors need memory for no more. */
typedef struct pod__ring_sums { /* a value */
    int32_t added[2][2];
} pod__ring_sums;

extern const pod__ring_sums pod__ring_no_sums;

typedef struct pod__ring {
    pod__ring_plan plan;
    int rank, neighbor[2]; /* ranks in the mesh; neighbor: upwards, downwards */
    int size, position;
    int first_tag; /* the first of pod__ring_n_tags tags */
    pod__deal deal;
    int32_t *last; /* (size, n_pieces) by position */
    pod__ring_sums sums;
} pod__ring;

/* Plans `args` for this group and `count` elements, in blocks of n_runs runs. Without
 * args->chunk_bytes, pieces are so small that a received piece, the piece to which it is added, and
 * the sum fit into a core's L2; there are at least two pieces if that balances the links. */
pod__ring_plan pod__ring_plan_of(const pod_mesh *m, pod_group group, const pod_coll_args *args,
                                 int64_t count, int n_runs, bool both_ways);

/* Plans a two-way ring with blocks of one piece each; turn: as in pod__ring_plan. */
pod__ring_plan pod__ring_plan_whole(const pod_mesh *m, pod_group group, int turn);

/* Initializes a ring whose pieces wait for no step. `last` lives in the schedule's arena. Fails
 * with E_NOMEM. */
POD_MUST pod_status pod__ring_init(pod_sched *s, const pod__ring_plan *plan, int rank,
                                   const pod__deal *deal, int first_tag, pod__ring *out);

int pod__ring_n_tags(const pod__ring_plan *p);
/* Returns how many hops contributions to a piece make in one direction (way 0: up, 1: down) in a
 * reduce-scatter. The piece belongs to the block of the member at `position`. */
int pod__ring_reach(const pod__ring_plan *p, int position, int piece, int way);
pod_range pod__ring_own_block(const pod__ring *r); /* only for blocks with one run */
/* Makes every piece wait for the step, instead of the steps before. */
void pod__ring_wait(pod__ring *r, int32_t step);
/* Return a step after all steps of the ring on this rank's own block, or on every block. */
int32_t pod__ring_own_done(const pod__ring *r, pod_sched *s);
int32_t pod__ring_done(const pod__ring *r, pod_sched *s);
/* Makes the pieces of `r` (is_own: only of its own block) wait for the steps of the rings in
 * `before` on the same elements. */
void pod__ring_follow(pod__ring *r, pod_sched *s, const pod__ring *const before[], int n_before,
                      bool is_own);

void pod__ring_reduce_scatter(pod__ring *r, pod_sched *s);
void pod__ring_allgather(pod__ring *r, pod_sched *s);

#endif
