/* Images with one label each: softmax cross-entropy, and the share of samples whose label has the
 * largest logit. */
#include "runtime/data/images/image_samples.h"
#include "runtime/task/task.h"

enum { LOSS, CORRECT, N_SUMS };

static pod_status check(const pod_dataset_info *data)
{
    if (data->n_tokens == 0) return POD_OK;
    return pod_fail(POD_E_INVALID,
                    "%s: has text, image-classification needs images and labels: a language model "
                    "such as --model bert-tiny reads it",
                    data->name);
}

static pod_form form(const pod_setup *s, const pod_dataset_info *data)
{
    (void)s;
    return pod_image_form(data->height, data->width, data->channels);
}

static pod_status samples(const pod_setup *s, const pod_dataset *d, bool train, pod_arena *a,
                          pod_samples *out)
{
    POD_TRY(check(&d->info));
    const pod_image_view view = {.augment = train ? s->augment : (pod_augment){0},
                                 .seed = s->seed,
                                 .height = s->image_height,
                                 .width = s->image_width};
    return pod_image_samples(d, train ? POD_SPLIT_TRAIN : POD_SPLIT_TEST, &view, a, out);
}

static pod_value normalized(pod_graph *g, const pod_setup *s, const pod_dataset_info *data,
                            pod_value bytes)
{
    float mean[POD_MAX_CHANNELS], std[POD_MAX_CHANNELS];
    if (data->channels > POD_MAX_CHANNELS)
        return pod_graph_fail(g, POD_E_UNSUPPORTED,
                              "images have %d channels, at most %d can be fed", (int)data->channels,
                              POD_MAX_CHANNELS);
    for (int64_t c = 0; c < data->channels; c++) {
        mean[c] = (float)data->mean[c];
        std[c] = (float)data->std[c];
    }
    return pod_normalize(g, bytes, mean, std, s->precision);
}

static void build(const pod_network *net, const pod_setup *s, pod_graph *g,
                  const pod_network_in *in, pod_value sum[])
{
    pod_network_in seen = *in;
    seen.field[POD_FIELD_IMAGES] = normalized(g, s, in->data, in->field[POD_FIELD_IMAGES]);
    const pod_value labels = in->field[POD_FIELD_LABELS];
    const pod_value logits = net->build(net->ctx, g, &seen).logits;
    const pod_softmax_loss_attr attr = {.smoothing = in->train ? s->label_smoothing : 0.0f,
                                        .scale = in->train ? 1.0f / (float)s->batch : 1.0f};
    sum[LOSS] = pod_softmax_loss(g, logits, labels, attr);
    sum[CORRECT] = pod_count_correct(g, logits, labels);
    if (!in->train && s->reads_logits) sum[N_SUMS] = logits;
}

static double measure(const double sum[], int64_t n_samples, double metric[])
{
    metric[0] = sum[CORRECT] / (double)n_samples;
    return sum[LOSS] / (double)n_samples;
}

const pod_task pod_task_image_classification = {
    .name = "image-classification",
    .mlperf = "resnet",
    .default_data = "glyphs",
    .n_metrics = 1,
    .metric = {{"accuracy", false, 1}},
    .n_sums = N_SUMS,
    .sum = {"loss", "correct"},
    .mean_over = POD_NO_FIELD,
    .has_rows = true,
    .check = check,
    .form = form,
    .samples = samples,
    .build = build,
    .measure = measure,
};
