/* The table of minipod coll: what was measured and how in lines with #, nccl-tests' columns, then
 * ours, and the verdicts at the end. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/coll/coll.h"
#include "bench/common/target.h"
#include "collectives/exec/mpi/peer_mpi.h"
#include "kernels/base/parse.h"

/* nccl-tests' first, where its programs have them. Those of iterations are for the CSV alone; the
 * last ones are a simulation's. */
static const pod_column columns[] = {{"size", "(B)", false},     {"count", "(elements)", false},
                                     {"type", "", true},         {"redop", "", true},
                                     {"root", "", false},        {"time", "(us)", false},
                                     {"algbw", "(GB/s)", false}, {"busbw", "(GB/s)", false},
                                     {"#wrong", "", false},      {"time", "(us)", false},
                                     {"algbw", "(GB/s)", false}, {"busbw", "(GB/s)", false},
                                     {"#wrong", "", false},      {"i_min", "(us)", false},
                                     {"i_max", "(us)", false},   {"i_p99", "(us)", false},
                                     {"i_cv%", "", false},       {"algo", "", true},
                                     {"mesh", "", true},         {"clock", "", true},
                                     {"ideal", "(us)", false},   {"frac", "", false},
                                     {"buffers", "", true},      {"spread%", "", false},
                                     {"busiest", "", true},      {"busy%", "", false},
                                     {"events", "", false},      {"events/s", "", false}};

enum {
    N_COLUMNS = sizeof columns / sizeof columns[0],
    N_OF_SIM = 4,
    FIRST_OF_FORMS = 5,
    N_OF_FORM = 4,
    FIRST_OF_ITERATIONS = FIRST_OF_FORMS + 2 * N_OF_FORM
};

static void add_iterations(pod_table *t, const pod_bench_row *r)
{
    const bool is_known = r->iter_s.n > 0;
    pod_table_number(t, pod_known(is_known, 1e6 * r->iter_s.min));
    pod_table_number(t, pod_known(is_known, 1e6 * r->iter_s.max));
    pod_table_number(t, pod_known(is_known, 1e6 * r->iter_s.p99));
    pod_table_row(t, "%.1f", pod_known(is_known, 100 * r->iter_cv));
}

static void add_form(pod_table *t, const pod_bench *b, const pod_bench_row *r, pod_bench_form f)
{
    pod_table_number(t, 1e6 * r->form_s[f].median);
    pod_table_number(t, pod_bench_algbw(b, r, f));
    pod_table_number(t, pod_bench_busbw(b, r, f));
    if (r->n_wrong[f] < 0)
        pod_table_add(t, "N/A"); /* as nccl-tests */
    else
        pod_table_add(t, "%" PRId64, r->n_wrong[f]);
}

static void add_row(pod_table *t, const pod_bench *b, const pod_bench_row *r)
{
    const pod_bench_plan *p = &b->plan;
    const pod_bench_size *size = &p->size[r->size];
    const pod_spread *in_place = &r->form_s[POD_IN_PLACE];
    const double time_s = in_place->median;
    pod_table_row(t, "%" PRId64 "\t%" PRId64 "\t%s\t%s\t%d", pod_bench_bytes(p, r->size),
                  pod_bench_count(p, r->size), size->type->name,
                  pod_coll_adds(p->coll) ? pod_redop_name(size->op) : "none",
                  pod_coll_has_root(p->coll) ? size->root : -1);
    add_form(t, b, r, POD_OUT_OF_PLACE);
    add_form(t, b, r, POD_IN_PLACE);
    add_iterations(t, r);
    pod_table_row(t, "%s\t%s\t%s", r->name, POD_MESH_TEXT(&p->mesh), pod_bench_clock(p));
    pod_table_number(t, pod_known(r->ideal_s > 0, 1e6 * r->ideal_s));
    pod_table_row(t, "%.3f\t%s\t%.1f", pod_known(r->ideal_s > 0 && time_s > 0, r->ideal_s / time_s),
                  p->on == POD_ON_SIM ? "-"
                  : r->n_buffers > 1  ? "cold"
                                      : "hot",
                  time_s > 0 ? 100 * (in_place->max - in_place->min) / time_s : 0);
    if (!r->busiest_link) return;
    pod_table_row(t, "%s\t%.1f\t%" PRId64, r->busiest_link, 100 * r->busiest_share, r->n_events);
    pod_table_number(t, r->events_per_s);
}

