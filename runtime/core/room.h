/* Whether this host has the memory that work needs: asked for beforehand, since a host that runs
 * out ends its programs without a word. */
#ifndef MINIPOD_RUNTIME_CORE_ROOM_H
#define MINIPOD_RUNTIME_CORE_ROOM_H

#include "kernels/base/status.h"

/* E_INVALID when it has no `bytes` of memory. `what` need them: "16 ranks with 1M each". */
POD_MUST pod_status pod_room_check(const char *what, double bytes);

#endif
