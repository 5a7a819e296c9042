/* Computes which share of a pod or a cluster is usable while hosts fail, in closed form or from a
 * trace, without simulating jobs. The results are compared with published figures. */
#ifndef MINIPOD_RUNTIME_FLEET_AVAILABILITY_H
#define MINIPOD_RUNTIME_FLEET_AVAILABILITY_H

#include <stdint.h>

#include "runtime/study/fault_trace.h"

/* Returns P(B >= k) for B ~ Binomial(n, p). */
double pod_binomial_at_least(int n, double p, int k);

/* For a TPU v4 pod of 64 cubes of 16 hosts, each host up with probability `host`: return the
 * largest share of the chips that slices of n_cubes cubes can use at the same time with at least
 * this `probability`. With optical switches a slice takes any cubes that are up; without them it
 * takes one of 64 / n_cubes fixed groups, all of whose cubes must be up. */
double pod_guaranteed_switched(int n_cubes, double host, double probability);
double pod_guaranteed_fixed(int n_cubes, double host, double probability);

/* Estimates, from n_draws random draws, the probability that somewhere in a pod of 4x4x4 cubes
 * without switches a box of these extents (in cubes, in any orientation) has all its cubes up. Each
 * cube is up with probability `cube`, independently. */
double pod_box_probability(const int box[3], double cube, int n_draws, uint64_t seed);

/* Returns the mean time between failures of a job on n_nodes nodes, each of which has `rate`
 * failures per unit of time. */
double pod_job_mtbf(int n_nodes, double rate);

/* Means over the time of a fault trace, from its first event to its last, on a cluster of n_nodes
 * nodes. Shares are of all nodes. */
typedef struct pod_cluster_use {
    double blocks_lost; /* share lost if a node that is down takes its random block of `block` nodes
                        with it */
    double any_nodes;   /* share that jobs of `job` nodes use, each on any nodes that are up */
    double
        fixed_nodes;  /* share that such jobs use, each on a fixed random group that must be up as a
                        whole */
    double mean_down; /* number of nodes that are down */
    int most_down;
} pod_cluster_use;

pod_cluster_use pod_cluster_use_of(const pod_fault_trace *t, int n_nodes, int block, int job);

typedef struct pod_fault_figures { /* each fault counts, also if faults of a node overlap */
    double per_node_day;           /* faults per node and day, from the first event to the last */
    double mean_days, median_days; /* duration; faults of a node end in the order of their begins */
    double worst_share; /* share of all faults that the n_worst nodes with most faults have */
} pod_fault_figures;

POD_MUST pod_status pod_fault_figures_of(const pod_fault_trace *t, int n_nodes, int n_worst,
                                         pod_arena *scratch, pod_fault_figures *out); /* E_NOMEM */

#endif
