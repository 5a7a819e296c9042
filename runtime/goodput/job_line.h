/* A line of a job log (job_file.h) as a struct. One table of keys serves for writing and reading.
 * Private to this folder. */
#ifndef MINIPOD_RUNTIME_GOODPUT_JOB_LINE_H
#define MINIPOD_RUNTIME_GOODPUT_JOB_LINE_H

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "kernels/base/status.h"

enum { POD__JOB_MAX_RANKS = 1 << 20, POD__JOB_MAX_ATTEMPTS = 1000000, POD__JOB_REASON_BYTES = 256 };
/* The largest stamp, in the year 2096: the difference of any two fits into an int64_t. */
#define POD__JOB_MAX_STAMP INT64_C(4000000000000000000)

/* X(key, type, least, most), in the order in a line; a NUMBER is an integer. */
#define POD__JOB_KEYS(X)                         \
    X(schema, TEXT, 0, 0)                        \
    X(version, NUMBER, 1, 1)                     \
    X(command, TEXT, 0, 0)                       \
    X(attempt, NUMBER, 1, POD__JOB_MAX_ATTEMPTS) \
    X(rank, NUMBER, 0, POD__JOB_MAX_RANKS - 1)   \
    X(ranks, NUMBER, 1, POD__JOB_MAX_RANKS)      \
    X(mesh, TEXT, 0, 0)                          \
    X(model, TEXT, 0, 0)                         \
    X(data, TEXT, 0, 0)                          \
    X(host, TEXT, 0, 0)                          \
    X(pid, NUMBER, 0, INT64_MAX)                 \
    X(from, NUMBER, 0, INT64_MAX)                \
    X(span, TEXT, 0, 0)                          \
    X(step, NUMBER, 1, INT64_MAX)                \
    X(kept, NUMBER, 0, INT64_MAX)                \
    X(fault, NUMBER, 0, INT32_MAX)               \
    X(end, TEXT, 0, 0)                           \
    X(begin_ns, NUMBER, 0, POD__JOB_MAX_STAMP)   \
    X(end_ns, NUMBER, 0, POD__JOB_MAX_STAMP)     \
    X(at_ns, NUMBER, 0, POD__JOB_MAX_STAMP)      \
    X(ideal_ps, NUMBER, 1, INT64_MAX)            \
    X(input_ns, NUMBER, 0, INT64_MAX)            \
    X(reduce_ns, NUMBER, 0, INT64_MAX)           \
    X(save_ns, NUMBER, 0, INT64_MAX)             \
    X(core_wait_ns, NUMBER, 0, INT64_MAX)        \
    X(exit_code, NUMBER, INT32_MIN, INT32_MAX)   \
    X(reason, TEXT, 0, 0)                        \
    X(text, TEXT, 0, 0)

enum {
#define POD_X(key, ...) POD__JOB_##key,
    POD__JOB_KEYS(POD_X)
#undef POD_X
        POD__N_JOB_KEYS
};

#define POD__JOB_BIT(key) (UINT32_C(1) << POD__JOB_##key)

/* X(record, the key that identifies it, its other keys, optional keys, which are written if they
 * are not 0). */
#define POD__BIT POD__JOB_BIT
#define POD__JOB_RECORDS(X)                                                                       \
    X(HEAD, rank,                                                                                 \
      POD__BIT(schema) | POD__BIT(version) | POD__BIT(attempt) | POD__BIT(ranks) |                \
          POD__BIT(mesh) | POD__BIT(model) | POD__BIT(data) | POD__BIT(host) | POD__BIT(pid) |    \
          POD__BIT(begin_ns),                                                                     \
      0)                                                                                          \
    X(LAUNCH, command,                                                                            \
      POD__BIT(schema) | POD__BIT(version) | POD__BIT(ranks) | POD__BIT(begin_ns), 0)             \
    X(STEP, step,                                                                                 \
      POD__BIT(begin_ns) | POD__BIT(end_ns) | POD__BIT(input_ns) | POD__BIT(reduce_ns) |          \
          POD__BIT(save_ns),                                                                      \
      POD__BIT(core_wait_ns))                                                                     \
    X(SPAN, span, POD__BIT(begin_ns) | POD__BIT(end_ns), 0)                                       \
    X(KEPT, kept, POD__BIT(at_ns), 0)                                                             \
    X(FROM, from, POD__BIT(at_ns), POD__BIT(ideal_ps))                                            \
    X(FAULT, fault, POD__BIT(at_ns), 0)                                                           \
    X(END, end, POD__BIT(at_ns) | POD__BIT(text), 0)                                              \
    X(ENDED, exit_code, POD__BIT(attempt) | POD__BIT(end_ns) | POD__BIT(reason) | POD__BIT(text), \
      0)                                                                                          \
    X(BEGUN, attempt, POD__BIT(begin_ns), 0)

