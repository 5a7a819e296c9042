/* The subjects of `minipod explain`: one line in explain.def each. All print to standard output;
 * they run and measure nothing. */
#ifndef MINIPOD_BENCH_EXPLAIN_EXPLAIN_H
#define MINIPOD_BENCH_EXPLAIN_EXPLAIN_H

#include "bench/common/planned.h"
#include "bench/common/table.h"

typedef struct pod_explain {
    const pod_config *config;
    pod_arena *arena;    /* lives as long as the explanation, like the fields below */
    pod_planned planned; /* set by pod_explain_plan */
    const pod_program *program;
} pod_explain;

POD_MUST pod_status pod_explain_plan(pod_explain *e);
/* Calls pod_explain_plan and compiles the program of a training step. */
POD_MUST pod_status pod_explain_compile(pod_explain *e);

typedef pod_status pod_explain_fn(pod_explain *e);
#define POD_EXPLAIN(name, about) pod_explain_fn pod_explain_##name;
#include "bench/explain/explain.def"
#undef POD_EXPLAIN

#endif
