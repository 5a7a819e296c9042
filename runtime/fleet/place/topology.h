/* A pod as a scheduler sees it: its cells (a cell is the smallest unit that is allocated and that
 * fails: a host with its chips), and the shapes that a slice may have.
 *
 *   pool    a slice is any free cells
 *   nodes   nodes with several GPUs each; a cell is a GPU; a slice uses as few nodes as possible
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
    int n_groups, group_cells;     /* nodes or cubes; a pool or a grid is one group */
    int extent[POD_TOPOLOGY_DIMS]; /* of a group in cells, x first */
    int host[POD_TOPOLOGY_DIMS];   /* chips of a cell */
    bool wraps;                    /* grid: a box may wrap around the edge */
} pod_topology;

/* Parses "tpu-v4", "pool:640", "nodes:64x8", "cubes:64", "torus:32x32" or "mesh:8x8"; the last two
 * give chips, of which 2x2 are a host. E_INVALID. */
POD_MUST pod_status pod_topology_parse(const char *text, pod_topology *out);

static inline int64_t pod_topology_chips(const pod_topology *t)
{
    return (int64_t)t->n_cells * t->chips_per_cell;
}

/* Returns the number of links that count as a host's: one per chip and dimension of the torus or
 * mesh; 0 in pools and nodes. */
static inline int pod_topology_host_links(const pod_topology *t)
{
    const bool is_flat = t->kind == POD_TOPOLOGY_GRID && t->extent[2] == 1;
    const bool has_any = t->kind == POD_TOPOLOGY_GRID || t->kind == POD_TOPOLOGY_CUBES;
    return has_any ? t->chips_per_cell * (is_flat ? 2 : 3) : 0;
}

/* Returns the cells of one row of a picture: a cube, a node, a line of hosts of a grid along x, or
 * a whole pool. */
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

/* Lists the boxes of n_cells cells within a group, at most `room` of them, the least surface first;
 * of equal surfaces those that are long in x come first. Returns their number. */
int pod_topology_boxes(const pod_topology *t, int n_cells, pod_box box[], int room);

/* Returns the fewest cells of a slice with this many chips; 0 if a pod has no such slice. */
int pod_topology_cells_for(const pod_topology *t, int64_t chips);

enum { POD_SLICE_SHAPE_BYTES = 40 };

typedef struct pod_slice_shape {   /* of a slice, in any orientation */
    int extent[POD_TOPOLOGY_DIMS]; /* in chips; 0 0 0: unknown, or any */
} pod_slice_shape;

/* Prints the shape with the largest extent last: "4x4x8"; "4x8" in pods of two dimensions; "" if it
 * is unknown. Returns `text`. */
const char *pod_slice_shape_print(const pod_topology *t, const pod_slice_shape *s,
                                  char text[POD_SLICE_SHAPE_BYTES]);
static inline bool pod_slice_shape_is_known(const pod_slice_shape *s) { return s->extent[0] > 0; }

/* Returns the number of cells of a slice of this shape; 0 if a pod has no such slice. */
int pod_topology_cells_of(const pod_topology *t, const pod_slice_shape *s);
/* Returns whether a box within a group has this shape. */
bool pod_box_has_shape(const pod_topology *t, const pod_box *b, const pod_slice_shape *s);
/* Finds the shape of a slice of n_cells cells with the least surface: a box within a group, or a
 * box of whole cubes. Returns false if there is none. */
bool pod_topology_shape_for(const pod_topology *t, int n_cells, pod_slice_shape *out);
/* Returns the shape of the slice of these cells: that of their box; of several cubes, that of
 * pod_topology_shape_for. */
pod_slice_shape pod_topology_shape_of(const pod_topology *t, const int cells[], int n_cells);

#endif
