/* The table of minipod kernels: what was measured and how in lines with #, a row a contender,
 * verdicts and ratios at the end. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/json_option.h"
#include "bench/kernels/kernels.h"
#include "bench/peers/peer.h"
#include "kernels/base/cpu.h"
#include "kernels/base/parse.h"
#include "kernels/gemm/blas.h"

static const pod_column columns[] = {{"impl", "", true},           {"op", "", true},
                                     {"shape", "", true},          {"type", "", true},
                                     {"packed", "", true},         {"pick", "", true},
                                     {"buffers", "", true},        {"med", "(us)", false},
                                     {"min", "(us)", false},       {"p99", "(us)", false},
                                     {"gflops", "(1e9/s)", false}, {"peak%", "", false},
                                     {"gbs", "(1e9/s)", false},    {"copy%", "", false},
                                     {"err/bound", "", false},     {"ok", "", true}};

enum { IMPL, OP, SHAPE, TYPE, N_COLUMNS = sizeof columns / sizeof columns[0] };

static const int least_widths[N_COLUMNS] = {12, 20, 28, 12, 6, 4, 7, 9, 9, 9, 8, 6, 8, 6, 9, 3};

/* ---- peaks ----------------------------------------------------------------------------------- */

/* The best of many repetitions, shorter than a turn of the operating system: other work on this
 * host can only hide a peak. */
static double peak_of(const pod_peak_kernel *k)
{
    const double long_enough_s = 0.0003;
    double best = 0;
    int64_t rounds = 1;
    for (int i = 0; i < 80;) {
        const pod_clock clock = pod_clock_start();
        const double flops = k->run(rounds);
        const double s = pod_time_seconds(pod_clock_now(&clock));
        if (s < long_enough_s) {
            rounds *= 2;
            continue;
        }
        best = fmax(best, 1e-9 * flops / s);
        i++;
    }
    return best;
}

static void keep_best(double rate, const char *kernel, double *best, pod_machine_text best_kernel)
{
    if (rate <= *best) return;
    *best = rate;
    snprintf(best_kernel, POD_MACHINE_TEXT_BYTES, "%s", kernel);
}

/* Float32 units serve bfloat16 too, once it is widened. */
void pod_kernels_keep_peak(pod_machine *m, const pod_peak_kernel *k, double rate)
{
    keep_best(rate, k->name, &m->peak_bf16_gflop_per_s, m->peak_bf16_kernel);
    if (k->dtype == POD_F32) keep_best(rate, k->name, &m->peak_f32_gflop_per_s, m->peak_f32_kernel);
}

void pod_kernels_measure_peaks(pod_kernels_bench *b)
{
    int n;
    const pod_peak_kernel *k = pod_peak_kernels(&n);
    for (int i = 0; i < n; i++)
        if ((k[i].needs & ~pod_cpu_features()) == 0)
            pod_kernels_keep_peak(&b->peak, &k[i], peak_of(&k[i]));
}

static double peak_gflops(const pod_kernels_bench *b, pod_dtype t)
{
    return t == POD_BF16 ? b->peak.peak_bf16_gflop_per_s : b->peak.peak_f32_gflop_per_s;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static double gflops_of(const pod_kernels_row *r)
{
    return r->time_s.median > 0 ? 1e-9 * r->flops / r->time_s.median : 0;
}

static double gbs_of(const pod_kernels_row *r)
{
    return r->time_s.median > 0 ? 1e-9 * r->bytes / r->time_s.median : 0;
}

bool pod_kernels_is_right(const pod_kernels_row *r) { return r->err <= 1; }

static void add_cells(pod_kernels_bench *b, const pod_kernels_row *r)
{
    pod_table *t = b->record.table;
    const double peak = peak_gflops(b, r->peak);
    pod_table_row(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s", r->impl, r->op, r->shape, r->type,
                  r->is_packed ? "yes" : "no", r->is_picked ? "*" : "-",
                  r->is_cold ? "cold" : "hot");
    pod_table_number(t, 1e6 * r->time_s.median);
    pod_table_number(t, 1e6 * r->time_s.min);
    pod_table_number(t, 1e6 * r->time_s.p99);
    pod_table_number(t, pod_known(r->flops > 0, gflops_of(r)));
    pod_table_row(t, "%.1f", pod_known(r->flops > 0 && peak > 0, 100 * gflops_of(r) / peak));
    pod_table_number(t, gbs_of(r));
    pod_table_row(t, "%.1f", pod_known(r->copy_s > 0, 100 * r->copy_s / r->time_s.median));
    if (r->err < 0) {
        pod_table_row(t, "-\t-");
    } else {
        pod_table_add(t, "%.3f", r->err); /* "inf" for what is not there */
        pod_table_add(t, "%s", pod_kernels_is_right(r) ? "yes" : "NO");
    }
}

static bool is_same_group(const pod_kernels_row *a, const pod_kernels_row *b)
{
    return strcmp(a->op, b->op) == 0 && a->is_cold == b->is_cold;
}

static bool is_same_kind(const pod_kernels_row *a, const pod_kernels_row *b)
{
    return is_same_group(a, b) && strcmp(a->impl, b->impl) == 0 && a->is_packed == b->is_packed;
}

pod_status pod_kernels_add(pod_kernels_bench *b, const pod_kernels_row *row)
{
    pod_kernels_row *rows = POD_ARENA_GROW(b->arena, b->row, b->n_rows), *added;
    if (!rows) return POD_E_NOMEM;
    b->row = rows;
    added = &rows[b->n_rows++];
    *added = *row;
    while (!is_same_group(&rows[added->group], added)) added->group++;
    while (!is_same_kind(&rows[added->kind], added)) added->kind++;
    add_cells(b, added);
    return POD_OK;
}

int pod_kernels_n_wrong(const pod_kernels_bench *b)
{
    int n = 0;
    for (int i = 0; i < b->n_rows; i++)
        n += b->row[i].err >= 0 && !pod_kernels_is_right(&b->row[i]);
    return n;
}

/* ---- before the rows ------------------------------------------------------------------------- */

/* The CPUs that this process may run on, as Linux prints them: "0-1". */
static void print_cpus(char *text, size_t text_bytes)
{
    static const char key[] = "Cpus_allowed_list:";
    char line[256];
    snprintf(text, text_bytes, "?");
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, key, sizeof key - 1) != 0) continue;
        const char *list = line + sizeof key - 1 + strspn(line + sizeof key - 1, " \t");
        snprintf(text, text_bytes, "%.*s", (int)strcspn(list, "\n"), list);
    }
    if (f) fclose(f);
}

