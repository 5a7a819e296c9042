/* What simulate --job is asked for: how nodes fail, and what a step and a checkpoint take at each
 * mesh or number of nodes. */
#ifndef MINIPOD_BENCH_JOB_POINTS_H
#define MINIPOD_BENCH_JOB_POINTS_H

#include "bench/job/study.h"

/* All of a study but its runs. E_INVALID, E_FORMAT, E_IO. */
POD_MUST pod_status pod_job_points_list(const pod_config *c, pod_arena *arena, pod_job_study *s);

#endif
