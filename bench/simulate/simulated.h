/* A training step of a planned run on its machine's virtual clock, and what can be said of it. */
#ifndef MINIPOD_BENCH_SIMULATE_SIMULATED_H
#define MINIPOD_BENCH_SIMULATE_SIMULATED_H

#include "bench/common/planned.h"
#include "runtime/core/log.h"
#include "runtime/exec/sim.h"
#include "runtime/goodput/goodput.h"
#include "runtime/trace/timeline.h"
#include "runtime/trace/trace.h"

/* A simulated step's batch: hosts make samples ready, and hand them to their chips, while the step
 * before runs. */
typedef struct pod_input_time { /* of one step, all hosts alike; 0: not known, taken as none */
    double make_s;              /* a host's samples at --input-rate */
    double feed_s;              /* a chip's part of them, from its host */
    double seconds;             /* the longer: a host makes some while it hands others over */
    int n_hosts;                /* 0 where it is not known what a host has */
} pod_input_time;

/* E_INVALID when --input-rate is given and the machine's file does not say what a host has. */
POD_MUST pod_status pod_simulate_input(const pod_planned *p, pod_input_time *out);

typedef struct pod_by_core { /* of a time that each core has */
    double mean_s, least_s, most_s;
    int least_core, most_core; /* the first of those */
} pod_by_core;

typedef struct pod_simulated { /* lives in the arena that it was made in */
    const pod_program *program;
    const pod_instr_time *time; /* by instruction of the program */
    int cores;
    pod_spread steps;     /* until the last core has ended and the next batch is ready, of those
                             that were simulated */
    pod_input_time input; /* of one */
    double step_s;        /* their median */
    pod_step_stats stats; /* of the first core that is watched */
    pod_by_core exposed;  /* what all cores wait for reductions, in a step */
    double slowness;      /* of the first core that is watched: 1, or what --fault makes it */
    double bound_s[POD_N_BOUNDS]; /* of its step, by what it waited for */
    pod_ideal ideal;
    double memory_bytes;                    /* of a core; what is fed included */
    pod_sim_use use;                        /* of all steps */
    const double *link_busy_s, *link_bytes; /* of a step, by link of the mesh */
    bool is_chip_shared;   /* cores along the first dimension share the links of the others */
    int cores_simulated;   /* one of each class of cores that do alike */
    pod_trace_part *trace; /* the step of each core that is watched, in their order */
    int n_traces;
    pod_time waited_until; /* for input, by all cores behind the last step; 0: they need not wait */
    char busiest_link[POD_LINK_TEXT_BYTES];
    double compile_wall_s, plan_wall_s, run_wall_s; /* this host's time; run: of the steps */
} pod_simulated;

/* Whether --fault has one of the kind. */
bool pod_simulate_has_fault(const pod_planned *p, pod_fault_kind kind);

/* `log` shows how far it is; NULL: nothing does. E_INVALID where the machine's file lacks a number or
 * its memory does not hold the program. */
POD_MUST pod_status pod_simulate(const pod_planned *p, pod_arena *arena, pod_log *log,
                                 pod_simulated *out);

/* An evaluation of so many samples: all cores, in batches as large as those that are trained on, the
 * last one padded. */
POD_MUST pod_status pod_simulate_evaluation(const pod_planned *p, int64_t n_samples,
                                            pod_arena *arena, double *seconds);

/* Share of the step that the first core that is watched waits for reductions. */
double pod_simulated_allreduce_share(const pod_simulated *s);

#endif
