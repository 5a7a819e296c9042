/* Any text as a command that starts ranks, and any bytes as what mpirun says: words hold no byte that
 * the text has not, and who died is a rank. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bench/launch/sweep.h"
#include "bench/launch/text.h"
#include "kernels/base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void split(const char *text)
{
    pod_arena *a;
    const char **words;
    int n;
    POD_ASSERT(pod_arena_create(NULL, &a) == POD_OK, "%s", pod_error_text());
    if (pod_launch_split(a, text, &words, &n) == POD_OK) {
        size_t all = 0;
        for (int i = 0; i < n; i++) all += strlen(words[i]);
        POD_ASSERT(n > 0 && words[0][0] != '\0' && !words[n] && all <= strlen(text),
                   "%d words of %zu bytes in '%s'", n, all, text);
    }
    pod_arena_destroy(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char text[4096];
    uint32_t family = 0;
    if (bytes >= sizeof text) return 0;
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = '\0';
    split(text);
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
