/* Other libraries whose kernels are measured next to minipod's, in the same rounds and on the same
 * operands. The program `minipod` has none; `minipod-peers` is the same program with the libraries
 * that CMake found. */
#ifndef MINIPOD_BENCH_PEERS_PEER_H
#define MINIPOD_BENCH_PEERS_PEER_H

#include "bench/kernels/kernels.h"

typedef struct pod_peer_call { /* borrowed as long as the run created from it */
    const pod_problem *problem;
    /* true: weights, and other operands for which the peer has its own layout, are converted before
     * the clock starts; false: all operands have minipod's layout, and conversions are timed. */
    bool is_packed;
    int n_sets;
    const pod_operand *a, *b, *out; /* first and second operand, and output; n_sets of each */
} pod_peer_call;

typedef struct pod_peer_run pod_peer_run;

typedef struct pod_peer {
    const char *name; /* "onednn" */
    /* Writes "oneDNN 2.6.3" to `text`, and returns it. */
    const char *(*version)(char *text, size_t bytes);
    /* Fails with E_UNSUPPORTED if the library has no such kernel. */
    pod_status (*create)(const pod_peer_call *call, pod_peer_run **out);
    void (*run)(pod_peer_run *r, int set);
    void (*settle)(pod_peer_run *r); /* brings set 0's output to `out`, in minipod's layout */
    void (*destroy)(pod_peer_run *r);
} pod_peer;

const pod_peer *pod_peers(int *n);

#endif
