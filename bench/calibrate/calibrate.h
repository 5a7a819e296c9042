/* The measurements of `minipod calibrate` besides kernels: ops as programs run them, and how much
 * the ranks of one host slow each other down. */
#ifndef MINIPOD_BENCH_CALIBRATE_CALIBRATE_H
#define MINIPOD_BENCH_CALIBRATE_CALIBRATE_H

#include "bench/command.h"
#include "runtime/exec/exec.h"
#include "runtime/machine/machine.h"
#include "runtime/task/network.h"

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

/* ---- probe.c: a network of probes.def, ready to run some steps on one core ---- */

enum {
    POD_PROBE_STEPS = 9,
    POD_PROBE_TILE = 1 << 20,   /* bytes, as --tile */
    POD_PROBE_CACHED = 1 << 17, /* size of a value that stays in the cache of a tile */
    POD_PROBE_FAR = 1 << 22     /* size of a value that comes from memory */
};

/* Returns the number of samples with which one value between layers has about `bytes` bytes. */
int64_t pod_probe_batch(const pod_probe *p, double bytes);

typedef struct pod_probing { /* a zeroed one can be closed, also after a failed open */
    const pod_probe *probe;
    pod_comm *comm;
    pod_clock clock;
    pod_arena *arena;
    pod_setup setup;
    const pod_program *program;
    pod_store *store;
    pod_exec *exec;
    pod_timeline *timeline;
    double *us;    /* by instruction: lower quartile of its times */
    double step_s; /* their sum */
} pod_probing;

/* Prepares the network for `batch` samples per step and tiles of tile_bytes (0: no tiles). Kernels
 * are chosen by the machine's rates. Local, like the other functions here. */
POD_MUST pod_status pod_probing_open(const pod_probe *p, const pod_machine *m, pod_comm *alone,
                                     int64_t batch, size_t tile_bytes, pod_probing *out);
POD_MUST pod_status pod_probing_run(pod_probing *q); /* fills in `us` and `step_s`; may be
                                                       repeated */
void pod_probing_close(pod_probing *q);

/* ---- */

double pod_four_digits(double value); /* rounds to four digits, for the machine file */

/* Measures messages and sums between ranks, drawing of synthetic images and reading of others, and
 * sets those fields of `m`. Local. */
POD_MUST pod_status pod_calibrate_host(pod_call *call, pod_machine *m);

/* Sets `crowded` and `crowded_memory`. Local. */
POD_MUST pod_status pod_calibrate_crowd(pod_machine *m, pod_comm *alone);

/* Sets instr_overhead_us, tile_gb_per_s and op_time. Local. */
POD_MUST pod_status pod_calibrate_ops(pod_call *call, pod_comm *alone, pod_machine *m);

#endif
