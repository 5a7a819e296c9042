/* The interconnect of a machine file, as a net for the simulator and for a mesh. */
#ifndef MINIPOD_RUNTIME_CORE_MACHINE_NET_H
#define MINIPOD_RUNTIME_CORE_MACHINE_NET_H

#include "collectives/mesh/mesh.h"
#include "collectives/net/net.h"
#include "runtime/machine/machine.h"

/* Dimensions are x, y and z of chips in this order; a mesh of three on a machine with several cores
 * per chip begins with the cores of a chip, then x and y.
 *
 * Opens or wraps each dimension as the machine does at that extent. A dimension that its file does
 * not mention stays as it is, and so does a forced one. E_INVALID for a wrap that the machine
 * cannot do, for more cores per chip than it has, and for a mesh larger than the machine. */
POD_MUST pod_status pod_machine_wrap_mesh(const pod_machine *m, pod_mesh *mesh);

/* Returns the cores used per chip: the first extent of a mesh that begins with cores, else 1. */
int pod_machine_cores_used(const pod_machine *m, const pod_mesh *mesh);

/* Finds the slice with so many cores among the `slices` of the machine file. E_INVALID, naming the
 * nearest, if there is none, and if the file lists none or something else than meshes. */
POD_MUST pod_status pod_machine_slice(const pod_machine *m, int64_t cores, pod_mesh *out);

/* If ranks outnumber a host's cores, they share them in turns. E_INVALID if the file lacks a number
 * that this needs. */
POD_MUST pod_status pod_machine_net(const pod_machine *m, const pod_mesh *mesh, pod_net *out);

#endif
