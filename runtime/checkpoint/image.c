
#include "kernels/base/assert.h"
#include "runtime/checkpoint/parts.h"

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

static pod_status put_virtual(const pod_h5_file *f, const pod_checkpoint_form *form, int i,
                              const char *const file[], pod_h5_source source[])
{
    char name[POD__CHECKPOINT_NAME_BYTES];
    const pod_tensor *t = &form->tensor[i];
    int n = 0;
    POD_TRY(pod__checkpoint_array(t, name));
    for (int r = 0; r < form->ranks; r++)
        n +=
            pod__boxes_of(t->n_dims, t->dim, form->range[i * form->ranks + r], file[r], source + n);
    return pod_h5_virtual_create(f, name, t->n_dims, t->dim, n, source);
}

static pod_status put_all(const pod_h5_file *f, const pod_checkpoint_form *form,
                          const pod_checkpoint_info *info, pod_arena *a)
{
    char name[POD__CHECKPOINT_FOLDER_BYTES];
    pod_h5_source *source = POD_ARENA_NEW(a, pod_h5_source, form->ranks * POD__MAX_BOXES);
    const char **file = POD_ARENA_NEW(a, const char *, form->ranks);
    if (!source || !file) return POD_E_NOMEM;
    for (int r = 0; r < form->ranks; r++)
        if (!(file[r] = pod_arena_text(a, "%s", pod__checkpoint_shard(r, ".h5", name))))
            return POD_E_NOMEM;
    POD_TRY(pod__info_put(f, info, form->ranks));
    for (int i = 0; i < form->n; i++) POD_TRY(put_virtual(f, form, i, file, source));
    return POD_OK;
}

static pod_status open_index(const pod_checkpoint_form *form, const pod_checkpoint_info *info,
                             pod_arena *a, pod_checkpoint_index *x)
{
    pod_h5_file f;
    POD_TRY(pod_h5_image_create(INDEX, &f));
    pod_status s = put_all(&f, form, info, a);
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
    POD_TRY(pod_h5_change_f64(&f, "epoch", pod__epoch_at(step + x->ahead, x->steps_per_epoch)));
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
