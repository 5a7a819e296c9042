/* minipod launch, in parts: what was seen of an attempt and what follows from it (attempt.c, log.c), an
 * attempt as processes (run.c), and what mpirun is told and leaves behind (openmpi.c). */
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

/* ---- attempt.c: what follows an attempt, decided from what was seen of it and nothing else ---- */

/* As shells do: an exit code is BY_SIGNAL and a signal's number. */
enum { POD_LAUNCH_BY_SIGNAL = 128, POD_LAUNCH_MOST_SIGNAL = 64 };

static inline int pod_launch_signal_of(int exit_code) /* 0: it is of none, like 255 */
{
    const int signal = exit_code - POD_LAUNCH_BY_SIGNAL;
    return signal > 0 && signal <= POD_LAUNCH_MOST_SIGNAL ? signal : 0;
}

typedef struct pod_launch_seen {
    int exit_code;      /* mpirun's */
    bool killed;        /* a rank or mpirun, by a signal */
    bool hung;          /* ended by the watchdog, or by the launcher since no rank's log grew */
    bool refused;       /* mpirun says that it cannot be used like that, and no rank has begun */
    bool unstarted;     /* no rank has begun its log, in this attempt or one before it */
    bool asked_to_stop; /* the launcher was, before the attempt's end */
    bool stopped;       /* the log says that the ranks were asked to stop, and did */
    bool finished;      /* the log says that training came to its end */
    bool is_saved;      /* its log and the checkpoints say that no step of it is lost */
    bool progressed;    /* a checkpoint is kept that was not when the attempt began */
    int restarts_left;
    double first_pause_s;
    double pause_s; /* before this attempt; 0: none */
} pod_launch_seen;

/* X(name, text in launch.jsonl) */
#define POD_LAUNCH_REASON_MAP(X)                                                      \
    X(OK, "ok")           /* the command did what it was to do */                     \
    X(STOPPED, "stopped") /* it was asked to */                                       \
    X(MISSED, "missed")   /* training came to its end, and missed its target */       \
    X(USAGE, "usage")     /* its input cannot be used */                              \
    X(KILLED, "killed")   /* a rank or mpirun, by a signal */                         \
    X(HUNG, "hung")                                                                   \
    X(UNSTARTED, "unstarted") /* no rank has begun, ever: another time is no other */ \
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
    int exit_code;            /* the launcher's, when there is none: 0, 1 or 2 */
    pod_launch_reason reason; /* how the attempt ended */
} pod_launch_next;

/* A run that came to its end is not begun again, whatever it answers (1: it missed its target), nor
 * one whose input cannot be used (2), nor one that was asked to stop: with 0 where no step is lost
 * by that, whatever its processes answer. Pauses double from the first
 * one up to a minute; an attempt that made progress sets them back. */
pod_launch_next pod_launch_decide(const pod_launch_seen *seen);

/* ---- attempt.c: what mpirun's messages say of who died, and what is said of an attempt ---- */

enum { POD_LAUNCH_LINE_BYTES = 512 }; /* longer ones are cut off: nothing of interest is as long */

typedef struct pod_launch_heard {        /* of who died, or did not come */
    int rank;                            /* that died first; -1: not known */
    int signal;                          /* it died of; 0: not known */
    bool is_other;                       /* mpirun's word was of another rank's signal */
    int n_noticed;                       /* 1 + the rank whose signal the next line has; 0: none */
    bool refused;                        /* mpirun says that it cannot be used like that */
    char overdue[POD_LAUNCH_LINE_BYTES]; /* what the watchdog says: who did not arrive where; "" */
} pod_launch_heard;

/* A line of mpirun's messages, or of a rank's that misses another. What is known already stays. */
void pod_launch_scan(const char *line, pod_launch_heard *h);
/* What mpirun answers by itself: of which signal the rank died that is known to have died. */
void pod_launch_hear_exit(int exit_code, pod_launch_heard *h);

typedef struct pod_launch_scanner { /* lines out of bytes as they come */
    pod_launch_heard heard;
    size_t n;
    char line[POD_LAUNCH_LINE_BYTES];
} pod_launch_scanner;

pod_launch_scanner pod_launch_scanner_start(void);
void pod_launch_scanner_feed(pod_launch_scanner *s, const char *bytes, size_t n);

typedef struct pod_launch_outcome { /* of an attempt */
    pod_stamp begin, end;
    int exit_code;       /* POD_LAUNCH_BY_SIGNAL and its number where a signal ended mpirun */
    int launcher_signal; /* that one, else 0 */
    bool was_ended;      /* from here: exit code and signal are of that */
    bool stalled;        /* because no log grew */
    bool has_logs;       /* a rank of the attempt has begun its log */
    bool lacked_memory;  /* the kernel killed a process of the group that this one is in */
    double quiet_s;      /* since the last growth, when it was found stalled */
    pod_launch_heard heard;
} pod_launch_outcome;

/* "rank 3 was killed by signal 9". launcher: mpirun's name; failure: what the first rank that failed
 * says, or "". In the arena; NULL: no memory. */
const char *pod_launch_what(pod_arena *a, pod_launch_reason reason, const char *launcher,
                            const pod_launch_outcome *o, const char *failure);
/* "WHAT; it took 12.3 s, to step 120"; 0: it did none. */
const char *pod_launch_tell(pod_arena *a, const char *what, const pod_launch_outcome *o,
                            int64_t step);

