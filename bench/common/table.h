/* A table of results: printed with aligned columns, and written as CSV and JSON, all from the same
 * cells.
 *
 * The first line has the names, the second the units; like the notes before them, these lines begin
 * with # as in nccl-tests. A CSV has the notes, one line of names (pod_table_key), and the rows,
 * whose texts are not indented. A cell of a CSV is empty if the table has "-", or, in a column of
 * numbers, any word. */
#ifndef MINIPOD_BENCH_COMMON_TABLE_H
#define MINIPOD_BENCH_COMMON_TABLE_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "kernels/base/status.h"
#include "runtime/core/json.h"
#include "runtime/core/log.h"

typedef struct pod_column {
    const char *name; /* lower case, without its unit */
    const char *unit; /* "": none */
    bool is_text;     /* aligned left; else a number */
} pod_column;

typedef struct pod_table pod_table;

/* An array of columns and their number, as they are passed on. */
#define POD_COLUMNS(columns) (columns), (int)(sizeof(columns) / sizeof(columns)[0])

/* The columns must outlive the table. */
POD_MUST pod_status pod_table_create(const pod_column columns[], int n_columns, pod_table **out);
void pod_table_destroy(pod_table *t); /* NULL is allowed */

/* Adds a line before the table, about what was measured, where, and on which clock. */
void pod_table_note(pod_table *t, const char *fmt, ...) POD_PRINTF(2, 3);
/* Notes that are added from now on are printed after the rows; a CSV has all notes before the
 * rows. */
void pod_table_footer(pod_table *t);
/* From now on notes and rows are printed to the log as soon as they are complete, and the names
 * before the first row; pod_table_print then has nothing left to print. widths[c] is the least
 * width of column c, because later rows are unknown. `log` and `widths` are borrowed. */
void pod_table_stream(pod_table *t, pod_log *log, const int widths[]);
/* Gives the n columns from `first` on a common title in a line above their names, and a prefix of
 * their names in a CSV. A table has at most two groups, added from left to right; texts are
 * borrowed. */
void pod_table_group(pod_table *t, int first, int n, const char *title, const char *prefix);
/* Shows the n columns from `first` on only in the CSV. A table has one such range. */
void pod_table_csv_only(pod_table *t, int first, int n);
/* Adds the next cell, row by row. */
void pod_table_add(pod_table *t, const char *fmt, ...) POD_PRINTF(2, 3);
static inline double pod_known(bool is_known, double value) /* returns NaN for an unknown value */
{
    return is_known ? value : (double)NAN;
}
/* Adds a cell with four digits and no exponent; "-" if x is not finite. */
void pod_table_number(pod_table *t, double x);
const pod_column *pod_table_next(const pod_table *t); /* returns the column of the next cell */
/* Appends to the last cell; not for streamed tables. */
void pod_table_extend(pod_table *t, const char *fmt, va_list args) POD_PRINTF(2, 0);

/* Adds the next cells, separated in `fmt` by tabs; "-" for a number that is not finite. A text that
 * may contain a tab must be the last cell. */
void pod_table_row(pod_table *t, const char *fmt, ...) POD_PRINTF(2, 3);

/* A table of quantities has these columns, and each call adds a row. */
enum { POD_QUANTITY_COLUMNS = 4 };
extern const pod_column pod_quantity_columns[POD_QUANTITY_COLUMNS]; /* quantity value unit note */
void pod_table_quantity(pod_table *t, const char *quantity, const char *unit, const char *note,
                        const char *fmt, ...) POD_PRINTF(5, 6);

/* Prints the table; its rows must be complete. Fails with E_NOMEM if memory was missing for any
 * note or cell. */
POD_MUST pod_status pod_table_print(const pod_table *t, FILE *to);
enum { POD_TABLE_KEY_BYTES = 96 };
/* Writes a column's name in a CSV to `key`, and returns it: only letters, digits and "_", with the
 * unit at the end: "time" in "(us)" is time_us, "peak%" peak_pct, "err/bound" err_over_bound,
 * "#wrong" wrong. */
const char *pod_table_key(const pod_column *column, const char *prefix, char *key, size_t room);
POD_MUST pod_status pod_table_write_csv(const pod_table *t, const char *path);
/* Prints the table, writes it to `csv` unless that is "", and destroys it even on failure. */
POD_MUST pod_status pod_table_finish(pod_table *t, FILE *to, const char *csv);
/* Puts an array of objects under `key`: numbers as numbers, and "-" in a column of numbers
 * (unknown) as null. */
void pod_table_json(const pod_table *t, pod_json *j, const char *key);

#endif
