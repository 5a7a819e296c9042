/* The store: initial values by their formulas, the same wherever and in whatever company a variable
 * stands; the hash. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/base/cpu.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

static pod_program_variable variable(const char *name, int n_dims, const int64_t dim[],
                                     pod_init init, pod_role role)
{
    return (pod_program_variable){
        .name = name, .type = pod_type_of(POD_F32, n_dims, dim), .init = init, .role = role};
}

static void end_store(void *s) { pod_store_destroy(s); }

/* A store looks at nothing but the variables of a program. */
static pod_store *store_of(const pod_program_variable v[], int n, uint64_t seed)
{
    const pod_program p = {.variable = v, .n_variables = n};
    pod_store *s = NULL;
    POD_NEED_OK(pod_store_create(&p, 0, seed, &s));
    pod_test_at_end(end_store, s);
    return s;
}

/* ---- initial values ---- */

/* How far the mean and variance of n draws may stand from those of their distribution, with
 * standard deviation sd and fourth central moment kurtosis sd^4: five standard errors, sd / sqrt(n)
 * and sd^2 sqrt((kurtosis - 1) / n). Beyond that by chance: once in 1.7 million. */
static void check_moments(const char *what, const float *x, int64_t n, double sd, double kurtosis)
{
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; i++) mean += (double)x[i] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)x[i] - mean;
        variance += d * d / (double)n;
    }
    const double mean_bound = 5 * sd / sqrt((double)n);
    const double variance_bound = 5 * sd * sd * sqrt((kurtosis - 1) / (double)n);
    POD_CHECK(fabs(mean) <= mean_bound, "%s: mean %g, want 0 +- %g", what, mean, mean_bound);
    POD_CHECK(fabs(variance - sd * sd) <= variance_bound, "%s: variance %g, want %g +- %g", what,
              variance, sd * sd, variance_bound);
}

/* A variable that is dealt out: of 10 elements from 5 on, in blocks of 4, core 2 holds 3 to 6. */
static void test_dealt_out(void)
{
    static const int64_t want[] = {0, 3, 4, 3, 0};
    pod_program_variable v[] = {
        variable("w", 1, (int64_t[]){10}, (pod_init){POD_INIT_ONE, 0}, POD_ROLE_WEIGHT),
        variable("w/sgd/0", 2, (int64_t[]){2, 5}, (pod_init){POD_INIT_ZERO, 0}, POD_ROLE_STATE)};
    v[1].type.shard = (pod_shard){.first = 5, .per_core = 4, .over = 1};
    const pod_program p = {.variable = v, .n_variables = 2};
    for (int core = 0; core < 5; core++) {
        pod_store *s = NULL;
        POD_CHECK_OK(pod_store_create(&p, core, 1, &s));
        CU_ASSERT_EQUAL(pod_store_core(s), core);
        CU_ASSERT_EQUAL(pod_store_count(s, 0), 10);
        POD_CHECK(pod_store_count(s, 1) == want[core], "core %d holds %d elements, want %d", core,
                  (int)pod_store_count(s, 1), (int)want[core]);
        for (int64_t i = 0; i < pod_store_count(s, 1); i++)
            CU_ASSERT(pod_store_data(s, 1)[i] == 0.0f);
        CU_ASSERT_EQUAL(pod_store_bytes(s), (size_t)(10 + want[core]) * sizeof(float));
        pod_store_destroy(s);
    }
}

