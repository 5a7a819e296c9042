/* Thousands of random small fleets, and their events read back as `goodput --jobs` reads them. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "tests/unit/runtime/fleet/fleets.h"

static const char *const pods[] = {"pool:12",  "nodes:3x4", "cubes:3",
                                   "mesh:6x8", "torus:8x8", "torus:4x6x2"};
enum { N_PODS = sizeof pods / sizeof pods[0], N_JOBS = 24 };

static pod_fleet_plan draw_plan(pod_rng *r, const char *pod)
{
    pod_fleet_plan p = plan_of(pod, NULL, 0);
    pod_fleet_request *request = POD_ARENA_NEW(arena, pod_fleet_request, N_JOBS);
    const uint64_t most = (uint64_t)pod_topology_chips(p.topology);
    pod_stamp at = 0;
    p.n_pods = 1 + (int)pod_rng_below(r, 2);
    p.horizon = 1 + (pod_stamp)pod_rng_below(r, 3000);
    p.request = request;
    p.n_requests = (int)pod_rng_below(r, N_JOBS + 1);
    p.seed = pod_rng_u64(r);
    p.policy.order = (pod_order)pod_rng_below(r, POD_N_ORDERS);
    p.policy.backfill = (pod_backfill)pod_rng_below(r, POD_N_BACKFILLS);
    p.policy.placement = pod_placement_at((int)pod_rng_below(r, 4));
    if (pod_rng_below(r, 4) == 0) p.policy.spare_chips = (int64_t)pod_rng_below(r, most / 2);
    if (strchr(pod, ':') && strcmp(pod, "mesh:6x8") == 0 &&
        strcmp(pod_placement_name(p.policy.placement), "buddy") == 0)
        p.policy.placement = pod_placement_at(0); /* 3x4 hosts are no buddies of all sizes */
    if (strcmp(pod, "torus:4x6x2") == 0)
        p.policy.placement = pod_placement_at((int)pod_rng_below(r, 3));
    for (int i = 0; i < p.n_requests; i++) {
        const uint64_t size = pod_rng_below(r, 4) == 0 ? most : most / 4 + 1;
        at += pod_rng_below(r, 3) == 0 ? 0 : (pod_stamp)pod_rng_below(r, 200);
        request[i] = (pod_fleet_request){.name = "job",
                                         .submit = at,
                                         .chips = 1 + (int64_t)pod_rng_below(r, size),
                                         .priority = (int)pod_rng_below(r, 3),
                                         .estimate = 1,
                                         .plan = {.n_steps = 1 + (int64_t)pod_rng_below(r, 40),
                                                  .every = 1 + (int64_t)pod_rng_below(r, 12),
                                                  .step = 1 + (pod_stamp)pod_rng_below(r, 12),
                                                  .save = (pod_stamp)pod_rng_below(r, 5),
                                                  .write = (pod_stamp)pod_rng_below(r, 30),
                                                  .detect = (pod_stamp)pod_rng_below(r, 9),
                                                  .launch = (pod_stamp)pod_rng_below(r, 9),
                                                  .restore = (pod_stamp)pod_rng_below(r, 9)}};
    }
    return p;
}

/* Half of the jobs run on half and a quarter of their chips, too, in twice the time and more. */
static void make_elastic(pod_rng *r, pod_fleet_plan *p)
{
    pod_fleet_request *request = (pod_fleet_request *)p->request;
    pod_placer *placer;
    POD_CHECK_OK(pod_placer_create(arena, p->policy.placement, p->topology, &placer));
    p->policy.resizes = true;
    for (int i = 0; i < p->n_requests; i++) {
        pod_fleet_size *s = POD_ARENA_NEW(arena, pod_fleet_size, 2);
        request[i].smaller = s;
        for (int k = 0; k < 2 && pod_rng_below(r, 4) > 0; k++) {
            s[k] = (pod_fleet_size){.chips = request[i].chips / (2 << k), .plan = request[i].plan};
            s[k].plan.step *= 2 + k;
            if (s[k].chips < 1 || pod_placer_cells_for(placer, s[k].chips) == 0) break;
            request[i].n_smaller++;
        }
    }
}

