/* The mesh of cores: ranks as points of a grid of one to three dimensions, each open or wrapped.
 *
 * Rank and coordinate are two names of one core: dimension 0 varies fastest, so that with three
 * extents the cores of a chip are neighbours in rank. Nothing here knows MPI. */
#ifndef MINIPOD_COLLECTIVES_MESH_MESH_H
#define MINIPOD_COLLECTIVES_MESH_MESH_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/base/status.h"

/* ROOM: extents there is room for, for who cuts each in two (tiles) and counts more than cores
 * (micro-steps). */
enum { POD_MESH_MAX_DIMS = 3, POD_MESH_ROOM = 2 * POD_MESH_MAX_DIMS + 1, POD_MESH_TEXT_BYTES = 48 };

typedef struct pod_mesh { /* a value: copy it freely */
    int n_dims;
    int extent[POD_MESH_ROOM];
    bool wraps[POD_MESH_ROOM];
    bool is_forced[POD_MESH_ROOM]; /* the text said o or w: a machine file does not decide it */
    bool is_of_chips; /* with three extents all are of chips: a pod's file says so. Else the first
                         is the cores of a chip */
} pod_mesh;

typedef struct pod_coord {
    int at[POD_MESH_MAX_DIMS];
} pod_coord;

/* "2x16x32", fastest first: one to three extents >= 1 whose product fits an int. An extent wraps;
 * `o` behind it opens it, `w` wraps it and says that this was asked for ("2x128ox32").
 * E_INVALID. */
POD_MUST pod_status pod_mesh_parse(const char *text, pod_mesh *out);
/* The inverse of parse, into POD_MESH_TEXT_BYTES; returns `text`. An open dimension shows its o
 * whoever opened it. */
const char *pod_mesh_print(const pod_mesh *m, char *text, size_t text_bytes);
/* The same, into memory that lasts as long as the enclosing block. */
#define POD_MESH_TEXT(mesh) \
    pod_mesh_print((mesh), (char[POD_MESH_TEXT_BYTES]){0}, POD_MESH_TEXT_BYTES)

int pod_mesh_size(const pod_mesh *m);
pod_coord pod_mesh_coord(const pod_mesh *m, int rank);
int pod_mesh_rank(const pod_mesh *m, pod_coord at);
/* The next core along `dim`, up (dir = 1) or down (dir = -1); -1 beyond an open edge. A wrapped
 * dimension of extent 1 makes a core its own neighbour. */
int pod_mesh_neighbor(const pod_mesh *m, int rank, int dim, int dir);

#endif
