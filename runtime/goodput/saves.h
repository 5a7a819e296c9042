/* What a job's saves took and came to, by its log: over all ranks and attempts. */
#ifndef MINIPOD_RUNTIME_GOODPUT_SAVES_H
#define MINIPOD_RUNTIME_GOODPUT_SAVES_H

#include "runtime/goodput/job_file.h"

typedef struct pod_saves { /* while training went on, where nothing else is said */
    int64_t n;             /* of a rank; all ranks take part in a checkpoint */
    double cost_s;         /* training stood still: for a copy, or until the file was whole */
    double steps_s;
    int64_t n_steps;
    int64_t n_kept;   /* checkpoints that became whole */
    int64_t n_seen;   /* of these, behind which a step came */
    int64_t n_sync;   /* which were whole before it began */
    double writing_s; /* of the seen ones, from the end of their step */

    int64_t n_begun;  /* checkpoints, those at an attempt's end too */
    int64_t n_failed; /* that never became whole, though their attempt lived on */
    /* Rank time of steps that a disruption cost, and that a failed checkpoint had kept. */
    double failed_s;
    int64_t n_failed_steps;
} pod_saves;

pod_saves pod_saves_of(const pod_job *j);

#endif
