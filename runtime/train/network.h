/* The programs of a run: a network between its input and its loss, compiled for training or for
 * evaluation. Both name their variables alike, so one store serves both. */
#ifndef MINIPOD_RUNTIME_TRAIN_NETWORK_H
#define MINIPOD_RUNTIME_TRAIN_NETWORK_H

#include "runtime/data/dataset.h"
#include "runtime/train/setup.h"

/* images (N, H, W, C) in the travelling type -> logits (N, n_classes) float32. The layer of models
 * lies above this one, so a network comes in as a function. `draws` (N), int32, are random numbers
 * for what is left out in training; id 0 in evaluation. */
typedef struct pod_network {
    const char *name;
    pod_value (*build)(const void *ctx, pod_graph *g, pod_value images, pod_value draws,
                       int64_t n_classes, bool train);
    const void *ctx;
} pod_network;

/* The first inputs, and the outputs, of both programs; logits are evaluation's alone. Other inputs
 * are found by their names: a program has those that it reads (pod_program_find_input). */
enum { POD_NET_IMAGES, POD_NET_LABELS };
enum { POD_NET_LOSS, POD_NET_CORRECT, POD_NET_LOGITS };

/* The graph of one step: `images` u8 (N, H, W, C), `labels` i32 (N); for training also `draws`, i32
 * (N), and the scalars `lr` and `step`, gradients and update. Outputs: `loss` (training: the mean
 * over the batch; evaluation: the sum over its samples) and `correct`, a count; where an evaluation
 * is asked for them, the rows `logits`. Lives in `arena`. */
POD_MUST pod_status pod_network_graph(const pod_network *net, const pod_setup *s,
                                      const pod_dataset_info *data, bool train, pod_arena *arena,
                                      pod_graph **out);

/* Graph and program; only the program stays, in `arena`. */
POD_MUST pod_status pod_network_compile(const pod_network *net, const pod_setup *s,
                                        const pod_dataset_info *data, bool train,
                                        const pod_target *target, pod_arena *arena,
                                        const pod_program **out);

/* Whether batch norm has samples to normalize over. E_INVALID, naming the layer, where training would
 * take each statistic from a single value, which leaves zeros behind; *warning, in the arena, where
 * it would take it from fewer than POD_FEW_NORM_VALUES, else NULL. */
enum { POD_FEW_NORM_VALUES = 8 };
POD_MUST pod_status pod_network_check_norms(const pod_network *net, const pod_setup *s,
                                            const pod_dataset_info *data, pod_arena *arena,
                                            const char **warning);

/* A line on the largest collective of the program that goes by what --algo does not say, in the
 * arena; NULL where there is none. */
const char *pod_network_algo_missed(const pod_setup *s, const pod_program *p, pod_arena *arena);

#endif
