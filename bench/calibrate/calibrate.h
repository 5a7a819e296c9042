/* What `minipod calibrate` measures beside kernels: ops as programs run them, and what ranks of one
 * host cost each other. */
#ifndef MINIPOD_BENCH_CALIBRATE_CALIBRATE_H
#define MINIPOD_BENCH_CALIBRATE_CALIBRATE_H

#include "bench/command.h"
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

double pod_four_digits(double value); /* what a measurement is worth in a machine file */

/* What is told of messages and sums between ranks, of drawing made images and of fetching others.
 * Local. */
POD_MUST pod_status pod_calibrate_host(pod_call *call, pod_machine *m);

/* Sets `crowded` and `crowded_memory`. Local. */
POD_MUST pod_status pod_calibrate_crowd(pod_machine *m, pod_comm *alone);

/* Sets instr_overhead_us, tile_gb_per_s and op_time. Local. */
POD_MUST pod_status pod_calibrate_ops(pod_call *call, pod_comm *alone, pod_machine *m);

#endif
