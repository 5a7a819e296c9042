/* Tasks: the fields of a batch, the loss, and the metrics. A task is one file and one line in
 * tasks.def; a model names its task.
 *
 * A task defines the fields of a batch and draws the samples that fill them. From the network's
 * outputs it builds the loss, and sums over the samples from which the metrics are computed: the
 * metrics of a data set come from the sums of all its batches. */
#ifndef MINIPOD_RUNTIME_TASK_TASK_H
#define MINIPOD_RUNTIME_TASK_TASK_H

#include "runtime/core/metric.h"
#include "runtime/data/dataset.h"
#include "runtime/data/samples.h"
#include "runtime/ops/ops.h"
#include "runtime/task/setup.h"

typedef struct pod_task pod_task;

typedef struct pod_network_in {
    /* The fields of the batch, in the order of the task's form. Images have been normalized, in the
     * type of activations. */
    pod_value field[POD_MAX_FIELDS];
    pod_value draws; /* (N) i32, random numbers for dropout and stochastic depth in training; id 0
                        in evaluation */
    const pod_dataset_info *data;
    bool train;
} pod_network_in;

typedef struct pod_network_out {
    pod_value logits; /* image-classification: (N, n_classes) float32 */
    /* A language model: hidden (N, P, H), for each of P positions whose token is predicted. The
     * table (V, H) and the bias (V), which may have id 0, project it onto the vocabulary. */
    pod_value hidden, table, bias;
    pod_value next; /* masked-lm: (N, 2) float32, logits of "follows" and "is random" */
} pod_network_out;

/* A step of search: the next token of B hypotheses for each of N sources (models/language.h). */
typedef struct pod_network_step {
    const pod_dataset_info *data;
    pod_value token, count;   /* (N, B) i32 */
    pod_value lengths;        /* (N) i32: of the sources */
    const pod_value *source;  /* n_values, (N, S, H): what encode wrote */
    const pod_value *earlier; /* n_values, (N, B, T, H): rows of the earlier steps */
} pod_network_step;

/* The functions with which a beam search runs a network of the task translate. Both add operations
 * to a graph. `encode` reads the tokens and lengths of the sources, and writes source[], which
 * every step reads. `step` returns the logits (N, B V) of the next token, and writes rows[] of the
 * current token, which later steps read as part of `earlier`. */
typedef struct pod_network_search {
    int n_values; /* of source and earlier, at most POD_MAX_SEARCH_VALUES */
    int64_t hidden;
    void (*encode)(const void *ctx, pod_graph *g, const pod_network_in *in,
                   pod_value source[]); /* n_values, (N, S H) */
    pod_value (*step)(const void *ctx, pod_graph *g, const pod_network_step *in,
                      pod_value rows[]); /* n_values, (N, B H) */
} pod_network_search;

enum { POD_MAX_SEARCH_VALUES = 64 };

/* A network, passed as functions because the models are a layer above this one. */
typedef struct pod_network {
    const char *name;
    const pod_task *task;
    pod_network_out (*build)(const void *ctx, pod_graph *g, const pod_network_in *in);
    const void *ctx;
    pod_network_search search; /* zeroed: none */
} pod_network;

enum { POD_MAX_SUMS = 8, POD_MAX_TEXTS = 2, POD_NO_FIELD = -1 };

struct pod_task {
    const char *name;         /* "image-classification" */
    const char *mlperf;       /* name of the benchmark in MLPerf's log */
    const char *default_data; /* where no --data is given */
    int n_metrics;
    pod_metric metric[POD_MAX_METRICS]; /* the target's is the first, unless --target names one */
    /* The first metric is a score of translations found by a search (runtime/search). The metrics
     * of a training step have NaN there. */
    bool is_searched;
    /* The outputs of the programs, each summed over the batch. The first is the loss; in the
     * training program it is the quantity that is minimized. */
    int n_sums;
    const char *sum[POD_MAX_SUMS];
    /* The float32 field of weights with which the loss is a weighted mean. In training each weight
     * is divided by (the sum of the weights over the batch + mean_epsilon) before it is fed.
     * POD_NO_FIELD: the loss is a mean over samples. */
    int mean_over;
    double mean_epsilon;
    float label_smoothing; /* where --label-smoothing is not given */
    /* The texts of a sample: for each the field of ids, and the field with the number of ids that
     * are no padding. */
    int n_texts;
    struct {
        int ids, lengths; /* lengths: if it has several per sample, the last one counts */
    } text[POD_MAX_TEXTS];

    bool has_rows; /* it can output a row of logits per sample, for --predictions */

    /* `data` is the data set as the network sees it (pod_setup_seen). */
    pod_status (*check)(const pod_dataset_info *data); /* E_INVALID: it lacks the task's fields */
    pod_form (*form)(const pod_setup *s, const pod_dataset_info *data);
    pod_status (*samples)(const pod_setup *s, const pod_dataset *d, bool train, pod_arena *a,
                          pod_samples *out);
    /* Calls the network and appends the sums, in order; in evaluation with reads_logits (setup.h)
     * it also appends the rows of logits as one more output. */
    void (*build)(const pod_network *net, const pod_setup *s, pod_graph *g,
                  const pod_network_in *in, pod_value sum[]);
    /* Computes the metrics from sums over n_samples samples, and returns the mean loss, which is
     * not valid for a training step. */
    double (*measure)(const double sum[], int64_t n_samples, double metric[]);
};

#define POD_TASK(task) extern const pod_task task;
#include "runtime/task/tasks.def"
#undef POD_TASK

const pod_task *pod_task_find(const char *name); /* NULL: there is none */

/* Sets s->target_metric. E_INVALID if the task has no such metric, or if the target (0: none) is
 * better than the metric can be. */
POD_MUST pod_status pod_task_find_target(const pod_task *task, pod_setup *s);

/* Returns how many tokens a sample has room for in all its texts; 0 without any. */
int64_t pod_task_text_room(const pod_task *task, const pod_form *form);

#endif
