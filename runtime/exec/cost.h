/* The times of a program's instructions on a machine, from its machine file alone: nothing is run
 * and nothing is measured. */
#ifndef MINIPOD_RUNTIME_EXEC_COST_H
#define MINIPOD_RUNTIME_EXEC_COST_H

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"

typedef enum pod_bound { /* the resource that limits an instruction */
                         POD_BOUND_MATRIX,
                         POD_BOUND_VECTOR,
                         POD_BOUND_MEMORY,
                         POD_BOUND_OVERHEAD,
                         POD_N_BOUNDS
} pod_bound;

const char *pod_bound_name(pod_bound b); /* "matrix" */

typedef struct pod_instr_time { /* on one core, in seconds; 0 for a collective or a fetch */
    double matrix_s, vector_s, memory_s, overhead_s;
    double seconds; /* of the instruction: units of a core work at the same time */
    pod_bound bound;
    double flops, vector_ops, bytes; /* of all joined instructions; bytes to and from memory */
    int32_t n_joined; /* joined instructions; 0: it is joined to another, or has none */
} pod_instr_time;

/* Computes time[i] for every instruction i. E_INVALID, naming the key, if the machine file lacks a
 * number that this needs. */
POD_MUST pod_status pod_cost_program(const pod_machine *m, const pod_program *p,
                                     pod_instr_time time[]);

/* Computes the bytes that a core of a virtual machine needs in a step: variables, input, the memory
 * of collectives, and the values that its compiler stores, in its layout. E_INVALID likewise. */
POD_MUST pod_status pod_cost_memory(const pod_machine *m, const pod_program *p, size_t *bytes);

/* The two kinds of machines: clock virtual, and clock wall. */
POD_MUST pod_status pod__cost_pod(const pod_machine *m, const pod_program *p,
                                  pod_instr_time time[]);
POD_MUST pod_status pod__cost_host(const pod_machine *m, const pod_program *p,
                                   pod_instr_time time[]);

/* Computes `seconds` and `bound` from the others: the slowest unit, and the overhead before it. */
void pod__cost_bound(pod_instr_time *t);

#endif
