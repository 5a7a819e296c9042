/* minipod simulate, in parts, each a file: what a step takes (simulated.h), and what is asked of it
 * and told of it. */
#ifndef MINIPOD_BENCH_SIMULATE_SIMULATE_H
#define MINIPOD_BENCH_SIMULATE_SIMULATE_H

#include "bench/command.h"
#include "bench/common/record.h"
#include "bench/simulate/simulated.h"

/* ---- options.c: options that would have no effect on what is asked for ---- */

/* Before anything is planned, of a step and not of a long job. Options that other commands take too
 * may stand in a file or in the environment for those; typed, they are meant. E_INVALID, naming the
 * option. */
POD_MUST pod_status pod_simulate_options_check(const pod_config *c);
/* The part of it that long jobs share, whose steps are simulated, too: a training's course. */
POD_MUST pod_status pod_simulate_options_of_step(const pod_config *c);
/* The same of what a machine does not have: a pod a host's kernels. */
POD_MUST pod_status pod_simulate_options_suit(const pod_config *c, const pod_planned *p);
/* The same of links that nothing has gone over. */
POD_MUST pod_status pod_simulate_options_used(const pod_planned *p, const pod_simulated *s);

/* ---- settings.c: the options that were given, and the algorithms that ran ---- */

/* A row for each option that was given and has no row of its own, and that is not about output; in
 * JSON all that were given. */
void pod_simulate_add_options(pod_record *r, const pod_config *c);
/* A note of each that was given and that a table of meshes does not show. */
void pod_simulate_note_options(pod_table *t, const pod_config *c);
/* An object "options" of all that were given, as they were written. */
void pod_simulate_put_options(const pod_config *c, pod_json *j);

/* The command line that simulates the same, whoever gave its options, in the arena: `minipod
 * simulate --mesh 2x8x8 ...`. NULL without memory. */
const char *pod_simulate_command(const pod_config *c, pod_arena *arena);

/* A row for each kind of collective with the algorithms that ran, and an array "algorithms". */
void pod_simulate_add_algorithms(pod_record *r, const pod_program *p);

/* ---- explain.c: --explain ---- */

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

/* ---- convergence.c: --to-target ---- */

typedef struct pod_time_to_target {
    double epochs; /* whole stretches between evaluations */
    double steps, evaluations;
    double evaluation_s; /* of one */
    bool is_start_up_known;
    double start_up_s;   /* before the first step; 0 where it is not known */
    double seconds;      /* as MLPerf counts: steps, evaluations, and of the start-up what is more
                            than it leaves out */
    double from_start_s; /* of all */
} pod_time_to_target;

enum { POD_START_UP_LEFT_OUT_S = 20 * 60 }; /* by MLPerf's rules */

/* On ImageNet, with an evaluation of all its 50,000 test images every four epochs. Epochs by
 * convergence.def, in a straight line between its batches. E_INVALID for a model or batch that it
 * does not have. */
POD_MUST pod_status pod_simulate_to_target(const pod_planned *p, const pod_simulated *s,
                                           pod_arena *arena, pod_time_to_target *out);

/* ---- validate.c: what is predicted against what was published ---- */

/* Simulates the rows of published.def and prints them with their errors, and as --csv and --json
 * say it. `held`: half of the counted ones are within 5 %, all within 10 %, all shares of
 * all-reduce within a percentage point. Errors of pod_planned_of and pod_simulate; E_INVALID for
 * any setting of a simulation, since the rows have their own. */
POD_MUST pod_status pod_simulate_validate(pod_call *call, bool *held);

/* ---- links.c ---- */

/* links.csv and, where gnuplot is installed, links.svg in the folder. */
POD_MUST pod_status pod_simulate_write_links(const pod_planned *p, const pod_simulated *s,
                                             const char *folder, pod_log *log);

#endif
