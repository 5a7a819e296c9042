/* Judges a trace file as a viewer reads it, in whole nanoseconds cut from doubles: object form,
 * every row named and of one rank, slices of a row side by side, both ends of every arrow within
 * a slice and forward in time, times with all digits and never negative, and no bytes in flight
 * at the end. */
#ifndef MINIPOD_TESTS_TOOLS_TRACE_CHECK_H
#define MINIPOD_TESTS_TOOLS_TRACE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pod_trace_counts {
    int ranks, slices, arrows, counters, instants;
    int steps, data, file; /* slices of those lanes */
} pod_trace_counts;

/* Into `why`: the first fault. */
bool pod_trace_check(const char *path, pod_trace_counts *out, char *why, size_t bytes);

#endif
