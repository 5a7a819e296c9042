/* Rank 0 reads the settings, and all ranks get the same. */
#ifndef MINIPOD_BENCH_CONFIG_SHARE_H
#define MINIPOD_BENCH_CONFIG_SHARE_H

#include "collectives/exec/comm.h"
#include "kernels/base/arena.h"
#include "runtime/config/config.h"

/* Sends rank 0's `config` to all ranks. If rank 0's status `mine` is not POD_OK, all ranks return
 * it, and only rank 0 has the error text. Each rank destroys its config. Collective. */
POD_MUST pod_status pod_config_share(pod_comm *comm, pod_status mine, pod_config **config);

/* Returns the arguments of launch and mlperf, which are a command and its options, with the --conf
 * files of launch or mlperf inserted after the command's name: so the command reads its options
 * from these files, and a --conf of its own overrides them. `out` is in the arena and ends with
 * NULL; there must be at least one argument. */
POD_MUST pod_status pod_config_command_words(const pod_config *c, pod_arena *arena, char ***out,
                                             int *n);

#endif
