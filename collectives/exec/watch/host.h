/* What waiting asks of Linux itself: to sleep until another process rings. For collectives/exec
 * only. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_HOST_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_HOST_H

#include <stdbool.h>
#include <stdint.h>

/* Sleeps while *word is `value`, at most so long; wakes without a reason too. The word may lie in
 * memory that processes share. */
void pod__host_sleep(uint32_t *word, uint32_t value, int64_t timeout_ns);
void pod__host_wake(uint32_t *word); /* everyone who sleeps on it */

/* Tells the core that this is a loop that waits. */
static inline void pod__host_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
