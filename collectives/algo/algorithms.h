/* Declares the functions in algorithms.def: pod__<build>_build and pod__<needs>_why_not. */
#ifndef MINIPOD_COLLECTIVES_ALGO_ALGORITHMS_H
#define MINIPOD_COLLECTIVES_ALGO_ALGORITHMS_H

#include "collectives/algo/algo.h"

#define POD_COLL_ALGO(coll, name, build, needs, chunks, partial, good_for)                  \
    const char *pod__##needs##_why_not(const pod_mesh *m, const pod_coll_args *args);       \
    pod_status pod__##build##_build(const pod_mesh *m, int rank, const pod_coll_args *args, \
                                    pod_sched *out);
#include "collectives/algo/algorithms.def"
#undef POD_COLL_ALGO

#endif