/* A third of the jobs ask for one of the shapes that there are of so many hosts. */
static void give_shapes(pod_rng *r, pod_fleet_plan *p)
{
    const pod_topology *t = p->topology;
    pod_fleet_request *request = (pod_fleet_request *)p->request;
    if (t->kind != POD_TOPOLOGY_CUBES && t->kind != POD_TOPOLOGY_GRID) return;
    for (int i = 0; i < p->n_requests; i++) {
        pod_box box[8];
        const int n_cells = pod_topology_cells_for(t, request[i].chips);
        const int n = n_cells > t->group_cells ? 0 : pod_topology_boxes(t, n_cells, box, 8);
        if (n == 0 || pod_rng_below(r, 3) > 0) continue;
        const pod_box *b = &box[pod_rng_below(r, (uint64_t)n)];
        pod_slice_shape s;
        for (int d = 0; d < POD_TOPOLOGY_DIMS; d++) s.extent[d] = b->extent[d] * t->host[d];
        request[i].chips = (int64_t)n_cells * t->chips_per_cell;
        request[i].shape = s;
    }
}

static void disturb(pod_rng *r, pod_fleet_plan *p)
{
    if (pod_rng_below(r, 4) == 0)
        make_elastic(r, p);
    else if (strcmp(pod_placement_name(p->policy.placement), "buddy") != 0)
        give_shapes(r, p);
    pod_fleet_request *request = (pod_fleet_request *)p->request;
    if (pod_rng_below(r, 2)) {
        p->faults.mtbf_s = 1e-9 * (double)(300 + pod_rng_below(r, 5000));
        p->faults.repair_s = 1e-9 * (double)pod_rng_below(r, 300);
    }
    static const pod_node_event event[] = {
        {20, 0, true}, {90, 1, true}, {95, 0, false}, {400, 1, false}};
    static const pod_fault_trace trace = {
        .n_nodes = 2, .n_faults = 2, .n_events = 4, .event = event, .end = 700};
    if (pod_rng_below(r, 4) == 0)
        p->faults = (pod_fleet_faults){.trace = &trace, .n_nodes = 2 + (int)pod_rng_below(r, 9)};
    if (pod_rng_below(r, 4) == 0)
        p->faults.switch_mtbf_s = 48e-9 * (double)(300 + pod_rng_below(r, 3000));
    p->policy.preempts = p->policy.order == POD_ORDER_priority && pod_rng_below(r, 2);
    p->policy.grace = (pod_stamp)pod_rng_below(r, 30);
    p->policy.moves = pod_rng_below(r, 2) == 0;
    p->policy.moves_after = (pod_stamp)pod_rng_below(r, 30);
    p->policy.move_margin = 0.1 * (double)pod_rng_below(r, 20);
    p->policy.protected_chips = (int64_t)pod_rng_below(r, 2) * 20;
    for (int i = 0; i < p->n_requests; i++)
        request[i].estimate = 0.25 * (double)(1 + pod_rng_below(r, 12));
}

/* The log alone: no start before the submission, no more chips than were asked for or than there
 * are, a part only after the whole; and the time with all chips is that of the ledger. */
static void check_events(const pod_fleet_plan *p, const pod_fleet_result *r)
{
    int64_t has[N_JOBS] = {0}, asked_for[N_JOBS] = {0}, in_use = 0;
    pod_stamp since[N_JOBS] = {0};
    bool is_there[N_JOBS] = {false}, was_whole[N_JOBS] = {false};
    pod_chip_ns together = 0;
    pod_stamp last = 0;
    for (int64_t i = 0; i < r->n_events; i++) {
        const pod_fleet_event *e = &r->event[i];
        const int j = e->request;
        POD_CHECK(e->at >= last && e->at <= p->horizon, "event %" PRId64 " goes back", i);
        last = e->at;
        if (e->kind == POD_FLEET_SUBMIT) {
            POD_CHECK(!is_there[j] && e->at >= p->request[j].submit, "job %d is submitted", j);
            is_there[j] = true;
            was_whole[j] = false; /* an elastic job is submitted again with another size */
            asked_for[j] = e->chips;
            continue;
        }
        POD_CHECK(is_there[j], "job %d is not there", j);
        const int64_t asked = asked_for[j];
        if (has[j] == asked) together += (pod_chip_ns)asked * (e->at - since[j]);
        since[j] = e->at;
        was_whole[j] = was_whole[j] || e->chips == asked;
        const bool resizes = e->kind == POD_FLEET_END && p->request[j].n_smaller > 0;
        POD_CHECK((was_whole[j] || resizes) && e->chips <= asked,
                  "job %d has a part and never had all", j);
        in_use += e->chips - has[j];
        has[j] = e->chips;
        if (e->kind == POD_FLEET_END) is_there[j] = false;
        POD_CHECK(in_use <= pod_topology_chips(p->topology) * p->n_pods, "%" PRId64 " chips in use",
                  in_use);
    }
    for (int j = 0; j < p->n_requests; j++)
        if (is_there[j] && has[j] == asked_for[j])
            together += (pod_chip_ns)has[j] * (p->horizon - since[j]);
    POD_CHECK(together == pod_ledger_together(&r->ledger),
              "%g chip-seconds by the events, %g by the ledger", chip_s(together),
              chip_s(pod_ledger_together(&r->ledger)));
}

