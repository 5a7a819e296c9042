#include "bench/mpirun.h"

#include <stdlib.h>
#include <unistd.h>

static pod_status set_both(const char *const names[2])
{
    for (int i = 0; i < 2; i++)
        if (setenv(names[i], "1", 0) != 0)
            return pod_fail(POD_E_NOMEM, "mpirun: no memory for the environment");
    return POD_OK;
}

pod_status pod_mpirun_as_root(void)
{
    static const char *const names[] = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"};
    return geteuid() == 0 ? set_both(names) : POD_OK;
}

pod_status pod_mpirun_share_cores(void)
{
    static const char *const names[] = {"OMPI_MCA_rmaps_base_oversubscribe",
                                        "OMPI_MCA_mpi_yield_when_idle"};
    return set_both(names);
}
