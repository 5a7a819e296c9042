/* A table of results: aligned for a person, CSV and JSON for a program, all from the same cells.
 *
 * Names stand in the first line, units in the second, in lines that begin with # as nccl-tests has
 * them; so do the notes before them. A CSV has the notes, a line `# units: ...` where
 * columns have them, one line of names, then the rows, their texts without the blanks that indent
 * them. */
#ifndef MINIPOD_BENCH_COMMON_TABLE_H
#define MINIPOD_BENCH_COMMON_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "kernels/base/status.h"
#include "runtime/core/json.h"
#include "runtime/core/log.h"

typedef struct pod_column {
    const char *name; /* lower case, without its unit: the CSV's heading */
    const char *unit; /* "" where there is none */
    bool is_text;     /* aligned left; else a number */
} pod_column;

typedef struct pod_table pod_table;

/* The columns are borrowed as long as the table. */
POD_MUST pod_status pod_table_create(const pod_column columns[], int n_columns, pod_table **out);
void pod_table_destroy(pod_table *t); /* NULL is allowed */

/* A line before the table: what was measured, where, on which clock. */
void pod_table_note(pod_table *t, const char *fmt, ...) POD_PRINTF(2, 3);
/* Notes from here on stand behind the rows where the table is printed; a CSV has all of them
 * before. */
void pod_table_footer(pod_table *t);
/* From here on what is complete goes to the log at once: a note, the names before the first row, a
 * row with its last cell. widths[c] is the least width of column c, since later rows are not known;
 * both are borrowed. pod_table_print then has nothing left to print. */
void pod_table_stream(pod_table *t, pod_log *log, const int widths[]);
/* The next cell, row by row. */
void pod_table_add(pod_table *t, const char *fmt, ...) POD_PRINTF(2, 3);

/* A table of quantities has these columns, and a row a call. */
enum { POD_QUANTITY_COLUMNS = 4 };
extern const pod_column pod_quantity_columns[POD_QUANTITY_COLUMNS]; /* quantity value unit note */
void pod_table_quantity(pod_table *t, const char *quantity, const char *unit, const char *note,
                        const char *fmt, ...) POD_PRINTF(5, 6);

/* E_NOMEM if any note or cell found no memory. Rows must be complete. */
POD_MUST pod_status pod_table_print(const pod_table *t, FILE *to);
POD_MUST pod_status pod_table_write_csv(const pod_table *t, const char *path);
/* An array of objects under `key`, numbers as numbers; "-" among them, not known, as null. */
void pod_table_json(const pod_table *t, pod_json *j, const char *key);

#endif
