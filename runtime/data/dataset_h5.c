#include "runtime/data/inner.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/file.h"
#include "runtime/data/data_form.h"
#include "runtime/h5/chunks.h"
#include "runtime/h5/h5.h"

enum { MAX_ROWS_A_READ = 2048 };

static const char *const images_name[POD_N_SPLITS] = {"/train/images", "/test/images"};
static const char *const labels_name[POD_N_SPLITS] = {"/train/labels", "/test/labels"};
static const char *const files_name[POD_N_SPLITS] = {"/train/files", "/test/files"};

enum { MOST_CLASSES = 1 << 20, BLOCK_BYTES = 1 << 20 };

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

static pod_status check_not_text(const pod_h5_file *f)
{
    bool is_text;
    POD_TRY(pod__layout_is_text(f, &is_text));
    if (!is_text) return POD_OK;
    return pod_fail(POD_E_FORMAT, "%s: is a data set of text, need images and labels", f->path);
}

static pod_status read_text(h5_dataset *d, const char *name, const char *fallback, const char **out)
{
    bool is_there;
    *out = fallback;
    POD_TRY(pod_h5_find(&d->file, name, &is_there));
    return is_there ? pod_h5_get_text(&d->file, name, d->base.arena, out) : POD_OK;
}

/* Without folder and ending. */
static pod_status read_name(h5_dataset *d)
{
    const char *file = pod_path_name(d->file.path), *dot = strrchr(file, '.');
    const size_t bytes = dot && dot > file ? (size_t)(dot - file) : strlen(file);
    const char *fallback = pod_arena_text(d->base.arena, "%.*s", (int)bytes, file);
    return fallback ? read_text(d, "name", fallback, &d->base.info.name) : POD_E_NOMEM;
}

/* Without names as many classes as the labels tell of, by number. */
static pod_status number_classes(h5_dataset *d)
{
    pod_dataset_info *info = &d->base.info;
    int32_t highest = 0;
    for (int s = 0; s < POD_N_SPLITS; s++)
        for (int64_t i = 0; i < info->n_samples[s]; i++)
            if (d->labels[s][i] > highest) highest = d->labels[s][i];
    if (highest >= MOST_CLASSES) highest = MOST_CLASSES - 1; /* which checking the labels tells */
    return pod__dataset_number_classes(info, 0, highest + 1, d->base.arena);
}

static pod_status read_classes(h5_dataset *d)
{
    bool is_there;
    int64_t n;
    POD_TRY(pod_h5_find(&d->file, "class_names", &is_there));
    if (!is_there && !pod_h5_has_array(&d->file, "class_names")) return number_classes(d);
    POD_TRY(
        pod_h5_get_texts(&d->file, "class_names", d->base.arena, &n, &d->base.info.class_names));
    d->base.info.n_classes = (int)n;
    return POD_OK;
}

static pod_status read_numbers(h5_dataset *d, const char *name, const double **out)
{
    bool is_there;
    POD_TRY(pod_h5_find(&d->file, name, &is_there));
    if (!is_there) return POD_OK;
    double *value = POD_ARENA_NEW(d->base.arena, double, d->base.info.channels);
    if (!value) return POD_E_NOMEM;
    *out = value;
    return pod_h5_get_f64(&d->file, name, d->base.info.channels, value);
}

static pod_status read_attributes(h5_dataset *d)
{
    pod_dataset_info *info = &d->base.info;
    POD_TRY(read_name(d));
    POD_TRY(read_text(d, "origin", "", &info->origin));
    POD_TRY(read_text(d, "licence", "", &info->licence));
    POD_TRY(read_classes(d));
    POD_TRY(read_numbers(d, "mean", &info->mean));
    return read_numbers(d, "std", &info->std);
}

