/* Writes JSON as a stream, without a tree in memory; cJSON reads it.
 *
 * cJSON's own printer keeps numbers as doubles and prints them with 15 digits when that is within
 * an epsilon. Here doubles read back equal, 64-bit integers keep all digits, numbers that are not
 * finite become null, and text is valid UTF-8 (a stray byte becomes U+FFFD). Errors are those of
 * the stream, and found when it is closed. */
#ifndef MINIPOD_RUNTIME_CORE_JSON_H
#define MINIPOD_RUNTIME_CORE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { POD_JSON_MAX_DEPTH = 16 };

typedef struct pod_json {
    FILE *to;
    int depth;
    int line_depth; /* containers down to this depth have one item per line */
    bool has_items[POD_JSON_MAX_DEPTH + 1];
    char closing[POD_JSON_MAX_DEPTH + 1];
} pod_json;

/* With `line_depth` 0 all is on one line, with ", " and ": " between, as mlperf_logging does. */
pod_json pod_json_start(FILE *to, int line_depth);

/* `key` is NULL inside an array and at the top. */
void pod_json_open_object(pod_json *j, const char *key);
void pod_json_open_array(pod_json *j, const char *key);
void pod_json_close(pod_json *j); /* the innermost open one */

void pod_json_double(pod_json *j, const char *key, double value);
void pod_json_int(pod_json *j, const char *key, int64_t value);
/* Writes value / 10^places exactly: picoseconds as microseconds have 6 places. */
void pod_json_decimal(pod_json *j, const char *key, int64_t value, int places);
void pod_json_bool(pod_json *j, const char *key, bool value);
void pod_json_text(pod_json *j, const char *key, const char *value); /* NULL becomes null */
void pod_json_null(pod_json *j, const char *key);

/* Writes a text alone, in quotes. */
void pod_json_quote(FILE *to, const char *text);

#endif
