/* The results of a command: each quantity is added once, and becomes a row of the table and a key
 * of the JSON.
 *
 * Values are given in SI units, shares as fractions of 1, and JSON has them so. The table converts
 * them to its unit: "ms", "us" and "%" multiply, "MiB", "GiB", "MB" and "GFLOP" divide. A value
 * that is not finite is unknown: "-" in the table, null in JSON. Keys and rows are in the order of
 * the calls. Put into `json` directly what only JSON has; put what only the table has into `table`,
 * or give a NULL key. */
#ifndef MINIPOD_BENCH_COMMON_RECORD_H
#define MINIPOD_BENCH_COMMON_RECORD_H

#include "bench/common/table.h"
#include "runtime/config/config.h"

typedef struct pod_record {
    pod_table *table;
    pod_json json;
    char *text; /* the JSON text, once it is written */
    size_t bytes;
} pod_record;

/* Opens the JSON object with the schema, its version and the program's version; items down to
 * line_depth have lines of their own. A table of quantities has pod_quantity_columns. The columns
 * are borrowed. */
POD_MUST pod_status pod_record_open(const char *schema, int line_depth, const pod_column columns[],
                                    int n_columns, pod_record *out);
void pod_record_close(pod_record *r); /* {0} is allowed */

/* Add a row to a table of quantities. `digits` is the number of decimals, or, if negative, of
 * significant digits. */
void pod_record_text(pod_record *r, const char *key, const char *name, const char *value);
void pod_record_int(pod_record *r, const char *key, const char *name, const char *unit,
                    int64_t value);
void pod_record_real(pod_record *r, const char *key, const char *name, const char *unit, int digits,
                     double value);
/* Appends to the note of the last row. */
void pod_record_note(pod_record *r, const char *fmt, ...) POD_PRINTF(2, 3);

/* Add the next cell to a table with other columns, in the unit of its column, and a key to the
 * object that is open in `json`. A NULL text and a value that is not finite are unknown. */
void pod_cell_text(pod_record *r, const char *key, const char *value);
void pod_cell_int(pod_record *r, const char *key, int64_t value);
void pod_cell_real(pod_record *r, const char *key, int digits, double value);

/* Closes the JSON object if it is open, and writes it; writes nothing if `path` is "". Fails with
 * E_IO, E_WRITE or E_NOMEM. */
POD_MUST pod_status pod_record_write_json(pod_record *r, const char *path);
/* Writes the table as CSV, likewise. */
POD_MUST pod_status pod_record_write_csv(const pod_record *r, const char *path);

/* Ends a command: prints the table unless `to` is NULL, writes the files of --csv and --json, and
 * closes the record even if it fails. */
POD_MUST pod_status pod_record_finish(pod_record *r, const pod_config *c, FILE *to);

/* Writes a JSON file without a table: `put` puts `what`; items down to line_depth have lines of
 * their own. Fails with E_IO, E_WRITE or E_NOMEM. */
POD_MUST pod_status pod_json_file_write(const char *path, int line_depth,
                                        void (*put)(const void *what, pod_json *j),
                                        const void *what);

#endif
