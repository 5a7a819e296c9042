/* minipod fleet --validate: published figures of fleets, simulated or worked out, each beside what was
 * published. The replays need the traces (--traces); without them their rows are left open. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/record.h"
#include "bench/fleet/validate.h"
#include "kernels/base/assert.h"
#include "runtime/core/file.h"
#include "runtime/fleet/place/packing.h"

static const char in_philly[] = "trace-philly", in_openb[] = "trace-openb-2023";

void pod_validation_add(pod_validation *v, const char *what, const char *unit, double published,
                        double tolerance, double predicted, const char *source)
{
    POD_ASSERT(v->n < POD_VALIDATION_ROWS, "%d rows", v->n);
    v->row[v->n++] = (pod_validation_row){what, unit, published, tolerance, predicted, source};
}

bool pod_validation_has(const pod_validation *v, const char *folder)
{
    char path[POD_PATH_BYTES];
    return *v->traces && pod_path_join(v->traces, folder, path) == POD_OK &&
           access(path, R_OK) == 0;
}

/* ---- Philly ---------------------------------------------------------------------------------- */

/* Virtual clusters with their nodes of 8 GPUs (HeliosArtifact's philly_vc.csv). */
static const struct {
    const char *name;
    int n_nodes;
} philly[] = {{"6214e9", 64}, {"b436b2", 64}, {"ee9e8c", 64}, {"7f04ca", 32},
              {"6c71a0", 32}, {"0e4a51", 32}, {"11cb48", 16}, {"e13805", 16},
              {"2869ce", 16}, {"ed69ec", 8},  {"103959", 8}};
enum { N_PHILLY = sizeof philly / sizeof philly[0], C_2869CE = 8, C_11CB48 = 6, C_103959 = 10 };

typedef struct replay {
    pod_fleet_request *request;
    int *cluster;
    int n;
} replay;

/* Submitted from October 1 to November 30, 2017, 23:59, in these clusters. */
static pod_status read_philly(pod_validation *v, replay *out)
{
    static const pod_stamp second = 1000000000;
    const pod_stamp from = INT64_C(1506816000) * second,
                    until = from + (INT64_C(61) * 86400 - 60) * second;
    char path[POD_PATH_BYTES];
    pod_fleet_jobs jobs;
    POD_TRY(pod_path_join(v->traces, "trace-philly/philly.csv", path));
    const char *what = pod_arena_text(v->arena, "philly:%s", path);
    if (!what) return POD_E_NOMEM;
    POD_TRY(pod_fleet_jobs_read(v->arena, what, &jobs));
    *out = (replay){.request = POD_ARENA_NEW(v->arena, pod_fleet_request, jobs.n),
                    .cluster = POD_ARENA_NEW(v->arena, int, jobs.n)};
    if (!out->request || !out->cluster) return POD_E_NOMEM;
    for (int i = 0; i < jobs.n; i++) {
        const pod_fleet_entry *e = &jobs.entry[i];
        if (e->submit < from || e->submit > until) continue;
        for (int k = 0; k < N_PHILLY; k++) {
            if (strcmp(philly[k].name, e->group) != 0) continue;
            out->cluster[out->n] = k;
            out->request[out->n++] =
                (pod_fleet_request){.name = e->name,
                                    .submit = e->submit - from,
                                    .chips = e->chips,
                                    .estimate = 1,
                                    .plan = {.n_steps = 1, .every = 1, .step = e->run}};
        }
    }
    return POD_OK;
}

typedef struct waits {
    double sum_s, max_s;
    int n, n_waited;
} waits;

static void add_waits(waits *to, const waits *from)
{
    to->sum_s += from->sum_s;
    to->max_s = fmax(to->max_s, from->max_s);
    to->n += from->n;
    to->n_waited += from->n_waited;
}

static double mean(const waits *w) { return w->sum_s / w->n; }

static pod_status wait_on(const char *pod, const pod_fleet_request *r, int n, pod_order order,
                          pod_backfill backfill, waits *out)
{
    pod_arena *a;
    pod_topology t;
    pod_fleet_result x;
    POD_TRY(pod_topology_parse(pod, &t));
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_fleet_plan plan = {
        .topology = &t,
        .n_pods = 1,
        .n_requests = n,
        .request = r,
        .policy = {.order = order, .backfill = backfill, .placement = pod_placement_find("best")},
        .horizon = INT64_C(1000) * 86400 * 1000000000};
    const pod_status s = pod_fleet_simulate(a, &plan, &x);
    *out = (waits){.n = n};
    for (int i = 0; s == POD_OK && i < n; i++) {
        const double wait_s = (double)pod_fleet_first_wait(&x.outcome[i]) * 1e-9;
        out->sum_s += wait_s;
        out->max_s = fmax(out->max_s, wait_s);
        out->n_waited += wait_s > 0;
    }
    pod_arena_destroy(a);
    return s;
}

