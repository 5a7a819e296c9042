/* Defers SIGINT, SIGTERM and SIGHUP while a data set is written, so that no half-written file
 * stays. One user at a time. Private to this folder. */
#ifndef MINIPOD_RUNTIME_DATA_DEFER_H
#define MINIPOD_RUNTIME_DATA_DEFER_H

#include <stdbool.h>

#include "kernels/base/status.h"

enum { POD_N_DEFERRED = 3 };

typedef struct pod_deferred {
    bool is_deferred[POD_N_DEFERRED]; /* false: ignored before, or with a handler of its own */
} pod_deferred;

void pod__signals_defer(pod_deferred *out);
/* Ends the deferral, and raises again a signal that came meanwhile. */
void pod__signals_restore(const pod_deferred *deferred);
bool pod__signal_came(void); /* in any thread */
/* E_WRITE, naming the path, if a signal came. */
POD_MUST pod_status pod__signals_check(const char *path);

#endif
