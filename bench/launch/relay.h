/* What a job prints on its way to who reads it: bytes of one descriptor go to another as they come.
 * Of two pipes it waits for neither: the launcher has a job to watch while a reader (`| less`) stands
 * still. A socket or a terminal may take less than that at once, and a write to it then waits for who
 * reads it. A reader that has gone (`| head`) is no fault of the job: what comes after it is read and
 * dropped. */
#ifndef MINIPOD_BENCH_LAUNCH_RELAY_H
#define MINIPOD_BENCH_LAUNCH_RELAY_H

#include <poll.h>
#include <stdbool.h>

#include "bench/launch/text.h"

/* Of a pipe that can be written to so much never blocks, and is written at once (PIPE_BUF). */
enum { POD_LAUNCH_RELAY_BYTES = 4096 };

typedef struct pod_launch_relay {
    int from;                     /* -1: there is nothing more to read, or never was */
    int to;                       /* borrowed; -1: nobody listens any more */
    int reason;                   /* errno of when that was found */
    pod_launch_scanner *listener; /* hears what passes; borrowed; NULL: none */
    size_t n;                     /* bytes that were read and not yet written */
    char bytes[POD_LAUNCH_RELAY_BYTES];
} pod_launch_relay;

/* Takes `from` over. SIGPIPE must be ignored by the process. */
pod_launch_relay pod_launch_relay_start(int from, int to, pod_launch_scanner *listener);
/* What it waits for next; its fd is -1 where that is nothing. */
struct pollfd pod_launch_relay_wants(const pod_launch_relay *r);
/* Passes on what can be passed on without waiting; but see above. */
void pod_launch_relay_pass(pod_launch_relay *r);
void pod_launch_relay_close(pod_launch_relay *r);

#endif
