#include "runtime/data/dataset.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/hash.h"
#include "kernels/base/parse.h"
#include "runtime/data/images/glyphs.h"
#include "runtime/data/inner.h"
#include "runtime/data/text/cipher.h"
#include "runtime/data/text/phrases.h"

pod_status pod_dataset_open(const char *spec, uint64_t seed, pod_dataset **out)
{
    const pod_dataset_options options = {.cache_bytes = POD_DATASET_CACHE_BYTES};
    return pod_dataset_open_with(spec, seed, &options, out);
}

bool pod_dataset_is_synthetic(const char *spec)
{
    return pod_glyphs_is_spec(spec) || pod_phrases_is_spec(spec) || pod_cipher_is_spec(spec);
}

static pod_status open_phrases(const char *spec, uint64_t seed, const pod_alloc *alloc,
                               pod_dataset **out)
{
    pod_phrases_options o = {0};
    pod_text_set *text;
    POD_TRY(pod_phrases_parse(spec, &o));
    POD_TRY(pod_phrases_open(&o, seed, alloc, &text));
    return pod__dataset_of_text(text, alloc, out);
}

static pod_status open_cipher(const char *spec, uint64_t seed, const pod_alloc *alloc,
                              pod_dataset **out)
{
    pod_cipher_options o = {0};
    pod_text_set *text;
    POD_TRY(pod_cipher_parse(spec, &o));
    POD_TRY(pod_cipher_open(&o, seed, alloc, &text));
    return pod__dataset_of_text(text, alloc, out);
}

static pod_status open_file(const char *path, const pod_dataset_options *options, pod_dataset **out)
{
    bool is_text;
    pod_text_set *text;
    POD_TRY(pod_text_set_is(path, &is_text));
    if (!is_text) return pod__dataset_open_h5(path, options, out);
    POD_TRY(pod_text_set_open(path, options->cache_bytes, options->alloc, &text));
    return pod__dataset_of_text(text, options->alloc, out);
}

pod_status pod_dataset_open_with(const char *spec, uint64_t seed,
                                 const pod_dataset_options *options, pod_dataset **out)
{
    if (pod_glyphs_is_spec(spec)) {
        pod_glyphs_options glyphs = {0};
        POD_TRY(pod_glyphs_parse(spec, &glyphs));
        return pod_glyphs_open(&glyphs, seed, options->alloc, out);
    }
    if (pod_phrases_is_spec(spec)) return open_phrases(spec, seed, options->alloc, out);
    if (pod_cipher_is_spec(spec)) return open_cipher(spec, seed, options->alloc, out);
    return open_file(spec, options, out);
}

void pod_dataset_close(pod_dataset *d)
{
    if (!d) return;
    if (d->kind->close) d->kind->close(d);
    pod_arena_destroy(d->arena);
}

static void check_index(const pod_dataset *d, pod_split split, int64_t index)
{
    POD_ASSERT(index >= 0 && index < d->info.n_samples[split],
               "sample %" PRId64 " of %" PRId64 " in %s/%s", index, d->info.n_samples[split],
               d->info.name, pod_split_name(split));
}

pod_status pod_dataset_read(const pod_dataset *d, pod_split split, int64_t index, uint8_t *pixels)
{
    check_index(d, split, index);
    return d->kind->read(d, split, index, pixels);
}

int32_t pod_dataset_label(const pod_dataset *d, pod_split split, int64_t index)
{
    check_index(d, split, index);
    const int32_t stored = d->kind->label(d, split, index);
    return d->class_of ? d->class_of[stored] : stored;
}

pod_status pod_dataset_files(const pod_dataset *d, pod_split split, pod_arena *a,
                             const char *const **out)
{
    if (d->kind->files) return d->kind->files(d, split, a, out);
    *out = NULL;
    return POD_OK;
}

void pod_dataset_count_classes(const pod_dataset *d, pod_split split, int64_t counts[])
{
    memset(counts, 0, (size_t)d->info.n_classes * sizeof counts[0]);
    for (int64_t i = 0; i < d->info.n_samples[split]; i++) counts[pod_dataset_label(d, split, i)]++;
}

