/* Linux calls for waiting: sleeping until another process wakes this one. For collectives/exec
 * only. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_HOST_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_HOST_H

#include <stdbool.h>
#include <stdint.h>

/* Sleeps while *word is `value`, at most timeout_ns; may wake spuriously. The word may be in memory
 * that processes share. */
void pod__host_sleep(uint32_t *word, uint32_t value, int64_t timeout_ns);
void pod__host_wake(uint32_t *word); /* wakes all that sleep on it */

/* Tells the core that this is a spin loop. */
static inline void pod__host_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
