/* Checks beforehand that this host has the memory that work needs, since a host that runs out kills
 * its programs without a message. */
#ifndef MINIPOD_RUNTIME_CORE_ROOM_H
#define MINIPOD_RUNTIME_CORE_ROOM_H

#include "kernels/base/status.h"

/* E_INVALID if the host does not have `bytes` of memory. `what` needs them: "16 ranks with 1M
 * each". */
POD_MUST pod_status pod_room_check(const char *what, double bytes);

#endif
