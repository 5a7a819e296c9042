/* What the programs of this process are compiled for: its CPU, the kernels that --impl names, and
 * the rates that the machine file holds. */
#ifndef MINIPOD_BENCH_COMMON_TARGET_H
#define MINIPOD_BENCH_COMMON_TARGET_H

#include "collectives/exec/comm.h"
#include "runtime/config/config.h"
#include "runtime/machine/machine.h"
#include "runtime/ops/op.h"

/* The machine file that --machine names, read by rank 0 for all. Collective. E_INVALID for a pod,
 * whose times are a simulation's; else as pod_machine_load. */
POD_MUST pod_status pod_target_machine(pod_comm *comm, const pod_config *c, pod_machine *out);

/* E_INVALID, with the nearest, unless each of the words of --impl is one of the n names. */
POD_MUST pod_status pod_target_check_impls(const char *impl, const char *const name[], int n);

/* `c` and `machine` are borrowed as long as the target
 * is used. E_INVALID, with the nearest name, when --impl names a kernel that no table has. */
POD_MUST pod_status pod_target_from(const pod_config *c, const pod_machine *machine,
                                    pod_target *out);

#endif
