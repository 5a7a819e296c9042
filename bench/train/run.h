/* Settings and results of a training run, gathered for its records and its table. */
#ifndef MINIPOD_BENCH_TRAIN_RUN_H
#define MINIPOD_BENCH_TRAIN_RUN_H

#include <time.h>

#include "bench/command.h"
#include "bench/common/record.h"
#include "runtime/goodput/goodput.h"
#include "runtime/machine/machine.h"
#include "runtime/train/train.h"

typedef struct pod_run {
    const pod_config *config;
    const pod_setup *setup;
    const pod_task *task;
    const pod_train_result *result;
    const pod_machine *machine;
    const pod_account *account; /* of the job so far, all attempts and ranks */
    int ranks;
    pod_cores cores;
    const char *mpi;     /* "Open MPI v4.1.4 ..." */
    pod_status status;   /* how training ended */
    const char *failure; /* one line; "" if it succeeded */
    time_t date;         /* in its records, the same in run.json and --json */
    bool is_running;     /* it begins now: results are unknown */
} pod_run;

pod_ideal pod_run_ideal(const pod_run *r);
double pod_run_samples_per_s(const pod_run *r);  /* batch / mean step, without the first step */
double pod_run_epochs(const pod_run *r);         /* trained, including those before a resume */
double pod_run_epochs_to_peak(const pod_run *r); /* the same at the best evaluation */

enum { POD_RUN_NOTE_BYTES = 256 };
/* Writes a note that ranks share cores, or "" if they do not. Bindings may restrict the ranks to
 * fewer cores than the host has, and a quota may give them less time. */
void pod_run_note_cores(const pod_run *r, char note[POD_RUN_NOTE_BYTES]);

/* Creates the run's table, and run.json as its JSON, which also has settings, host and kernels;
 * unknown values are null. The caller closes `out`. */
POD_MUST pod_status pod_run_record(const pod_run *r, pod_record *out);

/* The run.json of a training that has ended: its text is in the arena, or NULL if there is none. */
typedef struct pod_run_past {
    const char *text;
    bool has_same_end; /* it has the same target and the same time to it */
} pod_run_past;

/* For a run `r` that found nothing left to train: looks in `path` for the record of the training
 * that did the steps, with the same weights after the same number of steps. Copies its measurements
 * of steps into `result`, which is r's. A file that cannot be read counts as none. */
pod_run_past pod_run_find_past(pod_arena *a, const char *path, const pod_run *r,
                               pod_train_result *result);

/* Prints the time of the last steps by op and kernel. */
POD_MUST pod_status pod_run_print_profile(const pod_run *r, FILE *to);

#endif