/* ---- before the rows ------------------------------------------------------------------------ */

static bool shares_cores(const pod_bench_plan *p)
{
    return pod_bench_runs_mpi(p) && p->n_node_ranks > p->n_cores;
}

/* The first line of nccl-tests, for what reads it. */
static void note_as_nccl_tests(pod_table *t, const pod_bench *b)
{
    const pod_config *c = b->call->config;
    const int64_t step = pod_config_size(c, POD_OPT_STEPBYTES);
    pod_table_note(t,
                   "nThread 1 nGpus 1 minBytes %" PRId64 " maxBytes %" PRId64 " step: %" PRId64
                   "(%s) warmup iters: %d iters: %d agg iters: 1 validate: %d graph: 0",
                   pod_config_size(c, POD_OPT_MINBYTES), pod_config_size(c, POD_OPT_MAXBYTES),
                   step > 0 ? step : pod_config_int(c, POD_OPT_STEPFACTOR),
                   step > 0 ? "bytes" : "factor", b->plan.n_warmup, b->plan.n_iters,
                   b->plan.n_checks);
}

static void note_where(pod_table *t, const pod_bench *b)
{
    const pod_bench_plan *p = &b->plan;
    const pod_machine *m = &b->host;
    const bool alone = p->on == POD_ON_LOCAL;
    char quota[128];
    const bool is_timed_here = alone || pod_bench_runs_mpi(p);
    pod_table_note(t, "minipod coll %s, git %s, clock %s, machine %s", POD_VERSION, POD_GIT_ID,
                   pod_bench_clock(p), p->machine.name);
    pod_table_note(t, "host %s, %s, %s, %" PRId64 " physical core%s, %s", m->hostname, m->cpu_model,
                   m->cpu_features[0] ? m->cpu_features : "no vector features", m->physical_cores,
                   m->physical_cores == 1 ? "" : "s", pod_comm_version(b->call->comm));
    pod_table_note(t, "%s of n = %d ranks, mesh %s, on %s", pod_coll_name(p->coll), p->n_ranks,
                   POD_MESH_TEXT(&p->mesh), pod_config_text(b->call->config, POD_OPT_ON));
    if (alone)
        pod_table_note(t, "all ranks are in one process: times are those of one core that does the"
                          " work of all, one after another");
    else if (shares_cores(p))
        pod_table_note(t, "%d ranks share %d core%s: times are the operating system's too",
                       p->n_node_ranks, p->n_cores, p->n_cores == 1 ? "" : "s");
    if (is_timed_here && pod_quota_note(alone ? 1 : p->n_cores, quota, sizeof quota))
        pod_table_note(t, "cores: %s", quota);
}

static void note_timing(pod_table *t, const pod_bench *b)
{
    const pod_bench_plan *p = &b->plan;
    char rounds[96] = "one round";
    if (p->n_rounds > 1)
        snprintf(rounds, sizeof rounds,
                 "median of %d rounds in which the algorithms take turns, spread%% over them",
                 p->n_rounds);
    static const char *const whose[] = {"rank 0's", "the mean over ranks", "the fastest rank's",
                                        "the slowest rank's"};
    pod_table_note(t, "time: %d iteration%s back to back after %d not timed, %s%s%s; %s",
                   p->n_iters, p->n_iters == 1 ? "" : "s", p->n_warmup, whose[p->average],
                   p->counts_cpu_time ? " and with a core" : "",
                   p->is_blocking ? ", all ranks meet after each" : "", rounds);
    if (p->on == POD_ON_LOCAL)
        pod_table_note(t, "i_*: of each iteration of the last round");
    else
        pod_table_note(t,
                       "i_* (in the CSV): each of %d more iterations in place by itself, likewise",
                       p->n_iters);
    pod_table_note(t,
                   "buffers of ours are registered before the clock runs, and worked on in place;"
                   " out of place they copy first what the rank gives");
    if (pod_bench_peer(p) >= 0)
        pod_table_note(t,
                       "mpi is %s of any memory; where it is compared the faster of its two forms"
                       " counts, and ours in place",
                       pod_peer_mpi_name(p->coll));
    pod_table_note(t, "timed on zeros, checked on numbers whose results are exact");
    pod_table_note(t,
                   "ideal: every rank's buffer, %s, through memory once in and once out, as fast"
                   " as %s in this run at this size%s; frac = ideal / time",
                   pod_bench_of_coll[p->coll].traffic.text,
                   p->on == POD_ON_LOCAL ? "one core rewrites it"
                                         : "all ranks at once rewrite theirs",
                   shares_cores(p) ? ", times ranks / cores" : "");
}