static void note_peaks(pod_table *t, const pod_kernels_bench *b)
{
    const pod_machine *m = &b->machine;
    pod_table_note(t,
                   "register peak in this run: bf16 %.4g GFLOP/s (%s), f32 %.4g (%s); peak%% is of"
                   " the type that is read",
                   b->peak.peak_bf16_gflop_per_s, b->peak.peak_bf16_kernel,
                   b->peak.peak_f32_gflop_per_s, b->peak.peak_f32_kernel);
    if (m->why_unknown[0] != '\0')
        pod_table_note(t, "machine file: %s", m->why_unknown);
    else
        pod_table_note(t, "machine file %s: bf16 %.4g GFLOP/s, f32 %.4g", m->name,
                       m->peak_bf16_gflop_per_s, m->peak_f32_gflop_per_s);
}

static bool has_products(const pod_kernels_plan *p)
{
    for (int i = 0; i < p->n_problems; i++)
        if (p->problem[i].family == POD_FAMILY_gemm) return true;
    return false;
}

static void note_how(pod_table *t, const pod_kernels_plan *p)
{
    pod_table_note(t,
                   "each call timed by itself: %d rounds in which the contenders take turns, a turn"
                   " is %d calls or 50 ms after %d not timed",
                   p->n_rounds, p->n_iters, p->n_warmup);
    pod_table_note(t, "packed: weights (B, w) were laid out for the kernel beforehand; no: as they"
                      " come, what packing there is, is in the time");
    pod_table_note(t, "pick *: what a training step here takes for this call, by the machine file's"
                      " rates");
    if (p->with_hot) pod_table_note(t, "hot: the same operands each time");
    if (p->with_cold)
        pod_table_note(t,
                       "cold: other operands each time, of so many that they are 1.5 times the"
                       " last cache of %s",
                       POD_SIZE_TEXT(p->cache_bytes));
    if (has_products(p))
        pod_table_note(t,
                       "sgemm: OpenBLAS on the same numbers as float32; its gbs and peak%% are of"
                       " float32");
    pod_table_note(t,
                   "gbs: each operand read or written once; copy%%: of the faster copy of as many"
                   " bytes in the same rounds (memcpy, and memcpy in pieces of 64 KiB)");
    if (!p->with_check) return;
    pod_table_note(t,
                   "err/bound: products and convolutions: the worst of the corners and 64 places of"
                   " the output against its definition in double, as a share of what the"
                   " arithmetic allows; all of the output is written and finite");
    pod_table_note(t,
                   "err/bound: others: all of the output against the reference's: 0 the same bits,"
                   " else sums as a share of what roundings allow");
}

