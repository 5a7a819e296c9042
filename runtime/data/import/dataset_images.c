#include "runtime/data/import/dataset_images.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/file.h"
#include "runtime/data/data_form.h"
#include "runtime/data/import/decode.h"
#include "runtime/data/import/list.h"

enum { WHY_BYTES = 256 };

typedef struct images_dataset {
    pod_dataset base; /* first: a pod_dataset is cast to this */
    const char *folder;
    const pod_image_file *file; /* (n_samples[POD_SPLIT_TEST]) */
} images_dataset;

bool pod_dataset_images_is(const char *path) { return pod__data_form_is_images(path); }

/* ---- one image ------------------------------------------------------------------------------- */

static pod_status read_image(const char *path, const pod_dataset_info *info, uint8_t *pixels)
{
    const pod_image_want want = {.channels = (int)info->channels,
                                 .convert = true,
                                 .least_height = info->height,
                                 .least_width = info->width};
    pod_image_decoder *d;
    pod_image image;
    POD_TRY(pod__image_decoder_create(&d));
    pod_status s = pod__image_load(d, path, &want, &image);
    if (s == POD_OK)
        s = pod__image_fit(d, &image, want.channels, info->height, info->width, pixels);
    pod__image_decoder_destroy(d);
    return s;
}

static pod_status images_read(const pod_dataset *base, pod_split split, int64_t index,
                              uint8_t *pixels)
{
    const images_dataset *d = (const images_dataset *)base;
    char path[POD_PATH_BYTES], why[WHY_BYTES];
    (void)split;
    POD_TRY(pod_path_join(d->folder, d->file[index].path, path));
    const pod_status s = read_image(path, &base->info, pixels);
    if (s == POD_OK) return POD_OK;
    snprintf(why, sizeof why, "%s", pod_error_text());
    return pod_fail(s, "%s: %s", path, why);
}

pod_status pod_dataset_images_check(const pod_dataset *base)
{
    const int64_t n = base->info.n_samples[POD_SPLIT_TEST];
    char first[POD_PATH_BYTES + WHY_BYTES];
    int64_t n_bad = 0;
    uint8_t *pixels = malloc((size_t)pod_dataset_sample_bytes(&base->info));
    pod_status s = pixels ? POD_OK : pod_fail(POD_E_NOMEM, "%s: no memory", base->info.name);
    for (int64_t i = 0; i < n && s == POD_OK; i++) {
        s = images_read(base, POD_SPLIT_TEST, i, pixels);
        if (s != POD_E_FORMAT && s != POD_E_IO) continue;
        if (n_bad++ == 0) snprintf(first, sizeof first, "%s", pod_error_text());
        s = POD_OK;
    }
    free(pixels);
    if (s != POD_OK || n_bad == 0) return s;
    return pod_fail(POD_E_FORMAT, "%" PRId64 " of %" PRId64 " images cannot be used; first %s",
                    n_bad, n, first);
}

static int32_t images_label(const pod_dataset *base, pod_split split, int64_t index)
{
    (void)split;
    return ((const images_dataset *)base)->file[index].label;
}

static pod_status images_files(const pod_dataset *base, pod_split split, pod_arena *a,
                               const char *const **out)
{
    const images_dataset *d = (const images_dataset *)base;
    const int64_t n = base->info.n_samples[split];
    const char **path = POD_ARENA_NEW(a, const char *, n + 1);
    if (!path) return POD_E_NOMEM;
    for (int64_t i = 0; i < n; i++) path[i] = d->file[i].path;
    *out = path;
    return POD_OK;
}

static const pod_dataset_kind images_kind = {
    .name = "images", .read = images_read, .label = images_label, .files = images_files};

/* ---- opening --------------------------------------------------------------------------------- */

/* Images that stand in the folder itself have no label, and those in folders beside them none that
 * all have. */
static pod_status list_images(images_dataset *d, const pod_dataset_info *trained, pod_log *log)
{
    pod_dataset_info *info = &d->base.info;
    pod_image_list list;
    POD_TRY(pod__image_folder_list_flat(d->folder, d->base.arena, &list));
    d->base.is_unlabelled = list.n > 0;
    info->n_classes = trained->n_classes;
    info->class_names = trained->class_names;
    if (list.n == 0) {
        pod_bad_images bad = {.skip = true, .log = log}; /* folders without images */
        POD_TRY(pod__image_folder_list(d->folder, "test", &bad, d->base.arena, &list));
        POD_TRY(pod__bad_images_end(&bad, d->folder));
        info->n_classes = list.n_classes;
        info->class_names = list.class_names;
    }
    const int64_t n_train = list.is_split ? list.n_split[POD_SPLIT_TRAIN] : 0;
    d->file = list.file + n_train;
    info->n_samples[POD_SPLIT_TEST] = list.n - n_train;
    return POD_OK;
}

static pod_status open_in(pod_arena *arena, const char *folder, const pod_dataset_info *trained,
                          pod_log *log, pod_dataset **out)
{
    images_dataset *d = POD_ARENA_NEW(arena, images_dataset, 1);
    if (!d) return POD_E_NOMEM;
    d->base = (pod_dataset){.kind = &images_kind, .arena = arena, .info = *trained};
    d->base.info.name = d->folder = pod_arena_text(arena, "%s", folder);
    d->base.info.n_samples[POD_SPLIT_TRAIN] = 0;
    if (!d->folder) return POD_E_NOMEM;
    POD_TRY(list_images(d, trained, log));
    *out = &d->base;
    return POD_OK;
}

pod_status pod_dataset_images_open(const char *folder, const pod_dataset_info *trained,
                                   pod_log *log, pod_dataset **out)
{
    if (trained->n_classes == 0)
        return pod_fail(POD_E_INVALID,
                        "%s: the checkpoint does not say for which images it is: minipod data "
                        "import images %s -o F.h5 first",
                        folder, folder);
    if (trained->channels != 1 && trained->channels != 3)
        return pod_fail(POD_E_INVALID,
                        "%s: images have 1 or 3 channels, the network takes %" PRId64, folder,
                        trained->channels);
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    const pod_status s = open_in(arena, folder, trained, log, out);
    if (s != POD_OK) pod_arena_destroy(arena);
    return s;
}