/* ---- log.c: what the log of a job says of one of its attempts ---- */

/* Of rank 0's log, whose steps are all ranks' to within one, and which is one file an attempt however
 * many ranks there are. */
typedef struct pod_launch_log {
    bool is_read;        /* it is a log, however little it says; false: not even that is known */
    bool began;          /* this attempt or one before it got as far as to a log */
    bool began_now;      /* this one did */
    int64_t step;        /* the last that was done or restored; 0: none */
    int64_t kept;        /* of the latest checkpoint that was not left behind since; 0: none */
    bool stopped;        /* it ended since it was asked to */
    bool finished;       /* training came to its end */
    const char *failure; /* what it failed of; borrowed from the job; "" */
} pod_launch_log;

/* `j` has rank 0's parts and may have others'. */
pod_launch_log pod_launch_log_of(const pod_job *j, int attempt);

/* The first rank whose log of the attempt ends with a fault `kill` that struck it, by the signal
 * KILL then; -1: none. `j` has all ranks' parts. */
int pod_launch_log_struck(const pod_job *j, int attempt, const pod_fault fault[], int n_faults);

/* DIR/goodput.json, where there is one, is written once more, of all ranks and attempts, from the
 * job's log; its terms of program goodput stay. `kept` as in pod_job. For when the job has ended.
 * E_IO, E_FORMAT. */
POD_MUST pod_status pod_launch_goodput_close(pod_arena *a, const char *dir, int64_t kept);

/* ---- run.c: an attempt as processes: started, watched, stopped, ended; decides nothing ---- */

/* The first SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 or SIGXCPU to this process asks the job to
 * stop: mpirun gets SIGUSR1, which it hands to the ranks, and these save and leave. A second one
 * ends the job hard: SIGTERM to mpirun's group, and some seconds later SIGKILL to all that the
 * attempt started on this host. The same ends a job that hangs, also over the loss of a rank. If the
 * launcher is killed, mpirun gets SIGTERM from the system. What nobody reads any more (`launch ... |
 * head`) is dropped, and the job continues. */
typedef struct pod_launch_run pod_launch_run;

typedef struct pod_launch_plan { /* borrowed */
    const char *const *argv;     /* ends with NULL */
    const char *log_dir;         /* where ranks' logs grow; "": nowhere */
    int attempt;
    bool to_stderr; /* what it prints, too */
    double stall_s; /* after so long without growth it is ended; 0: never */
} pod_launch_plan;

/* Signals are this object's until it is closed: one a process at a time. Processes that it starts
 * carry MINIPOD_LAUNCHED_BY in their environment. The log is borrowed, and takes warnings. E_IO. */
POD_MUST pod_status pod_launch_run_open(const pod_clock *clock, pod_log *log, pod_launch_run **out);
/* Returns when all of the attempt's processes on this host are gone, and what they left is swept.
 * E_IO: there can be no process. Where argv[0] cannot be started that is printed, and the exit code
 * is POD_EXIT_USAGE. */
POD_MUST pod_status pod_launch_run_attempt(pod_launch_run *r, const pod_launch_plan *plan,
                                           pod_launch_outcome *out);
/* Waits until somebody has read what the attempt printed; where the job goes on, for some seconds,
 * and drops the rest with a warning. To be called behind each attempt. */
void pod_launch_run_pass_rest(pod_launch_run *r, bool goes_on);
/* false: it was cut short, since the job was asked to stop. */
bool pod_launch_run_pause(pod_launch_run *r, double seconds);
bool pod_launch_run_asked_to_stop(const pod_launch_run *r);
void pod_launch_run_close(pod_launch_run *r); /* NULL is allowed */

/* A warning of the launcher itself. If standard error is a pipe that is full since nobody reads it,
 * waits a second for a reader and drops the warning then: how attempts end is in the job's log, too. */
void pod_launch_warn(pod_log *log, const char *fmt, ...) POD_PRINTF(2, 3);

/* ---- openmpi.c: the environment of mpirun, of version 4 or 5; what the person has set stays ---- */

POD_MUST pod_status pod_mpirun_as_root(void);     /* it may run as root, if this is root; E_NOMEM */
POD_MUST pod_status pod_mpirun_share_cores(void); /* there are more ranks than cores; E_NOMEM */

/* ---- openmpi.c: what an mpirun that was killed leaves on this host, and taking it away ---- */

/* Processes, shared memory and its session's folder, of one job alone: other jobs that run are not
 * touched. Ranks on other hosts are ended by the daemons there, which miss mpirun. */

/* Kills the processes of this user whose environment holds `entry`, "NAME=value", and looks again
 * until there are none, for some seconds. */
void pod_launch_kill_marked(const char *entry);

/* Removes Open MPI's session folder of `mpirun`, a process that has ended, and what its ranks have
 * in shared memory. */
void pod_launch_sweep(pid_t mpirun);

/* Whether a name in /dev/shm is one that Open MPI gives to memory of a job of this family: 16 bits
 * that an mpirun and its jobs have in common. */
bool pod_launch_is_left_by(const char *name, uint32_t family);

/* The family from the text of a session's contact.txt; false: there is none. */
bool pod_launch_family_of(const char *contact, uint32_t *family);
/* The same from the name of a session's folder of Open MPI 5; false: it is not that of this process
 * of this user. */
bool pod_launch_family_of_session(const char *folder, pid_t mpirun, uid_t user, uint32_t *family);

#endif
