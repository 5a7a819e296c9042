#include "runtime/data/dataset_h5.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/data/h5.h"
#include "runtime/data/h5_rows.h"

static const char *const images_name[POD_N_SPLITS] = {"/train/images", "/test/images"};
static const char *const labels_name[POD_N_SPLITS] = {"/train/labels", "/test/labels"};
static const char *const files_name[POD_N_SPLITS] = {"/train/files", "/test/files"};

typedef struct h5_dataset {
    pod_dataset base; /* first: a pod_dataset is cast to this */
    pod_h5_file file; /* open while some pixels stay in it */
    pod_h5_array images[POD_N_SPLITS];
    const uint8_t *pixels[POD_N_SPLITS]; /* (N, H, W, C), or NULL: in the file */
    pod_h5_rows *rows[POD_N_SPLITS];     /* of pixels in the file */
    const int32_t *labels[POD_N_SPLITS]; /* (N) */
} h5_dataset;

static pod_status h5_read(const pod_dataset *base, pod_split split, int64_t index, uint8_t *pixels)
{
    const h5_dataset *d = (const h5_dataset *)base;
    int64_t bytes = pod_dataset_sample_bytes(&base->info);
    if (d->pixels[split]) {
        memcpy(pixels, d->pixels[split] + index * bytes, (size_t)bytes);
        return POD_OK;
    }
    return pod_h5_rows_read(d->rows[split], index, pixels);
}

static int32_t h5_label(const pod_dataset *base, pod_split split, int64_t index)
{
    return ((const h5_dataset *)base)->labels[split][index];
}

/* With the lock held. */
static void close_arrays(h5_dataset *d)
{
    for (int s = 0; s < POD_N_SPLITS; s++) pod_h5_array_close(&d->images[s]);
    (void)pod_h5_close(&d->file); /* nothing was written */
}

static void h5_close(pod_dataset *base)
{
    for (int s = 0; s < POD_N_SPLITS; s++) pod_h5_rows_close(((h5_dataset *)base)->rows[s]);
    pod_h5_lock();
    close_arrays((h5_dataset *)base);
    pod_h5_unlock();
}

/* From the file, which is open only while pixels stay in it. */
static pod_status h5_files(const pod_dataset *base, pod_split split, pod_arena *a,
                           const char *const **out)
{
    pod_h5_file f = {0};
    const char *const *found = NULL;
    pod_h5_lock();
    pod_status s = pod_h5_open(((const h5_dataset *)base)->file.path, &f);
    if (s == POD_OK && pod_h5_has_array(&f, files_name[split]))
        s = pod_h5_get_list(&f, files_name[split], base->info.n_samples[split], a, &found);
    (void)pod_h5_close(&f); /* nothing was written */
    pod_h5_unlock();
    if (s == POD_OK) *out = found;
    return s;
}

static const pod_dataset_kind h5_kind = {"hdf5", h5_read, h5_label, h5_close, h5_files};

/* ---- opening, with the lock held ------------------------------------------------------------- */

static pod_status read_version(const pod_h5_file *f)
{
    if (!pod_h5_has(f, "minipod_dataset"))
        return pod_fail(POD_E_FORMAT,
                        "%s: attribute 'minipod_dataset' is missing: not a data set of minipod",
                        f->path);
    int64_t version;
    POD_TRY(pod_h5_get_i64(f, "minipod_dataset", &version));
    if (version != POD_DATASET_VERSION)
        return pod_fail(POD_E_FORMAT, "%s: layout version %" PRId64 ", need %d", f->path, version,
                        POD_DATASET_VERSION);
    return POD_OK;
}

static pod_status read_text(h5_dataset *d, const char *name, const char **out)
{
    *out = "";
    if (!pod_h5_has(&d->file, name)) return POD_OK;
    return pod_h5_get_text(&d->file, name, d->base.arena, out);
}

static pod_status read_attributes(h5_dataset *d)
{
    pod_dataset_info *info = &d->base.info;
    POD_TRY(pod_h5_get_text(&d->file, "name", d->base.arena, &info->name));
    POD_TRY(read_text(d, "origin", &info->origin));
    POD_TRY(read_text(d, "licence", &info->licence));
    int64_t n_classes;
    POD_TRY(
        pod_h5_get_texts(&d->file, "class_names", d->base.arena, &n_classes, &info->class_names));
    info->n_classes = (int)n_classes;
    double *mean = POD_ARENA_NEW(d->base.arena, double, info->channels);
    double *std = POD_ARENA_NEW(d->base.arena, double, info->channels);
    if (!mean || !std) return POD_E_NOMEM;
    POD_TRY(pod_h5_get_f64(&d->file, "mean", info->channels, mean));
    POD_TRY(pod_h5_get_f64(&d->file, "std", info->channels, std));
    info->mean = mean;
    info->std = std;
    return POD_OK;
}