static pod_status add_clusters(pod_validation *v, const replay *r)
{
    static const char source[] = "Philly by its virtual clusters, event-driven replay";
    static const double published[2][4] = {{104.6, 11343, 240, 246}, {62.7, 5144, 189, 44}};
    for (int o = 0; o < 2; o++) {
        const pod_order order = o == 0 ? POD_ORDER_fifo : POD_ORDER_sjf;
        waits one[N_PHILLY] = {{0}}, all = {0};
        for (int k = 0; k < N_PHILLY && r; k++) {
            char pod[POD_TOPOLOGY_NAME_BYTES];
            int n = 0;
            pod_fleet_request *q = POD_ARENA_NEW(v->arena, pod_fleet_request, r->n);
            if (!q) return POD_E_NOMEM;
            for (int i = 0; i < r->n; i++)
                if (r->cluster[i] == k) q[n++] = r->request[i];
            snprintf(pod, sizeof pod, "nodes:%dx8", philly[k].n_nodes);
            POD_TRY(wait_on(pod, q, n, order, POD_BACKFILL_none, &one[k]));
            add_waits(&all, &one[k]);
        }
        /* Those of single clusters were published cut to whole seconds. */
        const char *name =
            o == 0 ? "mean wait, first come first served" : "mean wait, shortest first";
        pod_validation_add(v, name, "s", published[o][0], 0.05, mean(&all), source);
        pod_validation_add(v, "  cluster 2869ce", "s", published[o][1], 1, mean(&one[C_2869CE]),
                           source);
        pod_validation_add(v, "  cluster 11cb48", "s", published[o][2], 1, mean(&one[C_11CB48]),
                           source);
        pod_validation_add(v, "  cluster 103959", "s", published[o][3], 1, mean(&one[C_103959]),
                           source);
    }
    return POD_OK;
}

static pod_status add_pools(pod_validation *v, const replay *r)
{
    static const char source[] = "the same jobs on one pool, event-driven replay";
    static const struct {
        const char *pod, *what;
        pod_order order;
        pod_backfill backfill;
        double mean_s, max_s, waited; /* 0: not published */
    } cases[] = {
        {"pool:640", "mean wait on 640 GPUs, first come first served", POD_ORDER_fifo,
         POD_BACKFILL_none, 7042.6, 100912, 43.8},
        {"pool:640", "the same, shortest first", POD_ORDER_sjf, POD_BACKFILL_none, 1693.6, 255541,
         40.0},
        {"pool:640", "the same, EASY with true run times", POD_ORDER_fifo, POD_BACKFILL_easy,
         5621.2, 99742, 43.3},
        {"pool:704", "mean wait on 704 GPUs, first come first served", POD_ORDER_fifo,
         POD_BACKFILL_none, 1724.2, 0, 0},
        {"pool:704", "the same, shortest first", POD_ORDER_sjf, POD_BACKFILL_none, 707.8, 0, 0},
        {"pool:704", "the same, EASY with true run times", POD_ORDER_fifo, POD_BACKFILL_easy,
         1392.6, 0, 0},
    };
    double asked_s = 0;
    for (int i = 0; r && i < r->n; i++)
        asked_s += (double)r->request[i].chips * (double)r->request[i].plan.step * 1e-9;
    const double unknown = (double)NAN;
    pod_validation_add(v, "jobs of two months", "", 68503, 0, r ? r->n : unknown, source);
    pod_validation_add(v, "  GPUs that they ask for, mean", "", 472, 0.5,
                       r ? asked_s / (61 * 86400.0) : unknown, source);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        waits w = {0};
        if (r)
            POD_TRY(wait_on(cases[i].pod, r->request, r->n, cases[i].order, cases[i].backfill, &w));
        pod_validation_add(v, cases[i].what, "s", cases[i].mean_s, 0.05, mean(&w), source);
        if (cases[i].max_s <= 0) continue;
        pod_validation_add(v, "  longest", "s", cases[i].max_s, 0.5, r ? w.max_s : unknown, source);
        pod_validation_add(v, "  jobs that waited", "%", cases[i].waited, 0.05,
                           100.0 * w.n_waited / w.n, source);
    }
    return POD_OK;
}

static pod_status add_philly(pod_validation *v)
{
    replay r = {0};
    if (pod_validation_has(v, in_philly)) POD_TRY(read_philly(v, &r));
    POD_TRY(add_clusters(v, pod_validation_has(v, in_philly) ? &r : NULL));
    return add_pools(v, pod_validation_has(v, in_philly) ? &r : NULL);
}

