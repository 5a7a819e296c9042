/* The mesh of cores: ranks as points of a grid with one to three dimensions, each open or wrapped.
 *
 * Rank and coordinate both identify a core: dimension 0 varies fastest, so with three extents the
 * cores of a chip have consecutive ranks. Nothing here uses MPI. */
#ifndef MINIPOD_COLLECTIVES_MESH_MESH_H
#define MINIPOD_COLLECTIVES_MESH_MESH_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/base/status.h"

/* POD_MESH_ROOM: more extents than dimensions, for code that splits each in two (tiles) and adds
 * one (micro-steps). */
enum { POD_MESH_MAX_DIMS = 3, POD_MESH_ROOM = 2 * POD_MESH_MAX_DIMS + 1, POD_MESH_TEXT_BYTES = 48 };

typedef struct pod_mesh { /* a value: copy it freely */
    int n_dims;
    int extent[POD_MESH_ROOM];
    bool wraps[POD_MESH_ROOM];
    bool is_forced[POD_MESH_ROOM]; /* the text had o or w, which a machine file does not override */
    bool is_of_chips; /* three extents count chips; false: the first counts the cores of a chip */
} pod_mesh;

typedef struct pod_coord {
    int at[POD_MESH_MAX_DIMS];
} pod_coord;

/* Parses "2x16x32", fastest first: one to three extents >= 1 whose product fits an int. Extents
 * wrap; `o` after one opens it, and `w` wraps it whatever a machine file says ("2x128ox32"). Fails
 * with E_INVALID. */
POD_MUST pod_status pod_mesh_parse(const char *text, pod_mesh *out);
/* The inverse of parse; `text` needs POD_MESH_TEXT_BYTES; returns `text`. Every open dimension has
 * an o, also if a machine file opened it. */
const char *pod_mesh_print(const pod_mesh *m, char *text, size_t text_bytes);
/* Likewise, in memory that lasts as long as the enclosing block. */
#define POD_MESH_TEXT(mesh) \
    pod_mesh_print((mesh), (char[POD_MESH_TEXT_BYTES]){0}, POD_MESH_TEXT_BYTES)

int pod_mesh_size(const pod_mesh *m);
pod_coord pod_mesh_coord(const pod_mesh *m, int rank);
int pod_mesh_rank(const pod_mesh *m, pod_coord at);
/* Returns the next core along `dim`, up (dir = 1) or down (dir = -1); -1 beyond an open edge. In a
 * wrapped dimension of extent 1, a core is its own neighbour. */
int pod_mesh_neighbor(const pod_mesh *m, int rank, int dim, int dir);

#endif
