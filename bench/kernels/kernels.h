/* minipod kernels, in parts: problems (problem.h), what implements each (a file a family),
 * the race in which they take turns, rows that come of it, and what is told of them.
 *
 * Contenders of one problem work on the same operands. A set of operands is what one call reads and
 * writes; with more sets than one, each call can take another, so that none is found in a cache. */
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
    pod_problem *problem;    /* of one function each */
    int n_problems, n_lines; /* lines: that asked for them */
    const char *impl;        /* names joined by commas; "" or "all" */
    bool with_packed, with_unpacked, with_hot, with_cold, with_check;
    int n_iters, n_warmup, n_rounds;
    int64_t cache_bytes;    /* of the last level */
    const pod_rates *rates; /* of --machine */
} pod_kernels_plan;

/* n_sets operands of `count` elements, one behind the other with the same numbers in each, within
 * -1 to 1 and of bfloat16's precision whatever the type; or of zeros. */
typedef struct pod_operand {
    pod_dtype dtype;
    int64_t count;
    size_t stride; /* bytes from one set's to the next one's */
    char *data;
} pod_operand;

typedef struct pod_contender pod_contender;
typedef struct pod_race pod_race;

/* How far the worst value of c->out is from what it should be, as a share of what the arithmetic
 * allows: at most 1 is right. */
typedef double pod_err_fn(const pod_race *r, const pod_contender *c);

struct pod_contender {
    const char *impl;
    bool is_packed; /* weights were packed beforehand */
    bool is_picked; /* what a training step on --machine would take for this call */
    bool is_peer;   /* of no table of ours */
    bool is_copy;   /* moves as many bytes, and no more: what others are held to */
    pod_dtype peak; /* against the register peak of this type */
    double bytes;   /* 0: the race's */
    /* What it reads first and second, and what it makes, which becomes NaN before it is looked at; out
     * is NULL where err runs it. A copy goes from a to b. */
    const pod_operand *a, *b, *out;
    void (*run)(const pod_contender *c, int set);
    void (*settle)(const pod_contender *c); /* brings set 0's output to `out`; NULL: it is there */
    pod_err_fn *err;
    const void *call; /* whoever runs it knows what */
};

struct pod_race {
    pod_problem problem;
    pod_arena *arena; /* goes with the race */
    double flops;     /* 0: only bytes count */
    double bytes;     /* read and written at the least */
    int n_sets;
    void *operands; /* the family's */
    pod_contender contender[POD_MAX_CONTENDERS];
    int n_contenders;
    char refusals[POD_REFUSALS_BYTES]; /* "KERNEL: why", joined by "; ", of those that are none */
    struct pod_peer_contender *peers;  /* a list, to be ended with the race */
};

typedef struct pod_kernels_row {
    int problem;      /* which race */
    char op[32];      /* "conv.fwd" */
    const char *impl; /* borrowed from a table or the arena */
    const char *shape, *type;
    bool is_packed, is_cold, is_picked, is_peer, is_copy;
    pod_dtype peak;
    double flops, bytes;
    double copy_s; /* of the faster copy of as many bytes; 0: not known */
    pod_spread time_s;
    double err; /* of its bound; negative: not looked at */
} pod_kernels_row;

typedef struct pod_kernels_none { /* a problem without a contender */
    const char *text, *why;
    bool is_by_name; /* --impl names none of its kernels */
} pod_kernels_none;

typedef struct pod_kernels_bench {
    pod_call *call;
    pod_arena *arena;
    pod_kernels_plan plan;
    pod_machine host, machine; /* this host; the file that peaks are also known from */
    pod_machine peak;          /* of it, only peaks, measured in this run */
    pod_record record;
    pod_kernels_row *row;
    int n_rows;
    int n_races;
    pod_kernels_none *none; /* (n_none) in their order */
    int n_none;
} pod_kernels_bench;

/* ---- families: gemm.c, conv.c, vector.c ---- */

/* Operands and contenders for r->problem, which has one function. E_NOMEM, or E_SHAPE for what no
 * kernel takes. */
pod_status pod_race_gemm(const pod_kernels_plan *plan, pod_race *r);
pod_status pod_race_conv(const pod_kernels_plan *plan, pod_race *r);
pod_status pod_race_depthwise(const pod_kernels_plan *plan, pod_race *r);
pod_status pod_race_vector(const pod_kernels_plan *plan, pod_race *r);

