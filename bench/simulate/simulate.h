/* minipod simulate, scale and predict, in parts, each a file: what a step takes, what is asked of it, and
 * what is told of it. */
#ifndef MINIPOD_BENCH_SIMULATE_SIMULATE_H
#define MINIPOD_BENCH_SIMULATE_SIMULATE_H

#include "bench/command.h"
#include "bench/common/planned.h"
#include "bench/common/published.h"
#include "bench/common/record.h"
#include "runtime/exec/sim.h"
#include "runtime/goodput/goodput.h"
#include "runtime/trace/timeline.h"
#include "runtime/trace/trace.h"
#include "runtime/train/train.h"

/* ---- simulated.c: a training step of a planned run on its machine's virtual clock ---- */

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

/* The value as a shell takes it: in single quotes where it needs them, in the arena. NULL without
 * memory. */
const char *pod_simulate_quoted(const char *value, pod_arena *arena);
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

/* ---- scale.c: what `minipod scale` knows of each mesh of its list ---- */

typedef struct pod_scale_time { /* of a step; the parts sum to it */
    double step_s, compute_s, reduce_s, update_s, other_s;
} pod_scale_time;

typedef struct pod_scale_point {
    char mesh[POD_MESH_TEXT_BYTES];
    int cores;
    int64_t batch;
    char data[48]; /* "": as the settings have it */
    pod_scale_time simulated, real;
    bool shares_cores;                  /* its real ranks did */
    pod_nearest nearest;                /* to what is simulated */
    const pod_explanation *explanation; /* with --explain, else NULL */
    const char *explained;              /* the same for a person: lines */
} pod_scale_point;

enum { POD_SCALE_MAX_POINTS = 64 };

typedef struct pod_scaling {
    pod_arena *arena; /* where explanations live */
    pod_scale_point point[POD_SCALE_MAX_POINTS];
    int n;
    char machine[POD_MACHINE_TEXT_BYTES];
    const char *images; /* of both clocks: --data, or where their size comes from; in the arena */
    bool has_data;      /* images are those of a data set */
    char warning[256];  /* "": none */
    bool has_real;
} pod_scaling;

/* The points of --meshes, --scaling and --batch. E_INVALID, also for a mesh that --machine does not
 * have, and for a pod where training runs for real; E_IO when the machine cannot be read. */
POD_MUST pod_status pod_scale_list(const pod_config *c, bool is_real, pod_scaling *s);
/* The settings with the mesh, batch and data of a point; its text is in the arena. */
POD_MUST pod_status pod_scale_config(const pod_config *given, const pod_scale_point *p,
                                     pod_arena *a, pod_config **out);

/* Point i, under the machine of the settings; explained where --explain asks for it. */
POD_MUST pod_status pod_scale_simulate(const pod_config *c, pod_scaling *s, int i);
/* The same training under mpirun, on this host, a few steps. E_IO when it cannot be started or
 * fails. */
POD_MUST pod_status pod_scale_train(const pod_config *c, pod_scaling *s, int i);

/* ---- predict.c: a real run and its simulation side by side, for `minipod predict` ---- */

typedef struct pod_side { /* of one step, seconds */
    double step_s, phase_s[POD_N_PHASES];
    double other_s;  /* what is in none of them: the sum is the step */
    double *instr_s; /* by instruction, each time it runs in the step */
} pod_side;

/* What a rank's threads need to make its batch: as far as they do not have a core of their own, its
 * step waits for them, or shares its core with them. */
typedef struct pod_feeding {
    double batch_s; /* of all threads together */
    int n_threads;  /* 0: the step itself */
    int ranks, cores;
} pod_feeding;

/* Of the batch of one core, by the machine file: made images are drawn, others copied
 * from memory. */
double pod_batch_s(const pod_machine *m, const char *data, const pod_program *p);
/* How much longer the instructions of a step take that shares its core. `compute_s` is what they
 * take on their own. */
double pod_feeding_slows(const pod_feeding *f, double compute_s);
/* What a step of so many seconds waits for its batch. */
double pod_feeding_wait_s(const pod_feeding *f, double step_s);

/* From the timeline's kept events, those of its first steps left out: medians. `other_s` is what
 * the phases' medians leave of the step's. */
POD_MUST pod_status pod_side_measured(const pod_timeline *tl, const pod_program *p, int skip,
                                      pod_arena *arena, pod_side *out);
/* The step of the first core, by the machine file alone. `other_s` is what threads that make
 * batches take of its core. */
POD_MUST pod_status pod_side_predicted(const pod_machine *m, const pod_program *p,
                                       const pod_feeding *f, pod_arena *arena, pod_side *out);

/* Rows: the step, its phases, and the `most` instructions whose times differ the most. */
POD_MUST pod_status pod_predict_table(const pod_program *p, const pod_side *measured,
                                      const pod_side *predicted, int most, pod_arena *arena,
                                      pod_table *t);
extern const pod_column pod_predict_columns[];
extern const int pod_n_predict_columns;

#endif
