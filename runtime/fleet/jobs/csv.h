/* Reads a CSV file with named columns row by row. Fields are separated by commas; a field in double
 * quotes may contain commas, and a quote in it is doubled. Lines that are blank or begin with # are
 * skipped; the first other line has the names of the columns. Errors are E_FORMAT and begin with
 * FILE:LINE. */
#ifndef MINIPOD_RUNTIME_FLEET_JOBS_CSV_H
#define MINIPOD_RUNTIME_FLEET_JOBS_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"

enum { POD_CSV_COLUMNS = 64 };

typedef struct pod_csv {
    const char *name; /* of the file */
    char *next;       /* the text that is not read yet */
    int line;         /* of the current row */
    int n_columns, n_rows;
    const char *column[POD_CSV_COLUMNS];
    const char *field[POD_CSV_COLUMNS]; /* of the current row, trimmed */
} pod_csv;

/* Reads the names of the columns; `text` is changed, and borrowed like `name`. */
POD_MUST pod_status pod_csv_open(const char *name, char *text, pod_csv *out);
int pod_csv_column(const pod_csv *c, const char *name); /* -1: there is none */
/* Sets *out to the column's index; E_FORMAT if it is missing. */
POD_MUST pod_status pod_csv_need(const pod_csv *c, const char *name, int *out);
POD_MUST pod_status pod_csv_next(pod_csv *c, bool *more); /* reads the next row */

/* Fails with E_FORMAT and the text "FILE:LINE: ...". */
POD_MUST pod_status pod_csv_bad(const pod_csv *c, const char *fmt, ...) POD_PRINTF(2, 3);
/* Parse a field of the row as a number in [min, max]. */
POD_MUST pod_status pod_csv_int(const pod_csv *c, int column, int64_t min, int64_t max,
                                int64_t *out);
POD_MUST pod_status pod_csv_double(const pod_csv *c, int column, double min, double max,
                                   double *out);
/* Returns a field that minipod later writes to other CSV files without quoting: E_FORMAT if it has
 * a comma, a quote or a line break. "" for column -1. */
POD_MUST pod_status pod_csv_text(const pod_csv *c, int column, const char **out);
/* Returns whether the row has a text in that column; false for column -1. */
bool pod_csv_has(const pod_csv *c, int column);

#endif
