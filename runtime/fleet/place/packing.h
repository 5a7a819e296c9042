/* Tasks that share GPUs, packed into nodes one by one until nothing fits: how much of the GPUs is
 * allocated in the end. The experiment of
 *
 *   Q. Weng et al., "Beware of fragmentation: scheduling GPU-sharing workloads with fragmentation
 *     gradient descent", USENIX ATC 2023, section 6.2
 *
 * on the "openb" trace: tasks in random order, then random copies of them. Nobody leaves; what does
 * not fit is dropped. The load is what all tasks so far asked for, over the GPUs of all nodes.
 *
 * The fragments of a node are what a typical task of the trace (the commonest 95 %), drawn at random, could not use of its free
 * GPUs: all of them if it lacks GPUs or CPU (or needs no GPU), else those with less than it needs. */
#ifndef MINIPOD_RUNTIME_FLEET_PLACE_PACKING_H
#define MINIPOD_RUNTIME_FLEET_PLACE_PACKING_H

#include <stdint.h>

#include "kernels/base/arena.h"

enum { POD_NODE_GPUS = 8, POD_GPU_MILLI = 1000 };

typedef struct pod_packed_node {
    int64_t cpu_milli, memory_mib;
    int n_gpus, gpu_milli[POD_NODE_GPUS]; /* free */
} pod_packed_node;

typedef struct pod_packed_task {
    int64_t cpu_milli, memory_mib;
    int n_gpus, gpu_milli; /* of each GPU: POD_GPU_MILLI if it takes several */
} pod_packed_task;

typedef struct pod_packing_set {
    int n_nodes, n_tasks;
    const pod_packed_node *node; /* with GPUs */
    const pod_packed_task *task; /* at least one asks for a GPU */
    int64_t gpu_milli;           /* of all nodes */
} pod_packing_set;

/* openb's two files, in the arena. E_IO; E_FORMAT, naming the file, and the line if one is wrong. */
POD_MUST pod_status pod_packing_read(pod_arena *a, const char *nodes, const char *tasks,
                                     pod_packing_set *out);

typedef enum pod_packer {
#define POD_PACKER(name, about) POD_PACKER_##name,
#include "runtime/fleet/place/packers.def"
    POD_N_PACKERS
} pod_packer;

/* allocated[i] is the allocated share of GPUs as soon as the load is above load[i]; both are (n), load
 * ascending. E_NOMEM. */
POD_MUST pod_status pod_packing_run(const pod_packing_set *s, pod_packer how, uint64_t seed, int n,
                                    const double load[], double allocated[]);

#endif
