/* simulate --explain: what bounds each part of the network, what the all-reduce hides behind, who is
 * waited for, and what would help most. */
#ifndef MINIPOD_BENCH_SIMULATE_EXPLAIN_H
#define MINIPOD_BENCH_SIMULATE_EXPLAIN_H

#include "bench/common/table.h"
#include "bench/simulate/simulated.h"

enum { POD_MAX_NETWORK_PARTS = 256, POD_MAX_WHAT_IFS = 16, POD_NETWORK_PART_BYTES = 48 };

typedef struct
    pod_network_part { /* instructions of one phase whose labels begin alike, up to the first
                             slash */
    char name[POD_NETWORK_PART_BYTES];
    pod_phase phase;
    double seconds, bound_s[POD_N_BOUNDS];
} pod_network_part;

typedef struct pod_what_if {
    const char *text;
    double step_s;
} pod_what_if;

typedef struct pod_explanation {
    double step_s; /* as it is */
    pod_network_part part[POD_MAX_NETWORK_PARTS];
    pod_what_if what_if[POD_MAX_WHAT_IFS]; /* what helps most first */
    int n_parts, n_what_ifs;
    int slowest, n_slow; /* cores; of none n_slow is 0 */
    double slow_factor;  /* of the slowest */
    double without_slow_s;
} pod_explanation;

/* In the arena. What would help is found by simulating again with one thing changed at a time. */
POD_MUST pod_status pod_simulate_explain(pod_planned *p, const pod_simulated *s, pod_arena *arena,
                                         pod_log *log, const pod_explanation **out);
POD_MUST pod_status pod_explanation_print(const pod_explanation *e, const pod_planned *p,
                                          const pod_simulated *s, FILE *to);
/* Rows of a table of quantities. */
void pod_explanation_rows(const pod_explanation *e, pod_table *t);
void pod_explanation_json(const pod_explanation *e, pod_json *j); /* keys of the open object */

#endif
