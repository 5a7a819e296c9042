/* A network of probes.def, ready to run some steps on one core. */
#ifndef MINIPOD_BENCH_CALIBRATE_PROBE_H
#define MINIPOD_BENCH_CALIBRATE_PROBE_H

#include "bench/calibrate/calibrate.h"
#include "runtime/exec/exec.h"

enum {
    POD_PROBE_STEPS = 9,
    POD_PROBE_TILE = 1 << 20,   /* bytes, as --tile */
    POD_PROBE_CACHED = 1 << 17, /* of one value among those that a tile is to hold */
    POD_PROBE_FAR = 1 << 22     /* of a value that comes from memory */
};

/* Samples of which one value of the layers takes about so many bytes. */
int64_t pod_probe_batch(const pod_probe *p, double bytes);

typedef struct pod_probing { /* to be released in any case, once zeroed */
    const pod_probe *probe;
    pod_comm *comm;
    pod_clock clock;
    pod_arena *arena;
    pod_setup setup;
    const pod_program *program;
    pod_store *store;
    pod_exec *exec;
    pod_timeline *timeline;
    double *us;    /* by instruction, the lower quartile */
    double step_s; /* their sum */
} pod_probing;

/* Opens it, for `batch` samples a step and with tiles of so many bytes (0: none). The machine's
 * rates choose kernels. Local, like the others. */
POD_MUST pod_status pod_probing_open(const pod_probe *p, const pod_machine *m, pod_comm *alone,
                                     int64_t batch, size_t tile_bytes, pod_probing *out);
POD_MUST pod_status pod_probing_run(pod_probing *q); /* fills in `us` and `step_s`; may be
                                                       repeated */
void pod_probing_close(pod_probing *q);

#endif
