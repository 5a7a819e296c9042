/* Any text as a mix of jobs: its shares sum to 1, and jobs that are drawn of it are whole and in order. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/fleet/jobs/mix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void draw(pod_arena *a, const pod_mix *m, pod_arrivals arrivals)
{
    const pod_mix_site site = {m->row[0].machine, 64};
    pod_fleet_jobs jobs;
    const pod_stamp horizon = INT64_C(60000000000);
    if (pod_mix_draw(a, m, &site, 1, arrivals, 0.5, horizon, 1, &jobs) != POD_OK) return;
    for (int i = 0; i < jobs.n; i++) {
        const pod_fleet_entry *e = &jobs.entry[i];
        POD_ASSERT(e->chips > 0 && e->run > 0 && e->submit >= 0 && e->submit <= horizon && *e->name,
                   "job %d", i);
        POD_ASSERT(e->min_chips <= e->chips && !(e->ideal_share > 1), "job %d", i);
        POD_ASSERT(i == 0 || e->submit >= e[-1].submit, "job %d is out of order", i);
    }
}

static void check(const pod_mix *m)
{
    double sum = 0;
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->row[i].machine, m->row[0].machine) == 0) sum += m->row[i].share;
    POD_ASSERT(m->n > 0 && fabs(sum - 1) < 1e-5, "%d classes with shares of %g", m->n, sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pod_arena *a;
    pod_mix m;
    if (pod_arena_create(NULL, &a) != POD_OK) return 0;
    char *text = pod_arena_text(a, "%.*s", (int)bytes, (const char *)data);
    if (text && pod_mix_parse(a, "fuzz", text, &m) == POD_OK) {
        check(&m);
        draw(a, &m, (pod_arrivals)(bytes % POD_N_ARRIVALS));
    }
    pod_arena_destroy(a);
    return 0;
}
