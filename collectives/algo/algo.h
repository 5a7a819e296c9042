/* Collective algorithms: each builds one rank's schedule and moves no data.
 *
 * Every collective works in place on one buffer of `count` elements on each rank of a group:
 *
 *     allreduce       every element becomes its sum over the group, with the same bits on all ranks
 *                     (here and below, "sum" means the reduction by args->op)
 *     reduce_scatter  the sum of block i ends at member i; the other blocks are left undefined
 *     allgather       block i starts at member i and ends on all
 *     broadcast       all elements of member `root` end on all
 *     alltoall        block j of member i ends as block i of member j
 *     reduce          the sum ends at member `root`; the others' buffers are left undefined
 *     sendrecv        all elements of member i end on member i + 1, the last one's on member 0
 *
 * Block i is pod_block(count, size, i) for every algorithm. Any group and any count are allowed,
 * also 0 and fewer elements than ranks; only an alltoall needs a count that is divisible by the
 * size of the group.
 *
 * A sum of bf16 or f16 is rounded only where it is sent or complete; until then it is in
 * POD_BUF_SUM, unless the table says that the algorithm rounds partial sums (algorithms.def). Of
 * the others only `ring` rounds them, on a line. */
#ifndef MINIPOD_COLLECTIVES_ALGO_ALGO_H
#define MINIPOD_COLLECTIVES_ALGO_ALGO_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/mesh/group.h"
#include "collectives/mesh/mesh.h"
#include "collectives/sched/sched.h"
#include "kernels/base/dtype.h"

typedef enum pod_coll {
    POD_ALLREDUCE,
    POD_REDUCE_SCATTER,
    POD_ALLGATHER,
    POD_BROADCAST,
    POD_ALLTOALL,
    POD_REDUCE,
    POD_SENDRECV,
    POD_N_COLLS
} pod_coll;

const char *pod_coll_name(pod_coll coll); /* "allreduce" */
bool pod_coll_adds(pod_coll coll);        /* true: allreduce, reduce_scatter, reduce */
bool pod_coll_has_root(pod_coll coll);    /* true: broadcast, reduce */
/* Finds a collective by its name, with or without "_" between words and "_perf" at the end
 * (all_reduce_perf). Returns false if there is none. */
bool pod_coll_parse(const char *name, pod_coll *out);

typedef struct pod_coll_args {
    pod_coll coll;
    pod_dtype dtype;
    pod_redop op;        /* of a collective that sums */
    int64_t count;       /* elements of the whole buffer */
    int root;            /* of a broadcast or reduce: a member's index in its group */
    pod_group group;     /* pod_group_all for the whole mesh */
    int node_size;       /* ranks k node_size .. (k + 1) node_size - 1 share memory; 0, 1: none */
    int64_t chunk_bytes; /* the chunk (rules.h), if takes_chunk; 0: the algorithm chooses */
} pod_coll_args;

typedef struct pod_range {
    int64_t first, count;
} pod_range;

/* Cuts `count` elements into `size` consecutive blocks and returns the range of block `index`. The
 * first count % size blocks have one element more than the others. */
pod_range pod_block(int64_t count, int size, int index);

typedef struct pod_coll_algo {
    const char *name; /* "torus2d"; unique within its collective */
    pod_coll coll;
    const char *good_for;
    bool takes_chunk;     /* it uses chunk_bytes, at least on some meshes */
    bool rounds_partials; /* a rank may round a sum of bf16 or f16 and then add to it */
    /* Returns NULL if the algorithm applies, else a clause with the reason. */
    const char *(*why_not)(const pod_mesh *m, const pod_coll_args *args);
    /* Adds the steps of `rank`. Fails with E_NOMEM, here or in pod_sched_finish. */
    pod_status (*build)(const pod_mesh *m, int rank, const pod_coll_args *args, pod_sched *out);
} pod_coll_algo;

/* Returns all algorithms in the order of algorithms.def: those of a collective are consecutive, the
 * best for much data first, and the last one always applies. */
const pod_coll_algo *pod_coll_algos(int *n);
const pod_coll_algo *pod_coll_find(pod_coll coll, const char *name); /* NULL if there is none */

/* Builds one rank's schedule in the arena. Fails with E_INVALID if the group or root does not fit
 * the mesh, or if the algorithm refuses, with its reason; and with E_NOMEM. */
POD_MUST pod_status pod_coll_build(pod_arena *a, const pod_coll_algo *algo, const pod_mesh *m,
                                   int rank, const pod_coll_args *args, const pod_sched **out);
/* Builds the schedules of all ranks of the mesh: (*out)[r] is rank r's. */
POD_MUST pod_status pod_coll_build_all(pod_arena *a, const pod_coll_algo *algo, const pod_mesh *m,
                                       const pod_coll_args *args, const pod_sched *const **out);

typedef struct pod_coll_rules pod_coll_rules; /* which algorithm at which size: rules.h */

#endif