/* ---- impls.c ---- */

/* E_INVALID unless each of the names, joined by commas, is a kernel's or a peer's. */
POD_MUST pod_status pod_kernels_check_impls(const char *impl);
int pod_kernels_longest_impl(void); /* characters of the longest name */

/* ---- race.c ---- */

double pod_race_bytes(const pod_problem *p); /* of any family; of one function */
/* So many sets that together they are half as much again as the last cache; 1 when cold buffers are
 * not asked for. */
int pod_race_n_sets(const pod_kernels_plan *plan, const pod_problem *p);
/* E_INVALID when this host has not the memory: asked for all problems before any is measured. */
POD_MUST pod_status pod_race_check_room(const pod_kernels_plan *plan, const pod_problem *p);
/* Whether --impl names it. */
bool pod_race_wants(const pod_kernels_plan *plan, const char *impl);
/* Whether --impl names the kernel and nothing speaks against it (NULL); what does is noted in
 * r->refusals. */
bool pod_race_admits(const pod_kernels_plan *plan, pod_race *r, const char *impl,
                     const char *why_not);
/* How a training step on --machine chooses. */
pod_choice pod_race_choice(const pod_kernels_plan *plan);
/* *c is copied. */
void pod_race_add(pod_race *r, const pod_contender *c);
/* What peers make of r->problem, packed and not, as the plan says, with the operands and the err of
 * `like`. */
POD_MUST pod_status pod_race_add_peers(const pod_kernels_plan *plan, pod_race *r,
                                       const pod_contender *like);
void pod_race_end_peers(pod_race *r);
/* What c makes of set 0: pod_err_fn; infinity where something of it is not written or not finite. */
double pod_race_err_of(const pod_race *r, const pod_contender *c);
/* All rounds; adds rows to b. */
POD_MUST pod_status pod_race_run(pod_kernels_bench *b, pod_race *r);

/* ---- data.c ---- */

POD_MUST pod_status pod_operand_random(pod_race *r, pod_dtype t, int64_t count, uint64_t seed,
                                       pod_operand *out);
POD_MUST pod_status pod_operand_room(pod_race *r, pod_dtype t, int64_t count, pod_operand *out);
void *pod_operand_at(const pod_operand *o, int set);
/* Of set 0. */
double pod_operand_value(const pod_operand *o, int64_t i);
/* Set 0 becomes NaN, so that what is not written shows. */
void pod_operand_spoil(const pod_operand *o);
bool pod_operand_is_finite(const pod_operand *o); /* of set 0, all of it */

/* Elements of an output that are looked at: corners first, then chance. The i-th of dim[0] x ... x
 * dim[n - 1], as its coordinates; false behind the last. */
bool pod_sample_at(int i, int n, const int64_t dim[], int64_t at[]);

enum { POD_MAX_OUTPUT_DIMS = 4 };

typedef struct pod_dot { /* a sum of products by its definition, in double */
    double value, abs;   /* of all terms; of their sizes */
    double slack;        /* what terms may differ by before they are added */
    int64_t n_terms;
} pod_dot;

void pod_dot_add(pod_dot *d, double a, double b);
typedef pod_dot pod_element_fn(const pod_race *r, const int64_t at[]);

/* The worst of the sampled elements of `out`, dim[0] x ... x dim[n - 1], against `element`: pod_err_fn. */
double pod_race_err(const pod_race *r, const pod_operand *out, int n, const int64_t dim[],
                    pod_element_fn *element);
/* By how many times `bound` the two differ. */
double pod_err_of(double got, double want, double bound);

/* ---- table.c ---- */

/* Of the machine's peaks, those that this one, in GFLOP/s, is higher than. */
void pod_kernels_keep_peak(pod_machine *m, const pod_peak_kernel *k, double rate);
void pod_kernels_measure_peaks(pod_kernels_bench *b);
POD_MUST pod_status pod_kernels_table_begin(pod_kernels_bench *b);
POD_MUST pod_status pod_kernels_add(pod_kernels_bench *b, const pod_kernels_row *row);
POD_MUST pod_status pod_kernels_table_end(pod_kernels_bench *b);
POD_MUST pod_status pod_kernels_write_json(pod_kernels_bench *b, const char *path);
bool pod_kernels_is_right(const pod_kernels_row *row);
int pod_kernels_n_wrong(const pod_kernels_bench *b);

#endif
