/* The times of a program's instructions on a machine, from its machine file alone: nothing is run
 * and nothing is measured. */
#ifndef MINIPOD_RUNTIME_EXEC_COST_H
#define MINIPOD_RUNTIME_EXEC_COST_H

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"

typedef enum pod_bound { /* what an instruction waits for most */
                         POD_BOUND_MATRIX,
                         POD_BOUND_VECTOR,
                         POD_BOUND_MEMORY,
                         POD_BOUND_OVERHEAD,
                         POD_N_BOUNDS
} pod_bound;

const char *pod_bound_name(pod_bound b); /* "matrix" */

typedef struct pod_instr_time { /* of one core, in seconds; of a collective or a fetch 0 */
    double matrix_s, vector_s, memory_s, overhead_s;
    double seconds; /* of the instruction: units of a core work at the same time */
    pod_bound bound;
    double flops, vector_ops, bytes; /* pod_cost's of all whose work it is; to and from memory */
    int32_t n_joined;                /* whose work it is; 0: it is part of another's, or none */
} pod_instr_time;

/* time[i] for every instruction i of the program. E_INVALID, naming the key, when the machine's
 * file lacks a number that this needs. */
POD_MUST pod_status pod_cost_program(const pod_machine *m, const pod_program *p,
                                     pod_instr_time time[]);

/* Bytes that a core of a virtual machine holds at most in a step: variables, input, the memory of
 * collectives, and the values that its compiler stores, as it stores them. E_INVALID likewise. */
POD_MUST pod_status pod_cost_memory(const pod_machine *m, const pod_program *p, size_t *bytes);

/* The two kinds of machines: clock virtual, and clock wall. */
POD_MUST pod_status pod__cost_pod(const pod_machine *m, const pod_program *p,
                                  pod_instr_time time[]);
POD_MUST pod_status pod__cost_host(const pod_machine *m, const pod_program *p,
                                   pod_instr_time time[]);

/* `seconds` and `bound` from the others: the slowest unit, and the overhead before it. */
void pod__cost_bound(pod_instr_time *t);

#endif