static pod_status open_images(h5_dataset *d, int split)
{
    pod_dataset_info *info = &d->base.info;
    pod_h5_array *a = &d->images[split];
    POD_TRY(pod_h5_array_open(&d->file, images_name[split], a));
    POD_TRY(pod__layout_check_images(a));
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

static pod_status load_labels(h5_dataset *d, int split)
{
    const int64_t n = d->base.info.n_samples[split];
    pod_h5_array a;
    POD_TRY(pod_h5_array_open(&d->file, labels_name[split], &a));
    pod_status s = pod__layout_check_labels(&a, n);
    int32_t *labels = s == POD_OK ? POD_ARENA_NEW(d->base.arena, int32_t, n > 0 ? n : 1) : NULL;
    if (s == POD_OK && n > 0)
        s = labels ? pod_h5_read_rows(&a, POD_I32, 0, n, labels) : POD_E_NOMEM;
    pod_h5_array_close(&a);
    d->labels[split] = labels;
    return s;
}

static pod_status check_labels(const h5_dataset *d, int split)
{
    const int n_classes = d->base.info.n_classes;
    for (int64_t i = 0; i < d->base.info.n_samples[split]; i++) {
        const int32_t label = d->labels[split][i];
        if (label >= 0 && label < n_classes) continue;
        return pod_fail(POD_E_FORMAT,
                        "%s: dataset '%s': the label of row %" PRId64
                        " is %d%s, need 0 to %d: there are %d classes, counted from 0",
                        d->file.path, labels_name[split], i, label,
                        label == INT32_MAX   ? " or more"
                        : label == INT32_MIN ? " or less"
                                             : "",
                        n_classes - 1, n_classes);
    }
    return POD_OK;
}

static pod_status load_pixels(h5_dataset *d, int split)
{
    const pod_dataset_info *info = &d->base.info;
    int64_t n = info->n_samples[split];
    uint8_t *pixels = POD_ARENA_NEW(d->base.arena, uint8_t, n * pod_dataset_sample_bytes(info));
    if (!pixels) return POD_E_NOMEM;
    /* HDF5 keeps some kilobytes for each chunk of one read, and rows may be chunks. */
    for (int64_t i = 0; i < n; i += MAX_ROWS_A_READ) {
        const int64_t rows = n - i < MAX_ROWS_A_READ ? n - i : MAX_ROWS_A_READ;
        POD_TRY(pod_h5_read_rows(&d->images[split], POD_U8, i, rows,
                                 pixels + i * pod_dataset_sample_bytes(info)));
    }
    d->pixels[split] = pixels;
    return POD_OK;
}

static pod_status open_rows(h5_dataset *d, int n_readers)
{
    for (int s = 0; s < POD_N_SPLITS; s++)
        POD_TRY(pod_h5_rows_open(&d->images[s], n_readers, d->base.arena, &d->rows[s]));
    return POD_OK;
}

static pod_status load_or_open(h5_dataset *d, const pod_dataset_options *options)
{
    const pod_dataset_info *info = &d->base.info;
    int64_t rows = options->cache_bytes / pod_dataset_sample_bytes(info);
    if (info->n_samples[0] > rows || info->n_samples[1] > rows - info->n_samples[0])
        return open_rows(d, options->n_readers);
    for (int s = 0; s < POD_N_SPLITS; s++) POD_TRY(load_pixels(d, s));
    return POD_OK;
}

/* All training pixels. */
static pod_status add_pixels(const h5_dataset *d, pod_channel_stats *stats)
{
    const pod_dataset_info *info = &d->base.info;
    const int64_t n = info->n_samples[POD_SPLIT_TRAIN], bytes = pod_dataset_sample_bytes(info);
    const int64_t rows = bytes < BLOCK_BYTES ? BLOCK_BYTES / bytes : 1;
    uint8_t *block = malloc((size_t)(rows * bytes));
    pod_status s = block ? POD_OK : pod_fail(POD_E_NOMEM, "%s: no memory to read", d->file.path);
    for (int64_t first = 0; first < n && s == POD_OK; first += rows) {
        const int64_t count = rows < n - first ? rows : n - first;
        s = pod_h5_read_rows(&d->images[POD_SPLIT_TRAIN], POD_U8, first, count, block);
        if (s == POD_OK) pod__channel_stats_add(stats, count * info->height * info->width, block);
    }
    free(block);
    return s;
}

/* mean, std, or both, where the file has none. */
static pod_status compute_statistics(h5_dataset *d)
{
    pod_dataset_info *info = &d->base.info;
    const double *mean, *std;
    pod_channel_stats stats;
    if (info->mean && info->std) return POD_OK;
    POD_TRY(pod__channel_stats_init(&stats, d->base.arena, info->channels));
    POD_TRY(add_pixels(d, &stats));
    POD_TRY(pod__channel_stats_finish(&stats, d->base.arena, &mean, &std));
    if (!info->mean) info->mean = mean;
    if (!info->std) info->std = std;
    return POD_OK;
}

static pod_status load(h5_dataset *d, const pod_dataset_options *options)
{
    static const char *const all[] = {"/train/images", "/train/labels", "/test/images",
                                      "/test/labels"};
    POD_TRY(check_not_text(&d->file));
    POD_TRY(pod__layout_check_arrays(&d->file, 4, all));
    for (int s = 0; s < POD_N_SPLITS; s++) POD_TRY(open_images(d, s));
    for (int s = 0; s < POD_N_SPLITS; s++) POD_TRY(load_labels(d, s));
    POD_TRY(read_attributes(d));
    POD_TRY(pod_dataset_info_check(d->file.path, &d->base.info));
    for (int s = 0; s < POD_N_SPLITS; s++) POD_TRY(check_labels(d, s));
    POD_TRY(load_or_open(d, options));
    POD_TRY(compute_statistics(d));
    if (d->pixels[0]) close_arrays(d);
    return POD_OK;
}

static pod_status open_in(pod_arena *arena, const char *path, const pod_dataset_options *options,
                          pod_dataset **out)
{
    h5_dataset *d = POD_ARENA_NEW(arena, h5_dataset, 1);
    char *own_path = pod_arena_text(arena, "%s", path);
    if (!d || !own_path) return POD_E_NOMEM;
    POD_TRY(pod__data_form_check(path));
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
