/* main of a test program of one process whose AMX kernels run on emulated tiles (pod_harness_tiles
 * in tests/harness/CMakeLists.txt): PROGRAM [part of "suite.test"] */
#include <stdio.h>

#include "kernels/base/cpu.h"
#include "tests/harness/harness.h"
#include "tests/harness/run.h"
#include "tests/harness/tile_amx_emulated.h"

int main(int argc, char **argv)
{
    const uint32_t needs = POD_CPU_AMX_BF16 | POD_CPU_AVX512_BF16;
    char dir[POD__TEST_PATH];
    pod__test_begin(0, 1);
    if (needs & ~pod_cpu_features()) {
        pod_test_skip("emulated tiles", "this CPU lacks avx512_bf16, or may not use it");
        return pod__test_end(argv[0], (pod__test_totals){.n_skips = 1});
    }
    pod__test_try_only(POD_CPU_AMX_BF16);
    pod__test_dir_make(dir);
    pod__test_dir_use(dir);
    pod__test_totals totals = pod__test_run(argc > 1 ? argv[1] : NULL);
    pod__test_dir_remove();
    if (pod_test_tiles_report() == 0 && argc == 1) {
        fprintf(stderr, "no AMX kernel ran\n");
        totals.n_failures++;
    }
    return pod__test_end(argv[0], totals);
}
