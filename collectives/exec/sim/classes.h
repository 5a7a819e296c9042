/* Classes of ranks that do the same. Along a dimension that wraps, a rank and another one some
 * cores further on may have the same schedule, with all peers moved by the same distance: the
 * shift.
 *
 * If all ranks start at the same time, and ranks of a class do the same in every collective, then
 * all their times are the same, and one rank of each class is simulated instead of all. Ranks are
 * in the same class if, along each dimension, they are a multiple of its shift apart:
 *
 *     Mesh 2x6ox4, dimensions core, y, z; y is open. For an algorithm that depends on z modulo 2
 *     the shift along z is 2. There are 24 classes: those of the ranks 0..11 (z = 0) and of the
 *     ranks 12..23 (z = 1). Ranks at z = 2 and 3 are in the classes of those two planes.
 *
 * This is checked: each schedule is compared with those one shift away, with peers relative to the
 * rank, and so are the routes of its messages (mesh/route.h decides ties by coordinate). On a small
 * mesh all schedules are compared, on a large one a sample: those around the root, and others. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SIM_CLASSES_H
#define MINIPOD_COLLECTIVES_EXEC_SIM_CLASSES_H

#include "collectives/algo/algo.h"
#include "collectives/net/net.h"

typedef struct pod_sim_classes { /* a value */
    pod_mesh mesh;
    int shift[POD_MESH_MAX_DIMS]; /* divides the extent; equal to it: no rank is like another */
    int n_classes, n_alike;       /* n_alike: ranks per class */
    int n_twins;  /* 2 if ranks along dimension 0 have one schedule, shifted; or 1 */
    bool is_near; /* POD_SIM_NEARLY: collectives of different counts may share a plan, scaled */
} pod_sim_classes;

pod_sim_classes pod_sim_classes_of_each(const pod_mesh *m); /* each rank is a class */

typedef enum pod_sim_likeness {
    POD_SIM_EQUAL,  /* simulating classes gives the same picoseconds as simulating every rank */
    POD_SIM_NEARLY, /* messages may differ by one element, if a count is not divisible, and the
                       pieces of a large block may depend on different earlier steps of a rank */
} pod_sim_likeness;

/* Finds the classes, as few as possible, whose ranks do the same in each of the n collectives,
 * algo[i] with args[i], on the simulated machine `net` with mesh `m`. Every rank is its own class
 * if ranks share memory, or if a hop takes no time. Fails with E_INVALID as pod_coll_build does,
 * and with E_NOMEM. */
POD_MUST pod_status pod_sim_classes_find(const pod_net *net, const pod_mesh *m,
                                         const pod_coll_algo *const algo[],
                                         const pod_coll_args args[], int n,
                                         pod_sim_likeness likeness, pod_sim_classes *out);

int pod_sim_class_of(const pod_sim_classes *c, int rank);
/* Returns the first rank of a class. */
int pod_sim_class_rank(const pod_sim_classes *c, int class_number);

#endif
