/* The ranks of one MPI test program, opened and closed by its suites. Included once a program. */
#ifndef MINIPOD_TESTS_MPI_RANKS_H
#define MINIPOD_TESTS_MPI_RANKS_H

#include "collectives/exec/comm.h"

static pod_comm *comm;
static int rank, size;

static int open_comm(void)
{
    if (pod_comm_open(&comm) != POD_OK) return 1;
    rank = pod_comm_rank(comm);
    size = pod_comm_size(comm);
    return 0;
}

static int close_comm(void)
{
    pod_comm_close(comm);
    return 0;
}

#endif
