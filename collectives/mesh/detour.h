/* Failed links, and routes around them.
 *
 * A link fails in both directions. Messages then take shortest routes over the remaining links. At
 * each core, the next hop is that of mesh/route.h if it is on such a route, else the first one that
 * is, in the order of dimensions and up before down. So a message whose route by route.h has no
 * failed link keeps it; every other message takes as few hops as possible, and always the same
 * route. */
#ifndef MINIPOD_COLLECTIVES_MESH_DETOUR_H
#define MINIPOD_COLLECTIVES_MESH_DETOUR_H

#include "collectives/mesh/route.h"
#include "kernels/base/arena.h"

typedef struct pod_detours pod_detours;

/* Creates the detours in the arena, which pod_detours_prepare also uses. link[i] and its reverse
 * fail. Fails with E_INVALID for a link that does not exist, or, naming two cores, if the mesh is
 * no longer connected; and with E_NOMEM. */
POD_MUST pod_status pod_detours_create(pod_arena *a, const pod_mesh *m, const int link[], int n,
                                       pod_detours **out);

/* Returns whether the route by route.h has a failed link. */
bool pod_detours_meets(const pod_detours *d, int from, int to);

/* Finds the routes from all cores to core `to`; needed once per core. Fails with E_NOMEM. */
POD_MUST pod_status pod_detours_prepare(pod_detours *d, int to);

bool pod_detours_has(const pod_detours *d, int to); /* whether it was prepared */
/* Returns the next hop from core `at` to core `to`, which must have been prepared. */
pod_hop pod_detours_next(const pod_detours *d, int at, int to);

#endif
