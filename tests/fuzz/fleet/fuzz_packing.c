/* Any text as openb's nodes and as its tasks: no packer allocates more GPUs than there are. */
#include <stddef.h>

#include "runtime/fleet/place/packing.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pod_arena *a;
    pod_packing_set s;
    const char *path = fuzz_file(data, bytes);
    if (pod_arena_create(NULL, &a) != POD_OK) return 0;
    if (pod_packing_read(a, path, path, &s) == POD_OK)
        for (int how = 0; how < POD_N_PACKERS; how++) {
            static const double load[] = {0.5, 1.3};
            double share[2];
            if (pod_packing_run(&s, (pod_packer)how, 1, 2, load, share) != POD_OK) continue;
            POD_ASSERT(share[0] >= 0 && share[0] <= share[1] && share[1] <= 1 + 1e-9,
                       "allocated %g, then %g", share[0], share[1]);
        }
    pod_arena_destroy(a);
    return 0;
}
