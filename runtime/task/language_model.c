/* Language modelling: each token of a text from those before it. The loss is the mean cross-entropy
 * over all predicted tokens of the batch, whichever cores have them; perplexity is e to this mean
 * over the whole test split. */
#include <math.h>

#include "runtime/data/text/next_tokens.h"
#include "runtime/task/task.h"

enum { LOSS, CORRECT, WEIGHT, N_SUMS };

static pod_status check(const pod_dataset_info *data)
{
    if (data->n_tokens > 0) return POD_OK;
    return pod_fail(POD_E_INVALID,
                    "%s: has images, language-model needs text: `minipod data import text`",
                    data->name);
}

static pod_form form(const pod_setup *s, const pod_dataset_info *data)
{
    (void)data;
    return pod_next_tokens_form(s->seq_len);
}

static pod_status samples(const pod_setup *s, const pod_dataset *d, bool train, pod_arena *a,
                          pod_samples *out)
{
    POD_TRY(check(&d->info));
    return pod_next_tokens_open(d->text, train ? POD_SPLIT_TRAIN : POD_SPLIT_TEST, s->seq_len, a,
                                out);
}

/* In training the weights come divided by their sum over the batch (POD_NEXT_WEIGHTS is
 * mean_over). */
static void build(const pod_network *net, const pod_setup *s, pod_graph *g,
                  const pod_network_in *in, pod_value sum[])
{
    const pod_network_out y = net->build(net->ctx, g, in);
    pod_vocab_sums sums;
    sum[LOSS] =
        pod_vocab_head(g, y.hidden, y.table, y.bias, in->field[POD_NEXT_ANSWERS],
                       in->field[POD_NEXT_WEIGHTS], in->train ? s->label_smoothing : 0, &sums);
    sum[CORRECT] = sums.correct;
    sum[WEIGHT] = sums.weight;
}

static double measure(const double sum[], int64_t n_samples, double metric[])
{
    (void)n_samples;
    const double loss = sum[LOSS] / sum[WEIGHT];
    metric[0] = exp(loss);
    metric[1] = sum[CORRECT] / sum[WEIGHT];
    return loss;
}

const pod_task pod_task_language_model = {
    .name = "language-model",
    .mlperf = "language_model", /* no benchmark of MLPerf */
    .default_data = "phrases",
    .n_metrics = 2,
    .metric = {{"perplexity", true, 1}, {"token_accuracy", false, 1}},
    .n_sums = N_SUMS,
    .sum = {"loss", "correct", "weight"},
    .mean_over = POD_NEXT_WEIGHTS,
    .n_texts = 1,
    .text = {{POD_NEXT_IDS, POD_NEXT_LENGTHS}},
    .check = check,
    .form = form,
    .samples = samples,
    .build = build,
    .measure = measure,
};
