#include "runtime/data/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/file.h"
#include "runtime/data/h5.h"

enum { NAME_BYTES = 512, CHUNK_BYTES = 1 << 20, DIMS_BYTES = 24 * POD_H5_MAX_DIMS };

static pod_status array_name(const pod_tensor *t, char name[NAME_BYTES])
{
    int n = snprintf(name, NAME_BYTES, "/%s/%s", t->is_state ? "state" : "weights", t->name);
    if (n < 0 || n >= NAME_BYTES)
        return pod_fail(POD_E_INVALID, "checkpoint: the name '%.40s...' is too long", t->name);
    return POD_OK;
}

static int64_t chunk_rows(const pod_tensor *t)
{
    int64_t row_bytes = (int64_t)sizeof(float);
    for (int i = 1; i < t->n_dims; i++) row_bytes *= t->dim[i];
    int64_t rows = CHUNK_BYTES / row_bytes;
    return rows < 1 ? 1 : rows > t->dim[0] ? t->dim[0] : rows;
}

/* ---- writing; with the lock held ---- */

static pod_status write_tensor(const pod_h5_file *f, const pod_tensor *t)
{
    char name[NAME_BYTES];
    pod_h5_array array;
    POD_TRY(array_name(t, name));
    POD_TRY(pod_h5_array_create(f, name, POD_F32, t->n_dims, t->dim, chunk_rows(t), &array));
    pod_status s = pod_h5_write_rows(&array, POD_F32, 0, t->dim[0], t->data);
    pod_h5_array_close(&array);
    return s;
}

static pod_status write_all(const pod_h5_file *f, const pod_checkpoint_info *info,
                            const pod_tensor tensor[], int n)
{
    POD_TRY(pod_h5_put_i64(f, "minipod_checkpoint", POD_CHECKPOINT_VERSION));
    POD_TRY(pod_h5_put_text(f, "model", info->model));
    POD_TRY(pod_h5_put_text(f, "data", info->data));
    POD_TRY(pod_h5_put_text(f, "optimizer", info->optimizer));
    POD_TRY(pod_h5_put_i64(f, "seed", (int64_t)info->seed));
    POD_TRY(pod_h5_put_i64(f, "step", info->step));
    POD_TRY(pod_h5_put_i64(f, "batch", info->batch));
    for (int i = 0; i < n; i++) POD_TRY(write_tensor(f, &tensor[i]));
    return POD_OK;
}

static pod_status write_file(const char *part, const pod_checkpoint_info *info,
                             const pod_tensor tensor[], int n)
{
    pod_h5_file f;
    POD_TRY(pod_h5_create(part, &f));
    pod_status s = write_all(&f, info, tensor, n);
    pod_status closed = pod_h5_close(&f);
    return s != POD_OK ? s : closed;
}

pod_status pod_checkpoint_write(const char *path, const pod_checkpoint_info *info,
                                const pod_tensor tensor[], int n)
{
    char part[4096];
    int length = snprintf(part, sizeof part, "%s.part", path);
    if (length < 0 || length >= (int)sizeof part)
        return pod_fail(POD_E_INVALID, "checkpoint: the path '%.40s...' is too long", path);
    pod_file *aside; /* holds the name; HDF5 writes into the same file */
    POD_TRY(pod_file_open(path, &aside));
    pod_h5_lock();
    pod_status s = write_file(part, info, tensor, n);
    pod_h5_unlock();
    if (s == POD_OK) return pod_file_close(aside);
    pod_file_abandon(aside);
    return s;
}

/* ---- reading; with the lock held ---- */

static pod_status check_version(const pod_h5_file *f)
{
    int64_t version;
    if (!pod_h5_has(f, "minipod_checkpoint"))
        return pod_fail(POD_E_FORMAT, "%s: is no checkpoint (no attribute 'minipod_checkpoint')",
                        f->path);
    POD_TRY(pod_h5_get_i64(f, "minipod_checkpoint", &version));
    if (version != POD_CHECKPOINT_VERSION)
        return pod_fail(POD_E_FORMAT, "%s: checkpoint of version %" PRId64 ", need %d", f->path,
                        version, POD_CHECKPOINT_VERSION);
    return POD_OK;
}

