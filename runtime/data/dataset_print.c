#include "runtime/data/dataset_print.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* (POD_N_SPLITS, n_classes), for the caller to free; NULL with the failure recorded. */
static int64_t *count_all(const pod_dataset *d)
{
    int n = d->info.n_classes;
    int64_t *counts = calloc((size_t)n * POD_N_SPLITS, sizeof *counts);
    if (!counts) {
        (void)pod_fail(POD_E_NOMEM, "%s: no memory to count classes", d->info.name);
        return NULL;
    }
    for (int s = 0; s < POD_N_SPLITS; s++)
        pod_dataset_count_classes(d, (pod_split)s, counts + (ptrdiff_t)s * n);
    return counts;
}

pod_status pod_dataset_print(const pod_dataset *d, FILE *to)
{
    const pod_dataset_info *info = &d->info;
    int64_t *counts = count_all(d);
    if (!counts) return POD_E_NOMEM;
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

static bool add_class(cJSON *to, const char *name, int64_t n_train, int64_t n_test)
{
    return cJSON_AddStringToObject(to, "name", name) &&
           cJSON_AddNumberToObject(to, "n_train", (double)n_train) &&
           cJSON_AddNumberToObject(to, "n_test", (double)n_test);
}

static bool add_classes(cJSON *to, const pod_dataset *d, const int64_t counts[])
{
    int n = d->info.n_classes;
    cJSON *all = cJSON_AddArrayToObject(to, "classes");
    for (int i = 0; all && i < n; i++) {
        cJSON *one = cJSON_CreateObject();
        if (!cJSON_AddItemToArray(all, one)) {
            cJSON_Delete(one);
            return false;
        }
        if (!add_class(one, d->info.class_names[i], counts[i], counts[n + i])) return false;
    }
    return all != NULL;
}

static bool add_numbers(cJSON *to, const char *key, int64_t n, const double value[])
{
    cJSON *all = cJSON_AddArrayToObject(to, key);
    for (int64_t i = 0; all && i < n; i++) {
        cJSON *one = cJSON_CreateNumber(value[i]);
        if (!cJSON_AddItemToArray(all, one)) {
            cJSON_Delete(one);
            return false;
        }
    }
    return all != NULL;
}

static bool add_all(cJSON *to, const pod_dataset *d, const int64_t counts[])
{
    const pod_dataset_info *info = &d->info;
    return cJSON_AddStringToObject(to, "name", info->name) &&
           cJSON_AddStringToObject(to, "kind", d->kind->name) &&
           cJSON_AddNumberToObject(to, "height", (double)info->height) &&
           cJSON_AddNumberToObject(to, "width", (double)info->width) &&
           cJSON_AddNumberToObject(to, "channels", (double)info->channels) &&
           cJSON_AddNumberToObject(to, "n_train", (double)info->n_samples[POD_SPLIT_TRAIN]) &&
           cJSON_AddNumberToObject(to, "n_test", (double)info->n_samples[POD_SPLIT_TEST]) &&
           add_numbers(to, "mean", info->channels, info->mean) &&
           add_numbers(to, "std", info->channels, info->std) && add_classes(to, d, counts) &&
           cJSON_AddStringToObject(to, "origin", info->origin) &&
           cJSON_AddStringToObject(to, "licence", info->licence);
}

pod_status pod_dataset_print_json(const pod_dataset *d, char **out)
{
    int64_t *counts = count_all(d);
    if (!counts) return POD_E_NOMEM;
    cJSON *all = cJSON_CreateObject();
    char *text = all && add_all(all, d, counts) ? cJSON_Print(all) : NULL;
    cJSON_Delete(all);
    free(counts);
    if (!text) return pod_fail(POD_E_NOMEM, "%s: no memory for its JSON", d->info.name);
    *out = text;
    return POD_OK;
}
