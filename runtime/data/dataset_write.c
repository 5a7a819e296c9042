#include "runtime/data/dataset_write.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/core/file.h"
#include "runtime/data/defer.h"
#include "runtime/data/inner.h"
#include "runtime/h5/h5.h"

/* About so much is unpacked to read one sample; images beyond it have a chunk each. */
enum { CHUNK_BYTES = 16 * 1024, CHUNK_LABELS = 128 * 1024, MAX_CHUNK_ROWS = 1024 };

struct pod_dataset_writer {
    pod_arena *arena;
    const pod_dataset_info *info;
    const char *path, *part;
    pod_file *aside; /* holds the name `part`; HDF5 writes into the same file */
    pod_h5_file file;
    pod_h5_array images[POD_N_SPLITS], labels[POD_N_SPLITS];
    int64_t n_written[POD_N_SPLITS];
    int64_t *n_of;           /* (POD_N_SPLITS, n_classes), or NULL */
    pod_channel_stats stats; /* of the training pixels */
    bool has_failed;         /* to write: nothing of HDF5's is closed then (h5.h) */
    pod_deferred deferred;
};

bool pod_dataset_writer_is_stopped(void) { return pod__signal_came(); }

/* ---- the file -------------------------------------------------------------------------------- */

static int64_t chunk_rows(const pod_dataset_info *info)
{
    int64_t rows = CHUNK_BYTES / pod_dataset_sample_bytes(info);
    return rows < 1 ? 1 : rows > MAX_CHUNK_ROWS ? MAX_CHUNK_ROWS : rows;
}

static pod_status heed(pod_dataset_writer *w, pod_status s)
{
    w->has_failed = w->has_failed || s != POD_OK;
    return s;
}

/* With the lock held. */
static pod_status create_arrays(pod_dataset_writer *w, int split, const char *images,
                                const char *labels)
{
    const pod_dataset_info *info = w->info;
    int64_t n = info->n_samples[split];
    const int64_t dim[] = {n, info->height, info->width, info->channels};
    POD_TRY(
        pod_h5_array_create(&w->file, images, POD_U8, 4, dim, chunk_rows(info), &w->images[split]));
    return pod_h5_array_create(&w->file, labels, info->n_classes <= 256 ? POD_U8 : POD_I32, 1, dim,
                               CHUNK_LABELS, &w->labels[split]);
}

static pod_status create_file(pod_dataset_writer *w)
{
    POD_TRY(pod_h5_create(w->part, &w->file));
    POD_TRY(create_arrays(w, POD_SPLIT_TRAIN, "/train/images", "/train/labels"));
    return create_arrays(w, POD_SPLIT_TEST, "/test/images", "/test/labels");
}

static pod_status writer_init(pod_dataset_writer *w, const char *path)
{
    w->path = pod_arena_text(w->arena, "%s", path);
    w->part = pod_arena_text(w->arena, "%s" POD_FILE_PART, path);
    if (!w->path || !w->part) return POD_E_NOMEM;
    POD_TRY(pod_file_open(path, &w->aside));
    POD_TRY(pod__channel_stats_init(&w->stats, w->arena, w->info->channels));
    pod_h5_lock();
    pod_status s = heed(w, create_file(w));
    pod_h5_unlock();
    return s;
}

pod_status pod_dataset_writer_open(const char *path, const pod_dataset_info *info, int64_t *n_of,
                                   pod_dataset_writer **out)
{
    POD_TRY(pod_dataset_info_check(path, info));
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_dataset_writer *w = POD_ARENA_NEW(arena, pod_dataset_writer, 1);
    if (!w) {
        pod_arena_destroy(arena);
        return POD_E_NOMEM;
    }
    w->arena = arena;
    w->info = info;
    w->n_of = n_of;
    pod__signals_defer(&w->deferred);
    pod_status s = writer_init(w, path);
    if (s != POD_OK) {
        pod_dataset_writer_abort(w);
        return s;
    }
    *out = w;
    return POD_OK;
}

size_t pod_dataset_packed_room(const pod_dataset_info *info)
{
    return chunk_rows(info) == 1 ? pod_h5_pack_room((size_t)pod_dataset_sample_bytes(info)) : 0;
}

