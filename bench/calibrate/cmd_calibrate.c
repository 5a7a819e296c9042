/* minipod calibrate: measures this host, one core at a time, and writes its machine file.
 *
 * Under mpirun rank 0 measures its host and the others sleep meanwhile.
 *
 * Register peaks, float32 matmuls of three sizes, copies within each level of memory, and every
 * kernel for matmuls and convolutions on each kind of call, by which runs choose; several
 * repetitions each, told with their spread and whether the result was right. The file takes the
 * medians, but of the peaks the best repetition: other work on this host can only hide a peak, and
 * one that is too low would flatter every goodput. Runs read the file and never measure.
 *
 * --only peak measures the register peaks alone. The file keeps all else that it has of this CPU,
 * and higher peaks; what it does not have stays unknown, so that runs use built-in rates, and
 * simulations ask for a full calibration.
 *
 * And what simulations of this host go by: how long ops take in programs (ops.c), how
 * much longer when all cores work (crowd.c), what ranks and their batches cost each
 * other (host.c). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/calibrate/calibrate.h"
#include "bench/common/target.h"
#include "bench/kernels/kernels.h"
#include "kernels/base/cpu.h"
#include "kernels/gemm/blas.h"
#include "runtime/core/file.h"

enum { N_REPETITIONS = 9, ALIGN = 64, BUSY_PERCENT = 50, BUSY_ONE_IN = 20 };

/* The rates as they are told, and how many of them differed by more than BUSY_PERCENT between
 * repetitions. A quiet host's do by 20 at most, but for a hiccup in one or the other. */
typedef struct rates {
    pod_table *table;
    int n, n_spread;
} rates;

/* Work that can be repeated `rounds` times; answers how many FLOPs or bytes that was. */
typedef double work_fn(void *ctx, int64_t rounds);

static double seconds_of(work_fn *work, void *ctx, int64_t rounds, double *amount)
{
    const pod_clock clock = pod_clock_start();
    *amount = work(ctx, rounds);
    return pod_time_seconds(pod_clock_now(&clock));
}

/* In 1e9 a second. Rounds are doubled until one repetition is long enough for the clock; the trials
 * warm up. */
static pod_spread measure(work_fn *work, void *ctx)
{
    const double long_enough_s = 0.01;
    double amount, rate[N_REPETITIONS];
    int64_t rounds = 1;
    while (seconds_of(work, ctx, rounds, &amount) < long_enough_s) rounds *= 2;
    for (int i = 0; i < N_REPETITIONS; i++) {
        const double s = seconds_of(work, ctx, rounds, &amount);
        rate[i] = 1e-9 * amount / s;
    }
    return pod_spread_of(rate, N_REPETITIONS);
}

double pod_four_digits(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.4g", value);
    return strtod(text, NULL);
}

static const pod_column columns[] = {
    {"what", "", true},    {"impl", "", true}, {"size", "", true}, {"unit", "", true},
    {"median", "", false}, {"min", "", false}, {"max", "", false}, {"spread", "%", false},
    {"reps", "", false},   {"ok", "", true}};

static void add_row(rates *r, const char *what, const char *impl, const char *size,
                    const char *unit, const pod_spread *s, const char *ok)
{
    const double spread_percent = 100 * (s->max - s->min) / s->median;
    r->n++;
    r->n_spread += spread_percent > BUSY_PERCENT;
    pod_table_row(r->table, "%s\t%s\t%s\t%s\t%.4g\t%.4g\t%.4g\t%.1f\t%" PRId64 "\t%s", what, impl,
                  size, unit, s->median, s->min, s->max, spread_percent, s->n, ok);
}

/* ---- register peaks -------------------------------------------------------------------------- */

static double run_peak(void *ctx, int64_t rounds)
{
    const pod_peak_kernel *k = ctx;
    return k->run(rounds);
}

static void measure_peaks(rates *r, pod_machine *m)
{
    int n;
    const pod_peak_kernel *kernels = pod_peak_kernels(&n);
    for (int i = 0; i < n; i++) {
        if ((kernels[i].needs & pod_cpu_features()) != kernels[i].needs) continue;
        pod_peak_kernel kernel = kernels[i];
        const pod_spread s = measure(run_peak, &kernel);
        add_row(r, "peak", kernel.name, pod_dtype_name(kernel.dtype), "GFLOP/s", &s, "-");
        pod_kernels_keep_peak(m, &kernel, pod_four_digits(s.max));
    }
}

/* ---- matmuls and convolutions ---------------------------------------------------------------- */

