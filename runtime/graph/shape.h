/* Shapes and types of values.
 *
 * Letters, in all headers: N samples, H W image rows and columns, C input channels, P Q output rows
 * and columns, K output channels, R S filter rows and columns. Images are (N, H, W, C), filters (K,
 * R, S, C), matrices (rows, columns), all row-major. */
#ifndef MINIPOD_RUNTIME_GRAPH_SHAPE_H
#define MINIPOD_RUNTIME_GRAPH_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectives/mesh/mesh.h"
#include "kernels/base/dtype.h"

enum { POD_MAX_DIMS = 5 };

typedef struct pod_shape {
    int n_dims; /* 0: a scalar */
    int64_t dim[POD_MAX_DIMS];
} pod_shape;

/* Sharding by elements. Several values, one after the other, form a sequence of elements. The cores
 * along the mesh dimensions in `over` each hold a block of per_core elements of that sequence, in
 * the order of the cores. This value begins at element `first` of the sequence, so that a core
 * holds all, some, or none of its elements. per_core 0: not sharded. */
typedef struct pod_shard {
    int64_t first, per_core;
    uint8_t over;
} pod_shard;

/* `shape` is the shape of the whole value. The masks describe how the cores of a mesh hold it; bit
 * d stands for mesh dimension d. If all masks are zero and it is not sharded, every core holds the
 * whole value, with the same bits. */
typedef struct pod_type {
    pod_dtype dtype;
    pod_shape shape;
    uint8_t split[POD_MAX_DIMS]; /* by dimension of the value: the mesh dimensions over which it is
                                    split */
    uint8_t sum;  /* the mesh dimensions over whose cores the value is a sum: each core holds a
                    summand */
    uint8_t vary; /* the mesh dimensions over whose cores the value is a mean: each core holds a
                     value of its own (statistics of its samples) */
    pod_shard shard;
} pod_type;

typedef struct pod_part { /* a range of a value's elements */
    int64_t first, count;
} pod_part;

int64_t pod_shape_count(const pod_shape *s); /* number of elements; 1 for a scalar */
bool pod_shape_equal(const pod_shape *a, const pod_shape *b);
/* Writes "(256, 28, 28, 16)" to text, and returns text. */
const char *pod_shape_print(const pod_shape *s, char *text, size_t bytes);

pod_type pod_type_of(pod_dtype t, int n_dims, const int64_t dim[]); /* whole on every core */
/* Returns the shape on one core: split dimensions divided by the extents, rounded up. */
pod_shape pod_type_local(const pod_type *t, const pod_mesh *m);
size_t pod_type_local_bytes(const pod_type *t, const pod_mesh *m);
/* Returns the range of elements that core number `core` holds: all of them if the value is not
 * sharded. */
pod_part pod_type_part(const pod_type *t, int core);
/* Returns the number of cores in a group along the mesh dimensions of the mask: the product of
 * their extents. */
int pod_mask_size(const pod_mesh *m, uint8_t mask);
uint8_t pod_mask_all(const pod_mesh *m); /* the dimensions longer than 1 */

#endif
