/* Judges a `:::MLLOG` log by the rules of the reference checker (form of a line, occurrence, order,
 * values of the common keys) and by what a run of minipod owes on top: the open division, the truth
 * about model and data, pairs that close, epochs and times that never go back. A run that was
 * aborted may lack evaluations, and the last one its accuracy. */
#ifndef MINIPOD_TESTS_TOOLS_MLLOG_CHECK_H
#define MINIPOD_TESTS_TOOLS_MLLOG_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Into `why`: the first fault, with its line. */
bool pod_mllog_check(const char *path, char *why, size_t bytes);

#endif
