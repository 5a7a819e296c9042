/* What the two mains (harness_serial.c, harness_mpi.c) share with harness.c. */
#ifndef MINIPOD_TESTS_HARNESS_RUN_H
#define MINIPOD_TESTS_HARNESS_RUN_H

#include <stdint.h>

typedef struct pod__test_totals { /* longs only: added over the ranks as an array */
    long n_tests, n_asserts, n_failures, n_skips;
} pod__test_totals;

enum { POD__TEST_TOTALS = sizeof(pod__test_totals) / sizeof(long), POD__TEST_PATH = 256 };

/* Before the suites: who this process is. Ranks above 0 print nothing but failures. */
void pod__test_begin(int rank, int size);

/* Of the kernels only those that need all of these POD_CPU_ bits are tried. */
void pod__test_try_only(uint32_t needs);

/* Makes a fresh directory and writes its path, "" on failure. One process calls this. */
void pod__test_dir_make(char path[POD__TEST_PATH]);
void pod__test_dir_use(const char *path); /* what pod_test_dir answers from now on */
void pod__test_dir_remove(void);

/* Runs the suites; with a filter only tests whose "suite.test" contains it. Failures go to standard
 * error as soon as their test ends, so that they are seen even when another rank hangs. */
pod__test_totals pod__test_run(const char *filter);

/* Prints the summary and answers the exit code. */
int pod__test_end(const char *program, pod__test_totals all_ranks);

#endif
