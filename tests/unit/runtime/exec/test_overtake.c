/* Which collectives go first: that none passes one that is waited for sooner. */
#include <stdlib.h>

#include "kernels/base/cpu.h"
#include "runtime/exec/overtake.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

typedef struct found {
    int n_preferred, n_plain; /* collectives that start while others are in flight */
} found;

static void span_of(const pod_program *p, int32_t coll, int32_t *start, int32_t *wait)
{
    for (int32_t i = 0; i < p->n_instrs; i++) {
        if (p->instr[i].kind == POD_I_COLL_START && p->instr[i].ticket == coll) *start = i;
        if (p->instr[i].kind == POD_I_COLL_WAIT && p->instr[i].ticket == coll) *wait = i;
    }
}

/* c against those in flight as it starts that are not preferred. */
static void check_one(const pod_program *p, const bool is_preferred[], int32_t c, const char *what,
                      found *f)
{
    int32_t start = 0, wait = 0, n_sooner = 0, n_later = 0;
    span_of(p, c, &start, &wait);
    for (int32_t k = 0; k < p->n_colls; k++) {
        int32_t s = 0, w = 0;
        span_of(p, k, &s, &w);
        if (s >= start || w <= start || is_preferred[k]) continue;
        n_sooner += w < wait;
        n_later += w > wait;
    }
    POD_CHECK(is_preferred[c] == (n_sooner == 0 && n_later > 0),
              "%s: collective %d is%s preferred: in flight are %d that are waited for sooner, %d "
              "later",
              what, (int)c, is_preferred[c] ? "" : " not", (int)n_sooner, (int)n_later);
    f->n_preferred += is_preferred[c];
    f->n_plain += !is_preferred[c] && n_sooner > 0;
}

static void check(pod_test_plan plan, const char *what, found *f)
{
    pod_arena *a = pod_test_arena();
    const bool *is_preferred;
    plan.mesh = "4x2";
    plan.net = &pod_test_nets[POD_TEST_BN_RESIDUAL];
    plan.cpu = POD_CPU_REFERENCE_ONLY;
    plan.bn_group = (pod_group){.dims = 3};
    const pod_program *p = pod_test_program(&plan);
    POD_CHECK_OK(pod_overtakes(p, a, &is_preferred));
    for (int32_t c = 0; c < p->n_colls; c++) check_one(p, is_preferred, c, what, f);
}

static void test_none_passes_what_is_sooner(void)
{
    found f = {0};
    check((pod_test_plan){.bucket_bytes = 512}, "buckets of 512", &f);
    check((pod_test_plan){.bucket_bytes = 64}, "small buckets", &f);
    check((pod_test_plan){.bucket_bytes = 1 << 20}, "one bucket", &f);
    check((pod_test_plan){.bucket_bytes = 64, .accumulate = 3}, "micro-steps", &f);
    check((pod_test_plan){.bucket_bytes = 64, .shard_update = true}, "a sharded update", &f);
    POD_CHECK(f.n_preferred > 4 && f.n_plain > 4, "%d are preferred, %d are not", f.n_preferred,
              f.n_plain);
}

/* Where each is waited for at once, none is in flight beside another. */
static void test_none_in_flight(void)
{
    found f = {0};
    check((pod_test_plan){.bucket_bytes = 64, .wait_at_once = true}, "waiting at once", &f);
    CU_ASSERT(f.n_preferred == 0 && f.n_plain == 0);
}

POD_TEST_SUITE("overtake",
               {"none passes what is waited for sooner", test_none_passes_what_is_sooner},
               {"waiting at once", test_none_in_flight});
