/* simulate --job: the command with a long job. */
#ifndef MINIPOD_BENCH_JOB_SIMULATE_JOB_H
#define MINIPOD_BENCH_JOB_SIMULATE_JOB_H

#include "bench/command.h"

/* Prints the table, writes --csv, --json, and into --out job.json and job.svg. */
POD_MUST pod_status pod_simulate_job(pod_call *call);

#endif
