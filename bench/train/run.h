/* What a training run is and leaves, gathered for its records and its table. */
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
    const pod_train_result *result;
    const pod_machine *machine;
    const pod_account *account; /* of the job so far, all attempts and ranks */
    int ranks;
    pod_cores cores;
    const char *mpi;     /* "Open MPI v4.1.4 ..." */
    pod_status status;   /* how training ended */
    const char *failure; /* one line, "" when it ended well */
    time_t date;         /* that its records bear, run.json and --json alike */
    bool is_running;     /* it begins now: results are not known yet */
} pod_run;

pod_ideal pod_run_ideal(const pod_run *r);
double pod_run_samples_per_s(const pod_run *r); /* batch / mean step, without the first step */
double pod_run_epochs(const pod_run *r);        /* trained so far, those before a resume included */
double pod_run_epochs_to_peak(const pod_run *r); /* the same at the best evaluation */

enum { POD_RUN_NOTE_BYTES = 256 };
/* That ranks share cores, or "". Bindings may leave them fewer than there are, and a quota less time
 * on them. */
void pod_run_note_cores(const pod_run *r, char note[POD_RUN_NOTE_BYTES]);

/* The run's table, and as JSON run.json, which has also settings, host and kernels; null is what is not
 * known. Names of results are those of the command's contract. The caller closes `out`. */
POD_MUST pod_status pod_run_record(const pod_run *r, pod_record *out);

/* The run.json of a training that is done: its text in the arena, NULL where there is none of it. */
typedef struct pod_run_past {
    const char *text;
    bool has_same_end; /* held against the same target, and with the same time to it */
} pod_run_past;

/* Looks into `path` for what the training left in which `r` found nothing to do: the same weights
 * after the same steps. What it measured of steps goes into `result`, which is r's. A file that
 * cannot be read is none. */
pod_run_past pod_run_find_past(pod_arena *a, const char *path, const pod_run *r,
                               pod_train_result *result);

/* Where the time of the last steps went, by op and kernel. */
POD_MUST pod_status pod_run_print_profile(const pod_run *r, FILE *to);

#endif
