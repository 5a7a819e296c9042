/* What the programs of this process are compiled of and for: the network of a model's name, this CPU,
 * the kernels that --impl names, and the rates that the machine file holds. */
#ifndef MINIPOD_BENCH_COMMON_TARGET_H
#define MINIPOD_BENCH_COMMON_TARGET_H

#include "collectives/exec/comm.h"
#include "models/model.h"
#include "runtime/config/config.h"
#include "runtime/machine/machine.h"
#include "runtime/ops/op.h"
#include "runtime/train/network.h"

typedef struct pod_network_choice { /* what the network's builder needs */
    const pod_model *model;
    const pod_setup *setup;
} pod_network_choice;

/* E_INVALID with the nearest name when the setup's model is none of the table. `choice` and the
 * setup must stay where they are as long as the network is used. */
POD_MUST pod_status pod_network_choose(const pod_setup *s, pod_network_choice *choice,
                                       pod_network *out);

/* The machine file that --machine names, read by rank 0 for all. Collective. E_INVALID for a pod,
 * whose times are a simulation's; else as pod_machine_load. */
POD_MUST pod_status pod_target_machine(pod_comm *comm, const pod_config *c, pod_machine *out);

/* The names of all kernels for matmuls and convolutions; answers how many. */
enum { POD_TARGET_MAX_KERNELS = 2 * POD_MAX_CANDIDATES };
int pod_target_kernels(const char *name[POD_TARGET_MAX_KERNELS]);

/* E_INVALID, with the nearest, unless each of the words of --impl is one of the n names. */
POD_MUST pod_status pod_target_check_impls(const char *impl, const char *const name[], int n);

/* `c` and `machine` are borrowed as long as the target is used. E_INVALID, with the nearest name, when --impl names a kernel that no table has. */
POD_MUST pod_status pod_target_from(const pod_config *c, const pod_machine *machine,
                                    pod_target *out);

/* Whether a CPU quota leaves the ranks of this host less time than so many `cores` have; then the note
 * says how much, and what it does to times. Of the process that asks. */
bool pod_quota_note(int cores, char *note, size_t bytes);

#endif
