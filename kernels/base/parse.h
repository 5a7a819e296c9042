/* Strict parsers of small values: the whole text must be used. On failure the out-parameter is
 * untouched; the error names `what`, the text and what was wanted. */
#ifndef MINIPOD_KERNELS_BASE_PARSE_H
#define MINIPOD_KERNELS_BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/status.h"

POD_MUST pod_status pod_parse_int(const char *what, const char *text, int64_t min, int64_t max,
                                  int64_t *out);
/* Finite, min <= value <= max, C locale; infinities as bounds mean no bound. */
POD_MUST pod_status pod_parse_double(const char *what, const char *text, double min, double max,
                                     double *out);
/* "64K", "1.5M", "4G": binary suffixes, case-insensitive, an optional B behind; whole bytes, 0 or
 * more. */
POD_MUST pod_status pod_parse_size(const char *what, const char *text, int64_t *out);
/* on, off, true, false, yes, no, 1, 0 */
POD_MUST pod_status pod_parse_bool(const char *what, const char *text, bool *out);
/* "28x28x1": 1 to max_dims positive numbers joined by x; *n_dims says how many. */
POD_MUST pod_status pod_parse_dims(const char *what, const char *text, int max_dims, int64_t dim[],
                                   int *n_dims);

/* "64K", "1M", "1000": the shortest text that pod_parse_size reads back equal. */
const char *pod_print_size(int64_t bytes, char *text, size_t text_bytes);
/* The fewest digits that read back equal: "0.1", "50", "1e+06", "1e-06"; "nan", "inf". 32 bytes
 * always suffice. */
const char *pod_print_double(double value, char *text, size_t text_bytes);

#endif
