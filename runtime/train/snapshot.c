#include "runtime/train/snapshot.h"

#include <stdlib.h>
#include <string.h>

pod_tensor pod_snapshot_tensor(const pod_store *store, int i)
{
    const pod_program_variable *v = pod_store_variable(store, i);
    pod_tensor t = {
        .name = v->name, .is_state = v->role == POD_ROLE_STATE, .n_dims = v->type.shape.n_dims};
    memcpy(t.dim, v->type.shape.dim, sizeof t.dim);
    if (t.n_dims == 0) t.dim[t.n_dims++] = 1;
    return t;
}

static bool is_wanted(const pod_store *store, int i, bool with_state)
{
    return with_state || pod_store_variable(store, i)->role != POD_ROLE_STATE;
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
        whole[i] = pod_store_is_dealt(store, i) ? POD_ARENA_NEW(a, float, pod_shape_count(shape))
                                                : pod_store_data(store, i);
        if (!whole[i]) return POD_E_NOMEM;
    }
    *out = whole;
    return POD_OK;
}

static pod_status tensors_of(const pod_store *store, float *const whole[], pod_arena *a,
                             pod_tensor **out, int *n)
{
    pod_tensor *t = POD_ARENA_NEW(a, pod_tensor, pod_store_n(store));
    if (!t) return POD_E_NOMEM;
    int found = 0;
    for (int i = 0; i < pod_store_n(store); i++) {
        if (!whole[i]) continue;
        t[found] = pod_snapshot_tensor(store, i);
        t[found++].data = whole[i];
    }
    *out = t;
    *n = found;
    return POD_OK;
}

static bool has_averages(const pod_store *store)
{
    for (int i = 0; i < pod_store_n(store); i++)
        if (strncmp(pod_store_variable(store, i)->name, "ema/", 4) == 0) return true;
    return false;
}

/* Settings are lines of `option = value`; --ema is not the first. */
static void warn_of_averages(const char *path, const pod_checkpoint_info *found,
                             const pod_store *store, pod_log *log)
{
    const char *line = strstr(found->settings, "\nema = ");
    const double ema = line ? strtod(line + strlen("\nema = "), NULL) : 0;
    if (ema > 0 && !has_averages(store))
        pod_log_say(log, POD_LOG_WARNING,
                    "%s: its moving averages of the weights (--ema %g) end here: this run has none",
                    path, ema);
}

static pod_status restore_own(const char *path, const pod_checkpoint_info *want, bool with_state,
                              const pod_store *store, float *const whole[], pod_arena *a,
                              pod_log *log, pod_checkpoint_info *found)
{
    pod_tensor *tensor;
    int n;
    POD_TRY(tensors_of(store, whole, a, &tensor, &n));
    POD_TRY(pod_checkpoint_load(path, want, with_state, tensor, n, a, log, found));
    if (with_state) warn_of_averages(path, found, store, log);
    return POD_OK;
}

/* ---- what it was trained on ---- */

