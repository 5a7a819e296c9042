/* The fields of a run, and the functions between its source files. For collectives/exec only.
 *
 * run.c tracks which step waits for which, and executes steps that need no other rank. The
 * carriers, over_shm.c and over_mpi.c, execute the others. Each step is assigned to a carrier when
 * the run is created. A carrier begins a step when run.c calls it, and calls pod__run_finish when
 * the step is complete, at once or in a later poll. */
#ifndef MINIPOD_COLLECTIVES_EXEC_RUN_H
#define MINIPOD_COLLECTIVES_EXEC_RUN_H

#include "collectives/exec/coll_run.h"
#include "collectives/exec/mpi/comm_mpi.h"
#include "kernels/base/arena.h"
#include "kernels/combine/combine.h"

enum { POD__CACHE_LINE = 64, POD__NONE = -1 };

typedef enum pod__carrier {
    POD__BY_ITSELF, /* needs no other rank */
    POD__BY_SHM,
    POD__BY_MPI
} pod__carrier;

typedef struct pod__mpi_part pod__mpi_part;
typedef struct pod__over_shm pod__over_shm;

typedef struct pod__over_mpi {
    int first_tag;
    bool has_tags;
    char **received;  /* (n_steps) data that a RECV_REDUCE receives, before it is added */
    int32_t *n_parts; /* (n_steps) MPI messages in flight; a long SEND or RECV has several */
    MPI_Request *request;
    pod__mpi_part *part;
    int *completed;
    int n_in_flight;
} pod__over_mpi;

struct pod_coll_run {
    pod_arena *arena; /* holds the run and all below */
    pod_comm *comm;
    const char *what;
    const pod_combine *combine;
    pod_redop op;
    const pod_step *steps;
    int32_t n_steps;
    pod_dtype type;
    size_t element_bytes[POD_N_BUFS];
    char *memory[POD_N_BUFS];
    pod__over_mpi mpi;
    pod__over_shm *shm; /* NULL: all messages are MPI's */

    uint8_t *carrier; /* (n_steps) a pod__carrier */

    /* Lists of the edges from each step; edge 2 i + j is the j-th `after` of step i. */
    int32_t *dependent, *next_dependent; /* (n_steps), (2 n_steps) */
    uint8_t *n_waits_at_start;           /* (n_steps) number of steps that it waits for */
    int32_t *ready_at_start, n_ready_at_start;

    /* The state of a run. */
    uint32_t epoch;    /* starts so far: distinguishes posts of this run from those of the next */
    int64_t n_changes; /* starts and finished steps so far */
    uint8_t *n_waits;  /* (n_steps) */
    int32_t *ready;    /* (n_steps) a queue: steps from n_begun to n_ready may begin */
    int32_t n_ready, n_begun;
};

static inline void *pod__run_place(const pod_coll_run *r, pod_span at)
{
    return r->memory[at.buf] + (size_t)at.first * r->element_bytes[at.buf];
}

/* Appends a rank to the n ranks in rank[] unless it is one of them or n is max; returns the new
 * n. */
static inline int pod__note_rank(int rank[], int n, int max, int added)
{
    for (int i = 0; i < n; i++)
        if (rank[i] == added) return n;
    if (n == max) return n;
    rank[n] = added;
    return n + 1;
}

void pod__run_finish(pod_coll_run *r, int32_t step);
void pod__run_begin_ready(pod_coll_run *r);

/* ---- over_mpi.c ---- */
POD_MUST pod_status pod__mpi_prepare(pod_coll_run *r);             /* local */
POD_MUST pod_status pod__mpi_connect(pod_coll_run *r, int n_tags); /* collective */
void pod__mpi_begin(pod_coll_run *r, int32_t step);
void pod__mpi_poll(pod_coll_run *r);
void pod__mpi_close(pod_coll_run *r);
/* Adds the ranks that the run waits for to the n in rank[], without duplicates and at most max in
 * all; returns their number. Safe in a signal handler. */
int pod__mpi_awaited(const pod_coll_run *r, int rank[], int n, int max);

/* ---- over_shm.c ---- */
POD_MUST pod_status pod__shm_prepare(pod_coll_run *r, const pod_sched *s,
                                     pod_window *w);   /* local */
POD_MUST pod_status pod__shm_connect(pod_coll_run *r); /* collective */
void pod__shm_start(pod_coll_run *r);                  /* call before any step begins */
void pod__shm_begin(pod_coll_run *r, int32_t step);
void pod__shm_poll(pod_coll_run *r);
bool pod__shm_is_idle(const pod_coll_run *r);                            /* it waits for no rank */
void pod__shm_close(pod_coll_run *r);                                    /* collective */
int pod__shm_awaited(const pod_coll_run *r, int rank[], int n, int max); /* as above */

#endif
