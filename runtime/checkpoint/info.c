/* What the index says of a run: one table of names for writing and reading. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/checkpoint/parts.h"

#define VERSION "minipod_checkpoint"

/* In the order in which they are written. A SET is what the network sees of its data set. */
static const struct key {
    const char *name;
    enum { TEXT, NUMBER, HEX, EPOCH, RANKS, SET } kind;
    size_t at;   /* in pod_checkpoint_info */
    bool is_new; /* missing in checkpoints of earlier versions */
} keys[] = {
#define AT(field) offsetof(pod_checkpoint_info, field)
    {"model", TEXT, AT(model), false},
    {"data", TEXT, AT(data), false},
    {"optimizer", TEXT, AT(optimizer), false},
    {"seed", NUMBER, AT(seed), false},
    {"step", NUMBER, AT(step), false},
    {"batch", NUMBER, AT(batch), false},
    {"steps_per_epoch", NUMBER, AT(steps_per_epoch), false},
    {"epoch", EPOCH, AT(epochs), false},
    {"data_fingerprint", HEX, AT(data_fingerprint), true},
    {"mesh", TEXT, AT(mesh), false},
    {"ranks", RANKS, AT(ranks), false},
    {"settings", TEXT, AT(settings), false},
    {"picks", TEXT, AT(picks), false},
    {"class_names", SET, AT(set), true},
    {"vocabulary_hash", HEX, AT(set.vocabulary_hash), true},
    {"fingerprint", HEX, AT(fingerprint), false},
#undef AT
};
enum { N_KEYS = sizeof keys / sizeof keys[0] };

double pod__epoch_at(int64_t step, int64_t steps_per_epoch)
{
    return steps_per_epoch > 0 ? (double)step / (double)steps_per_epoch : 0;
}

/* ---- writing ---- */

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

static pod_status put_key(const pod_h5_file *f, const struct key *k,
                          const pod_checkpoint_info *info, int ranks)
{
    const void *at = (const char *)info + k->at;
    const double epoch = pod__epoch_at(info->step + info->ahead, info->steps_per_epoch);
    char hex[20];
    switch (k->kind) {
    case TEXT: {
        const char *text = *(const char *const *)at;
        return pod_h5_put_text(f, k->name, text ? text : "");
    }
    case NUMBER: return pod_h5_put_i64(f, k->name, *(const int64_t *)at);
    case HEX:
        snprintf(hex, sizeof hex, "%016" PRIx64, *(const uint64_t *)at);
        return pod_h5_put_text(f, k->name, hex);
    case EPOCH: return pod_h5_put_f64(f, k->name, -1, &epoch);
    case RANKS: return pod_h5_put_i64(f, k->name, ranks);
    default: return put_set(f, at);
    }
}

pod_status pod__info_put(const pod_h5_file *f, const pod_checkpoint_info *info, int ranks)
{
    POD_TRY(pod_h5_put_i64(f, VERSION, POD_CHECKPOINT_VERSION));
    for (int i = 0; i < N_KEYS; i++) POD_TRY(put_key(f, &keys[i], info, ranks));
    return POD_OK;
}

/* ---- reading ---- */

pod_status pod__info_check(const pod_h5_file *f)
{
    int64_t version;
    if (!pod_h5_has(f, VERSION))
        return pod_fail(POD_E_FORMAT, "%s: is no checkpoint (no attribute '" VERSION "')", f->path);
    POD_TRY(pod_h5_get_i64(f, VERSION, &version));
    if (version == POD_CHECKPOINT_VERSION) return POD_OK;
    return pod_fail(POD_E_FORMAT, "%s: checkpoint of version %" PRId64 ", need %d", f->path,
                    version, POD_CHECKPOINT_VERSION);
}

static pod_status get_hex(const pod_h5_file *f, const char *name, pod_arena *a, uint64_t *out)
{
    const char *text;
    char *end;
    POD_TRY(pod_h5_get_text(f, name, a, &text));
    *out = strtoull(text, &end, 16);
    if (*end || strlen(text) != 16)
        return pod_fail(POD_E_FORMAT, "%s: the %s '%.40s' has not 16 digits", f->path, name, text);
    return POD_OK;
}

static pod_status get_set(const pod_h5_file *f, pod_arena *a, pod_dataset_info *set)
{
    enum { MAX_CHANNELS = 1 << 16 };
    int64_t n_classes;
    POD_TRY(pod_h5_get_i64(f, "image_height", &set->height));
    POD_TRY(pod_h5_get_i64(f, "image_width", &set->width));
    POD_TRY(pod_h5_get_i64(f, "image_channels", &set->channels));
    if (set->channels < 1 || set->channels > MAX_CHANNELS)
        return pod_fail(POD_E_FORMAT, "%s: images of %" PRId64 " channels", f->path, set->channels);
    double *mean = POD_ARENA_NEW(a, double, set->channels);
    double *std = POD_ARENA_NEW(a, double, set->channels);
    if (!mean || !std) return POD_E_NOMEM;
    POD_TRY(pod_h5_get_f64(f, "mean", set->channels, mean));
    POD_TRY(pod_h5_get_f64(f, "std", set->channels, std));
    set->mean = mean;
    set->std = std;
    POD_TRY(pod_h5_get_texts(f, "class_names", a, &n_classes, &set->class_names));
    set->n_classes = (int)n_classes;
    return POD_OK;
}

static pod_status get_key(const pod_h5_file *f, const struct key *k, pod_arena *a,
                          pod_checkpoint_info *out)
{
    void *at = (char *)out + k->at;
    int64_t n = 0;
    if (k->is_new && !pod_h5_has_texts(f, k->name)) return POD_OK;
    switch (k->kind) {
    case TEXT: return pod_h5_get_text(f, k->name, a, at);
    case NUMBER: return pod_h5_get_i64(f, k->name, at);
    case HEX: return get_hex(f, k->name, a, at);
    case EPOCH: return pod_h5_get_f64(f, k->name, 1, at);
    case RANKS:
        POD_TRY(pod_h5_get_i64(f, k->name, &n));
        out->ranks = n >= 1 && n <= POD__CHECKPOINT_MAX_RANKS ? (int)n : 0;
        return POD_OK;
    default: return get_set(f, a, at);
    }
}

/* More than any job has; times the steps of an epoch it is a whole number of 64 bits. */
static const double most_epochs = 0x1p40;

pod_status pod__info_get(const pod_h5_file *f, pod_arena *a, pod_checkpoint_info *out)
{
    pod_checkpoint_info info = {0};
    POD_TRY(pod__info_check(f));
    for (int i = 0; i < N_KEYS; i++) POD_TRY(get_key(f, &keys[i], a, &info));
    if (info.steps_per_epoch < 0 || !(info.epochs >= 0 && info.epochs < most_epochs))
        return pod_fail(POD_E_FORMAT, "%s: epoch %g of %" PRId64 " steps", f->path, info.epochs,
                        info.steps_per_epoch);
    if (info.steps_per_epoch == 0) info.epochs = (double)NAN;
    if (info.step < 0 || info.batch < 1 || info.ranks < 1)
        return pod_fail(POD_E_FORMAT, "%s: step %" PRId64 " at batch %" PRId64 " of %d ranks",
                        f->path, info.step, info.batch, info.ranks);
    *out = info;
    return POD_OK;
}
