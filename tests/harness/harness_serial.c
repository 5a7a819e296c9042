/* main of a test program of one process: PROGRAM [part of "suite.test"] */
#include <limits.h>
#include <malloc.h>

#include "tests/harness/harness.h"
#include "tests/harness/run.h"

int main(int argc, char **argv)
{
    char dir[POD__TEST_PATH];
    mallopt(M_TRIM_THRESHOLD, INT_MAX); /* memory given back is wanted again: a third of the time */
    pod__test_begin(0, 1);
    pod__test_dir_make(dir);
    pod__test_dir_use(dir);
    pod__test_totals totals = pod__test_run(argc > 1 ? argv[1] : NULL);
    pod__test_dir_remove();
    return pod__test_end(argv[0], totals);
}
