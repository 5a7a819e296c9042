/* Placement: chooses the pod and the cells for a slice. Each placement algorithm is one file and a
 * line in placements.def. It chooses among the boxes of a grid; where cells are interchangeable it
 * only decides which pod is taken. */
#ifndef MINIPOD_RUNTIME_FLEET_PLACE_PLACE_H
#define MINIPOD_RUNTIME_FLEET_PLACE_PLACE_H

#include "kernels/base/arena.h"
#include "runtime/fleet/place/topology.h"

typedef struct pod_occupancy { /* of pods with one topology; cells are numbered through all pods */
    const pod_topology *topology;
    int n_pods;
    uint8_t *taken;               /* (n_pods, n_cells); 0: free */
    int *n_free;                  /* (n_pods) */
    int *group_free;              /* (n_pods, n_groups) */
    const int *pod_of, *group_of; /* (n_pods, n_cells) */
} pod_occupancy;

static inline int pod_occupancy_cells(const pod_occupancy *o)
{
    return o->n_pods * o->topology->n_cells;
}
POD_MUST pod_status pod_occupancy_create(pod_arena *a, const pod_topology *t, int n_pods,
                                         pod_occupancy *out); /* all free */
void pod_occupancy_copy(pod_occupancy *to, const pod_occupancy *from);
void pod_occupancy_set(pod_occupancy *o, int cell, bool is_taken); /* asserts a change */

static inline bool pod_has_room(const pod_occupancy *o, int n_cells) /* in one pod, any shape */
{
    for (int i = 0; i < o->n_pods; i++)
        if (o->n_free[i] >= n_cells) return true;
    return false;
}

typedef struct pod_placement pod_placement;

/* Returns the placement of this name; NULL if there is none. */
const pod_placement *pod_placement_find(const char *name);
/* Returns the i-th placement; NULL after the last. */
const pod_placement *pod_placement_at(int i);
const char *pod_placement_name(const pod_placement *p);
const char *pod_placement_about(const pod_placement *p);

typedef struct pod_placer pod_placer; /* a placement with its memory */

/* Creates a placer for pods of this topology, in the arena. */
POD_MUST pod_status pod_placer_create(pod_arena *a, const pod_placement *how, const pod_topology *t,
                                      pod_placer **out);
/* Returns the fewest cells of a slice with this many chips under this placement; 0 if a pod has no
 * such slice. */
int pod_placer_cells_for(const pod_placer *p, int64_t chips);

/* Returns the cells of a slice of this shape, likewise. */
int pod_placer_cells_of(const pod_placer *p, const pod_slice_shape *s);

typedef struct pod_slice {
    int n_cells;           /* as one of these two returns it */
    pod_slice_shape shape; /* not known: any shape */
} pod_slice;

/* Finds free cells for the slice, and writes them to `cells`. In a pool, and for whole cubes, it
 * takes cells that `prefer` marks (may be NULL) first. Returns false if there are none; the content
 * of `cells` is then undefined. */
bool pod_placer_find(pod_placer *p, const pod_occupancy *o, pod_slice slice, const uint8_t *prefer,
                     int cells[]);

#endif
