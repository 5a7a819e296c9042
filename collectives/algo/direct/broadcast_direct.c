/* Broadcast where all ranks share memory: all members read the root's buffer, at once. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/direct/share.h"

const char *pod__broadcast_direct_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__share_why_not(m, args);
}

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

/* The messages leave the root one after the other. */
double pod__broadcast_direct_seconds(const pod_net *net, const pod_mesh *m,
                                     const pod_coll_args *args)
{
    const pod__sharers among = pod__sharers_of(m, &args->group, 0);
    const double bytes = pod__share_bytes(args, 1);
    pod_net_fan out = {0};
    for (int i = 0; i < among.size; i++)
        if (i != args->root)
            pod_net_fan_add(&out, net, m, among.rank[args->root], among.rank[i], bytes, true);
    return pod_net_fan_s(&out, net, bytes, true);
}
