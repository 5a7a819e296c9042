/* The programs of a run: a network with its task's input and loss, compiled for training or for
 * evaluation. Both programs give variables the same names, so that one store serves both. */
#ifndef MINIPOD_RUNTIME_TASK_NETWORK_H
#define MINIPOD_RUNTIME_TASK_NETWORK_H

#include "runtime/task/task.h"

enum { POD_NET_LOSS }; /* index of the output in both programs */

/* Builds the graph of one step. Inputs: the fields of the task's form; for training also `draws`
 * i32 (N) and the scalars `lr` and `step`. A program has only those that it reads: find them by
 * name (pod_program_find_input). A training graph has gradients and update. Outputs: the task's
 * sums, and `logits` for evaluation with reads_logits (setup.h). Lives in `arena`. */
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