static pod_status open_images(h5_dataset *d, int split)
{
    pod_dataset_info *info = &d->base.info;
    pod_h5_array *a = &d->images[split];
    POD_TRY(pod_h5_array_open(&d->file, images_name[split], a));
    if (a->n_dims != 4)
        return pod_fail(POD_E_FORMAT, "%s: dataset '%s' has %d dimensions, need 4 (N, H, W, C)",
                        d->file.path, a->name, a->n_dims);
    if (strcmp(a->type, "u8") != 0)
        return pod_fail(POD_E_FORMAT, "%s: dataset '%s' has type %s, need u8", d->file.path,
                        a->name, a->type);
    if (split == 0) {
        info->height = a->dim[1];
        info->width = a->dim[2];
        info->channels = a->dim[3];
    }
    if (a->dim[1] != info->height || a->dim[2] != info->width || a->dim[3] != info->channels)
        return pod_fail(POD_E_FORMAT,
                        "%s: dataset '%s' has images of %" PRId64 "x%" PRId64 "x%" PRId64
                        ", '%s' of %" PRId64 "x%" PRId64 "x%" PRId64,
                        d->file.path, a->name, a->dim[1], a->dim[2], a->dim[3], images_name[0],
                        info->height, info->width, info->channels);
    info->n_samples[split] = a->dim[0];
    return POD_OK;
}

static pod_status check_labels(const h5_dataset *d, const pod_h5_array *a, int split)
{
    if (a->n_dims != 1 || (a->type[0] != 'u' && a->type[0] != 'i'))
        return pod_fail(POD_E_FORMAT,
                        "%s: dataset '%s' has %d dimensions of type %s, need 1 of u8 or i32",
                        d->file.path, a->name, a->n_dims, a->type);
    if (a->dim[0] != d->base.info.n_samples[split])
        return pod_fail(POD_E_FORMAT,
                        "%s: dataset '%s' has %" PRId64 " labels for %" PRId64 " images",
                        d->file.path, a->name, a->dim[0], d->base.info.n_samples[split]);
    return POD_OK;
}

static pod_status load_labels(h5_dataset *d, int split, const pod_h5_array *a)
{
    POD_TRY(check_labels(d, a, split));
    int64_t n = a->dim[0];
    int32_t *labels = POD_ARENA_NEW(d->base.arena, int32_t, n);
    if (!labels) return POD_E_NOMEM;
    POD_TRY(pod_h5_read_rows(a, POD_I32, 0, n, labels));
    for (int64_t i = 0; i < n; i++)
        if (labels[i] < 0 || labels[i] >= d->base.info.n_classes)
            return pod_fail(POD_E_FORMAT, "%s: dataset '%s': label %" PRId64 " is %d, need 0 to %d",
                            d->file.path, a->name, i, labels[i], d->base.info.n_classes - 1);
    d->labels[split] = labels;
    return POD_OK;
}

static pod_status load_pixels(h5_dataset *d, int split)
{
    const pod_dataset_info *info = &d->base.info;
    int64_t n = info->n_samples[split];
    uint8_t *pixels = POD_ARENA_NEW(d->base.arena, uint8_t, n * pod_dataset_sample_bytes(info));
    if (!pixels) return POD_E_NOMEM;
    POD_TRY(pod_h5_read_rows(&d->images[split], POD_U8, 0, n, pixels));
    d->pixels[split] = pixels;
    return POD_OK;
}

static pod_status open_rows(h5_dataset *d, int n_readers)
{
    for (int s = 0; s < POD_N_SPLITS; s++)
        POD_TRY(pod_h5_rows_open(&d->images[s], n_readers, d->base.arena, &d->rows[s]));
    return POD_OK;
}

static pod_status load(h5_dataset *d, const pod_dataset_options *options)
{
    const pod_dataset_info *info = &d->base.info;
    POD_TRY(read_version(&d->file));
    for (int s = 0; s < POD_N_SPLITS; s++) POD_TRY(open_images(d, s));
    POD_TRY(read_attributes(d));
    POD_TRY(pod_dataset_info_check(d->file.path, info));
    for (int s = 0; s < POD_N_SPLITS; s++) {
        pod_h5_array labels;
        POD_TRY(pod_h5_array_open(&d->file, labels_name[s], &labels));
        pod_status status = load_labels(d, s, &labels);
        pod_h5_array_close(&labels);
        POD_TRY(status);
    }
    int64_t rows = options->cache_bytes / pod_dataset_sample_bytes(info);
    if (info->n_samples[0] > rows || info->n_samples[1] > rows - info->n_samples[0])
        return open_rows(d, options->n_readers);
    for (int s = 0; s < POD_N_SPLITS; s++) POD_TRY(load_pixels(d, s));
    close_arrays(d);
    return POD_OK;
}

static pod_status open_in(pod_arena *arena, const char *path, const pod_dataset_options *options,
                          pod_dataset **out)
{
    h5_dataset *d = POD_ARENA_NEW(arena, h5_dataset, 1);
    char *own_path = pod_arena_text(arena, "%s", path);
    if (!d || !own_path) return POD_E_NOMEM;
    d->base = (pod_dataset){.kind = &h5_kind, .arena = arena};
    pod_h5_lock();
    pod_status s = pod_h5_open(own_path, &d->file);
    if (s == POD_OK) s = load(d, options);
    if (s != POD_OK) close_arrays(d);
    pod_h5_unlock();
    for (int i = 0; s != POD_OK && i < POD_N_SPLITS; i++) pod_h5_rows_close(d->rows[i]);
    POD_TRY(s);
    *out = &d->base;
    return POD_OK;
}

pod_status pod__dataset_open_h5(const char *path, const pod_dataset_options *options,
                                pod_dataset **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(options->alloc, &arena));
    pod_status s = open_in(arena, path, options, out);
    if (s != POD_OK) pod_arena_destroy(arena);
    return s;
}
