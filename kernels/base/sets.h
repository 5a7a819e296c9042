/* A family of kernels has one set of functions per instruction set.
 *
 * <family>_simd.c is compiled once per instruction set (kernels/CMakeLists.txt) and ends with its
 * set, `const pod_<family> POD_ISA(pod__<family>) = {POD_ISA_SET, ...}`. <family>_ref.c ends with
 * the reference, pod__<family>_ref, and with one of the macros below, which defines
 *
 *   pod_<family>_sets()      all sets, best first, the reference last, then NULL
 *   pod_<family>_pick(cpu)   the first set that a CPU with these features can run; the reference
 *                            for POD_CPU_REFERENCE_ONLY */
#ifndef MINIPOD_KERNELS_BASE_SETS_H
#define MINIPOD_KERNELS_BASE_SETS_H

#include <stddef.h>

#include "kernels/base/cpu.h"

#if defined(__x86_64__)
#define POD_SETS(family)                                                    \
    extern const pod_##family pod__##family##_avx512, pod__##family##_avx2; \
    POD__SETS(family, &pod__##family##_avx512, &pod__##family##_avx2, )
/* Adds a set for AVX512_BF16, for families that store or multiply much bf16. */
#define POD_SETS_BF16(family)                                                      \
    extern const pod_##family pod__##family##_avx512_bf16, pod__##family##_avx512, \
        pod__##family##_avx2;                                                      \
    POD__SETS(family, &pod__##family##_avx512_bf16, &pod__##family##_avx512,       \
              &pod__##family##_avx2, )
#else
#define POD_SETS(family)      POD__SETS(family, )
#define POD_SETS_BF16(family) POD__SETS(family, )
#endif

#define POD__SETS(family, ...)                                                           \
    static const pod_##family *const sets[] = {__VA_ARGS__ & pod__##family##_ref, NULL}; \
    const pod_##family *const *pod_##family##_sets(void) { return sets; }                \
    const pod_##family *pod_##family##_pick(uint32_t cpu)                                \
    {                                                                                    \
        const pod_##family *const *at = sets;                                            \
        if (cpu == POD_CPU_REFERENCE_ONLY) return &pod__##family##_ref;                  \
        while ((*at)->needs & ~cpu) at++;                                                \
        return *at;                                                                      \
    }

#endif
