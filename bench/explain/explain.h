/* What `minipod explain` can explain: one line in explain.def each. All print to standard output;
 * nothing is run and nothing is measured. */
#ifndef MINIPOD_BENCH_EXPLAIN_EXPLAIN_H
#define MINIPOD_BENCH_EXPLAIN_EXPLAIN_H

#include "bench/common/planned.h"
#include "bench/common/table.h"

typedef struct pod_explain {
    const pod_config *config;
    pod_arena *arena;    /* for as long as the explanation takes, as what follows */
    pod_planned planned; /* once it is planned */
    const pod_program *program;
} pod_explain;

POD_MUST pod_status pod_explain_plan(pod_explain *e);
/* Plans too; the program is a training step's. */
POD_MUST pod_status pod_explain_compile(pod_explain *e);

typedef pod_status pod_explain_fn(pod_explain *e);
#define POD_EXPLAIN(name, about) pod_explain_fn pod_explain_##name;
#include "bench/explain/explain.def"
#undef POD_EXPLAIN

#endif