typedef enum pod__job_record {
#define POD_X(record, ...) POD__JOB_##record,
    POD__JOB_RECORDS(POD_X)
#undef POD_X
        POD__JOB_OTHER
} pod__job_record;

typedef struct pod__job_line {
    pod__job_record record;
#define POD__JOB_NUMBER       int64_t
#define POD__JOB_TEXT         const char *
#define POD_X(key, type, ...) POD__JOB_##type key; /* 0: absent */
    POD__JOB_KEYS(POD_X)
#undef POD_X
} pod__job_line;

/* ---- writing ---- */

/* A file to which lines are appended, each by one system call, completely or not at all: a part of
 * a line, left by a full disk, would spoil the next one. */
typedef struct pod__job_lines {
    char *path;
    const char *blank; /* between a key and its value, and behind a comma */
    int fd;
    pthread_mutex_t lock; /* of the fields below: faults come from another thread */
    off_t bytes;          /* length of the complete lines */
    bool is_torn;         /* the last line is torn and could not be removed: nothing more is
                             written */
    char failed[POD__JOB_REASON_BYTES]; /* reason of the first failure; "": none */
    FILE *text; /* the current line; its memory is reused, so that a step allocates nothing */
    char *line;
    size_t room;
} pod__job_lines;

/* Opens DIR/job/NAME for appending, with `flags` of open. E_IO, E_NOMEM. */
POD_MUST pod_status pod__job_lines_open(const char *dir, const char *name, int flags,
                                        const char *blank, pod__job_lines *out);
void pod__job_lines_close(pod__job_lines *l); /* {0} is allowed */
/* Appends a line. E_WRITE if it cannot be written: the file is then as before, or torn. */
POD_MUST pod_status pod__job_lines_put(pod__job_lines *l, const pod__job_line *line);

/* ---- reading ---- */

typedef struct pod__job_reader { /* reads a file line by line */
    FILE *from;
    const char *path; /* borrowed */
    int number;       /* of the line, from 1 */
    bool is_torn;     /* an incomplete line follows the last complete one */
    char *text;
    size_t room;
    pod__job_line line; /* texts are valid until the next line */
    uint32_t has;       /* POD__JOB_BIT of each key in the line */
} pod__job_reader;

/* Opens a file; the caller closes it also after a failure of the calls below. E_IO. */
POD_MUST pod_status pod__job_reader_open(const char *path, pod__job_reader *out);
void pod__job_reader_close(pod__job_reader *r);

/* Reads the next line that ends with a newline; *more is false after the last one. Unknown keys are
 * ignored. E_FORMAT, naming file and line, for a malformed line, a missing key of its record, or a
 * number out of range; E_IO. */
POD_MUST pod_status pod__job_reader_next(pod__job_reader *r, bool *more);
/* Fails with E_FORMAT, naming file and line. */
POD_MUST pod_status pod__job_reader_bad(const pod__job_reader *r, const char *what);
/* Fails with E_FORMAT if the number of that key is not in [least, most]. */
POD_MUST pod_status pod__job_reader_within(const pod__job_reader *r, const char *key,
                                           int64_t number, int64_t least, int64_t most);

/* ---- the folder ---- */

/* Lists the files of ranks in DIR/job, by attempt, then by rank. E_IO. */
POD_MUST pod_status pod__job_list(const char *dir, struct dirent ***name, int *n);
void pod__job_list_free(struct dirent **name, int n);
/* Sets *last to the last attempt in launch.jsonl; 0: none. E_IO, E_FORMAT. */
POD_MUST pod_status pod__job_last_launched(const char *dir, int *last);

#endif
