#include "runtime/train/snapshot.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/exec/finite.h"

const char *pod_snapshot_path(pod_arena *a, const char *dir)
{
    return pod_arena_text(a, "%s/checkpoint/last.h5", dir);
}

/* The store's variables as tensors of a file; a scalar has one dimension there. */
static pod_status tensors_of(pod_store *store, bool with_state, pod_arena *a, pod_tensor **out,
                             int *n)
{
    pod_tensor *t = POD_ARENA_NEW(a, pod_tensor, pod_store_n(store));
    if (!t) return POD_E_NOMEM;
    int found = 0;
    for (int i = 0; i < pod_store_n(store); i++) {
        const pod_program_variable *v = pod_store_variable(store, i);
        bool is_state = v->role == POD_ROLE_STATE;
        if (is_state && !with_state) continue;
        pod_tensor tensor = {.name = v->name,
                             .is_state = is_state,
                             .n_dims = v->type.shape.n_dims,
                             .data = pod_store_data(store, i)};
        memcpy(tensor.dim, v->type.shape.dim, sizeof tensor.dim);
        if (tensor.n_dims == 0) tensor.dim[tensor.n_dims++] = 1;
        t[found++] = tensor;
    }
    *out = t;
    *n = found;
    return POD_OK;
}

/* What could not be read again is not written over what can. */
static pod_status check_finite(const char *path, const pod_store *store, const pod_tensor tensor[],
                               int n)
{
    for (int i = 0; i < n; i++)
        if (!pod__all_finite(POD_F32, tensor[i].data, pod_store_count(store, i)))
            return pod_fail(POD_E_NUMERIC, "%s: '%s' holds a value that is not finite: not saved",
                            path, tensor[i].name);
    return POD_OK;
}

static pod_status save_own(const char *path, const pod_checkpoint_info *info, pod_store *store)
{
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    pod_tensor *tensor = NULL;
    int n = 0;
    pod_status status = tensors_of(store, true, a, &tensor, &n);
    if (status == POD_OK) status = check_finite(path, store, tensor, n);
    if (status == POD_OK) status = pod_checkpoint_write(path, info, tensor, n);
    pod_arena_destroy(a);
    return status;
}

pod_status pod_snapshot_save(const char *path, const pod_checkpoint_info *info, pod_store *store,
                             pod_comm *comm)
{
    pod_status mine = pod_comm_rank(comm) == 0 ? save_own(path, info, store) : POD_OK;
    return pod_comm_agree(comm, mine);
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
                              pod_store *store, pod_arena *a, int64_t *step)
{
    struct stat s;
    if (stat(path, &s) == 0 && S_ISDIR(s.st_mode)) path = pod_snapshot_path(a, path);
    if (!path) return POD_E_NOMEM;
    pod_checkpoint_info found;
    POD_TRY(pod_checkpoint_read_info(path, a, &found));
    POD_TRY(check_same_run(path, &found, want, with_state));
    pod_tensor *tensor;
    int n;
    POD_TRY(tensors_of(store, with_state, a, &tensor, &n));
    POD_TRY(pod_checkpoint_read(path, tensor, n));
    *step = found.step;
    return POD_OK;
}

pod_status pod_snapshot_restore(const char *path, const pod_checkpoint_info *want, bool with_state,
                                pod_store *store, pod_comm *comm, int64_t *step)
{
    pod_status mine = POD_OK;
    int64_t found = 0;
    if (pod_comm_rank(comm) == 0) {
        pod_arena *a = NULL;
        mine = pod_arena_create(NULL, &a);
        if (mine == POD_OK) mine = restore_own(path, want, with_state, store, a, &found);
        pod_arena_destroy(a);
    }
    POD_TRY(pod_comm_agree(comm, mine));
    pod_comm_broadcast(comm, 0, &found, sizeof found);
    for (int i = 0; i < pod_store_n(store); i++)
        pod_comm_broadcast(comm, 0, pod_store_data(store, i),
                           (size_t)pod_store_count(store, i) * sizeof(float));
    *step = found;
    return POD_OK;
}
