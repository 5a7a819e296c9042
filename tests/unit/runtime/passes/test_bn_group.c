/* Batch norm over groups of cores, on the check executor: a group is one core of as many samples. */
#include <math.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "runtime/data/images/image_samples.h"
#include "runtime/exec/exec.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

enum { STEPS = 4 };

/* `like` has a core for each group. */
typedef struct grouping {
    const char *mesh, *like;
    int size;
    pod_group group; /* zeroed: that of pod_group_tiles */
} grouping;

static const grouping groupings[] = {
    {"2x1", "1x1", 2, {0}},
    {"2x2", "2x1", 2, {0}},
    {"2x2", "1x1", 4, {0}},
    {"4x1", "2x1", 2, {0}},
    {"3x2", "2x1", 3, {0}},
    {"4x2", "4x1", 2, {0}},
    {"4x2", "2x1", 4, {0}},
    {"4x2", "1x1", 8, {0}},
    {"4x4", "4x2", 2, {0}},
    {"4x4", "4x1", 4, {0}},
    {"4x4", "2x1", 8, {0}},
    {"4x4", "1x1", 16, {0}},
    {"2x2x2", "2x1", 4, {0}},
    {"4x3", "2x3", 2, {0}},
    {"4x2", "2x1", 4, {.dims = 3, .tile = {2, 2}}}, /* tiles: ranks 0 1 4 5 and 2 3 6 7 */
    {"4x4", "2x2", 4, {.dims = 3, .tile = {2, 2}}},
    {"4x3", "2x1", 6, {.dims = 3, .tile = {2, 3}}},     /* a whole dimension and part of one */
    {"2x4", "2x2", 2, {.dims = 2, .tile = {0, 2}}},     /* columns */
    {"2x3x2", "3x1", 4, {.dims = 5, .tile = {2, 0, 2}}} /* past the dimension between */
};
enum { N_GROUPINGS = sizeof groupings / sizeof groupings[0] };

static pod_test_plan plan_of(const char *mesh, pod_dtype wire)
{
    return (pod_test_plan){.net = &pod_test_nets[POD_TEST_BN_RESIDUAL],
                           .mesh = mesh,
                           .bucket_bytes = 512,
                           .guard_bytes = 64,
                           .cpu = POD_CPU_REFERENCE_ONLY,
                           .wire = wire,
                           .optimizer = "sgd"};
}

static pod_group group_of(const grouping *x)
{
    pod_mesh m;
    pod_group g = x->group;
    POD_CHECK_OK(pod_mesh_parse(x->mesh, &m));
    if (!g.dims) POD_CHECK_OK(pod_group_tiles(&m, x->size, &g));
    POD_CHECK_OK(pod_group_verify(&m, &g));
    CU_ASSERT_EQUAL(pod_group_size(&m, &g), x->size);
    return g;
}

/* Members of a group get samples that follow each other, in the order of groups. */
static void deal_to_groups(pod_test_job *j, const pod_group *g)
{
    const pod_mesh *mesh = &j->program->mesh;
    const int local = POD_TEST_BATCH / j->n_ranks, size = pod_group_size(mesh, g);
    int n_groups = 0, number[POD_TEST_MAX_RANKS];
    for (int r = 0; r < j->n_ranks; r++) {
        const int first = pod_group_member(mesh, g, r, 0);
        number[r] = first == r ? n_groups++ : number[first];
        const int place = number[r] * size + pod_group_index(mesh, g, r);
        j->feed[POD_FIELD_IMAGES * j->n_ranks + r] = j->images + place * local * POD_TEST_PIXELS;
        j->feed[POD_FIELD_LABELS * j->n_ranks + r] = j->labels + place * local;
    }
    CU_ASSERT_EQUAL(n_groups * size, j->n_ranks);
}

/* The one core of a group meets in a micro-step what the group's cores do. */
static void order_by_micro_steps(pod_test_job *j, int size, int n_micro_steps)
{
    const int n_ranks = j->n_ranks * size, part = POD_TEST_BATCH / n_ranks / n_micro_steps;
    const pod_test_job was = *j;
    int to = 0;
    for (int group = 0; group < j->n_ranks; group++)
        for (int m = 0; m < n_micro_steps; m++)
            for (int i = 0; i < size; i++)
                for (int k = 0; k < part; k++, to++) {
                    const int from = ((group * size + i) * n_micro_steps + m) * part + k;
                    memcpy(j->images + to * POD_TEST_PIXELS, was.images + from * POD_TEST_PIXELS,
                           POD_TEST_PIXELS);
                    j->labels[to] = was.labels[from];
                }
}

