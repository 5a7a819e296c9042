/* The parts of minipod kernels: problems (problem.h), the kernels for each (a file per family), the
 * race in which they run alternately, the rows of results, and how these are reported.
 *
 * Contenders of one problem use the same operands. A set of operands is what one call reads and
 * writes; with several sets, each call uses another one, so that none is found in a cache. */
#ifndef MINIPOD_BENCH_KERNELS_KERNELS_H
#define MINIPOD_BENCH_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/command.h"
#include "bench/common/record.h"
#include "bench/kernels/problem.h"
#include "kernels/base/arena.h"
#include "kernels/base/choice.h"
#include "kernels/peak/peak.h"
#include "runtime/core/spread.h"
#include "runtime/machine/machine.h"

enum { POD_MAX_CONTENDERS = 48, POD_RACE_ALIGN = 64, POD_REFUSALS_BYTES = 768 };

typedef struct pod_kernels_plan {
    pod_problem *problem;    /* (n_problems), each with one function */
    int n_problems, n_lines; /* n_lines: lines from which they come */
    const char *impl;        /* names joined by commas; "" or "all" */
    bool with_packed, with_unpacked, with_hot, with_cold, with_check;
    int n_iters, n_warmup, n_rounds;
    int64_t cache_bytes;    /* size of the last-level cache */
    const pod_rates *rates; /* of --machine */
} pod_kernels_plan;

/* n_sets arrays of `count` elements, consecutive in memory. All have the same numbers, from -1 to 1
 * with the precision of bfloat16 whatever the type, or zeros. */
typedef struct pod_operand {
    pod_dtype dtype;
    int64_t count;
    size_t stride; /* bytes from one set to the next */
    char *data;
} pod_operand;

typedef struct pod_contender pod_contender;
typedef struct pod_race pod_race;

/* Returns the largest error of a value in c->out as a share of its bound: at most 1 is right. */
typedef double pod_err_fn(const pod_race *r, const pod_contender *c);

struct pod_contender {
    const char *impl;
    bool is_packed; /* weights are packed before the call */
    bool is_picked; /* a training step on --machine would choose it for this call */
    bool is_peer;   /* from a peer library */
    bool is_copy;   /* only copies as many bytes, for comparison */
    pod_dtype peak; /* 100 % is the FLOP/s of this type, measured on registers */
    double bytes;   /* 0: those of the race */
    /* First and second input, and output, which is filled with NaN before a check; out is NULL if
     * err itself runs the kernel. A copy reads a and writes b. */
    const pod_operand *a, *b, *out;
    void (*run)(const pod_contender *c, int set);
    void (*settle)(const pod_contender *c); /* brings set 0's output to `out`; NULL: not needed */
    pod_err_fn *err;
    const void *call; /* argument of `run`, known to the family */
};

struct pod_race {
    pod_problem problem;
    pod_arena *arena; /* lives as long as the race */
    double flops;     /* 0: only bytes are counted */
    double bytes;     /* least bytes to read and write */
    int n_sets;
    void *operands; /* known to the family */
    pod_contender contender[POD_MAX_CONTENDERS];
    int n_contenders;
    char refusals[POD_REFUSALS_BYTES]; /* "KERNEL: why", joined by "; ", of those that do not run */
    struct pod_peer_contender *peers;  /* a list; pod_race_end_peers releases it */
};

typedef struct pod_kernels_row {
    int problem;      /* index of the race */
    int group, kind;  /* indices of the first row with its op and buffers, and also its kernel */
    char op[32];      /* "conv.fwd" */
    const char *impl; /* borrowed from a table or the arena */
    const char *shape, *type;
    bool is_packed, is_cold, is_picked, is_peer, is_copy;
    pod_dtype peak;
    double flops, bytes;
    double copy_s; /* time of the faster copy of as many bytes; 0: unknown */
    pod_spread time_s;
    double err; /* share of its bound; negative: not checked */
} pod_kernels_row;

typedef struct pod_kernels_none { /* a problem without a contender */
    const char *text, *why;
    bool is_by_name; /* --impl names none of its kernels */
} pod_kernels_none;

typedef struct pod_kernels_bench {
    pod_call *call;
    pod_arena *arena;
    pod_kernels_plan plan;
    pod_machine host, machine; /* this host; that of --machine */
    pod_machine peak;          /* only its peaks are set, as measured in this run */
    pod_record record;
    pod_kernels_row *row;
    int n_rows;
    int n_races;
    pod_kernels_none *none; /* (n_none) in their order */
    int n_none;
} pod_kernels_bench;

/* ---- families: gemm.c, conv.c, attention.c, vector.c, vocab.c ---- */

/* Make operands and contenders for r->problem, which has one function. Fail with E_NOMEM, or with
 * E_SHAPE for a shape that no kernel supports. */
