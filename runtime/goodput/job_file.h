/* The job log: how every rank of every attempt spent its time, in files that survive a kill.
 *
 * DIR/job/attempt-001.rank-0003.jsonl holds JSON lines, each written by one system call, so that a
 * killed rank loses at most the record of its current work; a torn last line is ignored.
 * DIR/job/launch.jsonl holds the begin and end of attempts, as their launcher saw them. Times are
 * pod_stamps. Steps count from 1: after step s, s steps are done.
 *
 *   {"schema":"minipod.job","version":1,"attempt":1,"rank":3,"ranks":4,"mesh":"2x2",
 *    "model":"resnet20","data":"fashion-mnist","host":"node7","pid":4711,"begin_ns":...}
 *                                         the first line
 *   {"from":120,"at_ns":...,"ideal_ps":...}
 *                                         weights are restored: training begins after step 120 (0:
 *                                         from new weights); ideal time of a step, may be missing
 *   {"span":"PROGRAM_STARTUP","begin_ns":...,"end_ns":...}
 *   {"step":121,"begin_ns":...,"end_ns":...,"input_ns":...,"reduce_ns":...,"save_ns":...,
 *    "core_wait_ns":...}               core_wait_ns may be missing
 *   {"kept":120,"at_ns":...}             the checkpoint of step 120 is complete; written by rank 0
 *   {"fault":0,"at_ns":...}              this rank injects fault 0 of --fault
 *   {"end":"ok","at_ns":...,"text":""}   ok, stopped (by a signal), or failed: text says why
 *
 * A line is an object of texts and whole numbers, in any order. Unknown keys are ignored, so that
 * later versions can add keys.
 *
 *   {"schema":"minipod.launch","version":1,"command":"train --model ...","ranks":4,
 *    "begin_ns":...}            the first line of launch.jsonl; one more for each later launch
 *   {"attempt":1,"begin_ns":...}
 *   {"attempt":1,"end_ns":...,"exit_code":1,"reason":"killed","text":"rank 3: killed by signal 9"}
 */
#ifndef MINIPOD_RUNTIME_GOODPUT_JOB_FILE_H
#define MINIPOD_RUNTIME_GOODPUT_JOB_FILE_H

#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"
#include "runtime/goodput/job_log.h"

typedef struct pod_job_head { /* texts: borrowed when writing, in the arena when read */
    int attempt, rank, ranks;
    const char *mesh, *model, *data, *host;
    int64_t pid;
    pod_stamp begin;
} pod_job_head;

typedef enum pod_job_end_kind {
    POD_JOB_END_NONE, /* no record: killed */
    POD_JOB_END_OK,
    POD_JOB_END_STOPPED,
    POD_JOB_END_FAILED
} pod_job_end_kind;

const char *pod_job_end_name(pod_job_end_kind k); /* as in files; "" for NONE */

enum { POD_JOB_NAME_BYTES = 64 };

typedef struct pod_job_name { /* of the name of a rank's file */
    int attempt, rank;        /* from 1, from 0 */
} pod_job_name;

const char *pod_job_name_print(pod_job_name n, char text[POD_JOB_NAME_BYTES]); /* returns text */
bool pod_job_name_parse(const char *text, pod_job_name *out); /* false: another name */

/* ---- writing; local, by one thread unless noted ---- */

typedef struct pod_job_writer pod_job_writer;

/* Creates a rank's file; DIR/job must exist. E_IO, also if the file exists: it belongs to another
 * job or to another process of this one. E_WRITE if the first line cannot be written. */
POD_MUST pod_status pod_job_writer_open(const char *dir, const pod_job_head *head,
                                        pod_job_writer **out);
/* Write a record. They do not fail: pod_job_writer_close returns the first failure as E_WRITE; a
 * record that does not fit on the disk is dropped completely. They allocate only for a line longer
 * than all before. They do nothing if w is NULL. */
void pod_job_put_from(pod_job_writer *w, int64_t step, int64_t ideal, pod_stamp at);
void pod_job_put_span(pod_job_writer *w, pod_job_span span, pod_stamp begin, pod_stamp end);
void pod_job_put_step(pod_job_writer *w, const pod_job_step *s);
void pod_job_put_kept(pod_job_writer *w, int64_t step, pod_stamp at);
/* May be called from any thread. */
void pod_job_put_fault(pod_job_writer *w, int fault, pod_stamp at);
/* Writes the last record. */
void pod_job_put_end(pod_job_writer *w, pod_job_end_kind kind, const char *text, pod_stamp at);
POD_MUST pod_status pod_job_writer_close(pod_job_writer *w); /* NULL is allowed */

