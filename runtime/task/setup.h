/* The setup of a run: the options of train and eval, checked and converted. */
#ifndef MINIPOD_RUNTIME_TASK_SETUP_H
#define MINIPOD_RUNTIME_TASK_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/algo/rules.h"
#include "runtime/config/config.h"
#include "runtime/data/dataset.h"
#include "runtime/data/images/augment.h"
#include "runtime/data/loader.h"
#include "runtime/optim/lr.h"
#include "runtime/optim/optim.h"
#include "runtime/passes/passes.h"

typedef struct pod_setup {
    const char *model, *data; /* borrowed; data "": that of the task */
    uint64_t seed;
    int64_t batch;              /* global */
    pod_compile_args compile;   /* its target is set by pod_network_compile */
    bool has_algo;              /* compile.rules come from --algo, not the default */
    const char *precision_name; /* "bf16-conv" */
    pod_dtype precision;        /* of activations */
    bool bf16_products;         /* float32 activations, but convolutions and matmuls in bf16 */
    bool plain_attention;       /* pod_attention_attr.plain */
    float dropout, survival;    /* of the model; -1: the model's default */
    double width, depth;        /* likewise; 0: the model's default */
    float bn_momentum, bn_epsilon;
    float label_smoothing;             /* -1: the task's */
    int64_t image_height, image_width; /* size that the network sees; 0: the stored size */
    pod_augment augment;
    int64_t seq_len, max_masked; /* tokens of a sequence; the most that are masked in one */
    int64_t pack;                /* translate: the most pairs that share a training sample */
    /* N: epoch e has the pairs and masks of epoch e mod N; 0: each epoch draws new ones. */
    int static_masks;
    int beam;              /* width of the beam search */
    double length_penalty; /* alpha of the beam search */
    int prefetch, input_threads;
    int64_t data_cache_bytes;

    const pod_optim *optim;
    pod_hparams hparams;
    pod_lr lr; /* steps are filled in by pod_setup_schedule */
    float ema; /* decay of the weights' moving averages, which are evaluated then; 0: none */
    double warmup_epochs, decay_epochs;
    int64_t warmup_steps; /* 0: warmup_epochs counts */
    double epochs;
    int64_t steps;     /* 0: `epochs` counts */
    double eval_every; /* epochs; 0: only at the end */
    double target;     /* 0: none */
    /* "NAME=..." names the target's metric; without a name it is the first. */
    const char *target_of;
    int target_metric;    /* index in the task's metrics: pod_task_find_target sets it */
    bool reads_logits;    /* evaluation also outputs logits, for --predictions */
    const char *settings; /* all options of train as text, a line "option = value" each */
} pod_setup;

/* Parses --mesh. "auto" is a 2-D torus, as square as n_ranks allows, the longer side first.
 * E_INVALID if the text does not parse, or if the mesh has not n_ranks cores. */
POD_MUST pod_status pod_setup_mesh(const char *text, int n_ranks, pod_mesh *out);

/* Parses --target: "0.9" or "NAME=0.9", of which 0.9 is the value. E_INVALID unless it is a number
 * from 0 to 1e9. */
POD_MUST pod_status pod_setup_target(const pod_config *c, double *value);

/* Computes the setup of a run. `node_size` comes from pod_comm_node_size; `arena` holds the rules;
 * `c` must outlive the setup. E_INVALID, naming the option. */
POD_MUST pod_status pod_setup_from(const pod_config *c, int n_ranks, int node_size,
                                   pod_arena *arena, pod_setup *out);
/* The same without the check that the batch is divisible by ranks and micro-steps. Use the result
 * only with pod_setup_evaluation. */
POD_MUST pod_status pod_setup_to_evaluate(const pod_config *c, int n_ranks, int node_size,
                                          pod_arena *arena, pod_setup *out);

/* Returns the data set as the network sees it: with --image-size instead of the stored size. Texts
 * and arrays are those of `stored`. */
pod_dataset_info pod_setup_seen(const pod_setup *s, const pod_dataset_info *stored);

/* Returns `s` with a batch for evaluating n_samples: the smallest one, divisible by cores times
 * micro-steps, with as many batches as s->batch would need. For the evaluation program and its
 * loader. */
pod_setup pod_setup_evaluation(const pod_setup *s, int64_t n_samples);

/* Returns the options of this rank's loader: for training, shuffled; for evaluation, all samples in
 * order. */
pod_loader_options pod_setup_loader(const pod_setup *s, bool train, int rank, int size);

/* The length of a run, computed when the data set is known. */
typedef struct pod_schedule {
    int64_t steps_per_epoch, n_steps;
    int64_t eval_every; /* in steps, at least 1; n_steps: only at the end */
    int64_t ahead;      /* position in the data, in steps of this batch, minus the number of steps
                           done; not 0 after a resume from another batch size */
} pod_schedule;

/* Computes the schedule and completes s->lr. E_INVALID if the batch is larger than the training
 * set, or if the run has no steps. */
POD_MUST pod_status pod_setup_schedule(pod_setup *s, int64_t n_train, pod_schedule *out);

/* Adjusts a schedule to a run that resumes after first_step steps, of any batch size, which read
 * `epochs` epochs of data. Lengths in epochs are totals from the start of the data: a run of 10
 * epochs that resumes after 4 trains 6 more. `epochs` is rounded to whole steps of this batch. NaN
 * means that it is unknown; then the first_step steps count as steps of this batch. A length in
 * steps does not change. */
void pod_setup_go_on(pod_setup *s, int64_t first_step, double epochs, pod_schedule *schedule);

/* Returns whether eval_every is exactly the interval that --eval-every asks for, which may not be a
 * whole number of steps. */
bool pod_schedule_evaluates_as_asked(const pod_schedule *schedule, const pod_setup *s);

/* Return the position in the data after n_done steps: in steps of this batch, and in epochs. */
int64_t pod_schedule_place(const pod_schedule *s, int64_t n_done);
double pod_schedule_epochs(const pod_schedule *s, int64_t n_done);

#endif
