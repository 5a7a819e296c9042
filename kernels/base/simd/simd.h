/* Includes the vectors of the instruction set that a <family>_simd.c is compiled for. That file is
 * written once, with simd/avx512.h, simd/pair.h and simd/loop.h.
 *
 *   POD_SIMD      avx2, avx512 or avx512_bf16
 *   POD_ISA(x)    the name x_<POD_SIMD>
 *   POD_ISA_SET   name and needs of the set of functions (kernels/base/sets.h) */
#ifndef MINIPOD_KERNELS_BASE_SIMD_SIMD_H
#define MINIPOD_KERNELS_BASE_SIMD_SIMD_H

#include "kernels/base/cpu.h"

#ifdef __AVX512F__
#include "kernels/base/simd/avx512.h"
#else
#include "kernels/base/simd/avx2.h"
#endif
#include "kernels/base/simd/pair.h"
#include "kernels/base/simd/sigmoid.h"

#define POD__JOIN(a, b, c) a##b##c
#define POD_JOIN(a, b, c)  POD__JOIN(a, b, c)
#define POD_ISA(name)      POD_JOIN(name, _, POD_SIMD)

/* Runs a statement in which T is a constant type: POD_BF16 if t is that, else POD_F32. */
#define POD_TYPED(t, ...)                 \
    do {                                  \
        if ((t) == POD_BF16) {            \
            const pod_dtype T = POD_BF16; \
            __VA_ARGS__;                  \
        } else {                          \
            const pod_dtype T = POD_F32;  \
            __VA_ARGS__;                  \
        }                                 \
    } while (0)

#endif
