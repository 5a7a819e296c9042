/* The files of results that a person asks for. One of them may be standard output; what is printed
 * beside goes to standard error then. A result replaces nothing but an earlier one of its kind. */
#ifndef MINIPOD_BENCH_RESULT_FILES_H
#define MINIPOD_BENCH_RESULT_FILES_H

#include <stdbool.h>

#include "kernels/base/status.h"
#include "runtime/config/config.h"

bool pod_result_files_take_stdout(const pod_config *c);
/* Fails before the work of `command` (its bit) if its results could not be written afterwards. E_IO:
 * one cannot be opened. E_INVALID: two are one file, one goes into --out anyway, or its path has a
 * file that the same option did not write, as every file that a command reads is. */
POD_MUST pod_status pod_result_files_check(const pod_config *c, uint32_t command);

/* Fails with E_INVALID if the folder `out` has a file of the name of one that `command` writes there,
 * and minipod did not write it; "" is no folder. */
POD_MUST pod_status pod_result_files_check_out(const char *out, uint32_t command);

#endif
