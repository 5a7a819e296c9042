#include "tests/harness/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/assert.h"
#include "kernels/base/bf16.h"
#include "kernels/base/binned.h"
#include "kernels/base/cpu.h"
#include "kernels/base/rng.h"
#include "kernels/combine/f16.h"
#include "tests/harness/run.h"

static int own_rank, n_ranks = 1;
static uint32_t tried; /* bits that a kernel must need to be tried */
static long n_skips;
static bool in_line; /* "suite.test: " stands on standard output without its end */
static char test_dir[POD__TEST_PATH];
static struct {
    void (*end)(void *of);
    void *of;
} * at_end; /* (n_at_end), of the running test */
static size_t n_at_end;
static pod_arena *text_arena; /* one of those; NULL: none yet */

int pod_test_rank(void) { return own_rank; }

int pod_test_size(void) { return n_ranks; }

/* ---- running ------------------------------------------------------------------------------- */

static void end_line(void)
{
    if (in_line) putchar('\n');
    in_line = false;
}

bool pod_test_tries(uint32_t needs)
{
    return !(needs & ~pod_cpu_features()) && (needs & tried) == tried;
}

void pod_test_skip(const char *what, const char *why)
{
    if (own_rank != 0) return;
    n_skips++;
    end_line();
    printf("skipped: %s: %s\n", what, why);
    fflush(stdout);
}

void pod_test_fail(const char *file, int line, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    CU_assertImplementation(CU_FALSE, (unsigned)line, text, file, "", CU_FALSE);
}

static void print_failures(const CU_pFailureRecord first, const char *suite, const char *test)
{
    enum { MOST = 12 };
    char place[32] = "", line[2048];
    int n = 0;
    if (n_ranks > 1) snprintf(place, sizeof place, "rank %d: ", own_rank);
    for (CU_pFailureRecord f = first; f; f = f->pNext) {
        if (n++ >= MOST) continue;
        /* In one piece, because the ranks share the pipe. */
        snprintf(line, sizeof line, "%s%s:%u: %s [%s.%s]\n", place,
                 f->strFileName ? f->strFileName : "?", f->uiLineNumber,
                 f->strCondition ? f->strCondition : "?", suite, test);
        fputs(line, stderr);
    }
    if (n > MOST) fprintf(stderr, "%s%d more failures [%s.%s]\n", place, n - MOST, suite, test);
}

/* Named before it runs, in case it does not come back. */
static void on_test_start(const CU_pTest test, const CU_pSuite suite)
{
    if (own_rank != 0) return;
    in_line = n_ranks == 1;
    printf("%s.%s%s", suite->pName, test->pName, in_line ? ": " : "\n");
    fflush(stdout);
}

static void on_test_complete(const CU_pTest test, const CU_pSuite suite,
                             const CU_pFailureRecord first)
{
    for (; n_at_end > 0; n_at_end--) at_end[n_at_end - 1].end(at_end[n_at_end - 1].of);
    free(at_end);
    at_end = NULL;
    text_arena = NULL;
    if (n_ranks == 1) {
        if (!in_line) printf("%s.%s: ", suite->pName, test->pName);
        puts(first ? "FAILED" : "ok");
        fflush(stdout);
        in_line = false;
    }
    print_failures(first, suite->pName, test->pName);
}

static void on_suite_init_failure(const CU_pSuite suite)
{
    fprintf(stderr, "rank %d: suite %s: its set-up failed, no test of it ran\n", own_rank,
            suite->pName);
}

static void on_suite_cleanup_failure(const CU_pSuite suite)
{
    fprintf(stderr, "rank %d: suite %s: its clean-up failed\n", own_rank, suite->pName);
}

static void keep_only(const char *filter)
{
    char name[256];
    CU_set_fail_on_inactive(CU_FALSE);
    for (CU_pSuite s = CU_get_registry()->pSuite; s; s = s->pNext) {
        for (CU_pTest t = s->pTest; t; t = t->pNext) {
            snprintf(name, sizeof name, "%s.%s", s->pName, t->pName);
            if (!strstr(name, filter)) CU_set_test_active(t, CU_FALSE);
        }
    }
}

