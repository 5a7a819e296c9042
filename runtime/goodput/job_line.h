/* A line of a job log: a flat JSON object of texts and whole numbers. For this folder.
 *
 * cJSON keeps a number as a double, which a time in nanoseconds since 1970 does not fit into: today
 * it would be up to 128 ns off, and seconds by category could not be summed to the wall clock. So
 * numbers are read here, in full; texts with escapes are cJSON's. */
#ifndef MINIPOD_RUNTIME_GOODPUT_JOB_LINE_H
#define MINIPOD_RUNTIME_GOODPUT_JOB_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/base/status.h"

enum { POD__JOB_MAX_FIELDS = 24 };

typedef struct pod__job_field {
    const char *key;
    const char *text; /* NULL: a number */
    int64_t number;
} pod__job_field;

typedef struct pod__job_line { /* of a file that is read a line at a time */
    FILE *from;
    const char *path; /* borrowed */
    int number;       /* from 1 */
    bool is_torn;     /* behind the last whole line there is a part of one */
    char *text;
    size_t room;
    int n;
    pod__job_field field[POD__JOB_MAX_FIELDS];
} pod__job_line;

/* E_IO. What was opened is closed whatever came between. */
POD_MUST pod_status pod__job_line_open(const char *path, pod__job_line *out);
void pod__job_line_close(pod__job_line *l);
void pod__job_line_rewind(pod__job_line *l);

/* The next line that ends with a newline; *more is false behind the last one. E_FORMAT, E_IO. */
POD_MUST pod_status pod__job_line_next(pod__job_line *l, bool *more);

bool pod__job_line_has(const pod__job_line *l, const char *key);
/* E_FORMAT where the key is missing, or its value no number from min to max, or no text. */
POD_MUST pod_status pod__job_line_int(const pod__job_line *l, const char *key, int64_t min,
                                      int64_t max, int64_t *out);
POD_MUST pod_status pod__job_line_text(const pod__job_line *l, const char *key, const char **out);

#endif
