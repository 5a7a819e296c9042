/* What `minipod scale` knows of each mesh of its list. */
#ifndef MINIPOD_BENCH_SIMULATE_SCALE_H
#define MINIPOD_BENCH_SIMULATE_SCALE_H

#include <stdbool.h>

#include "bench/common/published.h"
#include "bench/simulate/simulate.h"
#include "collectives/mesh/mesh.h"
#include "kernels/base/arena.h"
#include "runtime/config/config.h"
#include "runtime/machine/machine.h"

typedef struct pod_scale_time { /* of a step; the parts sum to it */
    double step_s, compute_s, reduce_s, update_s, other_s;
} pod_scale_time;

typedef struct pod_scale_point {
    char mesh[POD_MESH_TEXT_BYTES];
    int cores;
    int64_t batch;
    pod_scale_time simulated, real;
    bool shares_cores;                  /* its real ranks did */
    pod_nearest nearest;                /* to what is simulated */
    const pod_explanation *explanation; /* with --explain, else NULL */
    const char *explained;              /* the same for a person: lines */
} pod_scale_point;

enum { POD_SCALE_MAX_POINTS = 64 };

typedef struct pod_scaling {
    pod_arena *arena; /* where explanations live */
    pod_scale_point point[POD_SCALE_MAX_POINTS];
    int n;
    char machine[POD_MACHINE_TEXT_BYTES];
    const char *images; /* of both clocks: --data, or where their size comes from; in the arena */
    bool has_data;      /* images are those of a data set */
    char warning[256];  /* "": none */
    bool has_real;
} pod_scaling;

/* The points of --meshes, --scaling and --batch. E_INVALID, also for a mesh that --machine does not
 * have, and for a pod where training runs for real; E_IO when the machine cannot be read. */
POD_MUST pod_status pod_scale_list(const pod_config *c, bool is_real, pod_scaling *s);
/* The settings of both clocks: where training runs for real and nothing names data, made images of
 * the size that the model was published for. Its text is in the arena. */
POD_MUST pod_status pod_scale_settings(const pod_config *given, bool is_real, pod_arena *a,
                                       pod_config **out);
/* The settings with the mesh and batch of a point; its text is in the arena. */
POD_MUST pod_status pod_scale_config(const pod_config *given, const pod_scale_point *p,
                                     pod_arena *a, pod_config **out);

/* Point i, under the machine of the settings; explained where --explain asks for it. */
POD_MUST pod_status pod_scale_simulate(const pod_config *c, pod_scaling *s, int i);
/* The same training under mpirun, on this host, a few steps. E_IO when it cannot be started or
 * fails. */
POD_MUST pod_status pod_scale_train(const pod_config *c, pod_scaling *s, int i);

#endif
