#define _GNU_SOURCE /* syscall, sched_getaffinity */
#include "collectives/exec/host.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

void pod__host_sleep(uint32_t *word, uint32_t value, int64_t timeout_ns)
{
    const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / NS_PER_S),
                                     .tv_nsec = (long)(timeout_ns % NS_PER_S)};
    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

void pod__host_wake(uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void pod__host_cpus(pod__cpu_set *out)
{
    cpu_set_t allowed;
    memset(out, 0, sizeof *out);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (size_t i = 0; i < 8 * sizeof out->bits && i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed)) out->bits[i / 64] |= (uint64_t)1 << (i % 64);
}

int pod__cpu_set_count(const pod__cpu_set *set)
{
    int n = 0;
    for (size_t i = 0; i < sizeof set->bits / sizeof set->bits[0]; i++)
        n += __builtin_popcountll(set->bits[i]);
    return n;
}
