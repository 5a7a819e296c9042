#include "collectives/algo/direct/share.h"

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

double pod__share_bytes(const pod_coll_args *args, int size)
{
    return (double)(pod_block(args->count, size, 0).count * (int64_t)pod_dtype_bytes(args->dtype));
}

double pod__share_reduce_seconds(const pod_net *net, int n_reads, int n_writes, double bytes)
{
    return (n_reads + n_writes) * bytes / net->memory_bytes_per_s;
}
