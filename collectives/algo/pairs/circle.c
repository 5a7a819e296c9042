/* Rounds in which every member sends to the one so many places further on in a circle, with as
 * many blocks; all-gather and reduce-scatter for any number of members in ceil(log2(size)) rounds.
 *
 * In the all-gather members hold 1, 2, 4, ... blocks from their own on, and send what the one as
 * many places behind lacks. Here five members:
 *
 *     0 holds   0        0 1      0 1 2 3      0 1 2 3 4
 *     1 holds   1        1 2      1 2 3 4      0 1 2 3 4
 *     2 holds   2        2 3      0 2 3 4      0 1 2 3 4
 *     3 holds   3        3 4      0 1 3 4      0 1 2 3 4
 *     4 holds   4        0 4      0 1 2 4      0 1 2 3 4
 *
 * Every rank sends and receives (size - 1) / size of the buffer. Blocks come straight to their
 * places, so that what goes round the end of the buffer is two messages. Backwards, with sums, it
 * is the reduce-scatter. Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-
 * to-all communications in multiport message-passing systems", 1997; Traeff, "Optimal, non-
 * pipelined reduce-scatter and allreduce algorithms", 2024. */
#include "collectives/algo/algorithms.h"

typedef struct circle {
    const pod_mesh *mesh;
    const pod_group *group;
    int rank, size, index;
    int64_t count;
} circle;

/* Adds the messages with one peer, `hops` further on: n blocks from `first` on, of which those
 * beyond the last block are a second span. Answers what waits for both. */
static int32_t add_messages(const circle *c, pod_sched *s, pod_step_kind kind, int hops, int first,
                            int n, int tag, int32_t after)
{
    const int peer = pod_group_member(c->mesh, c->group, c->rank, (c->index + hops) % c->size);
    int32_t done = after;
    for (int part = 0; n > 0; part++) {
        first %= c->size;
        const int n_here = first + n <= c->size ? n : c->size - first;
        const pod_range last = pod_block(c->count, c->size, first + n_here - 1);
        const pod_span at = {POD_BUF_MAIN, pod_block(c->count, c->size, first).first};
        const int64_t count = last.first + last.count - at.first;
        if (count > 0)
            done = pod_sched_join(s, part == 0 ? POD_NO_STEP : done,
                                  pod_sched_add(s, (pod_step){.kind = kind,
                                                              .peer = peer,
                                                              .tag = tag + part,
                                                              .after = {after, POD_NO_STEP},
                                                              .src = at,
                                                              .dst = at,
                                                              .count = count}));
        first += n_here;
        n -= n_here;
    }
    return done;
}

/* Blocks that move in the round of this reach. */
static int n_blocks_of(const circle *c, int reach)
{
    return reach < c->size - reach ? reach : c->size - reach;
}

static void allgather(circle c, pod_sched *s)
{
    int32_t held = POD_NO_STEP;
    int tag = 0;
    for (int reach = 1; reach < c.size; reach *= 2, tag += 2) {
        const int n = n_blocks_of(&c, reach);
        add_messages(&c, s, POD_STEP_SEND, c.size - reach, c.index, n, tag, held);
        const int32_t came =
            add_messages(&c, s, POD_STEP_RECV, reach, c.index + reach, n, tag, POD_NO_STEP);
        held = pod_sched_join(s, held, came);
    }
}

static void reduce_scatter(circle c, pod_sched *s)
{
    int32_t added = POD_NO_STEP;
    int tag = 0, reach = 1;
    while (2 * reach < c.size) reach *= 2;
    for (; reach > 0 && c.size > 1; reach /= 2, tag += 2) {
        const int n = n_blocks_of(&c, reach);
        add_messages(&c, s, POD_STEP_SEND, reach, c.index + reach, n, tag, added);
        added = add_messages(&c, s, POD_STEP_RECV_REDUCE, c.size - reach, c.index, n, tag, added);
    }
}

pod_status pod__circle_build(const pod_mesh *m, int rank, const pod_coll_args *args, pod_sched *out)
{
    const circle c = {.mesh = m,
                      .group = &args->group,
                      .rank = rank,
                      .size = pod_group_size(m, &args->group),
                      .index = pod_group_index(m, &args->group, rank),
                      .count = args->count};
    if (args->coll == POD_REDUCE_SCATTER)
        reduce_scatter(c, out);
    else
        allgather(c, out);
    return POD_OK;
}
