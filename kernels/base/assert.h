/* Faults of ours, not of the world: an index out of range, an unmatched dependency.
 *
 * POD_ASSERT stays in release builds; it prints the rank, the place and the message, and aborts the
 * whole job. POD_DCHECK is for inner loops and vanishes under NDEBUG. */
#ifndef MINIPOD_KERNELS_BASE_ASSERT_H
#define MINIPOD_KERNELS_BASE_ASSERT_H

#include "kernels/base/status.h"

/* Who ends the job. The default is abort(); the MPI layer puts in a call that takes all ranks down.
 * `rank` is printed with every assertion; -1, the default, prints none. */
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
