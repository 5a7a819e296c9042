/* Checks in advance that this host has enough memory, because a host that runs out of memory kills
 * programs without a message. */
#ifndef MINIPOD_RUNTIME_CORE_ROOM_H
#define MINIPOD_RUNTIME_CORE_ROOM_H

#include "kernels/base/status.h"

/* Fails with E_INVALID if the host has less than `bytes` of memory. `what` says in the text what
 * needs them, as in "16 ranks with 1M each". */
POD_MUST pod_status pod_room_check(const char *what, double bytes);

#endif
