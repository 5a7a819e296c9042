/* How long a thread could have run and got no core, because others had them: what makes times on a
 * crowded machine the operating system's as well. From /proc/thread-self/schedstat of Linux; where
 * that is not there nothing is known, and it is 0. */
#ifndef MINIPOD_RUNTIME_CORE_CORE_WAIT_H
#define MINIPOD_RUNTIME_CORE_CORE_WAIT_H

#include <stdint.h>

typedef struct pod_core_wait {
    int file; /* -1: not known */
} pod_core_wait;

/* Opens it for the calling thread. */
pod_core_wait pod_core_wait_open(void);
int64_t pod_core_wait_ns(const pod_core_wait *w); /* since it began; allocates nothing */
void pod_core_wait_close(pod_core_wait *w);

#endif