/* ---- openb ----------------------------------------------------------------------------------- */

/* Means and ranges of ten published runs, each with another order of the tasks. */
static pod_status add_packing(pod_validation *v)
{
    enum { SEEDS = 10, LOADS = 3 };
    static const double load[LOADS] = {0.95, 1.0, 1.3};
    static const struct {
        const char *what[LOADS];
        struct {
            double mean, low, high;
        } at[LOADS];
    } published[POD_N_PACKERS] = {
        [POD_PACKER_random] = {{"GPUs allocated, openb at random, 95 % asked for",
                                "  100 % asked for", "  130 % asked for"},
                               {{85.72, 85.29, 86.21},
                                {86.30, 85.87, 86.79},
                                {87.47, 87.07, 88.03}}},
        [POD_PACKER_bestfit] =
            {{"the same, best fit, 95 % asked for", "  100 % asked for", "  130 % asked for"},
             {{92.82, 92.62, 93.03}, {92.86, 92.64, 93.04}, {93.08, 92.87, 93.25}}},
        [POD_PACKER_fgd] = {{"the same, fragmentation gradient descent, 95 %", "  100 % asked for",
                             "  130 % asked for"},
                            {{94.91, 94.78, 94.98}, {95.23, 95.06, 95.38}, {95.39, 95.27, 95.49}}}};
    const bool has_trace = pod_validation_has(v, in_openb);
    char nodes[POD_PATH_BYTES], tasks[POD_PATH_BYTES];
    pod_packing_set set;
    if (has_trace) {
        POD_TRY(pod_path_join(v->traces, "trace-openb-2023/openb_node_list_all_node.csv", nodes));
        POD_TRY(pod_path_join(v->traces, "trace-openb-2023/openb_pod_list_default.csv", tasks));
        POD_TRY(pod_packing_read(v->arena, nodes, tasks, &set));
    }
    for (int how = 0; how < POD_N_PACKERS; how++) {
        double sum[LOADS] = {0};
        for (int seed = 1; seed <= SEEDS && has_trace; seed++) {
            double allocated[LOADS];
            POD_TRY(pod_packing_run(&set, (pod_packer)how, (uint64_t)seed, LOADS, load, allocated));
            for (int k = 0; k < LOADS; k++) sum[k] += allocated[k];
            pod_progress_at(v->log, how * SEEDS + seed, "openb");
        }
        for (int k = 0; k < LOADS; k++) {
            const double predicted = has_trace ? 100 * sum[k] / SEEDS : (double)NAN,
                         mean = published[how].at[k].mean;
            /* Up to the end of the range on its side. */
            const double tolerance = predicted > mean ? published[how].at[k].high - mean
                                                      : mean - published[how].at[k].low;
            pod_validation_add(v, published[how].what[k], "%", mean, tolerance, predicted,
                               "Weng et al., USENIX ATC 2023, ten runs; mean of ten seeds");
        }
    }
    return POD_OK;
}

/* ---- one job --------------------------------------------------------------------------------- */