static pod_status read_info(const pod_h5_file *f, pod_arena *a, pod_checkpoint_info *out)
{
    pod_checkpoint_info info;
    int64_t seed;
    POD_TRY(check_version(f));
    POD_TRY(pod_h5_get_text(f, "model", a, &info.model));
    POD_TRY(pod_h5_get_text(f, "data", a, &info.data));
    POD_TRY(pod_h5_get_text(f, "optimizer", a, &info.optimizer));
    POD_TRY(pod_h5_get_i64(f, "seed", &seed));
    POD_TRY(pod_h5_get_i64(f, "step", &info.step));
    POD_TRY(pod_h5_get_i64(f, "batch", &info.batch));
    if (info.step < 0 || info.batch < 1)
        return pod_fail(POD_E_FORMAT, "%s: step %" PRId64 " at batch %" PRId64, f->path, info.step,
                        info.batch);
    info.seed = (uint64_t)seed;
    *out = info;
    return POD_OK;
}

pod_status pod_checkpoint_read_info(const char *path, pod_arena *a, pod_checkpoint_info *out)
{
    pod_h5_file f;
    pod_h5_lock();
    pod_status s = pod_h5_open(path, &f);
    if (s == POD_OK) {
        s = read_info(&f, a, out);
        (void)pod_h5_close(&f);
    }
    pod_h5_unlock();
    return s;
}

/* "3x3x16x32"; "one value" without dimensions. */
static const char *print_dims(int n, const int64_t dim[], char text[DIMS_BYTES])
{
    int used = snprintf(text, DIMS_BYTES, "%s", n == 0 ? "one value" : "");
    for (int i = 0; i < n; i++)
        used +=
            snprintf(text + used, (size_t)(DIMS_BYTES - used), "%s%" PRId64, i ? "x" : "", dim[i]);
    return text;
}

static pod_status check_shape(const char *path, const pod_tensor *t, const pod_h5_array *array)
{
    bool same = array->n_dims == t->n_dims && strcmp(array->type, "f32") == 0;
    for (int i = 0; same && i < t->n_dims; i++) same = array->dim[i] == t->dim[i];
    if (same) return POD_OK;
    char found[DIMS_BYTES], wanted[DIMS_BYTES];
    return pod_fail(POD_E_MISMATCH,
                    "%s: '%s' is %s of %s, need f32 of %s: a checkpoint of another model?", path,
                    t->name, array->type, print_dims(array->n_dims, array->dim, found),
                    print_dims(t->n_dims, t->dim, wanted));
}

static pod_status read_tensor(const pod_h5_file *f, const pod_tensor *t)
{
    char name[NAME_BYTES];
    pod_h5_array array;
    POD_TRY(array_name(t, name));
    if (pod_h5_array_open(f, name, &array) != POD_OK) {
        char reason[512];
        snprintf(reason, sizeof reason, "%s", pod_error_text());
        return pod_fail(POD_E_MISMATCH,
                        "%s: has no variable '%s': a checkpoint of another model? (%s)", f->path,
                        t->name, reason);
    }
    pod_status s = check_shape(f->path, t, &array);
    if (s == POD_OK) s = pod_h5_read_rows(&array, POD_F32, 0, t->dim[0], t->data);
    pod_h5_array_close(&array);
    POD_TRY(s);
    int64_t count = 1;
    for (int i = 0; i < t->n_dims; i++) count *= t->dim[i];
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(t->data[i]))
            return pod_fail(POD_E_NUMERIC, "%s: '%s' holds a value that is not finite", f->path,
                            t->name);
    return POD_OK;
}

pod_status pod_checkpoint_read(const char *path, const pod_tensor tensor[], int n)
{
    pod_h5_file f;
    pod_h5_lock();
    pod_status s = pod_h5_open(path, &f);
    if (s == POD_OK) {
        s = check_version(&f);
        for (int i = 0; s == POD_OK && i < n; i++) s = read_tensor(&f, &tensor[i]);
        (void)pod_h5_close(&f);
    }
    pod_h5_unlock();
    return s;
}
