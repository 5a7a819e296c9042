/* Reduce where all ranks share memory: each sums its block by reading it from all, as in a
 * reduce-scatter, and the root reads the blocks of the others as soon as they are there. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/direct/share.h"

const char *pod__reduce_direct_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__share_why_not(m, args);
}

enum { TAG_SYNC, TAG_SYNC_END, TAG_BLOCK };

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

/* When the last of the blocks, which all leave at once, has come to the root: the farthest, or the
 * last of those that queue for a link to it, behind the nearest. */
static double blocks_s(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                       const pod__sharers *among, double bytes)
{
    const int root = among->rank[args->root];
    pod_net_fan in = {0};
    double nearest_s = 0;
    for (int i = 0; i < among->size; i++) {
        if (i == args->root) continue;
        const double alone_s = pod_net_message_s(net, m, among->rank[i], root, bytes);
        if (in.n == 0 || alone_s < nearest_s) nearest_s = alone_s;
        pod_net_fan_add(&in, net, m, among->rank[i], root, bytes, false);
    }
    const double queue_s = pod_net_fan_s(&in, net, bytes, false) - in.alone_s;
    return nearest_s + queue_s > in.alone_s ? nearest_s + queue_s : in.alone_s;
}

double pod__reduce_direct_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args)
{
    const pod__sharers among = pod__sharers_of(m, &args->group, 0);
    const double bytes = pod__share_bytes(args, among.size);
    const double sent_s = among.size > 1 ? blocks_s(net, m, args, &among, bytes) : 0;
    return net->sync_s + pod__share_reduce_seconds(net, among.size, 1, bytes) +
           (sent_s > net->sync_s ? sent_s : net->sync_s);
}
