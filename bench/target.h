/* What the programs of this process are compiled for: its CPU, the kernels that --impl names, and
 * the rates that the machine file holds. */
#ifndef MINIPOD_BENCH_TARGET_H
#define MINIPOD_BENCH_TARGET_H

#include "runtime/core/config.h"
#include "runtime/core/machine.h"
#include "runtime/ops/op.h"

/* `machine` may be NULL: the built-in rates. `c` and `machine` are borrowed as long as the target
 * is used. E_INVALID, with the nearest name, when --impl names a kernel that no table has. */
POD_MUST pod_status pod_target_from(const pod_config *c, const pod_machine *machine,
                                    pod_target *out);

#endif
