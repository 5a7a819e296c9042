#include "collectives/algo/direct/share.h"

#include "collectives/algo/algorithms.h"

const char *pod__share_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    if (args->node_size < 2) return "no ranks share memory";
    if (pod_group_size(m, &args->group) > POD_COMBINE_MAX_INPUTS)
        return "the group has more ranks than one sum over shared memory takes";
    for (int rank = 0; rank < pod_mesh_size(m); rank++)
        if (rank / args->node_size != pod_group_member(m, &args->group, rank, 0) / args->node_size)
            return "the group spans more than one node";
    return NULL;
}

pod__sharers pod__sharers_of(const pod_mesh *m, const pod_group *g, int rank)
{
    pod__sharers among = {.size = pod_group_size(m, g), .index = pod_group_index(m, g, rank)};
    for (int i = 0; i < among.size; i++) among.rank[i] = pod_group_member(m, g, rank, i);
    return among;
}

/* Everyone begins with another neighbour, so that no one's memory is read by all at once. */
void pod__share_blocks(pod_sched *s, const pod__sharers *among, int64_t count, int tag,
                       int32_t after)
{
    const int size = among->size;
    const pod_range own = pod_block(count, size, among->index);
    for (int k = 1; k < size; k++) {
        const int to = (among->index - k + size) % size;
        pod_sched_send(s, among->rank[to], tag, (pod_span){POD_BUF_MAIN, own.first}, own.count,
                       after);
    }
    for (int k = 1; k < size; k++) {
        const int from = (among->index + k) % size;
        const pod_range block = pod_block(count, size, from);
        pod_sched_recv(s, among->rank[from], tag, (pod_span){POD_BUF_MAIN, block.first},
                       block.count, POD_NO_STEP);
    }
}

/* All-reduce where all ranks share memory: each sums its share of the buffer by reading it from
 * all, and stores the sum to all.
 *
 *     meet | rank i: block i of every rank = its sum over them | meet
 *
 * Every element is read and written once on every rank, and nothing is copied on the way; the sum
 * is made in the order of the members, so the bits are those of flat. */
pod_status pod__allreduce_direct_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                       pod_sched *out)
{
    const pod__sharers among = pod__sharers_of(m, &args->group, rank);
    const pod_range own = pod_block(args->count, among.size, among.index);
    pod_sched_share(out, among.rank, among.size);
    const int32_t met = pod_sched_sync(out, 0, POD_NO_STEP);
    const int32_t summed =
        pod_sched_reduce_all(out, (pod_span){POD_BUF_MAIN, own.first}, own.count, met);
    pod_sched_sync(out, 1, summed);
    return POD_OK;
}

/* All-reduce where all ranks share memory, for little data: everyone lays its buffer out in SCRATCH
 * and, when all have, sums all of them for itself.
 *
 * One meeting a call, where direct has two: no one waits at the end, because the next call lays out
 * in the other SCRATCH. Every rank reads size times the buffer. */
pod_status pod__oneshot_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                              pod_sched *out)
{
    const pod_span main = {POD_BUF_MAIN, 0}, laid_out = {POD_BUF_SCRATCH, 0};
    const pod__sharers among = pod__sharers_of(m, &args->group, rank);
    pod_sched_share(out, among.rank, among.size);
    const int32_t copied = pod_sched_copy(out, main, laid_out, args->count, POD_NO_STEP);
    const int32_t met = pod_sched_sync(out, 0, copied);
    pod_sched_reduce_from(out, laid_out, main, args->count, met);
    return POD_OK;
}

/* Reduce-scatter where all ranks share memory: between two meetings each sums its block by reading
 * it from all. */
pod_status pod__reduce_scatter_direct_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                            pod_sched *out)
{
    const pod__sharers among = pod__sharers_of(m, &args->group, rank);
    const pod_range own = pod_block(args->count, among.size, among.index);
    const pod_span block = {POD_BUF_MAIN, own.first};
    pod_sched_share(out, among.rank, among.size);
    const int32_t met = pod_sched_sync(out, 0, POD_NO_STEP);
    pod_sched_sync(out, 1, pod_sched_reduce_from(out, block, block, own.count, met));
    return POD_OK;
}

