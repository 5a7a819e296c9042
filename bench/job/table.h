/* A study of jobs as tables and JSON; as a plot. */
#ifndef MINIPOD_BENCH_JOB_TABLE_H
#define MINIPOD_BENCH_JOB_TABLE_H

#include "bench/job/study.h"
#include "runtime/core/json.h"

/* Of one point its job and its intervals, of several a row each; `csv` ("": none) has the
 * intervals, or the points. */
POD_MUST pod_status pod_job_print(const pod_job_study *s, FILE *to, const char *csv);
void pod_job_json(const pod_job_study *s, pod_json *j);
/* Runtime goodput against the interval, and what the formulas say: path is the SVG to write. */
POD_MUST pod_status pod_job_plot(const pod_job_study *s, const char *path, pod_log *log);

#endif
