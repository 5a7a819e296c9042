/* What lets a run survive, and accounts for it: its log across attempts, checkpoints while training
 * goes on, requests to stop, the watchdog, faults that were asked for. The training loop calls it
 * round its steps. */
#ifndef MINIPOD_RUNTIME_TRAIN_GUARD_H
#define MINIPOD_RUNTIME_TRAIN_GUARD_H

#include <stdbool.h>

#include "collectives/exec/comm.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/config.h"
#include "runtime/core/fault.h"
#include "runtime/core/log.h"
#include "runtime/exec/exec.h"
#include "runtime/goodput/goodput.h"
#include "runtime/goodput/job_file.h"

typedef struct pod_guard_plan { /* texts are the configuration's */
    const char *out;            /* the run's folder, which exists; "": nothing is kept */
    const char *resume; /* "": from the beginning; "auto": from what `out` has, if anything */
    int attempt;        /* 0: to be found out */
    int64_t save_every; /* steps; 0: at the end alone */
    int64_t keep_last, keep_every;
    bool keep_best;
    bool is_async;
    double watchdog_s; /* 0: waits for ever */
    pod_fault fault[POD_MAX_FAULTS];
    int n_faults;
} pod_guard_plan;

/* E_INVALID: a fault that is none or of a rank that is not there; --checkpoint-every and --resume
 * auto without --out. */
POD_MUST pod_status pod_guard_plan_from(const pod_config *c, int n_ranks, pod_guard_plan *out);

/* Whether a run with this --resume and --out goes on from what its own folder has, as the same job:
 * "auto", that folder, or a checkpoint in it, by whatever name. Local. */
bool pod_guard_goes_on(const char *resume, const char *out);

typedef struct pod_guard_args { /* borrowed until close */
    const pod_guard_plan *plan;
    pod_comm *comm;
    const pod_clock *clock;
    pod_log *log;
    pod_job_log *job; /* whose spans and steps go into the run's folder from here on */
    const char *mesh, *model, *data;
    const char *machine;    /* that goodput.json is held against */
    const pod_ideal *ideal; /* likewise; read when it is armed */
} pod_guard_args;

typedef struct pod_guard pod_guard;

/* Before anything is read: finds out which attempt this is, and what earlier ones left. Changes
 * nothing in the folder, but that it has a checkpoint/ then. Collective. */
POD_MUST pod_status pod_guard_open(const pod_guard_args *args, pod_guard **out);
void pod_guard_close(pod_guard *g); /* collective; NULL is allowed */

int pod_guard_attempt(const pod_guard *g); /* from 1 */
/* It goes on from what its own folder has: what was found there is of this job. */
bool pod_guard_goes_on_own(const pod_guard *g);
/* Its launch, else its first attempt: the same in each of its attempts, as far as is known. */
pod_stamp pod_guard_job_begun(const pod_guard *g);
const char *pod_guard_resume(const pod_guard *g); /* what to go on from; "": nothing */

/* Before the first step, with everything restored: `first_step` steps are done. Begins the
 * attempt's log; one that does not go on from what its folder has puts the checkpoints that are
 * there aside, as checkpoint.old, or checkpoint.old.2 and so on beside those of earlier times:
 * the first one, or one behind attempts that did not get as far as this. `latest` points to what
 * it goes on from in its own folder then, and what is there of later steps goes as soon as one
 * of this attempt is whole. The timeline takes what is saved and what strikes; it forgets the
 * guard before that is closed. `evals`, which grow, are kept with each save, and borrowed until
 * close. Collective. */
POD_MUST pod_status pod_guard_arm(pod_guard *g, const pod_checkpoint_info *info,
                                  const pod_eval_rows *evals, pod_store *store, pod_exec *exec,
                                  pod_timeline *tl, int64_t first_step);

/* Round each step, which counts from 1. What is due strikes; what is due is saved. The second is
 * collective, and answers whether the run was asked to stop behind this step. */
void pod_guard_before_step(pod_guard *g, int64_t step);
bool pod_guard_after_step(pod_guard *g, int64_t step);

/* After `step` steps: of a run that went well saves what is not saved yet; waits for what is in
 * flight. The status of the last save, if the run went well. Collective. */
POD_MUST pod_status pod_guard_finish(pod_guard *g, int64_t step, bool went_well);
/* The last line of this attempt's log. What could not be written of it is a warning, and so are
 * faults that a job that ended well was never struck by. Collective. */
void pod_guard_end(pod_guard *g, pod_job_end_kind kind, const char *text);

#endif
