/* Any bytes as what mpirun says: who died is a rank. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bench/launch/launch.h"
#include "kernels/base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char text[4096];
    uint32_t family = 0;
    if (bytes >= sizeof text) return 0;
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = '\0';
    pod_launch_scanner s = pod_launch_scanner_start();
    pod_launch_scanner_feed(&s, text, bytes);
    pod_launch_scanner_feed(&s, "\n", 1);
    POD_ASSERT(s.heard.rank >= -1 && s.heard.signal >= 0 && (s.heard.rank >= 0 || !s.heard.signal),
               "'%s': rank %d, signal %d", text, s.heard.rank, s.heard.signal);
    if (pod_launch_family_of(text, &family))
        POD_ASSERT(family <= UINT16_MAX, "'%s' is of family %x", text, (unsigned)family);
    (void)pod_launch_is_left_by(text, family);
    (void)pod_launch_family_of_session(text, 40, 0, &family);
    return 0;
}
