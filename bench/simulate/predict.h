/* A real run and its simulation side by side, for `minipod predict`. */
#ifndef MINIPOD_BENCH_SIMULATE_PREDICT_H
#define MINIPOD_BENCH_SIMULATE_PREDICT_H

#include "bench/common/table.h"
#include "runtime/machine/machine.h"
#include "runtime/train/train.h"

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
