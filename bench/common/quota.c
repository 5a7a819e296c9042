#include "bench/common/quota.h"

#include <stdio.h>

#include "kernels/base/limits.h"

bool pod_quota_note(int cores, char *note, size_t bytes)
{
    const double quota = pod_limit_cpus();
    if (!(quota < cores)) return false;
    snprintf(
        note, bytes,
        "a quota allows the ranks of a host %.3g of them: times are the operating system's too",
        quota);
    return true;
}
