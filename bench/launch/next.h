/* What follows an attempt of a launched job: decided from what was seen of it, and nothing else. */
#ifndef MINIPOD_BENCH_LAUNCH_NEXT_H
#define MINIPOD_BENCH_LAUNCH_NEXT_H

#include <stdbool.h>

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

#endif
