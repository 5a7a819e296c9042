/* kernels/base/choice: which kernel of a table is taken, rule by rule; and that the kinds that the
 * families list are those that calls have. */
#include <string.h>

#include "kernels/base/choice.h"
#include "kernels/base/cpu.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/blas.h"
#include "kernels/gemm/gemm.h"
#include "tests/harness/harness.h"

enum { FAST, SLOW, PICKY, REFERENCE, N };

static const pod_candidate table[N] = {[FAST] = {.name = "fast", .needs = POD_CPU_AVX512},
                                       [SLOW] = {.name = "slow"},
                                       [PICKY] = {.name = "picky", .refusal = "not today"},
                                       [REFERENCE] = {.name = "ref"}};

static int chosen(uint32_t cpu, const char *impl, const pod_rates *rates)
{
    return pod_choose(&(pod_choice){.cpu = cpu, .impl = impl, .rates = rates}, "test.kind", table,
                      N);
}

static void first_that_applies(void)
{
    CU_ASSERT_EQUAL(chosen(POD_CPU_AVX512, NULL, NULL), FAST);
    CU_ASSERT_EQUAL(chosen(0, NULL, NULL), SLOW);
    CU_ASSERT_EQUAL(chosen(POD_CPU_REFERENCE_ONLY, NULL, NULL), REFERENCE);
    CU_ASSERT_EQUAL(pod_choose(&(pod_choice){.cpu = 0}, "test.kind", &table[PICKY], 2), 1);
}

static void a_wish_is_granted_where_it_applies(void)
{
    CU_ASSERT_EQUAL(chosen(POD_CPU_AVX512, "slow", NULL), SLOW);
    CU_ASSERT_EQUAL(chosen(POD_CPU_AVX512, "picky,ref,slow", NULL), REFERENCE);
    CU_ASSERT_EQUAL(chosen(0, "fast,picky", NULL), SLOW);
    CU_ASSERT_EQUAL(chosen(POD_CPU_AVX512, "slo,lowest,,", NULL), FAST);
    CU_ASSERT_EQUAL(chosen(POD_CPU_REFERENCE_ONLY, "slow", NULL), REFERENCE);
}

/* Advice holds against any rate, and not against a wish. */
static void advice_is_no_refusal(void)
{
    const pod_candidate advised[] = {
        {.name = "here", .slow = "for few rows"}, {.name = "there"}, {.name = "ref"}};
    pod_rates rates = {0};
    CU_ASSERT_EQUAL(pod_rates_set(&rates, "test.kind", "here", 9), POD_OK);
    pod_choice how = {.rates = &rates};
    CU_ASSERT_EQUAL(pod_choose(&how, "test.kind", advised, 3), 1);
    how.impl = "here";
    CU_ASSERT_EQUAL(pod_choose(&how, "test.kind", advised, 3), 0);
    how.impl = "";
    CU_ASSERT_EQUAL(pod_choose(&how, "test.kind", advised, 1), 0); /* the reference */
}

static void the_highest_rate_wins(void)
{
    pod_rates rates = {0};
    CU_ASSERT_EQUAL(pod_rates_set(&rates, "test.kind", "slow", 2), POD_OK);
    CU_ASSERT_EQUAL(pod_rates_set(&rates, "other.kind", "fast", 9), POD_OK);
    CU_ASSERT_EQUAL(pod_rates_set(&rates, "test.kind", "ref", 100), POD_OK);
    CU_ASSERT_EQUAL(chosen(POD_CPU_AVX512, NULL, &rates), SLOW);
    CU_ASSERT_EQUAL(pod_rates_set(&rates, "test.kind", "fast", 2), POD_OK);
    CU_ASSERT_EQUAL(chosen(POD_CPU_AVX512, NULL, &rates), FAST);
    CU_ASSERT_EQUAL(pod_rates_set(&rates, "test.kind", "fast", 1), POD_OK);
    CU_ASSERT_EQUAL(rates.n, 4);
    CU_ASSERT_EQUAL(chosen(POD_CPU_AVX512, NULL, &rates), SLOW);
    CU_ASSERT_EQUAL(pod_rates_find(&rates, "test.kind", &table[FAST]), 1);
    CU_ASSERT_EQUAL(pod_rates_find(&rates, "test.kind", &table[PICKY]), 0);
}

/* A kernel that is made of another has the rate that it has with what is there. */
static void a_rate_may_have_another_name(void)
{
    const char *kind = "conv.f32.window";
    const pod_candidate gemm = {.name = "gemm"},
                        on_avx2 = {.name = "gemm", .rated_as = "gemm.avx2"};
    const double built_in = pod_rates_find(NULL, kind, &on_avx2);
    CU_ASSERT_TRUE(0 < built_in && built_in < pod_rates_find(NULL, kind, &gemm));
    pod_rates rates = {0};
    CU_ASSERT_EQUAL(pod_rates_set(&rates, kind, "gemm", 5), POD_OK);
    CU_ASSERT_EQUAL(pod_rates_find(&rates, kind, &gemm), 5);
    CU_ASSERT_EQUAL(pod_rates_find(&rates, kind, &on_avx2), built_in);
    CU_ASSERT_TRUE(pod_rates_has(&rates, kind, &gemm));
    CU_ASSERT_FALSE(pod_rates_has(&rates, kind, &on_avx2) || pod_rates_has(NULL, kind, &gemm));
    CU_ASSERT_EQUAL(pod_rates_set(&rates, kind, "gemm.avx2", 4), POD_OK);
    CU_ASSERT_EQUAL(pod_rates_find(&rates, kind, &on_avx2), 4);
}

