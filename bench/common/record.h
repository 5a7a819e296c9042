/* What a command found, said once: each quantity is a row of its table and a key of its JSON.
 *
 * Values are in SI units, shares are of 1, and JSON has them so. The table shows them in its unit:
 * "ms", "us" and "%" multiply, "MiB", "GiB", "MB" and "GFLOP" divide. A value that is not finite is not
 * known: "-" in the table, null in JSON. Keys and rows stand in the order of the calls. What only
 * JSON has goes to `json`, what only the table has, to `table` or with a NULL key. */
#ifndef MINIPOD_BENCH_COMMON_RECORD_H
#define MINIPOD_BENCH_COMMON_RECORD_H

#include "bench/common/table.h"
#include "runtime/config/config.h"

typedef struct pod_record {
    pod_table *table;
    pod_json json;
    char *text; /* of `json`, once it is written */
    size_t bytes;
} pod_record;

/* Opens the JSON object with schema, version and the program's; items stand on lines of their own
 * down to line_depth. A table of quantities has pod_quantity_columns. The columns are borrowed. */
POD_MUST pod_status pod_record_open(const char *schema, int line_depth, const pod_column columns[],
                                    int n_columns, pod_record *out);
void pod_record_close(pod_record *r); /* also one that is {0} */

/* A row of a table of quantities; `digits` behind the point, or below 0 so many significant ones. */
void pod_record_text(pod_record *r, const char *key, const char *name, const char *value);
void pod_record_int(pod_record *r, const char *key, const char *name, const char *unit,
                    int64_t value);
void pod_record_real(pod_record *r, const char *key, const char *name, const char *unit, int digits,
                     double value);
/* Appends to the note of the row before. */
void pod_record_note(pod_record *r, const char *fmt, ...) POD_PRINTF(2, 3);

/* The next cell of a table with other columns, in the unit of its column, and a key of the object
 * that is open in `json`. A NULL text and a value that is not finite are not known. */
void pod_cell_text(pod_record *r, const char *key, const char *value);
void pod_cell_int(pod_record *r, const char *key, int64_t value);
void pod_cell_real(pod_record *r, const char *key, int digits, double value);

/* Closes the object where it is open, and writes it. Also "", which is no file. E_IO, E_NOMEM. */
POD_MUST pod_status pod_record_write_json(pod_record *r, const char *path);
/* The table's, likewise. */
POD_MUST pod_status pod_record_write_csv(const pod_record *r, const char *path);

/* For the end of a command: prints the table unless `to` is NULL, writes the files of --csv and --json,
 * and closes the record in any case. */
POD_MUST pod_status pod_record_finish(pod_record *r, const pod_config *c, FILE *to);

/* A JSON file without a table: `put` puts `what`, with an item a line down to line_depth. E_IO. */
POD_MUST pod_status pod_json_file_write(const char *path, int line_depth,
                                        void (*put)(const void *what, pod_json *j),
                                        const void *what);

#endif
