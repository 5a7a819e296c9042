#include "runtime/train/snapshot.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/exec/finite.h"

const char *pod_snapshot_path(pod_arena *a, const char *dir)
{
    return pod_arena_text(a, "%s/checkpoint/last.h5", dir);
}

static bool is_wanted(const pod_store *store, int i, bool with_state)
{
    return with_state || pod_store_variable(store, i)->role != POD_ROLE_STATE;
}

static bool is_dealt(const pod_store *store, int i)
{
    return pod_store_variable(store, i)->type.shard.per_core > 0;
}

/* Whole variables by index: the store's own memory, or for one that is dealt out memory in the
 * arena, left NULL where it is not wanted. */
static pod_status whole_of(pod_store *store, bool with_state, pod_arena *a, float ***out)
{
    float **whole = POD_ARENA_NEW(a, float *, pod_store_n(store));
    if (!whole) return POD_E_NOMEM;
    for (int i = 0; i < pod_store_n(store); i++) {
        if (!is_wanted(store, i, with_state)) continue;
        const pod_shape *shape = &pod_store_variable(store, i)->type.shape;
        whole[i] = is_dealt(store, i) ? POD_ARENA_NEW(a, float, pod_shape_count(shape))
                                      : pod_store_data(store, i);
        if (!whole[i]) return POD_E_NOMEM;
    }
    *out = whole;
    return POD_OK;
}

/* The store's variables as tensors of a file; a scalar has one dimension there. */
static pod_status tensors_of(const pod_store *store, float *const whole[], pod_arena *a,
                             pod_tensor **out, int *n)
{
    pod_tensor *t = POD_ARENA_NEW(a, pod_tensor, pod_store_n(store));
    if (!t) return POD_E_NOMEM;
    int found = 0;
    for (int i = 0; i < pod_store_n(store); i++) {
        const pod_program_variable *v = pod_store_variable(store, i);
        if (!whole[i]) continue;
        pod_tensor tensor = {.name = v->name,
                             .is_state = v->role == POD_ROLE_STATE,
                             .n_dims = v->type.shape.n_dims,
                             .data = whole[i]};
        memcpy(tensor.dim, v->type.shape.dim, sizeof tensor.dim);
        if (tensor.n_dims == 0) tensor.dim[tensor.n_dims++] = 1;
        t[found++] = tensor;
    }
    *out = t;
    *n = found;
    return POD_OK;
}

/* What could not be read again is not written over what can. */
static pod_status check_finite(const char *path, const pod_tensor tensor[], int n)
{
    for (int i = 0; i < n; i++) {
        int64_t count = 1;
        for (int d = 0; d < tensor[i].n_dims; d++) count *= tensor[i].dim[d];
        if (!pod__all_finite(POD_F32, tensor[i].data, count))
            return pod_fail(POD_E_NUMERIC, "%s: '%s' holds a value that is not finite: not saved",
                            path, tensor[i].name);
    }
    return POD_OK;
}

/* ---- gathering what is dealt out ---- */

static int64_t largest_part(const pod_store *store, const pod_comm *comm)
{
    int64_t most = 0;
    for (int i = 0; i < pod_store_n(store); i++)
        for (int r = 0; is_dealt(store, i) && r < pod_comm_size(comm); r++) {
            const int64_t count = pod_type_part(&pod_store_variable(store, i)->type, r).count;
            if (count > most) most = count;
        }
    return most;
}

/* Rank 0 gets the parts of all ranks into whole[i]; parts travel in rows of one length. */
static void gather_parts(pod_store *store, int i, pod_comm *comm, int64_t row, float *mine,
                         float *all, float *const whole[])
{
    const pod_type *t = &pod_store_variable(store, i)->type;
    memcpy(mine, pod_store_data(store, i), (size_t)pod_store_count(store, i) * sizeof *mine);
    pod_comm_gather(comm, mine, (size_t)row * sizeof *mine, all);
    for (int r = 0; pod_comm_rank(comm) == 0 && r < pod_comm_size(comm); r++) {
        const pod_part part = pod_type_part(t, r);
        memcpy(whole[i] + part.first, all + r * row, (size_t)part.count * sizeof *all);
    }
}

