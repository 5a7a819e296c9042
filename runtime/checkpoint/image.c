#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/checkpoint/parts.h"
#include "runtime/h5/image.h"

#define INDEX "index.h5"

/* ---- a shard; with the lock held ---- */

static pod_status put_arrays(const pod_h5_file *f, const pod_checkpoint_form *form, int rank,
                             size_t offset[])
{
    char name[POD__CHECKPOINT_NAME_BYTES];
    POD_TRY(pod_h5_put_i64(f, "minipod_shard", POD_CHECKPOINT_VERSION));
    POD_TRY(pod_h5_put_i64(f, "rank", rank));
    POD_TRY(pod_h5_put_i64(f, "ranks", form->ranks));
    for (int i = 0; i < form->n; i++) {
        const pod_checkpoint_range r = form->range[i * form->ranks + rank];
        if (r.count == 0) continue;
        POD_TRY(pod__checkpoint_array(&form->tensor[i], name));
        POD_TRY(pod_h5_flat_create(f, name, r.count, r.first, &offset[i]));
    }
    return POD_OK;
}

/* The image moves from HDF5's memory to the arena's. */
static pod_status take_image(const pod_h5_file *f, pod_arena *a, char **image, size_t *bytes)
{
    POD_TRY(pod_h5_image_take(f, NULL, 0, bytes));
    *image = pod_arena_get(a, 64, *bytes);
    if (!*image) return POD_E_NOMEM;
    return pod_h5_image_take(f, *image, *bytes, bytes);
}

static pod_status build_shard(const pod_checkpoint_form *form, int rank, const char *name,
                              pod_arena *a, size_t offset[], pod_checkpoint_shard *out)
{
    pod_h5_file f;
    POD_TRY(pod_h5_image_create(name, &f));
    pod_status s = put_arrays(&f, form, rank, offset);
    if (s == POD_OK) s = take_image(&f, a, &out->image, &out->bytes);
    (void)pod_h5_close(&f);
    return s;
}

pod_status pod_checkpoint_build_shard(const pod_checkpoint_form *form, int rank, pod_arena *a,
                                      pod_checkpoint_shard *out)
{
    char name[POD__CHECKPOINT_FOLDER_BYTES];
    pod_checkpoint_shard shard = {.at = POD_ARENA_NEW(a, float *, form->n)};
    size_t *offset = POD_ARENA_NEW(a, size_t, form->n); /* 0: nothing; a file begins otherwise */
    if (!shard.at || !offset) return POD_E_NOMEM;
    pod__checkpoint_shard(rank, ".h5", name);
    pod_h5_lock();
    pod_status s = build_shard(form, rank, name, a, offset, &shard);
    pod_h5_unlock();
    POD_TRY(s);
    for (int i = 0; i < form->n; i++)
        if (offset[i] > 0) shard.at[i] = (float *)(void *)(shard.image + offset[i]);
    *out = shard;
    return POD_OK;
}

/* ---- the index; with the lock held ---- */

static const char *or_empty(const char *text) { return text ? text : ""; }

static double epoch_at(int64_t step, int64_t steps_per_epoch)
{
    return steps_per_epoch > 0 ? (double)step / (double)steps_per_epoch : 0;
}

static pod_status put_set(const pod_h5_file *f, const pod_dataset_info *set)
{
    if (set->n_classes == 0) return POD_OK;
    POD_TRY(pod_h5_put_i64(f, "image_height", set->height));
    POD_TRY(pod_h5_put_i64(f, "image_width", set->width));
    POD_TRY(pod_h5_put_i64(f, "image_channels", set->channels));
    POD_TRY(pod_h5_put_f64(f, "mean", set->channels, set->mean));
    POD_TRY(pod_h5_put_f64(f, "std", set->channels, set->std));
    return pod_h5_put_texts(f, "class_names", set->n_classes, set->class_names);
}

