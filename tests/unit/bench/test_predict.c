/* The table of minipod predict. */
#include <stdlib.h>
#include <string.h>

#include "bench/simulate/simulate.h"
#include "kernels/base/cpu.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

/* What phases leave of a step may be less than nothing by a rounding error. */
static void no_sign_without_a_number(void)
{
    const pod_program p = {.n_instrs = 0};
    const pod_side measured = {.step_s = 1, .other_s = 3e-6},
                   predicted = {.step_s = 2, .other_s = -1e-19};
    pod_arena *a;
    pod_table *t;
    char *text = NULL;
    size_t bytes;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    POD_CHECK_OK(pod_table_create(pod_predict_columns, pod_n_predict_columns, &t));
    POD_CHECK_OK(pod_predict_table(&p, &measured, &predicted, 1, a, t));
    FILE *to = open_memstream(&text, &bytes);
    POD_CHECK_OK(pod_table_print(t, to));
    fclose(to);
    POD_CHECK(strstr(text, "1000.0000  2000.0000  +1000.0000  2.000"), "%s", text);
    POD_CHECK(strstr(text, "0.0030     0.0000     -0.0030  0.000"), "%s", text);
    POD_CHECK(!strstr(text, "-0.000 ") && !strstr(text, "-0.000\n") && !strstr(text, "-0.0000"),
              "%s", text);
    free(text);
    pod_table_destroy(t);
    pod_arena_destroy(a);
}

/* A thread that draws images has the rank's core for half as long again as the rank: instructions
 * are predicted as they are alone, and `other` is what the thread takes. */
static void turns_are_other(void)
{
    const pod_test_plan plan = {.net = &pod_test_nets[POD_TEST_BN_RESIDUAL],
                                .mesh = "1",
                                .bucket_bytes = 512,
                                .cpu = POD_CPU_REFERENCE_ONLY};
    pod_feeding feeding = {.n_threads = 1, .ranks = 1, .cores = 2};
    pod_arena *a;
    pod_machine m;
    pod_side alone, sharing;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    POD_CHECK_OK(pod_machine_load("tpu-v3", &m));
    const pod_program *p = pod_test_program(&plan);
    POD_CHECK_OK(pod_side_predicted(&m, p, &feeding, a, &alone));
    CU_ASSERT_DOUBLE_EQUAL(alone.other_s, 0, 1e-12);
    feeding.cores = 1;
    feeding.batch_s = 0.5 * alone.step_s;
    POD_CHECK_OK(pod_side_predicted(&m, p, &feeding, a, &sharing));
    CU_ASSERT_DOUBLE_EQUAL(sharing.step_s, 1.5 * alone.step_s, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(sharing.other_s, feeding.batch_s, 1e-9);
    for (int phase = 0; phase < POD_N_PHASES; phase++)
        CU_ASSERT_DOUBLE_EQUAL(sharing.phase_s[phase], alone.phase_s[phase], 1e-9);
    for (int32_t i = 0; i < p->n_instrs; i++)
        CU_ASSERT_DOUBLE_EQUAL(sharing.instr_s[i], alone.instr_s[i], 1e-11);
    pod_arena_destroy(a);
}

POD_TEST_SUITE("bench.predict", {"what takes turns is other", turns_are_other},
               {"no sign without a number", no_sign_without_a_number});
