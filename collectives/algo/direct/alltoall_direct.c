/* All-to-all where all ranks share memory: every two members exchange a block, all pairs at once.
 *
 * One of the two keeps a copy of its block and reads the other's into its place; the other reads
 * the copy once it has been read: three blocks moved a pair, where a copy of all that comes in
 * would move four. The two take turns at keeping, so that all have as much to do. */
#include <math.h>

#include "collectives/algo/algorithms.h"
#include "collectives/algo/direct/share.h"

const char *pod__alltoall_direct_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__share_why_not(m, args);
}

/* Of members i and j, whether it is i that keeps a copy. */
static bool keeps_copy(int i, int j) { return ((i + j) % 2 == 0) == (i < j); }

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

/* A pair's two blocks follow one another; while copies are made, what needs none is prepared. */
double pod__alltoall_direct_seconds(const pod_net *net, const pod_mesh *m,
                                    const pod_coll_args *args)
{
    const pod__sharers among = pod__sharers_of(m, &args->group, 0);
    if (among.size == 1) return 0;
    const double bytes = pod__share_bytes(args, among.size);
    pod_net prepared = *net;
    prepared.message_s = 0;
    const double kept_s = pod__share_reduce_seconds(net, 1, 1, among.size / 2 * bytes) +
                          net->message_s + pod_net_all_to_all_s(&prepared, m, &args->group, bytes);
    return fmax(kept_s, pod_net_all_to_all_s(net, m, &args->group, bytes));
}
