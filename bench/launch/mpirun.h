/* Sets what Open MPI's mpirun, of version 4 or 5, reads in the environment of this process. What the
 * person has set stays. */
#ifndef MINIPOD_BENCH_LAUNCH_MPIRUN_H
#define MINIPOD_BENCH_LAUNCH_MPIRUN_H

#include "kernels/base/status.h"

POD_MUST pod_status pod_mpirun_as_root(void);     /* it may run as root, if this is root; E_NOMEM */
POD_MUST pod_status pod_mpirun_share_cores(void); /* there are more ranks than cores; E_NOMEM */

#endif
