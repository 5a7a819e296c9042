/* Times of a host's ops: what calibrate measures and who costs a program looks up are the same
 * calls. */
#ifndef MINIPOD_RUNTIME_EXEC_HOST_OPS_H
#define MINIPOD_RUNTIME_EXEC_HOST_OPS_H

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"

/* The call that an op's time is that of; us is 0. */
pod_op_time pod_work_call(const pod_work *w);

typedef struct pod_host_time { /* of an instruction's ops in all of its tiles */
    double matrix_s, vector_s;
} pod_host_time;

/* Returns whether a probe has timed calls like it. If not, its time is that of its FLOPs at the
 * machine's peak, or of its bytes through memory. */
bool pod_work_is_probed(const pod_machine *m, const pod_work *w);

/* With what they work on where the probes had it: a tile's in the core's cache. */
pod_host_time pod_host_works(const pod_machine *m, const pod_instr *instr);

#endif
