/* What a pod or a cluster can offer while hosts fail, in closed form: the twin of simulated failures,
 * and the part of published figures that needs no jobs. */
#ifndef MINIPOD_RUNTIME_FLEET_AVAILABILITY_H
#define MINIPOD_RUNTIME_FLEET_AVAILABILITY_H

#include <stdint.h>

#include "runtime/study/fault_trace.h"

/* P(B >= k) of B ~ Binomial(n, p). */
double pod_binomial_at_least(int n, double p, int k);

/* A TPU v4 pod: 64 cubes of 16 hosts. The share of its chips that slices of so many cubes are
 * guaranteed with this probability, if a host is up with probability `host`. With optical switches a
 * slice is of any cubes that are up; without, of one of 64 / n_cubes fixed groups. */
double pod_guaranteed_switched(int n_cubes, double host, double probability);
double pod_guaranteed_fixed(int n_cubes, double host, double probability);

/* P(a box of so many cubes is up, in any of its orientations) in a pod of 4x4x4 cubes without switches, whose cubes
 * are up with this probability each, independently: the share of so many draws. */
double pod_box_probability(const int box[3], double cube, int n_draws, uint64_t seed);

/* Mean time between failures of a job on n nodes, each with `rate` failures a unit of time. */
double pod_job_mtbf(int n_nodes, double rate);

/* Time means over a trace of faults, from its first event to its last, on a cluster of n_nodes; of
 * capacity, 1 is all nodes. */
typedef struct pod_cluster_use {
    double
        blocks_lost; /* if a fault takes its whole block of `block` nodes; blocks are random groups */
    double any_nodes; /* used by jobs of `job` nodes, on any that are up */
    double
        fixed_nodes; /* used by jobs of `job` nodes, on fixed random groups that are up as a whole */
    double mean_down; /* nodes */
    int most_down;
} pod_cluster_use;

pod_cluster_use pod_cluster_use_of(const pod_fault_trace *t, int n_nodes, int block, int job);

typedef struct pod_fault_figures { /* of single faults, also of those that overlap */
    double per_node_day;           /* from the first event to the last */
    double mean_days, median_days; /* until a fault ends; faults of a node end in their order */
    double worst_share;            /* of the `n_worst` nodes with most faults */
} pod_fault_figures;

POD_MUST pod_status pod_fault_figures_of(const pod_fault_trace *t, int n_nodes, int n_worst,
                                         pod_arena *scratch, pod_fault_figures *out); /* E_NOMEM */

#endif