/* How far a job in groups ends from one with a core a group. */
static void compare(const char *what, const pod_test_plan *plan, const pod_test_plan *like,
                    double bound)
{
    static pod_test_job x, y;
    pod_test_job_start(&y, pod_test_program(like));
    pod_test_job_start(&x, pod_test_program(plan));
    deal_to_groups(&x, &plan->bn_group);
    if (plan->accumulate) order_by_micro_steps(&y, x.n_ranks / y.n_ranks, plan->accumulate);
    const double want = pod_test_job_train(&y, STEPS), got = pod_test_job_train(&x, STEPS);
    const double apart = pod_test_distance(x.store[0], y.store[0]);
    POD_CHECK(apart <= bound, "%s: weights are %g apart, at most %g", what, apart, bound);
    POD_CHECK(fabs(got - want) <= bound * want, "%s: loss %.9g, want %.9g", what, got, want);
    pod_test_job_end(&x);
    pod_test_job_end(&y);
}

/* float32 sums of 48 samples in another order, through the square root of a variance. */
static void test_like_one_core(void)
{
    static const pod_dtype wires[] = {POD_F32, POD_BINNED};
    for (int i = 0; i < N_GROUPINGS; i++)
        for (int w = 0; w < 2; w++) {
            pod_test_plan plan = plan_of(groupings[i].mesh, wires[w]);
            pod_test_plan like = plan_of(groupings[i].like, wires[w]);
            plan.bn_group = group_of(&groupings[i]);
            plan.fusion = (i + w) % 2 == 1;
            plan.tile_bytes = i % 3 == 1 ? 4096 : 0;
            plan.shard_update = i % 2 == 1;
            char what[96];
            snprintf(what, sizeof what, "groups of %d on %s beside %s, %s", groupings[i].size,
                     plan.mesh, like.mesh, pod_dtype_name(plan.wire));
            compare(what, &plan, &like, 5e-5);
        }
}

/* Each micro-step has statistics of its own over the group. */
static void test_micro_steps(void)
{
    for (int i = 0; i < N_GROUPINGS; i++) {
        pod_test_plan plan = plan_of(groupings[i].mesh, POD_F32);
        pod_test_plan like = plan_of(groupings[i].like, POD_F32);
        plan.bn_group = group_of(&groupings[i]);
        pod_mesh m;
        POD_CHECK_OK(pod_mesh_parse(plan.mesh, &m));
        plan.accumulate = like.accumulate = POD_TEST_BATCH / pod_mesh_size(&m) % 3 == 0 ? 3 : 2;
        plan.fusion = i % 2 == 0;
        char what[96];
        snprintf(what, sizeof what, "groups of %d on %s, %d micro-steps", groupings[i].size,
                 plan.mesh, plan.accumulate);
        compare(what, &plan, &like, 5e-5);
    }
}

/* Without groups the statistics are others: the comparison can fail. */
static void test_groups_matter(void)
{
    static pod_test_job x, y;
    pod_test_plan alone = plan_of("2x2", POD_F32), all = alone;
    all.bn_group = (pod_group){.dims = 3};
    (void)pod_test_job_run(&x, &alone, STEPS);
    (void)pod_test_job_run(&y, &all, STEPS);
    CU_ASSERT(x.program->fingerprint != y.program->fingerprint);
    CU_ASSERT(x.program->n_colls < y.program->n_colls);
    const double apart = pod_test_distance(x.store[0], y.store[0]);
    POD_CHECK(apart > 1e-3, "groups change weights by %g only", apart);
    pod_test_job_end(&x);
    pod_test_job_end(&y);
}

/* Elements of all collectives but the largest. */
static int64_t count_beside_largest(const pod_program *p)
{
    int64_t largest = 0, sum = 0;
    for (int i = 0; i < p->n_colls; i++) {
        const int64_t count = p->coll[i].args.count;
        if (count > largest) largest = count;
        sum += count;
    }
    return sum - largest;
}

/* A group of all cores sums over the mesh, as gradients are summed; but backward waits for it, and
 * gradients have time. */
static void test_gradients_travel_apart(void)
{
    pod_test_plan some = plan_of("4x2", POD_F32);
    some.bucket_bytes = 1 << 20;
    pod_test_plan all = some;
    some.bn_group = (pod_group){.dims = 1};
    all.bn_group = (pod_group){.dims = 3};
    const int64_t of_some = count_beside_largest(pod_test_program(&some));
    const int64_t of_all = count_beside_largest(pod_test_program(&all));
    POD_CHECK(of_all <= of_some,
              "%lld elements travel beside the gradients, %lld where groups are small",
              (long long)of_all, (long long)of_some);
}

POD_TEST_SUITE("bn_group", {"gradients travel apart", test_gradients_travel_apart},
               {"a group is like one core", test_like_one_core}, {"micro-steps", test_micro_steps},
               {"groups matter", test_groups_matter});
