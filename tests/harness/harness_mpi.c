/* main of a test program under mpirun: PROGRAM [part of "suite.test"]
 *
 * MPI is started before the suites and ended after them, so code under test that starts MPI only
 * where nobody did (collectives/exec/comm.h) finds it running. The totals of all ranks are added
 * before rank 0 prints them, and every rank leaves with the same exit code. */
#include <mpi.h>
#include <stdlib.h>

#include "kernels/base/assert.h"
#include "tests/harness/harness.h"
#include "tests/harness/run.h"

int main(int argc, char **argv)
{
    int provided, rank, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pod_assert_install(abort, rank);
    pod__test_begin(rank, size);

    char dir[POD__TEST_PATH];
    if (rank == 0) pod__test_dir_make(dir);
    MPI_Bcast(dir, POD__TEST_PATH, MPI_CHAR, 0, MPI_COMM_WORLD);
    pod__test_dir_use(dir);

    pod__test_totals own = pod__test_run(argc > 1 ? argv[1] : NULL), all;
    MPI_Allreduce(&own, &all, POD__TEST_TOTALS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) pod__test_dir_remove();
    int exit_code = pod__test_end(argv[0], all);
    MPI_Finalize();
    return exit_code;
}
