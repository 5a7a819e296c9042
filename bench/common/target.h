/* Finds what the compiler needs for these settings: the network for a model's name, this process's
 * CPU, the kernels in --impl, and the rates in the machine file. */
#ifndef MINIPOD_BENCH_COMMON_TARGET_H
#define MINIPOD_BENCH_COMMON_TARGET_H

#include "collectives/exec/comm.h"
#include "models/language.h"
#include "models/model.h"
#include "runtime/config/config.h"
#include "runtime/machine/machine.h"
#include "runtime/ops/op.h"
#include "runtime/task/network.h"

typedef struct pod_network_choice { /* context of the network's builder */
    const pod_model *model;         /* of images, or NULL */
    const pod_language *language;   /* else */
    const pod_setup *setup;
} pod_network_choice;

/* Finds the setup's model. If s->data is "", sets it to the default data of the model's task. Fails
 * with E_INVALID, naming the nearest model, if there is none of that name. `choice` and the setup
 * must outlive the network, at the same address. */
POD_MUST pod_status pod_network_choose(pod_setup *s, pod_network_choice *choice, pod_network *out);
const char *pod_network_about(const pod_network_choice *choice); /* one line, with its source */

/* Loads the machine file of --machine on rank 0 and sends it to all ranks. Collective. Fails with
 * E_INVALID for a pod, on which only simulations run, and as pod_machine_load does. */
POD_MUST pod_status pod_target_machine(pod_comm *comm, const pod_config *c, pod_machine *out);

/* Lists the names of all kernels for matmuls and convolutions, and returns their number. */
enum { POD_TARGET_MAX_KERNELS = 2 * POD_MAX_CANDIDATES };
int pod_target_kernels(const char *name[POD_TARGET_MAX_KERNELS]);

/* Fails with E_INVALID, naming the nearest, unless each word of --impl is one of the n names. */
POD_MUST pod_status pod_target_check_impls(const char *impl, const char *const name[], int n);

/* `c` and `machine` are borrowed as long as the target is used. Fails with E_INVALID, naming the
 * nearest, if --impl has a kernel that is in no table. */
POD_MUST pod_status pod_target_from(const pod_config *c, const pod_machine *machine,
                                    pod_target *out);

/* Returns whether the CPU quota of this process is less than `cores`; the note then says how much
 * it is, and that times include the operating system's scheduler. */
bool pod_quota_note(int cores, char *note, size_t bytes);

#endif
