/* Links that have failed, and the ways round them.
 *
 * A link fails both ways. Messages then take shortest ways over the links that are left: at each
 * hop the one of mesh/route.h where that lies on a shortest way, else the first that does, by
 * dimension, up before down. So a message whose way by route.h meets no failed link goes as ever;
 * any other gets there as well, over as few hops as can be, and the same way each time. */
#ifndef MINIPOD_COLLECTIVES_MESH_DETOUR_H
#define MINIPOD_COLLECTIVES_MESH_DETOUR_H

#include "collectives/mesh/route.h"
#include "kernels/base/arena.h"

typedef struct pod_detours pod_detours;

/* In the arena, which is borrowed for prepare too. link[i] fails and the one that leads back.
 * E_INVALID for a link that leads nowhere; when the mesh falls apart, naming two cores. E_NOMEM. */
POD_MUST pod_status pod_detours_create(pod_arena *a, const pod_mesh *m, const int link[], int n,
                                       pod_detours **out);

/* Whether the way by route.h meets a failed link. */
bool pod_detours_meets(const pod_detours *d, int from, int to);

/* Finds the ways to a core from all others; once is enough. E_NOMEM. */
POD_MUST pod_status pod_detours_prepare(pod_detours *d, int to);

bool pod_detours_has(const pod_detours *d, int to); /* was prepared */
/* The next hop from a core on the way to another, that was prepared. */
pod_hop pod_detours_next(const pod_detours *d, int at, int to);

#endif