static void note_simulation(pod_table *t, const pod_bench_plan *p)
{
    pod_table_note(
        t, "time: from when all ranks start together until the last is done; no data moves");
    for (int d = 0; d < p->mesh.n_dims; d++)
        pod_table_note(t, "links along dimension %d: %.4g GB/s one way, %.4g us a hop%s", d,
                       1e-9 * p->net.link_bytes_per_s[d], 1e6 * p->net.link_latency_s[d],
                       p->net.is_chip_shared && d > 0 ? ", of a chip and so shared by its cores"
                                                      : "");
    if (p->node_size == 1)
        pod_table_note(t,
                       "ideal: the largest of what the farthest core, the links of a core, chip or"
                       " row, and all links together allow (%s); frac = ideal / time",
                       p->coll == POD_ALLREDUCE  ? "2(n-1) sizes over them"
                       : p->coll == POD_ALLTOALL ? "what halves of the mesh have for each other"
                                                 : "n-1 sizes over them");
    pod_table_note(t, "busiest, busy%%: the link that was held longest, and its share of the time;"
                      " events: simulated, of cores that do alike once; events/s: on this host");
}

static void note_how(pod_table *t, const pod_bench *b)
{
    const pod_bench_plan *p = &b->plan;
    const bool is_whole = p->coll == POD_ALLGATHER || p->coll == POD_REDUCE_SCATTER;
    pod_table_note(t,
                   "algbw = size / time, busbw = algbw x %s (nccl-tests); size is the %s; GB/s"
                   " are 1e9",
                   pod_bench_of_coll[p->coll].busbw.text, is_whole ? "whole array's" : "buffer's");
    if (p->on == POD_ON_SIM)
        note_simulation(t, p);
    else
        note_timing(t, b);
}

static void note_buffers(pod_table *t, const pod_bench *b)
{
    const pod_bench_plan *p = &b->plan;
    int n_hot_only = 0;
    for (int s = 0; s < p->n_sizes; s++) n_hot_only += pod_bench_n_cold(p, s) == 0;
    if (p->on == POD_ON_LOCAL || p->on == POD_ON_SIM) return;
    if (p->with_hot) pod_table_note(t, "hot: the same buffer each time");
    if (p->with_cold)
        pod_table_note(t,
                       "cold: another buffer each time, of so many that those of a node are"
                       " 1.5 times its last cache of %s; %d of %d sizes are too small for that",
                       POD_SIZE_TEXT(p->cache_bytes), n_hot_only, p->n_sizes);
}

static void note_all(pod_table *t, const pod_bench *b)
{
    note_as_nccl_tests(t, b);
    note_where(t, b);
    note_how(t, b);
    note_buffers(t, b);
    for (int i = 0; i < b->plan.n_refusals; i++) pod_table_note(t, "%s", b->plan.refusal[i]);
}

/* ---- behind the rows ------------------------------------------------------------------------ */

const char *pod_bench_buffers(const pod_bench_plan *p, bool is_cold)
{
    return p->on == POD_ON_SIM ? "simulated" : is_cold ? "cold" : "hot";
}

/* Of ours; of the peer where it was measured alone. A number stands last on its line, as what reads
 * nccl-tests' output wants it. */
static void note_average(pod_table *t, const pod_bench *b)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < b->n_rows; i++) {
        if (!b->row[i].algo && b->plan.n_entries > 1) continue;
        for (int f = 0; f < POD_N_FORMS; f++, n++)
            sum += pod_bench_busbw(b, &b->row[i], (pod_bench_form)f);
    }
    pod_table_note(t, "Avg bus bandwidth    : %.6g", n > 0 ? sum / n : 0);
}

static void note_summary(pod_table *t, const pod_bench *b, bool is_cold)
{
    for (int e = 0; e < b->plan.n_entries; e++) {
        const pod_bench_summary s = pod_bench_summarize(b, e, is_cold);
        const char *name = b->plan.entry[e].name, *buffers = pod_bench_buffers(&b->plan, is_cold);
        if (s.n_rows == 0) continue;
        pod_table_note(t, "%s, %s, %d size%s, mean busbw in GB/s: %.4g", name, buffers, s.n_rows,
                       s.n_rows == 1 ? "" : "s", s.busbw);
        if (s.against_mpi > 0 && !b->plan.entry[e].is_peer)
            pod_table_note(t, "%s, %s, times as fast as mpi (geometric mean): %.2f", name, buffers,
                           s.against_mpi);
    }
}

