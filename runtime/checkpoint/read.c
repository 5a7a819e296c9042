#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint/parts.h"
#include "runtime/core/file.h"

enum { BLOCK_BYTES = 1 << 20 };

/* ---- whole files ---- */

/* Whether the manifest is right about an open file. */
static pod_status check_bytes(const char *path, FILE *f, const pod_checkpoint_receipt *want)
{
    static char block[BLOCK_BYTES]; /* HDF5's lock is held */
    struct stat st;
    uint32_t crc = 0;
    size_t n_read = 0;
    if (fstat(fileno(f), &st) != 0 || (uintmax_t)st.st_size != want->bytes)
        return pod_fail(POD_E_FORMAT, "%s: has %jd bytes, the manifest says %zu", path,
                        (intmax_t)st.st_size, want->bytes);
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0; n_read += n)
        crc = pod__checkpoint_crc(crc, block, n);
    if (n_read != want->bytes)
        return pod_fail(POD_E_IO, "%s: cannot be read: %s", path,
                        ferror(f) ? strerror(errno) : "its length changes");
    if (crc == want->crc) return POD_OK;
    return pod_fail(POD_E_FORMAT,
                    "%s: damaged: its CRC-32 is %08" PRIx32 ", the manifest says %08" PRIx32, path,
                    crc, want->crc);
}

typedef pod_status read_file(const pod_h5_file *f, void *ctx);

/* Lets `read` have the file once it is checked, with the lock held: what is damaged never gets to
 * HDF5, and what is checked is what is read, whatever becomes of its name. */