static uint64_t hash_labels(const pod_dataset *d, pod_split split, uint64_t h)
{
    for (int64_t i = 0; i < d->info.n_samples[split]; i++) {
        const int32_t label = pod_dataset_label(d, split, i);
        h = pod_hash_bytes(h, &label, sizeof label);
    }
    return h;
}

pod_status pod_dataset_fingerprint(const pod_dataset *d, uint64_t *out)
{
    enum { SEEN = 4 }; /* samples, evenly from the first on */
    const pod_dataset_info *info = &d->info;
    if (d->text) return pod__text_fingerprint(d->text, out);
    const size_t bytes = (size_t)pod_dataset_sample_bytes(info);
    const int64_t sizes[] = {info->height,
                             info->width,
                             info->channels,
                             info->n_classes,
                             info->n_samples[POD_SPLIT_TRAIN],
                             info->n_samples[POD_SPLIT_TEST]};
    uint64_t h = pod_hash_bytes(POD_HASH_START, sizes, sizeof sizes);
    uint8_t *pixels = malloc(bytes);
    pod_status s = pixels ? POD_OK : pod_fail(POD_E_NOMEM, "data: no memory for %zu bytes", bytes);
    for (int split = 0; split < POD_N_SPLITS && s == POD_OK; split++) {
        const int64_t n = info->n_samples[split];
        h = hash_labels(d, (pod_split)split, h);
        for (int64_t i = 0; i < SEEN && i < n && s == POD_OK; i++) {
            s = pod_dataset_read(d, (pod_split)split, i * n / (n < SEEN ? n : SEEN), pixels);
            if (s == POD_OK) h = pod_hash_bytes(h, pixels, bytes);
        }
    }
    free(pixels);
    if (s == POD_OK) *out = h ? h : 1;
    return s;
}

int64_t pod_dataset_sample_bytes(const pod_dataset_info *info)
{
    return info->height * info->width * info->channels;
}

static pod_status check_size(const char *where, const pod_dataset_info *info)
{
    const int64_t size[] = {info->height, info->width, info->channels};
    int64_t bytes = 1;
    for (int i = 0; i < 3; i++) {
        if (size[i] < 1 || size[i] > POD_DATASET_MAX_SAMPLE_BYTES / bytes)
            return pod_fail(POD_E_FORMAT,
                            "%s: images of %" PRId64 "x%" PRId64 "x%" PRId64
                            ", need at least 1x1x1 and at most %" PRId64 " bytes",
                            where, size[0], size[1], size[2], POD_DATASET_MAX_SAMPLE_BYTES);
        bytes *= size[i];
    }
    for (int s = 0; s < POD_N_SPLITS; s++)
        if (info->n_samples[s] < 1 || info->n_samples[s] > INT64_MAX / bytes)
            return pod_fail(POD_E_FORMAT, "%s: %" PRId64 " %s samples, need at least 1", where,
                            info->n_samples[s], pod_split_name((pod_split)s));
    return POD_OK;
}

typedef struct named_class {
    const char *name;
    int index;
} named_class;

static int by_name(const void *a, const void *b)
{
    const named_class *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : x->index - y->index;
}

/* A name stands for one class: an evaluation matches those of its data with training's by name. */
static pod_status check_names(const char *where, const pod_dataset_info *info)
{
    const int n = info->n_classes;
    named_class *class = calloc((size_t)n, sizeof *class);
    pod_status s = class ? POD_OK : pod_fail(POD_E_NOMEM, "%s: no memory for %d names", where, n);
    for (int i = 0; class && i < n; i++) class[i] = (named_class){info->class_names[i], i};
    if (class) qsort(class, (size_t)n, sizeof *class, by_name);
    for (int i = 1; s == POD_OK && i < n; i++)
        if (strcmp(class[i - 1].name, class[i].name) == 0)
            s = pod_fail(POD_E_FORMAT, "%s: classes %d and %d are both called '%s'", where,
                         class[i - 1].index, class[i].index, class[i].name);
    free(class);
    return s;
}

