/* The files of results that a person asks for. One of them may be standard output; what is printed
 * beside goes to standard error then. None is a file that the command reads. */
#ifndef MINIPOD_BENCH_RESULT_FILES_H
#define MINIPOD_BENCH_RESULT_FILES_H

#include <stdbool.h>

#include "kernels/base/status.h"
#include "runtime/core/config.h"

bool pod_result_files_take_stdout(const pod_config *c);
/* Whether they can be written, asked before the work whose results they take. `command` is the bit
 * of who takes them. E_IO; E_INVALID: two of them are standard output, or one file; one is a file
 * that is read, or of a run's folder that is, or that goes into --out or is written anyway; is there,
 * not empty, and was not written by the same option of minipod; or is the folder of --out, which
 * need not be there yet. */
POD_MUST pod_status pod_result_files_check(const pod_config *c, uint32_t command);
/* The part of it that asks for files which are read: again of settings that came later. */
POD_MUST pod_status pod_result_files_spare_inputs(const pod_config *c, uint32_t command);

/* Refuses, before anything is written, a folder for --out of `command` in which a file or folder
 * goes by a name of what the command writes and is nothing that minipod wrote; "" is none. */
POD_MUST pod_status pod_result_files_spare_foreign(const char *out, uint32_t command);

#endif
