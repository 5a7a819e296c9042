/* Moves along a ring or line of ranks, of which ring and torus algorithms are made.
 *
 * A ring works on part of MAIN, with a block for each member (deal.h). What is added up for block b
 * comes to its member from both sides: of the others, `up` send theirs upwards to it, hop by hop,
 * and the other size - 1 - up send downwards. A ring one way has up = size - 1 for all blocks; one
 * both ways size / 2, so that all links work and blocks need half the hops; on a line, up is what
 * lies below the member. An all-gather is the same backwards. In each direction a member sends
 * size - 1 blocks at most, so any of these moves the least data.
 *
 * A reduce-scatter one way over three ranks, blocks a b c, a digit for each contribution:
 *
 *     rank 0   a0  b0  c0       a0   b0   c02      a012 b0   c02
 *     rank 1   a1  b1  c1       a01  b1   c1       a01  b012 c1
 *     rank 2   a2  b2  c2       a2   b12  c2       a2   b12  c012
 *
 * Blocks travel in pieces, and a piece is sent on when it has come, whatever becomes of the rest of
 * its block. `last` names the step of this rank that a piece has to wait for: kept up to date, so
 * that one move follows another piece by piece. A rank takes 4 (size - 1) n_pieces steps, or a few
 * more on a line, for a reduce-scatter and an all-gather. */
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
    int n_runs, n_pieces; /* of each block; as many pieces of each of its runs */
    int turn;             /* over an even number of members one piece goes a hop farther up, the
                             next one down: 0, or 1 for the other way round */
} pod__ring_plan;

/* The steps that added last, by way: the last but one and the last. A receive waits for the last
 * but one before it: two at a time are enough to hide one behind the sum of the other, and an
 * executor needs memory for no more. */
typedef struct pod__ring_sums { /* a value */
    int32_t added[2][2];
} pod__ring_sums;

extern const pod__ring_sums pod__ring_no_sums;

typedef struct pod__ring {
    pod__ring_plan plan;
    int rank, neighbor[2]; /* of the mesh; the next one up, down */
    int size, position;
    int first_tag; /* of pod__ring_n_tags */
    pod__deal deal;
    int32_t *last; /* (size, n_pieces) by position */
    pod__ring_sums sums;
} pod__ring;

/* How to go about `args`, but with this group over `count` elements, in blocks of so many runs.
 * Without args->chunk_bytes, pieces are such that one that comes in, what it is added to and the
 * sum stay together in a core's L2; two pieces at least where that balances the links. */
pod__ring_plan pod__ring_plan_of(const pod_mesh *m, pod_group group, const pod_coll_args *args,
                                 int64_t count, int n_runs, bool both_ways);

/* Both ways, each block in one piece, of which `turn` says how it goes. */
pod__ring_plan pod__ring_plan_whole(const pod_mesh *m, pod_group group, int turn);

/* Every piece may be touched, and received, at once. `last` lives in the schedule's arena;
 * E_NOMEM. */
POD_MUST pod_status pod__ring_init(pod_sched *s, const pod__ring_plan *plan, int rank,
                                   const pod__deal *deal, int first_tag, pod__ring *out);

int pod__ring_n_tags(const pod__ring_plan *p);
/* The hops that go one way (0: up) to a piece of the block of a position in a reduce-scatter. */
int pod__ring_reach(const pod__ring_plan *p, int position, int piece, int way);
pod_range pod__ring_own_block(const pod__ring *r); /* of one run */
/* Every piece waits for the step, and for nothing that it waited for before. */
void pod__ring_wait(pod__ring *r, int32_t step);
/* What waits for all that the ring does to a member's own block, and to every block. */
int32_t pod__ring_own_done(const pod__ring *r, pod_sched *s);
int32_t pod__ring_done(const pod__ring *r, pod_sched *s);
/* The pieces of `r` (of its own block only, with is_own) wait for what the rings before, or within
 * its block, do to the same elements. */
void pod__ring_follow(pod__ring *r, pod_sched *s, const pod__ring *const before[], int n_before,
                      bool is_own);

void pod__ring_reduce_scatter(pod__ring *r, pod_sched *s);
void pod__ring_allgather(pod__ring *r, pod_sched *s);

#endif
