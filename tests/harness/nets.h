/* Small networks with made data, for tests of programs, executors and training. The same at each
 * mesh: 48 samples of 6 x 6 x 2 bytes in 5 classes. */
#ifndef MINIPOD_TESTS_HARNESS_NETS_H
#define MINIPOD_TESTS_HARNESS_NETS_H

#include "runtime/exec/store.h"
#include "runtime/task/network.h"

enum {
    POD_TEST_BATCH = 48,
    POD_TEST_CLASSES = 5,
    POD_TEST_H = 6,
    POD_TEST_W = 6,
    POD_TEST_C = 2,
    POD_TEST_PIXELS = POD_TEST_H * POD_TEST_W * POD_TEST_C,
    POD_TEST_MAX_RANKS = 16
};

typedef struct pod_test_net {
    const char *name;
    bool with_bn;
    pod_value (*logits)(pod_graph *g, pod_value images, pod_value draws, int64_t n_classes,
                        bool train);
} pod_test_net;

enum { POD_TEST_PERCEPTRON, POD_TEST_RESIDUAL, POD_TEST_BN_RESIDUAL, POD_TEST_N_NETS };
extern const pod_test_net pod_test_nets[POD_TEST_N_NETS];
extern const pod_test_net pod_test_squeezed; /* what EfficientNet is made of */
extern const pod_test_net pod_test_dropping; /* leaves out at random, in training */

pod_network pod_test_network(const pod_test_net *net);

/* How a network becomes a program that trains with LARS. */
typedef struct pod_test_plan {
    const pod_test_net *net;
    pod_dtype precision;
    const char *mesh;  /* "2x2" */
    const char *rules; /* NULL: the tree below 256 bytes, then the torus */
    int64_t bucket_bytes;
    size_t guard_bytes;
    uint32_t cpu;
    const char *optimizer; /* NULL: lars */
    pod_dtype wire;        /* these as in pod_compile_args */
    bool shard_update, fusion, recompute;
    size_t tile_bytes;
    int node_size;
    bool wait_at_once;
    int accumulate;
    pod_group bn_group;
    float ema;
} pod_test_plan;

/* The program lives in the arena. */
POD_MUST pod_status pod_test_compile(pod_arena *a, const pod_test_plan *plan,
                                     const pod_program **out);
/* The same in pod_test_arena(); fails the running test where there is none. */
const pod_program *pod_test_program(const pod_test_plan *plan);
/* How many instructions of the program are this op's. */
int pod_test_n_instrs(const pod_program *p, const char *op);
/* The graph that is compiled, for the same. */
POD_MUST pod_status pod_test_graph(pod_arena *a, const pod_test_plan *plan, pod_graph **out);

/* Data of all ranks and their stores. */
typedef struct pod_test_job {
    const pod_program *program;
    pod_store *store[POD_TEST_MAX_RANKS];
    const void *feed[4 * POD_TEST_MAX_RANKS]; /* by input, then rank, as pod_check_step takes it */
    uint8_t images[POD_TEST_BATCH * POD_TEST_PIXELS];
    int32_t labels[POD_TEST_BATCH];
    float lr, step;
    int n_ranks;
} pod_test_job;

/* A store a rank, and images that tell their class. */
void pod_test_job_start(pod_test_job *j, const pod_program *p);
void pod_test_job_end(pod_test_job *j);
/* More steps of the check executor; answers the last loss. Fails the running test where a step
 * fails or ranks end with other weights than rank 0. */
double pod_test_job_train(pod_test_job *j, int n_steps);
/* Starts and trains the plan's program (pod_test_program). The other ends the job as well. */
double pod_test_job_run(pod_test_job *j, const pod_test_plan *plan, int n_steps);
double pod_test_loss_of(const pod_test_plan *plan, int n_steps);
/* |a - b| / |b| over all weights and moving statistics: how far two runs are apart. */
double pod_test_distance(pod_store *a, pod_store *b);

#endif
