/* The kernels and algorithms that were picked for a program, as text: one line `op = kernel or
 * algorithm` each, in the order of their first use. */
#ifndef MINIPOD_RUNTIME_PROGRAM_PICKS_H
#define MINIPOD_RUNTIME_PROGRAM_PICKS_H

#include "kernels/base/arena.h"
#include "runtime/program/program.h"

/* Returns the text, in the arena; NULL without memory. */
const char *pod_program_picks(const pod_program *p, pod_arena *a);

#endif
