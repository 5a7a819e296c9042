/* Where a slice goes: which cells of which pod. A placement is one file and a line in
 * placements.def; it chooses among the boxes of a grid. Cells that are alike need no choice but that
 * of the pod. */
#ifndef MINIPOD_RUNTIME_FLEET_PLACE_PLACE_H
#define MINIPOD_RUNTIME_FLEET_PLACE_PLACE_H

#include "kernels/base/arena.h"
#include "runtime/fleet/place/topology.h"

typedef struct pod_occupancy { /* of pods that are alike; cells are numbered through all pods */
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
void pod_occupancy_set(pod_occupancy *o, int cell, bool is_taken); /* it was the other */

static inline bool pod_has_room(const pod_occupancy *o, int n_cells) /* by count, in one pod */
{
    for (int i = 0; i < o->n_pods; i++)
        if (o->n_free[i] >= n_cells) return true;
    return false;
}

typedef struct pod_placement pod_placement;

/* The placements by name; NULL: there is none. */
const pod_placement *pod_placement_find(const char *name);
/* The i-th; NULL behind the last. */
const pod_placement *pod_placement_at(int i);
const char *pod_placement_name(const pod_placement *p);
const char *pod_placement_about(const pod_placement *p);

typedef struct pod_placer pod_placer; /* a placement, and the memory that it works in */

/* In the arena, for pods of that topology. */
POD_MUST pod_status pod_placer_create(pod_arena *a, const pod_placement *how, const pod_topology *t,
                                      pod_placer **out);
/* The fewest cells that a slice of so many chips takes with this placement; 0: none has room. */
int pod_placer_cells_for(const pod_placer *p, int64_t chips);

/* The same of a shape. */
int pod_placer_cells_of(const pod_placer *p, const pod_slice_shape *s);

typedef struct pod_slice {
    int n_cells;           /* a number that one of these gave */
    pod_slice_shape shape; /* not known: any */
} pod_slice;

/* Finds free cells that make the slice, in order. Of cells that are alike it takes those first that
 * `prefer` marks, unless that is NULL. False: there are none, and `cells` holds nothing of use. */
bool pod_placer_find(pod_placer *p, const pod_occupancy *o, pod_slice slice, const uint8_t *prefer,
                     int cells[]);

#endif
