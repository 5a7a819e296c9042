/* The MPI library's own collectives, for comparison with minipod's. */
#ifndef MINIPOD_COLLECTIVES_EXEC_MPI_PEER_MPI_H
#define MINIPOD_COLLECTIVES_EXEC_MPI_PEER_MPI_H

#include "collectives/algo/algo.h"
#include "collectives/exec/comm.h"
#include "kernels/base/arena.h"

typedef struct pod_peer_mpi pod_peer_mpi;

/* "MPI_Allreduce" */
const char *pod_peer_mpi_name(pod_coll coll);

/* Returns NULL if MPI has this collective for the whole job, else a clause with the reason. bf16
 * and f16, which MPI lacks, are reduced by a function of minipod (MPI_Op_create); an average is
 * MPI's sum, divided afterwards. */
const char *pod_peer_mpi_why_not(const pod_coll_args *args, int n_ranks);

/* Creates the collective in the arena, over all ranks of the job; pod_peer_mpi_why_not must return
 * NULL. Blocks are those of pod_block. Fails with E_NOMEM. Local. */
POD_MUST pod_status pod_peer_mpi_create(pod_arena *a, pod_comm *c, const pod_coll_args *args,
                                        const pod_peer_mpi **out);
void pod_peer_mpi_destroy(const pod_peer_mpi *p); /* NULL is allowed */

/* Runs it. `in` and `out` are whole buffers of the collective: the rank's input and result are at
 * their positions in them. In place (MPI_IN_PLACE, MPI_Sendrecv_replace) if in == out. A broadcast
 * uses only `out`. Collective. */
void pod_peer_mpi_run(const pod_peer_mpi *p, const void *in, void *out);

#endif
