#include "runtime/core/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t); /* cannot fail: both clocks exist wherever POSIX 2008 does */
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

pod_clock pod_clock_start(void)
{
    return (pod_clock){.monotonic_ns = read_ns(CLOCK_MONOTONIC), .stamp = read_ns(CLOCK_REALTIME)};
}

pod_time pod_clock_now(const pod_clock *c)
{
    return (read_ns(CLOCK_MONOTONIC) - c->monotonic_ns) * 1000;
}

pod_stamp pod_clock_stamp(const pod_clock *c)
{
    return c->stamp + (read_ns(CLOCK_MONOTONIC) - c->monotonic_ns);
}
