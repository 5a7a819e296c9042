/* The training loop: from a data set to a target, on all ranks. */
#ifndef MINIPOD_RUNTIME_TRAIN_TRAIN_H
#define MINIPOD_RUNTIME_TRAIN_TRAIN_H

#include "runtime/core/log.h"
#include "runtime/goodput/job_log.h"
#include "runtime/trace/timeline.h"
#include "runtime/train/eval.h"
#include "runtime/train/guard.h"
#include "runtime/train/mllog.h"
#include "runtime/train/network.h"
#include "runtime/train/rank_memory.h"

/* The first failure of several steps, of which later ones are done all the same. Zeroed: none. */
typedef struct pod_failure {
    pod_status status;
    char text[1024];
} pod_failure;

void pod_failure_note(pod_failure *f, pod_status s); /* with this thread's error text */
pod_status pod_failure_report(const pod_failure *f); /* restores that text */

typedef struct pod_train_args {
    pod_setup *setup; /* its schedule is filled in */
    const pod_network *network;
    const pod_target *target;
    pod_comm *comm;
    pod_clock clock;
    pod_log *log;
    pod_job_log *job; /* a span is open while this works; none before and after */
    pod_mllog *mllog;
    const pod_guard_plan *guard;
    const char *machine; /* that goodput is held against, with the terms that it gives */
    pod_ideal ideal;
    int64_t kept_steps; /* whose events the timeline keeps; at least 1 */
    /* Called on each rank when everything is restored and the records have begun, before the first
     * step; its failure ends the run. Local; NULL: not called. */
    pod_status (*begins)(void *to);
    void *to;
} pod_train_args;

typedef struct pod_train_result {
    bool began; /* the first step was reached; a failure before it is one of input */
    pod_schedule schedule;
    int64_t first_step, n_steps; /* n_steps were done in this run, from first_step on */
    bool is_branch; /* it went on from another job: evaluations and times are those since */
    int attempt;    /* of the job, from 1 */
    bool stopped;   /* somebody asked it to */
    bool reached;   /* the target; false too when there is none */
    pod_eval_result last, best; /* of the job's evaluations */
    double
        run_s; /* from the job's begin: its launch, else its first attempt, before data are read */
    int64_t n_train;         /* samples of the training split */
    double time_to_target_s; /* the same at the end of the evaluation that reached it */
    double time_to_peak_s;   /* and of the first of those that found the best accuracy */
    double train_s;          /* of all steps */
    int64_t peak;            /* which evaluation was the best */
    pod_eval_rows evals;     /* of the job, over its attempts; in `arena` */
    pod_step_stats stats;    /* of this rank, without the first step */
    double phase_share[POD_N_PHASES], other_share; /* of the step, mean over ranks */
    double exposed_s; /* all-reduce that was not hidden, a step, mean over ranks */
    pod_rank_memory memory;
    int64_t n_dropped;     /* events and deeds that the timelines of all ranks had no room for */
    const char *data_name; /* what the data set calls itself; in `arena`, NULL before it is open */
    int64_t n_weights;     /* trained elements */
    uint64_t weights_hash;
    pod_timeline *timeline;     /* the caller's to destroy; NULL when no step was reached */
    const pod_program *program; /* of training; lives in `arena` */
    pod_arena *arena;           /* the caller's to destroy; may be NULL */
} pod_train_result;

/* E_NUMERIC: the loss was not finite; the text names step and instruction. The result tells how far
 * it got, whatever the status; its timeline and arena are the caller's in any case. Collective. */
POD_MUST pod_status pod_train(const pod_train_args *args, pod_train_result *out);

#endif
