/* What a run was asked to do: the settings of train and eval, checked and turned into numbers. */
#ifndef MINIPOD_RUNTIME_TRAIN_SETUP_H
#define MINIPOD_RUNTIME_TRAIN_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/algo/rules.h"
#include "runtime/config/config.h"
#include "runtime/data/augment.h"
#include "runtime/data/loader.h"
#include "runtime/optim/lr.h"
#include "runtime/optim/optim.h"
#include "runtime/passes/passes.h"

typedef struct pod_setup {
    const char *model, *data; /* borrowed from the configuration */
    uint64_t seed;
    int64_t batch;              /* global */
    pod_compile_args compile;   /* without its target */
    bool has_algo;              /* its rules are --algo's */
    const char *precision_name; /* "bf16-conv" */
    pod_dtype precision;        /* of activations */
    bool bf16_products;      /* of float32 activations: convolutions and matrix products in bf16 */
    float dropout, survival; /* of the model; below 0: its own */
    double width, depth;     /* likewise; 0: its own */
    float bn_momentum, bn_epsilon, label_smoothing;
    int64_t image_height, image_width; /* what the network sees; 0: what is stored */
    pod_augment augment;
    int prefetch, input_threads;
    int64_t data_cache_bytes;

    const pod_optim *optim;
    pod_hparams hparams;
    pod_lr lr; /* steps are filled in by pod_setup_schedule */
    float ema; /* decay of the moving averages that are evaluated; 0: the weights themselves are */
    double warmup_epochs, decay_epochs;
    double epochs;
    int64_t steps;        /* 0: by epochs */
    double eval_every;    /* epochs; 0: only at the end */
    double target;        /* accuracy; 0: none */
    bool reads_logits;    /* an evaluation does, beside loss and accuracy */
    const char *settings; /* all options of train as text, `option = value` a line */
} pod_setup;

/* `text` "auto": as square as the number of ranks allows, the longer side first. E_INVALID when it
 * does not parse or has another number of cores than there are ranks. */
POD_MUST pod_status pod_setup_mesh(const char *text, int n_ranks, pod_mesh *out);

/* `node_size` is that of the job (pod_comm_node_size); `arena` keeps the rules; `c` must outlive
 * the setup. E_INVALID, naming the option. */
POD_MUST pod_status pod_setup_from(const pod_config *c, int n_ranks, int node_size,
                                   pod_arena *arena, pod_setup *out);
/* The same of any batch and number of ranks, for pod_setup_evaluation alone. */
POD_MUST pod_status pod_setup_to_evaluate(const pod_config *c, int n_ranks, int node_size,
                                          pod_arena *arena, pod_setup *out);

/* The data set as the network sees it: --image-size instead of the stored one. Points to the same
 * texts and numbers. */
pod_dataset_info pod_setup_seen(const pod_setup *s, const pod_dataset_info *stored);

/* `s` where it evaluates n_samples: its batch takes them in as many batches as before, of as few
 * empty rows as cores and micro-steps allow. For the program of an evaluation and its loader. */
pod_setup pod_setup_evaluation(const pod_setup *s, int64_t n_samples);

/* How this rank's batches are made: training's, in an order of their own, augmented; or those of an
 * evaluation, all samples in turn. */
pod_loader_options pod_setup_loader(const pod_setup *s, bool train, int rank, int size);

/* How long a run is, once the data set is known. */
typedef struct pod_schedule {
    int64_t steps_per_epoch, n_steps;
    int64_t eval_every; /* steps, 1 or more; that of the end: only there */
    int64_t ahead;      /* 0 but behind steps of another batch: the position in the data, in steps
                           of this batch, is that of so many steps more */
} pod_schedule;

/* Also completes s->lr. E_INVALID when the batch is larger than the training set or the run has no
 * step. */
POD_MUST pod_status pod_setup_schedule(pod_setup *s, int64_t n_train, pod_schedule *out);

/* The same for a run that goes on behind first_step steps, of whatever batch, which saw the data
 * for `epochs`: what is counted in epochs is counted on from there, to the nearest step; where that
 * is NaN, not known, as if those steps had been of this batch. */
void pod_setup_go_on(pod_setup *s, int64_t first_step, double epochs, pod_schedule *schedule);

/* Whether evaluations are as many steps apart as was asked for, which need be no whole number. */
bool pod_schedule_evaluates_as_asked(const pod_schedule *schedule, const pod_setup *s);

/* The position in the data after so many steps: in steps of this batch, and in epochs. */
int64_t pod_schedule_place(const pod_schedule *s, int64_t n_done);
double pod_schedule_epochs(const pod_schedule *s, int64_t n_done);

#endif
