/* A line of a job's log (job_file.h) as data: one table of keys, by which lines are written and
 * read. For this folder. */
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
/* Any difference of two stamps fits into an int64_t; the year 2096. */
#define POD__JOB_MAX_STAMP INT64_C(4000000000000000000)

/* X(key, type, least, most), in the order in which a line has them; a NUMBER is whole. */
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

/* X(record, the key that tells it, keys that it has besides, keys that may be missing; those are
 * written when they are not 0). */
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
#define POD_X(key, type, ...) POD__JOB_##type key; /* 0: it is not there */
    POD__JOB_KEYS(POD_X)
#undef POD_X
} pod__job_line;

/* ---- writing ---- */

/* A file that lines are appended to, each by one call of the system, whole or not at all: what a
 * full disk left of a line would spoil the next one. */
typedef struct pod__job_lines {
    char *path;
    const char *blank; /* between a key and its value, and behind a comma */
    int fd;
    pthread_mutex_t lock; /* of what follows: a fault may be put by another thread */
    off_t bytes;          /* of whole lines */
    bool is_torn;         /* the last line is, and could not be taken back: none follows it */
    char failed[POD__JOB_REASON_BYTES]; /* why a line could not be put first; "": none */
    FILE *text; /* the line at hand; its memory is kept, and so is not taken in a step */
    char *line;
    size_t room;
} pod__job_lines;

/* Opens DIR/job/NAME for appending, with `flags` of open. E_IO, E_NOMEM. */
POD_MUST pod_status pod__job_lines_open(const char *dir, const char *name, int flags,
                                        const char *blank, pod__job_lines *out);
void pod__job_lines_close(pod__job_lines *l); /* one that was not opened is {0} */
/* E_WRITE where the line does not fit on the disk: the file is as it was, or torn. */
POD_MUST pod_status pod__job_lines_put(pod__job_lines *l, const pod__job_line *line);

/* ---- reading ---- */

typedef struct pod__job_reader { /* of a file, a line at a time */
    FILE *from;
    const char *path; /* borrowed */
    int number;       /* of the line, from 1 */
    bool is_torn;     /* behind the last whole line there is a part of one */
    char *text;
    size_t room;
    pod__job_line line; /* texts are good until the next one */
    uint32_t has;       /* a bit a key */
} pod__job_reader;

/* E_IO. What was opened is closed whatever came between. */
POD_MUST pod_status pod__job_reader_open(const char *path, pod__job_reader *out);
void pod__job_reader_close(pod__job_reader *r);

/* The next line that ends with a newline; *more is false behind the last one. Keys that are not
 * known are passed over. E_FORMAT, naming file and line: no line of that form, a key of its record
 * missing, a number out of its range; E_IO. */
POD_MUST pod_status pod__job_reader_next(pod__job_reader *r, bool *more);
/* E_FORMAT, naming file and line. */
POD_MUST pod_status pod__job_reader_bad(const pod__job_reader *r, const char *what);
/* E_FORMAT where the number of that key is not from `least` to `most`. */
POD_MUST pod_status pod__job_reader_within(const pod__job_reader *r, const char *key,
                                           int64_t number, int64_t least, int64_t most);

/* ---- the folder ---- */

/* The files of ranks in DIR/job, by attempt, then rank. E_IO. */
POD_MUST pod_status pod__job_list(const char *dir, struct dirent ***name, int *n);
void pod__job_list_free(struct dirent **name, int n);
/* By launch.jsonl; 0: none. E_IO, E_FORMAT. */
POD_MUST pod_status pod__job_last_launched(const char *dir, int *last);

#endif
