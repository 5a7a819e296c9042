#include "kernels/gemm/pack.h"

#include <string.h>

#include "kernels/base/sets.h"
#include "kernels/gemm/pack_loops.h"

const pod_pack pod__pack_ref = {"plain", 0, widen, narrow, windows};

POD_SETS(pack)

void pod_pack_load(const pod_pack *pack, pod_dtype t, const void *src, int64_t at, int64_t n,
                   float *out)
{
    if (t == POD_BF16)
        pack->widen(n, (const pod_bf16 *)src + at, out);
    else
        memcpy(out, (const float *)src + at, (size_t)n * sizeof *out);
}

void pod_pack_store(const pod_pack *pack, pod_dtype t, const float *src, int64_t n, void *dst,
                    int64_t at)
{
    if (t == POD_BF16)
        pack->narrow(n, src, (pod_bf16 *)dst + at);
    else
        memcpy((float *)dst + at, src, (size_t)n * sizeof *src);
}