pod_status pod_snapshot_origin(const char *path, pod_comm *comm, pod_arena *a,
                               pod_dataset_info *set, uint64_t *fingerprint)
{
    const bool reads = pod_comm_rank(comm) == 0;
    pod_checkpoint_info found = {.settings = ""};
    const pod_status mine = reads ? pod_checkpoint_find_info(path, a, &found) : POD_OK;
    pod_comm_barrier_idle(comm); /* nobody can say how long reading takes */
    POD_TRY(pod_comm_agree(comm, mine));
    const pod_dataset_info *own = &found.set;
    struct {
        int64_t height, width, channels, text_bytes;
        uint64_t fingerprint, vocabulary_hash;
        int n_classes;
    } h = {own->height,          own->width,    own->channels, 0, found.data_fingerprint,
           own->vocabulary_hash, own->n_classes};
    for (int i = 0; i < h.n_classes; i++) h.text_bytes += (int64_t)strlen(own->class_names[i]) + 1;
    pod_comm_broadcast(comm, 0, &h, sizeof h);
    *fingerprint = h.fingerprint;
    *set = (pod_dataset_info){.height = h.height, .width = h.width, .channels = h.channels};
    set->vocabulary_hash = h.vocabulary_hash;
    if (h.n_classes == 0) return POD_OK;
    double *stats = POD_ARENA_NEW(a, double, 2 * h.channels); /* means, then deviations */
    char *text = POD_ARENA_NEW(a, char, h.text_bytes);        /* names, each with its zero */
    const char **name = POD_ARENA_NEW(a, const char *, h.n_classes);
    POD_TRY(pod_comm_agree(comm, stats && text && name ? POD_OK : POD_E_NOMEM));
    const size_t stats_bytes = (size_t)h.channels * sizeof *stats;
    if (reads) {
        char *end = text;
        memcpy(stats, own->mean, stats_bytes);
        memcpy(stats + h.channels, own->std, stats_bytes);
        for (int i = 0; i < h.n_classes; i++) end = stpcpy(end, own->class_names[i]) + 1;
    }
    pod_comm_broadcast(comm, 0, stats, 2 * stats_bytes);
    pod_comm_broadcast(comm, 0, text, (size_t)h.text_bytes);
    for (int i = 0; i < h.n_classes; i++, text += strlen(text) + 1) name[i] = text;
    set->n_classes = h.n_classes;
    set->class_names = name;
    set->mean = stats;
    set->std = stats + h.channels;
    return POD_OK;
}

/* ---- the store ---- */

/* All ranks get what rank 0 has read, and keep their parts. */
static void spread(pod_store *store, float *const whole[], pod_comm *comm)
{
    for (int i = 0; i < pod_store_n(store); i++) {
        if (!whole[i]) continue;
        const pod_type *t = &pod_store_variable(store, i)->type;
        pod_comm_broadcast(comm, 0, whole[i], (size_t)pod_shape_count(&t->shape) * sizeof(float));
        if (!pod_store_is_dealt(store, i)) continue;
        const pod_part part = pod_type_part(t, pod_store_core(store));
        memcpy(pod_store_data(store, i), whole[i] + part.first, (size_t)part.count * sizeof(float));
    }
}

/* All ranks get the rows that rank 0 has. */
static pod_status spread_evals(pod_eval_rows *evals, pod_comm *comm, pod_arena *keep)
{
    const pod_eval_row *own = evals->row;
    pod_comm_broadcast(comm, 0, &evals->n, sizeof evals->n);
    pod_eval_row *row = POD_ARENA_NEW(keep, pod_eval_row, evals->n);
    POD_TRY(pod_comm_agree(comm, row ? POD_OK : POD_E_NOMEM));
    const size_t bytes = (size_t)evals->n * sizeof *row;
    if (pod_comm_rank(comm) == 0 && bytes > 0) memcpy(row, own, bytes);
    if (bytes > 0) pod_comm_broadcast(comm, 0, row, bytes);
    *evals = (pod_eval_rows){.row = row, .n = evals->n, .room = evals->n};
    return POD_OK;
}

pod_status pod_snapshot_restore(const char *path, const pod_checkpoint_info *want, bool with_state,
                                pod_store *store, pod_comm *comm, pod_log *log, pod_arena *keep,
                                pod_snapshot *out)
{
    pod_arena *a = NULL;
    float **whole = NULL;
    pod_checkpoint_info found = {0};
    pod_status mine = pod_arena_create(NULL, &a);
    if (mine == POD_OK) mine = whole_of(store, with_state, a, &whole);
    if (mine == POD_OK && pod_comm_rank(comm) == 0)
        mine = restore_own(path, want, with_state, store, whole, a, log, &found);
    pod_comm_barrier_idle(comm); /* nobody can say how long reading takes */
    pod_status status = pod_comm_agree(comm, mine);
    pod_snapshot s = {.step = found.step, .batch = found.batch, .epochs = found.epochs};
    if (found.folder) snprintf(s.folder, sizeof s.folder, "%s", found.folder);
    if (status == POD_OK) {
        pod_comm_broadcast(comm, 0, &s, sizeof s);
        if (keep && pod_comm_rank(comm) == 0) s.evals = found.evals;
        spread(store, whole, comm);
        if (keep) status = spread_evals(&s.evals, comm, keep);
    }
    pod_arena_destroy(a);
    if (status == POD_OK) *out = s;
    return status;
}
