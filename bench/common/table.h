/* A table of results: aligned for a person, CSV and JSON for a program, all from the same cells.
 *
 * Names stand in the first line, units in the second, in lines that begin with # as nccl-tests has
 * them; so do the notes before them. A CSV has the notes, one line of names (pod_table_key), then
 * the rows, their texts without the blanks that indent them. A cell of a CSV is empty where the
 * table has "-", or in a column of numbers another word. */
#ifndef MINIPOD_BENCH_COMMON_TABLE_H
#define MINIPOD_BENCH_COMMON_TABLE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "kernels/base/status.h"
#include "runtime/core/json.h"
#include "runtime/core/log.h"

typedef struct pod_column {
    const char *name; /* lower case, without its unit */
    const char *unit; /* "" where there is none */
    bool is_text;     /* aligned left; else a number */
} pod_column;

typedef struct pod_table pod_table;

/* An array of columns and their number, as they are passed on. */
#define POD_COLUMNS(columns) (columns), (int)(sizeof(columns) / sizeof(columns)[0])

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
/* The n columns from `first` on bear a common title in a line above their names, and a prefix in
 * the names of a CSV. At most two groups a table, from left to right; texts are borrowed. */
void pod_table_group(pod_table *t, int first, int n, const char *title, const char *prefix);
/* The n columns from `first` on are in the CSV alone. One range a table. */
void pod_table_csv_only(pod_table *t, int first, int n);
/* The next cell, row by row. */
void pod_table_add(pod_table *t, const char *fmt, ...) POD_PRINTF(2, 3);
/* The next cell with four digits and no exponent; "-" for what is not finite. */
void pod_table_number(pod_table *t, double x);
const pod_column *pod_table_next(const pod_table *t); /* the column of the next cell */
/* Appends to the last cell, of a table that is not streamed. */
void pod_table_extend(pod_table *t, const char *fmt, va_list args) POD_PRINTF(2, 0);

/* The next cells, parted in `fmt` by tabs; "-" for a number that is not finite. A text that may hold a
 * tab itself stands last. */
void pod_table_row(pod_table *t, const char *fmt, ...) POD_PRINTF(2, 3);

/* A table of quantities has these columns, and a row a call. */
enum { POD_QUANTITY_COLUMNS = 4 };
extern const pod_column pod_quantity_columns[POD_QUANTITY_COLUMNS]; /* quantity value unit note */
void pod_table_quantity(pod_table *t, const char *quantity, const char *unit, const char *note,
                        const char *fmt, ...) POD_PRINTF(5, 6);

/* E_NOMEM if any note or cell found no memory. Rows must be complete. */
POD_MUST pod_status pod_table_print(const pod_table *t, FILE *to);
enum { POD_TABLE_KEY_BYTES = 96 };
/* A column's name in a CSV, into `key`: letters, digits and "_" alone, and the unit at its end:
 * "time" in "(us)" is time_us, "peak%" peak_pct, "err/bound" err_over_bound, "#wrong" wrong. */
const char *pod_table_key(const pod_column *column, const char *prefix, char *key, size_t room);
POD_MUST pod_status pod_table_write_csv(const pod_table *t, const char *path);
/* Prints it, writes it to `csv` unless that is "", and destroys it in any case. */
POD_MUST pod_status pod_table_finish(pod_table *t, FILE *to, const char *csv);
/* An array of objects under `key`, numbers as numbers; "-" among them, not known, as null. */
void pod_table_json(const pod_table *t, pod_json *j, const char *key);

#endif