/* At no time has a row more than its cells: no chip is in two jobs, or in one while its host is down. */
static void check_rows(const pod_fleet_plan *p, const pod_fleet_result *r)
{
    const int most = pod_topology_row_cells(p->topology);
    for (int64_t i = 0; i < r->n_stays; i++) { /* most are held when one begins */
        const pod_fleet_stay *s = &r->stay[i];
        int n = 0;
        for (int64_t k = 0; k < r->n_stays; k++) {
            const pod_fleet_stay *o = &r->stay[k];
            n += o->row == s->row && o->from <= s->from && s->from < o->until ? o->n_cells : 0;
        }
        POD_CHECK(n <= most, "%d of %d cells of row %d held at %" PRId64, n, most, s->row, s->from);
    }
}

/* What is held and what is down makes up what the ledger has of it. */
static void check_stays(const pod_fleet_plan *p, const pod_fleet_result *r)
{
    const pod_topology *t = p->topology;
    const pod_ledger *l = &r->ledger;
    pod_chip_ns down = 0, held = 0;
    for (int64_t i = 0; i < r->n_stays; i++) {
        const pod_fleet_stay *s = &r->stay[i];
        const pod_chip_ns ns = (pod_chip_ns)s->n_cells * t->chips_per_cell * (s->until - s->from);
        POD_CHECK(s->from >= 0 && s->from < s->until && s->until <= p->horizon, "stay %" PRId64, i);
        if (s->request < 0)
            down += ns;
        else
            held += ns;
    }
    POD_CHECK(down == l->idle[POD_IDLE_DOWN], "%g chip-seconds down", chip_s(down));
    POD_CHECK(held ==
                  pod_ledger_together(l) + l->idle[POD_IDLE_ROUNDING] + l->idle[POD_IDLE_PARTIAL],
              "%g chip-seconds held", chip_s(held));
}

/* Every job: its spans, its waits and its parts make up its time; what is done is done. */
static void check_jobs(const pod_fleet_plan *p, const pod_fleet_result *r)
{
    for (int j = 0; j < p->n_requests; j++) {
        const pod_fleet_request *q = &p->request[j];
        const pod_fleet_outcome *o = &r->outcome[j];
        pod_stamp spans = 0;
        for (int s = 0; s < POD_N_JOB_SPANS; s++) {
            spans += o->span[s];
            POD_CHECK(o->span[s] >= 0, "job %d: negative %s", j,
                      pod_job_span_name((pod_job_span)s));
        }
        if (q->submit > p->horizon) continue;
        const pod_stamp until = o->end == POD_NEVER ? p->horizon : o->end,
                        waits = pod_fleet_first_wait(o) + o->rewait;
        const bool is_whole =
            p->faults.mtbf_s <= 0 && !p->faults.trace && p->faults.switch_mtbf_s <= 0;
        POD_CHECK(is_whole ? spans + waits == until - q->submit
                           : spans + waits <= until - q->submit,
                  "job %d: %" PRId64 " ns with all chips and %" PRId64 " of waits in %" PRId64, j,
                  spans, waits, until - q->submit);
        if (pod_slice_shape_is_known(&q->shape) && o->first_start != POD_NEVER) {
            char got[POD_SLICE_SHAPE_BYTES], want[POD_SLICE_SHAPE_BYTES];
            pod_slice_shape_print(p->topology, &o->shape, got);
            pod_slice_shape_print(p->topology, &q->shape, want);
            POD_CHECK(strcmp(got, want) == 0, "job %d asks for %s and gets %s", j, want, got);
        }
        if (o->end == POD_NEVER) continue;
        const bool is_exact = o->n_resizes > 0 ? fabs(o->n_stepped - (double)o->n_kept) < 1e-6
                                               : o->span[POD_JOB_STEP] == o->n_kept * q->plan.step;
        POD_CHECK(o->n_kept == q->plan.n_steps && is_exact,
                  "job %d ended with %" PRId64 " ns of steps", j, o->span[POD_JOB_STEP]);
    }
}

