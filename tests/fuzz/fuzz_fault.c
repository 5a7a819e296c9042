/* Any text as faults: those that are read are within their ranges. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/config/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char text[4096];
    pod_fault f[POD_MAX_FAULTS];
    int n;
    if (bytes >= sizeof text) return 0;
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = '\0';
    if (pod_faults_parse(text, f, &n) != POD_OK) return 0;
    POD_ASSERT(n >= 0 && n <= POD_MAX_FAULTS, "%d faults in '%s'", n, text);
    for (int i = 0; i < n; i++)
        POD_ASSERT(f[i].rank >= 0 && f[i].step >= 0 && f[i].byte >= 0 && f[i].dim >= 0 &&
                       f[i].dim < 3 && (f[i].kind == POD_FAULT_SLOW) == (f[i].factor > 0),
                   "'%s' is read as rank %d, factor %g", text, f[i].rank, f[i].factor);
    return 0;
}
