/* Translation with teacher forcing: each token of a translation from the source and the tokens
 * before it. The loss is the sum of the smoothed cross-entropy over the sum of the weights of the
 * whole batch (MLPerf's Transformer). BLEU is of translations that a search makes without knowing
 * any of it (runtime/search). */
#include <math.h>

#include "runtime/data/text/sentence_pairs.h"
#include "runtime/task/task.h"

enum { LOSS, CORRECT, WEIGHT, N_SUMS };

static pod_status check(const pod_dataset_info *data)
{
    if (data->n_tokens > 0) return POD_OK;
    return pod_fail(POD_E_INVALID,
                    "%s: has images, translate needs pairs of sentences: `minipod data import "
                    "pairs`",
                    data->name);
}

static pod_form form(const pod_setup *s, const pod_dataset_info *data)
{
    (void)data;
    return pod_sentence_pairs_form(s->seq_len, s->pack);
}

static pod_status samples(const pod_setup *s, const pod_dataset *d, bool train, pod_arena *a,
                          pod_samples *out)
{
    POD_TRY(check(&d->info));
    return pod_sentence_pairs_open(d->text, train ? POD_SPLIT_TRAIN : POD_SPLIT_TEST, s->seq_len,
                                   train ? s->pack : 1, a, out);
}

/* In training the weights come divided by their sum over the batch (POD_PAIRS_WEIGHTS is
 * mean_over). */
static void build(const pod_network *net, const pod_setup *s, pod_graph *g,
                  const pod_network_in *in, pod_value sum[])
{
    const pod_network_out y = net->build(net->ctx, g, in);
    pod_vocab_sums sums;
    sum[LOSS] =
        pod_vocab_head(g, y.hidden, y.table, y.bias, in->field[POD_PAIRS_ANSWERS],
                       in->field[POD_PAIRS_WEIGHTS], in->train ? s->label_smoothing : 0, &sums);
    sum[CORRECT] = sums.correct;
    sum[WEIGHT] = sums.weight;
}

static double measure(const double sum[], int64_t n_samples, double metric[])
{
    (void)n_samples;
    metric[0] = (double)NAN;
    metric[1] = sum[CORRECT] / sum[WEIGHT];
    return sum[LOSS] / sum[WEIGHT];
}

const pod_task pod_task_translate = {
    .name = "translate",
    .mlperf = "transformer",
    .default_data = "cipher",
    .n_metrics = 2,
    .metric = {{"bleu", false, 100}, {"token_accuracy", false, 1}},
    .is_searched = true,
    .n_sums = N_SUMS,
    .sum = {"loss", "correct", "weight"},
    .mean_over = POD_PAIRS_WEIGHTS,
    .label_smoothing = 0.1f,
    .n_texts = 2,
    .text = {{POD_PAIRS_SOURCE, POD_PAIRS_SOURCE_LENGTHS},
             {POD_PAIRS_ANSWERS, POD_PAIRS_TARGET_LENGTHS}},
    .check = check,
    .form = form,
    .samples = samples,
    .build = build,
    .measure = measure,
};
