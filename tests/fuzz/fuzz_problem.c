/* Problems as lines and as files on any text: what parses prints, and the print reads back the
 * same. */
#include <string.h>

#include "bench/kernels/problem.h"
#include "kernels/base/assert.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_printed(const pod_problem *p)
{
    char printed[POD_PROBLEM_TEXT_BYTES], reprinted[POD_PROBLEM_TEXT_BYTES];
    pod_problem again;
    pod_problem_print(p, printed, sizeof printed);
    POD_ASSERT(pod_problem_parse("printed", printed, &again) == POD_OK, "'%s': %s", printed,
               pod_error_text());
    POD_ASSERT(strcmp(pod_problem_print(&again, reprinted, sizeof reprinted), printed) == 0,
               "'%s' reads back as '%s'", printed, reprinted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char text[512];
    pod_problem one, *all = NULL;
    pod_arena *arena;
    int n = 0;
    if (bytes >= sizeof text) return 0;
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = '\0';
    POD_ASSERT(pod_arena_create(NULL, &arena) == POD_OK, "%s", pod_error_text());
    if (pod_problem_parse("text", text, &one) == POD_OK) check_printed(&one);
    pod_status s = pod_problems_parse(arena, "text", text, &all, &n);
    if (s != POD_E_NOMEM) s = pod_problems_load(arena, fuzz_file(data, bytes), &all, &n);
    (void)s; /* what was read before a line that is wrong prints as well */
    for (int i = 0; i < n; i++) check_printed(&all[i]);
    pod_arena_destroy(arena);
    return 0;
}
