/* The parts of minipod simulate, scale and predict, a file each: the simulation of a step, the
 * options, and the output. */
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

/* The batch of a simulated step: hosts prepare samples and send them to their chips while the step
 * before runs. */
typedef struct
    pod_input_time { /* per step, the same for all hosts; 0: unknown, counts as no time */
    double make_s;   /* a host prepares its samples, at --input-rate */
    double feed_s;   /* a chip receives its samples from its host */
    double seconds;  /* the longer of the two, which overlap */
    int n_hosts;     /* 0 if the chips per host are unknown */
} pod_input_time;

/* Fails with E_INVALID if --input-rate is given and the machine file lacks the chips per host. */
POD_MUST pod_status pod_simulate_input(const pod_planned *p, pod_input_time *out);

typedef struct pod_by_core { /* statistics of a time over cores */
    double mean_s, least_s, most_s;
    int least_core, most_core; /* the first core with that time */
} pod_by_core;

typedef struct pod_simulated { /* lives in the arena of pod_simulate */
    const pod_program *program;
    const pod_instr_time *time; /* by instruction of the program */
    int cores;
    pod_spread steps;     /* each until the last core has ended and the next batch is ready */
    pod_input_time input; /* of one step */
    double step_s;        /* their median */
    /* Part of each step: the all-reduce of the sum of weights by which the loss is divided; 0: the
     * loss is a mean over samples. */
    double weights_sum_s;
    pod_step_stats stats;         /* of the first watched core */
    pod_by_core exposed;          /* wait for reductions in a step, over all cores */
    double slowness;              /* factor on the first watched core's time, by --fault; else 1 */
    double bound_s[POD_N_BOUNDS]; /* that core's step time, by what limits its instructions */
    pod_ideal ideal;
    double memory_bytes;                    /* of a core, including batches */
    pod_sim_use use;                        /* over all steps */
    const double *link_busy_s, *link_bytes; /* per step, by link of the mesh */
    bool is_chip_shared;   /* cores along the first dimension share the links of the others */
    int cores_simulated;   /* one for each class of cores that do the same */
    pod_trace_part *trace; /* the step of each watched core, in order */
    int n_traces;
    pod_time waited_until; /* end of all cores' wait for input after the last step; 0: none */
    char busiest_link[POD_LINK_TEXT_BYTES];
    double compile_wall_s, plan_wall_s,
        run_wall_s; /* this host's time; run: to simulate the steps */
} pod_simulated;

/* Returns whether --fault has a fault of this kind. */
bool pod_simulate_has_fault(const pod_planned *p, pod_fault_kind kind);

/* Simulates the steps; `log` (may be NULL) shows the progress. Fails with E_INVALID if the machine
 * file lacks a number, or if the program does not fit into a core's memory. */
POD_MUST pod_status pod_simulate(const pod_planned *p, pod_arena *arena, pod_log *log,
                                 pod_simulated *out);

/* Simulates an evaluation of n_samples samples on all cores, in batches of the training's size, the
 * last of which is padded. */
POD_MUST pod_status pod_simulate_evaluation(const pod_planned *p, int64_t n_samples,
                                            pod_arena *arena, double *seconds);

/* Returns the share of its step for which the first watched core waits for reductions. */
double pod_simulated_allreduce_share(const pod_simulated *s);

/* ---- options.c: refuses options that would have no effect ---- */

/* Checks the options of a simulated step (not of --job), before it is planned. Options that other
 * commands also have are refused only on the command line, because in files and the environment
 * they may be meant for those. Fails with E_INVALID, naming the option. */
POD_MUST pod_status pod_simulate_options_check(const pod_config *c);
/* Checks only the options of schedule and length. --job calls it too, because it also simulates a
 * step. */
POD_MUST pod_status pod_simulate_options_of_step(const pod_config *c);
/* Checks the options that the machine does not support, such as those of a host's kernels on a
 * pod. */
POD_MUST pod_status pod_simulate_options_suit(const pod_config *c, const pod_planned *p);
/* After the simulation: checks the options of links, if no message used a link. */
POD_MUST pod_status pod_simulate_options_used(const pod_planned *p, const pod_simulated *s);

/* ---- options.c: the options that were given, and the algorithms that ran ---- */