static void test_moments(void)
{
    static const struct {
        const char *name;
        int n_dims;
        int64_t dim[4];
        pod_init init;
        double sd, kurtosis; /* a normal's is 3, a uniform's 9/5 */
    } rows[] = {
        {"he/filter", 4, {64, 3, 3, 32}, {POD_INIT_HE, 1.0f}, 0.08333333333333333, 3}, /* 2/288 */
        {"he/scaled", 4, {64, 3, 3, 32}, {POD_INIT_HE, 2.0f}, 0.11785113019775793, 3}, /* 4/288 */
        {"he/pointwise", 4, {128, 1, 1, 50}, {POD_INIT_HE, 1.0f}, 0.2, 3},             /* 2/50 */
        {"he/matrix", 2, {200, 300}, {POD_INIT_HE, 1.0f}, 0.1, 3},                     /* 2/200 */
        {"normal", 2, {200, 300}, {POD_INIT_NORMAL, 0.01f}, 0.01, 3},
        {"truncated", 2, {200, 300}, {POD_INIT_TRUNCATED, 0.02f}, 0.0175925, 2.3655},
        {"uniform", 2, {200, 300}, {POD_INIT_UNIFORM, 0.3f}, 0.17320508075688773, 1.8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pod_program_variable v =
            variable(rows[i].name, rows[i].n_dims, rows[i].dim, rows[i].init, POD_ROLE_WEIGHT);
        for (uint64_t seed = 1; seed <= 3; seed++) {
            pod_store *s = store_of(&v, 1, seed);
            check_moments(rows[i].name, pod_store_data(s, 0), pod_store_count(s, 0), rows[i].sd,
                          rows[i].kurtosis);
        }
    }
}

static void test_bounds(void)
{
    const int64_t dim[] = {1000, 3};
    const pod_program_variable v[] = {
        variable("u", 2, dim, (pod_init){POD_INIT_UNIFORM, 0.25f}, POD_ROLE_WEIGHT),
        variable("0", 2, dim, (pod_init){POD_INIT_ZERO, 7.0f}, POD_ROLE_BIAS),
        variable("1", 2, dim, (pod_init){POD_INIT_ONE, 7.0f}, POD_ROLE_NORM),
        variable("scalar", 0, NULL, (pod_init){POD_INIT_ONE, 1.0f}, POD_ROLE_STATE),
    };
    pod_store *s = store_of(v, 4, 5);
    for (int64_t k = 0; k < 3000; k++) {
        const float u = pod_store_data(s, 0)[k];
        POD_CHECK(u >= -0.25f && u < 0.25f, "uniform %g", (double)u);
        POD_CHECK(pod_store_data(s, 1)[k] == 0.0f && pod_store_data(s, 2)[k] == 1.0f,
                  "constants %g and %g", (double)pod_store_data(s, 1)[k],
                  (double)pod_store_data(s, 2)[k]);
    }
    CU_ASSERT_EQUAL(pod_store_count(s, 3), 1);
    CU_ASSERT_EQUAL(pod_store_bytes(s), (3 * 3000 + 1) * sizeof(float));
    CU_ASSERT_EQUAL(pod_store_n(s), 4);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL((uintptr_t)pod_store_data(s, i) % 64, 0);
        CU_ASSERT_EQUAL(pod_store_find(s, v[i].name), i);
        CU_ASSERT_STRING_EQUAL(pod_store_variable(s, i)->name, v[i].name);
    }
    CU_ASSERT_EQUAL(pod_store_find(s, "2"), -1);
}

/* Variables of one shape and other names, or another seed, share nothing: their correlation stays
 * within five standard errors of 0. */
static void test_independence(void)
{
    enum { N = 20000, N_STORES = 2, N_VARIABLES = 4 };
    const int64_t dim[] = {100, N / 100};
    const pod_init normal = {POD_INIT_NORMAL, 1.0f};
    const pod_program_variable v[N_VARIABLES] = {
        variable("unit1/w", 2, dim, normal, POD_ROLE_WEIGHT),
        variable("unit2/w", 2, dim, normal, POD_ROLE_WEIGHT),
        variable("unit1/v", 2, dim, normal, POD_ROLE_WEIGHT),
        variable("unit11/w", 2, dim, normal, POD_ROLE_WEIGHT),
    };
    pod_store *s[N_STORES] = {store_of(v, N_VARIABLES, 1), store_of(v, N_VARIABLES, 2)};
    for (int i = 0; i < N_STORES * N_VARIABLES; i++)
        for (int j = 0; j < i; j++) {
            const float *x = pod_store_data(s[i % N_STORES], i / N_STORES);
            const float *y = pod_store_data(s[j % N_STORES], j / N_STORES);
            double r = 0;
            for (int k = 0; k < N; k++) r += (double)x[k] * (double)y[k] / N;
            POD_CHECK(fabs(r) < 5 / sqrt(N), "correlation %g of '%s' and '%s'", r,
                      v[i / N_STORES].name, v[j / N_STORES].name);
        }
}

