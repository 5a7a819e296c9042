/* Assertions, for bugs in minipod (an index out of range, an unmatched dependency), not for bad
 * input or a failing system.
 *
 * POD_ASSERT stays in release builds; it prints rank, file, line and message, and aborts the whole
 * job. POD_DCHECK is for inner loops and is compiled out under NDEBUG. */
#ifndef MINIPOD_KERNELS_BASE_ASSERT_H
#define MINIPOD_KERNELS_BASE_ASSERT_H

#include "kernels/base/status.h"

/* Sets the function that ends the job. The default is abort(); the MPI layer installs one that ends
 * all ranks. `rank` is printed with every failure; -1, the default, prints none. */
void pod_assert_install(void (*die)(void), int rank);

_Noreturn void pod__assert_failed(const char *file, int line, const char *cond, const char *fmt,
                                  ...) POD_PRINTF(4, 5);

/* POD_ASSERT(i < n, "slot %d of %d", i, n): the message carries both values. */
#define POD_ASSERT(cond, ...)                                                    \
    do {                                                                         \
        if (!(cond)) pod__assert_failed(__FILE__, __LINE__, #cond, __VA_ARGS__); \
    } while (0)

#ifdef NDEBUG
#define POD_DCHECK(cond, ...) ((void)0)
#else
#define POD_DCHECK(cond, ...) POD_ASSERT(cond, __VA_ARGS__)
#endif

#endif