/* Looking changes nothing, and what nobody held only grows. */
typedef struct seen {
    const pod_fleet_plan *plan;
    pod_ledger ledger[2];
    int n;
} seen;

static void see(void *ctx, int i, const pod_fleet_view *v)
{
    seen *x = ctx;
    pod_chip_ns together = 0;
    x->ledger[i] = *v->ledger;
    x->n++;
    for (int j = 0; j < x->plan->n_requests; j++)
        for (int s = 0; s < POD_N_JOB_SPANS; s++)
            together += (pod_chip_ns)x->plan->request[j].chips * v->outcome[j].span[s] -
                        v->outcome[j].missed[s];
    POD_CHECK(together == pod_ledger_together(v->ledger), "mark %d: jobs differ from the ledger",
              i);
    POD_CHECK(v->largest_slice <= v->most_free_chips && v->most_free_chips <= v->free_chips,
              "mark %d: a slice of %" PRId64 " of %" PRId64 " chips", i, v->largest_slice,
              v->most_free_chips);
}

static void check_marks(pod_fleet_plan *p, const pod_fleet_result *r)
{
    const pod_stamp at[] = {p->horizon / 3, p->horizon / 2};
    seen x = {.plan = p};
    p->marks = (pod_fleet_marks){2, at, see, &x};
    const pod_fleet_result again = simulate(p);
    POD_CHECK(again.n_events == r->n_events, "marks change what happens");
    CU_ASSERT_EQUAL(x.n, 2);
    pod_ledger_take(&x.ledger[1], &x.ledger[0]);
    for (int i = 0; i < POD_N_IDLE; i++)
        POD_CHECK(x.ledger[1].idle[i] >= 0, "%s falls", pod_idle_name((pod_idle)i));
    POD_CHECK(pod_ledger_sum(&x.ledger[1]) == x.ledger[1].capacity, "a ledger does not close");
}

static void random_fleets(void)
{
    enum { CASES = 4000 };
    pod_rng r = pod_rng_at(11, (pod_place){.stream = POD_STREAM_TEST});
    int64_t n_evicted = 0, n_moved = 0, n_failed = 0, n_resized = 0;
    for (int i = 0; i < CASES; i += POD_TEST_EVERY) {
        begin();
        pod_fleet_plan p = draw_plan(&r, pods[i % N_PODS]);
        disturb(&r, &p);
        pod_test_doing("fleet %d on %s", i, pods[i % N_PODS]);
        const pod_fleet_result x = simulate(&p), y = simulate(&p);
        check_events(&p, &x);
        check_jobs(&p, &x);
        check_stays(&p, &x);
        check_rows(&p, &x);
        POD_CHECK(x.n_events == y.n_events && x.ledger.capacity == y.ledger.capacity,
                  "fleet %d differs the second time", i);
        for (int64_t k = 0; k < x.n_events; k++)
            POD_CHECK(x.event[k].at == y.event[k].at && x.event[k].request == y.event[k].request &&
                          x.event[k].chips == y.event[k].chips,
                      "fleet %d: event %" PRId64 " differs the second time", i, k);
        check_marks(&p, &x);
        n_evicted += x.n_evictions;
        for (int j = 0; j < p.n_requests; j++) n_resized += x.outcome[j].n_resizes;
        n_moved += x.n_moves;
        n_failed += x.n_failures;
        end();
    }
    POD_CHECK(n_resized > 1000 / POD_TEST_EVERY, "%" PRId64 " resizes", n_resized);
    POD_CHECK(n_evicted > 100 / POD_TEST_EVERY && n_moved > 100 / POD_TEST_EVERY &&
                  n_failed > 1000 / POD_TEST_EVERY,
              "%" PRId64 " evictions, %" PRId64 " moves, %" PRId64 " failures in all", n_evicted,
              n_moved, n_failed);
}

