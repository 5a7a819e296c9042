/* A long job on nodes that fail, on a virtual clock: where its time goes, and what share is
 * progress.
 *
 *   asked --> waits for nodes --> launch, init, prep, build, restore --> steps and saves --> done
 *                  ^                                                        |
 *                  +--------------- detect <--- a node, or a fault ---------+
 *
 * A failure may strike at any time: in a start, in a save, while one is written behind training.
 * What was done since the last checkpoint that is whole is lost. Every `every` steps, and at the
 * end, training stands still for `save`; what it copied is whole `write` later, and only then kept;
 * a save waits for the one before to be whole. Categories and their meaning are those of the
 * account of a real job (job_log.h, account.h). The first launch counts as initialization, a later
 * one, like the detection before it, as recovery. The wait for nodes is nobody's step: it stands
 * apart, for scheduling goodput.
 *
 * All times are whole nanoseconds, so that the categories sum to the allocated time exactly. Pure:
 * the same plan, seed and job give the same numbers. */
#ifndef MINIPOD_RUNTIME_STUDY_JOB_SIM_H
#define MINIPOD_RUNTIME_STUDY_JOB_SIM_H

#include "runtime/config/fault.h"
#include "runtime/goodput/job_log.h"
#include "runtime/study/nodes.h"

typedef struct pod_job_sim_plan {
    int64_t n_steps; /* at least 1 */
    int64_t every;   /* steps between saves, at least 1 */
    pod_stamp step;
    pod_stamp save;  /* training stands still */
    pod_stamp write; /* goes on behind it; 0: the checkpoint is whole when training goes on */
    pod_stamp detect, launch, init, prep, build;
    pod_stamp restore;  /* of a start that has a checkpoint */
    pod_stamp watchdog; /* until a hang is known */
    pod_stamp limit;    /* then a job that has not ended is given up */

    /* What strikes besides, each once (fault.h): kill, hang and nan as their step begins, a kill
     * with `write` when training has stood still for the step's save; diskfull and
     * corrupt-checkpoint leave no checkpoint of their step that could be used; in a step of slow
     * all wait for the slowest. Borrowed. */
    const pod_fault *fault;
    int n_faults;
} pod_job_sim_plan;

typedef struct pod_job_sim {
    bool is_finished;
    pod_stamp by_span[POD_N_JOB_SPANS]; /* sums to `allocated` exactly */
    pod_stamp allocated;                /* time with all nodes; from the begin it is this ... */
    pod_stamp waiting;                  /* ... and that without */
    int64_t n_kept;                     /* steps; all when finished */
    int64_t n_lost;                     /* steps that were done and lost again */
    int64_t n_failures, n_saves;        /* n_saves: that became whole */
    uint64_t struck;                    /* a bit a fault: it did; slow: a step was made slow */
} pod_job_sim;

/* Begins `nodes` anew for (seed, job). */
pod_job_sim pod_job_sim_run(const pod_job_sim_plan *plan, pod_nodes *nodes, uint64_t seed,
                            uint32_t job);

double pod_job_sim_runtime_goodput(const pod_job_sim *j); /* NaN: it never had its nodes */

#endif
