/* Two kinds of time, both integers, so that sums are exact.
 *
 * A pod_time counts picoseconds since a clock was started, for real and simulated timelines (it
 * holds 106 days). A pod_stamp counts nanoseconds since the Unix epoch, for job logs, where runs
 * are compared. A clock reads the wall-clock time once, when it is started, and adds the monotonic
 * difference, so that setting the system's clock during a run has no effect. */
#ifndef MINIPOD_RUNTIME_CORE_CLOCK_H
#define MINIPOD_RUNTIME_CORE_CLOCK_H

#include <math.h>
#include <stdint.h>

typedef int64_t pod_time;  /* picoseconds since a clock's start */
typedef int64_t pod_stamp; /* nanoseconds since the Unix epoch */

typedef struct pod_clock { /* a value: copies tell the same time */
    int64_t monotonic_ns;  /* at the start */
    pod_stamp stamp;       /* at the start */
} pod_clock;

pod_clock pod_clock_start(void);
pod_time pod_clock_now(const pod_clock *c);    /* monotonic */
pod_stamp pod_clock_stamp(const pod_clock *c); /* monotonic */

static inline double pod_time_seconds(pod_time t) { return (double)t * 1e-12; }
static inline pod_stamp pod_stamp_of(double seconds) { return (pod_stamp)llround(seconds * 1e9); }
static inline double pod_stamp_seconds(pod_stamp t) { return (double)t * 1e-9; }

#endif
