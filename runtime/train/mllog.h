/* `:::MLLOG` lines, as mlperf_logging's compliance checker reads them.
 *
 * A run is MLPerf-style and never an MLPerf result: the log names the model and the data, division
 * open, and says that it is unverified. All times are wall-clock times, never virtual ones.
 *
 * Only rank 0 writes. A record is one line, written by one write call; numbers read back equal; NaN
 * and infinity become null (eval_accuracy must be finite: the checker fails on null). The file has
 * its final name from the first line on, and only complete lines. The next attempt of a killed job
 * continues its log, so that there is one log with the run_start of the first attempt and one
 * run_stop; a record minipod_attempt marks the new attempt. The hyper-parameters at the head stay
 * those of the first attempt, because readers expect one global_batch_size; the trainer adds
 * minipod_ records for what has changed.
 *
 * Order of a run, epochs counted from 1: pod_mllog_submission, init_start, seed, global_batch_size,
 * hyper-parameters, init_stop, run_start, train_samples and eval_samples (which are unknown before
 * run_start, because no data are read earlier), then for each epoch epoch_start, epoch_stop,
 * eval_start, eval_stop, eval_accuracy (the metric of --target, BLEU divided by 100), each with
 * `epoch_num`, at last run_stop with `status` "success" if the target was reached, else "aborted". */
#ifndef MINIPOD_RUNTIME_TRAIN_MLLOG_H
#define MINIPOD_RUNTIME_TRAIN_MLLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/status.h"
#include "runtime/core/clock.h"

typedef struct pod_mllog pod_mllog;

/* Opens a log. With `path` NULL or a rank other than 0 it writes nothing. `clock` is copied.
 * Records are held in memory until pod_mllog_begin. E_IO, also if another process is writing the
 * file. */
POD_MUST pod_status pod_mllog_open(const char *path, int rank, const pod_clock *clock,
                                   pod_mllog **out);
typedef struct pod_mllog_left { /* what earlier attempts wrote up to some step */
    bool has_run;               /* there is a run_start of this job: the log can be continued */
    int64_t run_start_ms;       /* time of that run_start */
    bool in_epoch;              /* an epoch_start that has no epoch_stop yet */
    bool has_eval;              /* the evaluation after the last of these steps is complete */
    bool has_stop, has_success; /* a run_stop follows; its status is "success" */
    int64_t bytes, stop_bytes;  /* length of the log without and with that run_stop */
} pod_mllog_left;

/* Reads the records of the first `step` steps; `minipod_step` in a record's metadata tells whether
 * it is later. A run_start from before `job_began` belongs to another job; an incomplete evaluation
 * does not count. The file is not changed: the log can still be abandoned. */
POD_MUST pod_status pod_mllog_find(pod_mllog *l, pod_stamp job_began, int64_t step,
                                   pod_mllog_left *out);
/* Begins to write. If left->has_run, truncates the file to left->bytes, appends a record
 * minipod_attempt, and drops the records held in memory. Otherwise empties the file and writes the
 * held records. Fails with E_WRITE, here or in pod_mllog_close, if a record cannot be written. */
POD_MUST pod_status pod_mllog_begin(pod_mllog *l, const pod_mllog_left *left, int attempt,
                                    int64_t step);
/* Call it instead if left->has_stop: keeps the log up to that run_stop, and ignores all further
 * records. */
POD_MUST pod_status pod_mllog_keep(pod_mllog *l, const pod_mllog_left *left);
/* Returns the first failure of any write. A log that did not begin is abandoned. Releases l in any
 * case. */
POD_MUST pod_status pod_mllog_close(pod_mllog *l);
/* Releases l and leaves the file at `path` as it was, for a run that could not begin. */
void pod_mllog_abandon(pod_mllog *l);

typedef struct pod_mllog_value {
    enum { POD_MLLOG_NULL, POD_MLLOG_INT, POD_MLLOG_REAL, POD_MLLOG_BOOL, POD_MLLOG_TEXT } kind;
    int64_t whole;
    double real;
    const char *text;
} pod_mllog_value;

typedef struct pod_mllog_meta { /* one field of a record's metadata */
    const char *name;
    pod_mllog_value value;
} pod_mllog_meta;

static inline pod_mllog_value pod_mllog_null(void)
{
    return (pod_mllog_value){.kind = POD_MLLOG_NULL};
}

static inline pod_mllog_value pod_mllog_int(int64_t x)
{
    return (pod_mllog_value){.kind = POD_MLLOG_INT, .whole = x};
}

static inline pod_mllog_value pod_mllog_real(double x)
{
    return (pod_mllog_value){.kind = POD_MLLOG_REAL, .real = x};
}

static inline pod_mllog_value pod_mllog_bool(bool x)
{
    return (pod_mllog_value){.kind = POD_MLLOG_BOOL, .whole = x};
}

static inline pod_mllog_value pod_mllog_text(const char *x)
{
    return (pod_mllog_value){.kind = POD_MLLOG_TEXT, .text = x};
}

/* Writes a record. file and lineno in its metadata are those of the call. event_type follows from
 * the key: INTERVAL_START for ..._start, INTERVAL_END for ..._stop, else POINT_IN_TIME.
 *
 *   pod_mllog_put(l, "seed", pod_mllog_int(seed));
 *   pod_mllog_put(l, "epoch_start", pod_mllog_null(), {"epoch_num", pod_mllog_int(epoch)});
 *
 * Keys that MLPerf does not define begin with minipod_. Neither they nor the name of the calling
 * file may contain a word that the reference checker searches whole lines for; an assertion checks
 * that. */
#define pod_mllog_put(l, key, ...) POD_MLLOG_PUT_((l), (key), __VA_ARGS__, POD_MLLOG_END_)
#define POD_MLLOG_END_ \
    {                  \
        0              \
    }
#define POD_MLLOG_PUT_(l, key, value, ...) \
    pod__mllog_put(__FILE__, __LINE__, (l), (key), value, (const pod_mllog_meta[]){__VA_ARGS__})

/* `meta` ends with a field without a name. */
void pod__mllog_put(const char *file, int line, pod_mllog *l, const char *key,
                    pod_mllog_value value, const pod_mllog_meta meta[]);

/* Writes the first records: submission_benchmark (the MLPerf benchmark whose open rules the checker
 * applies: "resnet" is image classification), division open, org, platform, status research;
 * minipod_model and minipod_data, the values of --model and --data; minipod_claim, which says
 * that this is no MLPerf result; and cache_clear false, because caches are not cleared. */
typedef struct pod_mllog_run {
    const char *benchmark, *org, *platform, *model, *data;
} pod_mllog_run;
void pod_mllog_submission(pod_mllog *l, const pod_mllog_run *run);

#endif