static void note_all(pod_table *t, const pod_kernels_bench *b)
{
    const pod_machine *m = &b->host;
    const char *coretype = getenv("OPENBLAS_CORETYPE");
    char cpus[128], version[64];
    print_cpus(cpus, sizeof cpus);
    pod_table_note(t, "minipod kernels %s, git %s, clock wall, compiler %s", POD_VERSION,
                   POD_GIT_ID, __VERSION__);
    pod_table_note(t, "host %s, %s, %s, one thread on CPUs %s", m->hostname, m->cpu_model,
                   m->cpu_features[0] ? m->cpu_features : "no vector features", cpus);
    pod_table_note(t, "%s%s%s", pod_blas_config(),
                   coretype ? ", held back by OPENBLAS_CORETYPE=" : "", coretype ? coretype : "");
    int n;
    const pod_peer *peer = pod_peers(&n);
    for (int i = 0; i < n; i++)
        pod_table_note(t, "%s: %s", peer[i].name, peer[i].version(version, sizeof version));
    note_peaks(t, b);
    note_how(t, &b->plan);
}

/* ---- behind the rows: each kind of contender against all others ------------------------------ */

static const char *packed_text(const pod_kernels_row *r) { return r->is_packed ? " packed" : ""; }

/* Over the problems that rows like `mine` and rows like `other` have both. */
static double mean_ratio(const pod_kernels_bench *b, const pod_kernels_row *mine,
                         const pod_kernels_row *other, int *n)
{
    double log_ratios = 0;
    *n = 0;
    for (int i = 0; i < b->n_rows; i++) {
        if (b->row[i].kind != mine->kind) continue;
        for (int k = 0; k < b->n_rows; k++) {
            if (b->row[k].problem != b->row[i].problem || b->row[k].kind != other->kind) continue;
            log_ratios += log(b->row[k].time_s.median / b->row[i].time_s.median);
            (*n)++;
        }
    }
    return *n > 0 ? exp(log_ratios / *n) : 0;
}

static void note_ratios(const pod_kernels_bench *b, const pod_kernels_row *mine, char *text,
                        size_t text_bytes)
{
    text[0] = '\0';
    for (int i = 0; i < b->n_rows; i++) {
        const pod_kernels_row *other = &b->row[i];
        const size_t used = strlen(text);
        int n;
        if (other->kind != i || other->group != mine->group || i == mine->kind) continue;
        const double ratio = mean_ratio(b, mine, other, &n);
        if (n > 0)
            snprintf(text + used, text_bytes - used, "%s %.2f x %s%s (%d)", used ? "," : ";", ratio,
                     other->impl, packed_text(other), n);
    }
}

static void note_kind(pod_table *t, const pod_kernels_bench *b, const pod_kernels_row *kind)
{
    const bool is_matrix = kind->flops > 0;
    const double peak = is_matrix ? peak_gflops(b, kind->peak) : 0;
    char ratios[1024], share[32] = "";
    double log_rates = 0;
    int n = 0;
    for (int i = 0; i < b->n_rows; i++)
        if (b->row[i].kind == kind->kind) {
            log_rates += log(is_matrix ? gflops_of(&b->row[i]) : gbs_of(&b->row[i]));
            n++;
        }
    const double mean = exp(log_rates / n);
    note_ratios(b, kind, ratios, sizeof ratios);
    if (peak > 0) snprintf(share, sizeof share, ", %.1f %% of the peak", 100 * mean / peak);
    pod_table_note(t, "%s %s, %s%s: %.4g %s%s, %d problem%s%s", kind->op,
                   kind->is_cold ? "cold" : "hot", kind->impl, packed_text(kind), mean,
                   is_matrix ? "GFLOP/s" : "GB/s", share, n, n == 1 ? "" : "s", ratios);
}

/* The fastest row of our tables for the same problem, packed and cold alike. */
static double fastest_of_ours(const pod_kernels_bench *b, const pod_kernels_row *like)
{
    double best = 0;
    for (int i = 0; i < b->n_rows; i++) {
        const pod_kernels_row *r = &b->row[i];
        if (r->problem != like->problem || r->is_packed != like->is_packed) continue;
        if (r->is_cold != like->is_cold || r->is_peer || r->is_copy) continue;
        if (best <= 0 || r->time_s.median < best) best = r->time_s.median;
    }
    return best;
}

/* What the picks of one function lose, where there was a choice. */
static void note_picks(pod_table *t, const pod_kernels_bench *b, const pod_kernels_row *first)
{
    const pod_kernels_row *worst_row = NULL;
    double log_shares = 0, worst = 2;
    int n = 0;
    for (int i = 0; i < b->n_rows; i++) {
        const pod_kernels_row *r = &b->row[i];
        if (!r->is_picked || r->group != first->group) continue;
        const double share = fastest_of_ours(b, r) / r->time_s.median;
        log_shares += log(share);
        n++;
        if (share >= worst) continue;
        worst = share;
        worst_row = r;
    }
    if (n > 0)
        pod_table_note(t, "%s %s, picks: %.2f of the fastest of ours, at least %.2f (%s %s%s)",
                       first->op, first->is_cold ? "cold" : "hot", exp(log_shares / n), worst,
                       worst_row->shape, worst_row->impl, packed_text(worst_row));
}

