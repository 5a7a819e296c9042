/* The parts of minipod launch: what was observed of an attempt and what follows from it (attempt.c,
 * log.c), the processes of an attempt (run.c), and the environment and remains of mpirun
 * (openmpi.c). */
#ifndef MINIPOD_BENCH_LAUNCH_LAUNCH_H
#define MINIPOD_BENCH_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernels/base/arena.h"
#include "runtime/config/fault.h"
#include "runtime/core/clock.h"
#include "runtime/core/log.h"
#include "runtime/goodput/job_file.h"

/* ---- attempt.c: decides what follows an attempt, only from what was observed ---- */

/* As in shells, an exit code of BY_SIGNAL + n means death by signal n. */
enum { POD_LAUNCH_BY_SIGNAL = 128, POD_LAUNCH_MOST_SIGNAL = 64 };

static inline int pod_launch_signal_of(int exit_code) /* 0: no signal, as for 255 */
{
    const int signal = exit_code - POD_LAUNCH_BY_SIGNAL;
    return signal > 0 && signal <= POD_LAUNCH_MOST_SIGNAL ? signal : 0;
}

typedef struct pod_launch_seen {
    int exit_code;      /* mpirun's */
    bool killed;        /* a rank or mpirun was killed by a signal */
    bool hung;          /* ended by the watchdog, or by launch because no rank's log grew */
    bool refused;       /* mpirun reports wrong usage, and no rank has started */
    bool unstarted;     /* no rank has begun its log, in this or an earlier attempt */
    bool asked_to_stop; /* launch was asked, before the attempt ended */
    bool stopped;       /* by the log, the ranks stopped on request */
    bool finished;      /* by the log, training finished */
    bool is_saved;      /* by the log and the checkpoints, no step of it is lost */
    bool progressed;    /* there is a later checkpoint than when the attempt began */
    int restarts_left;
    double first_pause_s;
    double pause_s; /* before this attempt; 0: none */
} pod_launch_seen;

/* X(name, text in launch.jsonl) */
#define POD_LAUNCH_REASON_MAP(X)                                                     \
    X(OK, "ok")           /* the command succeeded */                                \
    X(STOPPED, "stopped") /* on request */                                           \
    X(MISSED, "missed")   /* training finished and missed its target */              \
    X(USAGE, "usage")     /* its input cannot be used */                             \
    X(KILLED, "killed")   /* a rank or mpirun, by a signal */                        \
    X(HUNG, "hung")                                                                  \
    X(UNSTARTED, "unstarted") /* no rank has ever begun: a restart would not help */ \
    X(FAILED, "failed")

typedef enum pod_launch_reason {
#define POD_X(name, text) POD_LAUNCH_##name,
    POD_LAUNCH_REASON_MAP(POD_X)
#undef POD_X
} pod_launch_reason;

const char *pod_launch_reason_text(pod_launch_reason r);

typedef struct pod_launch_next {
    bool again;
    double pause_s;           /* before the next attempt */
    int exit_code;            /* of launch, if `again` is false: 0, 1 or 2 */
    pod_launch_reason reason; /* how the attempt ended */
} pod_launch_next;

/* Does not restart a run that finished, whatever its exit code (1: it missed its target), one whose
 * input cannot be used (2), or one that was asked to stop; the exit code of the last is 0 if no
 * step is lost, whatever its processes return. Pauses double from the first one up to a minute; an
 * attempt that made progress resets them. */
pod_launch_next pod_launch_decide(const pod_launch_seen *seen);

/* ---- attempt.c: finds in mpirun's messages which rank died, and describes an attempt ---- */

enum { POD_LAUNCH_LINE_BYTES = 512 }; /* longer lines are cut; those of interest are shorter */

