/* Warns if a CPU quota gives the ranks of this host less time than their cores could. */
#ifndef MINIPOD_BENCH_COMMON_QUOTA_H
#define MINIPOD_BENCH_COMMON_QUOTA_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a quota allows less than so many `cores`; then the note says how much, and what it does to
 * times. Of the process that asks. */
bool pod_quota_note(int cores, char *note, size_t bytes);

#endif
