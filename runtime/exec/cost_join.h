/* Models how a compiler joins instructions so that values between them never go to memory:
 *
 *   - a value that is computed element by element and read only by sweeps and matmuls is not
 *     stored if that moves no more bytes: each of its readers computes it again from its inputs;
 *   - a sweep (pod_sweep) over the result of a matmul or of another sweep runs together with it,
 *     if its other inputs are computed before.
 *
 * The update joins only what its element-by-element ops can compute again. Nothing moves across a
 * collective. The time of joined instructions is counted at the first of them. */
#ifndef MINIPOD_RUNTIME_EXEC_COST_JOIN_H
#define MINIPOD_RUNTIME_EXEC_COST_JOIN_H

#include "runtime/program/program.h"

typedef struct pod_list {
    const int32_t *at;
    int32_t n;
} pod_list;

typedef struct pod_joined {
    int32_t lead;           /* the first instruction */
    pod_list work;          /* instructions; one that several readers compute again is in the work
                               of each */
    pod_list reads, writes; /* slots in memory, each once; a view counts as the slot that it
                               shows */
} pod_joined;

/* Finds the groups of joined instructions, in the order of their leads; every POD_I_RUN instruction
 * is in at least one. bytes[s] is the size of slot s in the machine's layout. Fails with
 * E_NOMEM. */
POD_MUST pod_status pod_join(const pod_program *p, const double bytes[], pod_arena *arena,
                             const pod_joined **out, int32_t *n);

#endif
