/* --impl: names of kernels, of any table, and of peers. */
#include <string.h>

#include "bench/common/target.h"
#include "bench/kernels/vector.h"
#include "bench/peers/peer.h"
#include "kernels/base/assert.h"
#include "kernels/conv/conv.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/gemm/gemm.h"

enum { MAX_NAMES = 128 };

typedef struct names {
    const char *name[MAX_NAMES];
    int n;
} names;

static void add(names *all, const char *name)
{
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->name[i], name) == 0) return;
    POD_ASSERT(all->n < MAX_NAMES, "%d names of kernels", all->n);
    all->name[all->n++] = name;
}

#define ADD_ALL(type, table, all)                          \
    do {                                                   \
        int n_;                                            \
        const type *k_ = table(&n_);                       \
        for (int i = 0; i < n_; i++) add(all, k_[i].name); \
    } while (0)

static void add_known(names *all)
{
    int n;
    ADD_ALL(pod_gemm_kernel, pod_gemm_kernels, all);
    ADD_ALL(pod_conv_kernel, pod_conv_kernels, all);
    for (int i = 0; pod_depthwise_sets()[i]; i++) add(all, pod_depthwise_sets()[i]->name);
    for (int f = 0; f < POD_N_FAMILIES; f++) {
        const char *name;
        uint32_t needs;
        for (int i = 0; pod_vector_set((pod_family_id)f, i, &name, &needs); i++) add(all, name);
    }
    add(all, "sgemm");
    add(all, "memcpy");
    add(all, "memcpy64k");
    const pod_peer *peer = pod_peers(&n);
    for (int i = 0; i < n; i++) add(all, peer[i].name);
    add(all, "all");
}

int pod_kernels_longest_impl(void)
{
    names known = {.n = 0};
    size_t longest = 0;
    add_known(&known);
    for (int i = 0; i < known.n; i++)
        if (strlen(known.name[i]) > longest) longest = strlen(known.name[i]);
    return (int)longest;
}

pod_status pod_kernels_check_impls(const char *impl)
{
    names known = {.n = 0};
    add_known(&known);
    return pod_target_check_impls(impl, known.name, known.n);
}
