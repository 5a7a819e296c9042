#include "runtime/core/room.h"

#include "kernels/base/limits.h"

pod_status pod_room_check(const char *what, double bytes)
{
    const double here = pod_limit_memory();
    if (bytes <= here) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s need about %.3g GB of memory, this host has %.3g GB", what,
                    1e-9 * bytes, 1e-9 * here);
}