/* With exact estimates and no failures no job starts later than its first reservation. */
static void keeps_promises(pod_backfill backfill)
{
    enum { CASES = 3000 };
    pod_rng r = pod_rng_at(12, (pod_place){.stream = POD_STREAM_TEST});
    int n_promised = 0;
    for (int i = 0; i < CASES; i += POD_TEST_EVERY) {
        begin();
        pod_fleet_plan p = draw_plan(&r, pods[i % N_PODS]);
        p.policy.backfill = backfill;
        p.policy.order = POD_ORDER_fifo;
        const pod_fleet_result x = simulate(&p);
        for (int j = 0; j < p.n_requests; j++) {
            const pod_fleet_outcome *o = &x.outcome[j];
            if (o->promised > p.horizon) continue;
            n_promised++;
            POD_CHECK(o->first_start <= o->promised,
                      "fleet %d on %s: job %d starts at %" PRId64 ", was promised %" PRId64, i,
                      pods[i % N_PODS], j, o->first_start, o->promised);
        }
        end();
    }
    POD_CHECK(n_promised > 1000 / POD_TEST_EVERY, "only %d promises", n_promised);
}

static void easy_keeps_its_promise(void) { keeps_promises(POD_BACKFILL_easy); }
static void conservative_keeps_all(void) { keeps_promises(POD_BACKFILL_conservative); }

/* First come, first served, without shapes: a chip more never makes the jobs' allocated time less. */
static void more_is_not_less(void)
{
    enum { CASES = 2000 };
    pod_rng r = pod_rng_at(13, (pod_place){.stream = POD_STREAM_TEST});
    for (int i = 0; i < CASES; i += POD_TEST_EVERY) {
        begin();
        pod_fleet_plan p = draw_plan(&r, "pool:12");
        pod_topology more;
        POD_CHECK_OK(pod_topology_parse("pool:13", &more));
        p.n_pods = 1;
        p.policy.order = POD_ORDER_fifo;
        p.policy.backfill = POD_BACKFILL_none;
        const pod_fleet_result x = simulate(&p);
        p.topology = &more;
        const pod_fleet_result y = simulate(&p);
        POD_CHECK(pod_ledger_together(&y.ledger) >= pod_ledger_together(&x.ledger),
                  "fleet %d: %g chip-ns on 12 chips, %g on 13", i,
                  (double)pod_ledger_together(&x.ledger), (double)pod_ledger_together(&y.ledger));
        end();
    }
}

/* Without failures and moves of sizes a job that has no chips any more was evicted; what follows is the start that
 * it makes room for. Whoever is evicted had all its chips, loses all, and has a lower priority; of a pool no victim
 * is evicted in vain. */
static int check_evictions(const pod_fleet_plan *p, const pod_fleet_result *r, bool is_pool)
{
    int64_t has[N_JOBS] = {0}, in_use = 0, victims = 0, least_victim = INT64_MAX;
    int n = 0, highest = INT_MIN;
    for (int64_t i = 0; i < r->n_events; i++) {
        const pod_fleet_event *e = &r->event[i];
        const pod_fleet_request *q = &p->request[e->request];
        if (e->kind == POD_FLEET_SUBMIT) continue;
        if (e->kind == POD_FLEET_ALLOCATE && e->chips == 0) {
            POD_CHECK(has[e->request] == q->chips, "job %d is evicted and had %" PRId64 " chips",
                      e->request, has[e->request]);
            highest = q->priority > highest ? q->priority : highest;
            least_victim = q->chips < least_victim ? q->chips : least_victim;
            victims += q->chips;
            n++;
        } else if (n > 0 && victims > 0) {
            const int64_t capacity = pod_topology_chips(p->topology);
            POD_CHECK(e->kind == POD_FLEET_ALLOCATE && e->chips == q->chips &&
                          q->priority > highest,
                      "job %d of priority %d follows victims of priority %d", e->request,
                      q->priority, highest);
            POD_CHECK(!is_pool || in_use + least_victim + q->chips > capacity,
                      "a victim of %" PRId64 " chips for job %d is in vain", least_victim,
                      e->request);
            victims = 0;
            highest = INT_MIN;
            least_victim = INT64_MAX;
        }
        in_use += (e->kind == POD_FLEET_END ? 0 : e->chips) - has[e->request];
        has[e->request] = e->kind == POD_FLEET_END ? 0 : e->chips;
    }
    POD_CHECK(victims == 0, "%" PRId64 " chips of victims, and nobody starts", victims);
    return n;
}