void pod_test_cap(void)
{
    const char *max_isa = getenv("MINIPOD_MAX_ISA");
    POD_ASSERT(pod_cpu_cap(max_isa ? max_isa : "amx") == POD_OK, "%s", pod_error_text());
}

void pod__test_try_only(uint32_t needs) { tried = needs; }

void pod__test_begin(int rank, int size)
{
    pod_test_cap();
    own_rank = rank;
    n_ranks = size;
}

pod__test_totals pod__test_run(const char *filter)
{
    if (CU_initialize_registry() != CUE_SUCCESS ||
        CU_register_suites(pod_test_suites) != CUE_SUCCESS) {
        fprintf(stderr, "CUnit: %s\n", CU_get_error_msg());
        return (pod__test_totals){.n_failures = 1};
    }
    if (filter) keep_only(filter);
    CU_set_test_start_handler(on_test_start);
    CU_set_test_complete_handler(on_test_complete);
    CU_set_suite_init_failure_handler(on_suite_init_failure);
    CU_set_suite_cleanup_failure_handler(on_suite_cleanup_failure);
    CU_run_all_tests();
    pod__test_totals totals = {
        .n_tests = (long)CU_get_number_of_tests_run(),
        .n_asserts = (long)CU_get_number_of_asserts(),
        .n_failures = (long)CU_get_number_of_failure_records(),
        .n_skips = n_skips,
    };
    CU_cleanup_registry();
    return totals;
}

int pod__test_end(const char *program, pod__test_totals all_ranks)
{
    /* A program in which nothing was asserted proves nothing, unless it says what it skipped. */
    bool empty = all_ranks.n_asserts == 0 && all_ranks.n_skips == 0;
    if (own_rank == 0) {
        const char *slash = strrchr(program, '/');
        printf("%s: %ld tests", slash ? slash + 1 : program, all_ranks.n_tests / n_ranks);
        if (n_ranks > 1) printf(" on each of %d ranks", n_ranks);
        printf(", %ld assertions, %ld failed, %ld skipped\n", all_ranks.n_asserts,
               all_ranks.n_failures, all_ranks.n_skips);
        if (empty) printf("nothing was asserted: that counts as a failure\n");
        fflush(stdout);
    }
    return all_ranks.n_failures > 0 || empty;
}

/* ---- memory of the running test -------------------------------------------------------------- */

void pod_test_at_end(void (*end)(void *of), void *of)
{
    at_end = realloc(at_end, (n_at_end + 1) * sizeof *at_end);
    POD_ASSERT(at_end, "no memory");
    at_end[n_at_end].end = end;
    at_end[n_at_end++].of = of;
}

static void end_arena(void *a) { pod_arena_destroy(a); }

pod_arena *pod_test_arena(void)
{
    pod_arena *a;
    POD_ASSERT(pod_arena_create(NULL, &a) == POD_OK, "no memory");
    pod_test_at_end(end_arena, a);
    return a;
}

static const char *keep_text(const char *fmt, va_list args)
{
    if (!text_arena) text_arena = pod_test_arena();
    const char *text = pod_arena_vtext(text_arena, fmt, args);
    POD_ASSERT(text, "no memory");
    return text;
}

const char *pod_test_text(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = keep_text(fmt, args);
    va_end(args);
    return text;
}

const char *pod_test_path(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *name = keep_text(fmt, args);
    va_end(args);
    return pod_test_text("%s/%s", test_dir, name);
}

const char *pod_test_folder(void)
{
    static int n;
    const char *path = pod_test_path("folder-%d", n++);
    POD_ASSERT(mkdir(path, 0777) == 0, "%s", path);
    return path;
}

/* ---- files --------------------------------------------------------------------------------- */

const char *pod_test_data(const char *name)
{
    static char path[1024];
    const char *folder = getenv("MINIPOD_TEST_DATA");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : POD_TEST_SOURCE_DIR "/../shared/data",
             name);
    return access(path, R_OK) == 0 ? path : NULL;
}

