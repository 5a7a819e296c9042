#include "bench/launch/mpirun.h"

#include <stdlib.h>
#include <unistd.h>

static pod_status set(const char *name, const char *value)
{
    if (setenv(name, value, 0) == 0) return POD_OK;
    return pod_fail(POD_E_NOMEM, "mpirun: no memory for the environment");
}

pod_status pod_mpirun_as_root(void)
{
    if (geteuid() != 0) return POD_OK;
    POD_TRY(set("OMPI_ALLOW_RUN_AS_ROOT", "1"));
    return set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
}

pod_status pod_mpirun_share_cores(void)
{
    POD_TRY(set("OMPI_MCA_rmaps_base_oversubscribe", "1"));                  /* version 4 */
    POD_TRY(set("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")); /* version 5 */
    return set("OMPI_MCA_mpi_yield_when_idle", "1");
}