/* Adds a row for each option that was given, has no other row and is not about output; the JSON
 * gets all given options. */
void pod_simulate_add_options(pod_record *r, const pod_config *c);
/* Adds a note on each given option that a table of meshes does not show. */
void pod_simulate_note_options(pod_table *t, const pod_config *c);
/* Puts an object "options" with all given options, as they were written. */
void pod_simulate_put_options(const pod_config *c, pod_json *j);

/* Returns the value quoted for a shell, if it needs quotes, in the arena; NULL without memory. */
const char *pod_simulate_quoted(const char *value, pod_arena *arena);
/* Returns the command line of the same simulation, with options from all sources, in the arena:
 * `minipod simulate --mesh 2x8x8 ...`; NULL without memory. */
const char *pod_simulate_command(const pod_config *c, pod_arena *arena);

/* Adds a row for each kind of collective with the algorithms that ran, and an array
 * "algorithms". */
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
    double step_s; /* without a change */
    pod_network_part part[POD_MAX_NETWORK_PARTS];
    pod_what_if what_if[POD_MAX_WHAT_IFS]; /* largest gain first */
    int n_parts, n_what_ifs;
    int slowest, n_slow; /* slow cores, by --fault */
    double slow_factor;  /* of the slowest core */
    double without_slow_s;
} pod_explanation;

/* Analyses the step, in the arena. Simulates it again with one change at a time, to find the gain
 * of each. */
POD_MUST pod_status pod_simulate_explain(pod_planned *p, const pod_simulated *s, pod_arena *arena,
                                         pod_log *log, const pod_explanation **out);
POD_MUST pod_status pod_explanation_print(const pod_explanation *e, const pod_planned *p,
                                          const pod_simulated *s, FILE *to);
/* Adds rows to a table of quantities. */
void pod_explanation_rows(const pod_explanation *e, pod_table *t);
void pod_explanation_json(const pod_explanation *e,
                          pod_json *j); /* puts keys into the open object */

/* Returns the dollars that the machine's chips cost for `seconds` at --price; NaN without a
 * price. */
double pod_simulated_price(const pod_config *c, const pod_planned *p, double seconds);

/* ---- convergence.c: --to-target ---- */

typedef struct pod_time_to_target {
    double samples; /* a multiple of the samples between evaluations */
    double epochs;  /* the same, of ImageNet; NaN for text */
    double steps, evaluations;
    double evaluation_s; /* of one evaluation */
    bool is_start_up_known;
    double start_up_s;   /* before the first step; 0 if unknown */
    double seconds;      /* as MLPerf counts: without POD_START_UP_LEFT_OUT_S of the start-up */
    double from_start_s; /* start-up, steps and evaluations */
} pod_time_to_target;

enum { POD_START_UP_LEFT_OUT_S = 20 * 60 }; /* by MLPerf's rules */

/* Returns how many samples MLPerf's benchmark of the model's task evaluates: ImageNet's 50,000 test
 * images, or 10,000 sequences of BERT's. */
int64_t pod_simulate_evaluated(const pod_planned *p);

/* Predicts the time to MLPerf's target, with evaluations as often as its rules want: for images
 * every four epochs of ImageNet, for text every 25,000 floor(0.05 (230.23 batch + 3,000,000) /
 * 25,000) sequences. The number of samples is interpolated linearly between the batches of
 * convergence.def. Fails with E_INVALID for a model or batch outside that table. */
POD_MUST pod_status pod_simulate_to_target(const pod_planned *p, const pod_simulated *s,
                                           pod_arena *arena, pod_time_to_target *out);

/* ---- validate.c: predictions compared with published times ---- */

/* Simulates the rows of published.def, prints them with their errors, and writes --csv and --json.
 * `held`: the median error of the counted rows is at most 5 %, the largest at most 10 %, and all
 * shares of all-reduce are within a percentage point. Fails as pod_planned_of and pod_simulate do,
 * and with E_INVALID for any option of a simulation, because the rows have their own. */
POD_MUST pod_status pod_simulate_validate(pod_call *call, bool *held);

/* ---- links.c ---- */

/* Writes links.csv and, if gnuplot is installed, links.svg to the folder. */
POD_MUST pod_status pod_simulate_write_links(const pod_planned *p, const pod_simulated *s,
                                             const char *folder, pod_log *log);

