/* The options of a run that concern failures: the log of all attempts, checkpoints during training,
 * the watchdog, and injected faults. */
#ifndef MINIPOD_RUNTIME_TRAIN_GUARD_H
#define MINIPOD_RUNTIME_TRAIN_GUARD_H

#include <stdbool.h>

#include "collectives/exec/comm.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/config/config.h"
#include "runtime/config/fault.h"
#include "runtime/core/log.h"
#include "runtime/exec/exec.h"
#include "runtime/goodput/goodput.h"
#include "runtime/goodput/job_file.h"
#include "runtime/train/saver.h"

typedef struct pod_guard_plan { /* texts are borrowed from the configuration */
    const char *out;            /* the run's folder, which exists; "": no log, no checkpoints */
    const char *resume;         /* a path; "": from the beginning; "auto": from `out`, if it has a
                                   checkpoint */
    int attempt;                /* 0: found from the run's folder */
    int64_t save_every;         /* steps; 0: only at the end */
    pod_saver_plan saver;       /* what options say of it; the rest is known at the first step */
    double watchdog_s;          /* 0: none */
    pod_fault fault[POD_MAX_FAULTS];
    int n_faults;
} pod_guard_plan;

/* Fails with E_INVALID for a malformed fault, a fault that pod_inject_check refuses, and for
 * --checkpoint-every or --resume auto without --out. */
POD_MUST pod_status pod_guard_plan_from(const pod_config *c, int n_ranks, pod_guard_plan *out);

/* Returns whether a run with this --resume and --out continues the job in its own folder: --resume
 * is "auto", that folder, or a checkpoint in it, under any path. Local. */
bool pod_guard_goes_on(const char *resume, const char *out);

#endif