/* ---- a matrix of algorithms and sizes ---- */

enum { NAME_WIDTH = 20, CELL_WIDTH = 7, MATRIX_SIZES = (100 - 4 - NAME_WIDTH) / CELL_WIDTH };

static void add_cell(char line[], size_t room, const char *text)
{
    const size_t n = strlen(line);
    snprintf(line + n, room - n, "%*s", CELL_WIDTH, text);
}

static void matrix_line(pod_table *t, const pod_bench *b, int entry, int first, int end,
                        bool is_cold)
{
    char line[128], text[32];
    int n = 0;
    snprintf(line, sizeof line, "  %-*s", NAME_WIDTH, b->plan.entry[entry].name);
    for (int s = first; s < end; s++) {
        const pod_bench_row *row = pod_bench_find(b, s, entry, is_cold);
        const double x = row ? pod_bench_algbw(b, row, POD_IN_PLACE) : 0;
        snprintf(text, sizeof text, "%.3g", x);
        add_cell(line, sizeof line, row ? text : "-");
        n += row != NULL;
    }
    if (n > 0) pod_table_note(t, "%s", line);
}

static double against_mpi(const pod_bench *b, int size, bool is_cold)
{
    const pod_bench_row *best = pod_bench_best(b, size, is_cold);
    return best ? pod_bench_against_mpi(b, best) : 0;
}

static void matrix_block(pod_table *t, const pod_bench *b, int first, int end, bool is_cold)
{
    const pod_bench_plan *p = &b->plan;
    char line[128], text[32], ratios[128];
    bool has_ratio = false;
    snprintf(line, sizeof line, "  %-*s", NAME_WIDTH, "algbw in place, GB/s");
    snprintf(ratios, sizeof ratios, "  %-*s", NAME_WIDTH, "best of ours / mpi");
    for (int s = first; s < end; s++) {
        const double ratio = against_mpi(b, s, is_cold);
        has_ratio = has_ratio || ratio > 0;
        add_cell(line, sizeof line, POD_SIZE_TEXT(pod_bench_bytes(p, s)));
        snprintf(text, sizeof text, ratio > 0 ? "%.2f" : "-", ratio);
        add_cell(ratios, sizeof ratios, text);
    }
    pod_table_note(t, "%s", line);
    for (int e = 0; e < p->n_entries; e++) matrix_line(t, b, e, first, end, is_cold);
    if (has_ratio) pod_table_note(t, "%s", ratios);
}

/* One size of a kind alone says no more than its rows, where these are printed. */
static void note_matrix(pod_table *t, const pod_bench *b, bool is_cold)
{
    const pod_bench_plan *p = &b->plan;
    const bool is_alone = pod_config_bool(b->call->config, POD_OPT_MATRIX);
    for (int first = 0, end; first < p->n_sizes; first = end) {
        for (end = first + 1; end < p->n_sizes && end < first + MATRIX_SIZES &&
                              pod_bench_is_alike(&p->size[first], &p->size[end]);)
            end++;
        bool has_rows = false;
        for (int s = first; s < end; s++) has_rows = has_rows || pod_bench_best(b, s, is_cold);
        if (!has_rows || (end == first + 1 && !is_alone)) continue;
        char of[64] = "";
        if (pod_coll_adds(p->coll))
            snprintf(of, sizeof of, ", %s", pod_redop_name(p->size[first].op));
        if (pod_coll_has_root(p->coll))
            snprintf(of + strlen(of), sizeof of - strlen(of), ", root %d", p->size[first].root);
        pod_table_note(t, "%s, %s%s", pod_bench_buffers(p, is_cold), p->size[first].type->name, of);
        matrix_block(t, b, first, end, is_cold);
    }
}

/* The best own algorithm of each size, against the peer where that was measured. Of nothing to be
 * moved calls that return at once are compared: that is no size. */
