/* A mix of jobs: what is refused, and that what is drawn asks for what it should. */
#include "runtime/fleet/jobs/mix.h"

#include <math.h>

#include "tests/harness/harness.h"

static pod_arena *arena;

static int open_arena(void) { return pod_arena_create(NULL, &arena) == POD_OK ? 0 : 1; }
static int close_arena(void)
{
    pod_arena_destroy(arena);
    return 0;
}

static pod_status parse(const char *text, pod_mix *out)
{
    char *copy = pod_arena_text(arena, "%s", text);
    return pod_mix_parse(arena, "m", copy, out);
}

#define HEAD "share,chips,hours,machine\n"

static void refused(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "m: has no line with the names"},
        {HEAD, "m: has no classes of jobs"},
        {"share,chips\n", "m:1: column 'hours' is missing"},
        {"share,chips,hours,color\n", "m:1: there is no column 'color'"},
        {HEAD "0.5,4,1,\n", "m:2: the shares of jobs sum to 0.5, want 1"},
        {HEAD "1,4,1,a\n0.4,4,1,b\n0.5,4,2,b\n", "m:3: the shares of jobs of b sum to 0.9, want 1"},
        {HEAD "1.1,4,1,\n", "m:2: share"},
        {HEAD "-1,4,1,\n", "m:2: share"},
        {HEAD "1,0,1,\n", "m:2: chips"},
        {HEAD "1,4,0,\n", "m:2: hours"},
        {HEAD "1,4,1\n", "m:2: 3 fields, want 4"},
        {"share,chips,hours,step_s,ideal_s\n1,4,1,1,2\n", "m:2: ideal_s"},
        {"share,chips,hours,model\n1,4,1,\"a,b\"\n", "m:2: model 'a,b' has a comma"},
        {"share,chips,hours,phase\n1,4,1,\"a,b\"\n", "m:2: phase 'a,b' has a comma"},
        {"share,chips,hours,batch\n1,4,1,64\n", "m:2: a batch, and no model"},
        {"share,chips,hours,model,batch,step_s\n1,4,1,m,64,2\n", "m:2: a batch, from which step_s"},
    };
    pod_mix m;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        POD_CHECK_FAILS(parse(cases[i].text, &m), POD_E_FORMAT, cases[i].says);
}

static const pod_stamp hour = INT64_C(3600000000000);

/* 20,000 hours at load 0.5 on 1,000 chips: 1e7 chip-hours, of jobs of 0.9 x 10 x 2 + 0.1 x 100 x 4 = 58
 * chip-hours: 172,414 of them. A tenth is large; the chip-time has a standard deviation of 0.6 %. */
