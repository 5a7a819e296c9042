/* What `minipod calibrate` measures beside kernels: ops as programs run them, and what ranks of one
 * host cost each other. */
#ifndef MINIPOD_BENCH_CALIBRATE_CALIBRATE_H
#define MINIPOD_BENCH_CALIBRATE_CALIBRATE_H

#include "bench/command.h"
#include "runtime/exec/exec.h"
#include "runtime/machine/machine.h"
#include "runtime/train/network.h"

typedef enum pod_probe_kind {
    POD_PROBE_RESIDUAL,
    POD_PROBE_BOTTLENECK,
    POD_PROBE_INVERTED,
    POD_PROBE_DENSE
} pod_probe_kind;

typedef struct pod_probe { /* a line of probes.def */
    pod_probe_kind kind;
    int channels, image;
    const char *precision, *optimizer;
} pod_probe;

const pod_probe *pod_probes(int *n);
/* The network between images (N, image, image, 3), of a DENSE one (N, image, image, 1), and its
 * logits. The probe is borrowed. */
pod_network pod_probe_network(const pod_probe *p);

/* ---- probe.c: a network of probes.def, ready to run some steps on one core ---- */

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

/* ---- */

double pod_four_digits(double value); /* what a measurement is worth in a machine file */

/* What is told of messages and sums between ranks, of drawing made images and of fetching others.
 * Local. */
POD_MUST pod_status pod_calibrate_host(pod_call *call, pod_machine *m);

/* Sets `crowded` and `crowded_memory`. Local. */
POD_MUST pod_status pod_calibrate_crowd(pod_machine *m, pod_comm *alone);

/* Sets instr_overhead_us, tile_gb_per_s and op_time. Local. */
POD_MUST pod_status pod_calibrate_ops(pod_call *call, pod_comm *alone, pod_machine *m);

#endif
