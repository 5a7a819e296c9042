/* The texts of a launcher: what mpirun's messages say of who died, and what is said of an attempt. */
#ifndef MINIPOD_BENCH_LAUNCH_TEXT_H
#define MINIPOD_BENCH_LAUNCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/launch/next.h"
#include "kernels/base/arena.h"
#include "runtime/core/clock.h"

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

#endif
