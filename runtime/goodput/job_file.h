/* The job log: what every rank of every attempt did with its time, in files that outlive a kill.
 *
 * DIR/job/attempt-001.rank-0003.jsonl holds JSON lines, each written by one call of the system, so
 * that a rank that is killed loses at most what it was doing; a last line that is torn is left out.
 * DIR/job/launch.jsonl holds how attempts began and ended, as whoever started them saw it.
 * Times are pod_stamps. Steps count from 1: step s is done when s steps are.
 *
 *   {"schema":"minipod.job","version":1,"attempt":1,"rank":3,"ranks":4,"mesh":"2x2",
 *    "model":"resnet20","data":"fashion-mnist","host":"node7","pid":4711,"begin_ns":...}
 *                                         the first line
 *   {"from":120,"at_ns":...,"ideal_ps":...}
 *                                         weights are restored: goes on behind step 120; 0: from new;
 *                                         what a step takes at the peak, of each rank; may be missing
 *   {"span":"PROGRAM_STARTUP","begin_ns":...,"end_ns":...}
 *   {"step":121,"begin_ns":...,"end_ns":...,"input_ns":...,"reduce_ns":...,"save_ns":...,
 *    "core_wait_ns":...}               core_wait_ns may be missing
 *   {"kept":120,"at_ns":...}             the checkpoint of step 120 is whole; rank 0 says so
 *   {"fault":0,"at_ns":...}              the n-th of --fault struck; by this rank's hand
 *   {"end":"ok","at_ns":...,"text":""}   ok, stopped (asked to), failed: text says why
 *
 * A line is an object of texts and whole numbers, in any order; keys that are not known are passed
 * over, so that a later version may say more.
 *
 *   {"schema":"minipod.launch","version":1,"command":"train --model ...","ranks":4,
 *    "begin_ns":...}            launch.jsonl's first line; again where a later launch goes on
 *   {"attempt":1,"begin_ns":...}
 *   {"attempt":1,"end_ns":...,"exit_code":1,"reason":"killed","text":"rank 3: killed by signal 9"}
 */
#ifndef MINIPOD_RUNTIME_GOODPUT_JOB_FILE_H
#define MINIPOD_RUNTIME_GOODPUT_JOB_FILE_H

#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"
#include "runtime/goodput/job_log.h"

typedef struct pod_job_head { /* texts are borrowed by a writer, in the arena of a reader */
    int attempt, rank, ranks;
    const char *mesh, *model, *data, *host;
    int64_t pid;
    pod_stamp begin;
} pod_job_head;

typedef enum pod_job_end_kind {
    POD_JOB_END_NONE, /* the file just ends: killed */
    POD_JOB_END_OK,
    POD_JOB_END_STOPPED,
    POD_JOB_END_FAILED
} pod_job_end_kind;

const char *pod_job_end_name(pod_job_end_kind k); /* as files have it; "" of none */

enum { POD_JOB_NAME_BYTES = 64 };

typedef struct pod_job_name { /* of a rank's file: attempt-001.rank-0003.jsonl */
    int attempt, rank;        /* from 1, from 0 */
} pod_job_name;

const char *pod_job_name_print(pod_job_name n, char text[POD_JOB_NAME_BYTES]); /* returns text */
bool pod_job_name_parse(const char *text, pod_job_name *out); /* false: it is no such name */

/* ---- writing; local, by one thread but where it says otherwise ---- */

typedef struct pod_job_writer pod_job_writer;

/* DIR/job must exist. E_IO: among others, when the attempt's file is there: it is another job's, or
 * another process's of this one. E_WRITE: its first line does not fit on the disk. */
POD_MUST pod_status pod_job_writer_open(const char *dir, const pod_job_head *head,
                                        pod_job_writer **out);
/* These do not fail in the middle of a step: the first failure is kept and answered by close, as
 * E_WRITE; a record that does not fit on the disk is left out whole. They allocate nothing, but for
 * a line longer than all before. NULL takes nothing. */
void pod_job_put_from(pod_job_writer *w, int64_t step, int64_t ideal, pod_stamp at);
void pod_job_put_span(pod_job_writer *w, pod_job_span span, pod_stamp begin, pod_stamp end);
void pod_job_put_step(pod_job_writer *w, const pod_job_step *s);
void pod_job_put_kept(pod_job_writer *w, int64_t step, pod_stamp at);
/* By any thread, beside the one that puts the others. */
void pod_job_put_fault(pod_job_writer *w, int fault, pod_stamp at);
/* The last record. */
void pod_job_put_end(pod_job_writer *w, pod_job_end_kind kind, const char *text, pod_stamp at);
POD_MUST pod_status pod_job_writer_close(pod_job_writer *w); /* NULL is allowed */

