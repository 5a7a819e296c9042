/* What a job that saves and fails is expected to take, in closed form, when failures come at a
 * constant rate (exponential times between them): the twin of job_sim.h.
 *
 *   J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974
 *   J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps",
 *     Future Generation Computer Systems 22(3), 2006: equations 20 (the time) and 37 (the interval)
 *
 * With rate L = 1 / mtbf, a stretch of w seconds that must pass without a failure, a detection of D
 * after each and a restart of R that may fail as well takes
 *
 *   (1/L + D) e^(L R) (e^(L w) - 1)
 *
 * on average, which is Daly's for D = 0. A checkpoint that is written behind training is kept later
 * than it is taken by `write`; then the same holds with e^(L (R + write)), but for the first. */
#ifndef MINIPOD_RUNTIME_STUDY_JOB_MODEL_H
#define MINIPOD_RUNTIME_STUDY_JOB_MODEL_H

#include <stdint.h>

typedef struct pod_job_model { /* seconds */
    double mtbf_s;             /* of the job, all its nodes; 0: it never fails */
    int64_t n_steps, every;    /* steps in all, and between saves */
    double step_s;
    double save_s;    /* training stands still */
    double write_s;   /* behind it, until the checkpoint is whole */
    double detect_s;  /* after a failure */
    double start_s;   /* of the job; may fail */
    double restart_s; /* from a checkpoint; may fail */
} pod_job_model;

/* Expected time from the first start to the end, waits for nodes left out; infinite where no double
 * holds it. */
double pod_job_model_wall_s(const pod_job_model *m);
double pod_job_model_goodput(const pod_job_model *m); /* n_steps step_s / that */

/* Seconds of work between saves. Infinite without failures; 0 where a save costs nothing. */
double pod_job_interval_young_s(double save_s, double mtbf_s); /* sqrt(2 save mtbf) */
double pod_job_interval_daly_s(double save_s, double mtbf_s);
/* Where (e^(L (w + save)) - 1) / w is least. */
double pod_job_interval_best_s(double save_s, double mtbf_s);

#endif
