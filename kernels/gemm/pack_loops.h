/* The loops of pack.h in plain C, compiled for the instruction set of the file that includes it. */
#ifndef MINIPOD_KERNELS_GEMM_PACK_LOOPS_H
#define MINIPOD_KERNELS_GEMM_PACK_LOOPS_H

#include <stdint.h>
#include <string.h>

#include "kernels/base/bf16.h"

static inline void widen(int64_t n, const pod_bf16 *restrict src, float *restrict dst)
{
    for (int64_t i = 0; i < n; i++) dst[i] = pod_bf16_to_f32(src[i]);
}

static inline void narrow(int64_t n, const float *restrict src, pod_bf16 *restrict dst)
{
    for (int64_t i = 0; i < n; i++) dst[i] = pod_bf16_from_f32(src[i]);
}

/* Copies one column of all windows, `width` floats wide. With a constant width each copy is a
 * vector move. Looping over windows prevents the compiler from replacing the loop by a call of
 * memcpy, which costs more than copying a few dozen floats. */
static inline void column(int64_t n, int width, const float *restrict src, int64_t step,
                          float *restrict dst, int64_t ld)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(dst + i * ld, src + i * step, (size_t)width * sizeof *dst);
}

static inline void windows(int64_t n, int64_t run, const float *src, int64_t step, float *dst,
                           int64_t ld)
{
    int64_t at = 0;
    for (; at + 16 <= run; at += 16) column(n, 16, src + at, step, dst + at, ld);
    if (at == run) return;
    if (run >= 16) { /* the rest, as a full column that overlaps the previous one */
        column(n, 16, src + run - 16, step, dst + run - 16, ld);
        return;
    }
    if (run & 8) column(n, 8, src, step, dst, ld);
    at = run & 8;
    if (run & 4) column(n, 4, src + at, step, dst + at, ld);
    at += run & 4;
    if (run & 2) column(n, 2, src + at, step, dst + at, ld);
    at += run & 2;
    if (run & 1) column(n, 1, src + at, step, dst + at, ld);
}

#endif
