#include "collectives/exec/peer_mpi.h"

#include <limits.h>

#include "collectives/exec/comm_mpi.h"
#include "kernels/base/assert.h"

struct pod_peer_mpi {
    MPI_Comm world;
    MPI_Datatype type;
    pod_coll coll;
    int rank, root, count;
    int *block_count, *block_first; /* elements, of each rank's block */
    bool is_even;                   /* all blocks are equal */
    size_t own_first;               /* bytes before the own block */
};

const char *pod_peer_mpi_name(pod_coll coll)
{
    static const char *const names[POD_N_COLLS] = {"MPI_Allreduce", "MPI_Reduce_scatter",
                                                   "MPI_Allgather", "MPI_Bcast", "MPI_Alltoall"};
    return names[coll];
}

const char *pod_peer_mpi_why_not(const pod_coll_args *args, int n_ranks)
{
    if (args->count > INT_MAX) return "MPI counts elements in an int";
    if (pod_coll_adds(args->coll) && args->dtype == POD_BF16) return "MPI has no bfloat16";
    if (pod_coll_adds(args->coll) && args->dtype != POD_F32) return "MPI has no such element type";
    if (args->coll == POD_ALLTOALL && args->count % n_ranks != 0) return "blocks are not equal";
    return NULL;
}

static MPI_Datatype type_of(pod_dtype t)
{
    switch (pod_dtype_bytes(t)) {
    case 4: return MPI_FLOAT;
    case 2: return MPI_UINT16_T;
    case 16: return MPI_C_DOUBLE_COMPLEX;
    default: return MPI_BYTE;
    }
}

pod_status pod_peer_mpi_create(pod_arena *a, pod_comm *c, const pod_coll_args *args,
                               const pod_peer_mpi **out)
{
    const int size = pod_comm_size(c), rank = pod_comm_rank(c);
    POD_ASSERT(!pod_peer_mpi_why_not(args, size), "%s: %s", pod_peer_mpi_name(args->coll),
               pod_peer_mpi_why_not(args, size));
    pod_peer_mpi *p = POD_ARENA_NEW(a, pod_peer_mpi, 1);
    int *block_count = POD_ARENA_NEW(a, int, size), *block_first = POD_ARENA_NEW(a, int, size);
    if (!p || !block_count || !block_first) return POD_E_NOMEM;
    for (int r = 0; r < size; r++) {
        const pod_range block = pod_block(args->count, size, r);
        block_count[r] = (int)block.count;
        block_first[r] = (int)block.first;
    }
    *p = (pod_peer_mpi){.world = pod__comm_world(c),
                        .type = type_of(args->dtype),
                        .coll = args->coll,
                        .rank = rank,
                        .root = args->root,
                        .count = (int)args->count,
                        .block_count = block_count,
                        .block_first = block_first,
                        .is_even = args->count % size == 0,
                        .own_first = (size_t)block_first[rank] * pod_dtype_bytes(args->dtype)};
    *out = p;
    return POD_OK;
}

void pod_peer_mpi_run(const pod_peer_mpi *p, const void *in, void *out)
{
    const char *own_in = (const char *)in + p->own_first;
    char *own_out = (char *)out + p->own_first;
    const int block = p->block_count[0];
    switch (p->coll) {
    case POD_ALLREDUCE: MPI_Allreduce(in, out, p->count, p->type, MPI_SUM, p->world); break;
    case POD_REDUCE_SCATTER:
        MPI_Reduce_scatter(in, own_out, p->block_count, p->type, MPI_SUM, p->world);
        break;
    case POD_ALLGATHER:
        if (p->is_even)
            MPI_Allgather(own_in, block, p->type, out, block, p->type, p->world);
        else
            MPI_Allgatherv(own_in, p->block_count[p->rank], p->type, out, p->block_count,
                           p->block_first, p->type, p->world);
        break;
    case POD_BROADCAST: MPI_Bcast(out, p->count, p->type, p->root, p->world); break;
    case POD_ALLTOALL: MPI_Alltoall(in, block, p->type, out, block, p->type, p->world); break;
    case POD_N_COLLS: break;
    }
}
