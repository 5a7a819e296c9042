/* What a pod is to a scheduler: cells (the smallest thing that is allocated and that fails: a host
 * and its chips), and the shapes that a slice may have.
 *
 *   pool    cells that are all alike: any free ones make a slice
 *   nodes   nodes of some GPUs; a cell is a GPU, and few nodes are better than many
 *   cubes   TPU v4: cubes of 4x4x4 chips behind optical switches. Any free cubes make a slice of
 *           several; within a cube a slice is a box of hosts
 *   grid    TPU v2 and v3: a torus without switches; a slice is a box of hosts */
#ifndef MINIPOD_RUNTIME_FLEET_PLACE_TOPOLOGY_H
#define MINIPOD_RUNTIME_FLEET_PLACE_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/status.h"

typedef enum pod_topology_kind {
    POD_TOPOLOGY_POOL,
    POD_TOPOLOGY_NODES,
    POD_TOPOLOGY_CUBES,
    POD_TOPOLOGY_GRID
} pod_topology_kind;

enum { POD_TOPOLOGY_DIMS = 3, POD_TOPOLOGY_MAX_CELLS = 1 << 16, POD_TOPOLOGY_NAME_BYTES = 32 };

typedef struct pod_topology { /* of one pod; a value */
    pod_topology_kind kind;
    char name[POD_TOPOLOGY_NAME_BYTES]; /* "tpu-v4", "nodes:64x8" */
    int n_cells, chips_per_cell;
    int n_groups, group_cells;     /* nodes or cubes; a pool and a grid are one */
    int extent[POD_TOPOLOGY_DIMS]; /* in cells, x first: of a group */
    int host[POD_TOPOLOGY_DIMS];   /* chips of a cell */
    bool wraps;                    /* grid: a box may go round the edge */
} pod_topology;

/* "tpu-v4", "pool:640", "nodes:64x8", "cubes:64", "torus:32x32", "mesh:8x8" (chips, hosts of 2x2).
 * E_INVALID. */
POD_MUST pod_status pod_topology_parse(const char *text, pod_topology *out);

static inline int64_t pod_topology_chips(const pod_topology *t)
{
    return (int64_t)t->n_cells * t->chips_per_cell;
}

/* Links that begin at a host: one per chip and dimension of the torus; other pods have none. */
static inline int pod_topology_host_links(const pod_topology *t)
{
    const bool is_flat = t->kind == POD_TOPOLOGY_GRID && t->extent[2] == 1;
    const bool has_any = t->kind == POD_TOPOLOGY_GRID || t->kind == POD_TOPOLOGY_CUBES;
    return has_any ? t->chips_per_cell * (is_flat ? 2 : 3) : 0;
}

/* What a picture shows side by side: the cubes or nodes of a pod, the lines of hosts along x of a
 * grid, or a pool as a whole. */
static inline int pod_topology_row_cells(const pod_topology *t)
{
    return t->kind == POD_TOPOLOGY_GRID ? t->extent[0] : t->group_cells;
}

typedef struct pod_box {
    int extent[POD_TOPOLOGY_DIMS]; /* in cells */
} pod_box;

/* Returns half the surface of a box, in faces of cells. */
static inline int pod_box_surface(const pod_box *b)
{
    const int x = b->extent[0], y = b->extent[1], z = b->extent[2];
    return x * y + y * z + z * x;
}

/* The boxes of so many cells within a group, the least surface first, x long before y and z on a
 * tie; at most `room`. Returns how many there are. */
int pod_topology_boxes(const pod_topology *t, int n_cells, pod_box box[], int room);

/* The fewest cells that a slice of so many chips can have; 0: a pod has no such slice. */
int pod_topology_cells_for(const pod_topology *t, int64_t chips);

enum { POD_SLICE_SHAPE_BYTES = 40 };

typedef struct pod_slice_shape {   /* of a slice, in any orientation */
    int extent[POD_TOPOLOGY_DIMS]; /* in chips; 0 0 0: not known, or any */
} pod_slice_shape;

/* The largest extent last, "4x4x8"; without an extent of 1 of pods of two dimensions; "" if it is
 * not known. */
const char *pod_slice_shape_print(const pod_topology *t, const pod_slice_shape *s,
                                  char text[POD_SLICE_SHAPE_BYTES]);
static inline bool pod_slice_shape_is_known(const pod_slice_shape *s) { return s->extent[0] > 0; }

/* The cells of such a slice; 0: a pod has none. */
int pod_topology_cells_of(const pod_topology *t, const pod_slice_shape *s);
/* Whether the box, of cells within a group, has this shape. */
bool pod_box_has_shape(const pod_topology *t, const pod_box *b, const pod_slice_shape *s);
/* The shape of so many cells with the least surface: of a box within a group, or of whole cubes.
 * False: there is none. */
bool pod_topology_shape_for(const pod_topology *t, int n_cells, pod_slice_shape *out);
/* The shape of these cells, which are a slice: that of their box; of whole cubes as above. */
pod_slice_shape pod_topology_shape_of(const pod_topology *t, const int cells[], int n_cells);

#endif