static pod_status with_file(const char *path, const pod_checkpoint_receipt *want, read_file *read,
                            void *ctx)
{
    pod_h5_file h5 = {0};
    FILE *f = fopen(path, "rbe");
    if (!f) return pod_fail(POD_E_IO, "%s: %s", path, strerror(errno));
    pod_h5_lock();
    pod_status s = check_bytes(path, f, want);
    if (s == POD_OK) s = pod_h5_open_fd(fileno(f), path, &h5);
    if (s == POD_OK) s = read(&h5, ctx);
    (void)pod_h5_close(&h5);
    pod_h5_unlock();
    if (s == POD_E_FORMAT && flock(fileno(f), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        s = pod_fail(POD_E_IO, "%s: another process has it open for writing", path);
    fclose(f);
    return s;
}

static pod_status read_manifest(const char *folder, pod_arena *a, pod__manifest *out)
{
    char path[POD_DISK_PATH_BYTES], *text;
    POD_TRY(pod_disk_path(path, "%s/manifest.json", folder));
    POD_TRY(pod_file_read_text(
        a, path, pod__manifest_room(POD__CHECKPOINT_MAX_RANKS, POD__CHECKPOINT_MAX_EVALS), &text));
    return pod__manifest_parse(path, text, strlen(text), a, out);
}

/* ---- the index: what it is of ---- */

typedef struct info_reader {
    pod_arena *arena;
    pod_checkpoint_info *out;
} info_reader;

static pod_status read_info(const pod_h5_file *f, void *ctx)
{
    const info_reader *r = ctx;
    return pod__info_get(f, r->arena, r->out);
}

pod_status pod_checkpoint_read_info(const char *folder, pod_arena *a, pod_checkpoint_info *out)
{
    char path[POD_DISK_PATH_BYTES];
    pod__manifest m;
    info_reader r = {a, out};
    POD_TRY(read_manifest(folder, a, &m));
    POD_TRY(pod_disk_path(path, "%s/index.h5", folder));
    POD_TRY(with_file(path, &m.index, read_info, &r));
    out->evals = m.evals;
    return POD_OK;
}

/* A job that trains beside a reader removes older checkpoints: then the list is read again. A folder
 * goes by its name no more before its first file goes. */
enum { MOST_TRIES = 100 };

static bool has_vanished(const char *folder)
{
    return access(folder, F_OK) != 0 && errno == ENOENT;
}

pod_status pod_checkpoint_find_info(const char *path, pod_arena *a, pod_checkpoint_info *out)
{
    pod_checkpoint_list list = {.n = 0};
    pod_checkpoint_info found = {.settings = ""};
    bool again = *path;
    for (int tries = 0; again && tries < MOST_TRIES; tries++) {
        POD_TRY(pod_checkpoint_find(path, a, NULL, &list));
        again = false;
        for (int i = 0; i < list.n; i++) {
            if (pod_checkpoint_read_info(list.folder[i], a, &found) == POD_OK) {
                again = false;
                break;
            }
            again |= has_vanished(list.folder[i]);
        }
    }
    *out = found;
    return POD_OK;
}

/* ---- the variables ---- */

typedef struct filler { /* what is being filled */
    const pod_tensor *tensor;
    int n;
    bool is_whole;   /* they are all that a network has, but for averages */
    int64_t *filled; /* (n): elements from the first on */
} filler;

static pod_status check_shape(const pod_tensor *t, const pod_h5_array *array)
{
    bool same = array->n_dims == t->n_dims && strcmp(array->type, "f32") == 0;
    for (int i = 0; same && i < t->n_dims; i++) same = array->dim[i] == t->dim[i];
    if (same) return POD_OK;
    char found[POD_H5_DIMS_BYTES], wanted[POD_H5_DIMS_BYTES];
    return pod_fail(POD_E_MISMATCH,
                    "%s: '%s' is %s of %s, need f32 of %s: a checkpoint of another model?",
                    array->file->path, t->name, array->type,
                    pod_h5_print_dims(array->n_dims, array->dim, found),
                    pod_h5_print_dims(t->n_dims, t->dim, wanted));
}

static pod_status lacks(const pod_h5_file *f, const pod_tensor *t)
{
    if (strncmp(t->name, "ema/", 4) == 0)
        return pod_fail(POD_E_MISMATCH,
                        "%s: has no moving average '%s': a checkpoint of a run without --ema",
                        f->path, t->name);
    return pod_fail(POD_E_MISMATCH, "%s: has no variable '%s': a checkpoint of another model?",
                    f->path, t->name);
}

static pod_status check_shapes(const pod_h5_file *f, const filler *fill)
{
    char name[POD__CHECKPOINT_NAME_BYTES];
    for (int i = 0; i < fill->n; i++) {
        const pod_tensor *t = &fill->tensor[i];
        pod_h5_array array;
        POD_TRY(pod__checkpoint_array(t, name));
        if (!pod_h5_has_array(f, name)) return lacks(f, t);
        POD_TRY(pod_h5_array_open(f, name, &array));
        const pod_status s = check_shape(t, &array);
        pod_h5_array_close(&array);
        POD_TRY(s);
    }
    return POD_OK;
}

/* ---- what is left ---- */

static const char *without_ema(const char *name)
{
    return strncmp(name, "ema/", 4) == 0 ? name + 4 : name;
}

typedef struct left_finder {
    const filler *fill;
    const char *path;
} left_finder;

/* A weight and its average stand for each other: most often one of the two is wanted. */
static pod_status check_wanted(void *ctx, const char *name)
{
    const left_finder *l = ctx;
    for (int i = 0; i < l->fill->n; i++) {
        const pod_tensor *t = &l->fill->tensor[i];
        if (!t->is_state && strcmp(without_ema(t->name), without_ema(name)) == 0) return POD_OK;
    }
    return pod_fail(POD_E_MISMATCH,
                    "%s: has a variable '%s', which this network lacks: a checkpoint of another "
                    "model, or of another --depth?",
                    l->path, name);
}

static pod_status check_index(const pod_h5_file *f, void *ctx)
{
    const filler *fill = ctx;
    left_finder l = {fill, f->path};
    POD_TRY(pod__info_check(f));
    POD_TRY(check_shapes(f, fill));
    return fill->is_whole ? pod_h5_each_array(f, "/weights", check_wanted, &l) : POD_OK;
}

static pod_status check_finite(const char *path, const char *name, const float *data, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(data[i]))
            return pod_fail(POD_E_NUMERIC, "%s: '%s' holds a value that is not finite", path, name);
    return POD_OK;
}

/* Ranks wrote one behind another. */
static pod_status fill_from(const pod_h5_array *array, const pod_tensor *t, int64_t *filled)
{
    int64_t first;
    POD_TRY(pod_h5_flat_first(array, &first));
    const bool fits = array->n_dims == 1 && strcmp(array->type, "f32") == 0 && first == *filled &&
                      array->dim[0] <= pod_tensor_count(t) - first;
    if (!fits)
        return pod_fail(POD_E_FORMAT, "%s: what it has of '%s' does not follow element %" PRId64,
                        array->file->path, t->name, *filled);
    POD_TRY(pod_h5_read_rows(array, POD_F32, 0, array->dim[0], t->data + first));
    *filled += array->dim[0];
    return check_finite(array->file->path, t->name, t->data + first, array->dim[0]);
}

static pod_status read_shard(const pod_h5_file *f, void *ctx)
{
    const filler *fill = ctx;
    char name[POD__CHECKPOINT_NAME_BYTES];
    for (int i = 0; i < fill->n; i++) {
        pod_h5_array array;
        POD_TRY(pod__checkpoint_array(&fill->tensor[i], name));
        if (!pod_h5_has_array(f, name)) continue;
        POD_TRY(pod_h5_array_open(f, name, &array));
        const pod_status s = fill_from(&array, &fill->tensor[i], &fill->filled[i]);
        pod_h5_array_close(&array);
        POD_TRY(s);
    }
    return POD_OK;
}

static pod_status read_shards(const char *folder, const pod__manifest *m, filler *fill)
{
    char path[POD_DISK_PATH_BYTES], name[POD__CHECKPOINT_FOLDER_BYTES];
    for (int r = 0; r < m->ranks; r++) {
        POD_TRY(pod_disk_path(path, "%s/%s", folder, pod__checkpoint_shard(r, ".h5", name)));
        POD_TRY(with_file(path, &m->shard[r], read_shard, fill));
    }
    for (int i = 0; i < fill->n; i++)
        if (fill->filled[i] != pod_tensor_count(&fill->tensor[i]))
            return pod_fail(
                POD_E_FORMAT, "%s: its shards have %" PRId64 " of %" PRId64 " elements of '%s'",
                folder, fill->filled[i], pod_tensor_count(&fill->tensor[i]), fill->tensor[i].name);
    return POD_OK;
}

static pod_status read_all(const char *folder, const pod_tensor tensor[], int n, bool is_whole,
                           pod_arena *a)
{
    char path[POD_DISK_PATH_BYTES];
    pod__manifest m;
    filler fill = {
        .tensor = tensor, .n = n, .is_whole = is_whole, .filled = POD_ARENA_NEW(a, int64_t, n)};
    if (!fill.filled) return POD_E_NOMEM;
    POD_TRY(read_manifest(folder, a, &m));
    POD_TRY(pod_disk_path(path, "%s/index.h5", folder));
    POD_TRY(with_file(path, &m.index, check_index, &fill));
    return read_shards(folder, &m, &fill);
}

pod_status pod_checkpoint_read(const char *folder, const pod_tensor tensor[], int n)
{
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_status s = read_all(folder, tensor, n, false, a);
    pod_arena_destroy(a);
    return s;
}

/* ---- the best one ---- */

static pod_status check_same(const char *folder, const char *what, const char *found,
                             const char *want)
{
    if (strcmp(found, want) == 0) return POD_OK;
    return pod_fail(POD_E_MISMATCH, "%s: is a checkpoint of %s '%s', this run has '%s'", folder,
                    what, found, want);
}

/* The name is the same. */
static pod_status check_data(const char *folder, const pod_checkpoint_info *found,
                             const pod_checkpoint_info *want)
{
    const uint64_t was = found->data_fingerprint, is = want->data_fingerprint;
    if (was == is || was == 0 || is == 0) return POD_OK;
    return pod_fail(POD_E_MISMATCH,
                    "%s: is a checkpoint of another data set '%s': its sizes, labels or samples "
                    "have fingerprint %016" PRIx64 ", those of this run %016" PRIx64,
                    folder, found->data, was, is);
}

static bool has_other_images(const pod_dataset_info *a, const pod_dataset_info *b)
{
    return a->n_classes > 0 && b->n_classes > 0 &&
           (a->height != b->height || a->width != b->width || a->channels != b->channels);
}

static pod_status fail_images(const char *folder, const pod_dataset_info *was,
                              const pod_dataset_info *is)
{
    char resize[64] = "";
    if (was->channels == is->channels)
        snprintf(resize, sizeof resize, "; --image-size %" PRId64 "x%" PRId64 " resizes them",
                 was->height, was->width);
    return pod_fail(POD_E_MISMATCH,
                    "%s: trained on %" PRId64 "x%" PRId64 "x%" PRId64 ", this set has %" PRId64
                    "x%" PRId64 "x%" PRId64 "%s",
                    folder, was->height, was->width, was->channels, is->height, is->width,
                    is->channels, resize);
}

/* Of a checkpoint whose weights are read without its state. */
static void warn_of_set(const char *folder, const pod_checkpoint_info *found,
                        const pod_checkpoint_info *want, pod_log *log)
{
    const uint64_t was = found->data_fingerprint, is = want->data_fingerprint;
    const char *normalized = found->set.n_classes > 0 ? ", normalized as in training" : "";
    if (!log || was == 0 || is == 0) return;
    if (has_other_images(&found->set, &want->set)) {
        (void)!fail_images(folder, &found->set, &want->set);
        pod_log_say(log, POD_LOG_WARNING, "%s", pod_error_text());
    } else if (was != is && strcmp(found->data, want->data) != 0) {
        pod_log_say(log, POD_LOG_WARNING, "%s: trained on data set '%s', this one is '%s'%s",
                    folder, found->data, want->data, normalized);
    } else if (was != is) {
        pod_log_say(log, POD_LOG_WARNING,
                    "%s: trained on a data set '%s' of fingerprint %016" PRIx64
                    ", this one of that name has %016" PRIx64 "%s",
                    folder, found->data, was, is, normalized);
    }
}

typedef struct loading { /* what pod_checkpoint_load was given */
    const pod_checkpoint_info *want;
    bool with_state;
    const pod_tensor *tensor;
    int n;
    pod_arena *arena;
    pod_log *log;
    pod_checkpoint_info *out;
} loading;

static pod_status load_one(const loading *l, const char *folder)
{
    const pod_checkpoint_info *want = l->want;
    pod_checkpoint_info found;
    POD_TRY(pod_checkpoint_read_info(folder, l->arena, &found));
    POD_TRY(check_same(folder, "model", found.model, want->model));
    const bool is_resized = has_other_images(&found.set, &want->set);
    if (l->with_state) {
        if (found.data_fingerprint != want->data_fingerprint && is_resized)
            return fail_images(folder, &found.set, &want->set);
        POD_TRY(check_same(folder, "data set", found.data, want->data));
        POD_TRY(check_data(folder, &found, want));
        POD_TRY(check_same(folder, "optimizer", found.optimizer, want->optimizer));
    }
    const pod_status s = read_all(folder, l->tensor, l->n, true, l->arena);
    if (s == POD_E_MISMATCH && is_resized) return fail_images(folder, &found.set, &want->set);
    POD_TRY(s);
    if (!l->with_state) warn_of_set(folder, &found, want, l->log);
    found.folder = folder;
    *l->out = found;
    return POD_OK;
}

/* Another one may do where this one is damaged, but not where it is of another run. One that has
 * vanished is not damaged: then nothing is told, and `*again` set. */
static pod_status load_first(const loading *l, const pod_checkpoint_list *list, bool *again)
{
    char why[POD__NOTE_BYTES];
    pod_status s = POD_E_IO;
    *again = false;
    for (int i = 0; i < list->n; i++) {
        s = load_one(l, list->folder[i]);
        if (s != POD_E_IO && s != POD_E_FORMAT && s != POD_E_NUMERIC) return s;
        *again = has_vanished(list->folder[i]);
        if (*again) return s;
        if (l->log && i + 1 < list->n)
            pod_log_say(l->log, POD_LOG_WARNING, "%s; the checkpoint before it is tried",
                        pod_error_text());
    }
    if (list->n == 0) return pod_fail(POD_E_IO, "%s: holds no checkpoint", list->where);
    if (list->n == 1) return s;
    snprintf(why, sizeof why, "%s", pod_error_text());
    return pod_fail(s, "%s: none of %d checkpoints is whole; the last one: %s", list->where,
                    list->n, why);
}

pod_status pod_checkpoint_load(const char *path, const pod_checkpoint_info *want, bool with_state,
                               const pod_tensor tensor[], int n, pod_arena *a, pod_log *log,
                               pod_checkpoint_info *out)
{
    const loading l = {want, with_state, tensor, n, a, log, out};
    pod_checkpoint_list list;
    pod_status s = POD_E_IO;
    bool again = true;
    for (int tries = 0; again && tries < MOST_TRIES; tries++) {
        POD_TRY(pod_checkpoint_find(path, a, log, &list));
        s = load_first(&l, &list, &again);
    }
    return s;
}