/* With the lock held. */
static pod_status write_images(const pod_dataset_writer *w, pod_split split, int64_t count,
                               const uint8_t *pixels, const pod_h5_packed *packed)
{
    const pod_h5_array *a = &w->images[split];
    const int64_t first = w->n_written[split], bytes = pod_dataset_sample_bytes(w->info);
    if (!packed) return pod_h5_write_rows(a, POD_U8, first, count, pixels);
    for (int64_t i = 0; i < count; i++)
        if (packed[i].bytes > 0)
            POD_TRY(pod_h5_write_packed(a, first + i, &packed[i]));
        else
            POD_TRY(pod_h5_write_rows(a, POD_U8, first + i, 1, pixels + i * bytes));
    return POD_OK;
}

pod_status pod_dataset_writer_add(pod_dataset_writer *w, pod_split split, int64_t count,
                                  const uint8_t *pixels, const pod_h5_packed *packed,
                                  const int32_t *labels)
{
    const pod_dataset_info *info = w->info;
    int64_t first = w->n_written[split];
    POD_TRY(pod__signals_check(w->path));
    if (count > w->info->n_samples[split] - first)
        return pod_fail(POD_E_FORMAT, "%s: %" PRId64 " %s samples, need %" PRId64, w->path,
                        first + count, pod_split_name(split), w->info->n_samples[split]);
    for (int64_t i = 0; i < count; i++)
        if (labels[i] < 0 || labels[i] >= info->n_classes)
            return pod_fail(POD_E_FORMAT, "%s: %s label %" PRId64 " is %d, need 0 to %d", w->path,
                            pod_split_name(split), first + i, labels[i], info->n_classes - 1);
    if (split == POD_SPLIT_TRAIN)
        pod__channel_stats_add(&w->stats, count * info->height * info->width, pixels);
    pod_h5_lock();
    pod_status s = write_images(w, split, count, pixels, packed);
    if (s == POD_OK) s = pod_h5_write_rows(&w->labels[split], POD_I32, first, count, labels);
    pod_h5_unlock();
    (void)heed(w, s);
    if (s == POD_OK) w->n_written[split] += count;
    for (int64_t i = 0; s == POD_OK && w->n_of && i < count; i++)
        w->n_of[(int64_t)split * info->n_classes + labels[i]]++;
    return s;
}

pod_status pod_dataset_writer_put_files(pod_dataset_writer *w, pod_split split, int64_t n,
                                        const char *const files[])
{
    static const char *const name[POD_N_SPLITS] = {"/train/files", "/test/files"};
    POD_ASSERT(n == w->n_written[split], "%" PRId64 " files of %" PRId64 " samples", n,
               w->n_written[split]);
    pod_h5_lock();
    const pod_status s = heed(w, pod_h5_put_list(&w->file, name[split], n, files));
    pod_h5_unlock();
    return s;
}

static pod_status put_statistics(pod_dataset_writer *w)
{
    const pod_dataset_info *info = w->info;
    const double *mean = info->mean, *std = info->std;
    if (!mean || !std) POD_TRY(pod__channel_stats_finish(&w->stats, w->arena, &mean, &std));
    POD_TRY(pod_h5_put_f64(&w->file, "mean", info->channels, mean));
    return pod_h5_put_f64(&w->file, "std", info->channels, std);
}

static pod_status put_attributes(pod_dataset_writer *w)
{
    const pod_dataset_info *info = w->info;
    POD_TRY(pod_h5_put_i64(&w->file, "minipod_dataset", POD_DATASET_VERSION));
    POD_TRY(pod_h5_put_text(&w->file, "name", info->name));
    POD_TRY(pod_h5_put_text(&w->file, "origin", info->origin));
    POD_TRY(pod_h5_put_text(&w->file, "licence", info->licence));
    POD_TRY(pod_h5_put_texts(&w->file, "class_names", info->n_classes, info->class_names));
    return put_statistics(w);
}

