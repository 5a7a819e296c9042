#include "runtime/goodput/job_name.h"

#include <stdio.h>
#include <string.h>

const char *pod_job_name_print(pod_job_name n, char text[POD_JOB_NAME_BYTES])
{
    snprintf(text, POD_JOB_NAME_BYTES, "attempt-%03d.rank-%04d.jsonl", n.attempt, n.rank);
    return text;
}

bool pod_job_name_parse(const char *text, pod_job_name *out)
{
    char again[POD_JOB_NAME_BYTES];
    pod_job_name n;
    if (sscanf(text, "attempt-%7d.rank-%7d.jsonl", &n.attempt, &n.rank) != 2) return false;
    if (n.attempt < 1 || n.attempt > POD_JOB_MAX_ATTEMPTS || n.rank < 0) return false;
    if (strcmp(text, pod_job_name_print(n, again)) != 0) return false;
    *out = n;
    return true;
}