static void remove_tree(const char *path)
{
    struct stat s;
    if (lstat(path, &s) != 0) return;
    DIR *d = S_ISDIR(s.st_mode) ? opendir(path) : NULL;
    if (d) {
        char child[1024];
        for (struct dirent *e = readdir(d); e; e = readdir(d)) {
            if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
            int n = snprintf(child, sizeof child, "%s/%s", path, e->d_name);
            if (n > 0 && (size_t)n < sizeof child) remove_tree(child);
        }
        closedir(d);
    }
    (void)remove(path);
}

void pod__test_dir_make(char path[POD__TEST_PATH])
{
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(path, POD__TEST_PATH, "%s/minipod-test-XXXXXX", tmp ? tmp : "/tmp");
    if (n < 0 || n >= POD__TEST_PATH || !mkdtemp(path)) {
        perror(path);
        path[0] = '\0';
    }
}

void pod__test_dir_use(const char *path) { snprintf(test_dir, sizeof test_dir, "%s", path); }

const char *pod_test_dir(void) { return test_dir; }

void pod__test_dir_remove(void)
{
    if (test_dir[0]) remove_tree(test_dir);
    test_dir[0] = '\0';
}

/* ---- values -------------------------------------------------------------------------------- */

double pod_test_get(pod_dtype t, const void *data, int64_t i)
{
    switch (t) {
    case POD_F32: return (double)((const float *)data)[i];
    case POD_BF16: return (double)pod_bf16_to_f32(((const pod_bf16 *)data)[i]);
    case POD_I32: return ((const int32_t *)data)[i];
    case POD_U8: return ((const uint8_t *)data)[i];
    case POD_BINNED: return (double)pod_binned_to_f32(((const pod_binned *)data)[i]);
    case POD_F16: return (double)pod_f16_to_f32(((const pod_f16 *)data)[i]);
    case POD_F64: return ((const double *)data)[i];
    case POD_I8: return ((const int8_t *)data)[i];
    case POD_I64: return (double)((const int64_t *)data)[i];
    case POD_U32: return ((const uint32_t *)data)[i];
    case POD_U64: return (double)((const uint64_t *)data)[i];
    case POD_N_DTYPES: break;
    }
    POD_ASSERT(false, "element type %d of %d", (int)t, (int)POD_N_DTYPES);
}

void pod_test_put(pod_dtype t, void *data, int64_t i, double value)
{
    switch (t) {
    case POD_F32: ((float *)data)[i] = (float)value; return;
    case POD_BF16: ((pod_bf16 *)data)[i] = pod_bf16_from_f32((float)value); return;
    case POD_I32: ((int32_t *)data)[i] = (int32_t)value; return;
    case POD_U8: ((uint8_t *)data)[i] = (uint8_t)value; return;
    case POD_BINNED: ((pod_binned *)data)[i] = pod_binned_from_f32((float)value); return;
    case POD_F16: ((pod_f16 *)data)[i] = pod_f16_from_f32((float)value); return;
    case POD_F64: ((double *)data)[i] = value; return;
    case POD_I8: ((int8_t *)data)[i] = (int8_t)value; return;
    case POD_I64: ((int64_t *)data)[i] = (int64_t)value; return;
    case POD_U32: ((uint32_t *)data)[i] = (uint32_t)value; return;
    case POD_U64: ((uint64_t *)data)[i] = (uint64_t)value; return;
    case POD_N_DTYPES: break;
    }
    POD_ASSERT(false, "element type %d of %d", (int)t, (int)POD_N_DTYPES);
}

void pod_test_fill(uint64_t seed, int64_t count, pod_dtype t, void *out)
{
    POD_ASSERT(t == POD_F32 || t == POD_BF16, "%s cannot hold fractions", pod_dtype_name(t));
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST});
    for (int64_t i = 0; i < count; i++)
        pod_test_put(t, out, i, 2.0 * (double)pod_rng_uniform(&r) - 1.0);
}

