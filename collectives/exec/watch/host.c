#define _GNU_SOURCE /* syscall */
#include "collectives/exec/watch/host.h"

#include <limits.h>
#include <linux/futex.h>
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
