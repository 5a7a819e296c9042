/* Prints the kernels and collective algorithms that were picked for a program. */
#ifndef MINIPOD_RUNTIME_PROGRAM_PICKS_H
#define MINIPOD_RUNTIME_PROGRAM_PICKS_H

#include "kernels/base/arena.h"
#include "runtime/program/program.h"

/* Returns text in the arena, one line "op = kernel or algorithm" for each different pair, in the
 * order of first use; NULL without memory. */
const char *pod_program_picks(const pod_program *p, pod_arena *a);

#endif
