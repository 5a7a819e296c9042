/* The times of the starts, saves and restores of a simulated job, computed from its keys. */
#ifndef MINIPOD_BENCH_JOB_COSTS_H
#define MINIPOD_BENCH_JOB_COSTS_H

#include "bench/job/keys.h"

typedef struct pod_job_costs { /* seconds */
    double save_s;             /* training stops */
    double write_s;            /* in the background of training */
    double restore_s;
    double init_s, compile_s; /* at each start */
} pod_job_costs;

/* Each node writes a shard of the checkpoint and reads all of it. start_up_s is the machine file's
 * time for init and compile together; 0: it has none. It is ignored if a key gives either of
 * them. */
pod_job_costs pod_job_costs_of(const pod_job_keys *k, double bytes, int n_nodes, bool is_async,
                               double start_up_s);

/* Returns the number of steps that a training time of run_s makes. */
int64_t pod_job_steps(double run_s, double step_s);

#endif
