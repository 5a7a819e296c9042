#include "collectives/exec/mpi/peer_mpi.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "collectives/exec/mpi/comm_mpi.h"
#include "kernels/base/assert.h"

struct pod_peer_mpi {
    MPI_Comm world;
    MPI_Datatype type;
    pod_coll coll;
    pod_dtype dtype;
    MPI_Op op;
    bool has_own_op, average;
    int rank, size, root, count;
    int *block_count, *block_first; /* elements, of each rank's block */
    bool is_even;                   /* all blocks are equal */
    size_t own_first;               /* bytes before the own block */
};

const char *pod_peer_mpi_name(pod_coll coll)
{
    static const char *const names[POD_N_COLLS] = {
        "MPI_Allreduce", "MPI_Reduce_scatter", "MPI_Allgather", "MPI_Bcast",
        "MPI_Alltoall",  "MPI_Reduce",         "MPI_Sendrecv"};
    return names[coll];
}

const char *pod_peer_mpi_why_not(const pod_coll_args *args, int n_ranks)
{
    if (args->count > INT_MAX) return "MPI counts elements in an int";
    if (pod_coll_adds(args->coll) && args->dtype == POD_BINNED)
        return "MPI has no such element type";
    if (args->coll == POD_ALLTOALL && args->count % n_ranks != 0) return "blocks are not equal";
    return NULL;
}

/* Of the same size where MPI has none: it only moves those, or has ours to combine them. */
static MPI_Datatype type_of(pod_dtype t)
{
    switch (t) {
    case POD_F32: return MPI_FLOAT;
    case POD_F64: return MPI_DOUBLE;
    case POD_I8: return MPI_INT8_T;
    case POD_U8: return MPI_UINT8_T;
    case POD_I32: return MPI_INT32_T;
    case POD_U32: return MPI_UINT32_T;
    case POD_I64: return MPI_INT64_T;
    case POD_U64: return MPI_UINT64_T;
    case POD_BINNED: return MPI_C_DOUBLE_COMPLEX;
    default: return MPI_UINT16_T;
    }
}

/* MPI tells a function no type of ours and no operation, so there is one for each. */
#define COMBINE(name, t, op)                                                                       \
    static void name(void *in, void *inout, int *count, MPI_Datatype *type)                        \
    {                                                                                              \
        (void)type;                                                                                \
        pod_combine_two(pod_combine_pick(pod_cpu_features()), op, *count, t, in, t, inout, inout); \
    }
COMBINE(bf16_sum, POD_BF16, POD_SUM)
COMBINE(bf16_prod, POD_BF16, POD_PROD)
COMBINE(bf16_max, POD_BF16, POD_MAX)
COMBINE(bf16_min, POD_BF16, POD_MIN)
COMBINE(f16_sum, POD_F16, POD_SUM)
COMBINE(f16_prod, POD_F16, POD_PROD)
COMBINE(f16_max, POD_F16, POD_MAX)
COMBINE(f16_min, POD_F16, POD_MIN)
#undef COMBINE

static void make_op(pod_peer_mpi *p, const pod_coll_args *args)
{
    const MPI_Op ops[POD_N_OPS] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_SUM};
    MPI_User_function *const ours[2][POD_N_OPS] = {
        {bf16_sum, bf16_prod, bf16_max, bf16_min, bf16_sum},
        {f16_sum, f16_prod, f16_max, f16_min, f16_sum}};
    p->op = ops[args->op];
    p->has_own_op =
        pod_coll_adds(args->coll) && (args->dtype == POD_BF16 || args->dtype == POD_F16);
    if (p->has_own_op) MPI_Op_create(ours[args->dtype == POD_F16][args->op], 1, &p->op);
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
                        .size = size,
                        .dtype = args->dtype,
                        .average = args->op == POD_AVG && pod_coll_adds(args->coll),
                        .count = (int)args->count,
                        .block_count = block_count,
                        .block_first = block_first,
                        .is_even = args->count % size == 0,
                        .own_first = (size_t)block_first[rank] * pod_dtype_bytes(args->dtype)};
    make_op(p, args);
    *out = p;
    return POD_OK;
}

void pod_peer_mpi_destroy(const pod_peer_mpi *p)
{
    if (!p || !p->has_own_op) return;
    MPI_Op op = p->op;
    MPI_Op_free(&op);
}

/* In place the own block lies where the result begins. */
static void reduce_scatter(const pod_peer_mpi *p, const void *in, void *out, char *own_out)
{
    if (in != out) {
        MPI_Reduce_scatter(in, own_out, p->block_count, p->type, p->op, p->world);
        return;
    }
    MPI_Reduce_scatter(MPI_IN_PLACE, out, p->block_count, p->type, p->op, p->world);
    memmove(own_out, out, (size_t)p->block_count[p->rank] * pod_dtype_bytes(p->dtype));
}

static void allgather(const pod_peer_mpi *p, const void *own_in, void *out)
{
    const int own = p->block_count[p->rank];
    if (p->is_even)
        MPI_Allgather(own_in, own, p->type, out, own, p->type, p->world);
    else
        MPI_Allgatherv(own_in, own, p->type, out, p->block_count, p->block_first, p->type,
                       p->world);
}

static void sendrecv(const pod_peer_mpi *p, const void *in, void *out)
{
    const int to = (p->rank + 1) % p->size, from = (p->rank + p->size - 1) % p->size;
    if (in == out)
        MPI_Sendrecv_replace(out, p->count, p->type, to, 0, from, 0, p->world, MPI_STATUS_IGNORE);
    else
        MPI_Sendrecv(in, p->count, p->type, to, 0, out, p->count, p->type, from, 0, p->world,
                     MPI_STATUS_IGNORE);
}

/* The root's buffer takes the sum in place of what the root gives. */
static void reduce(const pod_peer_mpi *p, const void *given, const void *in, void *out)
{
    const bool is_root = p->rank == p->root;
    MPI_Reduce(is_root ? given : in, is_root ? out : NULL, p->count, p->type, p->op, p->root,
               p->world);
}

void pod_peer_mpi_run(const pod_peer_mpi *p, const void *in, void *out)
{
    const bool is_in_place = in == out;
    const void *given = is_in_place ? MPI_IN_PLACE : in;
    const int block = p->block_count[0];
    char *own_out = (char *)out + p->own_first, *result = out;
    int64_t n_result = p->count;
    switch (p->coll) {
    case POD_ALLREDUCE: MPI_Allreduce(given, out, p->count, p->type, p->op, p->world); break;
    case POD_REDUCE_SCATTER:
        reduce_scatter(p, in, out, own_out);
        result = own_out;
        n_result = p->block_count[p->rank];
        break;
    case POD_ALLGATHER:
        allgather(p, is_in_place ? MPI_IN_PLACE : (const char *)in + p->own_first, out);
        break;
    case POD_BROADCAST: MPI_Bcast(out, p->count, p->type, p->root, p->world); break;
    case POD_ALLTOALL: MPI_Alltoall(given, block, p->type, out, block, p->type, p->world); break;
    case POD_REDUCE:
        reduce(p, given, in, out);
        if (p->rank != p->root) n_result = 0;
        break;
    case POD_SENDRECV: sendrecv(p, in, out); break;
    case POD_N_COLLS: break;
    }
    if (p->average)
        pod_combine_divide(pod_combine_pick(pod_cpu_features()), n_result, p->dtype, p->size,
                           result);
}
