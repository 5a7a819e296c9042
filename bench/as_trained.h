/* The settings that a checkpoint records, for the commands that read one. */
#ifndef MINIPOD_BENCH_AS_TRAINED_H
#define MINIPOD_BENCH_AS_TRAINED_H

#include "bench/command.h"
#include "kernels/base/arena.h"

/* Makes `*out` of the call's settings: options of `command` that shape the training (SHAPES in
 * options.def) and that nobody has given are as the checkpoint at `path` has them; "" is no
 * checkpoint. Of --steps and --epochs, if one is given the other is not taken; the batch is not
 * taken by eval on another number of ranks, which may not have the memory for it. Warns of options
 * that have no effect. E_INVALID where a recorded value is none of its option, E_IO where the
 * recorded data set is not there. Collective; the caller destroys `*out`. */
POD_MUST pod_status pod_as_trained(const pod_call *call, uint32_t command, const char *path,
                                   pod_arena *a, pod_config **out);

/* On rank 0: the options that were given, `given` has them, and are not as the checkpoint at `path`
 * has them, as " lr 0.1 (was 0.01), seed 2 (was 1)"; "" where there are none. */
POD_MUST pod_status pod_as_trained_differs(const pod_config *given, const char *path, pod_arena *a,
                                           const char **out);

/* The options of `c` that came from a checkpoint and are not what they would be without it, as
 * " --lr 0.01 --seed 7". */
const char *pod_as_trained_print(const pod_config *c, pod_arena *a);

#endif