typedef struct kernel_work {
    const pod_contender *contender;
    double flops; /* of one call */
} kernel_work;

static double run_kernel(void *ctx, int64_t rounds)
{
    const kernel_work *w = ctx;
    for (int64_t i = 0; i < rounds; i++) w->contender->run(w->contender, 0);
    return (double)rounds * w->flops;
}

static pod_spread measure_contender(const pod_race *race, const pod_contender *c)
{
    kernel_work w = {c, race->flops};
    return measure(run_kernel, &w);
}

/* The kernels that take the problem, all but the reference, on weights as they come. To be ended in any
 * case. */
static pod_status open_race(const pod_problem *p, pod_race *out)
{
    static const pod_kernels_plan plan = {.impl = "", .with_unpacked = true};
    *out = (pod_race){.problem = *p, .flops = pod_problem_flops(p), .n_sets = 1};
    POD_TRY(pod_arena_create(NULL, &out->arena));
    return p->family == POD_FAMILY_gemm ? pod_race_gemm(&plan, out) : pod_race_conv(&plan, out);
}

static void end_race(pod_race *race)
{
    pod_race_end_peers(race);
    pod_arena_destroy(race->arena);
}

/* By the kernel that built-in rates pick. */
static pod_status measure_picked(const pod_race *race, rates *r, pod_machine_text kernel,
                                 double *rate)
{
    char size[64];
    const pod_contender *c = race->contender;
    while (!c->is_picked) c++;
    pod_problem_print_shape(&race->problem, size, sizeof size);
    snprintf(kernel, POD_MACHINE_TEXT_BYTES, "%s", c->impl);
    const pod_spread spread = measure_contender(race, c);
    const bool right = pod_race_err_of(race, c) <= 1;
    add_row(r, "sgemm", kernel, size, "GFLOP/s", &spread, right ? "yes" : "NO");
    *rate = pod_four_digits(spread.median);
    if (right) return POD_OK;
    return pod_fail(POD_E_NUMERIC, "sgemm %s: kernel %s gives a wrong product", size, kernel);
}

static pod_status measure_product(rates *r, int64_t n, pod_machine_text kernel, double *rate)
{
    const pod_problem p = {.family = POD_FAMILY_gemm,
                           .dtype = POD_F32,
                           .c_dtype = POD_F32,
                           .n_batch = 1,
                           .product = {n, n, n}};
    pod_race race;
    pod_status s = open_race(&p, &race);
    if (s == POD_OK) s = measure_picked(&race, r, kernel, rate);
    end_race(&race);
    return s;
}

static const char *rated_as(const pod_candidate *c, const char *name)
{
    while (strcmp(c->name, name) != 0) c++;
    return c->rated_as ? c->rated_as : name;
}

/* All that could be chosen for calls of this kind. */
static pod_status measure_kind(rates *r, pod_machine *m, const char *kind, const pod_problem *p,
                               const pod_candidate candidates[])
{
    pod_race race;
    pod_status s = open_race(p, &race);
    for (const pod_contender *c = race.contender;
         s == POD_OK && c < race.contender + race.n_contenders; c++) {
        if (c->is_peer) continue;
        const char *name = rated_as(candidates, c->impl);
        const pod_spread spread = measure_contender(&race, c);
        add_row(r, kind, name, "", "GFLOP/s", &spread, "-");
        s = pod_rates_set(&m->kernel_rate, kind, name, pod_four_digits(spread.median));
    }
    end_race(&race);
    return s;
}

static pod_status measure_kernels(rates *r, pod_machine *m)
{
    pod_candidate c[POD_MAX_CANDIDATES];
    pod_gemm_call gemm;
    pod_conv_call conv;
    const char *kind;
    for (int i = 0; (kind = pod_gemm_kind_at(i, &gemm)); i++) {
        const pod_problem p = {.family = POD_FAMILY_gemm,
                               .dtype = gemm.ab_dtype,
                               .c_dtype = gemm.c_dtype,
                               .n_batch = 1,
                               .product = gemm.shape};
        (void)pod_gemm_candidates(&gemm, c);
        POD_TRY(measure_kind(r, m, kind, &p, c));
    }
    for (int i = 0; (kind = pod_conv_kind_at(i, &conv)); i++) {
        const pod_problem p = {.family = POD_FAMILY_conv,
                               .function = (int)conv.pass,
                               .dtype = conv.dtype,
                               .conv = conv.shape};
        (void)pod_conv_candidates(&conv, c);
        POD_TRY(measure_kind(r, m, kind, &p, c));
    }
    return POD_OK;
}