static void note_best(pod_table *t, const pod_bench *b, bool is_cold)
{
    const pod_bench_plan *p = &b->plan;
    double log_ratios = 0, worst = 0;
    int n_ratios = 0;
    for (int s = 0; s < p->n_sizes; s++) {
        const double ratio = against_mpi(b, s, is_cold);
        if (ratio <= 0) continue;
        log_ratios += log(ratio);
        if (n_ratios++ == 0 || ratio < worst) worst = ratio;
    }
    if (n_ratios == 0) return;
    pod_table_note(t, "Best against mpi, %s, %d ranks, least of %d size%s: %.2f",
                   pod_bench_buffers(p, is_cold), p->n_ranks, n_ratios, n_ratios == 1 ? "" : "s",
                   worst);
    pod_table_note(t, "Best against mpi, %s, %d ranks, geometric mean of %d size%s: %.2f",
                   pod_bench_buffers(p, is_cold), p->n_ranks, n_ratios, n_ratios == 1 ? "" : "s",
                   exp(log_ratios / n_ratios));
}

static void note_verdicts(pod_table *t, const pod_bench *b)
{
    const int64_t n_wrong = pod_bench_n_wrong(b);
    if (b->plan.n_entries > 1)
        for (int is_cold = 0; is_cold < 2; is_cold++) note_matrix(t, b, is_cold);
    for (int is_cold = 0; is_cold < 2; is_cold++) note_summary(t, b, is_cold);
    if (b->plan.n_entries > 1)
        for (int is_cold = 0; is_cold < 2; is_cold++) note_best(t, b, is_cold);
    if (b->plan.n_checks > 0)
        pod_table_note(t, "Out of bounds values : %" PRId64 " %s", n_wrong,
                       n_wrong ? "FAILED" : "OK");
    else
        pod_table_note(t, "Out of bounds values : not checked");
    note_average(t, b);
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* -I: where in a measurement the slow ones stand. */
static pod_status print_iterations(const pod_bench *b)
{
    static const pod_column names[] = {{"size", "(B)", false},
                                       {"algo", "", true},
                                       {"buffers", "", true},
                                       {"iteration", "", false},
                                       {"time", "(us)", false}};
    pod_table *t;
    POD_TRY(pod_table_create(POD_COLUMNS(names), &t));
    for (int i = 0; i < b->n_rows; i++)
        for (int64_t k = 0; k < b->row[i].iter_s.n; k++) {
            pod_table_row(t, "%" PRId64 "\t%s\t%s\t%" PRId64,
                          pod_bench_bytes(&b->plan, b->row[i].size), b->row[i].name,
                          b->row[i].n_buffers > 1 ? "cold" : "hot", k);
            pod_table_number(t, 1e6 * b->row[i].iters[k]);
        }
    return pod_table_finish(t, b->call->log->out, "");
}

/* Of cells that are not known yet when the first row is printed. */
static const int widths[N_COLUMNS] = {10, 10, 8, 5,  4, 7, 6, 6, 6, 7, 6,  6, 6, 0,
                                      0,  0,  0, 18, 5, 7, 7, 5, 7, 7, 26, 5, 9, 9};

pod_status pod_bench_table_begin(pod_bench *b)
{
    const int n = b->plan.on == POD_ON_SIM ? N_COLUMNS : N_COLUMNS - N_OF_SIM;
    const bool rows = !pod_config_bool(b->call->config, POD_OPT_MATRIX);
    POD_TRY(pod_table_create(columns, n, &b->table));
    pod_table_group(b->table, FIRST_OF_FORMS, N_OF_FORM, "out-of-place", "");
    pod_table_group(b->table, FIRST_OF_FORMS + N_OF_FORM, N_OF_FORM, "in-place", "in_place_");
    pod_table_csv_only(b->table, rows ? FIRST_OF_ITERATIONS : 0, rows ? N_OF_FORM : n);
    pod_table_stream(b->table, b->call->log, widths);
    note_all(b->table, b);
    return POD_OK;
}

void pod_bench_table_row(pod_bench *b, const pod_bench_row *r) { add_row(b->table, b, r); }

pod_status pod_bench_table_end(pod_bench *b)
{
    const char *csv = pod_config_text(b->call->config, POD_OPT_CSV);
    pod_table_footer(b->table);
    note_verdicts(b->table, b);
    pod_status s = pod_table_print(b->table, b->call->log->out);
    if (s == POD_OK && csv[0] != '\0') s = pod_table_write_csv(b->table, csv);
    if (s == POD_OK && b->plan.on != POD_ON_SIM &&
        pod_config_bool(b->call->config, POD_OPT_PER_ITER_TIMING))
        s = print_iterations(b);
    return s;
}