static void demand(void)
{
    const pod_mix_site site[] = {{"a", 1000}, {"b", 10}};
    pod_mix m;
    pod_fleet_jobs jobs, again, more;
    double chip_h = 0, n_large = 0;
    POD_CHECK_OK(
        parse("share,chips,hours,spread,step_s,machine\n0.9,10,2,0,1,a\n0.1,100,4,0.5,1,a\n"
              "1,1,1,0,1,b\n",
              &m));
    POD_CHECK_FAILS(pod_mix_draw(arena, &m, site, 1, POD_ARRIVALS_poisson, 0.5, hour, 1, &jobs),
                    POD_E_INVALID, "m:4: jobs of machine 'b', but --pods has none");
    POD_CHECK_OK(
        pod_mix_draw(arena, &m, site, 2, POD_ARRIVALS_poisson, 0.5, 20000 * hour, 1, &jobs));
    for (int i = 0; i < jobs.n; i++) {
        const pod_fleet_entry *e = &jobs.entry[i];
        POD_CHECK(i == 0 || e->submit >= e[-1].submit, "job %d is out of order", i);
        POD_CHECK(e->run == e->n_steps * INT64_C(1000000000), "job %d", i);
        if (strcmp(e->group, "a") != 0) continue;
        chip_h += (double)e->chips * (double)e->run / (double)hour;
        n_large += e->chips == 100;
    }
    POD_CHECK(fabs(chip_h / 1e7 - 1) < 0.02, "%g chip-hours, want 1e7", chip_h);
    POD_CHECK(fabs(n_large / (1e7 / 580) - 1) < 0.03, "%g large jobs", n_large);
    /* The same seed, the same jobs; more pods of b leave those of a as they are. */
    POD_CHECK_OK(pod_mix_draw(arena, &m, site, 2, POD_ARRIVALS_poisson, 0.5, 100 * hour, 1, &jobs));
    POD_CHECK_OK(
        pod_mix_draw(arena, &m, site, 2, POD_ARRIVALS_poisson, 0.5, 100 * hour, 1, &again));
    const pod_mix_site larger[] = {{"a", 1000}, {"b", 40}};
    POD_CHECK_OK(
        pod_mix_draw(arena, &m, larger, 2, POD_ARRIVALS_poisson, 0.5, 100 * hour, 1, &more));
    CU_ASSERT_EQUAL_FATAL(jobs.n, again.n);
    for (int i = 0, k = 0; i < jobs.n; i++) {
        CU_ASSERT_STRING_EQUAL(jobs.entry[i].name, again.entry[i].name);
        CU_ASSERT_EQUAL(jobs.entry[i].submit, again.entry[i].submit);
        if (strcmp(jobs.entry[i].group, "a") != 0) continue;
        while (k < more.n && strcmp(more.entry[k].group, "a") != 0) k++;
        CU_ASSERT_FATAL(k < more.n);
        CU_ASSERT_EQUAL(jobs.entry[i].submit, more.entry[k].submit);
        CU_ASSERT_EQUAL(jobs.entry[i].run, more.entry[k++].run);
    }
}

/* Of the same mean rate: 2,000 days of 100 jobs a day. By day the four hours around noon have (1 / 6 + 0.8 / pi x
 * sin(pi / 6)) = 0.294 of the jobs; jobs in bursts come 8 at a time. */
static void arrivals(void)
{
    const pod_mix_site site = {"a", 1000};
    pod_mix m;
    pod_fleet_jobs jobs;
    POD_CHECK_OK(parse("share,chips,hours\n1,240,1\n", &m));
    CU_ASSERT_EQUAL(pod_arrivals_find("weekly"), -1);
    for (int kind = 0; kind < POD_N_ARRIVALS; kind++) {
        int n_noon = 0, n_instants = 0;
        POD_CHECK_OK(
            pod_mix_draw(arena, &m, &site, 1, (pod_arrivals)kind, 1, 48000 * hour, 1, &jobs));
        for (int i = 0; i < jobs.n; i++) {
            const pod_stamp of_day = jobs.entry[i].submit % (24 * hour);
            n_noon += of_day >= 10 * hour && of_day < 14 * hour;
            n_instants += i == 0 || jobs.entry[i].submit != jobs.entry[i - 1].submit;
        }
        POD_CHECK(fabs(jobs.n / 200000.0 - 1) < 0.03, "arrivals %d: %d jobs", kind, jobs.n);
        POD_CHECK(fabs((double)n_noon / jobs.n - (kind == POD_ARRIVALS_daily ? 0.294 : 1 / 6.0)) <
                      0.01,
                  "arrivals %d: %d of %d around noon", kind, n_noon, jobs.n);
        POD_CHECK(fabs((double)jobs.n / n_instants - (kind == POD_ARRIVALS_bursty ? 8 : 1)) < 0.3,
                  "arrivals %d: %d jobs in %d instants", kind, jobs.n, n_instants);
    }
}

POD_TEST_SUITE_WITH("runtime.fleet_mix", open_arena, close_arena, {"refused", refused},
                    {"demand", demand}, {"arrivals", arrivals});
