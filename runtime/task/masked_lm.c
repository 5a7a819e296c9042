/* BERT's pre-training: the masked tokens of two segments of text, and whether the second follows the
 * first. The loss is the mean cross-entropy over all masked tokens of the batch, whichever cores
 * have them, plus the mean over the sequences of the next-sentence loss. Label smoothing is of the
 * first part alone (runtime/ops/ops.h, pod_vocab_head). */
#include "runtime/data/text/masked_pairs.h"
#include "runtime/task/task.h"

enum { LOSS, CORRECT, WEIGHT, NEXT_LOSS, NEXT_CORRECT, N_SUMS };

static const double MASK_RATE = 0.15, SHORT_SHARE = 0.1; /* Devlin et al. 2018 */

static pod_masked_pairs how(const pod_setup *s, bool train)
{
    return (pod_masked_pairs){.seq_len = s->seq_len,
                              .max_masked = s->max_masked,
                              .mask_rate = MASK_RATE,
                              .short_share = SHORT_SHARE,
                              .static_passes = train ? s->static_masks : 1,
                              .seed = s->seed};
}

static pod_status check(const pod_dataset_info *data)
{
    if (data->n_tokens > 0) return POD_OK;
    return pod_fail(POD_E_INVALID,
                    "%s: has images, masked-lm needs text: `minipod data import text`", data->name);
}

static pod_form form(const pod_setup *s, const pod_dataset_info *data)
{
    (void)data;
    const pod_masked_pairs m = how(s, true);
    return pod_masked_pairs_form(&m);
}

static pod_status samples(const pod_setup *s, const pod_dataset *d, bool train, pod_arena *a,
                          pod_samples *out)
{
    const pod_masked_pairs m = how(s, train);
    POD_TRY(check(&d->info));
    return pod_masked_pairs_open(d->text, train ? POD_SPLIT_TRAIN : POD_SPLIT_TEST, &m, a, out);
}

/* In training the weights come divided by their sum over the batch (POD_MASKED_WEIGHTS is
 * mean_over). */
static void build(const pod_network *net, const pod_setup *s, pod_graph *g,
                  const pod_network_in *in, pod_value sum[])
{
    const pod_network_out y = net->build(net->ctx, g, in);
    const pod_softmax_loss_attr next = {.scale = in->train ? 1.0f / (float)s->batch : 1.0f};
    pod_vocab_sums masked;
    sum[LOSS] =
        pod_vocab_head(g, y.hidden, y.table, y.bias, in->field[POD_MASKED_ANSWERS],
                       in->field[POD_MASKED_WEIGHTS], in->train ? s->label_smoothing : 0, &masked);
    sum[CORRECT] = masked.correct;
    sum[WEIGHT] = masked.weight;
    sum[NEXT_LOSS] = pod_softmax_loss(g, y.next, in->field[POD_MASKED_NEXT], next);
    sum[NEXT_CORRECT] = pod_count_correct(g, y.next, in->field[POD_MASKED_NEXT]);
    if (in->train) sum[LOSS] = pod_axpby(g, 1, sum[LOSS], 1, sum[NEXT_LOSS]);
}

static double measure(const double sum[], int64_t n_samples, double metric[])
{
    metric[0] = sum[CORRECT] / sum[WEIGHT];
    metric[1] = sum[NEXT_CORRECT] / (double)n_samples;
    return sum[LOSS] / sum[WEIGHT] + sum[NEXT_LOSS] / (double)n_samples;
}

const pod_task pod_task_masked_lm = {
    .name = "masked-lm",
    .mlperf = "bert",
    .default_data = "phrases",
    .n_metrics = 2,
    .metric = {{"masked_accuracy", false, 1}, {"next_accuracy", false, 1}},
    .n_sums = N_SUMS,
    .sum = {"loss", "correct", "weight", "next_loss", "next_correct"},
    .mean_over = POD_MASKED_WEIGHTS,
    .mean_epsilon = 1e-5, /* as BERT's reference */
    .n_texts = 1,
    .text = {{POD_MASKED_IDS, POD_MASKED_LENGTHS}},
    .check = check,
    .form = form,
    .samples = samples,
    .build = build,
    .measure = measure,
};
