/* minipod coll, in parts: a plan of what is measured, the ways to measure it, rows that come of it,
 * and what is told of them. */
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

/* What --algo names, with a row for each size: an algorithm, what rules pick, or the MPI
 * library's. */
typedef struct pod_bench_entry {
    const char *name;          /* "ring", "ring@64K", "mpi", "rules" */
    const pod_coll_algo *algo; /* NULL: the rules', or the peer */
    int64_t chunk_bytes;       /* 0: the plan's */
    bool is_peer;
} pod_bench_entry;

typedef struct pod_bench_type {
    const char *name; /* as nccl-tests calls it: "float" */
    pod_dtype dtype;
} pod_bench_type;

/* What a row is of, but for the algorithm and the buffers. */
typedef struct pod_bench_size {
    int64_t count; /* elements */
    const pod_bench_type *type;
    pod_redop op;
    int root;
} pod_bench_size;

typedef struct pod_bench_plan { /* the same on all ranks */
    pod_bench_on on;
    pod_coll coll;
    pod_machine machine; /* whose time it is */
    pod_net net;         /* its links, on a virtual clock */
    pod_mesh mesh;
    int n_ranks, node_size;
    int n_cores;         /* that the ranks of rank 0's node may run on */
    int n_node_ranks;    /* at most so many on one node */
    int64_t cache_bytes; /* of the last level, of rank 0's node */
    int64_t chunk_bytes;
    const pod_bench_size *size; /* (n_sizes) each type, operation and root with all its sizes */
    int n_sizes;
    const pod_coll_rules *rules; /* NULL: entries are named */
    bool has_own_rules;          /* not the default ones */
    pod_bench_entry *entry;
    int n_entries;
    int n_iters, n_warmup, n_rounds;
    int n_checks; /* 0: results are not looked at */
    int average;  /* which time of the ranks counts: 0 rank 0's, 1 the mean, 2 least, 3 most */
    bool is_blocking, counts_cpu_time;
    bool with_hot, with_cold;
    const char **refusal; /* lines: what `all` leaves out, and why */
    int n_refusals;
} pod_bench_plan;

/* Where a result stands: in another buffer than what is given, or in its place. */
typedef enum pod_bench_form { POD_OUT_OF_PLACE, POD_IN_PLACE, POD_N_FORMS } pod_bench_form;

typedef struct pod_bench_row {
    int size, entry;                /* of the plan */
    const char *name;               /* of the algorithm that ran: "ring@64K", "mpi" */
    const pod_coll_algo *algo;      /* NULL: the peer */
    int n_buffers;                  /* 1: hot */
    pod_spread form_s[POD_N_FORMS]; /* of an operation, one value a round */
    pod_spread iter_s;   /* of an operation in place timed by itself; n is 0 where none was */
    double iter_cv;      /* standard deviation / mean */
    const double *iters; /* (iter_s.n) in seconds, as they came */
    int64_t n_wrong[POD_N_FORMS]; /* elements over all ranks; -1: not looked at */
    double ideal_s;               /* the limit for this size and mesh; 0: none is known */
    const char *busiest_link;     /* of a simulation, with those below; else NULL */
    double busiest_share;         /* of the time */
    int64_t n_events;
    double events_per_s; /* of this host's time */
} pod_bench_row;

typedef struct pod_bench {
    pod_call *call;
    pod_arena *arena;
    pod_bench_plan plan;
    pod_machine host; /* rank 0's */
    pod_table *table; /* on rank 0, once it has begun; else NULL */
    pod_bench_row *row;
    int n_rows;
} pod_bench;

/* ---- plan.c ---- */

/* From the options. E_INVALID for what cannot be measured; E_MISMATCH where files of rules differ
 * between hosts. Collective. */
POD_MUST pod_status pod_bench_plan_from(pod_call *call, pod_arena *a, pod_bench_plan *out);

/* With the chunk that a rule names where rules choose. */
pod_coll_args pod_bench_args(const pod_bench_plan *p, int size);
int64_t pod_bench_bytes(const pod_bench_plan *p, int size);
/* As nccl-tests counts: elements of the buffer, or of a rank's part (of the largest, where they are
 * uneven) where ranks have parts. */
int64_t pod_bench_count(const pod_bench_plan *p, int size);
/* Buffers to go round so that none is found in a cache: those of a node together are half as much
 * again as its last one holds. 0: that would be too many, or cold buffers are not asked for. */
int pod_bench_n_cold(const pod_bench_plan *p, int size);
bool pod_bench_runs_mpi(const pod_bench_plan *p);
const char *pod_bench_clock(const pod_bench_plan *p); /* "wall" or "virtual" */
/* "hot", "cold", or "simulated", where there are none. */
const char *pod_bench_buffers(const pod_bench_plan *p, bool is_cold);

/* ---- entries.c ---- */

