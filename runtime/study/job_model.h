/* Computes the expected time of a job with checkpoints and failures in closed form, for failures at
 * a constant rate (exponential times between them). job_sim.h simulates the same.
 *
 *   J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974
 *   J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps",
 *     Future Generation Computer Systems 22(3), 2006: equations 20 (the time) and 37 (the interval)
 *
 * With rate L = 1 / mtbf, w seconds of work that must pass without a failure, a detection of D
 * seconds after each failure, and a restart of R seconds, which may fail too, the work takes
 *
 *   (1/L + D) e^(L R) (e^(L w) - 1)
 *
 * on average, which is Daly's result for D = 0. An asynchronous checkpoint is complete only `write`
 * seconds after its values were copied; the same then holds with e^(L (R + write)), except for the
 * first interval. */
#ifndef MINIPOD_RUNTIME_STUDY_JOB_MODEL_H
#define MINIPOD_RUNTIME_STUDY_JOB_MODEL_H

#include <stdint.h>

typedef struct pod_job_model { /* seconds */
    double mtbf_s;             /* of the job, all its nodes; 0: it never fails */
    int64_t n_steps, every;    /* steps of the job, and between saves */
    double step_s;
    double save_s;    /* per save: training stops */
    double write_s;   /* after it, in the background, until the checkpoint is complete */
    double detect_s;  /* after a failure */
    double start_s;   /* of the job; may fail */
    double restart_s; /* from a checkpoint; may fail */
} pod_job_model;

/* Returns the expected time from the first start to the end, without waits for nodes; infinite if a
 * double cannot hold it. */
double pod_job_model_wall_s(const pod_job_model *m);
double pod_job_model_goodput(const pod_job_model *m); /* n_steps step_s / that */

/* Return the seconds of work between saves: infinite without failures, 0 if a save takes no
 * time. */
double pod_job_interval_young_s(double save_s, double mtbf_s); /* sqrt(2 save mtbf) */
double pod_job_interval_daly_s(double save_s, double mtbf_s);
/* Returns the w that minimizes (e^(L (w + save)) - 1) / w. */
double pod_job_interval_best_s(double save_s, double mtbf_s);

#endif
