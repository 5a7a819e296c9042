/* `:::MLLOG` lines, as mlperf_logging's compliance checker reads them.
 *
 * A run here is MLPerf-style and never an MLPerf result: the log names the model that ran and the
 * data it saw, says division open and unverified. Wall-clock times only: nothing of a virtual clock
 * may stand in such a log.
 *
 * Rank 0 writes, the others are silent. A record is one line in one write; numbers read back
 * equal; what is not finite becomes null (so an eval_accuracy must be finite, a null there ends the
 * checker). Times come from one clock. The file has its name from its first line on, and whole lines
 * always. The next attempt of a job goes on with what a killed one left: one log, with the run_start of the first attempt and one run_stop, as if nothing had
 * happened but a record minipod_attempt. The head stays that of the first attempt, for readers want
 * one global_batch_size; whoever trains tells in records of its own what is true from there on.
 *
 * Order of a run, epochs counted from 1: pod_mllog_submission, init_start, seed,
 * global_batch_size, hyper-parameters, init_stop, run_start, train_samples and eval_samples (no
 * data are read before run_start, so nobody knows them earlier), then by epoch epoch_start,
 * epoch_stop, eval_start, eval_stop, eval_accuracy (a fraction; `epoch_num` beside each), at last
 * run_stop with `status` "success" only when the target was reached, else "aborted". */
#ifndef MINIPOD_RUNTIME_TRAIN_MLLOG_H
#define MINIPOD_RUNTIME_TRAIN_MLLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/status.h"
#include "runtime/core/clock.h"

typedef struct pod_mllog pod_mllog;

/* `path` NULL, or a rank other than 0: a silent log. `clock` is copied. Records are held back until
 * it begins or goes on. E_IO, also while another process writes it. */
POD_MUST pod_status pod_mllog_open(const char *path, int rank, const pod_clock *clock,
                                   pod_mllog **out);
typedef struct pod_mllog_left { /* by earlier attempts, until so many steps were done */
    bool has_run;               /* a run_start of the job: there is a log to go on with */
    int64_t run_start_ms;       /* its time */
    bool in_epoch;              /* an epoch_start that has no epoch_stop yet */
    bool has_eval;              /* the evaluation behind the last of those steps, told to its end */
    bool has_stop, has_success; /* a run_stop behind them, and what it says */
    int64_t bytes, stop_bytes;  /* without and with that one */
} pod_mllog_left;

/* Reads what there is of the first `step` steps: whether a record is of later is told by
 * `minipod_step` in its metadata. A run_start before the job began is another job's; an
 * evaluation that was not told to its end is none. Nothing changes yet: the log can be
 * abandoned. */
POD_MUST pod_status pod_mllog_find(pod_mllog *l, pod_stamp job_began, int64_t step,
                                   pod_mllog_left *out);
/* The log begins with what was held back; or, where `left` has a run, goes on behind that as this
 * attempt, and drops what was held back. E_WRITE, as of close, where the disk does not take a
 * record. */
POD_MUST pod_status pod_mllog_begin(pod_mllog *l, const pod_mllog_left *left, int attempt,
                                    int64_t step);
/* Where it has a run_stop, too: the log stays with that as it is, and nothing is put any more. */
POD_MUST pod_status pod_mllog_keep(pod_mllog *l, const pod_mllog_left *left);
/* The first failure of any write. One that did not begin is abandoned. Releases l
 * either way. */
POD_MUST pod_status pod_mllog_close(pod_mllog *l);
/* Leaves PATH, and what an earlier process left, as they were: for a run that could not begin. */
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

/* A record; its place, and so file and lineno of its metadata, is that of the call. event_type
 * follows from the key: INTERVAL_START for ..._start, INTERVAL_END for ..._stop, else
 * POINT_IN_TIME.
 *
 *   pod_mllog_put(l, "seed", pod_mllog_int(seed));
 *   pod_mllog_put(l, "epoch_start", pod_mllog_null(), {"epoch_num", pod_mllog_int(epoch)});
 *
 * Keys of our own begin with minipod_ and contain none of the words that the reference checker
 * searches whole lines for; nor does the name of the calling file. Anything else is a fault of
 * ours. */
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

/* What comes first: submission_benchmark (the benchmark of MLPerf whose open rules the checker applies:
 * "resnet" is image classification), division open, org, platform, status research; minipod_model
 * and minipod_data name the truth, minipod_claim what the log is; cache_clear false, since the
 * caches are left as they are. */
typedef struct pod_mllog_run {
    const char *benchmark, *org, *platform, *model, *data;
} pod_mllog_run;
void pod_mllog_submission(pod_mllog *l, const pod_mllog_run *run);

#endif
