/* Which instructions a compiler joins, so that what lies between them never goes to memory:
 *
 *   - a value made element by element that only sweeps and products read is not stored: each of its
 *     readers makes it again from what it is made of, where that moves fewer bytes;
 *   - a sweep over what a product or another sweep makes runs as that is made, if all else that it
 *     reads is there before.
 *
 * Nothing is moved across a collective. What is joined is charged where its first instruction
 * stands. */
#ifndef MINIPOD_RUNTIME_EXEC_COST_JOIN_H
#define MINIPOD_RUNTIME_EXEC_COST_JOIN_H

#include "runtime/program/program.h"

typedef struct pod_list {
    const int32_t *at;
    int32_t n;
} pod_list;

typedef struct pod_joined {
    int32_t lead;           /* the first instruction */
    pod_list work;          /* instructions; one that several readers repeat is in each of them */
    pod_list reads, writes; /* slots in memory, each once; views as what they show */
} pod_joined;

/* bytes[s]: of slot s as the machine stores it. Instructions that run nothing are left out. In the
 * order of the leads; E_NOMEM. */
POD_MUST pod_status pod_join(const pod_program *p, const double bytes[], pod_arena *arena,
                             const pod_joined **out, int32_t *n);

#endif
