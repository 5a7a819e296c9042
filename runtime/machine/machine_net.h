/* The interconnect of a machine file, as a net for the simulator and for a mesh. */
#ifndef MINIPOD_RUNTIME_MACHINE_MACHINE_NET_H
#define MINIPOD_RUNTIME_MACHINE_MACHINE_NET_H

#include "collectives/mesh/mesh.h"
#include "collectives/net/net.h"
#include "runtime/machine/machine.h"

/* The dimensions of a mesh are x, y and z of chips, in this order. On a machine with several cores
 * per chip, a mesh with three dimensions is (cores of a chip, x, y).
 *
 * Sets whether each dimension is a ring, as the machine has it at that extent. A dimension without
 * a rule in the machine file does not change, nor does a forced one. E_INVALID for a wrap that the
 * machine cannot do, for more cores per chip than it has, and for a mesh larger than the
 * machine. */
POD_MUST pod_status pod_machine_wrap_mesh(const pod_machine *m, pod_mesh *mesh);

/* Returns the cores used per chip: the first extent of a mesh that begins with cores, else 1. */
int pod_machine_cores_used(const pod_machine *m, const pod_mesh *mesh);

/* Finds the slice with `cores` cores among the `slices` of the machine file. E_INVALID, naming the
 * nearest, if there is none, and if the file has no slices or malformed ones. */
POD_MUST pod_status pod_machine_slice(const pod_machine *m, int64_t cores, pod_mesh *out);

/* Computes the net of a mesh on a machine. On a host with fewer cores than ranks, ranks share the
 * cores in turns. E_INVALID if the file lacks a number that is needed. */
POD_MUST pod_status pod_machine_net(const pod_machine *m, const pod_mesh *mesh, pod_net *out);

#endif
