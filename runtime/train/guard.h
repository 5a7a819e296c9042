/* What a run is asked to do to survive, and to account for: its log across attempts, checkpoints while
 * training goes on, the watchdog, faults that are injected. */
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

#endif
