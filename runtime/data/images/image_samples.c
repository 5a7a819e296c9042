#include "runtime/data/images/image_samples.h"

#include <string.h>

typedef struct images {
    const pod_dataset *dataset;
    pod_split split;
    pod_image_view view;
    pod_frame frame;
    bool copies; /* what is seen is what is stored */
} images;

/* Scratch memory holds the stored image, then what the augmentation needs. */
static size_t raw_bytes(const images *m)
{
    const size_t align = 64, bytes = (size_t)pod_dataset_sample_bytes(&m->dataset->info);
    return (bytes + align - 1) / align * align;
}

static pod_status fill(const pod_samples *s, int64_t epoch, int64_t sample, void *const row[],
                       void *scratch)
{
    const images *m = s->source;
    uint8_t *pixels = row[POD_FIELD_IMAGES], *raw = scratch;
    *(int32_t *)row[POD_FIELD_LABELS] = pod_dataset_label(m->dataset, m->split, sample);
    POD_TRY(pod_dataset_read(m->dataset, m->split, sample, m->copies ? pixels : raw));
    if (!m->copies)
        pod_augment_apply(&m->view.augment, m->view.seed, epoch, sample, &m->frame, raw, pixels,
                          raw + raw_bytes(m));
    return POD_OK;
}

static void pad(const pod_samples *s, void *const row[])
{
    memset(row[POD_FIELD_IMAGES], 0, (size_t)pod_field_row_bytes(&s->form.field[POD_FIELD_IMAGES]));
    *(int32_t *)row[POD_FIELD_LABELS] = POD_PADDING_LABEL;
}

pod_form pod_image_form(int64_t height, int64_t width, int64_t channels)
{
    return (pod_form){
        .n_fields = 2,
        .field = {[POD_FIELD_IMAGES] = {"images", POD_U8, 3, {height, width, channels}},
                  [POD_FIELD_LABELS] = {"labels", POD_I32, 0, {0}}}};
}

pod_status pod_image_samples(const pod_dataset *d, pod_split split, const pod_image_view *view,
                             pod_arena *a, pod_samples *out)
{
    const pod_dataset_info *info = &d->info;
    images *m = POD_ARENA_NEW(a, images, 1);
    if (!m) return POD_E_NOMEM;
    *m = (images){.dataset = d,
                  .split = split,
                  .view = *view,
                  .frame = {.height = info->height,
                            .width = info->width,
                            .out_height = view->height ? view->height : info->height,
                            .out_width = view->width ? view->width : info->width,
                            .channels = info->channels}};
    m->copies = pod_augment_is_copy(&view->augment, &m->frame);
    const pod_frame *f = &m->frame;
    *out = (pod_samples){
        .form = pod_image_form(f->out_height, f->out_width, f->channels),
        .n = info->n_samples[split],
        .scratch_bytes =
            m->copies ? 0 : raw_bytes(m) + pod_augment_scratch_bytes(&view->augment, f),
        .source = m,
        .fill = fill,
        .pad = pad};
    return POD_OK;
}
