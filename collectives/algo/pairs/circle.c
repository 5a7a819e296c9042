#include "collectives/algo/pairs/circle.h"

#include <math.h>

#include "collectives/algo/pairs/pairs.h"

typedef struct circle {
    const pod_mesh *mesh;
    const pod_group *group;
    int rank, size, index;
    int64_t count;
} circle;

static circle circle_of(const pod_mesh *m, int rank, const pod_coll_args *args)
{
    return (circle){.mesh = m,
                    .group = &args->group,
                    .rank = rank,
                    .size = pod_group_size(m, &args->group),
                    .index = pod_group_index(m, &args->group, rank),
                    .count = args->count};
}

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

void pod__circle_allgather(const pod_mesh *m, int rank, const pod_coll_args *args, pod_sched *s)
{
    const circle c = circle_of(m, rank, args);
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

void pod__circle_reduce_scatter(const pod_mesh *m, int rank, const pod_coll_args *args,
                                pod_sched *s)
{
    const circle c = circle_of(m, rank, args);
    int32_t added = POD_NO_STEP;
    int tag = 0, reach = 1;
    while (2 * reach < c.size) reach *= 2;
    for (; reach > 0 && c.size > 1; reach /= 2, tag += 2) {
        const int n = n_blocks_of(&c, reach);
        add_messages(&c, s, POD_STEP_SEND, reach, c.index + reach, n, tag, added);
        added = add_messages(&c, s, POD_STEP_RECV_REDUCE, c.size - reach, c.index, n, tag, added);
    }
}

/* ---- closed forms -------------------------------------------------------------------------- */

double pod__circle_round_s(const pod_net *net, const pod_mesh *m, const pod_group *g, int reach,
                           double bytes)
{
    const int size = pod_group_size(m, g);
    double slowest = 0;
    for (int i = 0; i < size; i++) {
        const int from = pod_group_member(m, g, 0, i);
        const int to = pod_group_member(m, g, 0, (i + reach) % size);
        slowest = fmax(slowest, pod__shared_message_s(net, m, g, from, to, bytes, reach));
    }
    return slowest;
}

/* Where several blocks move, those of some member are in two messages: the second is prepared while
 * the first, of a block or more, is on its way. */
double pod__circle_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                           bool reduces)
{
    const circle c = circle_of(m, pod_group_member(m, &args->group, 0, 0), args);
    const double block_bytes =
        (double)(args->count * (int64_t)pod_dtype_bytes(args->dtype)) / (double)c.size;
    double seconds = 0;
    for (int reach = 1; reach < c.size; reach *= 2) {
        const int n = n_blocks_of(&c, reach);
        const int to = pod_group_member(m, &args->group, 0, reach);
        const double block_s = pod_net_message_s(net, m, c.rank, to, block_bytes) -
                               pod_net_message_s(net, m, c.rank, to, 0);
        seconds += pod__circle_round_s(net, m, &args->group, reach, n * block_bytes) +
                   (n > 1 ? fmax(0, net->message_s - block_s) : 0) +
                   (reduces ? pod_net_reduce_s(net, n * block_bytes) : 0);
    }
    return seconds;
}