/* ---- launch.jsonl: how attempts began and ended, as who starts them sees it; local. Errors name the
 * file: E_IO where it cannot be opened, E_WRITE of what it does not take. ---- */

typedef struct pod_launch_file pod_launch_file;

/* Makes DIR/job where it is missing. A file that is there is gone on with, behind another first
 * line; a torn last one is taken away. Refused while another process has it open. */
POD_MUST pod_status pod_launch_file_open(const char *dir, const char *command, int ranks,
                                         pod_stamp begin, pod_launch_file **out);
POD_MUST pod_status pod_launch_file_put_begin(pod_launch_file *f, int attempt, pod_stamp at);
POD_MUST pod_status pod_launch_file_put_end(pod_launch_file *f, int attempt, pod_stamp at,
                                            int exit_code, const char *reason, const char *text);
/* As if it had not been opened: what was put since goes, and a file that was not there. For a
 * launch of which nothing began; nothing is put any more. */
POD_MUST pod_status pod_launch_file_take_back(pod_launch_file *f);
void pod_launch_file_close(pod_launch_file *f); /* NULL is allowed */

/* E_IO while a process has the file at `path` open by pod_launch_file_open. */
POD_MUST pod_status pod_launch_file_check(const char *path);

/* ---- the folder ---- */

/* Whether a file of that name in DIR/job is of a job's log. */
bool pod_job_has_file(const char *name);

/* Removes what an older job left in DIR/job, launch.jsonl too; makes the folder where it is
 * missing. For whoever numbers the attempts, before the first: a `train` that has no number.
 * E_IO, and nothing is removed, while a launcher is at work there.
 * The highest attempt that DIR/job knows of into *last, 0 for none. E_IO, E_FORMAT. */
POD_MUST pod_status pod_job_clear(const char *dir);
POD_MUST pod_status pod_job_last_attempt(const char *dir, int *last);

/* For a launcher, which begins a job of which it does not know yet whether a rank of it will.
 * Instead of pod_job_clear: what an older job left goes from DIR/job to DIR/job.until-begun, or
 * stays there where a launcher was killed before it could settle it. Then, when the newer job has
 * come to its end or failed to begin, and launch.jsonl is closed: the older one's is removed where
 * a rank has begun a log, and is DIR/job again where none has. E_IO. */
POD_MUST pod_status pod_job_put_aside(const char *dir);
POD_MUST pod_status pod_job_settle(const char *dir);

/* ---- reading ---- */

typedef struct pod_job_part { /* one rank of one attempt: one file */
    pod_job_head head;
    int64_t first_step; /* done before this attempt; -1: it ended before that was known */
    int64_t ideal;      /* of each of its steps, picoseconds; 0: not known */
    int64_t n_marks, n_steps, n_kept, n_faults;
    const pod_job_mark *mark;
    const pod_job_step *step;
    const int64_t *kept; /* steps whose checkpoint is whole */
    const pod_stamp *kept_at;
    const int *fault; /* that struck */
    pod_job_end_kind end;
    const char *end_text;
    bool is_torn;   /* its last line is no whole one, and left out */
    pod_stamp last; /* the latest time in the file */
} pod_job_part;

typedef struct pod_job_attempt { /* from launch.jsonl */
    int attempt, exit_code;
    int launch;           /* that began it, from 1 */
    pod_stamp begin, end; /* end 0: not there */
    const char *reason, *text;
} pod_job_attempt;

typedef struct pod_job {
    const char *dir;
    int n_parts; /* by attempt, then rank */
    const pod_job_part *part;
    int n_attempts; /* 0 where nobody launched it */
    const pod_job_attempt *attempt;
    pod_stamp launch_begin; /* of the first launch; 0: none */
    /* The step of the checkpoint that the run's folder has, where the last attempt may have died
     * before its log could say so; 0: not asked for. Not read here: whoever has looked sets it. */
    int64_t kept;
} pod_job;

/* DIR is a run's folder. Everything in the arena. A file that was made and not begun is no part.
 * E_IO, also when there is no log; E_FORMAT naming file and line. A torn last line is no error: it
 * is left out. */
POD_MUST pod_status pod_job_read(pod_arena *a, const char *dir, pod_job *out);
/* The same without the parts of other ranks. */
POD_MUST pod_status pod_job_read_rank(pod_arena *a, const char *dir, int rank, pod_job *out);

#endif
