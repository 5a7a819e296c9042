#include "kernels/gemm/pack.h"

#include <string.h>

#include "kernels/gemm/pack_kernels.h"

static const pod_pack *const packs[] = {
#if defined(__x86_64__)
    &pod__pack_avx512,
    &pod__pack_avx2,
#endif
    &pod__pack_plain,
};

enum { N_PACKS = sizeof packs / sizeof packs[0] };

const pod_pack *const *pod_packs(int *n)
{
    *n = N_PACKS;
    return packs;
}

const pod_pack *pod_pack_pick(uint32_t cpu)
{
    for (int i = 0; i < N_PACKS; i++)
        if ((packs[i]->needs & ~cpu) == 0) return packs[i];
    return &pod__pack_plain;
}

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
