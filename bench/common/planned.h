/* A run that is compiled but not executed, for `explain` and simulations. The same settings give
 * the same programs as in `minipod train`. */
#ifndef MINIPOD_BENCH_COMMON_PLANNED_H
#define MINIPOD_BENCH_COMMON_PLANNED_H

#include "bench/common/target.h"
#include "runtime/config/config.h"
#include "runtime/config/fault.h"
#include "runtime/data/dataset.h"
#include "runtime/machine/machine.h"
#include "runtime/search/translator.h"
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
    size_t samples_bytes;  /* pod_rank_memory.samples */
    /* The programs of a search, if the machine is a host and the task has one, else NULL. Their
     * batch differs from that of the others. */
    const pod_program *search[POD_SEARCH_N_PROGRAMS];

    /* The what-ifs of a simulation. */
    double link_bandwidth, link_latency; /* factors on the machine's */
    pod_fault fault[POD_MAX_FAULTS];
    int n_faults;
    double noise;                 /* pod_noise.share; drawn from setup.seed */
    int64_t n_steps;              /* number of steps to simulate */
    double input_rate;            /* samples per second that a host prepares; 0: no limit */
    double start_up_s;            /* below 0: the machine's */
    int watched[POD_MAX_WATCHED]; /* cores whose events are recorded; at least one */
    int n_watched;
    bool every_core; /* simulate every core, even if many do the same */
} pod_planned;

/* The data set is that of --data; without --data, images and classes have the size that the model
 * was published for. The mesh is --mesh, or one core if that is `auto`. The programs are compiled
 * for --machine: for a host with its kernels, and with ranks that share memory; for a machine with
 * a virtual clock with its wrap-arounds, without packed weights and tiles, and with separate memory
 * for each core. Fails with E_INVALID or E_IO as the functions that read the settings do. */
POD_MUST pod_status pod_planned_of(const pod_config *c, pod_arena *arena, pod_planned *out);
void pod_planned_end(pod_planned *p);

/* Returns the bytes of the batches that the host keeps ready for a core, in addition to the
 * program's memory. */
double pod_planned_fed_bytes(const pod_planned *p);

/* Returns the memory of a rank on this host with a batch of `batch`, for which `program` was
 * compiled. */
pod_rank_memory pod_planned_rank_memory(const pod_planned *p, const pod_program *program,
                                        int64_t batch);

/* ---- the largest batch that a core's memory holds ---- */

/* Sets *bytes to the memory of a core: program, weights and states. On a host it includes the
 * batches that are prepared; on a pod these are in the memory of the hosts. */
POD_MUST pod_status pod_fit_bytes(const pod_planned *p, const pod_program *program, double *bytes);

typedef struct pod_fit {
    int64_t unit;  /* smallest batch: one sample per core and micro-step */
    int64_t batch; /* multiple of `unit`; 0: not even one unit fits */
    double bytes;  /* memory of a core with that batch */
} pod_fit;

/* Compiles a program for each batch that it tries; runs nothing. */
POD_MUST pod_status pod_fit_largest(const pod_planned *p, double limit_bytes, pod_fit *out);

/* Sets *out to the rules that choose algorithms on a machine with a virtual clock; callers use them
 * if --algo is not given. The rules for all-reduce are constants. With is_sharded there are also
 * rules for reduce-scatter and all-gather: on a mesh of up to 64 cores the algorithms that take the
 * least simulated time on this machine, on a larger mesh constants. E_INVALID if the simulation
 * needs a number that the machine file lacks. */
POD_MUST pod_status pod_planned_pod_rules(const pod_machine *machine, const pod_mesh *mesh,
                                          bool is_sharded, pod_arena *arena, pod_coll_rules **out);

/* Returns pod_coll_args.node_size for --node. */
int pod_planned_node_size(const pod_config *c, int n_ranks);
const char *pod_planned_source(const pod_planned *p); /* says where the image size comes from */

#endif