typedef struct pod_launch_heard { /* which rank died, or did not arrive */
    int rank;                     /* the rank that died first; -1: unknown */
    int signal;                   /* that killed it; 0: unknown */
    bool is_other;                /* mpirun reported the signal of another rank */
    int n_noticed;                /* 1 + the rank whose signal is in the next line; 0: none */
    bool refused;                 /* mpirun reports wrong usage */
    char overdue[POD_LAUNCH_LINE_BYTES]; /* the watchdog's text on a missing rank; "" */
} pod_launch_heard;

/* Scans a line of mpirun, or of a rank that misses another one. Does not overwrite what is
 * known. */
void pod_launch_scan(const char *line, pod_launch_heard *h);
/* Takes from mpirun's exit code the signal of a rank that is known to have died. */
void pod_launch_hear_exit(int exit_code, pod_launch_heard *h);

typedef struct pod_launch_scanner { /* splits a stream of bytes into lines */
    pod_launch_heard heard;
    size_t n;
    char line[POD_LAUNCH_LINE_BYTES];
} pod_launch_scanner;

pod_launch_scanner pod_launch_scanner_start(void);
void pod_launch_scanner_feed(pod_launch_scanner *s, const char *bytes, size_t n);

typedef struct pod_launch_outcome { /* of an attempt */
    pod_stamp begin, end;
    int exit_code;       /* POD_LAUNCH_BY_SIGNAL + n if signal n ended mpirun */
    int launcher_signal; /* n, else 0 */
    bool was_ended;      /* by launch, which caused exit code and signal */
    bool stalled;        /* no log grew */
    bool has_logs;       /* a rank of this attempt has begun its log */
    bool lacked_memory;  /* the kernel killed a process of this control group */
    double quiet_s;      /* if stalled: seconds since a log last grew */
    pod_launch_heard heard;
} pod_launch_outcome;

/* Returns "rank 3 was killed by signal 9". launcher: mpirun's name; failure: the error of the first
 * rank that failed, or "". In the arena; NULL without memory. */
const char *pod_launch_what(pod_arena *a, pod_launch_reason reason, const char *launcher,
                            const pod_launch_outcome *o, const char *failure);
/* Returns "WHAT; it took 12.3 s, to step 120"; step 0: no step was done. */
const char *pod_launch_tell(pod_arena *a, const char *what, const pod_launch_outcome *o,
                            int64_t step);

/* ---- log.c: reads one attempt from the log of a job ---- */

/* From rank 0's log: its steps differ from those of other ranks by at most one, and it is one file
 * per attempt. */
typedef struct pod_launch_log {
    bool is_read;        /* the log could be read */
    bool began;          /* this or an earlier attempt has a log */
    bool began_now;      /* this attempt has one */
    int64_t step;        /* last step that was done or restored; 0: none */
    int64_t kept;        /* step of the latest checkpoint that is still valid; 0: none */
    bool stopped;        /* it ended on request */
    bool finished;       /* training finished */
    const char *failure; /* its error, borrowed from the job; "": none */
} pod_launch_log;

/* `j` must have rank 0's parts; others are allowed. */
pod_launch_log pod_launch_log_of(const pod_job *j, int attempt);

/* Returns the first rank whose log of the attempt ends with an injected fault `kill` (signal
 * SIGKILL); -1: none. `j` must have all ranks' parts. */
int pod_launch_log_struck(const pod_job *j, int attempt, const pod_fault fault[], int n_faults);

/* After the end of a job: rewrites DIR/goodput.json, if it exists, from the job's log, for all
 * ranks and attempts; keeps its terms of program goodput. `kept` as in pod_job. Fails with E_IO or
 * E_FORMAT. */
POD_MUST pod_status pod_launch_goodput_close(pod_arena *a, const char *dir, int64_t kept);

/* ---- run.c: starts, watches, stops and ends the processes of an attempt; decides nothing ---- */

/* The first SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 or SIGXCPU to this process asks the job to
 * stop: mpirun gets SIGUSR1 and passes it to the ranks, which save and exit. A second signal, of
 * any of these kinds, ends the job at once: SIGTERM to mpirun's process group, and some seconds
 * later SIGKILL to all processes of the attempt on this host. A job that hangs, also after the loss
 * of a rank, is ended in the same way. If launch is killed, the system sends SIGTERM to mpirun.
 * Output that nobody reads any more (`launch ... | head`) is dropped, and the job continues. */