void pod_test_fill_exact(uint64_t seed, int64_t count, int max, pod_dtype t, void *out)
{
    POD_ASSERT(max >= 0 && (t != POD_BF16 || max <= 256), "%d is not exact in bf16", max);
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST});
    const int min = t == POD_U8 || t == POD_U32 || t == POD_U64 ? 0 : -max;
    for (int64_t i = 0; i < count; i++) {
        uint64_t draw = pod_rng_below(&r, (uint64_t)(max - min) + 1);
        pod_test_put(t, out, i, (double)min + (double)draw);
    }
}

/* ---- bounds -------------------------------------------------------------------------------- */

double pod_test_roundoff(pod_dtype t)
{
    static const double u[POD_N_DTYPES] = {[POD_F32] = 0x1p-24, [POD_BF16] = 0x1p-8};
    return u[t];
}

double pod_test_bound_dot(int64_t k, double sum_abs, double result, pod_dtype t)
{
    double ku = (double)(k + 1) * pod_test_roundoff(POD_F32);
    double error = ku * sum_abs / (1.0 - ku);
    if (t != POD_BF16) return error;
    /* What lies below the smallest normal number is flushed to zero. */
    return error + pod_test_roundoff(t) * (fabs(result) + error) + (double)FLT_MIN;
}

bool pod_test_near(double got, double want, double bound)
{
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
    if (isinf(got) || isinf(want)) return got == want;
    return fabs(got - want) <= bound;
}

int64_t pod_test_compare(const char *name, int64_t count, pod_dtype t, const void *got,
                         const double *want, const double *bound)
{
    const int64_t shown = 3;
    int64_t n_wrong = 0;
    CU_PASS("");
    for (int64_t i = 0; i < count; i++) {
        double value = pod_test_get(t, got, i), limit = bound ? bound[i] : 0.0;
        if (pod_test_near(value, want[i], limit)) continue;
        if (n_wrong++ < shown)
            pod_test_fail(__FILE__, __LINE__, "%s: element %lld of %lld is %.9g, want %.9g +- %.3g",
                          name, (long long)i, (long long)count, value, want[i], limit);
    }
    if (n_wrong > shown)
        pod_test_fail(__FILE__, __LINE__, "%s: %lld of %lld elements are wrong", name,
                      (long long)n_wrong, (long long)count);
    return n_wrong;
}

/* ---- guarded memory ------------------------------------------------------------------------ */

enum { SLACK_BYTE = 0xa5, FRESH_BYTE = 0xff };

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static size_t body_bytes(size_t bytes)
{
    return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

/* Those that are alive, for the handler of SIGSEGV. */
typedef struct guarded {
    struct guarded *next;
    const char *data;
    size_t bytes;
} guarded;

static guarded *alive;
static char doing[256];
static bool is_watched;
static struct sigaction otherwise; /* the sanitizers', or none */

void pod_test_doing(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(doing, sizeof doing, fmt, args);
    va_end(args);
}

/* Then what would have happened without it happens, as the access is made again. Prints although it
 * is in a handler: the process is lost. */
static void on_segv(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    const char *at = info->si_addr;
    const ptrdiff_t page = (ptrdiff_t)page_bytes();
    for (const guarded *g = alive; g; g = g->next) {
        const ptrdiff_t behind = at - (g->data + g->bytes), before = g->data - at;
        const bool is_behind = behind >= 0 && behind < page;
        if (!is_behind && !(before > 0 && before <= 2 * page)) continue;
        end_line();
        fflush(stdout);
        fprintf(stderr, "%s touched byte %td %s a buffer of %zu bytes\n",
                *doing ? doing : "the test", is_behind ? behind + 1 : before,
                is_behind ? "behind" : "before", g->bytes);
        break;
    }
    sigaction(signal_number, &otherwise, NULL);
}

static void note_guard(const char *data, size_t bytes)
{
    if (!is_watched) {
        is_watched = true;
        struct sigaction ours = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO};
        sigemptyset(&ours.sa_mask);
        sigaction(SIGSEGV, &ours, &otherwise);
    }
    guarded *g = malloc(sizeof *g);
    POD_ASSERT(g, "no memory");
    *g = (guarded){alive, data, bytes};
    alive = g;
}