/* A fleet of one job is the job that simulate --job walks through. */
static pod_status add_one_job(pod_validation *v)
{
    const pod_job_sim_plan plan = {.n_steps = 1000000,
                                   .every = 1500,
                                   .step = 400000007,
                                   .save = 1234567891,
                                   .write = 9876543211,
                                   .launch = INT64_C(30000000000),
                                   .init = INT64_C(75000000000),
                                   .build = INT64_C(60000000000),
                                   .limit = POD_NEVER / 4};
    const pod_fleet_request r = {.name = "one", .chips = 1024, .estimate = 1, .plan = plan};
    pod_topology t;
    pod_fleet_result x;
    pod_nodes *nodes;
    POD_TRY(pod_topology_parse("tpu-v4", &t));
    const pod_fleet_plan fleet = {.topology = &t,
                                  .n_pods = 1,
                                  .n_requests = 1,
                                  .request = &r,
                                  .policy = {.placement = pod_placement_find("best")},
                                  .horizon = plan.limit};
    POD_TRY(pod_fleet_simulate(v->arena, &fleet, &x));
    POD_TRY(pod_nodes_list(NULL, 0, 1, 1, &nodes));
    const pod_job_sim alone = pod_job_sim_run(&plan, nodes, 1, 0);
    pod_nodes_destroy(nodes);
    pod_validation_add(v, "a job of 1,000,000 steps alone", "s", (double)alone.allocated * 1e-9, 0,
                       (double)x.outcome[0].end * 1e-9,
                       "minipod simulate --job, to the nanosecond");
    return POD_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

enum { SOURCE = 6 }; /* only in files */
static const pod_column columns[] = {
    {"figure", "", true},     {"published", "", false}, {"predicted", "", false},
    {"tolerance", "", false}, {"unit", "", true},       {"holds", "", true},
    {"source", "", true},
};

static bool holds(const pod_validation_row *r)
{
    return fabs(r->predicted - r->published) <= r->tolerance;
}

static void add_row(pod_record *t, const pod_validation_row *r)
{
    const bool is_known = isfinite(r->predicted);
    pod_json_open_object(&t->json, NULL);
    pod_cell_text(t, "figure", r->what);
    pod_cell_real(t, "published", -7, r->published);
    pod_cell_real(t, "predicted", -7, r->predicted);
    pod_cell_real(t, "tolerance", -3, r->tolerance);
    pod_cell_text(t, "unit", *r->unit ? r->unit : NULL);
    pod_cell_text(t, "holds", !is_known ? "not at hand" : holds(r) ? "yes" : "NO");
    pod_cell_text(t, "source", r->source);
    pod_json_close(&t->json);
}

static pod_status tell(const pod_validation *v, const pod_call *call, bool *held)
{
    enum { N_COLUMNS = sizeof columns / sizeof columns[0] };
    const pod_config *c = call->config;
    int n_known = 0, n_held = 0;
    pod_record r;
    for (int i = 0; i < v->n; i++) {
        n_known += isfinite(v->row[i].predicted);
        n_held += isfinite(v->row[i].predicted) && holds(&v->row[i]);
    }
    POD_TRY(pod_record_open("minipod.fleet.validate", 2, columns, N_COLUMNS, &r));
    pod_table_note(r.table, "minipod %s fleet --validate, clock virtual; --csv has the sources",
                   POD_VERSION);
    pod_table_csv_only(r.table, SOURCE, 1);
    if (n_known < v->n)
        pod_table_note(r.table, "rows that replay a trace need --traces FOLDER with %s, %s, %s",
                       in_philly, pod_in_faults, in_openb);
    pod_json_text(&r.json, "clock", "virtual");
    pod_json_int(&r.json, "rows_known", n_known);
    pod_json_int(&r.json, "rows_held", n_held);
    pod_json_open_array(&r.json, "rows");
    for (int i = 0; i < v->n; i++) add_row(&r, &v->row[i]);
    pod_json_close(&r.json);
    pod_table_footer(r.table);
    pod_table_note(r.table, "%d of %d rows hold; %d are not at hand", n_held, n_known,
                   v->n - n_known);
    pod_status s = pod_table_print(r.table, call->log->out);
    if (s == POD_OK) s = pod_record_write_csv(&r, pod_config_text(c, POD_OPT_CSV));
    if (s == POD_OK) s = pod_record_write_json(&r, pod_config_text(c, POD_OPT_JSON));
    pod_record_close(&r);
    *held = n_held == n_known;
    return s;
}

/* The rows have settings of their own. */
static pod_status check_options(const pod_config *c)
{
    for (int i = 0; i < POD_N_OPTS; i++) {
        const bool is_ours = i == POD_OPT_VALIDATE || i == POD_OPT_TRACES || i == POD_OPT_CSV ||
                             i == POD_OPT_JSON || strcmp(pod_options[i].group, "general") == 0;
        if (is_ours || !(pod_options[i].commands & POD_CMD_FLEET) ||
            !pod_config_is_set(c, (pod_opt)i))
            continue;
        return pod_fail(POD_E_INVALID,
                        "%s: --validate takes --traces, --csv and --json alone: its rows have "
                        "settings of their own",
                        pod_options[i].name);
    }
    return POD_OK;
}

pod_status pod_fleet_validate(pod_call *call, bool *held)
{
    pod_validation v = {.traces = pod_config_text(call->config, POD_OPT_TRACES), .log = call->log};
    pod_status s;
    POD_TRY(check_options(call->config));
    if (*v.traces && !pod_validation_has(&v, in_philly) && !pod_validation_has(&v, pod_in_faults) &&
        !pod_validation_has(&v, in_openb))
        return pod_fail(POD_E_INVALID, "traces: %s has none of the folders %s, %s and %s", v.traces,
                        in_philly, pod_in_faults, in_openb);
    POD_TRY(pod_arena_create(NULL, &v.arena));
    pod_progress_begin(call->log, "validate", "runs", 0, 30);
    s = pod_validation_add_pods(&v);
    if (s == POD_OK) s = add_philly(&v);
    if (s == POD_OK) s = add_packing(&v);
    if (s == POD_OK) s = add_one_job(&v);
    pod_progress_end(call->log);
    if (s == POD_OK) s = tell(&v, call, held);
    pod_arena_destroy(v.arena);
    return s;
}
