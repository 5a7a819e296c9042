/* goodput.json of a launched job whose last attempt did not come to write its own. */
#ifndef MINIPOD_BENCH_LAUNCH_GOODPUT_H
#define MINIPOD_BENCH_LAUNCH_GOODPUT_H

#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"

/* Where DIR/goodput.json says that the job runs, it is written once more, of all ranks and attempts,
 * from the job's log; its terms of program goodput stay. `kept` as in pod_job. For when the job has
 * ended. E_IO, E_FORMAT. */
POD_MUST pod_status pod_launch_goodput_close(pod_arena *a, const char *dir, int64_t kept);

#endif
