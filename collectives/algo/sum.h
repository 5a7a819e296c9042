/* Several receives that are added to the whole of MAIN one after the other. */
#ifndef MINIPOD_COLLECTIVES_ALGO_SUM_H
#define MINIPOD_COLLECTIVES_ALGO_SUM_H

#include "collectives/sched/sched.h"

/* The k-th of n; answers the step. bf16 is summed in SUM on the way from the first to the last of
 * them, so that it is rounded once. */
int32_t pod__sum_receive(pod_sched *s, pod_dtype dtype, int k, int n, int peer, int tag,
                         int64_t count, int32_t after);

#endif