/* Memory for whole variables is rank 0's alone. */
static pod_status gather(pod_store *store, pod_comm *comm, pod_arena *a, float ***whole)
{
    const int64_t row = largest_part(store, comm);
    const bool is_root = pod_comm_rank(comm) == 0;
    float *mine = POD_ARENA_NEW(a, float, row);
    float *all = is_root ? POD_ARENA_NEW(a, float, row *pod_comm_size(comm)) : mine;
    pod_status status = mine && all ? POD_OK : POD_E_NOMEM;
    if (status == POD_OK && is_root) status = whole_of(store, true, a, whole);
    POD_TRY(pod_comm_agree(comm, status));
    for (int i = 0; i < pod_store_n(store); i++)
        if (is_dealt(store, i)) gather_parts(store, i, comm, row, mine, all, *whole);
    return POD_OK;
}

static pod_status save_own(const char *path, const pod_checkpoint_info *info,
                           const pod_store *store, float *const whole[], pod_arena *a)
{
    pod_tensor *tensor = NULL;
    int n = 0;
    POD_TRY(tensors_of(store, whole, a, &tensor, &n));
    POD_TRY(check_finite(path, tensor, n));
    return pod_checkpoint_write(path, info, tensor, n);
}

pod_status pod_snapshot_save(const char *path, const pod_checkpoint_info *info, pod_store *store,
                             pod_comm *comm)
{
    pod_arena *a = NULL;
    float **whole = NULL;
    pod_status status = pod_comm_agree(comm, pod_arena_create(NULL, &a));
    if (status == POD_OK) status = gather(store, comm, a, &whole);
    if (status == POD_OK) {
        const bool is_root = pod_comm_rank(comm) == 0;
        status = pod_comm_agree(comm, is_root ? save_own(path, info, store, whole, a) : POD_OK);
    }
    pod_arena_destroy(a);
    return status;
}

static pod_status check_same_run(const char *path, const pod_checkpoint_info *found,
                                 const pod_checkpoint_info *want, bool with_state)
{
    if (strcmp(found->model, want->model) != 0)
        return pod_fail(POD_E_MISMATCH, "%s: is a checkpoint of model '%s', this run has '%s'",
                        path, found->model, want->model);
    if (with_state && strcmp(found->optimizer, want->optimizer) != 0)
        return pod_fail(POD_E_MISMATCH, "%s: is a checkpoint of optimizer '%s', this run has '%s'",
                        path, found->optimizer, want->optimizer);
    return POD_OK;
}

static pod_status restore_own(const char *path, const pod_checkpoint_info *want, bool with_state,
                              const pod_store *store, float *const whole[], pod_arena *a,
                              int64_t *step)
{
    struct stat s;
    if (stat(path, &s) == 0 && S_ISDIR(s.st_mode)) path = pod_snapshot_path(a, path);
    if (!path) return POD_E_NOMEM;
    pod_checkpoint_info found;
    POD_TRY(pod_checkpoint_read_info(path, a, &found));
    POD_TRY(check_same_run(path, &found, want, with_state));
    pod_tensor *tensor;
    int n;
    POD_TRY(tensors_of(store, whole, a, &tensor, &n));
    POD_TRY(pod_checkpoint_read(path, tensor, n));
    *step = found.step;
    return POD_OK;
}

/* All ranks get what rank 0 has read, and keep their parts. */
static void spread(pod_store *store, float *const whole[], pod_comm *comm)
{
    for (int i = 0; i < pod_store_n(store); i++) {
        if (!whole[i]) continue;
        const pod_type *t = &pod_store_variable(store, i)->type;
        pod_comm_broadcast(comm, 0, whole[i], (size_t)pod_shape_count(&t->shape) * sizeof(float));
        if (!is_dealt(store, i)) continue;
        const pod_part part = pod_type_part(t, pod_store_core(store));
        memcpy(pod_store_data(store, i), whole[i] + part.first, (size_t)part.count * sizeof(float));
    }
}

pod_status pod_snapshot_restore(const char *path, const pod_checkpoint_info *want, bool with_state,
                                pod_store *store, pod_comm *comm, int64_t *step)
{
    pod_arena *a = NULL;
    float **whole = NULL;
    int64_t found = 0;
    pod_status mine = pod_arena_create(NULL, &a);
    if (mine == POD_OK) mine = whole_of(store, with_state, a, &whole);
    if (mine == POD_OK && pod_comm_rank(comm) == 0)
        mine = restore_own(path, want, with_state, store, whole, a, &found);
    const pod_status status = pod_comm_agree(comm, mine);
    if (status == POD_OK) {
        pod_comm_broadcast(comm, 0, &found, sizeof found);
        spread(store, whole, comm);
        *step = found;
    }
    pod_arena_destroy(a);
    return status;
}
