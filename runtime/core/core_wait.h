/* The time in which a thread was ready to run but had no core, because other threads had them. On a
 * crowded machine it is part of every measured time. It is read from Linux's
 * /proc/thread-self/schedstat; without that file it is unknown and reported as 0. */
#ifndef MINIPOD_RUNTIME_CORE_CORE_WAIT_H
#define MINIPOD_RUNTIME_CORE_CORE_WAIT_H

#include <stdint.h>

typedef struct pod_core_wait {
    int file; /* -1: not known */
} pod_core_wait;

/* Opens it for the calling thread. */
pod_core_wait pod_core_wait_open(void);
int64_t pod_core_wait_ns(const pod_core_wait *w); /* since the thread began; allocates nothing */
void pod_core_wait_close(pod_core_wait *w);

#endif