static void rates_refuse_what_a_file_cannot_hold(void)
{
    static pod_rates rates;
    CU_ASSERT_EQUAL(pod_rates_set(&rates, "", "k", 1), POD_E_INVALID);
    CU_ASSERT_EQUAL(pod_rates_set(&rates, "a b", "k", 1), POD_E_INVALID);
    CU_ASSERT_EQUAL(pod_rates_set(&rates, "kind", "a-name-of-more-than-23-letters", 1),
                    POD_E_INVALID);
    char name[16];
    for (int i = 0; i < POD_MAX_RATES; i++) {
        snprintf(name, sizeof name, "k%d", i);
        CU_ASSERT_EQUAL(pod_rates_set(&rates, "kind", name, 1), POD_OK);
    }
    CU_ASSERT_EQUAL(pod_rates_set(&rates, "kind", "one-more", 1), POD_E_NOMEM);
    CU_ASSERT_EQUAL(pod_rates_set(&rates, "kind", "k0", 2), POD_OK);
}

/* Each kind is that of its typical call, and stands once. */
static void kinds_are_those_of_their_calls(void)
{
    const char *seen[128], *kind;
    pod_gemm_call gemm;
    pod_conv_call conv;
    int n = 0;
    for (int i = 0; (kind = pod_gemm_kind_at(i, &gemm)); i++) {
        CU_ASSERT_STRING_EQUAL(pod_gemm_kind(&gemm), kind);
        CU_ASSERT_EQUAL(pod_gemm_check(&gemm), POD_OK);
        seen[n++] = kind;
    }
    for (int i = 0; (kind = pod_conv_kind_at(i, &conv)); i++) {
        CU_ASSERT_STRING_EQUAL(pod_conv_kind(&conv), kind);
        CU_ASSERT_EQUAL(pod_conv_check(&conv), POD_OK);
        seen[n++] = kind;
    }
    CU_ASSERT_TRUE(n > 20);
    for (int i = 0; i < n; i++) {
        CU_ASSERT_TRUE(strlen(seen[i]) < POD_RATE_KIND_BYTES);
        for (int j = 0; j < i; j++) CU_ASSERT_STRING_NOT_EQUAL(seen[i], seen[j]);
    }
}

static void check_refusals(const pod_candidate *c, int n, const char *kind)
{
    for (int i = 0; i < n; i++)
        POD_CHECK(!c[i].needs || (c[i].refusal && strstr(c[i].refusal, "this CPU lacks")),
                  "%s: %s was asked", kind, c[i].name);
}

/* What would refuse is compiled for the same instructions. */
static void nobody_is_asked_who_cannot_run(void)
{
    pod_candidate c[POD_MAX_CANDIDATES];
    const char *kind;
    pod_gemm_call gemm;
    pod_conv_call conv;
    POD_CHECK_OK(pod_cpu_cap("ref"));
    for (int i = 0; (kind = pod_gemm_kind_at(i, &gemm)); i++)
        check_refusals(c, pod_gemm_candidates(&gemm, c), kind);
    for (int i = 0; (kind = pod_conv_kind_at(i, &conv)); i++)
        check_refusals(c, pod_conv_candidates(&conv, c), kind);
    pod_test_cap();
}

/* Where OpenBLAS runs kernels for an older CPU, it is not chosen for any kind of matrix product that
 * a kernel of ours takes in wider vectors. ctest runs this with OPENBLAS_CORETYPE=Prescott, too. */
static void blas_without_vectors_is_not_picked(void)
{
    const uint32_t cpu = pod_cpu_features() & (POD_CPU_AVX2 | POD_CPU_AVX512);
    const bool is_behind = cpu & ~pod_blas_features();
    pod_gemm_call call;
    for (int i = 0; is_behind && pod_gemm_kind_at(i, &call); i++)
        CU_ASSERT_STRING_NOT_EQUAL(pod_gemm_pick(&(pod_choice){.cpu = cpu}, &call)->name, "blas");
}

POD_TEST_SUITE("choice", {"blas_without_vectors_is_not_picked", blas_without_vectors_is_not_picked},
               {"first_that_applies", first_that_applies},
               {"a_wish_is_granted_where_it_applies", a_wish_is_granted_where_it_applies},
               {"advice_is_no_refusal", advice_is_no_refusal},
               {"the_highest_rate_wins", the_highest_rate_wins},
               {"a_rate_may_have_another_name", a_rate_may_have_another_name},
               {"rates_refuse_what_a_file_cannot_hold", rates_refuse_what_a_file_cannot_hold},
               {"kinds_are_those_of_their_calls", kinds_are_those_of_their_calls},
               {"nobody_is_asked_who_cannot_run", nobody_is_asked_who_cannot_run});
