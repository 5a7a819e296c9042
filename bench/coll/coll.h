/* The parts of minipod coll: the plan of what to measure, the ways to measure it, the rows of
 * results, and how they are reported. */
#ifndef MINIPOD_BENCH_COLL_COLL_H
#define MINIPOD_BENCH_COLL_COLL_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/command.h"
#include "bench/common/table.h"
#include "collectives/algo/algo.h"
#include "collectives/algo/rules.h"
#include "collectives/net/net.h"
#include "kernels/base/arena.h"
#include "runtime/core/spread.h"
#include "runtime/machine/machine.h"

typedef enum pod_bench_on { /* --on; auto is SHM under mpirun */
                            POD_ON_SHM,
                            POD_ON_MPI,
                            POD_ON_LOCAL,
                            POD_ON_SIM
} pod_bench_on;

/* An entry of --algo, with a row for each size: an algorithm, what the rules choose, or the MPI
 * library's own collective (the peer). */
typedef struct pod_bench_entry {
    const char *name;          /* "ring", "ring@64K", "mpi", "rules" */
    const pod_coll_algo *algo; /* NULL: chosen by the rules, or the peer */
    int64_t chunk_bytes;       /* 0: the plan's */
    bool is_peer;
} pod_bench_entry;

typedef struct pod_bench_type {
    const char *name; /* nccl-tests' name: "float" */
    pod_dtype dtype;
} pod_bench_type;

/* These fields identify a row, together with algorithm and buffers. */
typedef struct pod_bench_size {
    int64_t count; /* elements */
    const pod_bench_type *type;
    pod_redop op;
    int root;
} pod_bench_size;

typedef struct pod_bench_plan { /* the same on all ranks */
    pod_bench_on on;
    pod_coll coll;
    pod_machine machine; /* whose time is measured */
    pod_net net;         /* its links, on a virtual clock */
    pod_mesh mesh;
    int n_ranks, node_size;
    int n_cores;         /* cores that the ranks of rank 0's node may run on */
    int n_node_ranks;    /* largest number of ranks on one node */
    int64_t cache_bytes; /* size of the last-level cache on rank 0's node */
    int64_t chunk_bytes;
    const pod_bench_size *size; /* (n_sizes) each type, operation and root with all its sizes */
    int n_sizes;
    const pod_coll_rules *rules; /* NULL: --algo names the entries */
    bool has_own_rules;          /* not the default ones */
    pod_bench_entry *entry;
    int n_entries;
    int n_iters, n_warmup, n_rounds;
    int n_checks; /* 0: results are not checked */
    int average;  /* the time to report: 0 rank 0's, 1 mean, 2 least, 3 most */
    bool is_blocking, counts_cpu_time;
    bool with_hot, with_cold;
    const char **refusal; /* lines: algorithms that `all` leaves out, and why */
    int n_refusals;
} pod_bench_plan;

/* Whether the result is in another buffer than the input, or in the same. */
typedef enum pod_bench_form { POD_OUT_OF_PLACE, POD_IN_PLACE, POD_N_FORMS } pod_bench_form;

typedef struct pod_bench_row {
    int size, entry;                /* of the plan */
    const char *name;               /* of the algorithm that ran: "ring@64K", "mpi" */
    const pod_coll_algo *algo;      /* NULL: the peer */
    int n_buffers;                  /* 1: hot; more: cold */
    pod_spread form_s[POD_N_FORMS]; /* time of an operation; one value per round */
    pod_spread iter_s;            /* time of single operations in place; n is 0 if none was timed */
    double iter_cv;               /* standard deviation / mean */
    const double *iters;          /* (iter_s.n) seconds, in order */
    int64_t n_wrong[POD_N_FORMS]; /* elements over all ranks; -1: not checked */
    double ideal_s;               /* lower limit of the time for this size and mesh; 0: unknown */
    const char *busiest_link;     /* set by simulations, like the fields below; else NULL */
    double busiest_share;         /* share of the time in which it is held */
    int64_t n_events;
    double events_per_s; /* per second of this host's time */
} pod_bench_row;

typedef struct pod_bench {
    pod_call *call;
    pod_arena *arena;
    pod_bench_plan plan;
    pod_machine host; /* rank 0's */
    pod_table *table; /* rank 0: set once it has begun; else NULL */
    pod_bench_row *row;
    int n_rows;
} pod_bench;

/* ---- plan.c ---- */

/* Makes the plan from the options. Fails with E_INVALID for what cannot be measured, and with
 * E_MISMATCH if files of rules differ between hosts. Collective. */
POD_MUST pod_status pod_bench_plan_from(pod_call *call, pod_arena *a, pod_bench_plan *out);

/* Returns the arguments of a size; if rules choose, with the chunk of the rule. */
pod_coll_args pod_bench_args(const pod_bench_plan *p, int size);
int64_t pod_bench_bytes(const pod_bench_plan *p, int size);
/* Returns nccl-tests' count: elements of the buffer, or, in collectives with a part per rank, of
 * the largest part. */
int64_t pod_bench_count(const pod_bench_plan *p, int size);
/* Returns the number of buffers to alternate so that none is found in a cache: together those of a
 * node have 1.5 times the size of its last-level cache. 0: that would be too many, or --buffers
 * excludes cold ones. */
int pod_bench_n_cold(const pod_bench_plan *p, int size);
bool pod_bench_runs_mpi(const pod_bench_plan *p);
const char *pod_bench_clock(const pod_bench_plan *p); /* "wall" or "virtual" */
/* Returns "hot" or "cold", or "simulated" on a virtual clock. */
const char *pod_bench_buffers(const pod_bench_plan *p, bool is_cold);

