/* The MPI library's own collectives, as its users call them: what ours are held against. */
#ifndef MINIPOD_COLLECTIVES_EXEC_PEER_MPI_H
#define MINIPOD_COLLECTIVES_EXEC_PEER_MPI_H

#include "collectives/algo/algo.h"
#include "collectives/exec/comm.h"
#include "kernels/base/arena.h"

typedef struct pod_peer_mpi pod_peer_mpi;

/* "MPI_Allreduce" */
const char *pod_peer_mpi_name(pod_coll coll);

/* NULL: MPI has this collective for the whole job; else one clause that says why not. */
const char *pod_peer_mpi_why_not(const pod_coll_args *args, int n_ranks);

/* Into the arena, over all ranks of the job; why_not has nothing to say. Blocks are pod_block's.
 * E_NOMEM. Local. */
POD_MUST pod_status pod_peer_mpi_create(pod_arena *a, pod_comm *c, const pod_coll_args *args,
                                        const pod_peer_mpi **out);

/* Out of place: `in` holds what the rank gives, at its place in the buffer of the collective; so
 * `out` receives what comes to it. A broadcast has one buffer, `out`. Collective. */
void pod_peer_mpi_run(const pod_peer_mpi *p, const void *in, void *out);

#endif
