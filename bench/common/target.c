#include "bench/common/target.h"

#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "runtime/core/words.h"

enum { MAX_NAMES = 2 * POD_MAX_CANDIDATES, WORD_BYTES = 64 };

static int kernel_names(const char *name[MAX_NAMES])
{
    int n, count = 0;
    const pod_gemm_kernel *gemm = pod_gemm_kernels(&n);
    for (int i = 0; i < n; i++) name[count++] = gemm[i].name;
    const pod_conv_kernel *conv = pod_conv_kernels(&n);
    for (int i = 0; i < n; i++) name[count++] = conv[i].name;
    return count;
}

pod_status pod_target_check_impls(const char *impl, const char *const name[], int n)
{
    char word[WORD_BYTES];
    for (const char *at = impl; *at;) {
        int i = 0;
        POD_TRY(pod_word_take("impl", &at, word, sizeof word));
        while (i < n && strcmp(name[i], word) != 0) i++;
        const char *near = i < n ? NULL : pod_nearest_name(word, name, n);
        if (near)
            return pod_fail(POD_E_INVALID, "impl: there is no kernel '%s'; did you mean '%s'?",
                            word, near);
        if (i == n)
            return pod_fail(POD_E_INVALID,
                            "impl: there is no kernel '%s' (minipod explain kernels)", word);
    }
    return POD_OK;
}

pod_status pod_target_machine(pod_comm *comm, const pod_config *c, pod_machine *out)
{
    const char *name = pod_config_text(c, POD_OPT_MACHINE);
    pod_status mine = POD_OK;
    if (pod_comm_rank(comm) == 0) mine = pod_machine_load(name, out);
    if (mine == POD_OK && pod_comm_rank(comm) == 0 && pod_machine_is_virtual(out))
        mine = pod_fail(POD_E_INVALID, "machine: %s is not this host: minipod simulate", name);
    POD_TRY(pod_comm_agree(comm, mine));
    pod_comm_broadcast(comm, 0, out, sizeof *out);
    return POD_OK;
}

pod_status pod_target_from(const pod_config *c, const pod_machine *machine, pod_target *out)
{
    const char *impl = pod_config_text(c, POD_OPT_IMPL);
    const char *name[MAX_NAMES];
    POD_TRY(pod_target_check_impls(impl, name, kernel_names(name)));
    *out = (pod_target){
        .name = "host", .cpu = pod_cpu_features(), .impl = impl, .rates = &machine->kernel_rate};
    return POD_OK;
}
