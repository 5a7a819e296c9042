/* Small fleets for tests. */
#ifndef MINIPOD_TESTS_UNIT_RUNTIME_FLEET_FLEETS_H
#define MINIPOD_TESTS_UNIT_RUNTIME_FLEET_FLEETS_H

#include "runtime/fleet/fleet_sim.h"
#include "tests/harness/harness.h"

#define S(seconds) ((pod_stamp)(seconds)*1000000000)

extern pod_arena *arena; /* between begin and end */
void begin(void);
void end(void);

typedef struct line { /* a job that takes `run` seconds and has nothing but steps */
    int submit, chips, run, priority;
} line;

/* These jobs on one such pod for 1,000 s, first come, first served, at the first place that fits. */
pod_fleet_plan plan_of(const char *pod, const line *l, int n);
pod_fleet_result simulate(const pod_fleet_plan *p);

static inline double chip_s(pod_chip_ns x) { return (double)x * 1e-9; }

#endif