/* ---- scale.c: the meshes of `minipod scale` ---- */

typedef struct pod_scale_time { /* of a step; the other four sum to step_s */
    double step_s, compute_s, reduce_s, update_s, other_s;
} pod_scale_time;

typedef struct pod_scale_point {
    char mesh[POD_MESH_TEXT_BYTES];
    int cores;
    int64_t batch;
    char data[48]; /* "": as in the settings */
    pod_scale_time simulated, real;
    bool shares_cores;   /* of the real ranks */
    pod_nearest nearest; /* to the simulated run */
    double price;        /* of a million samples, simulated; NaN: --price is not given */
    const pod_explanation *explanation; /* with --explain, else NULL */
    const char *explained;              /* the same as text */
} pod_scale_point;

enum { POD_SCALE_MAX_POINTS = 64 };

typedef struct pod_scaling {
    pod_arena *arena; /* of the explanations */
    pod_scale_point point[POD_SCALE_MAX_POINTS];
    int n;
    char machine[POD_MACHINE_TEXT_BYTES];
    /* of real and simulated steps: --data, or the source of their size; in the arena */
    const char *images;
    bool has_data;     /* the images come from --data */
    char warning[256]; /* "": none */
    bool has_real;
} pod_scaling;

/* Lists the points of --meshes, --scaling and --batch. Fails with E_INVALID, also for a mesh that
 * --machine does not have, and for real training on a pod; E_IO if the machine file cannot be
 * read. */
POD_MUST pod_status pod_scale_list(const pod_config *c, bool is_real, pod_scaling *s);
/* Creates the settings for a point, with its mesh, batch and data; their text is in the arena. */
POD_MUST pod_status pod_scale_config(const pod_config *given, const pod_scale_point *p,
                                     pod_arena *a, pod_config **out);

/* Simulates point i on the machine of the settings; explains it if --explain is given. */
POD_MUST pod_status pod_scale_simulate(const pod_config *c, pod_scaling *s, int i);
/* Trains point i for a few steps under mpirun on this host. Fails with E_IO if that cannot be
 * started or fails. */
POD_MUST pod_status pod_scale_train(const pod_config *c, pod_scaling *s, int i);

/* ---- predict.c: a real run and its simulation side by side, for `minipod predict` ---- */

typedef struct pod_side { /* times of one step in seconds */
    double step_s, phase_s[POD_N_PHASES];
    double other_s;  /* the rest of the step */
    double *instr_s; /* by instruction: sum of its times in the step */
} pod_side;

/* The time that a rank's threads need to prepare its batch. If they have no core of their own, the
 * step waits for them, or shares its core with them. */
typedef struct pod_feeding {
    double batch_s; /* summed over all threads */
    int n_threads;  /* 0: the training thread prepares it */
    int ranks, cores;
} pod_feeding;

/* Returns the time to prepare the batch of one core, by the machine file: synthetic images are
 * drawn, others copied from memory. */
double pod_batch_s(const pod_machine *m, const char *data, const pod_program *p);
/* Returns the factor on the time of instructions if the step shares its core. compute_s: their time
 * if it does not. */
double pod_feeding_slows(const pod_feeding *f, double compute_s);
/* Returns for how long a step of step_s waits for its batch. */
double pod_feeding_wait_s(const pod_feeding *f, double step_s);

/* Computes medians from the timeline's events, without the first `skip` steps. other_s is the
 * step's median less those of the phases. */
POD_MUST pod_status pod_side_measured(const pod_timeline *tl, const pod_program *p, int skip,
                                      pod_arena *arena, pod_side *out);
/* Predicts the step of the first core from the machine file only. other_s is the time that threads
 * that prepare batches take from its core. */
POD_MUST pod_status pod_side_predicted(const pod_machine *m, const pod_program *p,
                                       const pod_feeding *f, pod_arena *arena, pod_side *out);

/* Adds rows for the step, its phases, and the `most` instructions whose times differ most. */
POD_MUST pod_status pod_predict_table(const pod_program *p, const pod_side *measured,
                                      const pod_side *predicted, int most, pod_arena *arena,
                                      pod_table *t);
extern const pod_column pod_predict_columns[];
extern const int pod_n_predict_columns;

#endif
