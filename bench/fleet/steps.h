/* Simulates the training steps of jobs that name a model and a batch, as `minipod simulate`
 * does. */
#ifndef MINIPOD_BENCH_FLEET_STEPS_H
#define MINIPOD_BENCH_FLEET_STEPS_H

#include "bench/common/table.h"
#include "collectives/mesh/mesh.h"
#include "kernels/base/arena.h"
#include "runtime/config/config.h"
#include "runtime/core/json.h"
#include "runtime/fleet/place/topology.h"

typedef struct pod_fleet_step_key {
    const pod_topology *topology; /* its name must be that of a machine, such as tpu-v4 */
    int n_cells;                  /* of the slice */
    pod_slice_shape shape;        /* not known: the one with the least surface */
    const char *model;
    int64_t batch;
    bool overlaps; /* collectives overlap with the backward pass */
} pod_fleet_step_key;

typedef struct pod_fleet_step {
    char mesh[POD_MESH_TEXT_BYTES];
    double step_s, ideal_s;
    double bytes;      /* of a checkpoint */
    double start_up_s; /* from --start-up or the machine file; 0: unknown */
    int n_nodes;       /* number of nodes that write a checkpoint */
} pod_fleet_step;

typedef struct pod_fleet_steps pod_fleet_steps; /* a cache of steps, shared by threads */

/* Creates an empty cache, in the arena. `c` is borrowed. */
POD_MUST pod_status pod_fleet_steps_create(const pod_config *c, pod_arena *a,
                                           pod_fleet_steps **out);
void pod_fleet_steps_destroy(pod_fleet_steps *s); /* NULL is allowed */

/* Returns the cached step, or simulates it. Fails with E_INVALID for an unknown model and for
 * pods that are not those of a machine, and as pod_simulate does. */
POD_MUST pod_status pod_fleet_step_find(pod_fleet_steps *s, const pod_fleet_step_key *k,
                                        pod_fleet_step *out);

/* Add a note to a table, or an object to JSON, for each simulated step. */
void pod_fleet_steps_note(const pod_fleet_steps *s, pod_table *t);
void pod_fleet_steps_json(const pod_fleet_steps *s, pod_json *j);

#endif