/* ---- entries.c ---- */

/* Adds the entries of --algo to a plan that is complete otherwise. */
POD_MUST pod_status pod_bench_entries_from(const pod_config *c, pod_arena *a, pod_bench_plan *p);
/* Returns why the entry has no row at this size, or NULL. */
const char *pod_bench_why_not(const pod_bench_plan *p, const pod_bench_entry *e, int size);
/* Adds a line to `refusal`: algorithm `name` refuses n_sizes of the sizes. Fails with E_NOMEM. */
POD_MUST pod_status pod_bench_refuse(pod_arena *a, pod_bench_plan *p, const char *name, int n_sizes,
                                     const char *why);
/* Returns the algorithm that an entry runs at a size; NULL for the peer. */
const pod_coll_algo *pod_bench_pick(const pod_bench_plan *p, const pod_bench_entry *e, int size,
                                    pod_coll_args *args);

/* ---- the ways to measure: ranks.c (in a job, or all ranks in one process), and sim.c ---- */

/* Measure every size and entry; all ranks add the same rows. Collective in a job. */
POD_MUST pod_status pod_bench_ranks(pod_bench *b);
POD_MUST pod_status pod_bench_sim(pod_bench *b);
/* Returns whether they have the same type, operation and root. */
bool pod_bench_is_alike(const pod_bench_size *a, const pod_bench_size *b);
int pod_bench_peer(const pod_bench_plan *p); /* the entry of the peer; -1: none */
/* Fails with E_INVALID if the ranks of a node, or the one process for all ranks, lack the shared or
 * private memory for their buffers. All ranks of a node call it. */
POD_MUST pod_status pod_bench_ranks_room(const pod_bench *b);
/* Likewise for a simulation; if --algo is `all`, drops algorithms that lack memory, as long as one
 * remains. */
POD_MUST pod_status pod_bench_sim_room(pod_bench *b);

/* ---- rows.c ---- */

/* Appends a row. Its name comes from the entry and from `args`, with which the schedule was built.
 * Computes iter_s and iter_cv from row.iters. */
POD_MUST pod_status pod_bench_add(pod_bench *b, pod_bench_row row, const pod_coll_args *args);
/* Returns the time for comparisons: in place for minipod's algorithms, whose buffers are
 * registered; the faster form for the peer. */
double pod_bench_time_s(const pod_bench_row *r);
double pod_bench_algbw(const pod_bench *b, const pod_bench_row *r, pod_bench_form f); /* GB/s */
double pod_bench_busbw(const pod_bench *b, const pod_bench_row *r, pod_bench_form f);

typedef struct pod_bench_factor { /* whole + nth / n for n ranks, and its text for the table */
    const char *text;
    double whole, nth;
} pod_bench_factor;

typedef struct pod_bench_figures {
    pod_bench_factor busbw;   /* busbw / algbw */
    pod_bench_factor traffic; /* share of the buffer that two or more ranks read and write */
    bool has_parts;           /* each rank has one part of the buffer */
} pod_bench_figures;
extern const pod_bench_figures pod_bench_of_coll[POD_N_COLLS];

/* Returns the least share of its buffer that a rank must read and write, on average: 1 if it reads
 * and writes all of it. */
double pod_bench_traffic(const pod_bench_plan *p, int size);
/* Reads and writes a whole buffer once, in place, with the kernel of collectives over shared
 * memory. k chooses how many streams it uses at a time: 1, 2 or 4. Used to measure the limit on a
 * wall clock.
 * Changes the buffer unless it is zero. */
void pod_bench_rewrite(void *buffer, size_t bytes, int k);

/* Returns MPI's time / the row's, on the same buffers; 0 if MPI was not measured, or nothing is
 * moved. */
double pod_bench_against_mpi(const pod_bench *b, const pod_bench_row *r);

/* The results of one entry on hot or cold buffers, over all its sizes. */
typedef struct pod_bench_summary {
    int entry;
    bool is_cold;
    int n_rows;
    double busbw;       /* mean over both forms, as in nccl-tests */
    double against_mpi; /* geometric mean of pod_bench_against_mpi; 0: MPI was not measured */
    const pod_bench_row *slowest;
} pod_bench_summary;

pod_bench_summary pod_bench_summarize(const pod_bench *b, int entry, bool is_cold);
int64_t pod_bench_n_wrong(const pod_bench *b);
/* Returns the fastest hot or cold row of a size that is not the peer's; NULL if there is none. */
const pod_bench_row *pod_bench_best(const pod_bench *b, int size, bool is_cold);
const pod_bench_row *pod_bench_find(const pod_bench *b, int size, int entry, bool is_cold);

/* ---- table.c, record.c, autotune.c: rank 0 ---- */

/* Print the table: its head before anything is measured, each row as soon as it is known, and at
 * the end the footer; the end also writes the CSV and prints the iterations, if the options ask for
 * them. */
POD_MUST pod_status pod_bench_table_begin(pod_bench *b);
void pod_bench_table_row(pod_bench *b, const pod_bench_row *r);
POD_MUST pod_status pod_bench_table_end(pod_bench *b);
POD_MUST pod_status pod_bench_write_json(const pod_bench *b, const char *path);
/* plot.c: writes an SVG; without gnuplot logs a note. */
POD_MUST pod_status pod_bench_plot(const pod_bench *b, const char *path);
/* Writes rules for pod_coll_rules_read. Every size must have a row that is not the peer's, as
 * pod_bench_plan_from ensures. */
POD_MUST pod_status pod_bench_autotune(const pod_bench *b, const char *path);

#endif
