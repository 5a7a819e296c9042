/* The instructions that a compiler joins, so that values between them never go to memory:
 *
 *   - a value computed element by element that only sweeps and matmuls read is not stored if that
 *     moves fewer bytes: each of its readers computes it from its inputs;
 *   - a sweep over the result of a matmul or of another sweep runs together with it, if all its
 *     other inputs are there before.
 *
 * Nothing moves across a collective. Joined instructions count at the first of them. */
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

/* Finds the joined instructions, in the order of their leads, without instructions that run
 * nothing. bytes[s] are those of slot s as the machine stores it. Fails with E_NOMEM. */
POD_MUST pod_status pod_join(const pod_program *p, const double bytes[], pod_arena *arena,
                             const pod_joined **out, int32_t *n);

#endif
