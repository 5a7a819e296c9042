/* Trains a network on a data set, on all ranks, until the last step or the target. */
#ifndef MINIPOD_RUNTIME_TRAIN_TRAIN_H
#define MINIPOD_RUNTIME_TRAIN_TRAIN_H

#include "runtime/core/log.h"
#include "runtime/goodput/job_log.h"
#include "runtime/task/network.h"
#include "runtime/trace/timeline.h"
#include "runtime/train/eval.h"
#include "runtime/train/guard.h"
#include "runtime/train/mllog.h"
#include "runtime/train/rank_memory.h"

/* Remembers the first failure of several operations that are all carried out. Zeroed: none. */
typedef struct pod_failure {
    pod_status status;
    char text[1024];
} pod_failure;

void pod_failure_note(pod_failure *f, pod_status s); /* keeps this thread's error text */
pod_status pod_failure_report(const pod_failure *f); /* restores that text */

typedef struct pod_train_args {
    pod_setup *setup; /* its lr is completed by the schedule */
    const pod_network *network;
    const pod_target *target;
    pod_comm *comm;
    pod_clock clock;
    pod_log *log;
    pod_job_log *job; /* no span is open at the call and at the return */
    pod_mllog *mllog;
    const pod_guard_plan *guard;
    const char *machine; /* name of the machine that goodput is compared with, and its ideal
                            times */
    pod_ideal ideal;
    int64_t kept_steps; /* number of last steps whose events the timeline keeps, at least 1 */
    /* Called on each rank before the first step, after weights are restored and the logs are open.
     * If it fails, so does the run. Local; may be NULL. */
    pod_status (*begins)(void *to);
    void *to;
} pod_train_args;

typedef struct pod_train_result {
    bool began; /* the first step was reached; earlier failures concern the input */
    pod_schedule schedule;
    int64_t first_step, n_steps; /* steps done before this run (after a resume), and in it */
    bool is_branch; /* it resumed from another job: evaluations and times are those of this job
                       only */
    int attempt;    /* of the job, from 1 */
    bool stopped;   /* by a signal */
    bool reached;   /* the target; false if there is none */
    pod_eval_result last, best; /* of the job's evaluations */
    double
        run_s; /* from the job's begin (its launch, or its first attempt) to the end of the run */
    int64_t n_train;         /* samples of the training split */
    double time_to_target_s; /* from the same begin to the end of the evaluation that reached the
                                target */
    double time_to_peak_s;   /* likewise to the end of the first evaluation with the best
                                metric */
    double train_s;          /* total of all steps */
    int64_t peak;            /* index of the first evaluation with the best metric */
    pod_eval_rows evals;     /* of all attempts of the job; in `arena` */
    pod_step_stats stats;    /* of this rank, without the first step */
    double phase_share[POD_N_PHASES], other_share; /* of the step time; mean over ranks */
    double exposed_s; /* per step, communication that computation did not hide; mean over ranks */
    pod_rank_memory memory;
    double tokens_per_sample; /* of texts, without padding; else 0 */
    int64_t text_room;        /* tokens of a sample with padding (pod_task_text_room) */
    const char *searched;     /* pod_search_about, in `arena`; NULL: no search */
    int64_t n_dropped;        /* events for which the timelines had no room, of all ranks */
    const char *data_name;    /* name of the data set, in `arena`; NULL until it is open */
    int64_t n_weights;        /* number of trained parameters */
    uint64_t weights_hash;
    pod_timeline *timeline;     /* the caller destroys it; NULL if no step was reached */
    const pod_program *program; /* the training program; lives in `arena` */
    pod_arena *arena;           /* the caller destroys it; may be NULL */
} pod_train_result;

/* Runs the training. E_NUMERIC if the loss is not finite; the text names the step and the cause
 * (pod_exec_find_fault). *out is filled as far as the run got, whatever the status; the caller
 * destroys its timeline and arena in any case. Collective. */
POD_MUST pod_status pod_train(const pod_train_args *args, pod_train_result *out);

#endif