/* Alone, first or last of many: the same bits. */
static void test_company(void)
{
    const int64_t dim[] = {30, 7}, other_dim[] = {11};
    const pod_init he = {POD_INIT_HE, 1.0f};
    const pod_program_variable w = variable("fc/w", 2, dim, he, POD_ROLE_WEIGHT);
    const pod_program_variable many[] = {w, variable("a", 1, other_dim, he, POD_ROLE_WEIGHT),
                                         variable("b", 1, other_dim, he, POD_ROLE_MOVING)};
    const pod_program_variable reversed[] = {many[2], many[1], w};
    pod_store *alone = store_of(&w, 1, 9), *first = store_of(many, 3, 9),
              *last = store_of(reversed, 3, 9), *other = store_of(&w, 1, 10);
    const size_t bytes = 210 * sizeof(float);
    CU_ASSERT_EQUAL(memcmp(pod_store_data(alone, 0), pod_store_data(first, 0), bytes), 0);
    CU_ASSERT_EQUAL(memcmp(pod_store_data(alone, 0), pod_store_data(last, 2), bytes), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(pod_store_data(alone, 0), pod_store_data(other, 0), bytes), 0);
}

/* Whatever the mesh, the type of activations and the buckets. */
static void test_meshes(void)
{
    static const char *const meshes[] = {"1x1", "2x2", "4x2", "3x1"};
    uint64_t hash[4];
    for (int i = 0; i < 4; i++) {
        const pod_test_plan plan = {.net = &pod_test_nets[POD_TEST_BN_RESIDUAL],
                                    .precision = i % 2 ? POD_BF16 : POD_F32,
                                    .mesh = meshes[i],
                                    .bucket_bytes = 1 << 4 * i,
                                    .cpu = i < 2 ? pod_cpu_features() : POD_CPU_REFERENCE_ONLY};
        const pod_program *p = pod_test_program(&plan);
        pod_store *s = NULL;
        POD_CHECK_OK(pod_store_create(p, 0, 4, &s));
        hash[i] = pod_store_hash(s);
        POD_CHECK(hash[i] == hash[0], "mesh %s: %016" PRIx64 ", alone %016" PRIx64, meshes[i],
                  hash[i], hash[0]);
        CU_ASSERT_EQUAL(pod_store_bytes(s), p->store_bytes);
        pod_store_destroy(s);
    }
}

/* ---- hash ---- */

static void flip(float *x, int bit)
{
    uint32_t word;
    memcpy(&word, x, sizeof word);
    word ^= UINT32_C(1) << bit;
    memcpy(x, &word, sizeof word);
}

/* Any bit of any variable but a state changes it, and back. */
static void test_hash(void)
{
    const int64_t dim[] = {5, 3};
    const pod_init he = {POD_INIT_HE, 1.0f};
    const pod_program_variable v[] = {
        variable("w", 2, dim, he, POD_ROLE_WEIGHT), variable("g", 2, dim, he, POD_ROLE_NORM),
        variable("b", 2, dim, he, POD_ROLE_BIAS), variable("m", 2, dim, he, POD_ROLE_MOVING),
        variable("s", 2, dim, he, POD_ROLE_STATE)};
    pod_store *s = store_of(v, 5, 1);
    const uint64_t hash = pod_store_hash(s);
    for (int i = 0; i < 5; i++)
        for (int at = 0; at < 15; at++)
            for (int bit = 0; bit < 32; bit++) {
                flip(&pod_store_data(s, i)[at], bit);
                POD_CHECK((pod_store_hash(s) == hash) == (v[i].role == POD_ROLE_STATE),
                          "'%s' element %d, bit %d", v[i].name, at, bit);
                flip(&pod_store_data(s, i)[at], bit);
            }
    CU_ASSERT_EQUAL(pod_store_hash(s), hash);
    float *w = pod_store_data(s, 0), first = w[0]; /* order counts */
    w[0] = w[1], w[1] = first;
    CU_ASSERT_NOT_EQUAL(pod_store_hash(s), hash);

    pod_program_variable renamed = v[3]; /* a constant: only the name tells */
    renamed.init = (pod_init){POD_INIT_ONE, 1.0f};
    pod_store *one = store_of(&renamed, 1, 1);
    renamed.name = "n";
    pod_store *two = store_of(&renamed, 1, 1);
    CU_ASSERT_NOT_EQUAL(pod_store_hash(one), pod_store_hash(two));
}

POD_TEST_SUITE("store", {"moments of initial values", test_moments},
               {"parts of a variable", test_dealt_out}, {"bounds and lookup", test_bounds},
               {"variables are independent", test_independence},
               {"company does not matter", test_company}, {"meshes do not matter", test_meshes},
               {"the hash sees every bit", test_hash});