/* Those without a kernel of a name that was asked for are counted: whoever asks for one means the
 * problems that have it. */
static void note_none(pod_table *t, const pod_kernels_bench *b)
{
    int n_by_name = 0;
    for (int i = 0; i < b->n_none; i++) {
        const pod_kernels_none *none = &b->none[i];
        n_by_name += none->is_by_name;
        if (!none->is_by_name) pod_table_note(t, "no kernel takes %s: %s", none->text, none->why);
    }
    if (n_by_name > 0)
        pod_table_note(t, "left out: %d problem%s, of whose kernels none is called %s", n_by_name,
                       n_by_name == 1 ? "" : "s", b->plan.impl);
}

static void note_verdicts(pod_table *t, const pod_kernels_bench *b)
{
    const int n_wrong = pod_kernels_n_wrong(b);
    pod_table_note(t, "geometric means; how many times as fast as others on the problems (so many)"
                      " that both took");
    for (int i = 0; i < b->n_rows; i++)
        if (b->row[i].kind == i) note_kind(t, b, &b->row[i]);
    for (int i = 0; i < b->n_rows; i++)
        if (b->row[i].group == i) note_picks(t, b, &b->row[i]);
    note_none(t, b);
    if (b->plan.with_check)
        pod_table_note(t, "Wrong: %d of %d rows %s", n_wrong, b->n_rows, n_wrong ? "FAILED" : "OK");
    else
        pod_table_note(t, "Wrong: not checked");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void widen(int *width, int needed)
{
    if (needed > *width) *width = needed;
}

/* Rows are printed as they come: all that can stand in them is looked at before. */
static pod_status find_widths(const pod_kernels_bench *b, const int **out)
{
    int *width = POD_ARENA_NEW(b->arena, int, N_COLUMNS);
    if (!width) return POD_E_NOMEM;
    memcpy(width, least_widths, sizeof least_widths);
    widen(&width[IMPL], pod_kernels_longest_impl());
    for (int i = 0; i < b->plan.n_problems; i++) {
        char text[POD_PROBLEM_TEXT_BYTES];
        const pod_problem *p = &b->plan.problem[i];
        widen(&width[OP], (int)strlen(pod_problem_print_op(p, text, sizeof text)));
        widen(&width[SHAPE], (int)strlen(pod_problem_print_shape(p, text, sizeof text)));
        widen(&width[TYPE], (int)strlen(pod_problem_print_words(p, text, sizeof text)));
    }
    *out = width;
    return POD_OK;
}

pod_status pod_kernels_table_begin(pod_kernels_bench *b)
{
    const int *widths;
    POD_TRY(find_widths(b, &widths));
    POD_TRY(pod_record_open("minipod.kernels", 2, columns, N_COLUMNS, &b->record));
    pod_table_stream(b->record.table, b->call->log, widths);
    note_all(b->record.table, b);
    return POD_OK;
}

pod_status pod_kernels_table_end(pod_kernels_bench *b)
{
    pod_table_footer(b->record.table);
    note_verdicts(b->record.table, b);
    POD_TRY(pod_table_print(b->record.table, b->call->log->out));
    return pod_record_write_csv(&b->record, pod_config_text(b->call->config, POD_OPT_CSV));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_host(pod_json *j, const pod_kernels_bench *b)
{
    const pod_machine *m = &b->host;
    pod_json_open_object(j, "host");
    pod_json_text(j, "hostname", m->hostname);
    pod_json_text(j, "cpu_model", m->cpu_model);
    pod_json_text(j, "cpu_features", m->cpu_features);
    pod_json_int(j, "physical_cores", m->physical_cores);
    pod_json_int(j, "last_cache_bytes", b->plan.cache_bytes);
    pod_json_text(j, "blas", pod_blas_config());
    pod_json_text(j, "compiler", __VERSION__);
    pod_json_double(j, "peak_bf16_gflop_per_s", b->peak.peak_bf16_gflop_per_s);
    pod_json_double(j, "peak_f32_gflop_per_s", b->peak.peak_f32_gflop_per_s);
    pod_json_close(j);
}

pod_status pod_kernels_write_json(pod_kernels_bench *b, const char *path)
{
    pod_json *j = &b->record.json;
    pod_json_text(j, "clock", "wall");
    pod_json_text(j, "machine", b->machine.name);
    pod_json_arguments(j, b->call->config, POD_CMD_KERNELS);
    put_host(j, b);
    if (b->plan.with_check)
        pod_json_int(j, "wrong", pod_kernels_n_wrong(b));
    else
        pod_json_null(j, "wrong");
    pod_table_json(b->record.table, j, "rows");
    return pod_record_write_json(&b->record, path);
}