/* With the lock held. */
static pod_status close_file(pod_dataset_writer *w)
{
    for (int s = 0; s < POD_N_SPLITS; s++) {
        pod_h5_array_close(&w->images[s]);
        pod_h5_array_close(&w->labels[s]);
    }
    return pod_h5_close(&w->file);
}

static pod_status check_complete(const pod_dataset_writer *w)
{
    for (int s = 0; s < POD_N_SPLITS; s++)
        if (w->n_written[s] != w->info->n_samples[s])
            return pod_fail(POD_E_FORMAT, "%s: %" PRId64 " %s samples, need %" PRId64, w->path,
                            w->n_written[s], pod_split_name((pod_split)s), w->info->n_samples[s]);
    return POD_OK;
}

/* With the lock held. */
static pod_status complete(pod_dataset_writer *w)
{
    POD_TRY(check_complete(w));
    POD_TRY(heed(w, put_attributes(w)));
    POD_TRY(heed(w, pod_h5_flush(&w->file)));
    return close_file(w);
}

pod_status pod_dataset_writer_finish(pod_dataset_writer *w)
{
    pod_status s = pod__signals_check(w->path);
    pod_h5_lock();
    if (s == POD_OK) s = complete(w);
    pod_h5_unlock();
    if (s == POD_OK) {
        pod_file *aside = w->aside;
        w->aside = NULL;
        s = pod_file_close(aside);
    }
    pod_dataset_writer_abort(w);
    return s;
}

void pod_dataset_writer_abort(pod_dataset_writer *w)
{
    if (!w) return;
    pod_h5_lock();
    if (!w->has_failed) (void)close_file(w); /* the file goes away */
    pod_h5_unlock();
    pod_file_abandon(w->aside);
    const pod_deferred deferred = w->deferred;
    pod_arena_destroy(w->arena);
    pod__signals_restore(&deferred); /* may not come back */
}

/* ---- whole sets ------------------------------------------------------------------------------ */

static pod_status write_all(pod_dataset_writer *w, pod_dataset_fill *fill, void *ctx, pod_log *log)
{
    const int64_t *n = w->info->n_samples, rows = chunk_rows(w->info);
    uint8_t *pixels = POD_ARENA_NEW(w->arena, uint8_t, rows * pod_dataset_sample_bytes(w->info));
    int32_t labels[MAX_CHUNK_ROWS];
    if (!pixels) return POD_E_NOMEM;
    for (int s = 0; s < POD_N_SPLITS; s++)
        for (int64_t first = 0, count; first < n[s]; first += count) {
            count = rows < n[s] - first ? rows : n[s] - first;
            POD_TRY(fill(ctx, (pod_split)s, first, count, pixels, labels));
            POD_TRY(pod_dataset_writer_add(w, (pod_split)s, count, pixels, NULL, labels));
            pod_progress_at(log, s * n[0] + first + count, "%s", "");
        }
    return POD_OK;
}

pod_status pod_dataset_write(const char *path, const pod_dataset_info *info, pod_dataset_fill *fill,
                             void *ctx, int64_t *n_of, pod_log *log)
{
    pod_dataset_writer *w;
    POD_TRY(pod_dataset_writer_open(path, info, n_of, &w));
    pod_progress_begin(log, "writing", "samples", 0, info->n_samples[0] + info->n_samples[1]);
    const pod_status s = write_all(w, fill, ctx, log);
    pod_progress_end(log);
    if (s == POD_OK) return pod_dataset_writer_finish(w);
    pod_dataset_writer_abort(w);
    return s;
}

static pod_status copy_samples(void *ctx, pod_split split, int64_t first, int64_t count,
                               uint8_t *pixels, int32_t *labels)
{
    const pod_dataset *d = *(const pod_dataset *const *)ctx;
    const int64_t bytes = pod_dataset_sample_bytes(&d->info);
    for (int64_t i = 0; i < count; i++) {
        POD_TRY(pod_dataset_read(d, split, first + i, pixels + i * bytes));
        labels[i] = pod_dataset_label(d, split, first + i);
    }
    return POD_OK;
}

pod_status pod_dataset_export(const pod_dataset *d, const char *path, pod_log *log)
{
    return pod_dataset_write(path, &d->info, copy_samples, &d, NULL, log);
}
