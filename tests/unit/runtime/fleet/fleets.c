#include "tests/unit/runtime/fleet/fleets.h"

pod_arena *arena;

static pod_fleet_request request_of(const line *l)
{
    return (pod_fleet_request){.name = "job",
                               .submit = S(l->submit),
                               .chips = l->chips,
                               .priority = l->priority,
                               .estimate = 1,
                               .plan = {.n_steps = l->run, .every = l->run, .step = S(1)}};
}

pod_fleet_plan plan_of(const char *pod, const line *l, int n)
{
    pod_topology *t = POD_ARENA_NEW(arena, pod_topology, 1);
    pod_fleet_request *r = POD_ARENA_NEW(arena, pod_fleet_request, n);
    POD_CHECK_OK(pod_topology_parse(pod, t));
    for (int i = 0; i < n; i++) r[i] = request_of(&l[i]);
    return (pod_fleet_plan){.topology = t,
                            .n_pods = 1,
                            .n_requests = n,
                            .request = r,
                            .horizon = S(1000),
                            .policy = {.placement = pod_placement_find("first")},
                            .logs = true};
}

pod_fleet_result simulate(const pod_fleet_plan *p)
{
    pod_fleet_result r = {0};
    POD_CHECK_OK(pod_fleet_simulate(arena, p, &r));
    return r;
}

void begin(void) { CU_ASSERT_EQUAL_FATAL(pod_arena_create(NULL, &arena), POD_OK); }
void end(void) { pod_arena_destroy(arena); }
