#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/json.h"
#include "runtime/data/dataset.h"

/* How many samples each class has, (POD_N_SPLITS, n_classes); to be freed. */
static pod_status count_all(const pod_dataset *d, int64_t **out)
{
    const int n = d->info.n_classes;
    int64_t *counts = calloc((size_t)n * POD_N_SPLITS, sizeof *counts);
    if (!counts) return pod_fail(POD_E_NOMEM, "%s: no memory to count classes", d->info.name);
    for (int s = 0; s < POD_N_SPLITS; s++)
        pod_dataset_count_classes(d, (pod_split)s, counts + (ptrdiff_t)s * n);
    *out = counts;
    return POD_OK;
}

pod_status pod_dataset_print(const pod_dataset *d, FILE *to)
{
    const pod_dataset_info *info = &d->info;
    int64_t *counts;
    POD_TRY(count_all(d, &counts));
    fprintf(to, "name      %s\n", info->name);
    fprintf(to, "kind      %s\n", d->kind->name);
    fprintf(to, "images    %" PRId64 "x%" PRId64 "x%" PRId64 " (HxWxC), 8 bits\n", info->height,
            info->width, info->channels);
    fprintf(to, "train     %" PRId64 "\n", info->n_samples[POD_SPLIT_TRAIN]);
    fprintf(to, "test      %" PRId64 "\n", info->n_samples[POD_SPLIT_TEST]);
    for (int64_t c = 0; c < info->channels; c++)
        fprintf(to, "channel   %" PRId64 ": mean %.5f, std %.5f\n", c, info->mean[c], info->std[c]);
    for (int i = 0; i < info->n_classes; i++)
        fprintf(to, "class     %d: %s, %" PRId64 " train, %" PRId64 " test\n", i,
                info->class_names[i], counts[i], counts[info->n_classes + i]);
    fprintf(to, "origin    %s\n", info->origin);
    fprintf(to, "licence   %.*s\n", (int)strcspn(info->licence, "\r\n"), info->licence);
    free(counts);
    return POD_OK;
}

static void put_numbers(pod_json *j, const char *key, int64_t n, const double value[])
{
    pod_json_open_array(j, key);
    for (int64_t i = 0; i < n; i++) pod_json_double(j, NULL, value[i]);
    pod_json_close(j);
}

static void put_classes(pod_json *j, const pod_dataset_info *info, const int64_t counts[])
{
    pod_json_open_array(j, "classes");
    for (int i = 0; i < info->n_classes; i++) {
        pod_json_open_object(j, NULL);
        pod_json_text(j, "name", info->class_names[i]);
        pod_json_int(j, "n_train", counts[i]);
        pod_json_int(j, "n_test", counts[info->n_classes + i]);
        pod_json_close(j);
    }
    pod_json_close(j);
}

pod_status pod_dataset_print_json(const pod_dataset *d, FILE *to)
{
    const pod_dataset_info *info = &d->info;
    int64_t *counts;
    POD_TRY(count_all(d, &counts));
    pod_json j = pod_json_start(to, 2);
    pod_json_open_object(&j, NULL);
    pod_json_text(&j, "name", info->name);
    pod_json_text(&j, "kind", d->kind->name);
    pod_json_int(&j, "height", info->height);
    pod_json_int(&j, "width", info->width);
    pod_json_int(&j, "channels", info->channels);
    pod_json_int(&j, "n_train", info->n_samples[POD_SPLIT_TRAIN]);
    pod_json_int(&j, "n_test", info->n_samples[POD_SPLIT_TEST]);
    put_numbers(&j, "mean", info->channels, info->mean);
    put_numbers(&j, "std", info->channels, info->std);
    put_classes(&j, info, counts);
    pod_json_text(&j, "origin", info->origin);
    pod_json_text(&j, "licence", info->licence);
    pod_json_close(&j);
    free(counts);
    return POD_OK;
}
