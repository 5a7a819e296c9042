/* goodput.json of a launched job, which ends after its ranks. */
#ifndef MINIPOD_BENCH_LAUNCH_GOODPUT_H
#define MINIPOD_BENCH_LAUNCH_GOODPUT_H

#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"

/* DIR/goodput.json, where there is one, is written once more, of all ranks and attempts, from the
 * job's log; its terms of program goodput stay. `kept` as in pod_job. For when the job has ended.
 * E_IO, E_FORMAT. */
POD_MUST pod_status pod_launch_goodput_close(pod_arena *a, const char *dir, int64_t kept);

#endif
