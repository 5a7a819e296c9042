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
            double allocated;
            if (pod_packing_run(&s, (pod_packer)how, 1.3, 1, &allocated) != POD_OK) continue;
            POD_ASSERT(allocated >= 0 && allocated <= 1 + 1e-9, "allocated %g", allocated);
        }
    pod_arena_destroy(a);
    return 0;
}