static void forget_guard(const char *data)
{
    for (guarded **at = &alive; *at; at = &(*at)->next) {
        guarded *g = *at;
        if (g->data != data) continue;
        *at = g->next;
        free(g);
        return;
    }
}

/* Mappings that were freed and not given back to the system, which would take a third of the time of
 * tests that take and free thousands a second. Nobody can read or write them. */
enum { N_KEPT = 64, MAX_KEPT_BYTES = 4 << 20 };

static struct {
    char *start;
    size_t body;
} kept[N_KEPT];

static void protect(char *start, size_t body, int how)
{
    POD_ASSERT(body == 0 || mprotect(start + page_bytes(), body, how) == 0,
               "%zu bytes cannot be protected", body);
}

/* | guard page | body | guard page |, of which nothing can be read or written yet */
static char *find_mapping(size_t body)
{
    for (int i = 0; i < N_KEPT; i++) {
        char *start = kept[i].start;
        if (!start || kept[i].body != body) continue;
        kept[i].start = NULL;
        return start;
    }
    int fd = open("/dev/zero", O_RDWR);
    POD_ASSERT(fd >= 0, "/dev/zero cannot be opened");
    char *start = mmap(NULL, body + 2 * page_bytes(), PROT_NONE, MAP_PRIVATE, fd, 0);
    close(fd);
    POD_ASSERT(start != MAP_FAILED, "no room for %zu bytes", body);
    return start;
}

static void give_mapping(char *start, size_t body)
{
    static int next;
    if (body <= MAX_KEPT_BYTES) {
        protect(start, body, PROT_NONE);
        char *oldest = kept[next].start;
        const size_t oldest_body = kept[next].body;
        kept[next].start = start;
        kept[next].body = body;
        next = (next + 1) % N_KEPT;
        start = oldest;
        body = oldest_body;
    }
    if (start) munmap(start, body + 2 * page_bytes());
}

/* The data ends where the last page begins; what is left before it is slack. */
void *pod_test_guard(size_t bytes)
{
    const size_t page = page_bytes(), body = body_bytes(bytes);
    char *start = find_mapping(body), *data = start + page + body - bytes;
    protect(start, body, PROT_READ | PROT_WRITE);
    memset(start + page, SLACK_BYTE, body - bytes);
    memset(data, FRESH_BYTE, bytes);
    note_guard(data, bytes);
    return data;
}

void pod_test_guard_free(void *p, size_t bytes)
{
    if (!p) return;
    forget_guard(p);
    const size_t body = body_bytes(bytes);
    char *start = (char *)p + bytes - body - page_bytes();
    const unsigned char *at = (unsigned char *)p;
    const unsigned char *first = (unsigned char *)start + page_bytes();
    while (at > first && at[-1] == SLACK_BYTE) at--;
    POD_CHECK(at == first, "written %td bytes before the start", (unsigned char *)p - at + 1);
    give_mapping(start, body);
}

/* ---- memory that ends ---------------------------------------------------------------------- */

static void *budget_get(void *ctx, size_t align, size_t bytes)
{
    pod_test_budget *b = ctx;
    if (b->n_left == 0) return NULL;
    b->n_left--;
    b->n_alive++;
    return pod_alloc_default.get(NULL, align, bytes);
}

static void budget_put(void *ctx, void *p)
{
    ((pod_test_budget *)ctx)->n_alive--;
    pod_alloc_default.put(NULL, p);
}

pod_alloc pod_test_budget_alloc(pod_test_budget *b)
{
    return (pod_alloc){budget_get, budget_put, b};
}

char *pod_test_slurp(const char *path, size_t *bytes)
{
    struct stat info;
    FILE *f = fopen(path, "rb");
    if (!f || fstat(fileno(f), &info) != 0) return NULL;
    *bytes = (size_t)info.st_size;
    char *data = malloc(*bytes + 1);
    if (data && fread(data, 1, *bytes, f) != *bytes) *bytes = 0;
    fclose(f);
    return data;
}

void pod_test_spill(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    POD_CHECK(f && fwrite(data, 1, bytes, f) == bytes, "cannot write %s", path);
    if (f) fclose(f);
}
