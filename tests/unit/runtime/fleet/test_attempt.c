/* An attempt in closed form against its twin, the job that is walked from event to event. */
#include "runtime/fleet/attempt.h"

#include <inttypes.h>

#include "kernels/base/rng.h"
#include "tests/harness/harness.h"

enum { CASES = 20000 };

static pod_stamp draw(pod_rng *r, int most) /* 0 more often than not for some */
{
    return pod_rng_below(r, 4) == 0 ? 0 : (pod_stamp)pod_rng_below(r, (uint64_t)most);
}

static pod_job_sim_plan draw_plan(pod_rng *r)
{
    return (pod_job_sim_plan){.n_steps = 1 + (int64_t)pod_rng_below(r, 60),
                              .every = 1 + (int64_t)pod_rng_below(r, 20),
                              .step = 1 + (pod_stamp)pod_rng_below(r, 50),
                              .save = draw(r, 40),
                              .write = draw(r, 600),
                              .detect = draw(r, 30),
                              .launch = draw(r, 30),
                              .init = draw(r, 30),
                              .prep = draw(r, 30),
                              .build = draw(r, 30),
                              .restore = draw(r, 30),
                              .limit = POD_NEVER / 4};
}

static void check_spans(const char *what, int at, const pod_stamp got[], const pod_stamp want[])
{
    for (int s = 0; s < POD_N_JOB_SPANS; s++)
        POD_CHECK(got[s] == want[s], "%s, case %d: %" PRId64 " ns of %s, want %" PRId64, what, at,
                  got[s], pod_job_span_name((pod_job_span)s), want[s]);
}

/* Node 0 goes down at each of these times, and is up again at once. */
static pod_job_sim walk(const pod_job_sim_plan *p, const pod_stamp down[], int n)
{
    pod_node_event event[4];
    pod_nodes *nodes;
    pod_job_sim sim = {0};
    for (int i = 0; i < n; i++) {
        event[2 * i] = (pod_node_event){down[i], 0, true};
        event[2 * i + 1] = (pod_node_event){down[i], 0, false};
    }
    POD_CHECK_OK(pod_nodes_list(event, 2 * n, 1, 1, &nodes));
    sim = pod_job_sim_run(p, nodes, 1, 0);
    pod_nodes_destroy(nodes);
    return sim;
}

static void undisturbed(void)
{
    pod_rng r = pod_rng_at(1, (pod_place){.stream = POD_STREAM_TEST});
    for (int i = 0; i < CASES; i++) {
        const pod_job_sim_plan p = draw_plan(&r);
        const pod_attempt a = {.plan = &p, .is_first = true};
        const pod_stamp length = pod_attempt_length(&a);
        const pod_attempt_state s = pod_attempt_at(&a, length);
        const pod_job_sim want = walk(&p, NULL, 0);
        POD_CHECK(length == want.allocated, "case %d: %" PRId64 " ns, want %" PRId64, i, length,
                  want.allocated);
        check_spans("undisturbed", i, s.by_span, want.by_span);
        POD_CHECK(s.n_kept == p.n_steps && s.n_saves == want.n_saves && s.unkept == 0,
                  "case %d: %" PRId64 " of %" PRId64 " steps kept", i, s.n_kept, p.n_steps);
    }
}

/* One failure at any time: both attempts, joined as the fleet joins them, are the job. */
static void with_a_failure(void)
{
    pod_rng r = pod_rng_at(2, (pod_place){.stream = POD_STREAM_TEST});
    for (int i = 0; i < CASES; i++) {
        const pod_job_sim_plan p = draw_plan(&r);
        pod_attempt a = {.plan = &p, .is_first = true};
        const pod_stamp length = pod_attempt_length(&a);
        if (length < 2) continue;
        const pod_stamp down = 1 + (pod_stamp)pod_rng_below(&r, (uint64_t)length - 1);
        const pod_attempt_state first = pod_attempt_at(&a, down);
        a.n_before = first.n_kept;
        a.is_first = false;
        POD_CHECK(a.n_before < p.n_steps, "case %d: all steps kept before the end", i);
        const pod_attempt_state second = pod_attempt_at(&a, pod_attempt_length(&a));
        pod_stamp got[POD_N_JOB_SPANS];
        for (int s = 0; s < POD_N_JOB_SPANS; s++) got[s] = first.by_span[s] + second.by_span[s];
        got[POD_JOB_STEP] -= first.unkept;
        got[POD_JOB_LOST_STEP] += first.unkept;
        got[POD_JOB_RECOVERY] += p.detect;
        const pod_job_sim want = walk(&p, &down, 1);
        check_spans("with a failure", i, got, want.by_span);
    }
}

/* At any time the spans sum to it, and nothing goes back. */
static void any_time(void)
{
    pod_rng r = pod_rng_at(3, (pod_place){.stream = POD_STREAM_TEST});
    for (int i = 0; i < CASES / 100; i++) {
        const pod_job_sim_plan p = draw_plan(&r);
        const pod_attempt a = {.plan = &p,
                               .copy = draw(&r, 50),
                               .n_before = (int64_t)pod_rng_below(&r, 2) % p.n_steps};
        const pod_stamp length = pod_attempt_length(&a);
        pod_attempt_state before = pod_attempt_at(&a, 0);
        for (pod_stamp at = 0; at <= length; at++) {
            const pod_attempt_state s = pod_attempt_at(&a, at);
            pod_stamp sum = 0;
            bool grows = s.n_kept >= before.n_kept && s.n_done >= before.n_done;
            for (int k = 0; k < POD_N_JOB_SPANS; k++) {
                sum += s.by_span[k];
                grows = grows && s.by_span[k] >= before.by_span[k];
            }
            if (sum != at || !grows || s.n_kept > s.n_done || s.unkept < 0 || s.unkept > at) {
                POD_CHECK(false, "case %d at %" PRId64 ": %" PRId64 " ns, %" PRId64 " kept", i, at,
                          sum, s.n_kept);
                return;
            }
            before = s;
        }
    }
}

POD_TEST_SUITE("runtime.fleet_attempt", {"undisturbed", undisturbed},
               {"with a failure", with_a_failure}, {"any time", any_time});
