/* Times of a host's ops: calibrate measures the same calls that the cost of a program looks up. */
#ifndef MINIPOD_RUNTIME_EXEC_HOST_OPS_H
#define MINIPOD_RUNTIME_EXEC_HOST_OPS_H

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"

/* Returns the call whose time is that of the op; us is 0. */
pod_op_time pod_work_call(const pod_work *w);

typedef struct pod_host_time { /* of an instruction's ops in all of its tiles */
    double matrix_s, vector_s;
} pod_host_time;

/* Returns whether a probe has timed calls like it. If not, its time is that of its FLOPs at the
 * machine's peak, or of its bytes through memory. */
bool pod_work_is_probed(const pod_machine *m, const pod_work *w);

/* Returns the times of its ops, with operands where the probes had them: a tile's in the core's
 * cache. */
pod_host_time pod_host_works(const pod_machine *m, const pod_instr *instr);

#endif