enum { TAG_SYNC, TAG_SYNC_END, TAG_BLOCK };

/* Reduce where all ranks share memory: each sums its block by reading it from all, as in a
 * reduce-scatter, and the root reads the blocks of the others as soon as they are there. */
pod_status pod__reduce_direct_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                    pod_sched *out)
{
    const pod__sharers among = pod__sharers_of(m, &args->group, rank);
    const pod_range own = pod_block(args->count, among.size, among.index);
    const pod_span block = {POD_BUF_MAIN, own.first};
    pod_sched_share(out, among.rank, among.size);
    const int32_t met = pod_sched_sync(out, TAG_SYNC, POD_NO_STEP);
    const int32_t reduced = pod_sched_reduce_from(out, block, block, own.count, met);
    pod_sched_sync(out, TAG_SYNC_END, reduced);
    if (among.index != args->root) {
        pod_sched_send(out, among.rank[args->root], TAG_BLOCK, block, own.count, reduced);
        return POD_OK;
    }
    for (int i = 0; i < among.size; i++) {
        const pod_range given = pod_block(args->count, among.size, i);
        if (i != args->root)
            pod_sched_recv(out, among.rank[i], TAG_BLOCK, (pod_span){POD_BUF_MAIN, given.first},
                           given.count, met);
    }
    return POD_OK;
}

/* All-gather where all ranks share memory: everyone reads every block from the rank that has it, by
 * size - 1 messages at once, none of which waits for another. */
pod_status pod__allgather_direct_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                       pod_sched *out)
{
    const pod__sharers among = pod__sharers_of(m, &args->group, rank);
    pod__share_blocks(out, &among, args->count, 0, POD_NO_STEP);
    return POD_OK;
}

/* Broadcast where all ranks share memory: all members read the root's buffer, at once. */
pod_status pod__broadcast_direct_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                       pod_sched *out)
{
    const pod__sharers among = pod__sharers_of(m, &args->group, rank);
    const pod_span whole = {POD_BUF_MAIN, 0};
    if (among.index != args->root)
        pod_sched_recv(out, among.rank[args->root], 0, whole, args->count, POD_NO_STEP);
    else
        for (int i = 0; i < among.size; i++)
            if (i != args->root)
                pod_sched_send(out, among.rank[i], 0, whole, args->count, POD_NO_STEP);
    return POD_OK;
}

/* Of members i and j, whether it is i that keeps a copy. */
static bool keeps_copy(int i, int j) { return ((i + j) % 2 == 0) == (i < j); }

/* All-to-all where all ranks share memory: every two members exchange a block, all pairs at once.
 *
 * One of the two keeps a copy of its block and reads the other's into its place; the other reads
 * the copy once it has been read: three blocks moved a pair, where a copy of all that comes in
 * would move four. The two take turns at keeping, so that all have as much to do. */
pod_status pod__alltoall_direct_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                      pod_sched *out)
{
    const pod__sharers among = pod__sharers_of(m, &args->group, rank);
    const int64_t count = args->count / among.size;
    for (int k = 1; k < among.size; k++) {
        const int other = (among.index + k) % among.size, peer = among.rank[other];
        const pod_span block = {POD_BUF_MAIN, other * count};
        const pod_span copy = {POD_BUF_SCRATCH, other * count};
        if (keeps_copy(among.index, other)) {
            const int32_t kept = pod_sched_copy(out, block, copy, count, POD_NO_STEP);
            pod_sched_recv(out, peer, 0, block, count, kept);
            pod_sched_send(out, peer, 0, copy, count, kept);
        } else {
            const int32_t read = pod_sched_send(out, peer, 0, block, count, POD_NO_STEP);
            pod_sched_recv(out, peer, 0, block, count, read);
        }
    }
    return POD_OK;
}