/* ---- copies ---------------------------------------------------------------------------------- */

typedef struct copying {
    char *from, *to;
    size_t bytes;
} copying;

static double run_copy(void *ctx, int64_t rounds)
{
    copying *c = ctx;
    for (int64_t i = 0; i < rounds; i++) {
        memcpy(c->to, c->from, c->bytes);
        c->from[(size_t)i % c->bytes]++; /* or all rounds but one might be left out */
    }
    return 2.0 * (double)rounds * (double)c->bytes; /* read plus written */
}

static pod_status measure_copy(rates *r, const char *level, size_t bytes, double *rate)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    copying c = {.from = pod_arena_get(arena, ALIGN, bytes),
                 .to = pod_arena_get(arena, ALIGN, bytes),
                 .bytes = bytes};
    pod_status s = c.from && c.to ? POD_OK : POD_E_NOMEM;
    if (s == POD_OK) {
        char size[32], what[32];
        memset(c.from, 1, bytes);
        const pod_spread spread = measure(run_copy, &c);
        memcpy(c.to, c.from, bytes);
        const bool right = memcmp(c.to, c.from, bytes) == 0;
        snprintf(what, sizeof what, "copy %s", level);
        snprintf(size, sizeof size, "2 x %zu KiB", bytes >> 10);
        add_row(r, what, "memcpy", size, "GB/s", &spread, right ? "yes" : "NO");
        *rate = pod_four_digits(spread.median);
    }
    pod_arena_destroy(arena);
    return s;
}

/* Bytes of a cache as the C library knows it, or `otherwise`. */
static size_t cache_bytes(int name, size_t otherwise)
{
    const long bytes = sysconf(name);
    return bytes > 0 ? (size_t)bytes : otherwise;
}

static pod_status measure_copies(rates *r, pod_machine *m)
{
    const size_t KIB = 1024, MIB = KIB * KIB;
    const size_t l1 = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 * KIB);
    const size_t l2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 512 * KIB);
    const size_t l3 = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 32 * MIB);
    /* Two buffers: half of a cache in all; beyond the last one, twice of it, within reason. */
    const size_t beyond = l3 < 32 * MIB ? 32 * MIB : l3 > 256 * MIB ? 256 * MIB : l3;
    POD_TRY(measure_copy(r, "l1", l1 / 4, &m->copy_l1_gb_per_s));
    POD_TRY(measure_copy(r, "l2", l2 / 4, &m->copy_l2_gb_per_s));
    POD_TRY(measure_copy(r, "memory", beyond, &m->copy_memory_gb_per_s));
    return POD_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool is_peak_only(const pod_call *call)
{
    return strcmp(pod_config_text(call->config, POD_OPT_ONLY), "peak") == 0;
}

static pod_status measure_wanted(pod_call *call, rates *r, pod_machine *m)
{
    const bool is_all = !is_peak_only(call);
    pod_log_say(call->log, POD_LOG_INFO, "measuring %sone core of %s%s",
                is_all ? "" : "the peaks of ", m->cpu_model,
                is_all ? "; all takes some minutes, more on a busy host" : "");
    measure_peaks(r, m);
    if (!is_all) return POD_OK;
    POD_TRY(measure_product(r, 64, m->sgemm_kernel, &m->sgemm_64_gflop_per_s));
    POD_TRY(measure_product(r, 256, m->sgemm_kernel, &m->sgemm_256_gflop_per_s));
    POD_TRY(measure_product(r, 1024, m->sgemm_kernel, &m->sgemm_1024_gflop_per_s));
    POD_TRY(measure_copies(r, m));
    POD_TRY(measure_kernels(r, m));
    POD_TRY(pod_calibrate_host(call, m));
    pod_comm *alone;
    POD_TRY(pod_comm_open_alone(&alone));
    pod_status s = pod_calibrate_ops(call, alone, m);
    if (s == POD_OK) s = pod_calibrate_crowd(m, alone);
    pod_comm_close(alone);
    return s;
}

static void fill_json(pod_record *r, const pod_machine *m)
{
    pod_json *j = &r->json;
    pod_json_text(j, "clock", m->clock);
    pod_json_text(j, "hostname", m->hostname);
    pod_json_text(j, "cpu_model", m->cpu_model);
    pod_json_text(j, "cpu_features", m->cpu_features);
    pod_json_int(j, "physical_cores", m->physical_cores);
    pod_json_text(j, "blas", pod_blas_config());
    pod_table_json(r->table, j, "rows");
}