pod_status pod_race_gemm(const pod_kernels_plan *plan, pod_race *r);
pod_status pod_race_conv(const pod_kernels_plan *plan, pod_race *r);
pod_status pod_race_depthwise(const pod_kernels_plan *plan, pod_race *r);
pod_status pod_race_attention(const pod_kernels_plan *plan, pod_race *r);
pod_status pod_race_vector(const pod_kernels_plan *plan, pod_race *r);
pod_status pod_race_vocab_loss(const pod_kernels_plan *plan, pod_race *r);

/* ---- impls.c ---- */

/* Fails with E_INVALID unless each of the names, joined by commas, is that of a kernel or a
 * peer. */
POD_MUST pod_status pod_kernels_check_impls(const char *impl);
int pod_kernels_longest_impl(void); /* characters of the longest name */

/* ---- race.c ---- */

double pod_race_bytes(const pod_problem *p); /* for a problem of any family, with one function */
/* Returns the number of sets that together have 1.5 times the size of the last-level cache; 1 if
 * the plan has no cold buffers. */
int pod_race_n_sets(const pod_kernels_plan *plan, const pod_problem *p);
/* Fails with E_INVALID if this host lacks the memory; called for all problems before any is
 * measured. */
POD_MUST pod_status pod_race_check_room(const pod_kernels_plan *plan, const pod_problem *p);
/* Returns whether --impl includes the kernel. */
bool pod_race_wants(const pod_kernels_plan *plan, const char *impl);
/* Returns whether --impl includes the kernel and why_not is NULL; adds a reason to r->refusals
 * otherwise. */
bool pod_race_admits(const pod_kernels_plan *plan, pod_race *r, const char *impl,
                     const char *why_not);
/* Returns how a training step on --machine chooses kernels. */
pod_choice pod_race_choice(const pod_kernels_plan *plan);
/* *c is copied. */
void pod_race_add(pod_race *r, const pod_contender *c);
/* Adds the peers' kernels for r->problem, packed and unpacked as the plan says, with the operands
 * and the err of `like`. */
POD_MUST pod_status pod_race_add_peers(const pod_kernels_plan *plan, pod_race *r,
                                       const pod_contender *like);
void pod_race_end_peers(pod_race *r);
/* Runs c on set 0 and returns the error (pod_err_fn); infinity if an element was not written or is
 * not finite. */
double pod_race_err_of(const pod_race *r, const pod_contender *c);
/* Runs all rounds, and adds rows to b. */
POD_MUST pod_status pod_race_run(pod_kernels_bench *b, pod_race *r);

/* ---- data.c ---- */

POD_MUST pod_status pod_operand_random(pod_race *r, pod_dtype t, int64_t count, uint64_t seed,
                                       pod_operand *out);
POD_MUST pod_status pod_operand_room(pod_race *r, pod_dtype t, int64_t count, pod_operand *out);
void *pod_operand_at(const pod_operand *o, int set);
/* Returns element i of set 0. */
double pod_operand_value(const pod_operand *o, int64_t i);
/* Fills set 0 with NaN, so that elements that are not written are found. */
void pod_operand_spoil(const pod_operand *o);
bool pod_operand_is_finite(const pod_operand *o); /* all elements of set 0 */

/* Sets `at` to the coordinates of the i-th element of an output dim[0] x ... x dim[n - 1] to check:
 * corners first, then random elements. Returns false after the last. */
bool pod_sample_at(int i, int n, const int64_t dim[], int64_t at[]);

enum { POD_MAX_OUTPUT_DIMS = 4 };

typedef struct pod_dot { /* a sum of products, computed in double */
    double value, abs;   /* sum of the terms; sum of their absolute values */
    double slack;        /* allowed error of the terms themselves */
    int64_t n_terms;
} pod_dot;

void pod_dot_add(pod_dot *d, double a, double b);
typedef pod_dot pod_element_fn(const pod_race *r, const int64_t at[]);

/* Returns the largest error (pod_err_fn) of the sampled elements of `out`, dim[0] x ... x dim[n -
 * 1], compared with `element`. */
double pod_race_err(const pod_race *r, const pod_operand *out, int n, const int64_t dim[],
                    pod_element_fn *element);
/* Returns the difference as a multiple of `bound`. */
double pod_err_of(double got, double want, double bound);

/* ---- table.c ---- */

/* Raises those peaks of the machine that are below `rate`, the GFLOP/s of kernel k, to `rate`. */
void pod_kernels_keep_peak(pod_machine *m, const pod_peak_kernel *k, double rate);
void pod_kernels_measure_peaks(pod_kernels_bench *b);
POD_MUST pod_status pod_kernels_table_begin(pod_kernels_bench *b);
POD_MUST pod_status pod_kernels_add(pod_kernels_bench *b, const pod_kernels_row *row);
POD_MUST pod_status pod_kernels_table_end(pod_kernels_bench *b);
POD_MUST pod_status pod_kernels_write_json(pod_kernels_bench *b, const char *path);
bool pod_kernels_is_right(const pod_kernels_row *row);
int pod_kernels_n_wrong(const pod_kernels_bench *b);

#endif
