/* The steps of jobs that name a model and a batch, simulated as `minipod simulate` does it. */
#ifndef MINIPOD_BENCH_FLEET_STEPS_H
#define MINIPOD_BENCH_FLEET_STEPS_H

#include "bench/common/table.h"
#include "collectives/mesh/mesh.h"
#include "kernels/base/arena.h"
#include "runtime/config/config.h"
#include "runtime/core/json.h"
#include "runtime/fleet/place/topology.h"

typedef struct pod_fleet_step_key {
    const pod_topology *topology; /* its name is a machine's */
    int n_cells;                  /* of the slice */
    pod_slice_shape shape;        /* not known: that of so many cells with the least surface */
    const char *model;
    int64_t batch;
    bool overlaps; /* collectives with the backward pass */
} pod_fleet_step_key;

typedef struct pod_fleet_step {
    char mesh[POD_MESH_TEXT_BYTES];
    double step_s, ideal_s;
    double bytes;      /* of a checkpoint */
    double start_up_s; /* of the machine file; 0: it has none */
    int n_nodes;       /* that write a checkpoint */
} pod_fleet_step;

typedef struct pod_fleet_steps pod_fleet_steps; /* a cache, which threads share */

/* Borrows all, as long as it lives. */
POD_MUST pod_status pod_fleet_steps_create(const pod_config *c, pod_arena *a,
                                           pod_fleet_steps **out);
void pod_fleet_steps_destroy(pod_fleet_steps *s); /* NULL is allowed */

/* Returns the cached step, or simulates it. Fails with E_INVALID for a model that there is none of,
 * pods that are no machine's, and as pod_simulate does. */
POD_MUST pod_status pod_fleet_step_find(pod_fleet_steps *s, const pod_fleet_step_key *k,
                                        pod_fleet_step *out);

/* A note, and a JSON object, for each step that was simulated. */
void pod_fleet_steps_note(const pod_fleet_steps *s, pod_table *t);
void pod_fleet_steps_json(const pod_fleet_steps *s, pod_json *j);

#endif
