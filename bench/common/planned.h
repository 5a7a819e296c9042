/* A run that is planned and not run: what its programs are made of, for who explains or simulates
 * them. The same settings give the same programs as `minipod train`. */
#ifndef MINIPOD_BENCH_COMMON_PLANNED_H
#define MINIPOD_BENCH_COMMON_PLANNED_H

#include "bench/common/target.h"
#include "runtime/config/config.h"
#include "runtime/config/fault.h"
#include "runtime/data/dataset.h"
#include "runtime/machine/machine.h"
#include "runtime/train/rank_memory.h"

enum { POD_MAX_WATCHED = 16 };

typedef struct pod_planned { /* points into itself: not to be copied */
    pod_setup setup;
    pod_network_choice choice;
    pod_network net;
    pod_machine machine;
    pod_target target;
    pod_dataset_info data; /* lives in the arena, or as long as `dataset` */
    pod_dataset *dataset;  /* NULL: published size */

    /* What if, of a simulation. */
    double link_bandwidth, link_latency; /* times as much as the machine's */
    pod_fault fault[POD_MAX_FAULTS];
    int n_faults;
    double noise;                 /* pod_noise.share, drawn by setup.seed */
    int64_t n_steps;              /* that are simulated */
    double input_rate;            /* samples a second that a host makes ready; 0: enough */
    double start_up_s;            /* below 0: the machine's */
    int watched[POD_MAX_WATCHED]; /* cores whose events are kept; at least one */
    int n_watched;
    bool every_core; /* is simulated, though many do alike */
} pod_planned;

/* The data are those that --data names, or, when nothing names any, images and classes of the size
 * that the model was published for. The mesh is --mesh, one core where that is auto. The programs
 * are those of --machine: of a host with its kernels, and ranks that share memory; of a machine
 * with a virtual clock with its wrap-arounds, without panels and tiles, and each core with memory
 * of its own. E_INVALID, E_IO, as who reads the settings says it. */
POD_MUST pod_status pod_planned_of(const pod_config *c, pod_arena *arena, pod_planned *out);
void pod_planned_end(pod_planned *p);

/* Bytes of the batches that the host keeps ready for a core, beside what its program needs. */
double pod_planned_fed_bytes(const pod_planned *p);

/* What a rank of this host takes with another batch, for which the program is. */
pod_rank_memory pod_planned_rank_memory(const pod_planned *p, const pod_program *program,
                                        int64_t batch);

/* ---- the largest batch that a core's memory holds ---- */

/* Of a core: program, weights and states; of a machine that is a host with its cores also the
 * batches that are fed, which others keep elsewhere. */
POD_MUST pod_status pod_fit_bytes(const pod_planned *p, const pod_program *program, double *bytes);

typedef struct pod_fit {
    int64_t unit;  /* of the batch: all cores, all micro-steps, a sample each */
    int64_t batch; /* 0: not even one unit fits */
    double bytes;  /* what it needs */
} pod_fit;

/* Each batch asked about is compiled; nothing is run. */
POD_MUST pod_status pod_fit_largest(const pod_planned *p, double limit_bytes, pod_fit *out);

/* Which algorithms a machine with a virtual clock takes where --algo says nothing; is_sharded: also
 * to scatter and gather. E_INVALID where the machine's file lacks a number that this needs. */
POD_MUST pod_status pod_planned_pod_rules(const pod_machine *machine, const pod_mesh *mesh,
                                          bool is_sharded, pod_arena *arena, pod_coll_rules **out);

/* pod_coll_args.node_size by --node. */
int pod_planned_node_size(const pod_config *c, int n_ranks);
const char *pod_planned_source(const pod_planned *p); /* where the data's size comes from */

#endif
