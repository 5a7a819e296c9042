/* Any text as what a run left, run.json up to the first record of its log: one that is read has a time
 * and is like itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report/mlperf.h"
#include "kernels/base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(const pod_mlperf_run *r)
{
    POD_ASSERT(r->run_s >= 0 && isfinite(r->run_s), "a run of %g s", r->run_s);
    POD_ASSERT(r->ranks >= 1 && isfinite(r->target) && isfinite(r->epochs), "%d ranks, target %g",
               r->ranks, r->target);
    if (!r->was_stopped && pod_mlperf_check_alike(r, 1) != POD_OK) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pod_arena *a;
    pod_mlperf_run r;
    char *text = malloc(bytes + 1);
    POD_ASSERT(text, "no memory for %zu bytes", bytes);
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = '\0';
    char *log = strstr(text, "\n:::MLLOG");
    if (log) *log++ = '\0';
    if (pod_arena_create(NULL, &a) != POD_OK) abort();
    if (pod_mlperf_parse(a, "fuzz", text, log ? log : "", &r) == POD_OK) check(&r);
    pod_arena_destroy(a);
    free(text);
    return 0;
}
