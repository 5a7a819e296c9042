/* Ranks that do alike: on a mesh that wraps, moved along, a schedule is its neighbour's.
 *
 * Where all ranks start alike and every collective looks the same from every place, so do all
 * times: then one rank of each class is simulated instead of all. Ranks are alike when they are a
 * whole number of shifts apart, along dimensions that wrap:
 *
 *     2x6ox4, both cores and all of y open, z wraps       class: its number at z = 0 and z = 1
 *     an algorithm that looks at z modulo 2: shift 2      0..11 and 12..23; z = 2, 3 again
 *
 * That this holds is looked up, not believed: each schedule is compared with those that are a shift
 * apart, peers counted from where they are, and so are the ways of its messages (mesh/route.h
 * decides ties by place). On a small mesh all are compared, on a large one a choice of them: those
 * around the root and others anywhere. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SIM_CLASSES_H
#define MINIPOD_COLLECTIVES_EXEC_SIM_CLASSES_H

#include "collectives/algo/algo.h"
#include "collectives/net/net.h"

typedef struct pod_sim_classes { /* a value */
    pod_mesh mesh;
    int shift[POD_MESH_MAX_DIMS]; /* divides the extent; the extent itself: nobody is alike */
    int n_classes, n_alike;       /* n_alike: ranks of each class */
    bool is_near; /* POD_SIM_NEARLY: then also collectives that differ in their counts alone may be
                     taken for each other, scaled */
} pod_sim_classes;

pod_sim_classes pod_sim_classes_of_each(const pod_mesh *m); /* every rank a class of its own */

typedef enum pod_sim_likeness {
    POD_SIM_EQUAL,  /* to the picosecond a simulation by classes is that of every rank's schedule */
    POD_SIM_NEARLY, /* messages may differ by an element, where a count does not divide, and steps
                       in which earlier ones of their rank they come after, where the pieces of a
                       large block come one after another and not each wants the same one */
} pod_sim_likeness;

/* The fewest classes that are the same for all n collectives on this machine: algo[i] with args[i].
 * Every rank is its own class where ranks share memory and where a hop takes no time. E_INVALID
 * as pod_coll_build; E_NOMEM. */
POD_MUST pod_status pod_sim_classes_find(const pod_net *net, const pod_mesh *m,
                                         const pod_coll_algo *const algo[],
                                         const pod_coll_args args[], int n,
                                         pod_sim_likeness likeness, pod_sim_classes *out);

int pod_sim_class_of(const pod_sim_classes *c, int rank);
/* The first of its ranks. */
int pod_sim_class_rank(const pod_sim_classes *c, int class_number);

#endif
