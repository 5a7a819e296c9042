/* Packs tasks that share GPUs into nodes one by one, and measures which share of the GPUs is
 * allocated as the load grows. It repeats the experiment of
 *
 *   Q. Weng et al., "Beware of fragmentation: scheduling GPU-sharing workloads with fragmentation
 *     gradient descent", USENIX ATC 2023, section 6.2
 *
 * on the "openb" trace: all tasks in random order, then random copies of them. No task ends; a task
 * that does not fit is dropped. The load is the GPUs that all tasks so far asked for, divided by
 * the GPUs of all nodes.
 *
 * The fragments of a node are the part of its free GPUs that a task could not use, averaged over
 * the typical tasks of the trace (the commonest kinds, which are 95 % of it). For a task that needs
 * no GPU, or for which the node lacks GPUs or CPU, that is all of them; else it is the GPUs with
 * less free than the task needs. */
#ifndef MINIPOD_RUNTIME_FLEET_PLACE_PACKING_H
#define MINIPOD_RUNTIME_FLEET_PLACE_PACKING_H

#include <stdint.h>

#include "kernels/base/arena.h"

enum { POD_NODE_GPUS = 8, POD_GPU_MILLI = 1000 };

typedef struct pod_packed_node {
    int64_t cpu_milli, memory_mib;
    int n_gpus, gpu_milli[POD_NODE_GPUS]; /* what is free */
} pod_packed_node;

typedef struct pod_packed_task {
    int64_t cpu_milli, memory_mib;
    int n_gpus, gpu_milli; /* gpu_milli: of each of its GPUs; POD_GPU_MILLI if it takes several */
} pod_packed_task;

typedef struct pod_packing_set {
    int n_nodes, n_tasks;
    const pod_packed_node *node; /* nodes without GPUs are skipped */
    const pod_packed_task *task; /* at least one task asks for a GPU */
    int64_t gpu_milli;           /* total of all nodes */
} pod_packing_set;

/* Reads openb's two files into the arena. E_IO; E_FORMAT, naming the file, and the line if one is
 * malformed. */
POD_MUST pod_status pod_packing_read(pod_arena *a, const char *nodes, const char *tasks,
                                     pod_packing_set *out);

typedef enum pod_packer {
#define POD_PACKER(name, about) POD_PACKER_##name,
#include "runtime/fleet/place/packers.def"
    POD_N_PACKERS
} pod_packer;

/* Sets allocated[i] to the allocated share of all GPUs when the load first exceeds load[i]; both
 * arrays have n elements, load[] ascending. E_NOMEM. */
POD_MUST pod_status pod_packing_run(const pod_packing_set *s, pod_packer how, uint64_t seed, int n,
                                    const double load[], double allocated[]);

#endif