/* The host that runs have, if this binding is theirs, too. */
static void take_allowed_cores(pod_call *call, pod_machine *m)
{
    pod_cpu_set allowed;
    pod_cpu_allowed(&allowed);
    const int cores = pod_cpu_set_cores(&allowed);
    if (cores < m->physical_cores)
        pod_log_say(call->log, POD_LOG_WARNING,
                    "bound to %d of %" PRId64 " physical cores: the machine file is of a host that "
                    "has no more",
                    cores, m->physical_cores);
    m->physical_cores = cores;
    char quota[128];
    if (pod_quota_note(cores, quota, sizeof quota))
        pod_log_say(call->log, POD_LOG_WARNING, "%d physical core%s: %s", cores,
                    cores == 1 ? "" : "s", quota);
}

/* What --only peak does not measure. */
static pod_status take_file(const char *path, pod_machine *m)
{
    pod_machine found;
    struct stat st;
    if (pod_file_is_stdout(path) || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return POD_OK;
    POD_TRY(pod_machine_read(path, &found));
    if (strcmp(found.cpu_model, m->cpu_model) != 0)
        return pod_fail(POD_E_INVALID,
                        "%s: is of a %s, this is a %s: --only peak would mix the two; minipod "
                        "calibrate without it replaces the file",
                        path, found.cpu_model[0] ? found.cpu_model : "CPU without a name",
                        m->cpu_model);
    *m = found;
    return POD_OK;
}

static void say_what_is_missing(pod_call *call, const pod_machine *m)
{
    if (m->kernel_rate.n == 0 || m->op_time.n == 0)
        pod_log_say(call->log, POD_LOG_RESULT,
                    "# the file has the peaks alone: kernels are chosen by built-in rates, and "
                    "simulations of this host need the rest, which minipod calibrate measures");
}

static pod_status calibrate(pod_call *call, const char *path, pod_record *record)
{
    pod_table *t = record->table;
    rates r = {.table = t};
    pod_machine m;
    pod_machine_describe_host(&m);
    take_allowed_cores(call, &m);
    if (is_peak_only(call)) POD_TRY(take_file(path, &m));
    pod_table_note(t, "minipod calibrate %s, clock wall, one core at a time", POD_VERSION);
    pod_table_note(t, "%s, %s: %s, %" PRId64 " physical core%s", m.hostname, m.cpu_model,
                   m.cpu_features[0] ? m.cpu_features : "no vector features", m.physical_cores,
                   m.physical_cores == 1 ? "" : "s");
    pod_table_note(t, "%s", pod_blas_config());
    POD_TRY(measure_wanted(call, &r, &m));
    POD_TRY(pod_table_print(t, call->log->out));
    POD_TRY(pod_machine_write(path, &m));
    pod_log_say(call->log, POD_LOG_RESULT, "# written: %s",
                pod_file_is_stdout(path) ? "standard output" : path);
    say_what_is_missing(call, &m);
    fill_json(record, &m);
    POD_TRY(pod_record_finish(record, call->config, NULL));
    if (BUSY_ONE_IN * r.n_spread > r.n)
        pod_log_say(call->log, POD_LOG_WARNING,
                    "%d of %d rates spread by more than %d %%: this host was busy; calibrate again "
                    "when it is not",
                    r.n_spread, r.n, BUSY_PERCENT);
    return POD_OK;
}

static pod_status calibrate_here(pod_call *call)
{
    char path[4096];
    const char *given = pod_config_text(call->config, POD_OPT_OUTPUT);
    if (given[0] == '\0') {
        POD_TRY(pod_machine_host_path(path, sizeof path));
        if (access(path, F_OK) != 0) POD_TRY(pod_dir_make_for(path));
    } else {
        snprintf(path, sizeof path, "%s", given);
    }
    POD_TRY(pod_file_check_result(path)); /* before it is measured for nothing */
    pod_record r;
    POD_TRY(pod_record_open("minipod.calibrate", 2, POD_COLUMNS(columns), &r));
    const pod_status s = calibrate(call, path, &r);
    pod_record_close(&r);
    return s;
}

/* Ranks at work side by side would measure one another. */
pod_status pod_cmd_calibrate(pod_call *call, int *exit_code)
{
    (void)exit_code;
    pod_status mine = pod_comm_rank(call->comm) == 0 ? calibrate_here(call) : POD_OK;
    pod_comm_barrier_idle(call->comm);
    return pod_comm_agree(call->comm, mine);
}
