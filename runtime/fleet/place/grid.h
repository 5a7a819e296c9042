/* Finds boxes of free cells on a grid with a summed-area table, and defines the interface between
 * place.c and the placement algorithms (place_<name>.c). */
#ifndef MINIPOD_RUNTIME_FLEET_PLACE_GRID_H
#define MINIPOD_RUNTIME_FLEET_PLACE_GRID_H

#include "runtime/fleet/place/place.h"

enum { POD__MAX_BOXES = 64 };

typedef struct pod__grid { /* one pod or cube */
    int extent[POD_TOPOLOGY_DIMS];
    int span[POD_TOPOLOGY_DIMS]; /* twice the extent if boxes may wrap around the edge */
    bool wraps;
    /* (span z + 1, y + 1, x + 1): number of taken cells at smaller z, y and x; 0 where z, y or x is
     * 0, which is never written */
    int *sum;
} pod__grid;

typedef struct pod__spot { /* a box at a position */
    int base[POD_TOPOLOGY_DIMS];
    pod_box box;
} pod__spot;

size_t pod__grid_sums(const pod_topology *t); /* elements of `sum` */
void pod__grid_load(pod__grid *g, const pod_topology *t, const uint8_t taken[]);
static inline int *pod__grid_sum(const pod__grid *g, int x, int y, int z)
{
    return &g->sum[((size_t)z * (size_t)(g->span[1] + 1) + (size_t)y) * (size_t)(g->span[0] + 1) +
                   (size_t)x];
}

/* Returns the number of taken cells in a box, whose base is within the grid. */
static inline int pod__grid_taken(const pod__grid *g, const pod__spot *s)
{
    const int x = s->base[0], y = s->base[1], z = s->base[2], u = x + s->box.extent[0];
    const int *low = pod__grid_sum(g, 0, y, z + s->box.extent[2]),
              *high = pod__grid_sum(g, 0, y + s->box.extent[1], z + s->box.extent[2]);
    const int n = high[u] - high[x] - low[u] + low[x];
    if (z == 0) return n;
    low = pod__grid_sum(g, 0, y, z);
    high = pod__grid_sum(g, 0, y + s->box.extent[1], z);
    return n - (high[u] - high[x] - low[u] + low[x]);
}
/* Moves the box to its next base, x first; if `aligned`, in steps of its own sides. Returns false
 * after the last. The first base is 0. */
bool pod__grid_next(const pod__grid *g, pod__spot *s, bool aligned);
/* Lists the cells of a box, numbered through all pods; `at` is the number of the grid's first
 * cell. */
void pod__grid_cells(const pod__grid *g, const pod__spot *s, int at, int cells[]);

typedef struct pod__choice { /* input and output of a placement algorithm */
    const pod_occupancy *occupancy;
    pod__grid *grid;
    uint8_t *room; /* memory for the cells of a pod */
    const pod_box *box;
    int n_boxes, n_cells;
    /* The result. */
    pod__spot spot;
    int pod;
} pod__choice;

typedef bool pod__choose_fn(pod__choice *c);

struct pod_placement {
    const char *name, *about;
    pod__choose_fn *choose;
};

#define POD_PLACEMENT(name, about) pod__choose_fn pod__choose_##name;
#include "runtime/fleet/place/placements.def"

/* Chooses the first free spot of these boxes, pod by pod; `aligned` as above. False: there is
 * none. */
bool pod__choose_free(pod__choice *c, bool aligned);
/* Loads pod `i` into the grid; false if it has too few free cells. */
bool pod__choice_load(pod__choice *c, int i);

#endif
