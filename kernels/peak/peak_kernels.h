/* What the peak_<isa>.c files give to the table in peak.c. */
#ifndef MINIPOD_KERNELS_PEAK_PEAK_KERNELS_H
#define MINIPOD_KERNELS_PEAK_PEAK_KERNELS_H

#include "kernels/peak/peak.h"

#define POD_PEAK(name, needs, dtype, id) double pod__peak_##id(int64_t n_rounds);
#include "kernels/peak/peak.def"
#undef POD_PEAK

/* Where a result goes so that the work behind it has to be done. */
static inline void pod__peak_keep(float x)
{
    volatile float sink = x;
    (void)sink;
}

#endif
