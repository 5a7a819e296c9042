#include "collectives/algo/ring.h"

pod_status pod__ring_init(pod_sched *s, const pod_mesh *m, pod_group group, int rank,
                          pod_range range, int first_tag, int32_t entry, pod__ring *out)
{
    int size = pod_group_size(m, &group);
    int32_t *last = POD_ARENA_NEW(pod_sched_arena(s), int32_t, size);
    if (!last) return POD_E_NOMEM;
    for (int b = 0; b < size; b++) last[b] = entry;
    *out = (pod__ring){.mesh = m,
                       .group = group,
                       .rank = rank,
                       .size = size,
                       .index = pod_group_index(m, &group, rank),
                       .first_tag = first_tag,
                       .range = range,
                       .last = last};
    return POD_OK;
}

pod_range pod__ring_block(const pod__ring *r, int index)
{
    pod_range block = pod_block(r->range.count, r->size, index);
    block.first += r->range.first;
    return block;
}

int pod__ring_n_tags(const pod__ring *r) { return 2 * (r->size - 1); }

/* The member `hops` further on. */
static int member(const pod__ring *r, int hops)
{
    int index = ((r->index + hops) % r->size + r->size) % r->size;
    return pod_group_member(r->mesh, &r->group, r->rank, index);
}

static int block_behind(const pod__ring *r, int hops)
{
    return ((r->index - hops) % r->size + r->size) % r->size;
}

static pod_span span_of(pod_range block) { return (pod_span){POD_BUF_MAIN, block.first}; }

/* Sends a block one member on, once it may be touched; answers the step. */
static int32_t send_block(const pod__ring *r, pod_sched *s, int b, int tag)
{
    pod_range block = pod__ring_block(r, b);
    return pod_sched_send(s, member(r, 1), tag, span_of(block), block.count, r->last[b]);
}

void pod__ring_reduce_scatter(pod__ring *r, pod_sched *s)
{
    /* A receive waits for the last but one before it: two at a time are enough to hide one behind
     * the sum of the other, and an executor needs memory for no more. */
    int32_t reduced[2] = {POD_NO_STEP, POD_NO_STEP};
    for (int k = 0; k < r->size - 1; k++) {
        int tag = r->first_tag + k;
        int sent = block_behind(r, k + 1);
        r->last[sent] = send_block(r, s, sent, tag);
        int b = block_behind(r, k + 2);
        pod_range block = pod__ring_block(r, b);
        r->last[b] = pod_sched_recv_reduce(s, member(r, -1), tag, span_of(block), block.count,
                                           r->last[b], reduced[k % 2]);
        reduced[k % 2] = r->last[b];
    }
}

void pod__ring_allgather(pod__ring *r, pod_sched *s)
{
    for (int k = 0; k < r->size - 1; k++) {
        int tag = r->first_tag + r->size - 1 + k;
        send_block(r, s, block_behind(r, k), tag);
        int b = block_behind(r, k + 1);
        pod_range block = pod__ring_block(r, b);
        r->last[b] = pod_sched_recv(s, member(r, -1), tag, span_of(block), block.count, r->last[b]);
    }
}

double pod__ring_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                         bool reduces)
{
    const int size = pod_group_size(m, &args->group);
    const double bytes =
        (double)(args->count * (int64_t)pod_dtype_bytes(args->dtype)) / (double)size;
    double round = 0;
    for (int i = 0; i < size; i++) {
        const int from = pod_group_member(m, &args->group, 0, i);
        const int to = pod_group_member(m, &args->group, 0, (i + 1) % size);
        const double seconds = pod_net_message_s(net, m, from, to, bytes);
        if (seconds > round) round = seconds;
    }
    return (size - 1) * (round + (reduces ? pod_net_reduce_s(net, bytes) : 0));
}
