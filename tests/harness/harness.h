/* What every test program shares: main, the summary, bounds, and inputs.
 *
 * A test program defines pod_test_suites in CUnit's tables; main is in the harness and exits 0 only
 * when every assertion on every rank held. Under MPI the ranks' totals are gathered, so that the
 * printed summary is true, and no FATAL assertion may be used there: one rank that leaves hangs the
 * others. A test that cannot run here (a kernel this CPU lacks, data that is absent) calls
 * pod_test_skip and returns; skips are counted and printed. A program runs only the tests whose
 * "suite.test" contains its first argument, when there is one. */
#ifndef MINIPOD_TESTS_HARNESS_HARNESS_H
#define MINIPOD_TESTS_HARNESS_HARNESS_H

#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/dtype.h"
#include "kernels/base/status.h"

extern CU_SuiteInfo pod_test_suites[]; /* ends with CU_SUITE_INFO_NULL */

/* The suite of a program that has one: POD_TEST_SUITE("kernels.rng", {"name", function}, ...); the
 * other form opens something before the first test and closes it after the last. */
#define POD_TEST_SUITE(name, ...) POD_TEST_SUITE_WITH(name, NULL, NULL, __VA_ARGS__)
#define POD_TEST_SUITE_WITH(name, open, close, ...)                                 \
    static CU_TestInfo tests[] = {__VA_ARGS__, CU_TEST_INFO_NULL};                  \
    CU_SuiteInfo pod_test_suites[] = {{(name), (open), (close), NULL, NULL, tests}, \
                                      CU_SUITE_INFO_NULL}

/* Takes kernels only up to what MINIPOD_MAX_ISA names; all where it is not set. main has called it;
 * a test that lowers the cap itself calls it at its end. */
void pod_test_cap(void);

/* Whether this program tries a kernel that needs these POD_CPU_ bits: the CPU has them; a program
 * whose tiles are emulated tries what needs tiles, and leaves all others to the one without. */
bool pod_test_tries(uint32_t needs);

/* Says what is skipped and why: "skipped: <what>: <why>" on standard output, rank 0 only. */
void pod_test_skip(const char *what, const char *why);

int pod_test_rank(void); /* 0 without MPI */
int pod_test_size(void); /* 1 without MPI */

/* Path of a data set beside the repository, "../shared/data/<name>" or $MINIPOD_TEST_DATA/<name>;
 * NULL when it is not there. Borrowed until the next call. */
const char *pod_test_data(const char *name);

/* A directory for this program's files, empty at its start, removed at its end. The same on all
 * ranks. */
const char *pod_test_dir(void);

/* A text made from the format, which lives until the running test ends; a file's path in
 * pod_test_dir() likewise; a folder there, which is made, empty, under a name of its own. */
const char *pod_test_text(const char *fmt, ...) POD_PRINTF(1, 2);
const char *pod_test_path(const char *fmt, ...) POD_PRINTF(1, 2);
const char *pod_test_folder(void);
/* Calls end(of) when the running test ends, whatever ends it; the latest first. */
void pod_test_at_end(void (*end)(void *of), void *of);
pod_arena *pod_test_arena(void); /* destroyed then */

/* The bytes of a file, to be freed, and `*bytes` how many; NULL where it cannot be read. */
char *pod_test_slurp(const char *path, size_t *bytes);
/* Makes it one of these bytes. */
void pod_test_spill(const char *path, const void *data, size_t bytes);

/* Under the address sanitizer a case takes several times as long: there every POD_TEST_EVERY-th of a long
 * list is tried. A prime that divides no number of types, nets or variants that alternate in a list, so
 * that each of them comes. */
#ifdef __SANITIZE_ADDRESS__
enum { POD_TEST_EVERY = 7 };
#else
enum { POD_TEST_EVERY = 1 };
#endif

/* Fails the running test with a message; the condition form of it. */
void pod_test_fail(const char *file, int line, const char *fmt, ...) POD_PRINTF(3, 4);
#define POD_CHECK(cond, ...)                                         \
    do {                                                             \
        CU_PASS("");                                                 \
        if (!(cond)) pod_test_fail(__FILE__, __LINE__, __VA_ARGS__); \
    } while (0)