static void only_lower_priority(void)
{
    enum { CASES = 4000 };
    pod_rng r = pod_rng_at(16, (pod_place){.stream = POD_STREAM_TEST});
    int64_t n = 0;
    for (int i = 0; i < CASES; i += POD_TEST_EVERY) {
        const bool is_pool = i % N_PODS == 0;
        begin();
        pod_fleet_plan p = draw_plan(&r, pods[i % N_PODS]);
        p.policy.order = POD_ORDER_priority;
        p.policy.preempts = true;
        p.policy.grace = pod_rng_below(&r, 4) == 0 ? 30 : 0;
        p.policy.moves = !is_pool && pod_rng_below(&r, 2);
        p.policy.spare_chips = 0;
        if (is_pool) p.n_pods = 1;
        const pod_fleet_result x = simulate(&p);
        const int n_evicted = check_evictions(&p, &x, is_pool);
        CU_ASSERT_EQUAL(x.n_evictions, n_evicted);
        n += n_evicted;
        for (int j = 0; j < p.n_requests; j++)
            POD_CHECK(x.outcome[j].n_evictions == 0 || p.request[j].priority < 2,
                      "fleet %d: job %d of the highest priority is evicted", i, j);
        end();
    }
    POD_CHECK(n > 1000 / POD_TEST_EVERY, "only %" PRId64 " evictions", n);
}

/* Only jobs of lower priority are evicted: with one priority, none. */
static void one_priority(void)
{
    pod_rng r = pod_rng_at(14, (pod_place){.stream = POD_STREAM_TEST});
    for (int i = 0; i < 600; i += POD_TEST_EVERY) {
        begin();
        pod_fleet_plan p = draw_plan(&r, pods[i % N_PODS]);
        for (int j = 0; j < p.n_requests; j++) ((pod_fleet_request *)p.request)[j].priority = 5;
        p.policy.order = POD_ORDER_priority;
        p.policy.preempts = true;
        CU_ASSERT_EQUAL(simulate(&p).n_evictions, 0);
        end();
    }
}

/* A fleet of one job without failures is the job of `simulate --job`. */
static void one_job(void)
{
    pod_rng r = pod_rng_at(15, (pod_place){.stream = POD_STREAM_TEST});
    for (int i = 0; i < 500; i++) {
        begin();
        pod_fleet_plan p = draw_plan(&r, "tpu-v4");
        pod_nodes *nodes;
        if (p.n_requests == 0) {
            end();
            continue;
        }
        p.n_requests = 1;
        p.policy.spare_chips = 0;
        p.horizon = S(1);
        pod_job_sim_plan alone = p.request[0].plan;
        alone.limit = S(1);
        POD_CHECK_OK(pod_nodes_list(NULL, 0, 1, 1, &nodes));
        const pod_job_sim want = pod_job_sim_run(&alone, nodes, 1, 0);
        pod_nodes_destroy(nodes);
        const pod_fleet_result x = simulate(&p);
        CU_ASSERT_EQUAL(x.outcome[0].end - x.outcome[0].first_start, want.allocated);
        for (int s = 0; s < POD_N_JOB_SPANS; s++) {
            CU_ASSERT_EQUAL(x.outcome[0].span[s], want.by_span[s]);
            CU_ASSERT(x.ledger.span[s] == (pod_chip_ns)p.request[0].chips * want.by_span[s]);
        }
        end();
    }
}

POD_TEST_SUITE("runtime.fleet_random", {"random fleets", random_fleets},
               {"EASY keeps its promise", easy_keeps_its_promise},
               {"conservative backfill keeps all", conservative_keeps_all},
               {"more is not less", more_is_not_less}, {"only lower priority", only_lower_priority},
               {"one priority", one_priority}, {"one job", one_job});
