/* steps.csv: a row a step of rank 0, each written as the step ends, so that a run that is killed
 * leaves those that it did. The rows of a job follow one another over its attempts: one that goes
 * on from a checkpoint cuts off those behind it first. So each kept step stands there once.
 *
 * The file has its name from its first line on, and whole lines always. Lines that begin with # say what is what. */
#ifndef MINIPOD_RUNTIME_TRAIN_STEPS_H
#define MINIPOD_RUNTIME_TRAIN_STEPS_H

#include <stdbool.h>

#include "runtime/trace/timeline.h"

typedef struct pod_steps pod_steps;

typedef struct pod_steps_plan {
    int attempt;
    bool goes_on;       /* with what earlier attempts left; else it begins anew */
    int64_t first_step; /* that many are done */
    const char *machine, *model, *mesh;
    int ranks;
    double run_began_s; /* run_start of mllog.txt, by the clock of the rows */
} pod_steps_plan;

/* E_IO, also while another process writes it; E_NOMEM. What is there stays until it begins. */
POD_MUST pod_status pod_steps_open(const char *path, pod_steps **out);
/* E_IO; E_WRITE where the disk does not take it. */
POD_MUST pod_status pod_steps_begin(pod_steps *s, const pod_steps_plan *plan);
/* The first failure is kept for close. Takes no memory. NULL takes nothing. */
void pod_steps_put(pod_steps *s, const pod_step_row *row, double lr, double loss, double accuracy);
/* One that did not begin is abandoned. E_WRITE, of a row that was put too. NULL is
 * allowed. */
POD_MUST pod_status pod_steps_close(pod_steps *s);

#endif
