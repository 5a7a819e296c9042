/* Any text as a file of jobs, in each format: those that are read are in order and have names of their
 * own, and a small fleet of them closes its ledger. */
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/fleet/fleet_sim.h"
#include "runtime/fleet/jobs/jobs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { MAX_JOBS = 64, MAX_CHIPS = 64 };

static void simulate(pod_arena *a, const pod_fleet_jobs *jobs)
{
    pod_topology t;
    pod_fleet_result r;
    pod_fleet_request request[MAX_JOBS];
    int n = 0;
    for (int i = 0; i < jobs->n && n < MAX_JOBS; i++) {
        const pod_fleet_entry *e = &jobs->entry[i];
        if (e->chips > MAX_CHIPS) continue;
        request[n++] = (pod_fleet_request){.name = e->name,
                                           .submit = e->submit - jobs->entry[0].submit,
                                           .chips = e->chips,
                                           .priority = e->priority,
                                           .estimate = 1,
                                           .plan = {.n_steps = 1, .every = 1, .step = e->run}};
    }
    if (pod_topology_parse("torus:8x8", &t) != POD_OK) abort();
    const pod_fleet_plan p = {
        .topology = &t,
        .n_pods = 1,
        .n_requests = n,
        .request = request,
        .policy = {.backfill = POD_BACKFILL_easy, .placement = pod_placement_find("best")},
        .horizon = INT64_C(1000000000000)};
    if (pod_fleet_simulate(a, &p, &r) != POD_OK) abort(); /* it asserts that the ledger closes */
}

static void check(const pod_fleet_jobs *jobs)
{
    for (int i = 0; i < jobs->n; i++) {
        const pod_fleet_entry *e = &jobs->entry[i];
        POD_ASSERT(e->chips > 0 && e->run > 0 && e->submit >= 0 && *e->name, "job %d", i);
        POD_ASSERT(i == 0 || e->submit >= e[-1].submit, "job %d is out of order", i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const formats[] = {"csv", "philly", "openb", "swf"};
    for (int i = 0; i < 4; i++) {
        pod_arena *a;
        pod_fleet_jobs jobs;
        if (pod_arena_create(NULL, &a) != POD_OK) return 0;
        char *text = pod_arena_text(a, "%.*s", (int)bytes, (const char *)data);
        if (text && pod_fleet_jobs_parse(a, formats[i], "fuzz", text, &jobs) == POD_OK) {
            check(&jobs);
            simulate(a, &jobs);
        }
        pod_arena_destroy(a);
    }
    return 0;
}
