/* Times of ops on a host, looked up in the table of calls that `minipod calibrate` timed. */
#ifndef MINIPOD_RUNTIME_EXEC_HOST_OPS_H
#define MINIPOD_RUNTIME_EXEC_HOST_OPS_H

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"

/* Returns the key of this work in that table; its time, us, is 0. */
pod_op_time pod_work_call(const pod_work *w);

typedef struct pod_host_time { /* of all ops of an instruction, over all its tiles */
    double matrix_s, vector_s;
} pod_host_time;

/* Returns whether the table has calls from which this work's time can be estimated. If not, its
 * time is that of its FLOPs at the machine's peak or of its bytes through memory, whichever is
 * longer. */
bool pod_work_is_probed(const pod_machine *m, const pod_work *w);

/* Returns the times of the instruction's ops: matrix_s of those with matmuls, vector_s of the
 * others and of adding up sums over tiles. */
pod_host_time pod_host_works(const pod_machine *m, const pod_instr *instr);

#endif
