/* Computes the times of a program's instructions from the numbers of a machine file. Nothing is run
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
    double seconds; /* of the instruction. Clock virtual: overhead_s plus the slowest unit, for the
                       units of a core work at the same time. Clock wall: the sum of all four */
    pod_bound bound;
    double flops, vector_ops, bytes; /* work of all joined instructions; bytes to and from memory */
    int32_t n_joined; /* instructions joined at this one, itself included; 0: it is joined to
                         another, or is a collective or a fetch */
} pod_instr_time;

/* Computes time[i] for every instruction i. Fails with E_INVALID, naming the key, if the machine
 * file lacks a number that is needed. */
POD_MUST pod_status pod_cost_program(const pod_machine *m, const pod_program *p,
                                     pod_instr_time time[]);

/* Computes the bytes that a core of a machine with clock virtual needs in a step: variables,
 * inputs, the buffers of collectives, and the values that the machine's compiler would store, in
 * its padded layout. Fails like pod_cost_program. */
POD_MUST pod_status pod_cost_memory(const pod_machine *m, const pod_program *p, size_t *bytes);

/* pod_cost_program for machines with clock virtual (a pod) and with clock wall (a host). */
POD_MUST pod_status pod__cost_pod(const pod_machine *m, const pod_program *p,
                                  pod_instr_time time[]);
POD_MUST pod_status pod__cost_host(const pod_machine *m, const pod_program *p,
                                   pod_instr_time time[]);

/* Sets t->seconds to the overhead plus the time of the slowest unit, and t->bound to the larger of
 * these. */
void pod__cost_bound(pod_instr_time *t);

#endif
