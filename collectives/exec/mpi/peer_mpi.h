/* The MPI library's own collectives, as its users call them: what ours are held against. */
#ifndef MINIPOD_COLLECTIVES_EXEC_MPI_PEER_MPI_H
#define MINIPOD_COLLECTIVES_EXEC_MPI_PEER_MPI_H

#include "collectives/algo/algo.h"
#include "collectives/exec/comm.h"
#include "kernels/base/arena.h"

typedef struct pod_peer_mpi pod_peer_mpi;

/* "MPI_Allreduce" */
const char *pod_peer_mpi_name(pod_coll coll);

/* NULL: MPI has this collective for the whole job; else one clause that says why not. bf16 and f16,
 * which MPI does not have, are combined by a function of ours (MPI_Op_create), and an average is
 * a sum of MPI's that is then divided. */
const char *pod_peer_mpi_why_not(const pod_coll_args *args, int n_ranks);

/* Into the arena, over all ranks of the job; why_not has nothing to say. Blocks are pod_block's.
 * E_NOMEM. Local. */
POD_MUST pod_status pod_peer_mpi_create(pod_arena *a, pod_comm *c, const pod_coll_args *args,
                                        const pod_peer_mpi **out);
void pod_peer_mpi_destroy(const pod_peer_mpi *p); /* NULL is allowed */

/* `in` holds what the rank gives, at its position in the buffer of the collective; so `out`
 * receives what comes to it. In place (MPI_IN_PLACE, MPI_Sendrecv_replace) where in is out. A
 * broadcast has one buffer, `out`. Collective. */
void pod_peer_mpi_run(const pod_peer_mpi *p, const void *in, void *out);

#endif
