/* Any text as a scheduler's events: what is read adds up. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/assert.h"
#include "runtime/goodput/fleet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(const pod_fleet *f)
{
    double together_s = 0;
    for (int i = 0; i < f->n_jobs; i++) {
        const pod_fleet_job *j = &f->job[i];
        together_s += j->together_s;
        POD_ASSERT(j->together_s >= 0 && j->partial_s >= 0 && j->queue_s >= 0 &&
                       j->together_s + j->partial_s <= j->asked_s * (1 + 1e-9),
                   "'%s' asked for %g, had %g and %g", j->name, j->asked_s, j->together_s,
                   j->partial_s);
        POD_ASSERT(pod_fleet_find(f, j->name) == j, "'%s' stands twice", j->name);
    }
    POD_ASSERT(f->together_s == together_s, "jobs have %g, the fleet %g", together_s,
               f->together_s);
    POD_ASSERT(!(pod_fleet_goodput(f) > 1 + 1e-9), "goodput %g", pod_fleet_goodput(f));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pod_arena *a;
    pod_fleet f;
    if (pod_arena_create(NULL, &a) != POD_OK) return 0;
    char *text = pod_arena_text(a, "%.*s", (int)bytes, (const char *)data);
    if (text && pod_fleet_parse(a, "fuzz", text, &f) == POD_OK) check(&f);
    pod_arena_destroy(a);
    return 0;
}
