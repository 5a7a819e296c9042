/* What each file of algorithms.def defines: pod__<file>_why_not, _build and _seconds. */
#ifndef MINIPOD_COLLECTIVES_ALGO_ALGORITHMS_H
#define MINIPOD_COLLECTIVES_ALGO_ALGORITHMS_H

#include "collectives/algo/algo.h"

#define POD_COLL_ALGO(coll, name, file, chunks, good_for)                                  \
    const char *pod__##file##_why_not(const pod_mesh *m, const pod_coll_args *args);       \
    pod_status pod__##file##_build(const pod_mesh *m, int rank, const pod_coll_args *args, \
                                   pod_sched *out);                                        \
    double pod__##file##_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args);
#include "collectives/algo/algorithms.def"
#undef POD_COLL_ALGO

#endif