static pod_status put_info(const pod_h5_file *f, const pod_checkpoint_info *info, int ranks)
{
    char fingerprint[20], of_data[20];
    const int64_t per_epoch = info->steps_per_epoch;
    const double epoch = epoch_at(info->step + info->ahead, per_epoch);
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, info->fingerprint);
    snprintf(of_data, sizeof of_data, "%016" PRIx64, info->data_fingerprint);
    POD_TRY(pod_h5_put_i64(f, "minipod_checkpoint", POD_CHECKPOINT_VERSION));
    POD_TRY(pod_h5_put_text(f, "model", or_empty(info->model)));
    POD_TRY(pod_h5_put_text(f, "data", or_empty(info->data)));
    POD_TRY(pod_h5_put_text(f, "optimizer", or_empty(info->optimizer)));
    POD_TRY(pod_h5_put_i64(f, "seed", (int64_t)info->seed));
    POD_TRY(pod_h5_put_i64(f, "step", info->step));
    POD_TRY(pod_h5_put_i64(f, "batch", info->batch));
    POD_TRY(pod_h5_put_i64(f, "steps_per_epoch", per_epoch));
    POD_TRY(pod_h5_put_f64(f, "epoch", -1, &epoch));
    POD_TRY(pod_h5_put_text(f, "data_fingerprint", of_data));
    POD_TRY(pod_h5_put_text(f, "mesh", or_empty(info->mesh)));
    POD_TRY(pod_h5_put_i64(f, "ranks", ranks));
    POD_TRY(pod_h5_put_text(f, "settings", or_empty(info->settings)));
    POD_TRY(pod_h5_put_text(f, "picks", or_empty(info->picks)));
    POD_TRY(put_set(f, &info->set));
    return pod_h5_put_text(f, "fingerprint", fingerprint);
}

/* What one rank wrote of a variable, as boxes of it. */
static int sources_of(const pod_tensor *t, pod_checkpoint_range r, const char *file,
                      pod_h5_source out[POD__MAX_BOXES])
{
    pod__box box[POD__MAX_BOXES];
    const int n = pod__boxes_of(t->n_dims, t->dim, r, box);
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        out[i] = (pod_h5_source){.file = file, .at = at, .count = r.count};
        int64_t count = 1;
        for (int d = 0; d < t->n_dims; d++) {
            out[i].first[d] = box[i].first[d];
            out[i].extent[d] = box[i].extent[d];
            count *= box[i].extent[d];
        }
        at += count;
    }
    return n;
}

static pod_status put_virtual(const pod_h5_file *f, const pod_checkpoint_form *form, int i)
{
    char name[POD__CHECKPOINT_NAME_BYTES], file[POD__CHECKPOINT_FOLDER_BYTES];
    const pod_tensor *t = &form->tensor[i];
    pod_h5_virtual v;
    POD_TRY(pod__checkpoint_array(t, name));
    POD_TRY(pod_h5_virtual_begin(f, name, t->n_dims, t->dim, &v));
    for (int r = 0; r < form->ranks; r++) {
        const pod_checkpoint_range range = form->range[i * form->ranks + r];
        pod_h5_source source[POD__MAX_BOXES];
        const int n = sources_of(t, range, pod__checkpoint_shard(r, ".h5", file), source);
        for (int k = 0; k < n; k++) pod_h5_virtual_add(&v, &source[k]);
    }
    return pod_h5_virtual_end(&v);
}

static pod_status open_index(const pod_checkpoint_form *form, const pod_checkpoint_info *info,
                             pod_arena *a, pod_checkpoint_index *x)
{
    pod_h5_file f;
    POD_TRY(pod_h5_image_create(INDEX, &f));
    pod_status s = put_info(&f, info, form->ranks);
    for (int i = 0; s == POD_OK && i < form->n; i++) s = put_virtual(&f, form, i);
    if (s == POD_OK) s = take_image(&f, a, &x->image, &x->bytes);
    if (s != POD_OK) (void)pod_h5_close(&f);
    x->h5_id = f.id;
    x->steps_per_epoch = info->steps_per_epoch;
    x->ahead = info->ahead;
    return s;
}

pod_status pod_checkpoint_open_index(const pod_checkpoint_form *form,
                                     const pod_checkpoint_info *info, pod_arena *a,
                                     pod_checkpoint_index *out)
{
    pod_checkpoint_index x;
    pod_h5_lock();
    pod_status s = open_index(form, info, a, &x);
    pod_h5_unlock();
    if (s == POD_OK) *out = x;
    return s;
}

static pod_status move_index(pod_checkpoint_index *x, int64_t step)
{
    const pod_h5_file f = {x->h5_id, INDEX};
    const size_t room = x->bytes;
    POD_TRY(pod_h5_change_i64(&f, "step", step));
    POD_TRY(pod_h5_change_f64(&f, "epoch", epoch_at(step + x->ahead, x->steps_per_epoch)));
    return pod_h5_image_take(&f, x->image, room, &x->bytes);
}

pod_status pod_checkpoint_move_index(pod_checkpoint_index *x, int64_t step)
{
    pod_h5_lock();
    pod_status s = move_index(x, step);
    pod_h5_unlock();
    return s;
}

void pod_checkpoint_close_index(pod_checkpoint_index *x)
{
    pod_h5_file f = {x->h5_id, INDEX};
    pod_h5_lock();
    (void)pod_h5_close(&f);
    pod_h5_unlock();
    x->h5_id = 0;
}
