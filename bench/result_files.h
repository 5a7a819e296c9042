/* The result files that options name. One of them may be standard output; messages then go to
 * standard error. A result replaces only an empty file or a file of its kind. */
#ifndef MINIPOD_BENCH_RESULT_FILES_H
#define MINIPOD_BENCH_RESULT_FILES_H

#include <stdbool.h>

#include "kernels/base/status.h"
#include "runtime/config/config.h"

/* Returns whether an option sends results to standard output. */
bool pod_result_files_take_stdout(const pod_config *c);
/* Checks, before the work of `command` (its bit) begins, that its results can be written. Fails
 * with E_IO if one cannot be opened; with E_INVALID if a result has the path of another result, of
 * a file that another option names, or of a file that the command writes to --out, or if there is a
 * file of another kind at its path. */
POD_MUST pod_status pod_result_files_check(const pod_config *c, uint32_t command);

/* Fails with E_INVALID if the folder `out` ("": none) has a file with a name that `command` uses
 * there, but that minipod did not write. */
POD_MUST pod_status pod_result_files_check_out(const char *out, uint32_t command);

#endif
