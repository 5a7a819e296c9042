/* What the two files of a job log (job_file.h) have in common: a record is a line of JSON, and goes
 * into its file by one call of the system, whole or not at all. For this folder. */
#ifndef MINIPOD_RUNTIME_GOODPUT_JOB_RECORD_H
#define MINIPOD_RUNTIME_GOODPUT_JOB_RECORD_H

#include <stdio.h>
#include <sys/types.h>

#include "kernels/base/status.h"

typedef struct pod__job_record { /* one of any length, made in memory of its own */
    FILE *to;
    char *text;
    size_t bytes;
} pod__job_record;

/* E_NOMEM, naming the file. What was begun, and printed into `to`, is ended, with a newline; then
 * text and bytes are there until they are released. */
POD_MUST pod_status pod__job_record_begin(const char *path, pod__job_record *out);
POD_MUST pod_status pod__job_record_end(const char *path, pod__job_record *r);
void pod__job_record_release(pod__job_record *r);

typedef enum pod__job_append {
    POD__JOB_APPENDED,
    POD__JOB_LEFT_OUT, /* the file is as it was */
    POD__JOB_SPOILT    /* its last line is torn, and could not be taken back */
} pod__job_append;

/* Behind `whole` bytes of the file, which was opened with O_APPEND: what a full disk left of a
 * record would spoil the next one's line. Where it fails *reason is a text of the system's,
 * borrowed. */
pod__job_append pod__job_append_to(int fd, off_t whole, const char *record, size_t bytes,
                                   const char **reason);

#endif
