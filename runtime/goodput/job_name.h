/* Names of the files in a run's DIR/job: attempt-001.rank-0003.jsonl. */
#ifndef MINIPOD_RUNTIME_GOODPUT_JOB_NAME_H
#define MINIPOD_RUNTIME_GOODPUT_JOB_NAME_H

#include <stdbool.h>

enum { POD_JOB_NAME_BYTES = 64, POD_JOB_MAX_ATTEMPTS = 1000000 };

typedef struct pod_job_name {
    int attempt, rank; /* from 1, from 0 */
} pod_job_name;

const char *pod_job_name_print(pod_job_name n, char text[POD_JOB_NAME_BYTES]); /* returns text */
bool pod_job_name_parse(const char *text, pod_job_name *out); /* false: it is no such name */

#endif
