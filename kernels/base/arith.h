/* Integer helpers, and POD_INLINE for functions whose loops the compiler unrolls for constant
 * arguments. */
#ifndef MINIPOD_KERNELS_BASE_ARITH_H
#define MINIPOD_KERNELS_BASE_ARITH_H

#include <stdint.h>

#define POD_INLINE static inline __attribute__((always_inline))

static inline int64_t pod_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t pod_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* Return n / of, rounded up, and n, rounded up to a multiple of `to`; n >= 0, of > 0, to > 0. */
static inline int64_t pod_div_up(int64_t n, int64_t of) { return (n + of - 1) / of; }
static inline int64_t pod_round_up(int64_t n, int64_t to) { return pod_div_up(n, to) * to; }

#endif