/* A call that must succeed; prints the recorded error otherwise. */
#define POD_CHECK_OK(expr)                                                        \
    do {                                                                          \
        pod_status pod_c_ = (expr);                                               \
        POD_CHECK(pod_c_ == POD_OK, "%s: %s: %s", #expr, pod_status_name(pod_c_), \
                  pod_error_text());                                              \
    } while (0)

/* A call without which the test cannot go on; not under MPI. */
#define POD_NEED_OK(expr)                                                                 \
    do {                                                                                  \
        pod_status pod_c_ = (expr);                                                       \
        if (pod_c_ == POD_OK) break;                                                      \
        POD_CHECK(false, "%s: %s: %s", #expr, pod_status_name(pod_c_), pod_error_text()); \
        CU_FAIL_FATAL("");                                                                \
    } while (0)

/* A call that must fail with `want` and whose text must contain `part`. */
#define POD_CHECK_FAILS(expr, want, part)                                               \
    do {                                                                                \
        pod_error_set("");                                                              \
        pod_status pod_c_ = (expr);                                                     \
        POD_CHECK(pod_c_ == (want) && strstr(pod_error_text(), (part)),                 \
                  "%s: got %s '%s', want %s with '%s'", #expr, pod_status_name(pod_c_), \
                  pod_error_text(), #want, (part));                                     \
    } while (0)

/* |got - want| <= bound, or both the same infinity, or both NaN. */
bool pod_test_near(double got, double want, double bound);

/* Compares count elements of type t with want; `bound(i)` = bound[i] when bound is not NULL, else
 * 0: equal in value. Fails the running test for the first few that differ, under the name. Answers
 * how many differ. */
int64_t pod_test_compare(const char *name, int64_t count, pod_dtype t, const void *got,
                         const double *want, const double *bound);

/* Unit roundoff of a type, rounding to nearest: 2^-24 for float32, 2^-8 for bfloat16; 0 for whole
 * numbers. */
double pod_test_roundoff(pod_dtype t);

/* Bound of a dot product of length k accumulated in float32 in any order and stored as t, when the
 * sum of |a_i b_i| is sum_abs: (k + 1) u sum_abs / (1 - (k + 1) u), plus one rounding to t (float32
 * is what was accumulated: none). Higham, "Accuracy and Stability of Numerical Algorithms", section
 * 3.1. */
double pod_test_bound_dot(int64_t k, double sum_abs, double result, pod_dtype t);

/* Fills with values drawn by (seed); uniform in [-1, 1), rounded to t where t is bf16.
 * t is f32 or bf16. */
void pod_test_fill(uint64_t seed, int64_t count, pod_dtype t, void *out);
/* The same in small whole numbers of [-max, max], so that sums are exact in any order;
 * of [0, max] where t is u8. */
void pod_test_fill_exact(uint64_t seed, int64_t count, int max, pod_dtype t, void *out);

/* Memory with a guard page directly behind it: reading or writing there crashes the test, which names
 * the byte and what pod_test_doing said. What is
 * written before the start (a page at most) crashes too, or is found by pod_test_guard_free, which
 * releases the memory and fails the test. Filled with 0xff bytes, NaNs in any floating type. Its
 * address is aligned as far as `bytes` is. */
void *pod_test_guard(size_t bytes);
void pod_test_guard_free(void *p, size_t bytes);
/* What is about to run, like "gemm avx2_6x16 of 3x5x7": told when it touches a guard page. */
void pod_test_doing(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Memory that ends: grants n_left requests and refuses the others, for loops that let the first
 * fail, then the second, ... n_alive: granted and not given back. The budget outlives the
 * allocator. */
typedef struct pod_test_budget {
    int n_left, n_alive;
} pod_test_budget;
pod_alloc pod_test_budget_alloc(pod_test_budget *b);

double pod_test_get(pod_dtype t, const void *data, int64_t i); /* element i as a double */
void pod_test_put(pod_dtype t, void *data, int64_t i, double value);

#endif
