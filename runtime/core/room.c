#include "runtime/core/room.h"

#include <unistd.h>

static double room_bytes(void)
{
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

pod_status pod_room_check(const char *what, double bytes)
{
    const double here = room_bytes();
    if (bytes <= here) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s need about %.3g GB of memory, this host has %.3g GB", what,
                    1e-9 * bytes, 1e-9 * here);
}
