/* Strict parsers of small values: the whole text must be a value. They fail with E_INVALID and a
 * text that names `what`, the value and what is allowed; the out-parameter is then unchanged. */
#ifndef MINIPOD_KERNELS_BASE_PARSE_H
#define MINIPOD_KERNELS_BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/status.h"

POD_MUST pod_status pod_parse_int(const char *what, const char *text, int64_t min, int64_t max,
                                  int64_t *out);
/* Parses a finite number in [min, max], in the C locale; an infinite bound means none. */
POD_MUST pod_status pod_parse_double(const char *what, const char *text, double min, double max,
                                     double *out);
/* Parses bytes, 0 or more: "1000", "64K", "1.5M", "4G". Suffixes are binary and case-insensitive,
 * and may be followed by B; the result must be an integer. */
POD_MUST pod_status pod_parse_size(const char *what, const char *text, int64_t *out);
/* Parses on, off, true, false, yes, no, 1 or 0. */
POD_MUST pod_status pod_parse_bool(const char *what, const char *text, bool *out);
/* Parses 1 to max_dims positive numbers joined by x, as in "28x28x1"; *n_dims is their number. */
POD_MUST pod_status pod_parse_dims(const char *what, const char *text, int max_dims, int64_t dim[],
                                   int *n_dims);

/* Writes the shortest text that pod_parse_size reads back equal: "64K", "1M", "1000". Returns
 * text. */
const char *pod_print_size(int64_t bytes, char *text, size_t text_bytes);
/* The same, into memory that lasts as long as the enclosing block. */
enum { POD_SIZE_TEXT_BYTES = 32 };
#define POD_SIZE_TEXT(bytes) \
    pod_print_size((bytes), (char[POD_SIZE_TEXT_BYTES]){0}, POD_SIZE_TEXT_BYTES)
/* Writes the fewest digits that read back equal: "0.1", "50", "1e+06", "1e-06"; "nan", "inf". 32
 * bytes always suffice. Returns text. */
const char *pod_print_double(double value, char *text, size_t text_bytes);

#endif
