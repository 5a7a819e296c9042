/* One rank reads the world, all have the same settings. */
#ifndef MINIPOD_BENCH_CONFIG_SHARE_H
#define MINIPOD_BENCH_CONFIG_SHARE_H

#include "collectives/exec/comm.h"
#include "kernels/base/arena.h"
#include "runtime/config/config.h"

/* All ranks get what rank 0 has in `config` if it has it: where its status `mine` is not E_OK all
 * answer that, the others without a text of their own. Who got one destroys it. Collective. */
POD_MUST pod_status pod_config_share(pod_comm *comm, pod_status mine, pod_config **config);

/* The arguments of launch and mlperf, which are a command and its options, with the --conf files that
 * were typed before them put behind the command's name: its options in them reach it, and a file of
 * its own overrides them. In the arena, ended by NULL; at least one argument is there. */
POD_MUST pod_status pod_config_command_words(const pod_config *c, pod_arena *arena, char ***out,
                                             int *n);

#endif