/* ---- launch.jsonl, written by a launcher; local. E_IO if it cannot be opened, E_WRITE ---- */

typedef struct pod_launch_file pod_launch_file;

/* Opens the file, and creates DIR/job if it is missing. Appends to an existing file, beginning with
 * another first line, after removing a torn last line. E_IO while another process has it open. */
POD_MUST pod_status pod_launch_file_open(const char *dir, const char *command, int ranks,
                                         pod_stamp begin, pod_launch_file **out);
POD_MUST pod_status pod_launch_file_put_begin(pod_launch_file *f, int attempt, pod_stamp at);
POD_MUST pod_status pod_launch_file_put_end(pod_launch_file *f, int attempt, pod_stamp at,
                                            int exit_code, const char *reason, const char *text);
/* Restores the file as it was before pod_launch_file_open, or removes it if it did not exist, for a
 * launch of which nothing began. Nothing may be put after that. */
POD_MUST pod_status pod_launch_file_take_back(pod_launch_file *f);
void pod_launch_file_close(pod_launch_file *f); /* NULL is allowed */

/* Fails with E_IO while a process has the file at `path` open by pod_launch_file_open. */
POD_MUST pod_status pod_launch_file_check(const char *path);

/* ---- the folder ---- */

/* Returns whether a file of that name in DIR/job belongs to a job log. */
bool pod_job_has_file(const char *name);

/* pod_job_clear removes the log of an older job in DIR/job, launch.jsonl included, and creates the
 * folder if it is missing. `train` calls it before attempt 1 if no launcher numbers the attempts.
 * E_IO, without removing anything, while a launcher has launch.jsonl open. pod_job_last_attempt
 * sets *last to the highest attempt in DIR/job, 0 if there is none. E_IO, E_FORMAT. */
POD_MUST pod_status pod_job_clear(const char *dir);
POD_MUST pod_status pod_job_last_attempt(const char *dir, int *last);

/* For a launcher, instead of pod_job_clear, because it does not know yet whether any rank will
 * begin. If a rank has begun a log in DIR/job, pod_job_put_aside moves DIR/job to
 * DIR/job.until-begun, replacing what is there; otherwise it clears DIR/job, so that the log of an
 * older job in DIR/job.until-begun stays, which a launcher left that was killed before
 * pod_job_settle. pod_job_settle, called when the new job has ended or failed to begin and
 * launch.jsonl is closed, removes the older log if a rank has begun a log, else moves it back to
 * DIR/job. E_IO. */
POD_MUST pod_status pod_job_put_aside(const char *dir);
POD_MUST pod_status pod_job_settle(const char *dir);

/* ---- reading ---- */

typedef struct pod_job_part { /* one rank of one attempt: one file */
    pod_job_head head;
    int64_t first_step; /* steps done before this attempt; -1: it ended before that was known */
    int64_t ideal;      /* ideal time of its steps, picoseconds; 0: unknown */
    int64_t n_marks, n_steps, n_kept, n_faults;
    const pod_job_mark *mark;
    const pod_job_step *step;
    const int64_t *kept; /* steps with a complete checkpoint */
    const pod_stamp *kept_at;
    const int *fault; /* injected faults */
    pod_job_end_kind end;
    const char *end_text;
    bool is_torn;   /* its last line is torn, and ignored */
    pod_stamp last; /* the latest time in the file */
} pod_job_part;

typedef struct pod_job_attempt { /* from launch.jsonl */
    int attempt, exit_code;
    int launch;           /* the launch that began it, from 1 */
    pod_stamp begin, end; /* end 0: no record */
    const char *reason, *text;
} pod_job_attempt;

typedef struct pod_job {
    const char *dir;
    int n_parts; /* by attempt, then rank */
    const pod_job_part *part;
    int n_attempts; /* 0 without launch.jsonl */
    const pod_job_attempt *attempt;
    pod_stamp launch_begin; /* of the first launch; 0: none */
    /* Step of the newest checkpoint in the run's folder, for an attempt that died before it could
     * record it; 0: unknown. pod_job_read does not set it, the caller may. */
    int64_t kept;
} pod_job;

/* Returns 1 + the index of the last part of the attempt whose first part is `first`. */
int pod_job_attempt_end(const pod_job *j, int first);

/* Reads the log in a run's folder DIR into the arena. Files without a first line, and torn last
 * lines, are ignored. E_IO, also if there is no log; E_FORMAT, naming file and line. */
POD_MUST pod_status pod_job_read(pod_arena *a, const char *dir, pod_job *out);
/* The same for the files of one rank. */
POD_MUST pod_status pod_job_read_rank(pod_arena *a, const char *dir, int rank, pod_job *out);

#endif
