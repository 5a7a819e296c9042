#include "kernels/peak/peak.h"

#include "kernels/base/cpu.h"
#include "kernels/peak/peak_kernels.h"

static const pod_peak_kernel kernels[] = {
#define POD_PEAK(name, needs, dtype, id) {name, needs, dtype, pod__peak_##id},
#include "kernels/peak/peak.def"
#undef POD_PEAK
};

const pod_peak_kernel *pod_peak_kernels(int *n)
{
    *n = (int)(sizeof kernels / sizeof kernels[0]);
    return kernels;
}
