/* The loops of this folder, for the table in peak.c. */
#ifndef MINIPOD_KERNELS_PEAK_PEAK_KERNELS_H
#define MINIPOD_KERNELS_PEAK_PEAK_KERNELS_H

#include <stdint.h>

double pod__peak_amx(int64_t n_rounds);
double pod__peak_avx512_bf16(int64_t n_rounds);
double pod__peak_avx512(int64_t n_rounds);
double pod__peak_avx2(int64_t n_rounds);

/* Consumes a result, so that the compiler cannot remove the work. */
static inline void pod__peak_keep(float x)
{
    volatile float sink = x;
    (void)sink;
}

#endif