pod_status pod_dataset_info_check(const char *where, const pod_dataset_info *info)
{
    POD_TRY(check_size(where, info));
    if (info->n_classes < 1)
        return pod_fail(POD_E_FORMAT, "%s: %d classes, need at least 1", where, info->n_classes);
    for (int i = 0; i < info->n_classes; i++)
        if (info->class_names[i][0] == '\0')
            return pod_fail(POD_E_FORMAT, "%s: class %d has an empty name", where, i);
    POD_TRY(check_names(where, info));
    if (!info->mean || !info->std) return POD_OK;
    for (int64_t c = 0; c < info->channels; c++) {
        double mean = info->mean[c], std = info->std[c];
        if (!(mean >= 0 && mean <= 1 && std > 0 && std <= 1))
            return pod_fail(POD_E_FORMAT,
                            "%s: channel %" PRId64
                            " has mean %g and std %g, need 0 <= mean <= 1 and 0 < std <= 1: of "
                            "pixels divided by 255",
                            where, c, mean, std);
    }
    return POD_OK;
}

pod_status pod__dataset_number_classes(pod_dataset_info *info, int32_t first, int n, pod_arena *a)
{
    const char **name = POD_ARENA_NEW(a, const char *, n);
    if (!name) return POD_E_NOMEM;
    for (int i = 0; i < n; i++)
        if (!(name[i] = pod_arena_text(a, "%d", first + i))) return POD_E_NOMEM;
    info->n_classes = n;
    info->class_names = name;
    return POD_OK;
}

pod_status pod__channel_stats_init(pod_channel_stats *s, pod_arena *a, int64_t channels)
{
    uint64_t *sum = POD_ARENA_NEW(a, uint64_t, channels);
    uint64_t *sum_sq = POD_ARENA_NEW(a, uint64_t, channels);
    if (!sum || !sum_sq) return POD_E_NOMEM;
    *s = (pod_channel_stats){.channels = channels, .sum = sum, .sum_sq = sum_sq};
    return POD_OK;
}

void pod__channel_stats_add(pod_channel_stats *s, int64_t n_pixels, const uint8_t *pixels)
{
    for (int64_t i = 0; i < n_pixels; i++)
        for (int64_t c = 0; c < s->channels; c++) {
            uint64_t x = pixels[i * s->channels + c];
            s->sum[c] += x;
            s->sum_sq[c] += x * x;
        }
    s->n_pixels += n_pixels;
}

pod_status pod__channel_stats_finish(const pod_channel_stats *s, pod_arena *a, const double **mean,
                                     const double **std)
{
    double *m = POD_ARENA_NEW(a, double, s->channels), *d = POD_ARENA_NEW(a, double, s->channels);
    if (!m || !d) return POD_E_NOMEM;
    for (int64_t c = 0; c < s->channels; c++) {
        double mean_255 = (double)s->sum[c] / (double)s->n_pixels;
        double variance = (double)s->sum_sq[c] / (double)s->n_pixels - mean_255 * mean_255;
        m[c] = mean_255 / 255;
        d[c] = variance > 0 ? sqrt(variance) / 255 : 1;
    }
    *mean = m;
    *std = d;
    return POD_OK;
}

pod_status pod_image_size_parse(const char *text, int64_t *height, int64_t *width)
{
    int64_t dim[2];
    int n_dims;
    POD_TRY(pod_parse_dims("image-size", text, 2, dim, &n_dims));
    if (dim[0] > POD_DATASET_MAX_SIDE || dim[n_dims - 1] > POD_DATASET_MAX_SIDE)
        return pod_fail(POD_E_INVALID, "image-size: '%s' has more than %d pixels a side", text,
                        POD_DATASET_MAX_SIDE);
    *height = dim[0];
    *width = dim[n_dims - 1];
    return POD_OK;
}
