/* The settings that a checkpoint records, for the commands that load checkpoints. */
#ifndef MINIPOD_BENCH_AS_TRAINED_H
#define MINIPOD_BENCH_AS_TRAINED_H

#include "bench/command.h"
#include "kernels/base/arena.h"

/* Creates `*out` from the call's settings. Options of `command` on which the trained weights depend
 * (SHAPES in options.def) and that were not given come from the checkpoint at `path` ("": no
 * checkpoint). Exceptions: if --steps or --epochs is given, neither comes from the checkpoint; nor
 * does the batch for eval on another number of ranks, which may lack the memory for it. Warns of
 * options that have no effect. Fails with E_INVALID if a recorded value is not valid for its
 * option, and with E_IO if the recorded data set does not exist. Collective; the caller destroys
 * `*out`. */
POD_MUST pod_status pod_as_trained(const pod_call *call, uint32_t command, const char *path,
                                   pod_arena *a, pod_config **out);

/* On rank 0: lists the options that were given (in `given`) and differ from the checkpoint at
 * `path`, as " lr 0.1 (was 0.01), seed 2 (was 1)"; "" if there are none. */
POD_MUST pod_status pod_as_trained_differs(const pod_config *given, const char *path, pod_arena *a,
                                           const char **out);

/* Lists the options of `c` that came from a checkpoint and differ from their defaults, as " --lr
 * 0.01 --seed 7". */
const char *pod_as_trained_print(const pod_config *c, pod_arena *a);

#endif
