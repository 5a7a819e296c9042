/* Libraries of others that are measured beside our kernels, in the same rounds on the same
 * operands. The program `minipod` has none; `minipod-peers` is the same program with those that
 * CMake found. */
#ifndef MINIPOD_BENCH_PEERS_PEER_H
#define MINIPOD_BENCH_PEERS_PEER_H

#include "bench/kernels/kernels.h"

typedef struct pod_peer_call { /* borrowed as long as what is made of it */
    const pod_problem *problem;
    /* Weights, and whatever else the peer likes to have in a layout of its own, are laid out before
     * the clock runs; else all lies as ours does, and what the peer moves is in the time. */
    bool is_packed;
    int n_sets;
    const pod_operand *a, *b,
        *out; /* n_sets of each: the first and second operand, and the output */
} pod_peer_call;

typedef struct pod_peer_run pod_peer_run;

typedef struct pod_peer {
    const char *name; /* "onednn" */
    /* Into `text`: "oneDNN 2.6.3"; returns it. */
    const char *(*version)(char *text, size_t bytes);
    /* E_UNSUPPORTED for what it does not have. */
    pod_status (*create)(const pod_peer_call *call, pod_peer_run **out);
    void (*run)(pod_peer_run *r, int set);
    void (*settle)(pod_peer_run *r); /* set 0's output stands in `out` as ours would */
    void (*destroy)(pod_peer_run *r);
} pod_peer;

const pod_peer *pod_peers(int *n);

#endif
