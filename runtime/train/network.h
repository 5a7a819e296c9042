/* The programs of a run: a network with its input and its loss, compiled for training or for
 * evaluation. Both programs give variables the same names, so that one store serves both. */
#ifndef MINIPOD_RUNTIME_TRAIN_NETWORK_H
#define MINIPOD_RUNTIME_TRAIN_NETWORK_H

#include "runtime/data/dataset.h"
#include "runtime/train/setup.h"

/* A network, passed as a function because the models are a layer above this one. `build` maps
 * images (N, H, W, C) of the activations' type to logits (N, n_classes) float32. `draws` (N),
 * int32, are random numbers for dropout and stochastic depth in training; id 0 in evaluation. */
typedef struct pod_network {
    const char *name;
    pod_value (*build)(const void *ctx, pod_graph *g, pod_value images, pod_value draws,
                       int64_t n_classes, bool train);
    const void *ctx;
} pod_network;

/* Indices of the first inputs and of the outputs of both programs; only evaluation has logits. Find
 * other inputs by name (pod_program_find_input): a program has only those that it reads. */
enum { POD_NET_IMAGES, POD_NET_LABELS };
enum { POD_NET_LOSS, POD_NET_CORRECT, POD_NET_LOGITS };

/* Builds the graph of one step. Inputs: `images` u8 (N, H, W, C) and `labels` i32 (N); for training
 * also `draws` i32 (N) and the scalars `lr` and `step`. A training graph has gradients and update.
 * Outputs: `loss` (training: the mean over the batch; evaluation: the sum over the samples) and
 * `correct`, a count; for evaluation with reads_logits (setup.h) also the rows `logits`. Lives in
 * `arena`. */
POD_MUST pod_status pod_network_graph(const pod_network *net, const pod_setup *s,
                                      const pod_dataset_info *data, bool train, pod_arena *arena,
                                      pod_graph **out);

/* Builds the graph and compiles it; only the program stays, in `arena`. */
POD_MUST pod_status pod_network_compile(const pod_network *net, const pod_setup *s,
                                        const pod_dataset_info *data, bool train,
                                        const pod_target *target, pod_arena *arena,
                                        const pod_program **out);

/* Checks that every batch norm has enough values for its statistics in training. E_INVALID, naming
 * the layer, if a layer would compute each statistic from a single value, which makes its output
 * constant. Sets *warning to a text in the arena if a layer has fewer than POD_FEW_NORM_VALUES
 * values, else to NULL. */
enum { POD_FEW_NORM_VALUES = 8 };
POD_MUST pod_status pod_network_check_norms(const pod_network *net, const pod_setup *s,
                                            const pod_dataset_info *data, pod_arena *arena,
                                            const char **warning);

/* Returns a line, in the arena, on the largest collective of the program that no rule of --algo
 * covers; NULL if all are covered. */
const char *pod_network_algo_missed(const pod_setup *s, const pod_program *p, pod_arena *arena);

#endif