typedef struct pod_launch_run pod_launch_run;

typedef struct pod_launch_plan { /* borrowed */
    const char *const *argv;     /* ends with NULL */
    const char *log_dir;         /* folder of the ranks' logs; "": none */
    int attempt;
    bool to_stderr; /* its standard output goes to standard error */
    double stall_s; /* time without growth of a log after which it is ended; 0: no limit */
} pod_launch_plan;

/* Handles this process's signals until it is closed, so a process has one at a time. Processes that
 * it starts have MINIPOD_LAUNCHED_BY in their environment. The log is borrowed and receives
 * warnings. Fails with E_IO. */
POD_MUST pod_status pod_launch_run_open(const pod_clock *clock, pod_log *log, pod_launch_run **out);
/* Returns when all of the attempt's processes on this host have ended and their remains are
 * removed. Fails with E_IO if no process can be made. If argv[0] cannot be started, prints that;
 * the exit code is then POD_EXIT_USAGE. */
POD_MUST pod_status pod_launch_run_attempt(pod_launch_run *r, const pod_launch_plan *plan,
                                           pod_launch_outcome *out);
/* Waits until the attempt's output has been read; goes_on (another attempt follows): waits only
 * some seconds, and drops the rest with a warning. Call it after each attempt. */
void pod_launch_run_pass_rest(pod_launch_run *r, bool goes_on);
/* Waits; returns false if the wait ended early because the job was asked to stop. */
bool pod_launch_run_pause(pod_launch_run *r, double seconds);
bool pod_launch_run_asked_to_stop(const pod_launch_run *r);
void pod_launch_run_close(pod_launch_run *r); /* NULL is allowed */

/* Prints a warning of launch itself. If standard error is a full pipe that nobody reads, waits a
 * second for a reader and then drops the warning; the job's log also records how attempts end. */
void pod_launch_warn(pod_log *log, const char *fmt, ...) POD_PRINTF(2, 3);

/* ---- openmpi.c: starts this program once more ---- */

/* Returns this program's path, in the arena. E_IO, E_NOMEM. */
POD_MUST pod_status pod_launch_self(pod_arena *a, const char **out);

/* ---- openmpi.c: sets mpirun's environment (Open MPI 4 and 5); variables that are set stay ---- */

POD_MUST pod_status pod_mpirun_as_root(void);     /* allows root, if this is root; E_NOMEM */
POD_MUST pod_status pod_mpirun_share_cores(void); /* allows more ranks than cores; E_NOMEM */

/* ---- openmpi.c: removes what a killed mpirun leaves on this host ---- */

/* Processes, shared memory and the session's folder of one job; other running jobs are not touched.
 * On other hosts, Open MPI's daemons end the ranks when they lose mpirun. */

/* Kills the processes of this user that have `entry` ("NAME=value") in their environment, and
 * repeats this until there are none, for some seconds. */
void pod_launch_kill_marked(const char *entry);

/* Removes Open MPI's session folder and the shared memory of the ranks of `mpirun`, a process that
 * has ended. */
void pod_launch_sweep(pid_t mpirun);

/* Returns whether Open MPI gives this name in /dev/shm to memory of a job of the family. A family
 * is a 16-bit number that an mpirun and its jobs share. */
bool pod_launch_is_left_by(const char *name, uint32_t family);

/* Reads the family from the text of a session's contact.txt; returns false if it has none. */
bool pod_launch_family_of(const char *contact, uint32_t *family);
/* Computes the family of the process `mpirun` from the name of a session's folder of Open MPI 5;
 * returns false if the name is not that of a folder of this process and user. */
bool pod_launch_family_of_session(const char *folder, pid_t mpirun, uid_t user, uint32_t *family);

#endif
