/* Simulates a long job on nodes that fail, on a virtual clock: how much time goes to which
 * category, and how much of it is progress.
 *
 *   asked --> waits for nodes --> launch, init, prep, build, restore --> steps and saves --> done
 *                  ^                                                        |
 *                  +--------------- detect <--- a node, or a fault ---------+
 *
 * A failure may happen at any time: during a start, a save, or a background write. All steps since
 * the last complete checkpoint are then lost. Every `every` steps, and at the end, training stops
 * for `save`; the checkpoint is complete `write` later. A save waits until the previous one is
 * complete. Categories are those of the account of a real job (job_log.h, account.h). The first
 * launch counts as initialization; later launches, and the detection before them, count as
 * recovery. Waits for nodes are not part of the allocated time; scheduling goodput counts them.
 *
 * All times are whole nanoseconds, so that the categories sum to the allocated time exactly. Pure:
 * the same plan, seed and job number give the same result. */
#ifndef MINIPOD_RUNTIME_STUDY_JOB_SIM_H
#define MINIPOD_RUNTIME_STUDY_JOB_SIM_H

#include "runtime/config/fault.h"
#include "runtime/goodput/job_log.h"
#include "runtime/study/nodes.h"

typedef struct pod_job_sim_plan {
    int64_t n_steps; /* at least 1 */
    int64_t every;   /* steps between saves, at least 1 */
    pod_stamp step;
    pod_stamp save;  /* training stops for this */
    pod_stamp write; /* then, in the background, until the checkpoint is complete; may be 0 */
    pod_stamp detect, launch, init, prep, build;
    pod_stamp restore;  /* if there is a checkpoint */
    pod_stamp watchdog; /* until a hang is detected */
    pod_stamp limit;    /* a job that has not ended by then is given up */

    /* Faults to inject in addition to the failures of nodes (config/fault.h). Each but slow happens
     * once at most. kill, hang and nan happen at the beginning of their step. A kill with `write`
     * happens in the save of its step, at the end of the time in which training stands still, so
     * that this checkpoint is not complete. diskfull and corrupt-checkpoint make the checkpoint of
     * their step unusable. In the steps of a slow fault all nodes wait for the slow one. Borrowed. */
    const pod_fault *fault;
    int n_faults;
} pod_job_sim_plan;

typedef struct pod_job_sim {
    bool is_finished;
    pod_stamp by_span[POD_N_JOB_SPANS]; /* sums to `allocated` exactly */
    pod_stamp allocated;                /* time with all nodes; the time from begin to end is this
                                           ... */
    pod_stamp waiting;                  /* ... plus the time without */
    int64_t n_kept;                     /* steps in complete checkpoints; all if finished */
    int64_t n_lost;                     /* steps that were done and lost */
    int64_t n_failures, n_saves;        /* n_saves: complete checkpoints */
    uint64_t struck;                    /* bit i: fault i happened (slow: in at least one step) */
} pod_job_sim;

/* Runs job number `job`; resets `nodes` for (seed, job). */
pod_job_sim pod_job_sim_run(const pod_job_sim_plan *plan, pod_nodes *nodes, uint64_t seed,
                            uint32_t job);

double pod_job_sim_runtime_goodput(const pod_job_sim *j); /* NaN if the job never got its nodes */

#endif