/* --algo, for a plan that has all else. */
POD_MUST pod_status pod_bench_entries_from(const pod_config *c, pod_arena *a, pod_bench_plan *p);
/* Why this entry has no row at this size, or NULL. */
const char *pod_bench_why_not(const pod_bench_plan *p, const pod_bench_entry *e, int size);
/* A line of `refusal`: of `all`, this one refuses so many sizes. E_NOMEM. */
POD_MUST pod_status pod_bench_refuse(pod_arena *a, pod_bench_plan *p, const char *name, int n_sizes,
                                     const char *why);
/* What an entry runs at a size; NULL for the peer. */
const pod_coll_algo *pod_bench_pick(const pod_bench_plan *p, const pod_bench_entry *e, int size,
                                    pod_coll_args *args);

/* ---- the ways to measure: ranks.c, also with all ranks in one process, and sim.c ---- */

/* Every size and entry; rows are added on all ranks alike. Collective where there are ranks. */
POD_MUST pod_status pod_bench_ranks(pod_bench *b);
POD_MUST pod_status pod_bench_sim(pod_bench *b);
/* Whether they differ in their size alone. */
bool pod_bench_is_alike(const pod_bench_size *a, const pod_bench_size *b);
int pod_bench_peer(const pod_bench_plan *p); /* its entry; -1: none */
/* Whether the ranks of a node, or the one process for all ranks, find memory, shared or their own, for
 * their buffers: E_INVALID, for less may be asked for. All ranks of a node call it. */
POD_MUST pod_status pod_bench_ranks_room(const pod_bench *b);
/* Likewise; of `all` algorithms those that find none are left out, while one is left. */
POD_MUST pod_status pod_bench_sim_room(pod_bench *b);

/* ---- rows.c ---- */

/* `args` are what the algorithm was built with: they and the entry give the row its name. What is to
 * be said of row.iters is found here. */
POD_MUST pod_status pod_bench_add(pod_bench *b, pod_bench_row row, const pod_coll_args *args);
/* What is compared: of ours in place, since their buffers are registered; of the peer the faster
 * form. */
double pod_bench_time_s(const pod_bench_row *r);
double pod_bench_algbw(const pod_bench *b, const pod_bench_row *r, pod_bench_form f); /* GB/s */
double pod_bench_busbw(const pod_bench *b, const pod_bench_row *r, pod_bench_form f);

typedef struct pod_bench_factor { /* whole + nth / n, of n ranks, and what a person reads for it */
    const char *text;
    double whole, nth;
} pod_bench_factor;

typedef struct pod_bench_figures {
    pod_bench_factor busbw, traffic; /* busbw / algbw; what pod_bench_traffic answers */
    bool has_parts;                  /* each rank has a part of the buffer */
} pod_bench_figures;
extern const pod_bench_figures pod_bench_of_coll[POD_N_COLLS];

/* The share of its buffer that a rank must read and write at the least, on average: 1 is all of it
 * read and all of it written. */
double pod_bench_traffic(const pod_bench_plan *p, int size);
/* Reads and writes all of a buffer once, in place, with the kernel of collectives over shared
 * memory; k chooses how many parts of it at a time. What the limit on a wall clock is measured
 * with. The buffer is of zeros, or what is in it afterwards does not matter. */
void pod_bench_rewrite(void *buffer, size_t bytes, int k);

/* How one entry did on hot or on cold buffers, over all sizes it was measured at. */
typedef struct pod_bench_summary {
    int entry;
    bool is_cold;
    int n_rows;
    double busbw;       /* mean over both forms, as nccl-tests has it */
    double against_mpi; /* geometric mean of time of mpi / own time where anything is moved; 0: mpi
                           was not measured */
    const pod_bench_row *slowest;
} pod_bench_summary;

pod_bench_summary pod_bench_summarize(const pod_bench *b, int entry, bool is_cold);
int64_t pod_bench_n_wrong(const pod_bench *b);
/* The rows of one size that are hot or cold: the fastest that is not the peer; NULL: none. */
const pod_bench_row *pod_bench_best(const pod_bench *b, int size, bool is_cold);
const pod_bench_row *pod_bench_find(const pod_bench *b, int size, int entry, bool is_cold);

/* ---- table.c, record.c, autotune.c: rank 0 ---- */

/* The table on the screen: its head before anything is measured, each row as soon as it is known,
 * at the end the footer, the CSV and the iterations, where they are asked for. */
POD_MUST pod_status pod_bench_table_begin(pod_bench *b);
void pod_bench_table_row(pod_bench *b, const pod_bench_row *r);
POD_MUST pod_status pod_bench_table_end(pod_bench *b);
POD_MUST pod_status pod_bench_write_json(const pod_bench *b, const char *path);
/* plot.c: an SVG; without gnuplot a note. */
POD_MUST pod_status pod_bench_plot(const pod_bench *b, const char *path);
/* Rules for pod_coll_rules_read; every size has a row that is not the peer's (plan_from). */
POD_MUST pod_status pod_bench_autotune(const pod_bench *b, const char *path);

#endif
