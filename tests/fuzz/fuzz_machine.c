/* Machine files on any text: they neither crash nor lie. One that is read prints, and reads back
 * equal. */
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/machine/machine.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static char *print(const pod_machine *m, size_t *bytes)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, bytes);
    POD_ASSERT(to, "no memory for %zu bytes", sizeof *m);
    pod_machine_print(m, to);
    fclose(to);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pod_machine m, again;
    if (pod_machine_read(fuzz_file(data, bytes), &m) != POD_OK) return 0;
    size_t n, n_again;
    char *text = print(&m, &n);
    pod_status s = pod_machine_read(fuzz_file((const uint8_t *)text, n), &again);
    POD_ASSERT(s == POD_OK, "%s: printed\n%s", pod_error_text(), text);
    char *text_again = print(&again, &n_again);
    POD_ASSERT(n == n_again && strcmp(text, text_again) == 0, "%s\nbecomes\n%s", text, text_again);
    free(text);
    free(text_again);
    return 0;
}
